/* tightlip exact: the largest norm of a tiny problem, enclosed. */
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/words.h"
#include "tightlip/exact.h"
#include "tightlip/model.h"
#include "tightlip/problem.h"
#include "tightlip/search.h"

static const char *const sign_words[] = {"identity", "minus-identity", NULL};
/* In the order of tl_mask; a general mask comes from a file, and is refused. */
static const char *const mask_words[] = {"none", "causal", NULL};

#define EXACT_OPTIONS(X)                                                                     \
    X(ATTENTION, "attention", 0, CHOICE, "KIND", "dot", 0, 0, tl_cli_kind_words,             \
      "kind of attention: dot or l2")                                                        \
    X(MASK, "mask", 0, CHOICE, "MASK", "none", 0, 0, mask_words, "mask: none or causal")     \
    X(D, "d", 'd', COUNT, "D", "1", 1, 2, NULL, "width of the tokens")                       \
    X(A, "a", 0, CHOICE, "PRESET", "minus-identity", 0, 0, sign_words,                       \
      "the matrix A of the logits <A x_i, x_j>, times --norm-a; kind l2: A = Q'Q / sqrt(d)") \
    X(NORM_A, "norm-a", 0, POSITIVE, "X", "1", 0, 0, NULL, "spectral norm of A")             \
    X(N, "n", 'n', COUNT, "N", "2", 1, 6, NULL, "number of tokens")                          \
    X(RADIUS, "radius", 'r', POSITIVE, "R", "1", 0, 0, NULL,                                 \
      "radius of the ball about the origin that holds every token")                          \
    X(WHOLE, "whole-space", 0, FLAG, NULL, NULL, 0, 0, NULL,                                 \
      "no ball: all of the line, for kind l2 at width 1")                                    \
    X(TOLERANCE, "tolerance", 't', POSITIVE, "T", "1e-6", 0, 0, NULL,                        \
      "relative width of the interval at which to stop")                                     \
    X(BOXES, "boxes", 0, COUNT, "K", "100000000", 1, 1000000000000, NULL,                    \
      "boxes looked at, at most")                                                            \
    X(SECONDS, "seconds", 0, POSITIVE, "S", NULL, 0, 0, NULL, "stop after this time")        \
    X(STATE, "state", 0, TEXT, "FILE", NULL, 0, 0, NULL,                                     \
      "go on from this file if it is there, and write it every ten seconds and at the end")  \
    X(THREADS, "threads", 'j', COUNT, "T", NULL, 1, 1024, NULL,                              \
      "OpenMP threads; results do not depend on them")

enum {
#define X(id, ...) EXACT_##id,
    EXACT_OPTIONS(X) EXACT_COUNT
#undef X
};

static const tl_cli_option options[EXACT_COUNT] = {EXACT_OPTIONS(CLI_OPTION_ROW)};

static tl_status preset_layer(const tl_cli_call *call, tl_layer **layer, tl_error *err)
{
    const size_t d = (size_t)call->value[EXACT_D].count;
    const tl_kind kind = (tl_kind)call->value[EXACT_ATTENTION].count;
    const double norm = call->value[EXACT_NORM_A].real;
    double A[4] = {0}, V[4] = {0};

    for (size_t i = 0; i < d; i++) {
        V[i * (d + 1)] = 1;
        A[i * (d + 1)] = call->value[EXACT_A].count == 1 ? -norm : norm;
        if (kind == TL_KIND_L2) A[i * (d + 1)] = sqrt(norm * sqrt((double)d));
    }
    const tl_head head = {.k = d, .v = d, .Q = A, .V = V, .scale = 1};
    return tl_layer_alloc(layer, kind, (tl_mask)call->value[EXACT_MASK].count, d, 1, &head, NULL, 0,
                          err);
}

