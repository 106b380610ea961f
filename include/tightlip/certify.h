/* Proof in ball arithmetic (Arb): what a witness file says, recomputed with error bounds.
 *
 * The numbers of a problem are exact: the double nearest to each decimal of the file (seventeen
 * digits name a double uniquely), multiplicities as integers, log masses as doubles whose
 * exponentials are normalised inside the enclosure. Every result is an enclosure of what follows
 * from those numbers; precision is raised from 128 bits until the question is decided. All of it in
 * balls, but for the product with a direction in tl_certify_lower, and where settings ask for it in
 * tl_certify_problem: at the first precision that is in pairs of doubles, with margins proven
 * beforehand, where these give 48 bits.
 *
 * Shared with the double-precision path: the file reader and, for bounds without a formula here,
 * the values of tightlip/bounds.h, which are rounded up there by a proven margin. These are
 * masked-sharp where a part of no special kind has more than 512 tokens, l2-2 and l2-ball for three
 * tokens of head width 2 or more and for five on a line, kernel above width 64, lofast of several
 * heads above 512 rows and columns of the Jacobian, and row-fro from 2^53 tokens on; every other is
 * in ball arithmetic. Whether the hypotheses of a bound hold is asked there for all. Bounds on
 * moves from the centre of a Frobenius ball (lofast) apply where the tokens are that centre.
 *
 * Kinds: dot, l2 (also untied or without the factor A), sigmoid, cosine; several heads, biases,
 * output matrix; any mask with all tokens written out. Norms: 2, inf, 1, fro; inf2 from below.
 * FLINT, on which Arb stands, aborts when memory runs out, and keeps caches per thread: a thread
 * that has used this module calls tl_certify_cleanup() before it ends. */
#ifndef TIGHTLIP_CERTIFY_H
#define TIGHTLIP_CERTIFY_H

#include "tightlip/bounds.h"
#include "tightlip/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TL_CERTIFIED_SIZE = 64,
    TL_CERTIFY_PAIR_BITS = 106, /* of a pair of doubles */
    TL_CERTIFY_FIRST_BITS = 128,
    TL_CERTIFY_MOST_BITS = 4096
};

/* Frees the caches of the calling thread. */
void tl_certify_cleanup(void);

/* A number >= 0 rounded in one direction, in three forms. */
typedef struct {
    char text[TL_CERTIFIED_SIZE]; /* decimal, 20 digits: "5.1925824035672504", "1.5e+400", "inf" */
    double value;                 /* DBL_MAX (down) or infinity (up) past the double range */
    double log10;                 /* -infinity for zero */
} tl_certified;

typedef struct {
    tl_certified low, high; /* rounded down, rounded up */
} tl_enclosure;

typedef struct {
    tl_certified lower; /* rounded down */
    bool split;         /* copies of `atom` moving apart attain it */
    size_t atom;
    long bits;  /* precision at which it was decided; TL_CERTIFY_PAIR_BITS: in pairs */
    bool pairs; /* the product was in pairs of doubles; digits are those that are known, and two */
} tl_certified_lower;

/* Lower bound of the norm of problem (2 where it names none) at its tokens. Norm 2: ||J v||/||v||
 * at the stored direction v, read as a movement of the joint block (coordinates sqrt(a_k) y_k) and,
 * for every atom that has copies, as their movement apart; the larger, or the one that the file
 * names. Norms inf, 1, fro: the norm itself, no direction needed. Norm inf2: what an ascent finds.
 * Errors: TL_ERR_ARGUMENT (norm 2 without a direction, or with one that moves nothing),
 * TL_ERR_UNSUPPORTED (norm jt-f; a mask with copies; mean field with sigmoid or fro),
 * TL_ERR_LIMIT (nothing above zero at 4096 bits; above 1e9 entries in norms other than 2),
 * TL_ERR_MEMORY. Cost: O(H m^2 (k + v)) operations on balls, O(H m^2 d out) for the other norms;
 * norm 2 takes 0.03 to 0.1 ms for m <= 6, d <= 4, and 4 ms for d = 120. Source:
 * src/bounds/README.md sections 1 and 2. */
