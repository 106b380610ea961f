#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include "cli/constants.h"
#include "cli/search.h"
#include "cli/words.h"
#include "tightlip/model.h"

static const char *const preset_words[] = {"worst", "identity", "minus-identity", NULL};
static const char *const mask_words[] = {"none", "causal", "self-masked", NULL};

#define SEARCH_OPTIONS(X)                                                                        \
    X(ATTENTION, "attention", 0, CHOICE, "KIND", "dot", 0, 0, tl_cli_kind_words,                 \
      "kind of attention")                                                                       \
    X(MASK, "mask", 0, CHOICE, "MASK", "none", 0, 0, mask_words,                                 \
      "which tokens a token sees; self-masked: all but itself; under a mask every token is one " \
      "atom")                                                                                    \
    X(D, "d", 'd', COUNT, "D", "2", 1, 4096, NULL, "width of the tokens")                        \
    X(A, "a", 0, CHOICE, "PRESET", "worst", 0, 0, preset_words,                                  \
      "the matrix A of the logits <A x_i, x_j>, times --norm-a; worst: A is searched too "       \
      "(default of kinds dot and sigmoid; identity of the others)")                              \
    X(NORM_A, "norm-a", 0, NONNEGATIVE, "X", "1", 0, 0, NULL,                                    \
      "spectral norm of A; kind l2: of Q'Q / sqrt(d)")                                           \
    CLI_CONSTANT_OPTIONS(X)                                                                      \
    X(DOMAIN, "domain", 0, CHOICE, "KIND", "ball", 0, 0, tl_cli_domain_words,                    \
      "where the tokens may lie; see tightlip list domains")                                     \
    X(RADIUS, "radius", 'r', POSITIVE, "R", "1", 0, 0, NULL,                                     \
      "radius of the ball or sphere about the origin; half the side of the box; gain of a norm") \
    X(EPSILON, "epsilon", 0, POSITIVE, "E", NULL, 0, 0, NULL,                                    \
      "Frobenius ball of that radius around the tokens of the file, as the domain")              \
    X(N, "n", 'n', TOKENS, "N", "inf", 1, 9007199254740992, NULL,                                \
      "number of tokens; inf: mean field")                                                       \
    X(ATOMS, "atoms", 'm', COUNT, "M", "4", 1, 1024, NULL, "at most this many distinct tokens")  \
    X(RESTARTS, "restarts", 0, COUNT, "K", "64", 1, 1000000, NULL,                               \
      "restarts, up to eight side by side")                                                      \
    X(EVALUATIONS, "evaluations", 0, COUNT, "E", "4000", 1, 1000000000, NULL,                    \
      "evaluations of value and gradient, per restart, of which those ahead get more")           \
    X(SEED, "seed", 's', COUNT, "S", "1", 0, UINT64_MAX, NULL, "seed of the random streams")     \
    X(STARTS, "starts", 0, SET, "A,B,..", "all", 0, 0, tl_cli_start_words,                       \
      "where restarts begin; see tightlip list starts; all: those that apply")                   \
    X(NORM, "norm", 0, CHOICE, "NORM", "2", 0, 0, tl_cli_norm_words,                             \
      "norm of the Jacobian that is maximised; see tightlip list norms")                         \
    X(OBJECTIVE, "objective", 0, CHOICE, "WHAT", "norm", 0, 0, tl_cli_objective_words,           \
      "what is maximised")                                                                       \
    X(THREADS, "threads", 'j', COUNT, "T", NULL, 1, 1024, NULL,                                  \
      "OpenMP threads; results do not depend on them")                                           \
    X(OUTPUT, "output", 'o', TEXT, "WITNESS", NULL, 0, 0, NULL, "write what was found, as a file")

enum {
#define X(id, ...) SEARCH_##id,
    SEARCH_OPTIONS(X) SEARCH_COUNT
#undef X
};

static const tl_cli_option options[SEARCH_COUNT] = {SEARCH_OPTIONS(CLI_OPTION_ROW)};

static bool same_kind(const tl_cli_call *call, tl_kind kind)
{
    return call->value[SEARCH_ATTENTION].count == (uint64_t)kind;
}

static int chosen_a(const tl_cli_call *call)
{
    const bool searched = same_kind(call, TL_KIND_DOT) || same_kind(call, TL_KIND_SIGMOID);

    if (call->value[SEARCH_A].given || searched) return (int)call->value[SEARCH_A].count;
    return SEARCH_A_IDENTITY;
}

