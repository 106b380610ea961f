/* What is enclosed: the maps of the layer as balls, and its symmetries. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "certify/exact.h"

enum { PREC = 2 * TL_EXACT_BITS };

static tl_status check(const tl_layer *layer, size_t n, double radius, tl_error *err)
{
    const tl_head *head = layer->head;

    if (layer->kind != TL_KIND_DOT && layer->kind != TL_KIND_L2)
        return tl_fail(err, TL_ERR_UNSUPPORTED, "exact: expected kind dot or l2, found %s",
                       tl_kind_name(layer->kind));
    if (layer->kind == TL_KIND_L2 && !tl_layer_tied(layer))
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "exact: expected kind l2 with query and key tied and the factor A");
    if (layer->mask == TL_MASK_GENERAL)
        return tl_fail(err, TL_ERR_UNSUPPORTED, "exact: expected mask none or causal, found %s",
                       tl_mask_name(layer->mask));
    if (layer->heads != 1 || layer->O || head->v != layer->d)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "exact: expected one head with a square V and no output matrix");
    if (layer->d > 2 || n * layer->d > TL_EXACT_COORDINATES || n < 1)
        return tl_fail(
            err, TL_ERR_UNSUPPORTED,
            "exact: expected width 1 or 2 and n times width from 1 to %d, found n = %zu, "
            "width %zu",
            TL_EXACT_COORDINATES, n, layer->d);
    const bool line = layer->kind == TL_KIND_L2 && layer->d == 1 && layer->mask == TL_MASK_NONE;
    if (!(radius > 0) || (!line && !isfinite(radius)))
        return tl_fail(err, TL_ERR_DOMAIN, "exact: radius: expected a positive number, found %g",
                       radius);
    return TL_OK;
}

/* z = sum_r a[r][i] b[r][j] of two k x d arrays. */
static void add_product(arb_t z, const double *a, const double *b, size_t k, size_t d, size_t i,
                        size_t j)
{
    arb_t x, y;

    arb_init(x);
    arb_init(y);
    for (size_t r = 0; r < k; r++) {
        arb_set_d(x, a[r * d + i]);
        arb_set_d(y, b[r * d + j]);
        arb_addmul(z, x, y, PREC);
    }
    arb_clear(x);
    arb_clear(y);
}

/* A = scale K'Q and c = scale K'bq. */
static void set_dot(tl_exact_task *task, const tl_head *head)
{
    const size_t d = task->d;
    arb_ptr map = task->exact, bias = map + d * d, value = bias + d;
    arb_t scale;

    arb_init(scale);
    arb_set_d(scale, head->scale);
    for (size_t i = 0; i < d; i++) {
        for (size_t j = 0; j < d; j++) {
            if (head->K)
                add_product(map + i * d + j, head->K, head->Q, head->k, d, i, j);
            else
                arb_set_d(map + i * d + j, head->Q[i * d + j]);
            arb_mul(map + i * d + j, map + i * d + j, scale, PREC);
            arb_set_d(value + i * d + j, head->V[i * d + j]);
        }
        if (!head->bq) continue;
        if (head->K)
            for (size_t r = 0; r < head->k; r++) {
                arb_t x;
                arb_init(x);
                arb_set_d(x, head->K[r * d + i]);
                arb_t y;
                arb_init(y);
                arb_set_d(y, head->bq[r]);
                arb_addmul(bias + i, x, y, PREC);
                arb_clear(x);
                arb_clear(y);
            }
        else
            arb_set_d(bias + i, head->bq[i]);
        arb_mul(bias + i, bias + i, scale, PREC);
    }
    arb_clear(scale);
}

/* 2A and V A, A = Q'Q/sqrt(k). */
static void set_l2(tl_exact_task *task, const tl_head *head)
{
    const size_t d = task->d;
    arb_ptr map = task->exact, value = map + d * d + d;
    arb_t root, v;

    arb_init(root);
    arb_init(v);
    arb_sqrt_ui(root, (ulong)head->k, PREC);
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++) {
            add_product(map + i * d + j, head->Q, head->Q, head->k, d, i, j);
            arb_div(map + i * d + j, map + i * d + j, root, PREC);
        }
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            for (size_t r = 0; r < d; r++) {
                arb_set_d(v, head->V[i * d + r]);
                arb_addmul(value + i * d + j, v, map + r * d + j, PREC);
            }
    _arb_vec_scalar_mul_2exp_si(map, map, (slong)(d * d), 1);
    arb_clear(root);
    arb_clear(v);
}

/* Exactly a multiple of the identity. */
static bool is_multiple(arb_srcptr map, size_t d)
{
    for (size_t i = 0; i < d; i++)
        for (size_t j = 0; j < d; j++)
            if (i != j ? !arb_is_zero(map + i * d + j)
                       : !(arb_is_exact(map + i * d + i) && arb_equal(map + i * d + i, map)))
                return false;
    return true;
}

