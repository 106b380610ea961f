/* Dot-product attention under any mask. Proofs: README "Any mask". */
#ifndef TIGHTLIP_BOUNDS_MASKED_H
#define TIGHTLIP_BOUNDS_MASKED_H

#include "tightlip/bounds.h"

typedef enum { TL_BOUNDS_PART_FULL, TL_BOUNDS_PART_CAUSAL, TL_BOUNDS_PART_OTHER } tl_bounds_part;

/* Tokens that see each other, directly or through others: J is block diagonal over parts. */
typedef struct {
    size_t n, parts;
    size_t *token;  /* n: part by part, in each by the length of their rows */
    size_t *start;  /* parts + 1: where each part begins in token */
    size_t *length; /* n: row length of token[k] */
    tl_bounds_part *kind;
    const tl_layer *layer;
} tl_bounds_mask;

TL_MUST_USE tl_status tl_bounds_mask_init(tl_bounds_mask *mask, const tl_layer *layer);
void tl_bounds_mask_clear(tl_bounds_mask *mask);

/* One part of m tokens: seen is m x m, f >= ||T_i||^2 and c >= ||C_i A|| of its rows. */
typedef struct {
    size_t m;
    unsigned char *seen;
    double *f, *c;
} tl_bounds_part_rows;

/* ||J||^2 by the weighted merge over columns: its display at the t found, INFINITY when memory runs
 * out. Cost: some m^2 times 150, less for m > 1000. */
double tl_bounds_part_merge(const tl_bounds_part_rows *rows);

#endif