static tl_status flags_layer(const tl_cli_call *call, tl_layer **layer, tl_error *err)
{
    const tl_cli_value *value = call->value;
    static const tl_cli_constant constants[] = {{SEARCH_BIAS, TL_KIND_SIGMOID},
                                                {SEARCH_NU, TL_KIND_COSINE},
                                                {SEARCH_TAU, TL_KIND_COSINE},
                                                {SEARCH_EPS, TL_KIND_COSINE}};
    tl_cli_search_head head = {
        .kind = (tl_kind)value[SEARCH_ATTENTION].count,
        .mask = (int)value[SEARCH_MASK].count,
        .a = chosen_a(call),
        .d = (size_t)value[SEARCH_D].count,
        .norm_a = value[SEARCH_NORM_A].real,
        .n = value[SEARCH_N].count,
        .nu = value[SEARCH_NU].real,
        .tau = value[SEARCH_TAU].real,
        .eps = value[SEARCH_EPS].real,
    };
    tl_status status =
        tl_cli_check_constants(call, options, constants, CLI_COUNT_OF(constants), head.kind, err);

    if (status == TL_OK) status = tl_cli_read_bias(&head.bias, &value[SEARCH_BIAS], head.n, err);
    return status != TL_OK ? status : tl_cli_search_layer(layer, &head, err);
}

/* --epsilon: a Frobenius ball around the tokens of the file. */
static tl_status read_array(const tl_cli_call *call, tl_problem *given, const char **from,
                            tl_error *err)
{
    const tl_cli_value *kind = &call->value[SEARCH_DOMAIN];
    const bool other = kind->given && (tl_domain_kind)kind->count != TL_DOMAIN_FROBENIUS;

    if (given->domain != NULL)
        return tl_fail(err, TL_ERR_ARGUMENT, "%s has a domain: it and --epsilon exclude each other",
                       call->operand[0]);
    if (other || call->value[SEARCH_RADIUS].given)
        return tl_fail(err, TL_ERR_ARGUMENT, "--epsilon and --%s exclude each other",
                       other ? "domain" : "radius");
    *from = "--epsilon";
    return tl_domain_alloc_frobenius(&given->domain, given->measure,
                                     call->value[SEARCH_EPSILON].real, err);
}

/* The layer, the domain and perhaps tokens: from the flags or from a problem file. */
static tl_status read_given(const tl_cli_call *call, tl_problem *given, const char **from,
                            tl_error *err)
{
    static const int fixed[] = {SEARCH_ATTENTION, SEARCH_MASK, SEARCH_D,  SEARCH_A,
                                SEARCH_NORM_A,    SEARCH_BIAS, SEARCH_NU, SEARCH_TAU,
                                SEARCH_EPS,       SEARCH_N};
    const tl_cli_value *radius = &call->value[SEARCH_RADIUS];
    const tl_domain_kind kind = (tl_domain_kind)call->value[SEARCH_DOMAIN].count;
    tl_status status;

    *from = call->value[SEARCH_DOMAIN].given ? "--domain" : "--radius";
    if (call->operands == 0) {
        status = flags_layer(call, &given->layer, err);
        if (status != TL_OK) return status;
        if (call->value[SEARCH_EPSILON].given)
            return tl_fail(err, TL_ERR_ARGUMENT, "--epsilon: expected a problem file with tokens");
        return tl_cli_search_domain(&given->domain, kind, given->layer->d, radius->real, err);
    }
    for (size_t i = 0; i < CLI_COUNT_OF(fixed); i++)
        if (call->value[fixed[i]].given)
            return tl_fail(err, TL_ERR_ARGUMENT, "--%s and a problem file exclude each other",
                           options[fixed[i]].name);
    status = tl_model_read_problem(call->operand[0], given, err);
    if (status != TL_OK) return status;
    if (call->value[SEARCH_EPSILON].given) return read_array(call, given, from, err);
    if (given->domain != NULL && (radius->given || call->value[SEARCH_DOMAIN].given))
        return tl_fail(err, TL_ERR_ARGUMENT, "%s has a domain: it and --%s exclude each other",
                       call->operand[0], radius->given ? "radius" : "domain");
    if (radius->given || call->value[SEARCH_DOMAIN].given)
        return tl_cli_search_domain(&given->domain, kind, given->layer->d, radius->real, err);
    *from = "the file's";
    if (given->domain != NULL) return TL_OK;
    *from = "a small ball about the tokens";
    return tl_domain_alloc_enclosing(&given->domain, given->measure->m, given->measure->d,
                                     given->measure->x, err);
}

