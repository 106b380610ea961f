/* Jacobian blocks between single tokens, for the norms that are sums over tokens. */
#ifndef ATTENTION_NORM_ENTRIES_H
#define ATTENTION_NORM_ENTRIES_H

#include "tightlip/norm.h"

/* One token of atom k against all tokens: its own block, the block of another copy of k, and the
 * block of every other atom. Row k of the full Jacobian sums to
 *   |own| + others |copy| + sum_{l != k} |weight_l block_l|. */
typedef struct {
    size_t m, d, out;
    const tl_measure *mu;
    double *M; /* m out x m d: the joint block, copies of an atom moving together */
    double *S; /* m x out x d: split blocks; zero where an atom is a single token */
    double *buffer;
} tl_token_blocks;

/* Errors: TL_ERR_LIMIT (more than 2^27 entries), TL_ERR_UNSUPPORTED (masses further apart than the
 * double range), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_token_blocks_init(tl_token_blocks *b, tl_jacobian *J, const tl_measure *mu,
                                           tl_error *err);
void tl_token_blocks_clear(tl_token_blocks *b);

/* Tokens of atom k: N_k, INFINITY in mean field. */
double tl_token_copies(const tl_token_blocks *b, size_t k);
/* sqrt(a_k / a_l): joint entries times this count output tokens, its inverse input tokens. */
double tl_token_ratio(const tl_token_blocks *b, size_t k, size_t l);
/* Entry (r, c) of the block of the token itself and, times their number, of all its other copies.
 */
double tl_token_own(const tl_token_blocks *b, size_t k, size_t r, size_t c);
double tl_token_others(const tl_token_blocks *b, size_t k, size_t r, size_t c);

/* (inf,2) norm from below by ascent; form as tl_norm_attain. */
TL_MUST_USE tl_status tl_norm_movement(const tl_token_blocks *b, tl_norm_form *form, double *value);

#endif
