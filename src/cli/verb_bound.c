#include "cli/cli.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "cli/constants.h"
#include "cli/words.h"

#define BOUND_OPTIONS(X)                                                                          \
    X(ATTENTION, "attention", 0, CHOICE, "KIND", "dot", 0, 0, tl_cli_kind_words,                  \
      "kind of attention")                                                                        \
    X(MASK, "mask", 0, CHOICE, "MASK", "none", 0, 0, tl_cli_mask_words,                           \
      "which tokens a token sees")                                                                \
    X(N, "n", 'n', TOKENS, "N", "inf", 1, 9007199254740992, NULL, "number of tokens")             \
    X(RADIUS, "radius", 'r', RADIUS, "R", "1", 0, 0, NULL,                                        \
      "radius of the ball of tokens; inf, the whole space, for kind l2 alone")                    \
    X(NORM_A, "norm-a", 0, NONNEGATIVE, "X", "1", 0, 0, NULL,                                     \
      "spectral norm of A, that is of scale K'Q, of every head")                                  \
    X(NORM_V, "norm-v", 0, NONNEGATIVE, "X", "1", 0, 0, NULL, "spectral norm of V of every head") \
    X(NORM_O, "norm-o", 0, NONNEGATIVE, "X", "1", 0, 0, NULL,                                     \
      "spectral norm of the output matrix")                                                       \
    X(NORM_Q, "norm-q", 0, NONNEGATIVE, "X", "1", 0, 0, NULL,                                     \
      "kind cosine: spectral norm of Q of every head")                                            \
    X(NORM_K, "norm-k", 0, NONNEGATIVE, "X", "1", 0, 0, NULL,                                     \
      "kind cosine: spectral norm of K of every head")                                            \
    CLI_CONSTANT_OPTIONS(X)                                                                       \
    X(HEADS, "heads", 'H', COUNT, "H", "1", 1, 65536, NULL, "number of heads")                    \
    X(WIDTH, "width", 'k', COUNT, "K", "1", 1, 65536, NULL,                                       \
      "head width, the rows of Q; kind l2, where --norm-a is ||Q||^2 / sqrt(K)")                  \
    X(D, "d", 'd', COUNT, "D", NULL, 1, 1048576, NULL,                                            \
      "width of the tokens, for norm fro, or a conjecture that speaks of it; kind l2: 1, with "   \
      "one "                                                                                      \
      "head of width 1, for bounds that need the matrices")                                       \
    X(WHOLE, "whole-space", 0, FLAG, NULL, NULL, 0, 0, NULL, "the same as --radius inf")          \
    X(CONJECTURE, "conjecture", 'c', TEXT, "FORMULA", NULL, 0, 0, NULL,                           \
      "the logarithm of a bound of your own, over n, g, R, norm_a, norm_v, ..: see tightlip "     \
      "list variables")                                                                           \
    X(MARKDOWN, "markdown", 0, FLAG, NULL, NULL, 0, 0, NULL, "a table for a paper")

enum {
#define X(id, ...) BOUND_##id,
    BOUND_OPTIONS(X) BOUND_COUNT
#undef X
};

static const tl_cli_option options[BOUND_COUNT] = {BOUND_OPTIONS(CLI_OPTION_ROW)};

static void fill_head(const tl_cli_value *value, double radius, tl_head_facts *head)
{
    const double norm_a = value[BOUND_NORM_A].real;

    *head = (tl_head_facts){
        .norm_a = norm_a,
        .norm_v = value[BOUND_NORM_V].real,
        .norm_ov = value[BOUND_NORM_O].real * value[BOUND_NORM_V].real,
        .norm_q = (double)NAN,
        .norm_k = (double)NAN,
        .width = (size_t)value[BOUND_WIDTH].count,
    };
    if (value[BOUND_ATTENTION].count == TL_KIND_L2) {
        head->norm_q = sqrt(norm_a * sqrt((double)head->width)) * (1 + 4 * DBL_EPSILON);
        return;
    }
    head->rho = norm_a * radius;
    if (value[BOUND_ATTENTION].count != TL_KIND_COSINE) return;
    head->norm_q = value[BOUND_NORM_Q].real;
    head->norm_k = value[BOUND_NORM_K].real;
}

static tl_status check_radius(const tl_cli_value *value, tl_error *err)
{
    const bool whole = value[BOUND_WHOLE].given, inf = isinf(value[BOUND_RADIUS].real);

    if (whole && value[BOUND_RADIUS].given)
        return tl_fail(err, TL_ERR_ARGUMENT, "--whole-space: it and --radius exclude each other");
    if ((whole || inf) && value[BOUND_ATTENTION].count != TL_KIND_L2)
        return tl_fail(err, TL_ERR_ARGUMENT, "%s: expected kind l2; no other is Lipschitz there",
                       whole ? "--whole-space" : "--radius inf");
    return TL_OK;
}

