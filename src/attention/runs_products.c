/* Products of runs of tokens: gather by means and sums over runs, rows as in softmax.c and
 * sigmoid.c, scatter. */
#include <string.h>

#include "attention/runs_state.h"

/* The head with rows of tokens in place of those of the atoms. */
static tl_head_state rows_state(const tl_runs *t, size_t h)
{
    tl_head_state s = t->J->state[h];

    s.P = s.R = t->rows[h].P;
    s.slope = t->rows[h].slope;
    s.ref = t->rows[h].ref;
    return s;
}

/* Dmap phi of every token into out (n x width). */
static void push(const tl_runs *t, const tl_map *map, const double *phi, double *out)
{
    const size_t d = t->J->d;

    if (map->shape == TL_MAP_LINEAR) {
        const double *image = tl_map_push(map, d, 0, t->n, phi, out);
        if (image != out) memcpy(out, image, t->n * map->width * sizeof *out);
        return;
    }
    for (size_t k = 0; k < t->r; k++)
        for (size_t i = t->first[k]; i < t->first[k + 1]; i++)
            (void)tl_map_push(map, d, k, 1, phi + i * d, out + i * map->width);
}

/* phi += Dmap' g, token by token. */
static void pull(const tl_runs *t, const tl_map *map, double *g, double *phi)
{
    const size_t d = t->J->d;
    double beta;

    if (tl_map_side(map, g, phi, &beta) == phi) {
        tl_axpy(t->n * d, 1, g, phi);
    } else if (map->shape == TL_MAP_LINEAR) {
        tl_map_pull(map, d, 0, t->n, g, phi);
    } else {
        for (size_t k = 0; k < t->r; k++)
            for (size_t i = t->first[k]; i < t->first[k + 1]; i++)
                tl_map_pull(map, d, k, 1, g + i * map->width, phi + i * d);
    }
}

/* Rows become the mean of their run up to them; mean (r x width): that of the whole run. */
static void prefix_means(const tl_runs *t, size_t width, double *row, double *mean)
{
    for (size_t k = 0; k < t->r; k++) {
        double *sum = mean + k * width;
        memset(sum, 0, width * sizeof *sum);
        for (size_t i = t->first[k]; i < t->first[k + 1]; i++) {
            const double share = 1 / (double)(i + 1 - t->first[k]);
            tl_axpy(width, 1, row + i * width, sum);
            for (size_t c = 0; c < width; c++) row[i * width + c] = share * sum[c];
        }
        for (size_t c = 0; c < width; c++) sum[c] /= (double)(t->first[k + 1] - t->first[k]);
    }
}

static void head_apply(tl_runs *t, size_t h, const double *phi, double *cat)
{
    const tl_head_state s = rows_state(t, h);
    const size_t n = t->n, r = t->r, w = s.width, v = s.v, stride = t->J->values;
    double *kphi = t->side[0], *qphi = t->side[1], *vphi = t->side[2];

    push(t, &s.keys, phi, kphi);
    push(t, &s.query, phi, qphi);
    push(t, &s.value, phi, vphi);
    prefix_means(t, w, kphi, t->mean);
    prefix_means(t, v, vphi, t->mean_v);
    tl_gemm('N', 'T', n, r, w, 1, qphi, w, s.key, w, 0, t->G, r);
    for (size_t k = 0; k < r; k++)
        for (size_t i = t->first[k]; i < t->first[k + 1]; i++) {
            double *f = t->F + i * r;
            if (i == t->first[k])
                for (size_t l = 0; l < r; l++)
                    f[l] = l < k ? tl_dot(w, s.q + k * w, t->mean + l * w) : 0;
            else
                memcpy(f, f - r, r * sizeof *f);
            f[k] = tl_dot(w, s.q + k * w, kphi + i * w);
        }
    t->J->weighting->apply(t->J, &s, t->F, t->G);
    tl_gemm('N', 'N', n, v, r, 1, t->F, r, s.val, v, 0, cat + s.offset, stride);
    for (size_t k = 0; k < r; k++) {
        const size_t at = t->first[k], length = t->first[k + 1] - at;
        double *rows = cat + at * stride + s.offset;
        tl_gemm('N', 'N', length, v, k, 1, s.P + at * r, r, t->mean_v, v, 1, rows, stride);
        for (size_t i = 0; i < length; i++)
            tl_axpy(v, s.P[(at + i) * r + k], vphi + (at + i) * v, rows + i * stride);
    }
}

