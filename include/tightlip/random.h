/* Layers at initialisation and normal tokens, the same from the same seed, and how problem
 * documents name them. */
#ifndef TIGHTLIP_RANDOM_H
#define TIGHTLIP_RANDOM_H

#include <jansson.h>

#include "tightlip/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TL_RANDOM_NUMBERS_MAX = 100000000 };

/* Heads with Q, K, V (width x d) of entries N(0, std^2), and an output matrix (d x heads width) of
 * entries N(0, output_std^2); scale width^(-1/2), no biases. Kind l2 is tied and without a scale,
 * kind cosine without a scale. */
typedef struct {
    size_t d, heads, width;
    long head; /* -1: all; h: head h alone, with its columns of the output matrix */
    double std, output_std;
    uint64_t seed;
} tl_random_layer_spec;

/* n tokens x_i = common c + std z_i of width d, with independent standard normal c, z_i. */
typedef struct {
    size_t n, d;
    double std, common;
    uint64_t seed;
} tl_random_tokens_spec;

/* Entries by GSL's ziggurat from streams of tl_rng_stream_alloc: part p (Q, K, V, output) of head h
 * from (seed, 1 + h, p), so that a head alone has the weights it has among all. Errors:
 * TL_ERR_ARGUMENT (a size of zero, no such head, a standard deviation that is not positive and
 * finite), TL_ERR_LIMIT (more than TL_RANDOM_NUMBERS_MAX weights), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_random_layer(const tl_random_layer_spec *spec, tl_kind kind, tl_mask mask,
                                      tl_layer **out, tl_error *err);
/* *x: n x d, owned by the caller. z from (seed, 0, 1), c from (seed, 0, 2): more tokens of one seed
 * begin with the same ones. Errors as above; std may not be zero, common may. */
TL_MUST_USE tl_status tl_random_tokens(const tl_random_tokens_spec *spec, double **x,
                                       tl_error *err);

/* The members "random" of an attention and of tokens, with the hash of what was drawn (FNV-1a over
 * the 64-bit words of the numbers, lowest byte first), so that a reader on another machine knows
 * whether his are the same. NULL when out of memory. */
json_t *tl_random_layer_to_json(const tl_random_layer_spec *spec, const tl_layer *drawn);
json_t *tl_random_tokens_to_json(const tl_random_tokens_spec *spec, const double *drawn);
/* Reads such a member and draws again. Errors: TL_ERR_PARSE (members missing, unknown or of another
 * type), TL_ERR_DOMAIN (the hash is another), those of drawing. */
TL_MUST_USE tl_status tl_random_layer_from_json(const json_t *member, tl_kind kind, tl_layer **out,
                                                tl_error *err);
TL_MUST_USE tl_status tl_random_tokens_from_json(const json_t *member, double **x, size_t *rows,
                                                 size_t *cols, tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
