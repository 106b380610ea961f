/* What the files of the attack share. */
#ifndef ATTACK_INTERNAL_H
#define ATTACK_INTERNAL_H

#include "tightlip/attack.h"
#include "tightlip/jacobian.h"

/* The problem with every token single. */
typedef struct {
    const tl_attack_problem *problem;
    size_t n, d, out;
    tl_measure *clean; /* owned */
    double *budget;    /* n, owned, or NULL */
    double *y;         /* n x out, owned: F(X) without residual X */
    double *top;       /* n x d, owned: top right singular vector of J_F(X); the next one below */
    double *second;
    double local; /* ||J_F(X)||_2 */
    double slack; /* what the rounding of X + D can add to the length of D */
    const volatile int *stop;
} tl_attack_setting;

static inline bool tl_attack_stopped(const volatile int *stop)
{
    return stop && *stop;
}

/* In place of the gradient or any direction g (n x d): the D that maximises <g, D> over |D|_F <=
 * epsilon and the budgets; for g = 0 it is 0. */
void tl_attack_budget(const tl_attack_setting *s, double *g);

/* One restart from D (n x d, any size): leaves the best feasible D found and its effect. *cut: a
 * stop ended it. */
TL_MUST_USE tl_status tl_attack_ascend(const tl_attack_setting *s, size_t steps, double *D,
                                       double *effect, double *rounding, bool *cut);

/* Convex, bounded, and around mu; NULL is fine. */
TL_MUST_USE tl_status tl_attack_check_domain(const tl_domain *domain, const tl_measure *mu,
                                             tl_error *err);
/* Normalised attention without a mask: what acts on measures. */
TL_MUST_USE tl_status tl_attack_check_measures(const tl_layer *layer, tl_error *err);

/* |x - y|^2 */
static inline double tl_attack_square(size_t d, const double *x, const double *y)
{
    double sum = 0;

    for (size_t r = 0; r < d; r++) sum += (x[r] - y[r]) * (x[r] - y[r]);
    return sum;
}

#endif
