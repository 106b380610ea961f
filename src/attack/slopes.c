#include "tightlip/slopes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attack/internal.h"
#include "tightlip/linalg.h"
#include "tightlip/norm.h"
#include "tightlip/rng.h"

/* The mass of the token that looks on: nothing to the others. */
static const double NOTHING = -800;
/* Closer to an atom than this share of the domain, the slope is that of the derivative. */
static const double NEAR = 1e-5;
enum { CLIMB_EVALUATIONS = 400 };

typedef struct {
    const tl_layer *layer;
    const tl_domain *domain;
    tl_jacobian *J;
    tl_measure *mu;         /* owned: the atoms and, last, the onlooker y */
    size_t m, d, out, atom; /* atoms; atom: where the far mass comes from */
    double *Y;              /* (m + 1) x out: outputs */
    double *path;           /* m x m: least sums of squared hops between outputs of atoms */
    double *S, *sigma, *u, *w;
    double *gx; /* (m + 1) x d */
    double *hop;
} onlooker;

static void onlooker_clear(onlooker *o)
{
    tl_jacobian_free(o->J);
    tl_measure_free(o->mu);
    free(o->Y);
}

static tl_status onlooker_init(onlooker *o, const tl_layer *layer, const tl_measure *mu,
                               const tl_domain *domain, tl_error *err)
{
    const size_t m = mu->m, d = mu->d, out = layer->out, least = out < d ? out : d;
    double *x = malloc((m + 1) * (d + 1) * sizeof *x), *mass;

    *o = (onlooker){.layer = layer, .domain = domain, .m = m, .d = d, .out = out};
    if (!x) return TL_ERR_MEMORY;
    mass = x + (m + 1) * d;
    memcpy(x, mu->x, m * d * sizeof *x);
    memcpy(x + m * d, mu->x, d * sizeof *x);
    memcpy(mass, mu->log_mass, m * sizeof *mass);
    mass[m] = NOTHING;
    tl_status status = tl_measure_alloc(&o->mu, m + 1, d, x, NULL, mass, err);
    free(x);
    if (!status) status = tl_jacobian_alloc(&o->J, layer, m + 1, err);
    if (status) return status;
    o->Y = malloc(((m + 1) * (out + d) + m * m + out * d + least + 2 * out + d) * sizeof *o->Y);
    if (!o->Y) return TL_ERR_MEMORY;
    o->path = o->Y + (m + 1) * out;
    o->S = o->path + m * m;
    o->sigma = o->S + out * d;
    o->u = o->sigma + least;
    o->w = o->u + out;
    o->gx = o->w + d;
    o->hop = o->gx + (m + 1) * d;
    return TL_OK;
}

static tl_status look_from(onlooker *o, const double *y)
{
    memcpy(o->mu->x + o->m * o->d, y, o->d * sizeof *y);
    const tl_status status = tl_jacobian_set(o->J, o->layer, o->mu);
    if (!status) tl_jacobian_output(o->J, o->Y);
    return status;
}

/* Least sums of squares by way of other outputs (Floyd and Warshall). */
static void find_paths(onlooker *o)
{
    const size_t m = o->m;

    for (size_t k = 0; k < m; k++)
        for (size_t l = 0; l < m; l++)
            o->path[k * m + l] = tl_attack_square(o->out, o->Y + k * o->out, o->Y + l * o->out);
    for (size_t by = 0; by < m; by++)
        for (size_t k = 0; k < m; k++)
            for (size_t l = 0; l < m; l++)
                o->path[k * m + l] =
                    fmin(o->path[k * m + l], o->path[k * m + by] + o->path[by * m + l]);
}

/* ||S_y|| and its gradient in y. NAN where the logits overflow. */
static double slope_at(onlooker *o, const double *y, double *g)
{
    if (look_from(o, y) || tl_jacobian_split(o->J, o->m, o->S) ||
        tl_svd_dense(o->out, o->d, o->S, o->sigma, o->u, o->w))
        return (double)NAN;
    const double scale = exp(tl_jacobian_log_scale(o->J));
    if (g) {
        if (tl_jacobian_split_gradient(o->J, o->m, o->u, o->w, o->gx, NULL, NULL))
            return (double)NAN;
        for (size_t r = 0; r < o->d; r++) g[r] = scale * o->gx[o->m * o->d + r];
    }
    return scale * o->sigma[0];
}

