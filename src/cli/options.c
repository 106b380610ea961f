#include "cli/cli.h"

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tightlip/text.h"

enum { COMMON_JSON, COMMON_HELP, COMMON_COUNT, LONG_ONLY = 512 };

static const tl_cli_option common[COMMON_COUNT] = {
    [COMMON_JSON] = {"json", 0, CLI_FLAG, NULL, NULL, 0, 0, NULL, "one JSON document on stdout"},
    [COMMON_HELP] = {"help", 'h', CLI_FLAG, NULL, NULL, 0, 0, NULL, "print this text"},
};

const tl_cli_option *tl_cli_option_at(const tl_cli_verb *verb, size_t i)
{
    if (i < verb->options) return &verb->option[i];
    return i < verb->options + COMMON_COUNT ? &common[i - verb->options] : NULL;
}

static tl_status bad_value(tl_error *err, const tl_cli_option *option, const char *expected,
                           const char *found)
{
    return tl_fail(err, TL_ERR_ARGUMENT, "--%s: expected %s, found '%s'", option->name, expected,
                   found);
}

/* One word of option->words, of the given length; its index, or -1. */
static int word_index(const tl_cli_option *option, const char *word, size_t length)
{
    for (int i = 0; option->words[i] != NULL; i++)
        if (strlen(option->words[i]) == length && strncmp(option->words[i], word, length) == 0)
            return i;
    return -1;
}

static tl_status bad_word(tl_error *err, const tl_cli_option *option, const char *word,
                          size_t length)
{
    char what[64], found[128];
    size_t count = 0;

    while (option->words[count] != NULL) count++;
    snprintf(what, sizeof what, "value of --%s", option->name);
    snprintf(found, sizeof found, "%.*s", (int)length, word);
    return tl_cli_unknown(err, what, found, option->words, count);
}

static tl_status parse_set(const tl_cli_option *option, const char *text, tl_cli_value *value,
                           tl_error *err)
{
    value->count = 0;
    if (strcmp(text, "all") == 0) {
        for (int i = 0; option->words[i] != NULL; i++) value->count |= UINT64_C(1) << i;
        return TL_OK;
    }
    for (;;) {
        size_t length = strcspn(text, ",");
        int i = word_index(option, text, length);
        if (length == 3 && strncmp(text, "all", length) == 0)
            return bad_value(err, option, "all alone, or words without it", value->text);
        if (i < 0) return bad_word(err, option, text, length);
        value->count |= UINT64_C(1) << i;
        if (text[length] == '\0') return TL_OK;
        text += length + 1;
    }
}

static tl_status parse_count(const tl_cli_option *option, const char *text, tl_cli_value *value,
                             tl_error *err)
{
    const char *infinity = option->type == CLI_TOKENS ? " or inf" : "";
    char expected[96];

    if (option->type == CLI_TOKENS && strcmp(text, "inf") == 0) {
        value->count = 0;
        return TL_OK;
    }
    if (tl_cli_parse_count(text, &value->count) && value->count >= option->low &&
        value->count <= option->high)
        return TL_OK;
    snprintf(expected, sizeof expected, "an integer from %" PRIu64 " to %" PRIu64 "%s", option->low,
             option->high, infinity);
    return bad_value(err, option, expected, text);
}

static tl_status parse_value(const tl_cli_option *option, const char *text, tl_cli_value *value,
                             tl_error *err)
{
    int word;

    value->text = text;
    switch (option->type) {
    case CLI_FLAG:
        return TL_OK;
    case CLI_TEXT:
        return text[0] != '\0' ? TL_OK : bad_value(err, option, "text", text);
    case CLI_POSITIVE:
        if (tl_cli_parse_real(text, &value->real) && value->real > 0) return TL_OK;
        return bad_value(err, option, "a finite number above 0", text);
    case CLI_RADIUS:
        value->real = HUGE_VAL;
        if (strcmp(text, "inf") == 0) return TL_OK;
        if (tl_cli_parse_real(text, &value->real) && value->real > 0) return TL_OK;
        return bad_value(err, option, "a finite number above 0, or inf", text);
    case CLI_NONNEGATIVE:
        if (tl_cli_parse_real(text, &value->real) && value->real >= 0) return TL_OK;
        return bad_value(err, option, "a finite number, 0 or above", text);
    case CLI_COUNT:
    case CLI_TOKENS:
        return parse_count(option, text, value, err);
    case CLI_CHOICE:
        word = word_index(option, text, strlen(text));
        if (word < 0) return bad_word(err, option, text, strlen(text));
        value->count = (uint64_t)word;
        return TL_OK;
    case CLI_SET:
        return parse_set(option, text, value, err);
    }
    return TL_OK;
}

