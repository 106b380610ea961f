#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <string.h>
#include <unistd.h>

#include <gsl/gsl_errno.h>
#include <gsl/gsl_math.h>

#include "tightlip/linalg.h"
#include "tightlip/text.h"

/* A closed descriptor would be given to the next file that is opened, and data meant for stdout
 * would end up in it. Reading from /dev/null holds its place and still fails on writing. */
static void hold_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
            open("/dev/null", fd == 2 ? O_WRONLY : O_RDONLY) != fd)
            _exit(1);
}

enum { THREADS_MOST = 1024 }; /* as --threads has it */

void tl_cli_setup(void)
{
    hold_descriptors();
    (void)gsl_set_error_handler_off(); /* its default handler aborts */
    tl_blas_single_thread();
    /* OMP_NUM_THREADS has no limit of its own, and libgomp crashes at a million. */
    if (omp_get_max_threads() > THREADS_MOST) omp_set_num_threads(THREADS_MOST);
}

int tl_cli_exit_code(tl_status status, bool refuted)
{
    switch (status) {
    case TL_OK:
        return refuted ? 3 : 0;
    case TL_ERR_ARGUMENT:
    case TL_ERR_PARSE:
    case TL_ERR_SHAPE:
    case TL_ERR_DOMAIN:
    case TL_ERR_UNSUPPORTED:
        return 2;
    case TL_ERR_MEMORY:
    case TL_ERR_IO:
    case TL_ERR_NUMERIC:
    case TL_ERR_LIMIT:
    case TL_ERR_INTERRUPTED:
        break;
    }
    return 1;
}

int tl_cli_finish(const char *verb, tl_status status, bool refuted, const tl_error *err)
{
    const char *text = err->text[0] != '\0' ? err->text : tl_status_text(status);

    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == TL_OK) {
        fprintf(stderr, "tightlip: standard output: %s\n",
                errno != 0 ? strerror(errno) : "writing failed");
        return tl_cli_exit_code(TL_ERR_IO, false);
    }
    if (status != TL_OK && verb != NULL)
        fprintf(stderr, "tightlip %s: %s\n", verb, text);
    else if (status != TL_OK)
        fprintf(stderr, "tightlip: %s\n", text);
    return tl_cli_exit_code(status, refuted);
}

/* The word that begins with `found`, if exactly one does. */
static const char *completed(const char *found, const char *const *words, size_t count)
{
    const char *only = NULL;

    for (size_t i = 0; i < count; i++) {
        if (strncmp(words[i], found, strlen(found)) != 0) continue;
        if (only != NULL) return NULL;
        only = words[i];
    }
    return only;
}

tl_status tl_cli_unknown(tl_error *err, const char *what, const char *found,
                         const char *const *words, size_t count)
{
    const char *nearest = completed(found, words, count);
    char list[512] = "";
    size_t used = 0;

    if (nearest == NULL) nearest = tl_text_nearest(found, words, count);
    if (nearest != NULL)
        return tl_fail(err, TL_ERR_ARGUMENT, "unknown %s '%s'; did you mean '%s'?", what, found,
                       nearest);
    for (size_t i = 0; i < count && used < sizeof list; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%s", i == 0 ? "" : ", ", words[i]);
    return tl_fail(err, TL_ERR_ARGUMENT, "unknown %s '%s'; expected one of %s", what, found, list);
}

const char *tl_cli_format_log(char text[CLI_NUMBER_SIZE], double log_value)
{
    double value = exp(log_value);

    if (isnan(log_value))
        snprintf(text, CLI_NUMBER_SIZE, "-");
    else if (log_value == HUGE_VAL)
        snprintf(text, CLI_NUMBER_SIZE, "inf");
    else if (isfinite(value) && (value > 0 || log_value == -HUGE_VAL))
        snprintf(text, CLI_NUMBER_SIZE, "%.6g", value);
    else
        snprintf(text, CLI_NUMBER_SIZE, "10^%.9g", log_value / M_LN10);
    return text;
}

const char *tl_cli_format_tokens(char text[CLI_NUMBER_SIZE], uint64_t n)
{
    if (n == 0)
        snprintf(text, CLI_NUMBER_SIZE, "inf");
    else
        snprintf(text, CLI_NUMBER_SIZE, "%" PRIu64, n);
    return text;
}
