#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/internal.h"

/* Below this many entries the joint block is written out: its products are then cheaper than
 * structured ones. */
enum { SMALL_BLOCK = 64 * 64, LANCZOS_BASIS = 48, LANCZOS_STEPS = 96 };
static const double LANCZOS_TOLERANCE = 1e-8; /* the value's error is its square over the gap */

void tl_evaluator_clear(tl_evaluator *ev)
{
    tl_layer_free(ev->layer);
    tl_jacobian_free(ev->J);
    tl_gkl_free(ev->gkl);
    tl_batch_free(ev->batch);
    free(ev->M);
    free(ev->u);
    free(ev->v);
    free(ev->S);
    free(ev->su);
    free(ev->sv);
    free(ev->gx);
    free(ev->ga);
    free(ev->gA);
    free(ev->sums.buffer);
    *ev = (tl_evaluator){0};
}

/* The most atoms of points that are evaluated side by side; 0: none are. */
static size_t lanes_atoms(const tl_search_problem *problem, size_t capacity)
{
    const bool spectral = problem->norm == TL_NORM_2 && (problem->objective == TL_OBJECTIVE_NORM ||
                                                         problem->objective == TL_OBJECTIVE_JOINT);
    const size_t least = tl_search_ordered(problem) ? capacity : 2,
                 most = tl_batch_atoms(problem->layer), atoms = capacity < most ? capacity : most;
    return spectral && atoms >= least ? atoms : 0;
}

size_t tl_search_together(const tl_search_problem *problem)
{
    return lanes_atoms(problem, tl_search_capacity(problem)) ? TL_SEARCH_TOGETHER : 1;
}

tl_status tl_evaluator_widen(tl_evaluator *ev)
{
    if (ev->batch_atoms && !ev->batch)
        ev->batch = tl_batch_alloc(ev->problem->layer, ev->batch_atoms);
    return ev->batch_atoms && !ev->batch ? TL_ERR_MEMORY : TL_OK;
}

tl_status tl_evaluator_init(tl_evaluator *ev, const tl_search_problem *problem, size_t capacity,
                            uint64_t budget, tl_error *err)
{
    const tl_layer *layer = problem->layer;
    const size_t d = layer->d, out = layer->out, rows = capacity * out, cols = capacity * d;
    *ev = (tl_evaluator){.problem = problem, .budget = budget, .target = INFINITY};
    ev->log_one =
        problem->n ? -log((double)problem->n) * (1.0 - 4.0 * DBL_EPSILON) : (double)-INFINITY;
    if (problem->n) ev->log_two = log((2.0 - 1e-9) / (double)problem->n);
    tl_status status = tl_layer_copy(&ev->layer, layer);
    if (!status) status = tl_jacobian_alloc(&ev->J, layer, capacity, err);
    if (!status) status = tl_gkl_alloc(&ev->gkl, rows, cols, LANCZOS_BASIS);
    if (!status) {
        ev->M = aligned_alloc(64, SMALL_BLOCK * sizeof(double)); /* whole vectors in a line */
        ev->u = malloc(rows * sizeof(double));
        ev->v = malloc(cols * sizeof(double));
        ev->S = malloc(out * d * sizeof(double));
        ev->su = malloc(out * sizeof(double));
        ev->sv = malloc(d * sizeof(double));
        ev->gx = malloc(cols * sizeof(double));
        ev->ga = malloc(capacity * sizeof(double));
        ev->gA = malloc(d * d * sizeof(double));
        if (!ev->M || !ev->u || !ev->v || !ev->S || !ev->su || !ev->sv || !ev->gx || !ev->ga ||
            !ev->gA || (problem->norm != TL_NORM_2 && !tl_sums_init(&ev->sums, capacity, out, d)))
            status = TL_ERR_MEMORY;
    }
    ev->batch_atoms = lanes_atoms(problem, capacity);
    if (status == TL_ERR_MEMORY)
        (void)tl_fail(err, status, "no memory for a search with %zu atoms", capacity);
    return status;
}

static void block_apply(const void *self, const double *x, double *y)
{
    const tl_evaluator *ev = self;
    tl_gemv(ev->rows, ev->cols, ev->M, x, y);
}

