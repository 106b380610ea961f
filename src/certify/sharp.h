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

/* (1 + g/2^(1/2))^2, of one row of any length; 4.5 (a). */
void tl_certify_half_row(arb_t square, const tl_certify_size *s);

/* 6.1 with the Frobenius norm of section 19.1 where c > 0 or kappa > 1: bound of the square of one
 * row of n >= 3 tokens, and, monotone, of every longer one; nothing above `most` is of interest. */
typedef struct {
    arb_t kappa, g, l, c, rest; /* 1, 0, 0, 0, 0 at first; rest = n - 2 */
    bool monotone;
} tl_certify_heavy_row;
void tl_certify_heavy_init(tl_certify_heavy_row *row, bool monotone);
void tl_certify_heavy_clear(tl_certify_heavy_row *row);
void tl_certify_heavy_square(arb_t square, const tl_certify_heavy_row *row, const arb_t most,
                             slong prec);

/* What 6.1 and 6.2 share, p >= q the two heaviest weights, at 64 bits. */

/* The largest p (1 - p) for p in [p0, p1], given not_p >= 1 - p0: no cancellation near p = 1. */
void tl_certify_weight_product(arb_t product, const arb_t p0, const arb_t p1, const arb_t not_p);
/* v := 1 - max(0, mean)^2, or 0; v may be mean, the least mean along b. */
void tl_certify_weight_variance(arb_t v, const arb_t mean);
/* |sum P^2 t| by gap = p - q, product = p (1 - p), rest = 1 - p - q, total variance v. */
void tl_certify_weight_cross(arb_t cross, const arb_t gap, const arb_t product, const arb_t q,
                             const arb_t rest, const arb_t v);
/* sum P^2 |xi|^2, not_p = 1 - p. */
void tl_certify_weight_spread(arb_t spread, const arb_t gap, const arb_t product, const arb_t not_p,
                              const arb_t q, const arb_t v);

/* 6.4 (iv): n |N|_2^2 + (lambda - 1) |N|_1^2 over rows of few tokens, lambda >= 1; +inf beyond 8
 * e^(2l) of them and for l outside [1/8, 4]. (iii): of every number. */
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
/* `sharp` for s, of head h but for its number of tokens. */
void tl_certify_sharp_of(arb_t value, const tl_certify_facts *f, size_t h,
                         const tl_certify_size *s);

#endif