static tl_status check_kind(const tl_cli_call *call, tl_error *err)
{
    static const tl_cli_constant constants[] = {
        {BOUND_BIAS, TL_KIND_SIGMOID},  {BOUND_NU, TL_KIND_COSINE},
        {BOUND_TAU, TL_KIND_COSINE},    {BOUND_EPS, TL_KIND_COSINE},
        {BOUND_NORM_Q, TL_KIND_COSINE}, {BOUND_NORM_K, TL_KIND_COSINE}};
    const tl_kind kind = (tl_kind)call->value[BOUND_ATTENTION].count;

    if (kind == TL_KIND_COSINE && call->value[BOUND_NORM_A].given)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "--norm-a: kind cosine has --norm-q and --norm-k in its place");
    return tl_cli_check_constants(call, options, constants, CLI_COUNT_OF(constants), kind, err);
}

/* Kind l2 at width 1, one head: norms are the matrices up to signs, which no bound asks for. */
static tl_status line_layer(tl_layer **layer, const tl_cli_value *value, const tl_head_facts *head,
                            tl_error *err)
{
    double Q = head->norm_q, V = head->norm_v, O = value[BOUND_NORM_O].real;

    *layer = NULL;
    if (value[BOUND_ATTENTION].count != TL_KIND_L2 || value[BOUND_MASK].count == TL_MASK_GENERAL ||
        value[BOUND_D].count != 1 || value[BOUND_WIDTH].count != 1 || value[BOUND_HEADS].count != 1)
        return TL_OK;
    return tl_layer_alloc(layer, TL_KIND_L2, (tl_mask)value[BOUND_MASK].count, 1, 1,
                          &(tl_head){.k = 1, .v = 1, .Q = &Q, .V = &V, .scale = 1}, &O, 1, err);
}

static tl_status run_bound(tl_cli_call *call, tl_error *err)
{
    const tl_cli_value *value = call->value;
    size_t heads = (size_t)value[BOUND_HEADS].count;
    const double radius = value[BOUND_WHOLE].given ? HUGE_VAL : value[BOUND_RADIUS].real;
    tl_head_facts *head = calloc(heads, sizeof *head);
    tl_bound_query query = {
        .kind = (tl_kind)value[BOUND_ATTENTION].count,
        .mask = (tl_mask)value[BOUND_MASK].count,
        .infinite = value[BOUND_N].count == 0,
        .n = value[BOUND_N].count == 0 ? 1.0 : (double)value[BOUND_N].count,
        .d = (size_t)value[BOUND_D].count,
        .radius = radius,
        .radius_origin = radius,
        .heads = heads,
        .head = head,
        .norm_o = value[BOUND_NORM_O].real,
        .nu = value[BOUND_NU].real,
        .tau = value[BOUND_TAU].real,
        .eps = value[BOUND_EPS].real,
    };
    tl_cli_bound_row *rows = NULL;
    tl_layer *layer = NULL;
    tl_cli_conjecture conjecture;
    tl_status status;

    if (head == NULL) return tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu heads", heads);
    for (size_t h = 0; h < heads; h++) fill_head(value, radius, &head[h]);
    status = check_radius(value, err);
    if (status == TL_OK) status = check_kind(call, err);
    if (status == TL_OK) status = line_layer(&layer, value, head, err);
    query.layer = layer;
    if (status == TL_OK)
        status = tl_cli_read_bias(&query.bias, &value[BOUND_BIAS], value[BOUND_N].count, err);
    if (status == TL_OK)
        status = tl_cli_conjecture_read(&conjecture, value[BOUND_CONJECTURE].text, TL_NORM_2, err);
    if (status == TL_OK)
        status =
            tl_cli_bounds_alloc(&rows, &query, conjecture.given ? &conjecture.bound : NULL, err);
    if (status == TL_OK && call->json)
        status = tl_cli_json_print(tl_cli_bounds_json(rows, NULL));
    else if (status == TL_OK && value[BOUND_MARKDOWN].given)
        tl_cli_bounds_print_markdown(stdout, rows);
    else if (status == TL_OK)
        tl_cli_bounds_print_long(stdout, rows);
    tl_layer_free(layer);
    free(rows);
    free(head);
    return status;
}

const tl_cli_verb tl_cli_verb_bound = {
    .name = "bound",
    .operands = "[options]",
    .summary = "the table of every known upper bound",
    .details =
        "Evaluates every bound of the registry for an attention layer whose tokens lie in a ball "
        "about the origin, or says why one does not apply. Bounds at one set of tokens (scope "
        "local) need a problem file: see tightlip norm. A formula given with --conjecture is "
        "evaluated like the others; scripts read --json, papers --markdown.",
    .option = options,
    .options = BOUND_COUNT,
    .run = run_bound,
};
