/* A user's own bound: a formula for its natural logarithm, tested like the bounds of the registry.
 * Formulas are those of muParser: + - * / ^, comparisons, ?:, log (natural), log10, sqrt, exp, min,
 * max, .. over the variables below. Built without muParser (Debian libmuparser-dev) everything here
 * returns TL_ERR_UNSUPPORTED. */
#ifndef TIGHTLIP_CONJECTURE_H
#define TIGHTLIP_CONJECTURE_H

#include "tightlip/bounds.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a formula may speak of; for several heads the largest over heads. The last three are known
 * where there are tokens, for kinds dot and l2 without a mask; with copies P has their masses:
 * P_ij is the attention of token i to all copies of token j together. */
#define TL_CONJECTURE_VARIABLES(X)                                                             \
    X(N, "n", "number of tokens; infinite in mean field")                                      \
    X(G, "g", "size of the logits: radius times largest |A x + c|, that is ||A|| R^2")         \
    X(RADIUS, "R", "radius of a ball that holds the tokens")                                   \
    X(D, "d", "width of the tokens")                                                           \
    X(ATOMS, "m", "number of distinct tokens")                                                 \
    X(H, "H", "number of heads")                                                               \
    X(HEADS, "heads", "number of heads")                                                       \
    X(WIDTH, "k", "head width: rows of Q")                                                     \
    X(NORM_A, "norm_a", "spectral norm of A")                                                  \
    X(NORM_V, "norm_v", "spectral norm of V")                                                  \
    X(NORM_O, "norm_o", "spectral norm of the output matrix, 1 without one")                   \
    X(LAMBDA, "lambda_max", "largest eigenvalue of any C_i, the covariance that token i sees") \
    X(COLUMN, "max_column_sum", "largest column sum of P, every copy a row of its own")        \
    X(WEIGHT, "max_row_p", "largest entry of P: attention of a token to all copies of another")

typedef enum {
#define X(id, name, text) TL_CONJECTURE_##id,
    TL_CONJECTURE_VARIABLES(X)
#undef X
        TL_CONJECTURE_COUNT
} tl_conjecture_variable;

/* muParser keeps its messages in 2048 bytes and does not count. */
enum { TL_CONJECTURE_LONGEST = 1000 };

/* NaN where a variable is not known. */
typedef struct {
    double value[TL_CONJECTURE_COUNT];
} tl_conjecture_facts;

/* Facts of a query; with layer and measure of one width those at the tokens too, unless logits
 * leave the double range. Errors: TL_ERR_MEMORY. Cost: O(H m^2 (k d + v) + H m d^3) with tokens. */
TL_MUST_USE tl_status tl_conjecture_facts_at(const tl_bound_query *query,
                                             tl_conjecture_facts *facts);

/* Whether this is one formula over the variables above. Errors: TL_ERR_PARSE with what is wrong,
 * where (counted from 1), and for unknown names the nearest one and all; TL_ERR_UNSUPPORTED without
 * muParser; TL_ERR_MEMORY. One thread at a time: muParser keeps its messages in one place. */
TL_MUST_USE tl_status tl_conjecture_check(const char *formula, tl_error *err);

/* The logarithm of the bound. Errors: TL_ERR_NUMERIC where it is not finite or speaks of a variable
 * that is not known, with the values of the variables it uses; TL_ERR_PARSE for what check refuses,
 * several formulas apart (the last one counts); TL_ERR_UNSUPPORTED, TL_ERR_MEMORY. Thread safe. */
TL_MUST_USE tl_status tl_conjecture_evaluate(const char *formula, const tl_conjecture_facts *facts,
                                             double *log_value, tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