/* |S_y e|, e the unit vector from the atom to y: the limit near the atom. */
static double near_ratio(onlooker *o, const double *y, double distance)
{
    const double *z = o->mu->x + o->atom * o->d;
    const double scale = exp(tl_jacobian_log_scale(o->J));

    for (size_t r = 0; r < o->d; r++) o->w[r] = (y[r] - z[r]) / distance;
    tl_gemm('N', 'N', o->out, 1, o->d, scale, o->S, o->d, o->w, 1, 0, o->u, 1);
    return tl_nrm2(o->out, o->u);
}

/* d_out(atom, y)/|y - z| and its gradient in y, the last hop held fixed. */
static double far_at(onlooker *o, const double *y, double *g)
{
    const size_t m = o->m, d = o->d, out = o->out;
    const double *z = o->mu->x + o->atom * d, *f = o->Y + m * out;
    size_t last = o->atom;
    double best = INFINITY;

    if (look_from(o, y) || tl_jacobian_split(o->J, m, o->S)) return (double)NAN;
    const double distance = sqrt(tl_attack_square(d, y, z));
    if (g) memset(g, 0, d * sizeof *g);
    if (!(distance > 0)) return 0;
    if (distance < NEAR * o->domain->scale) return near_ratio(o, y, distance);
    for (size_t l = 0; l < m; l++) {
        const double sum = tl_attack_square(out, f, o->Y + l * out) + o->path[l * m + o->atom];
        if (sum < best) {
            best = sum;
            last = l;
        }
    }
    const double value = sqrt(best) / distance;
    if (!g || !(value > 0)) return value;
    const double scale = exp(tl_jacobian_log_scale(o->J)) / (sqrt(best) * distance);
    for (size_t r = 0; r < out; r++) o->hop[r] = f[r] - o->Y[last * out + r];
    tl_gemm('T', 'N', d, 1, out, scale, o->S, d, o->hop, 1, 0, g, 1);
    for (size_t r = 0; r < d; r++) g[r] -= value * (y[r] - z[r]) / (distance * distance);
    return value;
}

typedef double (*objective)(onlooker *o, const double *y, double *g);

/* Projected ascent with a step that grows after a rise and halves after none. */
static double climb(onlooker *o, objective value_at, double *y, double *work)
{
    const size_t d = o->d;
    double *g = work, *trial = work + d, *slope = work + 2 * d;
    double value = value_at(o, y, g), step = 0.2 * o->domain->scale;

    for (int i = 0; i < CLIMB_EVALUATIONS && step > 1e-13 * o->domain->scale; i++) {
        const double length = tl_nrm2(d, g);
        if (!(length > 0) || !isfinite(length)) break;
        for (size_t r = 0; r < d; r++) trial[r] = y[r] + step / length * g[r];
        tl_domain_project(o->domain, trial);
        const double there = value_at(o, trial, slope);
        if (there > value) {
            value = there;
            memcpy(y, trial, d * sizeof *y);
            memcpy(g, slope, d * sizeof *g);
            step *= 1.6;
        } else {
            step /= 2;
        }
    }
    return value;
}

/* Best climb over starts beside every atom, both ways, and at random points. */
static double find_peak(onlooker *o, objective value_at, size_t restarts, gsl_rng *rng,
                        double *best, double *work)
{
    const size_t d = o->d;
    double top = -(double)INFINITY, *y = work + 3 * d;

    for (size_t start = 0; start < 2 * o->m + restarts; start++) {
        tl_domain_random(o->domain, rng, start % 2 == 1, y);
        if (start < 2 * o->m) { /* a tenth of the way to a random point */
            const double *z = o->mu->x + start / 2 * d;
            for (size_t r = 0; r < d; r++) y[r] = z[r] + 0.1 * (y[r] - z[r]);
            tl_domain_project(o->domain, y);
        }
        const double value = climb(o, value_at, y, work);
        if (value > top) {
            top = value;
            memcpy(best, y, d * sizeof *best);
        }
    }
    return top;
}

