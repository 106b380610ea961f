/* A run as a text file: one line that names the task, one that says where it stands, one per box
 * that is left or kept, and a checksum of them all, since a proof goes on from them. Numbers are
 * hexadecimal and exact. */
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "certify/exact.h"
#include "tightlip/file.h"

#define SCHEMA "tightlip-exact-3"
enum { SUM_SIZE = sizeof "fnv1a 0123456789abcdef\n" };

typedef struct {
    char *text;
    size_t size, capacity;
    bool failed;
} buffer;

static void put(buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(buffer *b, const char *format, ...)
{
    va_list args;

    if (b->capacity - b->size < 256) {
        const size_t capacity = 2 * b->capacity + 4096;
        char *text = realloc(b->text, capacity);
        if (!text) {
            b->failed = true;
            return;
        }
        b->text = text;
        b->capacity = capacity;
    }
    va_start(args, format);
    const int length = vsnprintf(b->text + b->size, 256, format, args);
    va_end(args);
    if (length < 0 || length >= 256)
        b->failed = true;
    else
        b->size += (size_t)length;
}

static void put_numbers(buffer *b, const double *x, size_t count)
{
    for (size_t i = 0; i < count; i++) put(b, " %a", x[i]);
}

/* The task by its sizes and its maps. */
static void put_task(buffer *b, const tl_exact_task *task)
{
    put(b, SCHEMA " %d %d %zu %zu %a", (int)task->l2, (int)task->causal, task->n, task->d,
        task->radius);
    for (size_t i = 0; i < 2 * task->d * task->d + task->d; i++) {
        char *ball = arb_dump_str(task->exact + i);
        put(b, " %s", ball);
        flint_free(ball);
    }
    put(b, "\n");
}

static void put_pieces(buffer *b, const tl_certify_piece *piece, size_t count, size_t dim)
{
    for (size_t i = 0; i < count; i++) {
        put(b, "%a %zu", piece[i].upper, piece[i].split);
        put_numbers(b, piece[i].lo, dim);
        put_numbers(b, piece[i].hi, dim);
        put(b, "\n");
    }
}

/* The last line of a file, made of those before it. */
static void format_sum(char sum[SUM_SIZE], const char *text, size_t size)
{
    (void)snprintf(sum, SUM_SIZE, "fnv1a %016" PRIx64 "\n",
                   tl_file_hash_on(TL_FILE_HASH_BEGIN, text, size));
}

tl_status tl_exact_state_write(const tl_exact_search *s, const char *path, tl_error *err)
{
    const size_t dim = s->task->dim;
    char sum[SUM_SIZE];
    buffer b = {0};

    put_task(&b, s->task);
    put(&b, "%zu %zu %a %a", s->size, s->looked_at, s->lower, s->pruned);
    put_numbers(&b, s->best, dim);
    put(&b, "\n");
    put_pieces(&b, s->heap, s->size, dim);
    put(&b, "%zu\n", s->kept_size);
    put_pieces(&b, s->kept, s->kept_size, dim);
    format_sum(sum, b.text, b.size);
    put(&b, "%s", sum);
    tl_status status = b.failed ? TL_ERR_MEMORY : tl_file_write(path, b.text, b.size, err);
    free(b.text);
    return status;
}

/* at: what is read next. */
typedef struct {
    const char *path, *at;
    size_t line;
    tl_error *err;
} reader;

static bool ends_word(char c)
{
    return c == ' ' || c == '\n';
}

/* The word at `at`, of a length to be shown. */
static int word_length(const char *at)
{
    const size_t length = strcspn(at, " \n");

    return length < 60 ? (int)length : 60;
}

static tl_status get_number(reader *in, double least, double most, double *x)
{
    char *end;

    if (*in->at == ' ') in->at++;
    *x = strtod(in->at, &end);
    if (ends_word(*in->at) || !ends_word(*end) || !(*x >= least && *x <= most))
        return tl_fail(in->err, TL_ERR_PARSE,
                       "%s: line %zu: expected a number from %.17g to %.17g, found '%.*s'",
                       in->path, in->line, least, most, word_length(in->at), in->at);
    in->at = end;
    return TL_OK;
}

static tl_status get_count(reader *in, size_t most, size_t *count)
{
    char *end;

    if (*in->at == ' ') in->at++;
    errno = 0;
    const unsigned long long x = strtoull(in->at, &end, 10);
    if (*in->at < '0' || *in->at > '9' || !ends_word(*end) || errno || x > most)
        return tl_fail(in->err, TL_ERR_PARSE,
                       "%s: line %zu: expected an integer from 0 to %zu, found '%.*s'", in->path,
                       in->line, most, word_length(in->at), in->at);
    in->at = end;
    *count = (size_t)x;
    return TL_OK;
}

static tl_status end_line(reader *in)
{
    if (*in->at != '\n')
        return tl_fail(in->err, TL_ERR_PARSE, "%s: line %zu: expected its end, found '%.*s'",
                       in->path, in->line, word_length(in->at + 1), in->at + 1);
    in->at++;
    in->line++;
    return TL_OK;
}

/* A box inside the whole. */
static tl_status get_piece(reader *in, const tl_certify_piece *whole, size_t dim,
                           tl_certify_piece *piece)
{
    *piece = (tl_certify_piece){0};
    /* INFINITY: nothing is known of the box yet. */
    tl_status status = get_number(in, 0, (double)INFINITY, &piece->upper);
    if (!status) status = get_count(in, dim - 1, &piece->split);
    for (size_t i = 0; i < dim && !status; i++)
        status = get_number(in, whole->lo[i], whole->hi[i], &piece->lo[i]);
    for (size_t i = 0; i < dim && !status; i++)
        status = get_number(in, piece->lo[i], whole->hi[i], &piece->hi[i]);
    return status ? status : end_line(in);
}

/* All of `count` boxes; take: tl_exact_push or tl_exact_keep. */
static tl_status get_pieces(reader *in, size_t count, tl_exact_search *s,
                            bool (*take)(tl_exact_search *, const tl_certify_piece *))
{
    tl_certify_piece whole, piece;
    tl_status status = TL_OK;

    tl_exact_whole(s->task, &whole);
    for (size_t i = 0; i < count && !status; i++) {
        status = get_piece(in, &whole, s->task->dim, &piece);
        if (!status && !take(s, &piece)) status = TL_ERR_MEMORY;
    }
    return status;
}

/* An input of the ball. It need not lie in a box: it may be a symmetric image of one that does. */
static tl_status get_best(reader *in, const tl_exact_task *task, double *best)
{
    const double above_pi = 3.1415926535897936, radius = task->radius;
    tl_status status = TL_OK;

    for (size_t i = 0; i < task->dim && !status; i++) {
        if (task->gaps)
            status = get_number(in, 0, fmin(2 * radius, DBL_MAX), &best[i]);
        else if (task->d == 2 && i % 2 == 1)
            status = get_number(in, -above_pi, above_pi, &best[i]);
        else
            status = get_number(in, task->d == 2 ? 0 : -radius, radius, &best[i]);
    }
    return status;
}

static tl_status read_body(reader *in, tl_exact_search *s)
{
    size_t size = 0, kept = 0;

    tl_status status = get_count(in, SIZE_MAX, &size);
    if (!status) status = get_count(in, SIZE_MAX, &s->looked_at);
    if (!status) status = get_number(in, 0, DBL_MAX, &s->lower);
    if (!status) status = get_number(in, 0, DBL_MAX, &s->pruned);
    if (!status) status = get_best(in, s->task, s->best);
    if (!status) status = end_line(in);
    if (!status) status = get_pieces(in, size, s, tl_exact_push);
    if (!status) status = get_count(in, SIZE_MAX, &kept);
    if (!status) status = end_line(in);
    return status ? status : get_pieces(in, kept, s, tl_exact_keep);
}

static tl_status check_schema(const reader *in)
{
    if (strncmp(in->at, SCHEMA " ", sizeof SCHEMA) == 0) return TL_OK;
    return tl_fail(in->err, TL_ERR_PARSE,
                   "%s: line 1: expected '" SCHEMA "', found '%.*s': states of other versions, "
                   "which had no checksum, are not gone on with",
                   in->path, word_length(in->at), in->at);
}

/* The last line, at `sum`, is that of all lines before it. */
static tl_status check_sum(const reader *in, const char *sum)
{
    char wanted[SUM_SIZE];
    size_t line = 1;

    format_sum(wanted, in->at, (size_t)(sum - in->at));
    if (strcmp(sum, wanted) == 0) return TL_OK;
    for (const char *c = in->at; c < sum; c++) line += *c == '\n';
    return tl_fail(in->err, TL_ERR_PARSE,
                   "%s: line %zu: expected '%.*s' for the lines above, found '%.*s': the state was "
                   "cut or changed",
                   in->path, line, SUM_SIZE - 2, wanted, SUM_SIZE - 2, sum);
}

static tl_status check_task(reader *in, const tl_exact_task *task)
{
    buffer b = {0};
    tl_status status = TL_OK;

    put_task(&b, task);
    if (b.failed)
        status = TL_ERR_MEMORY;
    else if (strncmp(in->at, b.text, b.size) != 0)
        status = tl_fail(in->err, TL_ERR_PARSE,
                         "%s: line 1: expected a state of this layer, n and radius", in->path);
    in->at += b.size;
    in->line++;
    free(b.text);
    return status;
}

tl_status tl_exact_state_read(tl_exact_search *s, const char *path, bool *found, tl_error *err)
{
    char *text = NULL;
    size_t size = 0;

    *found = access(path, F_OK) == 0 || errno != ENOENT;
    if (!*found) return TL_OK;
    tl_status status = tl_file_read(path, &text, &size, err);
    if (status) return status;
    reader in = {path, text, 1, err};
    const char *sum = text + (size > 0 ? size - 1 : 0);
    while (sum > text && sum[-1] != '\n') sum--;
    status = check_schema(&in);
    if (!status) status = check_sum(&in, sum);
    if (!status) status = check_task(&in, s->task);
    if (!status) status = read_body(&in, s);
    if (!status && in.at != sum)
        status = tl_fail(err, TL_ERR_PARSE, "%s: line %zu: expected the checksum, found '%.*s'",
                         path, in.line, word_length(in.at), in.at);
    free(text);
    return status;
}
