#include "cli/search.h"

#include <inttypes.h>

#include <gsl/gsl_math.h>

tl_problem tl_cli_search_witness(const tl_cli_search_report *report)
{
    const tl_search_result *result = report->result;
    union {
        const tl_domain *in;
        tl_domain *out;
    } domain = {report->problem->domain};

    return (tl_problem){
        .layer = result->layer,
        .measure = result->measure,
        .domain = domain.out,
        .has_norm = true,
        .norm = report->problem->norm,
        .direction = result->direction,
        .direction_kind = result->norm.split ? TL_DIRECTION_SPLIT : TL_DIRECTION_JOINT,
        .has_value = true,
        .value = result->norm.value,
        .log10_value = result->norm.log_value / M_LN10,
    };
}

static void print_matrix(FILE *out, const char *name, const double *a, size_t rows, size_t cols)
{
    for (size_t i = 0; i < rows; i++) {
        fprintf(out, "%-10s", i == 0 ? name : "");
        for (size_t j = 0; j < cols; j++) fprintf(out, " %12.8g", a[i * cols + j]);
        fputc('\n', out);
    }
}

static const char *where_attained(tl_norm norm, bool masked, bool split)
{
    if (norm == TL_NORM_INF2) return "norm inf2, attained by ascent, from below";
    if (norm == TL_NORM_INF) return "norm inf, over every entry";
    if (norm == TL_NORM_1) return "norm 1, over every entry";
    if (norm == TL_NORM_FRO) return "norm fro, over every entry";
    if (masked) return "norm 2, over all tokens";
    return split ? "where copies of one token move apart (split)"
                 : "where copies move together (joint)";
}

void tl_cli_search_print(FILE *out, const tl_cli_search_report *report)
{
    const tl_search_problem *problem = report->problem;
    const tl_search_result *result = report->result;
    enum { SHOWN = 8 };
    char text[CLI_NUMBER_SIZE];

    tl_cli_print_setting(out, result->layer, result->measure, problem->domain, report->from);
    fprintf(out, "found      %s (log10 %.12g), %s\n",
            tl_cli_format_log(text, result->norm.log_value), result->norm.log_value / M_LN10,
            where_attained(problem->norm, result->layer->mask != TL_MASK_NONE, result->norm.split));
    if (problem->objective != TL_OBJECTIVE_NORM)
        fprintf(out, "objective  %s: %s\n", tl_objective_name(problem->objective),
                tl_cli_format_log(text, result->log_objective));
    fprintf(out,
            "how        from start %s, restart %" PRIu64 ", stopped: %s; %" PRIu64
            " evaluations in all\n",
            tl_start_name(result->start), result->restart, tl_stop_name(result->stop),
            result->evaluations);
    if (problem->worst_a && result->layer->d <= SHOWN)
        print_matrix(out, "A", result->layer->head[0].Q, result->layer->d, result->layer->d);
    fputc('\n', out);
    tl_cli_print_atoms(out, result->measure);
    fputc('\n', out);
    tl_cli_bounds_print(out, report->rows, &report->found);
}

json_t *tl_cli_search_json(const tl_cli_search_report *report)
{
    const tl_search_problem *problem = report->problem;
    const tl_search_result *result = report->result;
    tl_problem witness = tl_cli_search_witness(report);

    return json_pack(
        "{s:s,s:o,s:o,s:o,s:b,s:b,s:o,s:s,s:o,s:s,s:I,s:I,s:s,s:o,s:o,s:o,s:o}", "norm",
        tl_norm_name(problem->norm), "value", tl_cli_json_real(result->norm.value), "log10",
        tl_cli_json_log10(result->norm.log_value), "n", tl_cli_json_tokens(result->measure->n),
        "split", (int)result->norm.split, "dense", (int)result->norm.dense, "residual",
        tl_cli_json_real(result->norm.residual), "objective", tl_objective_name(problem->objective),
        "objective_log10", tl_cli_json_log10(result->log_objective), "start",
        tl_start_name(result->start), "restart", (json_int_t)result->restart, "evaluations",
        (json_int_t)result->evaluations, "stop", tl_stop_name(result->stop), "atoms",
        tl_cli_json_atoms(result->measure), "domain",
        tl_cli_json_domain(problem->domain, report->from), "bounds",
        tl_cli_bounds_json(report->rows, &report->found), "witness", tl_problem_to_json(&witness));
}
