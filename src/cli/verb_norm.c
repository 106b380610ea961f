#include "cli/cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_math.h>

#include "cli/words.h"
#include "tightlip/model.h"
#include "tightlip/problem.h"

#define NORM_OPTIONS(X)                                                                           \
    X(NORM, "norm", 0, CHOICE, "NORM", NULL, 0, 0, tl_cli_norm_words,                             \
      "norm of the Jacobian; without this option the file's own, or else 2")                      \
    X(WEIGHTS, "weights", 'w', TEXT, "FILE", NULL, 0, 0, NULL,                                    \
      "weights: safetensors or its index.json, ONNX, npz")                                        \
    X(MODULE, "module", 0, TEXT, "PREFIX", NULL, 0, 0, NULL,                                      \
      "tensors PREFIX.{q,k,v,out}.{weight,bias} of the weights file")                             \
    X(HEADS, "heads", 'H', COUNT, "H", NULL, 1, 65536, NULL, "number of heads of the module")     \
    X(HEAD, "head", 0, COUNT, "h", NULL, 0, 65535, NULL,                                          \
      "this head alone, counted from 0, without the output matrix; otherwise all heads with it")  \
    X(TOKENS, "tokens", 't', TEXT, "FILE", NULL, 0, 0, NULL, "the tokens: any such file, or npy") \
    X(TENSOR, "tensor", 0, TEXT, "NAME", NULL, 0, 0, NULL,                                        \
      "their name in that file, one row each; not needed where it holds one array")               \
    X(TOLERANCE, "tolerance", 0, POSITIVE, "T", NULL, 0, 0, NULL,                                 \
      "many tokens: iterate over panels of rows until the relative residual is T; norm 2")        \
    X(SINGLE, "single", 0, FLAG, NULL, NULL, 0, 0, NULL,                                          \
      "with --tolerance: iterate in single precision, the value measured in double")              \
    X(CONJECTURE, "conjecture", 'c', TEXT, "FORMULA", NULL, 0, 0, NULL,                           \
      "the logarithm of a bound of your own: see tightlip list variables")

enum {
#define X(id, ...) NORM_##id,
    NORM_OPTIONS(X) NORM_COUNT
#undef X
};

static const tl_cli_option options[NORM_COUNT] = {NORM_OPTIONS(CLI_OPTION_ROW)};

/* Either a problem file, or all options of the weights form. */
static tl_status check_form(const tl_cli_call *call, tl_error *err)
{
    static const int needed[] = {NORM_WEIGHTS, NORM_MODULE, NORM_HEADS, NORM_TOKENS};
    bool weights = call->value[NORM_HEAD].given || call->value[NORM_TENSOR].given;

    for (size_t i = 0; i < CLI_COUNT_OF(needed); i++) weights |= call->value[needed[i]].given;
    if (!weights && call->operands == 0)
        return tl_fail(err, TL_ERR_ARGUMENT, "expected a problem file, or --weights and --tokens");
    if (weights && call->operands > 0)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "a problem file ('%s') and options for weights exclude each other",
                       call->operand[0]);
    for (size_t i = 0; weights && i < CLI_COUNT_OF(needed); i++)
        if (!call->value[needed[i]].given)
            return tl_fail(err, TL_ERR_ARGUMENT, "weights and tokens also need --%s",
                           options[needed[i]].name);
    if (call->value[NORM_HEAD].given &&
        call->value[NORM_HEAD].count >= call->value[NORM_HEADS].count)
        return tl_fail(err, TL_ERR_ARGUMENT, "--head: expected below --heads %s, found '%s'",
                       call->value[NORM_HEADS].text, call->value[NORM_HEAD].text);
    return TL_OK;
}

static tl_status read_layer(const tl_cli_call *call, tl_layer **layer, tl_error *err)
{
    const tl_cli_value *value = call->value;
    tl_module_spec spec = {
        .prefix = value[NORM_MODULE].text,
        .heads = (size_t)value[NORM_HEADS].count,
        .head = value[NORM_HEAD].given ? (long)value[NORM_HEAD].count : -1,
    };
    tl_weights *file = NULL;
    tl_status status = tl_weights_open(&file, value[NORM_WEIGHTS].text, err);

    if (status != TL_OK) return status;
    status = tl_model_layer(file, &spec, layer, err);
    tl_weights_close(file);
    return status;
}

