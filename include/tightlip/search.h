/* Search for inputs that maximise the local norm: multistart, local ascent, mass moves. */
#ifndef TIGHTLIP_SEARCH_H
#define TIGHTLIP_SEARCH_H

#include "tightlip/domain.h"
#include "tightlip/norm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is maximised: the local norm itself, or one of its two blocks. */
#define TL_OBJECTIVE_LIST(X)                                                  \
    X(TL_OBJECTIVE_NORM, "norm", "the local norm, the larger of both blocks") \
    X(TL_OBJECTIVE_JOINT, "joint", "the joint block: copies move together")   \
    X(TL_OBJECTIVE_SPLIT, "split", "the split block: copies move apart")      \
    X(TL_OBJECTIVE_SPLIT_GAIN, "split-gain", "split block over joint block")

typedef enum {
#define X(id, name, text) id,
    TL_OBJECTIVE_LIST(X)
#undef X
} tl_objective;

/* Starting constructions; one row each, `tightlip list starts` prints this table. */
#define TL_START_LIST(X)                                                                          \
    X(TL_START_FEW_DIRAC, "few-dirac", "random atoms, most of them on the sphere, random masses") \
    X(TL_START_UNBALANCED, "unbalanced", "one bulk atom, the others rare, log-masses uniform")    \
    X(TL_START_SPLIT, "split", "pairs of nearby atoms: copies already moved apart")               \
    X(TL_START_RANDOM, "random", "uniform atoms in the domain, masses from a Dirichlet law")      \
    X(TL_START_CASTIN, "castin",                                                                  \
      "Castin et al. 2024: one token at R u_1, the others at R u_1 / 2")                          \
    X(TL_START_TWO_DIRAC, "two-dirac",                                                            \
      "bulk at -R w, rare mass at R w that takes a share p of the attention")                     \
    X(TL_START_PAIR, "pair", "two atoms at +-R w with equal masses")                              \
    X(TL_START_HEAVY_PAIR, "heavy-pair",                                                          \
      "two single tokens at +-R w, all others orthogonal to w; or a third of a turn apart")       \
    X(TL_START_KAPPA, "kappa", "two heavy atoms that share the attention of every row")           \
    X(TL_START_LARGE_RADIUS, "large-radius", "one-hot attention: one token wins every row")       \
    X(TL_START_TWO_PHASE, "two-phase", "under a mask: heavy tokens first, then the bulk")         \
    X(TL_START_INTERLEAVED, "interleaved",                                                        \
      "under a mask: heavy tokens spread evenly over the bulk")                                   \
    X(TL_START_GIVEN, "given", "the tokens of the problem itself")

typedef enum {
#define X(id, name, text) id,
    TL_START_LIST(X)
#undef X
        TL_START_COUNT,
    TL_START_NEIGHBOUR = TL_START_COUNT /* of tl_search_warm; no row, since it has no name to ask
                                           for */
} tl_start;

const char *tl_objective_name(tl_objective objective);
TL_MUST_USE tl_status tl_objective_from_name(const char *name, tl_objective *objective);
const char *tl_start_name(tl_start start);
const char *tl_start_text(tl_start start);
TL_MUST_USE tl_status tl_start_from_name(const char *name, tl_start *start);

/* Without a mask only atoms and their multiplicities (or masses) matter. Under a mask the order of
 * the tokens counts: every token is an atom of its own, n of them, and all moves keep that. */
enum { TL_SEARCH_TOKENS_MAX = 4096 }; /* under a mask */

typedef struct {
    const tl_layer *layer; /* borrowed, any kind and mask; with worst_a its A is only a start */
    bool worst_a; /* search A too, over ||A||_2 = norm_a; kinds dot and sigmoid, a single head in
                     (A, V) form */
    double norm_a;
    const tl_domain *domain; /* borrowed; a Frobenius ball fixes atoms, multiplicities and n */
    uint64_t n;              /* 0: mean field, for kinds with a softmax and no mask */
    size_t atoms;            /* at most this many distinct atoms; under a mask at least n */
    double log_mass_ratio;   /* NAN: masses free; otherwise log of (mass of atom 1 / mass of all
                                others), held fixed   (mean field only) */
    const tl_measure *given; /* for start "given", or NULL; borrowed */
    tl_norm norm;            /* any but jt-f; fro with a finite n */
    tl_objective objective;
} tl_search_problem;

typedef struct {
    size_t restarts;    /* default 64 */
    size_t evaluations; /* value-and-gradient evaluations per restart, default 4000; restarts that
                           go side by side share theirs */
    unsigned starts;    /* bit set of 1u << tl_start; default all that apply */
    uint64_t seed;      /* default 1 */
    uint64_t cell;      /* index mixed into the random streams */
    double seconds; /* per restart, shared as evaluations are; 0: no limit; a limit marks the result
                       and gives up reproducibility */
    const volatile int *stop; /* set to nonzero by a signal handler: ends after the evaluations in
                                 hand; NULL: never */
} tl_search_settings;

#define TL_STOP_LIST(X)                                               \
    X(TL_STOP_STATIONARY, "stationary")                               \
    X(TL_STOP_BUDGET, "budget")                                       \
    X(TL_STOP_TIME, "time")                                           \
    X(TL_STOP_HALVED, "halved") /* others were ahead or level */      \
    X(TL_STOP_EXACT, "exact")   /* nothing to search: n = 1, J = 0 */ \
    X(TL_STOP_FAILED, "failed")                                       \
    X(TL_STOP_INTERRUPTED, "interrupted")

