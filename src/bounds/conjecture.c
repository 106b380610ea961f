/* Formulas of users through muParser's C interface. A parser lives for one call: parsing takes some
 * microseconds, and nothing is shared between threads. */
#include "tightlip/conjecture.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#ifdef TL_WITH_MUPARSER
#include <muParserDLL.h>
#endif

#include "tightlip/text.h"

#ifdef TL_WITH_MUPARSER

#define X(id, name, text) name,
static const char *const names[] = {TL_CONJECTURE_VARIABLES(X)};
#undef X

/* Its code for a word it does not know. */
enum { UNKNOWN_NAME = 1 };

static bool in_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The next word of the text that is no number, of *length; NULL: none. */
static const char *next_word(const char *text, size_t *length)
{
    for (; *text; text += *length) {
        *length = 1;
        if (!in_name(*text) && *text != '.') continue;
        while (in_name(text[*length]) || text[*length] == '.') ++*length;
        if (!isdigit((unsigned char)*text) && *text != '.') return text;
    }
    return NULL;
}

/* Which variables occur. muParser's own list passes through a buffer that all threads share. */
static void find_used(const char *text, bool used[TL_CONJECTURE_COUNT])
{
    size_t length = 0;

    memset(used, 0, TL_CONJECTURE_COUNT * sizeof *used);
    for (text = next_word(text, &length); text; text = next_word(text + length, &length))
        for (size_t i = 0; i < TL_CONJECTURE_COUNT; i++)
            if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0) used[i] = true;
}

/* "n = inf, g = 4" of the variables that occur. */
static void describe(const bool *used, const double *value, char *out, size_t size)
{
    size_t end = (size_t)snprintf(out, size, "any values"), count = 0;

    for (size_t i = 0; i < TL_CONJECTURE_COUNT && end < size; i++) {
        if (!used[i]) continue;
        if (count++ == 0) end = 0;
        end += (size_t)snprintf(out + end, size - end, "%s%s = %.12g", end ? ", " : "", names[i],
                                value[i]);
    }
}

/* muParser calls this instead of ending the program; mupError tells afterwards. */
static void ignore_error(muParserHandle_t parser)
{
    (void)parser;
}

/* Variables enter as constants: n = 3 assigns nothing. The decimal point is muParser's default
 * whatever the locale says; mupSetDecSep would write a locale that all threads share. */
static tl_status parse(muParserHandle_t *parser, const char *text, const double *value,
                       tl_error *err)
{
    const size_t length = strlen(text);

    *parser = NULL;
    if (length > TL_CONJECTURE_LONGEST)
        return tl_fail(err, TL_ERR_PARSE, "expected a formula of at most %d characters, found %zu",
                       (int)TL_CONJECTURE_LONGEST, length);
    *parser = mupCreate(muBASETYPE_FLOAT);
    if (!*parser) return tl_fail(err, TL_ERR_MEMORY, "no memory for a formula");
    mupSetErrorHandler(*parser, ignore_error);
    for (size_t i = 0; i < TL_CONJECTURE_COUNT; i++) mupDefineConst(*parser, names[i], value[i]);
    mupSetExpr(*parser, text);
    return TL_OK;
}

/* "'x' (did you mean 'y'?); known are n, g, .." of the word that stands at. */
static void describe_unknown(const char *at, char *out, size_t size)
{
    char word[64] = "";
    size_t length = 0;

    while (in_name(at[length])) length++;
    if (length == 0 && *at) length = 1;
    (void)snprintf(word, sizeof word, "%.*s", (int)length, at);
    const char *nearest = tl_text_nearest(word, names, TL_CONJECTURE_COUNT);
    size_t end = (size_t)snprintf(out, size, "'%s'", word);
    if (nearest) end += (size_t)snprintf(out + end, size - end, " (did you mean '%s'?)", nearest);
    for (size_t i = 0; i < TL_CONJECTURE_COUNT && end < size; i++)
        end += (size_t)snprintf(out + end, size - end, "%s%s", i ? ", " : "; known are ", names[i]);
}