/* Layer, n and radius from the flags or from a problem file. */
static tl_status read_given(const tl_cli_call *call, tl_problem *given, tl_exact_problem *problem,
                            tl_error *err)
{
    static const int fixed[] = {EXACT_ATTENTION, EXACT_MASK,   EXACT_D,
                                EXACT_A,         EXACT_NORM_A, EXACT_N};
    const tl_cli_value *value = call->value;
    tl_status status = TL_OK;

    problem->n = (size_t)value[EXACT_N].count;
    problem->radius = value[EXACT_WHOLE].given ? (double)INFINITY : value[EXACT_RADIUS].real;
    if (value[EXACT_WHOLE].given && value[EXACT_RADIUS].given)
        return tl_fail(err, TL_ERR_ARGUMENT, "--whole-space and --radius exclude each other");
    if (call->operands == 0) return preset_layer(call, &given->layer, err);
    for (size_t i = 0; i < CLI_COUNT_OF(fixed); i++)
        if (value[fixed[i]].given)
            return tl_fail(err, TL_ERR_ARGUMENT, "--%s and a problem file exclude each other",
                           options[fixed[i]].name);
    status = tl_model_read_problem(call->operand[0], given, err);
    if (status != TL_OK) return status;
    if (given->measure->n == 0)
        return tl_fail(err, TL_ERR_UNSUPPORTED, "%s: expected a finite number of tokens",
                       call->operand[0]);
    problem->n = (size_t)given->measure->n;
    if (given->domain == NULL || value[EXACT_RADIUS].given || value[EXACT_WHOLE].given)
        return TL_OK;
    if (given->domain->kind == TL_DOMAIN_SPACE) {
        problem->radius = (double)INFINITY;
        return TL_OK;
    }
    if (given->domain->kind != TL_DOMAIN_BALL || given->domain->centre != NULL)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "%s: domain: expected a ball about the origin; --radius overrides it",
                       call->operand[0]);
    problem->radius = given->domain->radius;
    return TL_OK;
}

/* What the search finds there, as a start; TL_ERR_UNSUPPORTED where it cannot search. */
static tl_status search_first(const tl_exact_problem *problem, double *start, double *found)
{
    tl_domain *domain = NULL;
    tl_search_settings settings;
    tl_search_result result = {.layer = NULL};
    tl_status status;

    status = problem->radius < (double)INFINITY
                 ? tl_domain_alloc_ball(&domain, problem->layer->d, problem->radius, NULL, NULL)
                 : tl_domain_alloc_space(&domain, problem->layer->d, 4, NULL);
    if (status != TL_OK) return status;
    const tl_search_problem given = {.layer = problem->layer,
                                     .domain = domain,
                                     .n = problem->n,
                                     .atoms = problem->n,
                                     .log_mass_ratio = (double)NAN,
                                     .norm = TL_NORM_2};
    tl_search_defaults(&settings);
    settings.restarts = 32;
    settings.evaluations = 2000;
    settings.stop = problem->stop;
    status = tl_search_run(&given, &settings, &result, NULL);
    if (status == TL_OK) {
        tl_measure_write_out(result.measure, start);
        *found = result.norm.value;
    }
    tl_search_result_clear(&result);
    tl_domain_free(domain);
    return status;
}

static bool show_gap(void *context, double lower, double upper, size_t looked_at, size_t left)
{
    const bool *terminal = context;

    if (*terminal)
        fprintf(stderr, "\r[%.12g, %.12g] relative width %.2g, %zu boxes, %zu left\033[K", lower,
                upper, upper / lower - 1, looked_at, left);
    (void)fflush(stderr);
    return true;
}

typedef struct {
    const tl_exact_problem *problem;
    const tl_exact_result *result;
    bool searched;
    double found;
} exact_report;

static const char *where_found(const exact_report *r)
{
    if (r->found > r->result->upper) return "above the interval";
    if (r->found >= r->result->lower) return "inside the interval";
    return "below the interval: the search missed the best input";
}

static void print_hull(const tl_exact_result *result)
{
    printf("hull       of %zu boxes that hold every maximiser up to symmetries, %s\n",
           result->holding, result->coordinates);
    for (size_t i = 0; i < result->dim; i++)
        printf("           [%.12g, %.12g]\n", result->hull[2 * i], result->hull[2 * i + 1]);
}

static const char *where_placed(tl_exact_place place)
{
    switch (place) {
    case TL_EXACT_INSIDE:
        return "in the hull";
    case TL_EXACT_IMAGE:
        return "a symmetric image of one in the hull";
    default:
        return "outside the hull";
    }
}

static void print_report(const exact_report *r)
{
    const tl_exact_result *result = r->result;
    const size_t d = r->problem->layer->d;

    printf("supremum   [%.15g, %.15g]\n", result->lower, result->upper);
    printf("width      %.2g relative, %s\n", result->upper / result->lower - 1,
           result->finished ? "within the tolerance" : "NOT within the tolerance");
    printf("boxes      %zu looked at, %zu left\n", result->looked_at, result->left);
    for (size_t i = 0; i < r->problem->n; i++) {
        printf("%-10s", i == 0 ? "tokens" : "");
        for (size_t c = 0; c < d; c++) printf(" %.12g", result->x[i * d + c]);
        putchar('\n');
    }
    print_hull(result);
    if (!r->searched) return;
    printf("search     %.15g, %s; its input is %s\n", r->found, where_found(r),
           where_placed(result->place));
}