tl_status tl_exact_task_init(tl_exact_task *task, const tl_layer *layer, size_t n, double radius,
                             tl_error *err)
{
    tl_status status = check(layer, n, radius, err);
    const size_t d = layer->d;

    *task = (tl_exact_task){.n = n,
                            .d = d,
                            .size = n * d,
                            .dim = n * d,
                            .causal = layer->mask == TL_MASK_CAUSAL,
                            .radius = radius,
                            .fewer = (double)INFINITY};
    if (status) return status;
    task->exact = _arb_vec_init((slong)(2 * d * d + d));
    if (!task->exact) return tl_fail(err, TL_ERR_MEMORY, "no memory for the maps of a layer");
    task->l2 = layer->kind == TL_KIND_L2;
    if (task->l2)
        set_l2(task, layer->head);
    else
        set_dot(task, layer->head);
    task->gaps = task->l2 && d == 1 && n > 1 && !task->causal;
    if (task->gaps) {
        task->dim--;
        task->spread = fabs(layer->head->Q[0]);
        task->widest = 2 * radius;
    }
    task->jet = 2 * (1 + task->dim) + task->dim * (task->dim + 1) / 2;
    task->odd = true;
    for (size_t i = 0; i < d; i++) task->odd = task->odd && arb_is_zero(task->exact + d * d + i);
    task->isotropic = d == 2 && task->odd && is_multiple(task->exact, d) &&
                      is_multiple(task->exact + d * d + d, d);
    return TL_OK;
}

size_t tl_exact_seen(const tl_exact_task *task, size_t i)
{
    return task->causal ? i + 1 : task->n;
}

void tl_exact_task_clear(tl_exact_task *task)
{
    if (task->exact) _arb_vec_clear(task->exact, (slong)(2 * task->d * task->d + task->d));
    task->exact = NULL;
}

/* Everything, up to the symmetries: a rotation takes the first token to angle 0, a reflection the
 * second above it; without them x -> -x still halves the first angle. */
void tl_exact_whole(const tl_exact_task *task, tl_certify_piece *piece)
{
    const double pi = 3.1415926535897936; /* just above */

    *piece = (tl_certify_piece){.upper = (double)INFINITY};
    for (size_t i = 0; i < task->dim; i++) {
        const bool angle = task->d == 2 && i % 2 == 1;
        piece->lo[i] = angle ? -pi : task->d == 2 || task->gaps ? 0 : -task->radius;
        piece->hi[i] = angle ? pi : task->gaps ? task->widest : task->radius;
    }
    if (task->d != 2) return;
    if (task->isotropic) piece->lo[1] = piece->hi[1] = 0;
    if (task->isotropic && task->n > 1) piece->lo[3] = 0;
    if (!task->isotropic && task->odd) piece->lo[1] = 0;
}

static double sum_of(const tl_exact_task *task, const double *gap)
{
    double sum = 0;

    for (size_t i = 0; i < task->dim; i++) sum += gap[i];
    return sum;
}

/* The first and the last opposite to each other. */
static void tokens_of_gaps(const tl_exact_task *task, const double *gap, double *x)
{
    x[0] = fmin(sum_of(task, gap) / 2, task->radius);
    for (size_t i = 0; i < task->dim; i++) x[i + 1] = fmax(x[i] - gap[i], -task->radius);
}

void tl_exact_tokens(const tl_exact_task *task, const double *coordinates, double *x)
{
    if (task->gaps) {
        tokens_of_gaps(task, coordinates, x);
        return;
    }
    for (size_t i = 0; i < task->n; i++) {
        if (task->d == 1) {
            x[i] = coordinates[i];
            continue;
        }
        x[2 * i] = coordinates[2 * i] * cos(coordinates[2 * i + 1]);
        x[2 * i + 1] = coordinates[2 * i] * sin(coordinates[2 * i + 1]);
    }
}

/* The gaps are those of an input of the ball: their sum, in exact arithmetic, is at most 2 R. */
static bool fit(const tl_exact_task *task, const double *gap)
{
    arb_t sum, room;

    if (!isfinite(task->radius)) return true;
    arb_init(sum);
    arb_init(room);
    for (size_t i = 0; i < task->dim; i++) {
        arb_set_d(room, gap[i]);
        arb_add(sum, sum, room, ARF_PREC_EXACT);
    }
    arb_set_d(room, 2 * task->radius);
    const bool inside = arb_le(sum, room);
    arb_clear(sum);
    arb_clear(room);
    return inside;
}

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

void tl_exact_coordinates(const tl_exact_task *task, const double *x, double *coordinates)
{
    double sorted[TL_EXACT_COORDINATES];

    if (task->gaps) {
        memcpy(sorted, x, task->n * sizeof *x);
        qsort(sorted, task->n, sizeof *sorted, falling);
        for (size_t i = 0; i < task->dim; i++) coordinates[i] = sorted[i] - sorted[i + 1];
        while (!fit(task, coordinates)) { /* rounded outwards, or outside by rounding */
            const double within = fmin(1, 2 * task->radius / sum_of(task, coordinates));
            for (size_t i = 0; i < task->dim; i++) coordinates[i] *= within * (1 - DBL_EPSILON);
        }
        return;
    }
    for (size_t i = 0; i < task->n; i++) {
        if (task->d == 1) {
            coordinates[i] = x[i];
            continue;
        }
        coordinates[2 * i] = fmin(hypot(x[2 * i], x[2 * i + 1]), task->radius);
        coordinates[2 * i + 1] = atan2(x[2 * i + 1], x[2 * i]);
    }
}