static tl_status read_tokens(const tl_cli_call *call, size_t d, tl_measure **measure, tl_error *err)
{
    const char *path = call->value[NORM_TOKENS].text;
    const char *name = call->value[NORM_TENSOR].given ? call->value[NORM_TENSOR].text : NULL;
    tl_weights *file = NULL;
    double *x = NULL;
    size_t rows = 0, cols = 0;
    tl_status status = tl_weights_open(&file, path, err);

    if (status == TL_OK) status = tl_weights_read(file, name, &x, &rows, &cols, err);
    if (status == TL_OK && cols != d)
        status =
            tl_fail(err, TL_ERR_SHAPE, "%s: tensor %s: expected tokens of width %zu, found %zu",
                    path, name ? name : tl_weights_name(file, 0), d, cols);
    if (status == TL_OK) status = tl_measure_alloc(measure, rows, cols, x, NULL, NULL, err);
    free(x);
    if (file != NULL) tl_weights_close(file);
    return status;
}

static tl_status read_problem(const tl_cli_call *call, tl_problem *problem, const char **from,
                              tl_error *err)
{
    tl_status status = check_form(call, err);

    if (status == TL_OK && call->operands > 0) {
        status = tl_model_read_problem(call->operand[0], problem, err);
    } else if (status == TL_OK) {
        status = read_layer(call, &problem->layer, err);
        if (status == TL_OK) status = read_tokens(call, problem->layer->d, &problem->measure, err);
    }
    *from = "the file's";
    if (status != TL_OK || problem->domain != NULL) return status;
    *from = "a small ball about the tokens";
    return tl_domain_alloc_enclosing(&problem->domain, problem->measure->m, problem->measure->d,
                                     problem->measure->x, err);
}

typedef struct {
    tl_problem problem;
    const char *from; /* where the domain comes from */
    tl_norm norm;
    tl_norm_result result;
    tl_cli_bound_row *rows;
    tl_cli_found found;
} norm_report;

/* How far the value can be trusted. */
static const char *method(const norm_report *report)
{
    if (report->norm == TL_NORM_JT_F) return "no norm of the Jacobian, for comparison only";
    if (report->result.lower) return "attained by ascent, from below";
    if (!report->result.dense) return "by Lanczos, from below";
    return report->norm == TL_NORM_2 ? "by full SVD" : "over every entry";
}

static void print_report(const norm_report *report)
{
    const tl_norm_result *result = &report->result;
    char text[CLI_NUMBER_SIZE];

    tl_cli_print_setting(stdout, report->problem.layer, report->problem.measure,
                         report->problem.domain, report->from);
    printf("norm       %s: %.17g (log10 %.12g), %s", tl_norm_name(report->norm), result->value,
           result->log_value / M_LN10, method(report));
    if (!result->dense) printf(", relative residual %.2g", result->residual);
    printf("%s\n", result->converged ? "" : ", NOT CONVERGED");
    if (report->norm == TL_NORM_2) {
        printf("attained   %s\n", result->split ? "where copies of one token move apart (split)"
                                                : "where copies move together (joint)");
        printf("joint      %s\n", tl_cli_format_log(text, result->log_joint));
        printf("split      %s\n", tl_cli_format_log(text, result->log_split));
        if (!isnan(result->log_second))
            printf("second     %s\n", tl_cli_format_log(text, result->log_second));
    }
    if (report->problem.has_value)
        printf("claimed    %.17g (log10 %.12g)\n", report->problem.value,
               report->problem.log10_value);
    putchar('\n');
    tl_cli_bounds_print(stdout, report->rows, &report->found);
}

/* The blocks and the second singular value: known for the spectral norm only. */
static json_t *blocks_json(const norm_report *report)
{
    const tl_norm_result *result = &report->result;

    if (report->norm != TL_NORM_2)
        return json_pack("{s:n,s:n,s:n,s:n,s:n,s:n}", "joint", "joint_log10", "split_value",
                         "split_log10", "second", "second_log10");
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "joint", tl_cli_json_value(result->log_joint),
                     "joint_log10", tl_cli_json_log10(result->log_joint), "split_value",
                     tl_cli_json_value(result->log_split), "split_log10",
                     tl_cli_json_log10(result->log_split), "second",
                     tl_cli_json_value(result->log_second), "second_log10",
                     tl_cli_json_log10(result->log_second));
}

static json_t *claim_json(const tl_problem *problem)
{
    if (!problem->has_value) return json_null();
    return json_pack("{s:o,s:o}", "value", tl_cli_json_real(problem->value), "log10",
                     tl_cli_json_real(problem->log10_value));
}

