/* Every known upper bound of the Lipschitz constant of attention, in one table.
 *
 * A bound maps a query (what is known of the layer, the domain and n) to a logarithm, or says why
 * it does not apply. Proofs: src/bounds/README.md. Bounds never see what a search found. */
#ifndef TIGHTLIP_BOUNDS_H
#define TIGHTLIP_BOUNDS_H

#include "tightlip/domain.h"
#include "tightlip/norm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a bound holds; `name` is the word of the file formats. */
#define TL_SCOPE_LIST(X)                                                                        \
    X(TL_SCOPE_GLOBAL, "global", "all inputs, the whole space")                                 \
    X(TL_SCOPE_BALL, "ball", "all inputs whose tokens lie in a ball")                           \
    X(TL_SCOPE_MEAN_FIELD, "mean-field", "as ball, one constant for every n and every measure") \
    X(TL_SCOPE_FROBENIUS, "frobenius-ball", "all inputs within epsilon of X in Frobenius norm") \
    X(TL_SCOPE_LOCAL, "local", "at one input X")

typedef enum {
#define X(id, name, text) id,
    TL_SCOPE_LIST(X)
#undef X
} tl_scope;

/* The registry holds the first three; a conjecture is a formula of a user (conjecture.h). */
#define TL_PROVENANCE_LIST(X)               \
    X(TL_PROVENANCE_PUBLISHED, "published") \
    X(TL_PROVENANCE_PROVEN, "proven")       \
    X(TL_PROVENANCE_REFUTED, "refuted")     \
    X(TL_PROVENANCE_CONJECTURE, "conjecture")

typedef enum {
#define X(id, name) id,
    TL_PROVENANCE_LIST(X)
#undef X
} tl_provenance;

const char *tl_scope_name(tl_scope scope); /* "ball", .. */
const char *tl_provenance_name(tl_provenance provenance);

/* What a bound may know of one head. */
typedef struct {
    double norm_a;  /* ||A||_2, A = scale K'Q */
    double norm_v;  /* ||V_h||_2 */
    double norm_ov; /* ||O_h V_h||_2 */
    double fro_v,
        fro_ov;    /* Frobenius norms of both; 0: not known, at most sqrt(d) times the above */
    double rho;    /* max over the domain of |A x + c|; 0 and not used for kind l2 */
    double norm_q; /* ||Q||_2; kinds l2 and cosine */
    double norm_k; /* ||K||_2; kind cosine */
    size_t width;  /* k: rows of Q */
} tl_head_facts;

typedef struct {
    tl_kind kind;
    tl_mask mask;
    bool infinite;        /* n = infinity (mean field) */
    double n;             /* number of tokens when finite, >= 1 (exact below 2^53) */
    size_t d;             /* token width */
    double radius;        /* of a ball that holds every token, about any centre; INFINITY: the whole
                             space, for kind l2 alone */
    double radius_origin; /* of a ball about the origin that holds every token: published bounds
                             need it */
    bool biased;          /* some c_h is not zero (kind sigmoid: or a bk) */
    size_t heads;
    const tl_head_facts *head; /* borrowed */
    double norm_o;             /* ||O||_2, 1 without an output matrix */
    const tl_layer *layer;     /* for bounds that need the matrices themselves, or NULL */
    const tl_measure *measure; /* for local bounds, or NULL */
    const tl_domain *domain;   /* for bounds that need more than its ball, or NULL; borrowed */
    double epsilon;            /* radius of the Frobenius ball around measure; 0: none asked for */
    double bias;               /* kind sigmoid: added to every logit */
    double nu, tau, eps;       /* kind cosine: nu softmax(tau q k'), rows over sqrt(|q|^2 + eps) */
} tl_bound_query;

typedef struct {
    bool applicable;
    double log_value; /* natural log of the bound, when applicable; -inf for a zero bound */
    char why[160];    /* when not applicable: the hypothesis that fails */
} tl_bound_value;