static void block_apply_t(const void *self, const double *y, double *x)
{
    const tl_evaluator *ev = self;
    tl_gemv_t(ev->rows, ev->cols, ev->M, y, x);
}

static void structured_apply(const void *self, const double *x, double *y)
{
    tl_jacobian_apply(((const tl_evaluator *)self)->J, x, y);
}

static void structured_apply_t(const void *self, const double *y, double *x)
{
    tl_jacobian_apply_t(((const tl_evaluator *)self)->J, y, x);
}

/* Top pair of the joint block, which is in M: by rounds, or where two values are too near each
 * other for these by all of its singular values. */
static bool small_pair(tl_evaluator *ev)
{
    size_t rounds;
    if (!tl_top_small(ev->rows, ev->cols, ev->M, ev->u, ev->v, &ev->sigma, &rounds)) {
        ev->steps += rounds;
        return true;
    }
    double all[TL_TOP_SMALL];
    if (tl_svd_dense(ev->rows, ev->cols, ev->M, all, ev->u, ev->v)) return false;
    ev->sigma = all[0];
    return true;
}

/* By Lanczos, from v. */
static bool large_pair(tl_evaluator *ev, bool written)
{
    const tl_operator op = {ev->rows, ev->cols, written ? block_apply : structured_apply,
                            written ? block_apply_t : structured_apply_t, ev};
    const tl_gkl_settings settings = {.max_steps = LANCZOS_STEPS,
                                      .tolerance = LANCZOS_TOLERANCE,
                                      .top_only = true,
                                      .unmeasured = true};
    tl_gkl_result found;
    if (tl_gkl_run(ev->gkl, &op, &settings, ev->u, ev->v, &found)) return false;
    op.apply(op.self, ev->v, ev->u);
    ev->sigma = tl_nrm2(ev->rows, ev->u);
    if (!isfinite(ev->sigma)) return false;
    if (isfinite(1.0 / ev->sigma)) tl_scale(ev->rows, 1.0 / ev->sigma, ev->u);
    ev->steps += found.steps;
    return true;
}

/* Top pair of the joint block into u, v; returns its log or NAN. */
static double joint_value(tl_evaluator *ev, size_t m)
{
    ev->rows = m * ev->layer->out;
    ev->cols = m * ev->layer->d;
    const bool written = ev->rows * ev->cols <= SMALL_BLOCK;
    const bool small = written && ev->cols <= TL_TOP_SMALL;
    if (written) tl_jacobian_dense(ev->J, ev->M);
    if (ev->warm_m != m) memset(ev->v, 0, ev->cols * sizeof(double));
    const bool good = small ? small_pair(ev) : large_pair(ev, written);
    ev->warm_m = good ? m : 0;
    return good ? log(ev->sigma) + tl_jacobian_log_scale(ev->J) : (double)NAN;
}

bool tl_may_split(const tl_evaluator *ev, const tl_point *p, size_t k)
{
    if (ev->problem->n == 0) return true;
    if (p->integral) return p->count[k] >= 2;
    return p->log_mass[k] >= ev->log_two;
}

/* Best split block, its pair into su, sv, its norm into *sigma. Blocks whose Frobenius norm is no
 * larger than `floor` cannot matter. Square small ones need no LAPACK, and come with their pairs.
 */
static size_t split_value(tl_evaluator *ev, const tl_point *p, double floor, double *sigma)
{
    const size_t out = ev->layer->out, d = ev->layer->d;
    const bool small = out == d && d <= TL_SVD_SMALL;
    double ut[TL_SVD_SMALL * TL_SVD_SMALL], vt[TL_SVD_SMALL * TL_SVD_SMALL], norm[TL_SVD_SMALL];
    size_t which = p->m;
    *sigma = floor;
    for (size_t k = 0; k < p->m; k++) {
        if (!tl_may_split(ev, p, k) || tl_jacobian_split(ev->J, k, ev->S)) continue;
        if (!(tl_nrm2(out * d, ev->S) > *sigma)) continue; /* squares may leave the range */
        const tl_status status = small ? tl_svd_small(d, ev->S, NULL, ut, norm, vt)
                                       : tl_norm2_dense(out, d, ev->S, norm);
        if (status || !(norm[0] > *sigma)) continue;
        *sigma = norm[0];
        which = k;
        for (size_t i = 0; small && i < d; i++) {
            ev->su[i] = ut[i];
            ev->sv[i] = vt[i];
        }
    }
    if (small || which == p->m) return which;
    if (!tl_jacobian_split(ev->J, which, ev->S) &&
        !tl_svd_dense(out, d, ev->S, ev->gx, ev->su, ev->sv)) /* gx: room for min(out, d) values */
        return which;
    *sigma = floor;
    return p->m;
}

