/* A user's own bound: a formula for its natural logarithm, tested like the bounds of the registry.
 * Formulas are those of muParser: + - * / ^, comparisons, ?:, log (natural), log10, sqrt, exp, min,
 * max, .. over the variables below. Built without muParser (Debian libmuparser-dev) everything here
 * returns TL_ERR_UNSUPPORTED. */
#ifndef TIGHTLIP_CONJECTURE_H
#define TIGHTLIP_CONJECTURE_H

#include "tightlip/bounds.h"

/* What a formula may speak of; for several heads the largest over heads. The last four are known
 * where there are tokens, for kind dot without a mask. */
#define TL_CONJECTURE_VARIABLES(X)                                                             \
    X(N, "n", "number of tokens; infinite in mean field")                                      \
    X(G, "g", "size of the logits: radius times largest |A x + c|, that is ||A|| R^2")         \
    X(RADIUS, "R", "radius of a ball that holds the tokens")                                   \
    X(D, "d", "width of the tokens")                                                           \
    X(HEADS, "heads", "number of heads")                                                       \
    X(H, "H", "number of heads")                                                               \
    X(WIDTH, "k", "head width: rows of Q")                                                     \
    X(NORM_A, "norm_a", "spectral norm of A")                                                  \
    X(NORM_V, "norm_v", "spectral norm of V")                                                  \
    X(NORM_O, "norm_o", "spectral norm of the output matrix, 1 without one")                   \
    X(ATOMS, "m", "number of distinct tokens")                                                 \
    X(LAMBDA, "lambda_max", "largest eigenvalue of any C_i, the covariance that token i sees") \
    X(COLUMN, "column_sum", "largest column sum of the attention matrix, tokens alike")        \
    X(WEIGHT, "max_weight", "largest attention of one token to all copies of another")

typedef enum {
#define X(id, name, text) TL_CONJECTURE_##id,
    TL_CONJECTURE_VARIABLES(X)
#undef X
        TL_CONJECTURE_COUNT
} tl_conjecture_variable;

const char *tl_conjecture_variable_name(size_t i);
const char *tl_conjecture_variable_text(size_t i);

/* NaN where a variable is not known. */
typedef struct {
    double value[TL_CONJECTURE_COUNT];
} tl_conjecture_facts;

/* Facts of a query; with layer and measure those at the tokens too. Errors: TL_ERR_MEMORY,
 * TL_ERR_NUMERIC (logits too large). Cost: O(H m^2 (k + v) + H m d^3) with tokens. */
TL_MUST_USE tl_status tl_conjecture_facts_at(const tl_bound_query *query,
                                             tl_conjecture_facts *facts);

/* Whether this is a formula over the variables above. Errors: TL_ERR_PARSE with what is wrong,
 * where (counted from 1) and for unknown names the nearest one; TL_ERR_UNSUPPORTED without
 * muParser; TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_conjecture_check(const char *formula, tl_error *err);

/* The logarithm of the bound; +infinity (a bound that says nothing, as log(n) at n = infinity) and
 * -infinity are values. Errors: as check; TL_ERR_NUMERIC where it is not a number, with the values
 * of the variables it uses. Thread safe. */
TL_MUST_USE tl_status tl_conjecture_evaluate(const char *formula, const tl_conjecture_facts *facts,
                                             double *log_value, tl_error *err);

#endif
