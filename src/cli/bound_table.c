/* Tables of bounds for people: short beside a found value, long with titles and sources, and
 * Markdown. The smallest bound of each norm is marked. */
#include <math.h>

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

    fprintf(out, "%c %-17s %-5s %-14s %-10s ", tl_cli_bound_is_least(rows, row) ? '*' : ' ',
            bound->key, tl_norm_name(bound->norm), tl_scope_name(bound->scope),
            tl_provenance_name(bound->provenance));
}

static void print_value(FILE *out, const tl_cli_bound_row *row)
{
    char value[CLI_NUMBER_SIZE];

    fprintf(out, "%13s %10.6g", tl_cli_format_log(value, row->value.log_value),
            row->value.log_value / M_LN10);
}

static void print_head(FILE *out, const char *last)
{
    fprintf(out, "  %-17s %-5s %-14s %-10s %13s %10s%s\n", "bound", "norm", "scope", "provenance",
            "value", "log10", last);
}

static void print_refusals(FILE *out, const tl_cli_bound_row *rows)
{
    bool any = false;

    for (const tl_cli_bound_row *row = rows; row->bound != NULL; row++) {
        if (row->value.applicable) continue;
        if (!any) fputs("\ndo not apply:\n", out);
        any = true;
        fprintf(out, "  %-17s ", row->bound->key);
        tl_cli_print_wrapped(out, row->value.why, 20, 20);
    }
}

void tl_cli_bounds_print(FILE *out, const tl_cli_bound_row *rows, const tl_cli_found *found)
{
    print_head(out, "  bound/found");
    for (const tl_cli_bound_row *row = rows; row->bound != NULL; row++) {
        char ratio[CLI_NUMBER_SIZE];
        if (!row->value.applicable) continue;
        print_start(out, rows, row);
        print_value(out, row);
        if (tl_cli_bound_comparable(row, found))
            fprintf(
                out, " %12s%s", tl_cli_format_log(ratio, row->value.log_value - found->log_value),
                tl_cli_bound_exceeded(found->log_value, row->value.log_value) ? "  EXCEEDED" : "");
        fputc('\n', out);
    }
    fputs("* smallest of its norm\n", out);
    print_refusals(out, rows);
}

void tl_cli_bounds_print_long(FILE *out, const tl_cli_bound_row *rows)
{
    print_head(out, "");
    for (const tl_cli_bound_row *row = rows; row->bound != NULL; row++) {
        if (!row->value.applicable) continue;
        print_start(out, rows, row);
        print_value(out, row);
        fputs("\n      ", out);
        tl_cli_print_wrapped(out, row->bound->title, 6, 6);
        fputs("      ", out);
        tl_cli_print_wrapped(out, row->bound->citation, 6, 6);
    }
    fputs("* smallest of its norm\n", out);
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
