#include "cli/attack_report.h"

#include <math.h>

bool tl_cli_attack_refuted(const tl_cli_attack_row *row)
{
    if (!row->least) return false;
    const double log_bound = row->log_bound;
    const double found = (row->result.effect - row->result.rounding) / row->result.distance;
    if (!(found > 0) || !tl_cli_bound_exceeded(log(found), log_bound)) return false;
    fprintf(stderr, "tightlip: epsilon %g: the ratio %.12g lies above the bound %s = %.12g\n",
            row->epsilon, found, row->least->bound->key, exp(log_bound));
    return true;
}

void tl_cli_attack_print(const tl_cli_attack *report)
{
    const tl_problem *p = &report->problem;

    tl_cli_print_setting(stdout, p->layer, p->measure, p->domain, report->from);
    printf("moves      %s\n", report->stay ? "inside the domain" : "anywhere within epsilon");
    printf("local      %.12g, the norm at X: the limit of the ratio%s\n",
           report->row[0].result.local, report->residual != 0 ? ", with the residual branch" : "");
    printf("\n%-12s %-14s %-12s %-18s %-14s %-12s %s\n", "epsilon", "effect", "ratio", "start",
           "least bound", "key", "bound/ratio");
    for (size_t i = 0; i < report->rows; i++) {
        const tl_cli_attack_row *row = &report->row[i];
        const tl_attack_result *r = &row->result;
        printf("%-12.6g %-14.9g %-12.9g %-18.18s ", row->epsilon, r->effect, r->ratio,
               tl_attack_start_name(r->start));
        if (!row->least) {
            printf("none\n");
            continue;
        }
        char text[CLI_NUMBER_SIZE], times[24] = "-";
        const double log_bound = row->log_bound;
        if (r->ratio > 0) snprintf(times, sizeof times, "%.4g", exp(log_bound) / r->ratio);
        printf("%-14s %-12s %s\n", tl_cli_format_log(text, log_bound), row->least->bound->key,
               times);
    }
}

static json_t *row_json(const tl_cli_attack *report, const tl_cli_attack_row *row)
{
    const tl_attack_result *r = &row->result;
    const double log_bound = row->least ? row->log_bound : (double)NAN;

    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:s,s:b,s:s?,s:o,s:o,s:o}", "epsilon",
                     tl_cli_json_real(row->epsilon), "effect", tl_cli_json_real(r->effect),
                     "rounding", tl_cli_json_real(r->rounding), "ratio", tl_cli_json_real(r->ratio),
                     "distance", tl_cli_json_real(r->distance), "start",
                     tl_attack_start_name(r->start), "interrupted",
                     report->cut && row == &report->row[report->rows - 1], "bound",
                     row->least ? row->least->bound->key : NULL, "bound_log10",
                     tl_cli_json_log10(log_bound), "tokens", tl_cli_json_rows(r->x, r->n, r->d),
                     "bounds", tl_cli_bounds_json(row->rows, NULL));
}

json_t *tl_cli_attack_json(const tl_cli_attack *report)
{
    json_t *attacks = json_array();

    for (size_t i = 0; i < report->rows; i++)
        tl_cli_json_append(&attacks, row_json(report, &report->row[i]));
    return json_pack("{s:o,s:b,s:b,s:o}", "local", tl_cli_json_real(report->row[0].result.local),
                     "residual", (int)(report->residual != 0), "stay", report->stay, "attacks",
                     attacks);
}
