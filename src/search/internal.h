/* What the files of the search share: a point, its evaluation, ascent and moves. */
#ifndef SEARCH_INTERNAL_H
#define SEARCH_INTERNAL_H

#include <gsl/gsl_rng.h>

#include "attention/batch.h"
#include "tightlip/jacobian.h"
#include "tightlip/search.h"

/* A candidate input. Arrays hold `capacity` atoms; m of them are in use. */
typedef struct {
    size_t m, capacity, d;
    double *x;        /* m x d, inside the domain */
    double *log_mass; /* m, normalised; log(count / n) when integral */
    uint64_t *count;  /* m, meaningful when integral */
    bool integral;    /* masses are multiplicities and stay fixed in the ascent */
    double *A;        /* d x d, or NULL when A is not searched */
    double value;     /* log of the objective here; NAN: not evaluated */
} tl_point;

/* After a restart that failed with TL_ERR_NUMERIC: names the product of the inputs that leaves the
 * double range, with its factors (norms of matrices by Frobenius), or returns false. err may be
 * NULL. */
bool tl_search_overflow(const tl_search_problem *problem, tl_error *err);

/* A mask: the order of tokens counts, and a point lists every token as an atom of its own. */
bool tl_search_ordered(const tl_search_problem *problem);
/* Atoms a point has room for. */
size_t tl_search_capacity(const tl_search_problem *problem);

TL_MUST_USE bool tl_point_init(tl_point *p, size_t capacity, size_t d, bool with_a);
void tl_point_clear(tl_point *p);
void tl_point_copy(tl_point *to, const tl_point *from);
/* Removes atom k; its mass is spread over the others in proportion. */
void tl_point_remove(tl_point *p, size_t k);
/* Appends a copy of atom k and returns its index; the caller sets its mass and place. */
size_t tl_point_append(tl_point *p, size_t k);

/* Largest of the two blocks, with what the search needs to know of each. */
typedef struct {
    double log_value, log_joint, log_split;
} tl_value;

/* Scratch of the norms that are sums of entries. */
typedef struct {
    tl_norm_form form;
    double *psi, *phi, *omega;
    double *gx, *ga, *gA; /* of one term */
    double *buffer;       /* owns all of them */
} tl_sums;

TL_MUST_USE bool tl_sums_init(tl_sums *s, size_t capacity, size_t out, size_t d);

typedef struct {
    const tl_search_problem *problem;
    tl_layer *layer; /* own copy: A of the point is written into it */
    tl_jacobian *J;
    tl_gkl *gkl;
    double *M;      /* joint block, when it is small */
    double *u, *v;  /* top pair of the last evaluation outside of lanes: the next start */
    double sigma;   /* its value, in the units of J's running scale */
    size_t warm_m;  /* atoms it belongs to; 0: none */
    double log_one; /* a mass of one token, or a rounding more; mean field: -infinity */
    double log_two; /* a mass of two tokens, or a rounding less */
    double *S, *su, *sv;
    double *gx, *ga, *gA; /* second gradient, for ratios of blocks */
    tl_sums sums;         /* norms other than the spectral one */
    size_t rows, cols;
    uint64_t used, budget;
    uint64_t steps;     /* of Lanczos or inverse iteration, of evaluations outside of lanes */
    tl_batch *batch;    /* NULL: several points are evaluated one by one */
    size_t batch_atoms; /* points with more are so in any case; 0: all are */
    double target;      /* of a measurement: the log of the objective that is waited for .. */
    uint64_t target_at; /* .. and the evaluation that first reached it; 0: none */
} tl_evaluator;

TL_MUST_USE tl_status tl_evaluator_init(tl_evaluator *ev, const tl_search_problem *problem,
                                        size_t capacity, uint64_t budget, tl_error *err);
void tl_evaluator_clear(tl_evaluator *ev);
/* Makes room to evaluate several points side by side, its own or those of other evaluators of the
 * problem, where the problem is of that kind. */
TL_MUST_USE tl_status tl_evaluator_widen(tl_evaluator *ev);
/* Log of the objective at p and, where gx is not NULL, its gradient in tokens, log-masses and A (gA
 * NULL when A is not searched). -INFINITY where the objective is zero or undefined. Counts one
 * evaluation. */
TL_MUST_USE tl_status tl_evaluate(tl_evaluator *ev, const tl_point *p, tl_value *value, double *gx,
                                  double *ga, double *gA);

/* Whether atom k has two tokens, so that its split block counts. */
bool tl_may_split(const tl_evaluator *ev, const tl_point *p, size_t k);

/* An evaluation of `ev` as one of several. v (m x d): the right singular vector, a start where
 * *warm is m, and then that of p; gx, ga, gA as in tl_evaluate. */
typedef struct {
    tl_evaluator *ev;
    const tl_point *p;
    double *v;
    size_t *warm;
    double *gx, *ga, *gA;
    tl_value value;
    tl_status status;
} tl_evaluation;

/* At most TL_BATCH of them, in the lanes of `wide` where that is faster. All points have an A or
 * none, and gradients are asked of all or of none. */
void tl_evaluate_all(tl_evaluator *wide, size_t count, tl_evaluation *e);

/* The part of tl_evaluate that is for norms other than the spectral one, J set: log of the norm
 * and, where gx is not NULL, its gradient. */
TL_MUST_USE tl_status tl_evaluate_sums(tl_evaluator *ev, const tl_point *p, const tl_measure *mu,
                                       double *log_value, double *gx, double *ga, double *gA);