typedef struct {
    const char *key, *title, *citation, *hypotheses;
    tl_norm norm;
    tl_scope scope;
    tl_provenance provenance;
    bool whole_ball; /* scope frobenius-ball: holds for ||J|| at every X' of the ball, not at X
                        alone */
    tl_status (*evaluate)(const tl_bound_query *query, tl_bound_value *value);
} tl_bound;

/* The registry, in a fixed order. */
size_t tl_bound_count(void);
const tl_bound *tl_bound_at(size_t i);
/* Forms of a bound of the registry, which is the least of them: for experiments that name them. */
size_t tl_bound_part_count(void);
const tl_bound *tl_bound_part_at(size_t i);
/* In the registry or among the forms; NULL when there is no such key. */
const tl_bound *tl_bound_find(const char *key);
/* At one X, or on a ball around it: silent about other inputs. */
bool tl_bound_is_about_one_input(const tl_bound *bound);

/* Evaluates with the shared checks (query complete, parameters finite and >= 0) first.
 * Errors, which name the bound and the fact: TL_ERR_ARGUMENT for a meaningless query (n < 1 or
 * not whole, negative or non-finite norms), TL_ERR_MEMORY. "Does not apply" is no error. Cost:
 * under 50 ms for scopes ball and mean field, O(H m^2 v (k + v) + H m v^3) local, m atoms. */
TL_MUST_USE tl_status tl_bound_evaluate(const tl_bound *bound, const tl_bound_query *query,
                                        tl_bound_value *value, tl_error *err);

/* Facts of a layer on a ball (centre NULL: the origin): fills query and head[] (layer->heads of
 * them, owned by the caller, borrowed by query). Norms are rounded up by a margin that covers the
 * rounding of their computation. measure may be NULL (no local bounds then): n = 0 with infinite,
 * for the caller to overwrite. Otherwise n from the measure, rounded up above 2^53.
 * Errors: TL_ERR_DOMAIN (radius negative or not finite, centre not finite, an atom outside the ball
 * by more than rounding; kind l2 may have an infinite radius), TL_ERR_SHAPE (widths differ),
 * TL_ERR_MEMORY, TL_ERR_NUMERIC. */
TL_MUST_USE tl_status tl_bound_query_init(tl_bound_query *query, tl_head_facts *head,
                                          const tl_layer *layer, const tl_measure *measure,
                                          const double *centre, double radius, tl_error *err);

/* The same on any domain, by the balls that hold it. Also TL_ERR_UNSUPPORTED, see tl_domain_fits.
 */
TL_MUST_USE tl_status tl_bound_query_domain(tl_bound_query *query, tl_head_facts *head,
                                            const tl_layer *layer, const tl_measure *measure,
                                            const tl_domain *domain, tl_error *err);
/* The query to ask `bound` with, of an input in that domain (NULL: all that is known is in
 * `query`). In a Frobenius ball a bound on the whole of it is about its centre X0, and at that very
 * input epsilon is known to bounds on moves from there. any_a: A was searched, and a bound must
 * hold for every A of that norm, not for the one found: only bounds about one input, and
 * conjectures, see the layer. Borrows from all. Cost: O(m d), a comparison. */
tl_bound_query tl_bound_query_about(const tl_bound_query *query, const tl_bound *bound,
                                    const tl_domain *domain, bool any_a);

/* Kind l2 in the coordinates of its one head, U = V A = I (src/bounds/README.md section 16), over
 * n >= 1 tokens in R^width, anywhere: a layer of which only the facts are known. n is rounded up
 * above 2^53. */
void tl_bound_query_identity(tl_bound_query *query, tl_head_facts *head, uint64_t n, size_t width);

/* Radius of a ball about the origin that holds every token behind a layer norm (or RMS norm):
 * sqrt(d) max_i |gain_i| + |shift|, rounded up, since normalised tokens have length at most
 * sqrt(d). gain (d) NULL: all 1; shift (d) NULL: zero. NaN when an entry is NaN. */
double tl_bound_layernorm_radius(size_t d, const double *gain, const double *shift);

#ifdef __cplusplus
}
#endif

#endif