static void fill_settings(const tl_cli_call *call, tl_search_settings *settings)
{
    const tl_cli_value *value = call->value;

    tl_search_defaults(settings);
    settings->restarts = (size_t)value[SEARCH_RESTARTS].count;
    settings->evaluations = (size_t)value[SEARCH_EVALUATIONS].count;
    settings->seed = value[SEARCH_SEED].count;
    /* "all" stands for those that apply, which the library knows. */
    if (strcmp(value[SEARCH_STARTS].text, "all") != 0)
        settings->starts = (unsigned)value[SEARCH_STARTS].count;
}

static tl_search_problem make_problem(const tl_cli_call *call, const tl_problem *given)
{
    const tl_cli_value *value = call->value;
    const tl_measure *around = given->domain->around;
    const uint64_t n = call->operands == 0 ? value[SEARCH_N].count : given->measure->n;
    size_t atoms = (size_t)value[SEARCH_ATOMS].count;

    if (!value[SEARCH_ATOMS].given && around != NULL && atoms < around->m) atoms = around->m;
    if (!value[SEARCH_ATOMS].given && given->layer->mask != TL_MASK_NONE && atoms < n)
        atoms = (size_t)n;
    return (tl_search_problem){
        .layer = given->layer,
        .worst_a = call->operands == 0 && chosen_a(call) == SEARCH_A_WORST,
        .norm_a = value[SEARCH_NORM_A].real,
        .domain = given->domain,
        .n = n,
        .atoms = atoms,
        .log_mass_ratio = (double)NAN,
        .given = given->measure,
        .norm = (tl_norm)value[SEARCH_NORM].count,
        .objective = (tl_objective)value[SEARCH_OBJECTIVE].count,
    };
}

static tl_status report_found(tl_cli_call *call, const tl_search_problem *problem,
                              const tl_search_result *result, const char *from, tl_error *err)
{
    tl_cli_bound_row *rows = NULL;
    tl_cli_search_report report = {
        problem, result, from, NULL, {problem->norm, result->norm.log_value}};
    tl_problem witness = tl_cli_search_witness(&report);
    tl_status written = TL_OK;

    /* The witness first: nothing that fails later can lose it. What was found is shown even where
     * it cannot be written. */
    if (call->value[SEARCH_OUTPUT].given)
        written = tl_problem_write(&witness, call->value[SEARCH_OUTPUT].text, err);
    tl_status status = tl_cli_bounds_at(&rows, result->layer, result->measure, problem->domain,
                                        NULL, written == TL_OK ? err : NULL);
    if (status != TL_OK) return written != TL_OK ? written : status;
    report.rows = rows;
    call->refuted = tl_cli_bounds_refuted(rows, &report.found);
    if (call->json)
        status = tl_cli_json_print(tl_cli_search_json(&report));
    else
        tl_cli_search_print(stdout, &report);
    free(rows);
    return written != TL_OK ? written : status;
}

static tl_status run_search(tl_cli_call *call, tl_error *err)
{
    tl_problem given = {.name = NULL};
    tl_search_result result = {.layer = NULL};
    tl_search_settings settings;
    tl_search_problem problem;
    const char *from = NULL;
    tl_status status = tl_cli_check_writable(call->value[SEARCH_OUTPUT].text, err);

    if (status == TL_OK) status = read_given(call, &given, &from, err);
    if (status == TL_OK) {
        fill_settings(call, &settings);
        problem = make_problem(call, &given);
        status = tl_search_check(&problem, &settings, err);
    }
    if (call->value[SEARCH_THREADS].given)
        omp_set_num_threads((int)call->value[SEARCH_THREADS].count);
    if (status == TL_OK) {
        settings.stop = tl_cli_interrupts_catch("", 0);
        status = tl_search_run(&problem, &settings, &result, err);
    }
    if (status == TL_OK || status == TL_ERR_INTERRUPTED) {
        const tl_status reported = report_found(call, &problem, &result, from, err);
        if (reported != TL_OK) status = reported;
    }
    if (status == TL_ERR_INTERRUPTED)
        (void)tl_fail(err, status, "interrupted: the value is the best found so far");
    tl_search_result_clear(&result);
    tl_problem_clear(&given);
    return status;
}

const tl_cli_verb tl_cli_verb_search = {
    .name = "search",
    .operands = "[options] [FILE]",
    .summary = "search the worst input of one layer, with every bound beside it",
    .details =
        "Maximises the local norm over tokens in a ball (or another domain) and over their masses "
        "or multiplicities. "
        "Without FILE the layer is one head with V = identity. With a problem file the layer, n "
        "and the domain come from the file (a small ball about its tokens if it names none), and "
        "its tokens are one of the starts. Interrupted, it reports and writes the best found so "
        "far, with exit code 1.",
    .option = options,
    .options = SEARCH_COUNT,
    .most = 1,
    .run = run_search,
};
