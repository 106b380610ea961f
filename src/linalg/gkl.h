/* The state of a Golub-Kahan-Lanczos run. Internal to src/linalg.
 *
 * The iteration runs on the tall side: on J where cols <= rows, on J' otherwise, so the "right"
 * space (length near) is the smaller one and is exhausted first. After k steps
 *   M V_k = U_k B_k,   M' U_k = V_k B_k' + beta_k v_{k+1} e_k'        (M = J or J')
 * with B upper bidiagonal or, after a restart that kept `kept` pairs (Baglama and Reichel 2005),
 * diagonal in those, with the couplings rho in column `kept`. */
#ifndef TIGHTLIP_LINALG_GKL_H
#define TIGHTLIP_LINALG_GKL_H

#include "tightlip/linalg.h"

struct tl_gkl {
    size_t near_max, far_max, basis_max;
    double *V;                                 /* (basis + 1) x near, rows are vectors */
    double *U;                                 /* basis x far */
    double *alpha, *beta, *rho, *p, *q, *coef; /* basis + 1 each */
    double *small;                             /* 5 basis */
    double *generic;                           /* near */
    double *scratch;                           /* far */
    void *block;
    /* one run */
    const tl_operator *op;
    bool swapped, one_sided;
    size_t near, far, basis;
    size_t k, kept, steps;
    double scale; /* largest entry of B so far: an estimate of the norm from below */
    double lost;  /* one_sided: estimate, largest product of the last left vector with others */
};

/* The fixed generic vector: component i of direction `salt`, in (-1, 1) and never zero. */
double tl_gkl_generic(size_t i, uint64_t salt);

/* One more column of B. TL_ERR_NUMERIC when a product is not finite. */
tl_status tl_gkl_step(tl_gkl *w);

/* Top singular pair (p, q) of B_k after a restart, by dense SVD; keeps the best pairs and shrinks
 * the basis to them when `shrink`. second: the second singular value of B_k. */
tl_status tl_gkl_collapse(tl_gkl *w, bool shrink, double *sigma, double *second);

#endif
