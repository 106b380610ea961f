#include "cli/cli.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool tl_cli_parse_real(const char *text, double *x)
{
    char *end = NULL;

    /* strtod also takes blanks, "nan", "inf" and hexadecimal. */
    if (text[0] == '\0' || text[strspn(text, "+-.0123456789eE")] != '\0') return false;
    *x = strtod(text, &end);
    return *end == '\0' && isfinite(*x);
}

static bool append_digit(uint64_t *value, unsigned digit)
{
    if (*value > (UINT64_MAX - digit) / 10) return false;
    *value = 10 * *value + digit;
    return true;
}

/* digits [. digits] [e [+] digits], in integers: no digit is lost on the way. */
bool tl_cli_parse_count(const char *text, uint64_t *n)
{
    uint64_t value = 0, exponent = 0;
    int64_t shift = 0;
    bool point = false, digits = false;

    for (; isdigit((unsigned char)*text) || (*text == '.' && !point); text++) {
        if (*text == '.') {
            point = true;
            continue;
        }
        if (!append_digit(&value, (unsigned)(*text - '0'))) return false;
        digits = true;
        if (point) shift--;
    }
    if (digits && (*text == 'e' || *text == 'E')) {
        text += text[1] == '+' ? 2 : 1;
        if (!isdigit((unsigned char)*text)) return false;
        for (; isdigit((unsigned char)*text) && exponent < 100; text++)
            exponent = 10 * exponent + (unsigned)(*text - '0');
        shift += (int64_t)exponent;
    }
    if (!digits || *text != '\0') return false;
    for (; shift > 0; shift--)
        if (!append_digit(&value, 0)) return false;
    for (; shift < 0; shift++) {
        if (value % 10 != 0) return false;
        value /= 10;
    }
    *n = value;
    return true;
}

tl_status tl_cli_parse_rising(const char *option, const char *text, double *out, size_t most,
                              size_t *count, tl_error *err)
{
    char *copy = strdup(text), *next;
    tl_status status = TL_OK;

    *count = 0;
    if (!copy) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    for (char *word = copy; status == TL_OK && word; word = next) {
        double x = 0;
        next = strchr(word, ',');
        if (next) *next++ = '\0';
        if (*count == most)
            status = tl_fail(err, TL_ERR_LIMIT, "%s: expected at most %zu numbers", option, most);
        else if (!tl_cli_parse_real(word, &x) || !(x > 0))
            status = tl_fail(err, TL_ERR_ARGUMENT, "%s: expected numbers above 0, found '%.60s'",
                             option, word);
        else if (*count > 0 && x <= out[*count - 1])
            status = tl_fail(err, TL_ERR_ARGUMENT, "%s: expected rising numbers, found %g after %g",
                             option, x, out[*count - 1]);
        else
            out[(*count)++] = x;
    }
    free(copy);
    return status;
}