static tl_status check(const tl_layer *layer, const tl_measure *mu, const tl_domain *domain,
                       tl_error *err)
{
    const tl_status status = tl_attack_check_measures(layer, err);

    if (status) return status;
    if (domain->kind == TL_DOMAIN_SPACE || domain->kind == TL_DOMAIN_FROBENIUS)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "slopes of measures: expected a bounded set of tokens, found domain \"%s\"",
                       tl_domain_name(domain->kind));
    return tl_domain_check(domain, mu, err);
}

/* Blocks of mu itself; shares of counts as masses. */
static tl_status find_blocks(const tl_layer *layer, const tl_measure *mu, tl_slopes *out,
                             tl_error *err)
{
    tl_measure *shares = NULL;
    tl_norm_result norm = {0};
    tl_status status = tl_measure_alloc(&shares, mu->m, mu->d, mu->x, NULL, mu->log_mass, err);

    if (!status) status = tl_norm_compute(layer, shares, TL_NORM_2, NULL, &norm, err);
    if (!status) {
        out->move = exp(norm.log_joint);
        out->split = exp(norm.log_split);
    }
    tl_measure_free(shares);
    return status;
}

static void find_suprema(onlooker *o, size_t restarts, gsl_rng *rng, tl_slopes *out, double *work)
{
    double *y = work + 4 * o->d;
    /* No smaller than at the atoms themselves. */
    for (size_t k = 0; k < o->m; k++) {
        const double here = slope_at(o, o->mu->x + k * o->d, NULL);
        if (k == 0) find_paths(o);
        if (here > out->neighbourhood) {
            out->neighbourhood = out->split = here;
            out->split_atom = k;
            memcpy(out->at, o->mu->x + k * o->d, o->d * sizeof *out->at);
        }
    }
    out->far = out->split;
    out->far_atom = out->split_atom;
    memcpy(out->far_to, out->at, o->d * sizeof *out->at);
    const double steep = find_peak(o, slope_at, restarts, rng, y, work);
    if (steep > out->neighbourhood) {
        out->neighbourhood = steep;
        memcpy(out->at, y, o->d * sizeof *y);
    }
    for (o->atom = 0; o->atom < o->m; o->atom++) {
        const double top = find_peak(o, far_at, restarts, rng, y, work);
        if (!(top > out->far)) continue;
        out->far = top;
        out->far_atom = o->atom;
        memcpy(out->far_to, y, o->d * sizeof *y);
    }
    out->pointwise = fmax(out->move, out->far);
    out->neighbourhood = fmax(out->move, out->neighbourhood);
}

tl_status tl_slopes_find(const tl_layer *layer, const tl_measure *mu, const tl_domain *domain,
                         size_t restarts, uint64_t seed, tl_slopes *out, tl_error *err)
{
    onlooker o = {0};
    gsl_rng *rng = NULL;
    double *work = NULL;
    tl_status status = check(layer, mu, domain, err);

    *out = (tl_slopes){0};
    if (!status) status = find_blocks(layer, mu, out, err);
    if (!status) status = onlooker_init(&o, layer, mu, domain, err);
    if (!status) {
        out->far_to = calloc(mu->d, sizeof(double));
        out->at = calloc(mu->d, sizeof(double));
        work = calloc(5 * mu->d, sizeof *work);
        rng = tl_rng_stream_alloc(seed, 0, 0);
        if (!out->far_to || !out->at || !work || !rng) status = TL_ERR_MEMORY;
    }
    if (!status) find_suprema(&o, restarts, rng, out, work);
    if (rng) gsl_rng_free(rng);
    free(work);
    onlooker_clear(&o);
    if (status) tl_slopes_clear(out);
    if (status == TL_ERR_MEMORY) return tl_fail(err, status, "slopes of measures: no memory");
    return status;
}

void tl_slopes_clear(tl_slopes *slopes)
{
    free(slopes->far_to);
    free(slopes->at);
    *slopes = (tl_slopes){0};
}