/* muParser's message without its own position, which counts from 0. */
static void describe_syntax(const char *message, char *out, size_t size)
{
    (void)snprintf(out, size, "%.*s", (int)size - 1, message);
    char *end = strstr(out, " at position ");
    if (end && end - out > 6 && memcmp(end - 6, " found", 6) == 0) end -= 6;
    if (end) *end = '\0';
}

/* What muParser found wrong, in one line. */
static tl_status explain(muParserHandle_t parser, const char *text, tl_error *err)
{
    const int found = mupGetErrorPos(parser), length = (int)strlen(text);
    /* It looks a little past the end. */
    const int at = found < 0 ? 0 : found > length ? length : found;
    char unknown[400];

    if (mupGetErrorCode(parser) != UNKNOWN_NAME) {
        char syntax[200];
        describe_syntax(mupGetErrorMsg(parser), syntax, sizeof syntax);
        return tl_fail(err, TL_ERR_PARSE, "position %d: %s, in \"%s\"", at + 1, syntax, text);
    }
    describe_unknown(text + at, unknown, sizeof unknown);
    return tl_fail(err, TL_ERR_PARSE, "position %d: unknown name %s, in \"%s\"", at + 1, unknown,
                   text);
}

tl_status tl_conjecture_check(const char *text, tl_error *err)
{
    double ones[TL_CONJECTURE_COUNT];
    muParserHandle_t parser;
    int count = 0;

    /* Whether the value is a number is not asked here. */
    for (size_t i = 0; i < TL_CONJECTURE_COUNT; i++) ones[i] = 1;
    tl_status status = parse(&parser, text, ones, err);
    if (status == TL_OK) {
        (void)mupEvalMulti(parser, &count);
        if (mupError(parser))
            status = explain(parser, text, err);
        else if (count != 1)
            status = tl_fail(err, TL_ERR_PARSE, "expected one formula, found %d, in \"%s\"", count,
                             text);
    }
    if (parser) mupRelease(parser);
    return status;
}

tl_status tl_conjecture_evaluate(const char *text, const tl_conjecture_facts *facts,
                                 double *log_value, tl_error *err)
{
    bool used[TL_CONJECTURE_COUNT];
    muParserHandle_t parser;
    char values[200];

    *log_value = (double)NAN;
    find_used(text, used);
    /* max(x, 1) would hide it. */
    for (size_t i = 0; i < TL_CONJECTURE_COUNT; i++)
        if (used[i] && isnan(facts->value[i]))
            return tl_fail(err, TL_ERR_NUMERIC, "%s is not known here, in \"%s\"", names[i], text);
    tl_status status = parse(&parser, text, facts->value, err);
    if (status != TL_OK) return status;
    const double value = mupEval(parser);
    if (mupError(parser)) {
        status = tl_fail(err, TL_ERR_PARSE, "position %d: not a formula, in \"%s\"",
                         mupGetErrorPos(parser) + 1, text);
    } else if (!isfinite(value)) {
        describe(used, facts->value, values, sizeof values);
        status = tl_fail(err, TL_ERR_NUMERIC, "expected a finite number, found %s at %s, in \"%s\"",
                         isnan(value) ? "none"
                         : value > 0  ? "inf"
                                      : "-inf",
                         values, text);
    } else {
        *log_value = value;
    }
    mupRelease(parser);
    return status;
}

#else

tl_status tl_conjecture_evaluate(const char *text, const tl_conjecture_facts *facts,
                                 double *log_value, tl_error *err)
{
    (void)facts;
    *log_value = (double)NAN;
    return tl_conjecture_check(text, err);
}

tl_status tl_conjecture_check(const char *text, tl_error *err)
{
    return tl_fail(err, TL_ERR_UNSUPPORTED,
                   "this build has no muParser to read a formula with: install libmuparser-dev and "
                   "build again, in \"%s\"",
                   text);
}

#endif