/* Nearest feasible point: tokens, relaxed masses, A. And without A. */
TL_MUST_USE tl_status tl_point_project(const tl_search_problem *problem, tl_point *p);
void tl_point_project_measure(const tl_search_problem *problem, tl_point *p);
/* Masses: at least one token per atom, the held ratio, sum one. */
void tl_masses_project(const tl_search_problem *problem, size_t m, double *log_mass);
/* Nearest multiplicities (each >= 1, sum n), written to count and log_mass. */
void tl_point_round(const tl_search_problem *problem, tl_point *p);
/* Orders in which atoms are written out as tokens. */
typedef enum {
    TL_ORDER_ATOMS,  /* all copies of atom 0, then of atom 1, .. */
    TL_ORDER_RARE,   /* so, atoms with few copies first */
    TL_ORDER_EVEN,   /* every prefix holds shares as near to those of the whole as can be */
    TL_ORDER_RANDOM, /* shuffled */
    TL_ORDERS
} tl_order;
/* From whole multiplicities with sum n <= capacity to n single tokens. */
TL_MUST_USE tl_status tl_point_unfold(const tl_search_problem *problem, tl_order order,
                                      gsl_rng *rng, tl_point *p);
/* log_mass from count. */
void tl_point_count_masses(const tl_search_problem *problem, tl_point *p);
/* Nearest matrix with spectral norm at most bound, its largest singular value then put at the
 * bound. Where parts is not NULL, its singular vectors and values as of tl_spectral_parts; it holds
 * those of a matrix nearby, or zeros. */
TL_MUST_USE tl_status tl_spectral_project(size_t d, double bound, double *A, double *parts);
/* The same for at most TL_BATCH of them, with parts. */
void tl_spectral_project_all(size_t d, double bound, size_t count, double *const *A,
                             double *const *parts, tl_status *status);
/* Singular vectors and values of A, which tl_spectral_tangent needs: U' (d x d), V' (d x d), d
 * values. */
size_t tl_spectral_parts_size(size_t d);
TL_MUST_USE tl_status tl_spectral_parts(size_t d, const double *A, double *parts);
/* Pairs of singular vectors along which a gradient presses against the bound, as rows. */
typedef struct {
    size_t count;
    double *left, *right;
} tl_pressed;
/* How many singular values are at the bound. */
size_t tl_spectral_active(size_t d, double bound, const double *parts);
/* Removes from the gradient G at A what only pushes out of the spectral ball (projection to its
 * tangent cone). pressed: along which pairs that was; may be NULL. */
TL_MUST_USE tl_status tl_spectral_tangent(size_t d, double bound, const double *parts, double *G,
                                          tl_pressed *pressed);

/* Removes from the step S at A what moves singular values that are pressed against the bound. */
TL_MUST_USE tl_status tl_spectral_keep(size_t d, const tl_pressed *pressed, double *S);

/* Local ascent (projected limited-memory BFGS, steps of the weak Wolfe conditions). */
typedef struct tl_ascent tl_ascent;
TL_MUST_USE tl_status tl_ascent_alloc(tl_ascent **out, size_t capacity, size_t d, bool with_a);
void tl_ascent_free(tl_ascent *a);
/* From p, at most `evaluations` of ev, which is borrowed to the end. */
void tl_ascent_begin(tl_ascent *a, tl_evaluator *ev, const tl_point *p, uint64_t evaluations);
/* Whether there is more to evaluate. */
bool tl_ascent_runs(const tl_ascent *a);
void tl_ascent_stop(tl_ascent *a);
/* One evaluation for each of `count` ascents that run, in the lanes of `wide`, and what follows
 * from it; their statuses. */
void tl_ascents_step(tl_evaluator *wide, size_t count, tl_ascent *const *a, tl_status *status);
/* The best point seen. */
const tl_point *tl_ascent_best(const tl_ascent *a);

/* Does this construction apply to the problem at all? */
bool tl_start_applies(const tl_search_problem *problem, tl_start start);
/* Fills p (masses relaxed, feasible). */
TL_MUST_USE tl_status tl_start_make(const tl_search_problem *problem, tl_start start, gsl_rng *rng,
                                    tl_point *p);

/* Ways to carry a witness over: logits and shares of the mass as they were; stretched to the whole
 * ball; stretched, with logarithms of masses in proportion to ||A|| R^2; all multiplicities but the
 * largest as they were. */
typedef enum {
    TL_WARM_KEEP,
    TL_WARM_STRETCH,
    TL_WARM_STRETCH_MASSES,
    TL_WARM_BULK,
    TL_WARM_VARIANTS
} tl_warm_variant;
/* Fills p, feasible, whole multiplicities when n is finite. *usable is false where the witness does
 * not fit (width, number of atoms) or the variant is no other start than TL_WARM_KEEP. */
TL_MUST_USE tl_status tl_warm_make(const tl_search_problem *problem, const tl_search_witness *w,
                                   tl_warm_variant variant, tl_point *p, bool *usable);

/* One random change of p (split, merge, shift mass, add, drop, relocate, shake; under a mask
 * relocate, shake, swap, copy, exchange of a prefix and the rest); stays feasible. */
TL_MUST_USE tl_status tl_move_random(const tl_search_problem *problem, gsl_rng *rng, tl_point *p);
/* Merges atoms closer than `within`; true when something was merged. */
bool tl_move_merge(const tl_search_problem *problem, tl_point *p, double within);

/* Whether the caller has asked to end. */
bool tl_search_stopped(const tl_search_settings *settings);
/* What is maximised, of a computed norm. */
double tl_objective_log(tl_objective objective, const tl_norm_result *norm);
/* log-sum-exp normalisation of m log-masses. */
void tl_masses_normalise(size_t m, double *log_mass);
/* g = ||A||_2 radius^2 of the problem's first head (kind cosine: tau): the size of its logits. */
double tl_problem_logit_size(const tl_search_problem *problem);

#endif