/* Long options carry their index, short ones map to the same index through `letters`. */
static void build_tables(const tl_cli_verb *verb, struct option *longs, char *letters)
{
    const tl_cli_option *option;
    size_t count = 0;

    *letters++ = ':'; /* report a missing argument as ':' */
    for (; (option = tl_cli_option_at(verb, count)) != NULL; count++) {
        int argument = option->type == CLI_FLAG ? no_argument : required_argument;
        longs[count] = (struct option){option->name, argument, NULL, LONG_ONLY + (int)count};
        if (option->letter != 0) *letters++ = option->letter;
        if (option->letter != 0 && argument == required_argument) *letters++ = ':';
    }
    longs[count] = (struct option){NULL, 0, NULL, 0};
    *letters = '\0';
}

static size_t index_of(const tl_cli_verb *verb, int code)
{
    size_t i = 0;

    if (code >= LONG_ONLY) return (size_t)(code - LONG_ONLY);
    while (tl_cli_option_at(verb, i)->letter != code) i++;
    return i;
}

/* What getopt_long refused, in words. `word` is the argument it stood at. */
static tl_status refuse(const tl_cli_verb *verb, int code, const char *word, tl_error *err)
{
    const char *names[CLI_MAX_OPTIONS + COMMON_COUNT];
    char dashed[CLI_MAX_OPTIONS + COMMON_COUNT][32], found[128];
    size_t count = 0;

    if (code == ':')
        return tl_fail(err, TL_ERR_ARGUMENT, "option %s needs an argument (%s)", word,
                       tl_cli_option_at(verb, index_of(verb, optopt))->argument);
    if (optopt >= LONG_ONLY)
        return tl_fail(err, TL_ERR_ARGUMENT, "option --%s takes no argument, found '%s'",
                       tl_cli_option_at(verb, index_of(verb, optopt))->name, word);
    if (optopt != 0) return tl_fail(err, TL_ERR_ARGUMENT, "unknown option -%c", optopt);
    for (; tl_cli_option_at(verb, count) != NULL; count++) {
        snprintf(dashed[count], sizeof dashed[count], "--%s", tl_cli_option_at(verb, count)->name);
        names[count] = dashed[count];
    }
    snprintf(found, sizeof found, "%.*s", (int)strcspn(word, "="), word);
    return tl_cli_unknown(err, "option", found, names, count);
}

/* The argument that held the option getopt_long has just returned. */
static const char *option_word(char **argv)
{
    bool separate = optarg != NULL && optarg == argv[optind - 1];

    return argv[separate ? optind - 2 : optind - 1];
}

/* getopt_long takes any unambiguous beginning of a name; scripts then break when an option is
 * added. */
static bool abbreviated(const tl_cli_option *option, int code, const char *word)
{
    return code >= LONG_ONLY && strcspn(word + 2, "=") != strlen(option->name);
}

static tl_status take_options(const tl_cli_verb *verb, int argc, char **argv, tl_cli_call *call,
                              tl_error *err)
{
    struct option longs[CLI_MAX_OPTIONS + COMMON_COUNT + 1];
    char letters[2 * (CLI_MAX_OPTIONS + COMMON_COUNT) + 2];
    int code;

    build_tables(verb, longs, letters);
    opterr = 0;
    while ((code = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
        const char *word = option_word(argv);
        size_t i;
        tl_status status;

        if (code == '?' || code == ':') return refuse(verb, code, word, err);
        i = index_of(verb, code);
        optopt = 0;
        if (abbreviated(tl_cli_option_at(verb, i), code, word)) return refuse(verb, '?', word, err);
        if (i == verb->options + COMMON_JSON) call->json = true;
        if (i == verb->options + COMMON_HELP) {
            call->help = true;
            return TL_OK;
        }
        if (i >= verb->options) continue;
        status = parse_value(&verb->option[i], optarg != NULL ? optarg : "", &call->value[i], err);
        if (status != TL_OK) return status;
        call->value[i].given = true;
    }
    return TL_OK;
}

tl_status tl_cli_parse(const tl_cli_verb *verb, int argc, char **argv, tl_cli_call *call,
                       tl_error *err)
{
    tl_status status = TL_OK;

    *call = (tl_cli_call){.json = false};
    for (size_t i = 0; i < verb->options && status == TL_OK; i++)
        if (verb->option[i].fallback != NULL)
            status = parse_value(&verb->option[i], verb->option[i].fallback, &call->value[i], err);
    if (status == TL_OK) status = take_options(verb, argc, argv, call, err);
    if (status != TL_OK || call->help) return status;

    call->operands = argc - optind;
    call->operand = argv + optind;
    if (call->operands < verb->least)
        return tl_fail(err, TL_ERR_ARGUMENT, "an argument is missing: usage is tightlip %s %s",
                       verb->name, verb->operands);
    if (call->operands > verb->most)
        return tl_fail(err, TL_ERR_ARGUMENT, "one argument too many, '%s': usage is tightlip %s %s",
                       call->operand[verb->most], verb->name, verb->operands);
    return TL_OK;
}