TL_MUST_USE tl_status tl_certify_lower(const tl_problem *problem, tl_certified_lower *out,
                                       tl_error *err);

/* upper[i]: bound i, `count` of them, rounded up, for the layer and tokens of problem on its
 * domain: by the formula in ball arithmetic where there is one that takes milliseconds (not sharp,
 * causal-riccati, causal-sharp, masked-sharp, ellipsoid, row-fro, numerical-range, l2-2, l2-ball,
 * l2-form-b to -d, nor lofast of several heads, which is about the tokens with epsilon from a
 * Frobenius ball), else from value[i]. Where value[i] does not apply, upper[i] is "inf". value[i]
 * must come from tl_bound_evaluate at a query of the same layer, tokens and ball. Errors:
 * TL_ERR_ARGUMENT (no domain), as tl_certify_lower. Cost: the norms of the matrices, under 1 ms for
 * d <= 4. */
TL_MUST_USE tl_status tl_certify_upper(const tl_problem *problem, size_t count,
                                       const tl_bound *const *bound, const tl_bound_value *value,
                                       tl_certified *upper, tl_error *err);

#define TL_VERDICT_LIST(X)                                                                    \
    X(TL_VERDICT_CONFIRMED, "confirmed", "the claimed value is reached")                      \
    X(TL_VERDICT_NO_CLAIM, "no claim", "a lower bound; the file claims no value")             \
    X(TL_VERDICT_BELOW, "below claim", "the value at the direction is below the claimed one") \
    X(TL_VERDICT_REFUTES, "refutes", "the lower bound lies above an upper bound")             \
    X(TL_VERDICT_OUTSIDE, "outside", "a token lies outside the domain")                       \
    X(TL_VERDICT_UNDECIDED, "undecided", "not decided at the largest precision")

typedef enum {
#define X(id, name, text) id,
    TL_VERDICT_LIST(X)
#undef X
} tl_verdict;

const char *tl_verdict_name(tl_verdict verdict);

/* How a bound stands to the certified lower bound of the same norm. */
typedef enum {
    TL_STANDS_APART, /* not applicable, or in another norm */
    TL_STANDS_ABOVE, /* not contradicted */
    TL_STANDS_EQUAL, /* not to be told apart at a relative 2^-200 (2^-50 at the largest precision):
                        attained, or all but */
    TL_STANDS_EXCEEDED, /* the lower bound is larger for certain */
    TL_STANDS_OPEN      /* not decided at the largest precision */
} tl_certified_standing;

typedef struct {
    const tl_bound *bound;
    bool applicable;
    bool enclosed; /* `value` by a formula in ball arithmetic; otherwise value.high alone */
    bool counts;   /* published or proven, or named by `against` */
    bool outside_hypotheses; /* named by `against`, evaluated without its mask hypothesis */
    char why[160];           /* when not applicable, or outside its hypotheses */
    tl_enclosure value;
    tl_certified_standing standing;
} tl_certified_bound;

typedef struct {
    const char *against; /* key of a bound that counts whatever its provenance, or NULL */
    bool enclose;        /* norm 2: an upper end as well (the other norms always have one) */
    long most_bits;      /* 0: TL_CERTIFY_MOST_BITS */
    bool lower_only;     /* bounds by tightlip/bounds.h alone: for wide layers at many tokens, where
                            formulas in ball arithmetic take long */
    bool boxes; /* maxima over boxes (sharp, causal-riccati, causal-sharp, masked-sharp, ellipsoid,
                   row-fro, numerical-range, l2-2, l2-ball) and lofast of several heads in ball
                   arithmetic too: up to some seconds each; else as lower_only */
    bool norm_only; /* the norm alone: neither bounds nor norms of the matrices */
    bool pairs;   /* norm 2 at the direction in pairs of doubles, as in tl_certify_lower, where that
                     decides; for layers so wide at so many tokens that balls take long */
    double slack; /* a claim c is reached by c (1 - slack); 0: 1e-10, the residual that double
                     precision leaves */
} tl_certify_settings;

