/* The kinds of domains: what each one does for a single token. Internal to the attention module. */
#ifndef TIGHTLIP_ATTENTION_DOMAIN_KINDS_H
#define TIGHTLIP_ATTENTION_DOMAIN_KINDS_H

#include "tightlip/domain.h"

typedef struct {
    bool (*contains)(const tl_domain *domain, const double *x);
    void (*project)(const tl_domain *domain, double *x);
    void (*random)(const tl_domain *domain, gsl_rng *rng, bool surface, double *x);
    void (*tangent)(const tl_domain *domain, const double *x, double *g);
    /* The same of m tokens; NULL: one after the other. */
    void (*project_all)(const tl_domain *domain, size_t m, double *x);
    void (*tangent_all)(const tl_domain *domain, size_t m, const double *x, double *g);
} tl_domain_methods;

extern const tl_domain_methods tl_domain_ball_methods, tl_domain_sphere_methods,
    tl_domain_norm_methods, tl_domain_box_methods, tl_domain_space_methods;

const tl_domain_methods *tl_domain_methods_of(const tl_domain *domain);

/* A domain of that kind and width without arrays. Errors: TL_ERR_DOMAIN (d 0), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_domain_new(tl_domain **out, tl_domain_kind kind, size_t d, tl_error *err);
/* A copy of count numbers, every one of them finite: otherwise TL_ERR_DOMAIN "name[i]: ..". NULL
 * gives NULL. */
TL_MUST_USE tl_status tl_domain_vector(double **out, const char *name, size_t count,
                                       const double *x, tl_error *err);
/* radius_origin and scale from radius and centre. */
void tl_domain_enclose(tl_domain *domain);

static inline double tl_domain_centre_at(const tl_domain *domain, size_t i)
{
    return domain->centre ? domain->centre[i] : 0;
}

/* Norms: coordinates u (rank) of a vector (d) along the axes, and the vector of coordinates. */
void tl_domain_along(const tl_domain *e, const double *off, double *u);
void tl_domain_back(const tl_domain *e, const double *u, double *w);

/* The root tau >= 0 of sum_j (c_j / (gap_j + tau))^2 = 1 with c_j = |s_j u_j| and gap_j = |s_j^2 -
 * s_p^2|, p the last axis or the first (`first`); zero where the sum is below one for every tau >
 * 0. s: r half lengths descending, s[0] of order one. */
double tl_domain_secular(size_t r, const double *s, const double *u, bool first);

#endif
