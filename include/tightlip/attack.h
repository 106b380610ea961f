/* Perturbations of finite size: how far the output moves when the tokens move by at most epsilon.
 */
#ifndef TIGHTLIP_ATTACK_H
#define TIGHTLIP_ATTACK_H

#include "tightlip/domain.h"

#ifdef __cplusplus
extern "C" {
#endif

/* maximise |F(X') - F(X)|_F over |X' - X|_F <= epsilon, F(X) = residual X + layer(X). Copies of a
 * token may move apart. */
typedef struct {
    const tl_layer *layer;    /* borrowed; any kind and mask */
    const tl_measure *around; /* X, borrowed; finite n */
    double residual;          /* 0: the layer alone; otherwise out = d */
    double epsilon;
    const double *budget;    /* m, borrowed: |x'_i - x_i| <= budget_k for every copy i of atom k as
                                well; NULL: no such limit */
    const tl_domain *domain; /* borrowed: X' stays inside; convex and bounded (ball, box, a norm
                                with eps > 0); NULL: the whole space */
} tl_attack_problem;

enum { TL_ATTACK_TOKENS_MAX = 4096 };

typedef struct {
    size_t restarts;    /* default 16 */
    size_t steps;       /* ascent steps per restart, default 200 */
    const double *hint; /* n x d, borrowed: a perturbation to start from as well, scaled into the
                           budget; or NULL */
    uint64_t seed;      /* default 1 */
    uint64_t cell;      /* index mixed into the random streams */
    const volatile int *stop; /* set to nonzero by a signal handler: ends after the evaluations in
                                 hand; NULL: never */
} tl_attack_settings;

/* Where the best restart began. */
#define TL_ATTACK_START_LIST(X)                 \
    X(TL_ATTACK_SINGULAR, "singular direction") \
    X(TL_ATTACK_HINT, "hint")                   \
    X(TL_ATTACK_ONE_TOKEN, "one token")         \
    X(TL_ATTACK_COMMON, "common shift")         \
    X(TL_ATTACK_RANDOM, "random")

typedef enum {
#define X(id, name) id,
    TL_ATTACK_START_LIST(X)
#undef X
} tl_attack_start;
const char *tl_attack_start_name(tl_attack_start start);

typedef struct {
    size_t n, d;
    double *x;       /* n x d, owned: X', copies of an atom next to each other in its order */
    double *clean;   /* n x d, owned: X the same way */
    double distance; /* |X' - X|_F, at most epsilon */
    double effect;   /* |F(X') - F(X)|_F: found, a lower bound of the largest one */
    double rounding; /* how far rounding may have moved effect, to first order: for small epsilon
                        the difference cancels */
    double ratio;    /* effect / epsilon */
    double local;    /* ||J_F(X)||_2, the limit of the largest ratio as epsilon -> 0 */
    tl_attack_start start;
    uint64_t restart;
} tl_attack_result;

void tl_attack_defaults(tl_attack_settings *settings);

/* Multi-start projected ascent: the gradient 2 J(X')'(F(X') - F(X)), its maximiser over the budget
 * as a full step, and shorter steps bent along the sphere of the budget where that does not rise.
 * Starts: plus and minus the top singular directions of J(X), the hint, one token alone, all tokens
 * alike, random. Same result at any number of threads.
 * Errors: TL_ERR_UNSUPPORTED (mean field; a domain that is not convex or not bounded), TL_ERR_LIMIT
 * (n above TL_ATTACK_TOKENS_MAX), TL_ERR_DOMAIN (epsilon not positive and finite, a budget
 * negative, X outside the domain), TL_ERR_SHAPE (residual without out = d), TL_ERR_ARGUMENT (no
 * restart or step), those of tl_forward and tl_norm_compute, TL_ERR_NUMERIC too
 * where the effect leaves the double range, TL_ERR_MEMORY; TL_ERR_INTERRUPTED when settings->stop
 * was set before all was done: *result is then the best so far, of one start at least.
 * Cost: some O(H n^2 (k + v)) per step. Source: src/attack/README.md. */
TL_MUST_USE tl_status tl_attack_run(const tl_attack_problem *problem,
                                    const tl_attack_settings *settings, tl_attack_result *result,
                                    tl_error *err);
void tl_attack_result_clear(tl_attack_result *result);

#ifdef __cplusplus
}
#endif

#endif