/* d log sigma = (u' dJ v) / sigma, all in the units of the running scale. Atom m: the joint block.
 */
static tl_status block_gradient(tl_evaluator *ev, const tl_point *p, size_t atom, double sigma,
                                double *gx, double *ga, double *gA)
{
    const double inverse = 1.0 / sigma;
    const tl_status status =
        atom < p->m ? tl_jacobian_split_gradient(ev->J, atom, ev->su, ev->sv, gx, ga, gA)
                    : tl_jacobian_gradient(ev->J, ev->u, ev->v, gx, ga, gA);
    tl_scale(p->m * p->d, inverse, gx);
    tl_scale(p->m, inverse, ga);
    if (gA) tl_scale(p->d * p->d, inverse, gA);
    return status;
}

static tl_status gain_gradient(tl_evaluator *ev, const tl_point *p, size_t atom, double split,
                               double *gx, double *ga, double *gA)
{
    double *gA2 = gA ? ev->gA : NULL;
    tl_status status = block_gradient(ev, p, atom, split, gx, ga, gA);
    if (!status) status = block_gradient(ev, p, p->m, ev->sigma, ev->gx, ev->ga, gA2);
    if (status) return status;
    tl_axpy(p->m * p->d, -1.0, ev->gx, gx);
    tl_axpy(p->m, -1.0, ev->ga, ga);
    if (gA) tl_axpy(p->d * p->d, -1.0, ev->gA, gA);
    return TL_OK;
}

tl_status tl_evaluate(tl_evaluator *ev, const tl_point *p, tl_value *value, double *gx, double *ga,
                      double *gA)
{
    const tl_objective objective = ev->problem->objective;
    tl_measure mu = {.m = p->m, .d = p->d, .x = p->x, .log_mass = p->log_mass, .n = ev->problem->n};
    if (tl_search_ordered(ev->problem)) mu.count = p->count;
    ev->used++;
    *value = (tl_value){-INFINITY, -INFINITY, -INFINITY};
    if (p->A) memcpy(ev->layer->head[0].Q, p->A, p->d * p->d * sizeof(double));
    tl_status status = tl_jacobian_set(ev->J, ev->layer, &mu);
    if (status) return status;
    if (ev->problem->norm != TL_NORM_2)
        return tl_evaluate_sums(ev, p, &mu, &value->log_value, gx, ga, gA);
    if (objective != TL_OBJECTIVE_SPLIT) value->log_joint = joint_value(ev, p->m);
    if (isnan(value->log_joint)) return TL_ERR_NUMERIC;
    size_t atom = p->m;
    double sigma = ev->sigma;
    if (objective != TL_OBJECTIVE_JOINT) {
        atom = split_value(ev, p, objective == TL_OBJECTIVE_NORM ? ev->sigma : 0.0, &sigma);
        if (atom < p->m) value->log_split = log(sigma) + tl_jacobian_log_scale(ev->J);
    }
    const bool split = atom < p->m;
    if (objective == TL_OBJECTIVE_SPLIT_GAIN)
        value->log_value = split ? value->log_split - value->log_joint : -HUGE_VAL;
    else
        value->log_value = split ? value->log_split : value->log_joint;
    if (objective == TL_OBJECTIVE_SPLIT && !split) value->log_value = -INFINITY;
    if (!ev->target_at && value->log_value >= ev->target) ev->target_at = ev->used;
    if (!gx || !isfinite(value->log_value)) return TL_OK;
    if (objective == TL_OBJECTIVE_SPLIT_GAIN) return gain_gradient(ev, p, atom, sigma, gx, ga, gA);
    return block_gradient(ev, p, atom, sigma, gx, ga, gA);
}