void tl_runs_apply(tl_runs *t, const double *phi, double *psi)
{
    const tl_jacobian *J = t->J;
    const double *O = J->layer->O;
    double *cat = O ? t->cat : psi;

    for (size_t h = 0; h < J->heads; h++) head_apply(t, h, phi, cat);
    if (O)
        tl_gemm('N', 'T', t->n, J->out, J->values, 1, cat, J->values, O, J->values, 0, psi, J->out);
}

/* g_j (n x v): what the rows that see token j send to its value, weights P over copies. */
static void gather_values(tl_runs *t, const tl_head_state *s, const double *w, double *g)
{
    const size_t r = t->r, v = s->v, stride = t->J->values;

    memset(t->mean_v, 0, r * v * sizeof(double));
    for (size_t k = 0; k < r; k++) {
        const size_t at = t->first[k], length = t->first[k + 1] - at;
        tl_gemm('T', 'N', k, v, length, 1, s->P + at * r, r, w + at * stride, stride, 1, t->mean_v,
                v);
    }
    for (size_t k = 0; k < r; k++) {
        const size_t at = t->first[k], end = t->first[k + 1];
        double *sum = t->mean_v + k * v;
        for (size_t c = 0; c < v; c++) sum[c] /= (double)(end - at);
        for (size_t i = end; i-- > at;) {
            tl_axpy(v, s->P[i * r + k] / (double)(i + 1 - at), w + i * stride, sum);
            memcpy(g + i * v, sum, v * sizeof *g);
        }
    }
}

/* The same for keys: row i sends rho_ik times the query of its run. */
static void gather_keys(tl_runs *t, const tl_head_state *s, const double *rho, double *g)
{
    const size_t r = t->r, w = s->width;

    memset(t->mean, 0, r * w * sizeof(double));
    for (size_t k = 1; k < r; k++)
        for (size_t l = 0; l < k; l++) {
            double sum = 0;
            for (size_t i = t->first[k]; i < t->first[k + 1]; i++) sum += rho[i * r + l];
            tl_axpy(w, sum / (double)(t->first[l + 1] - t->first[l]), s->q + k * w,
                    t->mean + l * w);
        }
    for (size_t k = 0; k < r; k++) {
        double own = 0;
        for (size_t i = t->first[k + 1]; i-- > t->first[k];) {
            own += rho[i * r + k] / (double)(i + 1 - t->first[k]);
            memcpy(g + i * w, t->mean + k * w, w * sizeof *g);
            tl_axpy(w, own, s->q + k * w, g + i * w);
        }
    }
}

static void head_apply_t(tl_runs *t, size_t h, const double *cat, double *phi)
{
    const tl_head_state s = rows_state(t, h);
    const size_t n = t->n, r = t->r, w = s.width, v = s.v;
    const double *psi = cat + s.offset;
    double *rho = t->F, *D = t->G, *g = t->side[0];

    tl_gemm('N', 'T', n, r, v, 1, psi, t->J->values, s.val, v, 0, rho, r);
    t->J->weighting->apply_t(t->J, &s, rho, D);
    gather_values(t, &s, psi, g);
    pull(t, &s.value, g, phi);
    gather_keys(t, &s, rho, g);
    pull(t, &s.keys, g, phi);
    tl_gemm('N', 'N', n, w, r, 1, D, r, s.key, w, 0, g, w);
    pull(t, &s.query, g, phi);
}

void tl_runs_apply_t(tl_runs *t, const double *psi, double *phi)
{
    const tl_jacobian *J = t->J;
    const double *O = J->layer->O, *cat = psi;

    if (O) {
        tl_gemm('N', 'N', t->n, J->values, J->out, 1, psi, J->out, O, J->values, 0, t->cat,
                J->values);
        cat = t->cat;
    }
    memset(phi, 0, t->n * J->d * sizeof *phi);
    for (size_t h = 0; h < J->heads; h++) head_apply_t(t, h, cat, phi);
}