typedef struct {
    tl_verdict verdict;
    tl_norm norm;
    tl_enclosure norm_at_x; /* high: "inf" unless has_upper */
    bool has_upper;
    bool too_large; /* an upper end was asked for of a joint block that is too large */
    bool split;     /* as in tl_certified_lower */
    size_t atom;
    long bits;
    bool pairs;     /* the norm is from the product in pairs of doubles */
    size_t outside; /* verdict outside: the token, and how far */
    double excess;  /* INFINITY where a Frobenius ball has other atoms or multiplicities */
    bool has_claim;
    double claim, claim_log10;
    size_t heads;                  /* 0 when only the norm was asked for */
    tl_enclosure *norm_a, *norm_v; /* heads each, owned: ||A_h||_2, ||V_h||_2 */
    size_t bounds;
    tl_certified_bound *bound; /* the registry, owned */
    char why[160];             /* verdict undecided: what is not decided */
} tl_certificate;

/* Everything above for one problem: feasibility in exact arithmetic, the lower bound (without a
 * direction norm 2 is enclosed whole), the bounds on the domain of the file (without one: a small
 * ball around the tokens), the verdict. settings may be NULL. "Refutes" outranks "below claim".
 * Errors: as tl_certify_lower; TL_ERR_ARGUMENT (no bound of that key), TL_ERR_LIMIT (enclosing norm
 * 2 of a joint block whose smaller side is above 512, where there is no direction). Cost: that of
 * the bounds, some 100 ms; enclosing O((m d)^3). */
TL_MUST_USE tl_status tl_certify_problem(const tl_problem *problem,
                                         const tl_certify_settings *settings, tl_certificate *out,
                                         tl_error *err);

/* A star (src/bounds/README.md section 17.7): L2 attention in the coordinates of its head, U = V A
 * = I, n tokens of which `centre` stand at 0 and the others at a e + rho e_i, e and e_i
 * orthonormal; its norm on moves that permutations of the e_i leave alone is a lower bound of
 * ||J||. */
#define TL_STAR_SCHEMA "tightlip/star/1"

typedef struct {
    uint64_t n, centre; /* 1 <= centre < n */
    double a, rho;
    bool has_value;
    double value; /* claimed */
} tl_certified_star;

/* A document of that schema with n, centre, a, rho and optionally norm ("2") and value; a new one
 * (NULL when out of memory). Errors: TL_ERR_PARSE. */
bool tl_certified_star_is(const json_t *document);
TL_MUST_USE tl_status tl_certified_star_read(json_t *document, const char *label,
                                             tl_certified_star *out, tl_error *err);
json_t *tl_certified_star_write(const tl_certified_star *star);
/* What tl_certify_lower, tl_certify_upper (value[i] of the query of tl_bound_query_identity; those
 * that take milliseconds again by value[i]) and tl_certify_problem are for problems. A certificate
 * has no norms of matrices, and bounds are those of that query. Errors: TL_ERR_ARGUMENT (centre out
 * of range, a or rho not finite), TL_ERR_MEMORY. Cost: 0.1 ms at any n, and the bounds. */
TL_MUST_USE tl_status tl_certify_star_lower(const tl_certified_star *star, tl_certified *lower,
                                            tl_error *err);
TL_MUST_USE tl_status tl_certify_star_upper(const tl_certified_star *star, size_t count,
                                            const tl_bound *const *bound,
                                            const tl_bound_value *value, tl_certified *upper,
                                            tl_error *err);
TL_MUST_USE tl_status tl_certify_star(const tl_certified_star *star,
                                      const tl_certify_settings *settings, tl_certificate *out,
                                      tl_error *err);

void tl_certificate_clear(tl_certificate *certificate);
/* True when a claim of the file, or a bound, has been contradicted. */
bool tl_certificate_contradicts(const tl_certificate *certificate);
/* A new object with file, verdict, refutes (keys), norm, lower, upper, arithmetic ("ball", "pairs
 * of doubles"), claimed, bits, norm_a,
 * norm_v, bounds. NULL when out of memory. */
json_t *tl_certificate_to_json(const tl_certificate *certificate, const char *file);

#ifdef __cplusplus
}
#endif

#endif
