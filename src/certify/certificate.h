/* Shared by the files that make a certificate. */
#ifndef TIGHTLIP_CERTIFY_CERTIFICATE_H
#define TIGHTLIP_CERTIFY_CERTIFICATE_H

#include "certify/measure.h"

typedef struct {
    const tl_problem *problem;
    tl_certify_settings settings; /* defaults filled in */
    const tl_domain *domain;      /* the file's, or enclosing */
    tl_domain *enclosing;         /* owned, or NULL */
    double *log_value;            /* owned: of every bound by tightlip/bounds.h, where it applies */
    bool *declined;               /* owned: slow formulas that had no value once; they choose by
                                     doubles and boxes, which more bits do not change */
} tl_certify_run;

void tl_certify_round(tl_enclosure *out, const arb_t ball, slong prec);

/* Fills in what is left at zero. */
void tl_certify_defaults(tl_certify_settings *settings);

/* bound: the upper end of exp(log_value) as an exact number. */
void tl_certify_from_logarithm(arb_t bound, double log_value);
/* value: the ball whose lower end is certified; bound: a ball, or for a row without formula the
 * number that the bound does not exceed; last: the largest precision. */
tl_certified_standing tl_certify_compare(const arb_t bound, const arb_t value, bool last);

/* Values and hypotheses of every bound by tightlip/bounds.h into out->bound. */
TL_MUST_USE tl_status tl_certify_double_bounds(const tl_certify_run *run, tl_certificate *out,
                                               tl_error *err);
/* Norms of the matrices, formulas in ball arithmetic, and how each bound stands to value, whose
 * lower end is certified; what stays open at this precision is named in out->why. */
TL_MUST_USE tl_status tl_certify_stand(const tl_certify_run *run, const tl_certify_state *s,
                                       const arb_t value, tl_certificate *out, tl_error *err);

#endif
