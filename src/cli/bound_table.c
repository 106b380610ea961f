/* Tables of bounds for people: short beside a found value, long with titles and sources, and
 * Markdown. The smallest bound of each norm is marked. */
#include <math.h>
#include <string.h>

#include <gsl/gsl_math.h>

#include "cli/bound_rows.h"

static bool counts(const tl_cli_bound_row *row)
{
    return row->value.applicable && (row->bound->provenance == TL_PROVENANCE_PUBLISHED ||
                                     row->bound->provenance == TL_PROVENANCE_PROVEN);
}

bool tl_cli_bound_is_least(const tl_cli_bound_row *rows, const tl_cli_bound_row *row)
{
    if (!counts(row)) return false;
    for (const tl_cli_bound_row *other = rows; other->bound != NULL; other++) {
        if (!counts(other) || other->bound->norm != row->bound->norm) continue;
        if (other->value.log_value < row->value.log_value ||
            (other < row && other->value.log_value <= row->value.log_value))
            return false;
    }
    return true;
}

static void print_start(FILE *out, const tl_cli_bound_row *rows, const tl_cli_bound_row *row)
{
    const tl_bound *bound = row->bound;
    char value[CLI_NUMBER_SIZE];

    fprintf(out, "%c %-17s %-5s %-14s %-10s %13s", tl_cli_bound_is_least(rows, row) ? '*' : ' ',
            bound->key, tl_norm_name(bound->norm), tl_scope_name(bound->scope),
            tl_provenance_name(bound->provenance), tl_cli_format_log(value, row->value.log_value));
}

static void print_log10(FILE *out, const tl_cli_bound_row *row)
{
    fprintf(out, " %10.6g", row->value.log_value / M_LN10);
}

static void print_head(FILE *out)
{
    fprintf(out, "  %-17s %-5s %-14s %-10s %13s", "bound", "norm", "scope", "provenance", "value");
}

/* True for the first row of those that do not apply for its reason. */
static bool opens_group(const tl_cli_bound_row *rows, const tl_cli_bound_row *row)
{
    for (const tl_cli_bound_row *other = rows; other < row; other++)
        if (!other->value.applicable && strcmp(other->value.why, row->value.why) == 0) return false;
    return !row->value.applicable;
}

/* "reason: key, key" of the rows that share row's reason. */
static void print_group(FILE *out, const tl_cli_bound_row *rows, const tl_cli_bound_row *row)
{
    char text[2048];
    size_t used = (size_t)snprintf(text, sizeof text, "%s:", row->value.why);
    const char *comma = "";

    for (const tl_cli_bound_row *other = rows; other->bound != NULL && used < sizeof text;
         other++) {
        if (other->value.applicable || strcmp(other->value.why, row->value.why) != 0) continue;
        used +=
            (size_t)snprintf(text + used, sizeof text - used, "%s %s", comma, other->bound->key);
        comma = ",";
    }
    fputs("  ", out);
    tl_cli_print_wrapped(out, text, 2, 6);
}

static void print_refusals(FILE *out, const tl_cli_bound_row *rows)
{
    bool any = false;

    for (const tl_cli_bound_row *row = rows; row->bound != NULL; row++) {
        if (!opens_group(rows, row)) continue;
        if (!any) fputs("\ndo not apply\n", out);
        any = true;
        print_group(out, rows, row);
    }
}

void tl_cli_bounds_print(FILE *out, const tl_cli_bound_row *rows, const tl_cli_found *found)
{
    /* The logarithm goes first where the line is short. */
    const bool wide = tl_cli_line_width() >= 90;

    print_head(out);
    fprintf(out, "%s  bound/found\n", wide ? "      log10" : "");
    for (const tl_cli_bound_row *row = rows; row->bound != NULL; row++) {
        char ratio[CLI_NUMBER_SIZE];
        if (!row->value.applicable) continue;
        print_start(out, rows, row);
        if (wide) print_log10(out, row);
        if (tl_cli_bound_comparable(row, found))
            fprintf(
                out, " %12s%s", tl_cli_format_log(ratio, row->value.log_value - found->log_value),
                tl_cli_bound_exceeded(found->log_value, row->value.log_value) ? "  EXCEEDED" : "");
        fputc('\n', out);
    }
    fputs("* smallest of its norm among published and proven\n", out);
    print_refusals(out, rows);
}

void tl_cli_bounds_print_long(FILE *out, const tl_cli_bound_row *rows)
{
    print_head(out);
    fputs("      log10\n", out);
    for (const tl_cli_bound_row *row = rows; row->bound != NULL; row++) {
        if (!row->value.applicable) continue;
        print_start(out, rows, row);
        print_log10(out, row);
        fputs("\n      ", out);
        tl_cli_print_wrapped(out, row->bound->title, 6, 6);
        fputs("      ", out);
        tl_cli_print_wrapped(out, row->bound->citation, 6, 6);
    }
    fputs("* smallest of its norm among published and proven\n", out);
    print_refusals(out, rows);
}

/* Bars would end a cell. */
static void put_cell(FILE *out, const char *text)
{
    fputs("| ", out);
    for (; *text != '\0'; text++) {
        if (*text == '|') fputc('\\', out);
        fputc(*text, out);
    }
    fputc(' ', out);
}

void tl_cli_bounds_print_markdown(FILE *out, const tl_cli_bound_row *rows)
{
    fputs("| bound | formula | norm | scope | value | log10 | provenance | source |\n"
          "|---|---|---|---|---:|---:|---|---|\n",
          out);
    for (const tl_cli_bound_row *row = rows; row->bound != NULL; row++) {
        const tl_bound *bound = row->bound;
        const bool least = tl_cli_bound_is_least(rows, row);
        char value[CLI_NUMBER_SIZE];

        if (!row->value.applicable) continue;
        fprintf(out, "| %s%s%s ", least ? "**" : "", bound->key, least ? "**" : "");
        put_cell(out, bound->title);
        put_cell(out, tl_norm_name(bound->norm));
        put_cell(out, tl_scope_name(bound->scope));
        fprintf(out, "| %s | %.6g ", tl_cli_format_log(value, row->value.log_value),
                row->value.log_value / M_LN10);
        put_cell(out, tl_provenance_name(bound->provenance));
        put_cell(out, bound->citation);
        fputs("|\n", out);
    }
}
