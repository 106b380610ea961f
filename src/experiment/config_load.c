#include "experiment/internal.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/file.h"

/* libconfig 1.5 reads 1000000000000 as -727379968 and ends the process when an include names a
 * directory. Both are refused here, before it sees the text. */

typedef struct {
    const char *path, *at;
    unsigned line;
} scanner;

static void skip_line(scanner *s)
{
    while (*s->at && *s->at != '\n') s->at++;
}

static void skip_comment(scanner *s)
{
    for (s->at += 2; *s->at; s->at++) {
        if (*s->at == '\n') s->line++;
        if (s->at[0] == '*' && s->at[1] == '/') {
            s->at += 2;
            return;
        }
    }
}

static void skip_string(scanner *s)
{
    for (s->at++; *s->at && *s->at != '"'; s->at++) {
        if (*s->at == '\n') s->line++;
        if (*s->at == '\\' && s->at[1]) s->at++;
    }
    if (*s->at) s->at++;
}

static tl_status scan_number(scanner *s, tl_error *err)
{
    const char *from = s->at;
    char *end;
    bool hex = from[0] == '0' && (from[1] == 'x' || from[1] == 'X');
    long long value;

    while (isalnum((unsigned char)*s->at) || *s->at == '.' ||
           ((*s->at == '-' || *s->at == '+') && !hex && strchr("eE", s->at[-1])))
        s->at++;
    if (!hex && memchr(from, '.', (size_t)(s->at - from))) return TL_OK;
    if (!hex &&
        (memchr(from, 'e', (size_t)(s->at - from)) || memchr(from, 'E', (size_t)(s->at - from))))
        return TL_OK;
    errno = 0;
    value = strtoll(from, &end, 0);
    int length = (int)(s->at - from > 60 ? 60 : s->at - from);
    if (errno == ERANGE)
        return tl_fail(err, TL_ERR_PARSE, "%s:%u: expected an integer below 2^63, found %.*s",
                       s->path, s->line, length, from);
    if (value > INT_MAX && *end != 'L')
        return tl_fail(err, TL_ERR_PARSE,
                       "%s:%u: expected the suffix L on an integer above %d, found %.*s", s->path,
                       s->line, INT_MAX, length, from);
    return TL_OK;
}

/* No other setting has an @ outside of texts. libconfig takes one for an include at the start of a
 * line alone, and elsewhere says no more than "syntax error". */
static tl_status refuse_include(const scanner *s, tl_error *err)
{
    const char *from = s->at + strcspn(s->at, "\"\n");
    const size_t length = *from == '"' ? strcspn(from + 1, "\"\n") : 0;

    return tl_fail(err, TL_ERR_PARSE,
                   "%s:%u: expected a setting, found an include%s%.*s: an experiment is one file",
                   s->path, s->line, length ? " of " : "", (int)(length < 200 ? length : 200),
                   from + (length > 0));
}

tl_status tl_config_scan(const char *path, const char *text, tl_error *err)
{
    scanner s = {.path = path, .at = text, .line = 1};

    while (*s.at) {
        tl_status status = TL_OK;

        if (*s.at == '@') return refuse_include(&s, err);
        if (*s.at == '\n') {
            s.line++;
            s.at++;
        } else if (*s.at == '#' || (s.at[0] == '/' && s.at[1] == '/')) {
            skip_line(&s);
        } else if (s.at[0] == '/' && s.at[1] == '*') {
            skip_comment(&s);
        } else if (*s.at == '"') {
            skip_string(&s);
        } else if (isdigit((unsigned char)*s.at)) {
            status = scan_number(&s, err);
        } else if (isalpha((unsigned char)*s.at) || *s.at == '*') {
            while (isalnum((unsigned char)*s.at) || (*s.at && strchr("*_-", *s.at))) s.at++;
        } else {
            s.at++;
        }
        if (status) return status;
    }
    return TL_OK;
}

/* 1e999 reads as infinity, which no setting may be. */
static tl_status check_finite(const tl_experiment *ex, const config_setting_t *at, tl_error *err)
{
    int count = config_setting_is_aggregate(at) ? config_setting_length(at) : 0;
    double x;

    if (config_setting_type(at) == CONFIG_TYPE_FLOAT) return tl_config_real(ex, at, &x, err);
    for (int i = 0; i < count; i++) {
        tl_status s = check_finite(ex, config_setting_get_elem(at, (unsigned)i), err);
        if (s) return s;
    }
    return TL_OK;
}

static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strndup(path, slash ? (size_t)(slash - path) + 1 : 0);
}

tl_status tl_config_load(tl_experiment *ex, tl_error *err)
{
    char *text = NULL;
    size_t size = 0;
    tl_status s = tl_file_read(ex->path, &text, &size, err);

    if (s) return s;
    ex->directory = directory_of(ex->path);
    if (!ex->directory)
        s = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", ex->path);
    else if (strlen(text) != size)
        s = tl_fail(err, TL_ERR_PARSE, "%s: expected text, found a zero byte at offset %zu",
                    ex->path, strlen(text));
    if (!s) s = tl_config_scan(ex->path, text, err);
    if (!s && !config_read_string(&ex->tree, text)) {
        const char *what = config_error_text(&ex->tree);
        s = tl_fail(err, TL_ERR_PARSE, "%s:%d: %s", ex->path, config_error_line(&ex->tree),
                    what ? what : "malformed");
    }
    if (!s) s = check_finite(ex, config_root_setting(&ex->tree), err);
    free(text);
    return s;
}
