/* Images of tokens under one of the maps of a head, with first and second derivatives. */
#ifndef ATTENTION_MAP_H
#define ATTENTION_MAP_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    TL_MAP_LINEAR,   /* factor W x, then zeros */
    TL_MAP_PARABOLA, /* (z, -factor |z|^2), z = W (x - x_0) */
    TL_MAP_UNIT      /* factor u, u = z / sqrt(|z|^2 + eps), z = W x + b */
} tl_map_shape;

typedef struct {
    tl_map_shape shape;
    const double *W;    /* rows x d, borrowed; NULL: identity (factor 1 when linear) */
    size_t rows, width; /* columns of an image: width >= rows */
    double factor;
    const double *image; /* m x width, borrowed: the parabola's z */
    double *unit;        /* m x rows, owned: u */
    double *inverse;     /* m, owned: 1 / sqrt(|z|^2 + eps) */
    double eps;
} tl_map;

/* p <- p - u <u, p> for u = z / s, s^2 = |z|^2 + eps, with rest = 1 - |u|^2 = eps / s^2 given, so
 * that what little is left along u is known to rounding: the part across, and rest times that
 * along. */
void tl_map_unit_tangent(size_t rows, const double *u, double rest, double *p);

/* Below, `first` is the token of the first of `count` rows. Cost: O(count rows d) each. */

/* Dmap_i phi_i (count x width) into out; phi itself when the map is the identity. */
const double *tl_map_push(const tl_map *t, size_t d, size_t first, size_t count, const double *phi,
                          double *out);
/* Where to gather rows for tl_map_pull: scratch, or phi itself when the map is the identity; beta
 * is 0 or 1 accordingly. */
double *tl_map_side(const tl_map *t, double *scratch, double *phi, double *beta);
/* phi_i += Dmap_i' g_i; g (count x width, overwritten) from tl_map_side. */
void tl_map_pull(const tl_map *t, size_t d, size_t first, size_t count, double *g, double *phi);
/* out (count x d, rows ld apart) = alpha g Dmap_i + beta out at one token i; g is overwritten. */
void tl_map_times(const tl_map *t, size_t d, size_t i, size_t count, double alpha, double *g,
                  double beta, double *out, size_t ld);
/* gx_i += d/dx_i <g_i, Dmap_i phi_i>; work count x rows. Nothing for linear maps. */
void tl_map_curve(const tl_map *t, size_t d, size_t first, size_t count, const double *g,
                  const double *phi, double *work, double *gx);

#endif
