/* Where the tokens may lie. */
#ifndef TIGHTLIP_DOMAIN_H
#define TIGHTLIP_DOMAIN_H

#include <gsl/gsl_rng.h>
#include <stdbool.h>
#include <stddef.h>

#include "tightlip/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One row each; `tightlip list domains` prints this table. */
#define TL_DOMAIN_LIST(X)                                                                       \
    X(TL_DOMAIN_BALL, "ball", "every token within `radius` of `centre` (default: the origin)")  \
    X(TL_DOMAIN_SPHERE, "sphere", "every token at distance `radius` of `centre`")               \
    X(TL_DOMAIN_LAYER_NORM, "layer-norm",                                                       \
      "gain (x - mean)/sqrt(var + eps) + shift; eps > 0: the solid ellipsoid, 0: its surface")  \
    X(TL_DOMAIN_RMS_NORM, "rms-norm",                                                           \
      "the same without the mean: gain x/sqrt(mean x^2 + eps) "                                 \
      "+ shift")                                                                                \
    X(TL_DOMAIN_BOX, "box", "every coordinate between `lower` and `upper`")                     \
    X(TL_DOMAIN_SPACE, "space", "the whole space, for kind l2; `scale`: length of first steps") \
    X(TL_DOMAIN_FROBENIUS, "frobenius-ball",                                                    \
      "all tokens together within `epsilon` of `tokens` in Frobenius norm, copies together")

typedef enum {
#define X(id, name, text) id,
    TL_DOMAIN_LIST(X)
#undef X
} tl_domain_kind;

/* Every domain lies in the ball of `radius` about `centre` (kind ball: it is that ball) and in the
 * one of `radius_origin` about the origin; both INFINITY for kind space. The exact sets:
 *   layer-norm  { gain_i z_i + shift_i : sum z = 0, |z|^2 <= d }, with |z|^2 = d for eps = 0. The
 *               outputs for eps > 0 are those with |z|^2 < d, whatever eps is: the closure is
 * taken. rms-norm    the same without sum z = 0. frobenius   { X : sum_k N_k |x_k - x0_k|^2 <=
 * epsilon^2 }, N_k copies of atom k. A gain too small to move its shift counts as zero. Where zero
 * gains hide so much of z that |z|^2 = d leaves a solid set of outputs, that solid is the domain.
 */
typedef struct {
    tl_domain_kind kind;
    size_t d;
    double radius;
    double *centre;        /* d, owned, or NULL: the origin; the shift of a norm */
    double radius_origin;  /* at most radius + |centre|, rounded up */
    double scale;          /* length of a large step: radius, or epsilon, or as given for space */
    double *lower, *upper; /* box: d each, owned */
    double *gain, eps;     /* norms: d, owned */
    bool surface;          /* norms: |z|^2 = d, otherwise <= */
    size_t hidden, rank;   /* norms: zero gains; dimension of the set */
    double *axis, *semi;   /* norms: rank x d unit axes, rank half lengths descending, owned */
    tl_measure *around;    /* frobenius: X0 with its multiplicities, owned */
    double epsilon;
} tl_domain;

const char *tl_domain_name(tl_domain_kind kind);
TL_MUST_USE tl_status tl_domain_from_name(const char *name, tl_domain_kind *kind);
/* Ball; centre copied, may be NULL. Errors: TL_ERR_DOMAIN (radius not positive and finite, centre
 * not finite, d 0), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_domain_alloc_ball(tl_domain **out, size_t d, double radius,
                                           const double *centre, tl_error *err);
/* As the ball. Doubles on a sphere are rare: a token counts as on it from inside by some rounding
 * units of radius and centre, never from outside. */
TL_MUST_USE tl_status tl_domain_alloc_sphere(tl_domain **out, size_t d, double radius,
                                             const double *centre, tl_error *err);
/* kind: layer-norm or rms-norm. gain, shift: d each, copied, NULL: all 1, all 0; gains of either
 * sign and zeros. Errors: TL_ERR_DOMAIN (not finite, eps negative, layer-norm of width 1),
 * TL_ERR_LIMIT (d above TL_DOMAIN_NORM_MAX), TL_ERR_NUMERIC (gains too far apart for LAPACK),
 * TL_ERR_MEMORY. Cost: O(d^3), once. Source of both radii: src/bounds/README.md section 14. */
