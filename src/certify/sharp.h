/* The pieces of `sharp`, V = I, in balls. Statements: src/bounds/README.md sections 4, 6 and 20. */
#ifndef TIGHTLIP_CERTIFY_SHARP_H
#define TIGHTLIP_CERTIFY_SHARP_H

#include "certify/boxes.h"
#include "certify/formulas.h"

/* One head over n tokens: deviations times |A x + c| up to g, logits of a row within l of their
 * middle, ||C A|| <= c; coupled: g = l and both move together (a ball). */
typedef struct {
    slong prec;
    bool infinite, coupled;
    fmpz_t n;
    arb_t g, l, c;
} tl_certify_size;

void tl_certify_size_init(tl_certify_size *s, const tl_certify_facts *f);
/* g = rho r, c = ||A|| r^2 of head h. */
void tl_certify_size_of_head(tl_certify_size *s, const tl_certify_facts *f, size_t h);
void tl_certify_size_clear(tl_certify_size *s);

/* Bounds of n ||T_i||^2 for every row; +inf where they say nothing. */
void tl_certify_mean_field_square(arb_t square, const tl_certify_size *s); /* 4.4 */
void tl_certify_schur_square(arb_t square, const tl_certify_size *s);      /* 4.2 */
void tl_certify_pair_square(arb_t square, const tl_certify_size *s);       /* 4.5 (b), n = 2 */
void tl_certify_three_square(arb_t square, const tl_certify_size *s, const arb_t ceiling); /* 6.2 */

/* 6.1 with the Frobenius norm of section 19.1 where c > 0 or kappa > 1: bound of the square of one
 * row of n >= 3 tokens, and, monotone, of every longer one. */
typedef struct {
    arb_t kappa, g, l, c, rest; /* rest = n - 2 */
    bool monotone;
    double ceiling; /* over (kappa^(1/2) + g + c)^2 */
} tl_certify_heavy_row;
void tl_certify_heavy_square(arb_t square, const tl_certify_heavy_row *row, slong prec);

/* 6.4 (iv): n |N|_2^2 + (lambda - 1) |N|_1^2 over rows of few tokens, lambda >= 1; +inf beyond 8
 * e^(2l) of them. (iii): of every number. */
void tl_certify_few_square(arb_t square, const tl_certify_size *s, double lambda, const arb_t most);
void tl_certify_many_square(arb_t square, const tl_certify_size *s, double lambda,
                            const arb_t most);

/* U of 4.3 and 6.4 for rows with n ||T_i||^2 <= square. */
void tl_certify_merge(arb_t value, const tl_certify_size *s, const arb_t square);
/* Section 19.1: |J|_F/||V|| of head h for |V|_F = root ||V||. */
void tl_certify_row_frobenius(arb_t value, const tl_certify_facts *f, size_t h, const arb_t root);
/* 6.5: ||J|| of two tokens in a ball about the origin, g = ||A|| R^2, <A e, e> in [least, most]
 * ||A|| for unit e; +inf for g beyond 24. */
void tl_certify_pair_norm(arb_t value, const arb_t g, const arb_t least, const arb_t most);
/* All but that; 1 for one token. */
void tl_certify_sharp_size(arb_t value, const tl_certify_size *s);

#endif
