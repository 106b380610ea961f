/* Where the tokens may lie. */
#ifndef TIGHTLIP_DOMAIN_H
#define TIGHTLIP_DOMAIN_H

#include <gsl/gsl_rng.h>
#include <stdbool.h>
#include <stddef.h>

#include "tightlip/status.h"

#define TL_DOMAIN_LIST(X) \
    X(TL_DOMAIN_BALL, "ball", "every token within `radius` of `centre` (default: the origin)")

typedef enum {
#define X(id, name, text) id,
    TL_DOMAIN_LIST(X)
#undef X
} tl_domain_kind;

typedef struct {
    tl_domain_kind kind;
    size_t d;
    double radius;
    double *centre; /* d, owned, or NULL: the origin */
} tl_domain;

const char *tl_domain_name(tl_domain_kind kind);
/* Ball; centre copied, may be NULL. Errors: TL_ERR_DOMAIN (radius not positive and finite, centre
 * not finite). */
TL_MUST_USE tl_status tl_domain_alloc_ball(tl_domain **out, size_t d, double radius,
                                           const double *centre, tl_error *err);
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

/* |x - centre| <= radius (1 + 4 DBL_EPSILON): what files may hold after printing and rounding.
 * tl_domain_project leaves more than that: exact membership. */
bool tl_domain_contains(const tl_domain *domain, const double *x);
/* Nearest point, in place, with |x - centre| <= radius in exact arithmetic. Unchanged where that
 * already holds; otherwise scaled to the sphere, then inwards by rounding units until it holds
 * (some units in the last place of radius and centre). A token that is not finite becomes the
 * centre. */
void tl_domain_project(const tl_domain *domain, double *x);
/* Uniform in the ball, or on its sphere. */
void tl_domain_random(const tl_domain *domain, gsl_rng *rng, bool surface, double *x);
/* Removes from the gradient g at x what only pushes out of the domain (so that a zero result means
 * a stationary point of maximisation on the domain). */
void tl_domain_tangent(const tl_domain *domain, const double *x, double *g);

#endif