static json_t *report_json(const exact_report *r)
{
    const tl_exact_result *result = r->result;

    return json_pack("{s:o,s:o,s:b,s:I,s:I,s:o,s:s,s:I,s:o,s:o,s:s,s:s}", "lower",
                     tl_cli_json_real(result->lower), "upper", tl_cli_json_real(result->upper),
                     "finished", (int)result->finished, "boxes", (json_int_t)result->looked_at,
                     "left", (json_int_t)result->left, "tokens",
                     tl_cli_json_rows(result->x, r->problem->n, r->problem->layer->d),
                     "coordinates", result->coordinates, "hull_boxes", (json_int_t)result->holding,
                     "hull", tl_cli_json_rows(result->hull, result->dim, 2), "search",
                     r->searched ? tl_cli_json_real(r->found) : json_null(), "search_is",
                     r->searched ? where_found(r) : "not made", "search_place",
                     tl_exact_place_name(result->place));
}

static tl_status show_report(const tl_cli_call *call, const exact_report *report)
{
    if (call->json) return tl_cli_json_print(report_json(report));
    print_report(report);
    return TL_OK;
}

static tl_status enclose(const tl_cli_call *call, const tl_exact_problem *given, tl_error *err)
{
    tl_exact_problem problem = *given;
    tl_exact_result result = {0};
    double start[6] = {0};
    exact_report report = {.problem = &problem, .result = &result};
    bool terminal = isatty(STDERR_FILENO) == 1;

    problem.progress = show_gap;
    problem.context = &terminal;
    problem.stop = tl_cli_interrupts_catch("", 0);
    if (problem.n * problem.layer->d <= CLI_COUNT_OF(start))
        report.searched = search_first(&problem, start, &report.found) == TL_OK;
    if (report.searched) problem.start = start;
    tl_status status = tl_exact_run(&problem, &result, err);
    if (terminal && result.looked_at > 0) fputc('\n', stderr);
    /* Also what is proven where the state could not be written. */
    const tl_status shown = result.x != NULL ? show_report(call, &report) : TL_OK;
    if (status == TL_OK) status = shown;
    if (status == TL_OK && *problem.stop && !result.finished)
        status = tl_fail(err, TL_ERR_INTERRUPTED, "interrupted: the interval is proven, but wide%s",
                         problem.state ? "; the same command goes on from the state" : "");
    tl_exact_result_clear(&result);
    return status;
}

static tl_status run_exact(tl_cli_call *call, tl_error *err)
{
    tl_problem given = {.name = NULL};
    tl_exact_problem problem = {.tolerance = call->value[EXACT_TOLERANCE].real,
                                .boxes = (size_t)call->value[EXACT_BOXES].count};
    tl_status status = tl_cli_check_writable(call->value[EXACT_STATE].text, err);

    if (status == TL_OK) status = read_given(call, &given, &problem, err);
    problem.layer = given.layer;
    if (call->value[EXACT_SECONDS].given) problem.seconds = call->value[EXACT_SECONDS].real;
    if (call->value[EXACT_STATE].given) problem.state = call->value[EXACT_STATE].text;
    if (call->value[EXACT_THREADS].given)
        omp_set_num_threads((int)call->value[EXACT_THREADS].count);
    if (status == TL_OK) status = enclose(call, &problem, err);
    tl_problem_clear(&given);
    return status;
}

const tl_cli_verb tl_cli_verb_exact = {
    .name = "exact",
    .operands = "[options] [FILE]",
    .summary = "the largest local norm of a tiny problem, enclosed for certain",
    .details =
        "Encloses the supremum of the local norm over all inputs by branch and bound in ball "
        "arithmetic: no input has a larger norm than the upper end, and the tokens printed have "
        "one of at least the lower end. One head, n times width at most 6 (up to about 4 in "
        "reasonable time). With a problem file the layer, n and the ball come from the file; "
        "its tokens do not matter. The search is run first and its value compared. Interrupted, it "
        "prints the interval reached by then, with exit code 1.",
    .option = options,
    .options = EXACT_COUNT,
    .most = 1,
    .run = run_exact,
};
