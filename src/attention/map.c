#include "attention/map.h"

#include <string.h>

#include "tightlip/linalg.h"

static bool is_identity(const tl_map *t)
{
    return t->shape == TL_MAP_LINEAR && !t->W;
}

void tl_map_unit_tangent(size_t rows, const double *u, double rest, double *p)
{
    const double square = tl_dot(rows, u, u), radial = tl_dot(rows, u, p);
    if (!(square > 0.0)) return;
    /* Once more for what rounding leaves along u, which may be more than the rest. */
    for (int pass = 0; pass < 2; pass++) tl_axpy(rows, -tl_dot(rows, u, p) / square, u, p);
    tl_axpy(rows, rest * radial / square, u, p);
}

/* p <- factor (p - u <u, p>) / sqrt(|z|^2 + eps): symmetric, hence its own adjoint. */
static void tangent(const tl_map *t, size_t i, double *p)
{
    const double inverse = t->inverse[i];
    tl_map_unit_tangent(t->rows, t->unit + i * t->rows, t->eps * inverse * inverse, p);
    tl_scale(t->rows, t->factor * inverse, p);
}

/* out (count x rows, rows ld apart) = phi W' */
static void times_rows(const tl_map *t, size_t d, size_t count, const double *phi, double *out,
                       size_t ld)
{
    if (t->W)
        tl_gemm('N', 'T', count, t->rows, d, 1.0, phi, d, t->W, d, 0.0, out, ld);
    else
        for (size_t i = 0; i < count; i++) memcpy(out + i * ld, phi + i * d, d * sizeof *out);
}

/* phi += g W, g with rows ld apart */
static void add_columns(const tl_map *t, size_t d, size_t count, const double *g, size_t ld,
                        double *phi)
{
    if (t->W)
        tl_gemm('N', 'N', count, d, t->rows, 1.0, g, ld, t->W, d, 1.0, phi, d);
    else
        for (size_t i = 0; i < count; i++) tl_axpy(d, 1.0, g + i * ld, phi + i * d);
}

const double *tl_map_push(const tl_map *t, size_t d, size_t first, size_t count, const double *phi,
                          double *out)
{
    if (is_identity(t)) return phi;
    if (t->shape == TL_MAP_LINEAR) {
        tl_gemm('N', 'T', count, t->rows, d, t->factor, phi, d, t->W, d, 0.0, out, t->width);
        for (size_t i = 0; i < count; i++)
            for (size_t r = t->rows; r < t->width; r++) out[i * t->width + r] = 0.0;
        return out;
    }
    times_rows(t, d, count, phi, out, t->width);
    for (size_t i = 0; i < count; i++) {
        double *row = out + i * t->width;
        if (t->shape == TL_MAP_UNIT)
            tangent(t, first + i, row);
        else
            row[t->rows] =
                -2.0 * t->factor * tl_dot(t->rows, t->image + (first + i) * t->width, row);
    }
    return out;
}

double *tl_map_side(const tl_map *t, double *scratch, double *phi, double *beta)
{
    *beta = is_identity(t) ? 1.0 : 0.0;
    return is_identity(t) ? phi : scratch;
}

void tl_map_pull(const tl_map *t, size_t d, size_t first, size_t count, double *g, double *phi)
{
    if (is_identity(t)) return;
    if (t->shape == TL_MAP_LINEAR) {
        tl_gemm('N', 'N', count, d, t->rows, t->factor, g, t->width, t->W, d, 1.0, phi, d);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        double *row = g + i * t->width;
        if (t->shape == TL_MAP_UNIT)
            tangent(t, first + i, row);
        else
            tl_axpy(t->rows, -2.0 * t->factor * row[t->rows], t->image + (first + i) * t->width,
                    row);
    }
    add_columns(t, d, count, g, t->width, phi);
}

void tl_map_times(const tl_map *t, size_t d, size_t i, size_t count, double alpha, double *g,
                  double beta, double *out, size_t ld)
{
    double factor = t->factor;
    if (t->shape == TL_MAP_UNIT) {
        for (size_t r = 0; r < count; r++) tangent(t, i, g + r * t->width);
        factor = 1.0;
    }
    tl_gemm('N', 'N', count, d, t->rows, alpha * factor, g, t->width, t->W, d, beta, out, ld);
}

/* With u = z / s, s^2 = |z|^2 + eps, and p = W phi: the gradient in z of <g, p - u <u, p>> / s is
 * (3 <u,g> <u,p> u - <g,p> u - <u,p> g - <u,g> p) / s^2. */
static void curve_unit(const tl_map *t, size_t i, const double *g, double *p)
{
    const double *u = t->unit + i * t->rows;
    const double size = t->factor * t->inverse[i] * t->inverse[i];
    const double ug = tl_dot(t->rows, u, g), up = tl_dot(t->rows, u, p);
    const double along = 3.0 * ug * up - tl_dot(t->rows, g, p);
    for (size_t r = 0; r < t->rows; r++) p[r] = size * (along * u[r] - up * g[r] - ug * p[r]);
}

void tl_map_curve(const tl_map *t, size_t d, size_t first, size_t count, const double *g,
                  const double *phi, double *work, double *gx)
{
    if (t->shape == TL_MAP_LINEAR) return;
    times_rows(t, d, count, phi, work, t->rows);
    for (size_t i = 0; i < count; i++) {
        const double *g_i = g + i * t->width;
        double *p = work + i * t->rows;
        if (t->shape == TL_MAP_UNIT)
            curve_unit(t, first + i, g_i, p);
        else
            for (size_t r = 0; r < t->rows; r++) p[r] *= -2.0 * t->factor * g_i[t->rows];
    }
    add_columns(t, d, count, work, t->rows, gx);
}