static json_t *report_json(const norm_report *report)
{
    const tl_norm_result *result = &report->result;
    const tl_measure *measure = report->problem.measure;
    json_t *blocks = blocks_json(report);
    json_t *document = json_pack(
        "{s:s,s:o,s:o,s:o,s:I,s:b,s:b,s:b,s:b,s:o,s:o,s:o,s:o}", "norm", tl_norm_name(report->norm),
        "value", tl_cli_json_real(result->value), "log10", tl_cli_json_log10(result->log_value),
        "n", tl_cli_json_tokens(measure->n), "atoms", (json_int_t)measure->m, "split",
        (int)result->split, "dense", (int)result->dense, "converged", (int)result->converged,
        "lower", (int)result->lower, "residual", tl_cli_json_real(result->residual), "claimed",
        claim_json(&report->problem), "domain",
        tl_cli_json_domain(report->problem.domain, report->from), "bounds",
        tl_cli_bounds_json(report->rows, &report->found));

    if (document != NULL && (blocks == NULL || json_object_update(document, blocks) != 0)) {
        json_decref(document);
        document = NULL;
    }
    json_decref(blocks);
    return document;
}

/* By iteration over panels: no split block (every token is listed once) and no second value. */
static tl_status compute_panels(const tl_cli_call *call, norm_report *report, tl_error *err)
{
    const tl_norm_settings settings = {
        .tolerance = call->value[NORM_TOLERANCE].real,
        .products = call->value[NORM_SINGLE].given ? TL_PRODUCTS_SINGLE : TL_PRODUCTS_DOUBLE};
    tl_norm_result *result = &report->result;
    tl_norm_layer_result found;

    if (report->norm != TL_NORM_2)
        return tl_fail(err, TL_ERR_ARGUMENT, "--tolerance: expected norm 2, found '%s'",
                       tl_norm_name(report->norm));
    tl_status status =
        tl_norm_layer(report->problem.layer, report->problem.measure, &settings, NULL, &found, err);
    if (status != TL_OK) return status;
    result->value = found.value;
    result->log_value = result->log_joint = log(found.value);
    result->log_split = -INFINITY;
    result->log_second = (double)NAN;
    result->residual = found.residual;
    result->converged = found.converged;
    return TL_OK;
}

static tl_status compute(const tl_cli_call *call, norm_report *report, tl_error *err)
{
    if (call->value[NORM_TOLERANCE].given) return compute_panels(call, report, err);
    if (call->value[NORM_SINGLE].given)
        return tl_fail(err, TL_ERR_ARGUMENT, "--single also needs --tolerance");
    return tl_norm_compute(report->problem.layer, report->problem.measure, report->norm, NULL,
                           &report->result, err);
}

static tl_status run_norm(tl_cli_call *call, tl_error *err)
{
    norm_report report = {.rows = NULL};
    tl_cli_conjecture conjecture;
    tl_problem *problem = &report.problem;
    tl_status status = read_problem(call, problem, &report.from, err);

    if (problem->has_norm) report.norm = problem->norm;
    if (call->value[NORM_NORM].given) report.norm = (tl_norm)call->value[NORM_NORM].count;
    if (status == TL_OK) {
        status = compute(call, &report, err);
        if (status) tl_error_prefix(err, "%s", call->operands > 0 ? call->operand[0] : "tokens");
    }
    if (status == TL_OK)
        status = tl_cli_conjecture_read(&conjecture, call->value[NORM_CONJECTURE].text, report.norm,
                                        err);
    report.found = (tl_cli_found){report.norm, report.result.log_value};
    if (status == TL_OK)
        status = tl_cli_bounds_at(&report.rows, problem->layer, problem->measure, problem->domain,
                                  conjecture.given ? &conjecture.bound : NULL, err);
    if (status == TL_OK) call->refuted = tl_cli_bounds_refuted(report.rows, &report.found);
    if (status == TL_OK && call->json)
        status = tl_cli_json_print(report_json(&report));
    else if (status == TL_OK)
        print_report(&report);
    free(report.rows);
    tl_problem_clear(problem);
    return status;
}

const tl_cli_verb tl_cli_verb_norm = {
    .name = "norm",
    .operands = "FILE | --weights FILE --module PREFIX --heads H --tokens FILE [--tensor NAME]",
    .summary = "the local norm at the tokens of a file, with every bound beside it",
    .details =
        "Computes the norm of the Jacobian of a layer at given tokens, for any of the norms, and "
        "every bound on the domain of the tokens: the one the file names, or else a small ball "
        "that holds the tokens. FILE is a problem or witness file (JSON); trained weights and "
        "tokens are read from files of safetensors, npy, npz or ONNX.",
    .option = options,
    .options = NORM_COUNT,
    .most = 1,
    .run = run_norm,
};
