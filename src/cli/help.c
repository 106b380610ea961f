#include "cli/cli.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { TEXT_COLUMN = 28, NARROWEST = 60, WIDEST = 120, OTHERWISE = 96 };

int tl_cli_line_width(void)
{
    struct winsize window = {0};
    const char *text = getenv("COLUMNS");
    uint64_t width = 0;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0) width = window.ws_col;
    if (width == 0 && (text == NULL || !tl_cli_parse_count(text, &width))) width = 0;
    if (width == 0) return OTHERWISE;
    return width < NARROWEST ? NARROWEST : width > WIDEST ? WIDEST : (int)width;
}

void tl_cli_print_wrapped(FILE *out, const char *text, int column, int indent)
{
    const int width = tl_cli_line_width();
    bool fresh = column <= indent; /* no word of text on this line yet */

    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (!fresh && column + 1 + length > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        } else if (!fresh) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", length, text);
        fresh = false;
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void join_words(char *text, size_t size, const char *const *words)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; words[i] != NULL && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i == 0 ? "" : ", ", words[i]);
}

/* What the option's argument may be, e.g. "1 to 1024". */
static void describe_range(char *text, size_t size, const tl_cli_option *option)
{
    text[0] = '\0';
    switch (option->type) {
    case CLI_FLAG:
    case CLI_TEXT:
        break;
    case CLI_POSITIVE:
        snprintf(text, size, "above 0");
        break;
    case CLI_RADIUS:
        snprintf(text, size, "above 0, or inf");
        break;
    case CLI_NONNEGATIVE:
        snprintf(text, size, "0 or above");
        break;
    case CLI_COUNT:
    case CLI_TOKENS:
        snprintf(text, size, "%" PRIu64 " to %" PRIu64 "%s", option->low, option->high,
                 option->type == CLI_TOKENS ? ", or inf" : "");
        break;
    case CLI_CHOICE:
    case CLI_SET:
        join_words(text, size, option->words);
        break;
    }
}

static void print_option(FILE *out, const tl_cli_option *option)
{
    char text[768], range[384];
    const char *open = "(", *fallback = option->fallback;
    int column;
    size_t used;

    if (option->letter != 0)
        column = fprintf(out, "  -%c, --%s", option->letter, option->name);
    else
        column = fprintf(out, "      --%s", option->name);
    if (option->type != CLI_FLAG) column += fprintf(out, " %s", option->argument);
    if (column >= TEXT_COLUMN) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", TEXT_COLUMN - column, "");

    describe_range(range, sizeof range, option);
    used = (size_t)snprintf(text, sizeof text, "%s", option->text);
    if (range[0] != '\0' && used < sizeof text) {
        used += (size_t)snprintf(text + used, sizeof text - used, " (%s", range);
        open = "; ";
    } else if (fallback != NULL && used < sizeof text) {
        used += (size_t)snprintf(text + used, sizeof text - used, " ");
    }
    if (fallback != NULL && used < sizeof text)
        used += (size_t)snprintf(text + used, sizeof text - used, "%sdefault %s", open, fallback);
    if ((range[0] != '\0' || fallback != NULL) && used < sizeof text)
        snprintf(text + used, sizeof text - used, ")");
    tl_cli_print_wrapped(out, text, TEXT_COLUMN, TEXT_COLUMN);
}

void tl_cli_print_help(FILE *out, const tl_cli_verb *verb)
{
    const tl_cli_option *option;

    fprintf(out, "usage: tightlip %s%s%s\n\n", verb->name, verb->operands[0] != '\0' ? " " : "",
            verb->operands);
    tl_cli_print_wrapped(out, verb->details, 0, 0);
    fprintf(out, "\noptions:\n");
    for (size_t i = 0; (option = tl_cli_option_at(verb, i)) != NULL; i++) print_option(out, option);
}

void tl_cli_print_usage(FILE *out)
{
    fprintf(out, "tightlip: how sharp are the Lipschitz bounds of self-attention?\n\n"
                 "usage: tightlip VERB [options] [arguments]\n\n");
    for (size_t i = 0; i < tl_cli_verb_count(); i++)
        fprintf(out, "  %-8s  %s\n", tl_cli_verb_at(i)->name, tl_cli_verb_at(i)->summary);
    fprintf(out, "\n`tightlip VERB --help` explains a verb. stdout is data, stderr is talk.\n"
                 "exit codes: 0 done; 1 failed; 2 wrong usage or input; 3 a found value lies above "
                 "a bound, or a witness below its claim.\n\n"
                 "to begin: tightlip list experiments, then tightlip run one of them; "
                 "tightlip search --n 100 --radius 2 -o worst.json,\n"
                 "then tightlip norm and tightlip verify worst.json; "
                 "tightlip doctor says what this build has.\n");
}