enum { TL_DOMAIN_NORM_MAX = 4096 };
TL_MUST_USE tl_status tl_domain_alloc_norm(tl_domain **out, tl_domain_kind kind, size_t d,
                                           const double *gain, const double *shift, double eps,
                                           tl_error *err);
/* lower, upper: d each, copied. Errors: TL_ERR_DOMAIN (not finite, lower above upper, or half a
 * diagonal past the double range). */
TL_MUST_USE tl_status tl_domain_alloc_box(tl_domain **out, size_t d, const double *lower,
                                          const double *upper, tl_error *err);
TL_MUST_USE tl_status tl_domain_alloc_space(tl_domain **out, size_t d, double scale, tl_error *err);
/* around is copied. Errors: TL_ERR_DOMAIN (epsilon not positive and finite; mean field, where no
 * input lies at a finite distance of another one). */
TL_MUST_USE tl_status tl_domain_alloc_frobenius(tl_domain **out, const tl_measure *around,
                                                double epsilon, tl_error *err);
/* A small ball that holds all m tokens: Badoiu-Clarkson iterations with away steps until the ball
 * is within a relative 1e-6 of the smallest (at most 10000 iterations), then the radius that covers
 * every token in exact arithmetic. Equal tokens get a positive radius of rounding size. Errors:
 * TL_ERR_SHAPE (m or d 0), TL_ERR_DOMAIN (a token not finite, or a spread past the double range),
 * TL_ERR_MEMORY. Cost: O(m d) an iteration, usually some hundred. Source: Yildirim 2008, "Two
 * algorithms for the minimum enclosing ball problem", Algorithm 4.1. */
TL_MUST_USE tl_status tl_domain_alloc_enclosing(tl_domain **out, size_t m, size_t d,
                                                const double *x, tl_error *err);
TL_MUST_USE tl_status tl_domain_copy(tl_domain **out, const tl_domain *domain);
void tl_domain_free(tl_domain *domain);

/* TL_ERR_SHAPE where the widths differ, TL_ERR_UNSUPPORTED for an unbounded domain with a kind
 * whose local constant is unbounded there (every kind but l2). */
TL_MUST_USE tl_status tl_domain_fits(const tl_domain *domain, const tl_layer *layer, tl_error *err);

/* One token. Kind frobenius-ball: whether it lies in the ball of `radius` about `centre`; so for
 * the three below. */

/* Within some rounding units of the domain (ball: |x - centre| <= radius (1 + 4 DBL_EPSILON)): what
 * files may hold after printing and rounding. tl_domain_project leaves more than that. */
bool tl_domain_contains(const tl_domain *domain, const double *x);
/* Nearest point, in place; unchanged where x lies in the domain. Inequalities (|x - centre| <=
 * radius, |z|^2 <= d, the sides of a box) then hold in exact arithmetic: a point outside is put on
 * the boundary, then inwards by rounding units until they do. The equations of a sphere, a surface
 * and of sum z = 0 hold to a few rounding units of every coordinate. A token that is not finite
 * becomes the centre, or some point where that is not in the domain. */
void tl_domain_project(const tl_domain *domain, double *x);
/* ball, sphere: uniform in the ball, on the sphere (`surface`). Norms: the image of z uniform in
 * its ball, or on its sphere. Box: uniform, or one of its corners. Space: Gaussian of root mean
 * square length `scale`, or uniform on the sphere of that radius. */
void tl_domain_random(const tl_domain *domain, gsl_rng *rng, bool surface, double *x);
/* Removes from the gradient g at x what only pushes out of the domain (so that a zero result means
 * a stationary point of maximisation on the domain). */
void tl_domain_tangent(const tl_domain *domain, const double *x, double *g);

/* The same for m tokens at once: one by one, except for kind frobenius-ball, where m must be the
 * number of its atoms and the k-th token belongs to its k-th atom: nearest in the norm of the whole
 * array, uniform in its ball or on its sphere. */
void tl_domain_project_all(const tl_domain *domain, size_t m, double *x);
void tl_domain_random_all(const tl_domain *domain, gsl_rng *rng, bool surface, size_t m, double *x);
void tl_domain_tangent_all(const tl_domain *domain, size_t m, const double *x, double *g);
/* tl_domain_contains for every atom of mu; for kind frobenius-ball also the atoms together, with
 * the multiplicities they must share. Errors: TL_ERR_SHAPE (widths differ), TL_ERR_DOMAIN
 * "tokens[k]: expected .., found ..". */
TL_MUST_USE tl_status tl_domain_check(const tl_domain *domain, const tl_measure *mu, tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