typedef enum {
#define X(id, name) id,
    TL_STOP_LIST(X)
#undef X
} tl_stop;
const char *tl_stop_name(tl_stop stop);

typedef struct {
    tl_layer *layer;      /* owned: the layer with the A that was found */
    tl_measure *measure;  /* owned: feasible exactly */
    double *direction;    /* m x d, owned: right singular vector as tl_norm_compute gives it; NULL
                             for other norms than the spectral one */
    tl_norm_result norm;  /* recomputed at the returned point: this is the found value */
    double log_objective; /* log of what was maximised, recomputed */
    tl_start start;       /* where the best restart began */
    uint64_t restart;     /* its index */
    uint64_t evaluations; /* over all restarts */
    tl_stop stop;
} tl_search_result;

/* The adversarial tokens of a head: one at first R u, all others at rest R u, on the ball |x| <= R.
 */
typedef struct {
    double first, rest;
    double gamma; /* the rate in their lower bound
                     ||V|| sqrt(n-1) / (1 + (n-1) exp(-2 R^2 gamma)) of ||J|| */
} tl_castin;

/* From the real eigenvalues gamma_1 >= .. >= gamma_r of A of head h and its unit right
 * eigenvectors: R u_1 and R u_1/2 where gamma_1 > -8 gamma_r, otherwise -R u_r and R u_r; gamma is
 * the larger of gamma_1/8 and -gamma_r. Biases do not count. An eigenvalue 0 of a head narrower
 * than the tokens does not count either: it decides nothing unless there is no other. Shapes: u d.
 * Errors: TL_ERR_UNSUPPORTED (no eigenvalue is real; u and out are left alone), TL_ERR_NUMERIC,
 * TL_ERR_MEMORY. Cost: O(k^2 d + k^3) for heads Q, K of width k < d, O(d^3) otherwise. Source:
 * Castin, Ablin and Peyre 2024, How Smooth Is Attention? */
TL_MUST_USE tl_status tl_castin_tokens(const tl_layer *layer, size_t h, double *u, tl_castin *out,
                                       tl_error *err);

void tl_search_defaults(tl_search_settings *settings);
/* Checks problem and settings against each other. TL_ERR_ARGUMENT / TL_ERR_UNSUPPORTED with the
 * reason, TL_ERR_SHAPE (widths differ), TL_ERR_DOMAIN (norm_a negative or not finite, the logarithm
 * of the mass ratio infinite), TL_ERR_LIMIT (a mask and n above TL_SEARCH_TOKENS_MAX). */
TL_MUST_USE tl_status tl_search_check(const tl_search_problem *problem,
                                      const tl_search_settings *settings, tl_error *err);

/* How many restarts go side by side, each in a lane of a vector: TL_SEARCH_TOGETHER where the norm
 * is spectral, the objective the norm or its joint block, and the layer one head of kind dot or l2
 * and of small width (under a mask also few tokens, src/attention/batch.h), else 1. */
enum { TL_SEARCH_TOGETHER = 8 };
size_t tl_search_together(const tl_search_problem *problem);
/* Restarts first .. first + count - 1 at once, 1 <= count <= tl_search_together(problem): results
 * of those that succeeded, measure NULL elsewhere. They share about count times the evaluations by
 * successive halving, eight of them so: the better half of those still going goes on after an
 * eighth, a quarter and half of a budget that is 3.2 times the evaluations of one, the others stop
 * "halved". A pure function of its arguments, and the unit of parallel work; alone a restart has
 * other roundings, its own evaluations and the lanes of all. Interrupted, each ends with the best
 * that it has seen, of its start at least. Errors: that of the first restart when every one failed.
 */
TL_MUST_USE tl_status tl_search_restarts(const tl_search_problem *problem,
                                         const tl_search_settings *settings, uint64_t first,
                                         size_t count, tl_search_result *results, tl_error *err);
/* The input of another problem of the same width, as a start. */
typedef struct {
    const tl_layer *layer;     /* borrowed; its A counts when A is searched */
    const tl_measure *measure; /* borrowed */
    double radius;             /* of the ball it was found in: `scale` of the domain */
} tl_search_witness;

/* A restart from that input, carried over to this problem's radius, ||A|| and n. With the same n or
 * a multiple of it (or n infinite), and ||A|| radius^2 no smaller, the input is feasible here, and
 * the result is no less than its value, to rounding; under a causal mask for every n that is no
 * less. No result (measure NULL, TL_OK) when the witness has another width or, without a mask, more
 * atoms than the problem allows. A pure function of (problem, settings, witness, r); r takes its
 * random stream from restart r, so it should be at least settings->restarts. */
TL_MUST_USE tl_status tl_search_warm(const tl_search_problem *problem,
                                     const tl_search_settings *settings,
                                     const tl_search_witness *witness, uint64_t r,
                                     tl_search_result *result, tl_error *err);
/* Of `count` restart results the best (ties: lower index) is moved to *best, the others are
 * cleared; evaluations are summed. */
void tl_search_reduce(tl_search_result *results, size_t count, tl_search_result *best);
/* All restarts, OpenMP over them. Results do not depend on the number of threads. Errors: as check;
 * TL_ERR_NUMERIC only when every restart failed; TL_ERR_INTERRUPTED when settings->stop was set
 * before all was done: *best is then the best so far, of one start at least. */
TL_MUST_USE tl_status tl_search_run(const tl_search_problem *problem,
                                    const tl_search_settings *settings, tl_search_result *best,
                                    tl_error *err);
void tl_search_result_clear(tl_search_result *result);

#ifdef __cplusplus
}
#endif

#endif
