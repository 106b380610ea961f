/* The gradient of batch.h: gradient_body of softmax.c, a measure in each lane. */
#include "attention/batch_lanes.h"

#pragma STDC FP_CONTRACT ON

/* A pair in a row of tl_gradient_rows: what moves its own share, its logit, .. */
enum { RHO, D, S, W, SIDES };

/* D, S and W at the ref minus the sum of the others. */
WIDE_BODY void balance(size_t m, const wide8l *first, wide8 *t)
{
    wide8l minus[SIDES];
    wide8 rest[SIDES] = {{0}};
    for (size_t l = 0; l < m; l++) {
        const wide8l here = first[l];
        for (size_t k = D; k < SIDES; k++) {
            wide8 *x = t + l * SIDES + k;
            *x = (wide8)((wide8l)*x & ~here);
            rest[k] += *x;
        }
    }
    for (size_t k = D; k < SIDES; k++) minus[k] = (wide8l)-rest[k];
    for (size_t l = 0; l < m; l++) {
        const wide8l here = first[l];
        for (size_t k = D; k < SIDES; k++) {
            wide8 *x = t + l * SIDES + k;
            *x = (wide8)((wide8l)*x | (minus[k] & here));
        }
    }
}

WIDE_BODY void spread(const tl_batch *b, size_t m, size_t i, wide8 *t)
{
    const wide8 *p = b->P + i * m, *r = b->R + i * m;
    const wide8l *first = b->first + i * m;
    wide8 E = {0}, h = {0}, cov = {0}, own[BATCH_ATOMS];
    batch_centre(m, D + 1, SIDES, p, first, t, t); /* rho and D */
    for (size_t l = 0; l < m; l++) {
        wide8 *x = t + l * SIDES;
        x[S] = r[l] * (x[S] + x[W] * x[RHO]);
        x[W] *= r[l];
        own[l] = -0.5 * x[S];
        E += x[S];
        h += x[W];
        cov += p[l] * x[D] * x[RHO];
    }
    for (size_t l = 0; l < m; l++) {
        wide8 *x = t + l * SIDES;
        const wide8 g = x[D], rho = x[RHO];
        x[S] -= p[l] * (E + h * rho - (g * rho - cov));
        x[W] += p[l] * (g - h);
        x[D] = p[l] * rho;
        x[RHO] = r[l] * rho;
    }
    balance(m, first, t);
    /* cppcheck-suppress uninitvar ; set for all l above */
    for (size_t l = 0; l < m; l++) b->ga[l] += own[l] + t[l * SIDES + S];
    b->ga[i] += 0.5 * E;
}

/* Kind l2: slopes in the key of token l, which moves the logit and turns its own slope. */
WIDE_BODY void pull(const tl_batch *b, size_t d, size_t i, size_t l, const wide8 *t,
                    const wide8 *moved)
{
    const wide8 *query = b->query + i * d, *shift = b->shift + l * d, *turn = b->moved + l * d;
    wide8 *out = b->pull + l * d;
    for (size_t r = 0; r < d; r++)
        out[r] += t[D] * moved[r] + t[S] * (query[r] - shift[r]) - t[RHO] * (b->twice * turn[r]);
}

/* What all tokens add to, and what they share: apart from b, so that sums stay in registers. */
typedef struct {
    wide8 u[BATCH_COORDINATES], value[BATCH_COORDINATES]; /* u / sigma; V v */
    wide8 back[BATCH_COORDINATES], x[BATCH_COORDINATES], A[BATCH_WIDTH * BATCH_WIDTH];
} batch_slope;

/* Token i: its pairs with all others. */
WIDE_BODY void token(const tl_batch *b, size_t m, size_t d, bool l2, size_t i, batch_slope *g)
{
    const wide8 *turned = l2 ? b->moved : b->v;
    wide8 moved[BATCH_WIDTH], query[BATCH_WIDTH], keys[BATCH_WIDTH], room[BATCH_COORDINATES];
    wide8 right[BATCH_WIDTH], q[BATCH_WIDTH], left[BATCH_WIDTH];
    const size_t step = l2 ? d : 0;
    const wide8 *slope = batch_slopes(b, m, d, l2, i, room);
    wide8 sides[BATCH_ATOMS * SIDES];
    for (size_t r = 0; r < d; r++) {
        right[r] = b->v[i * d + r];
        left[r] = g->u[i * d + r];
        q[r] = b->q[i * d + r];
    }
    batch_image(d, b->A, right, moved);
    for (size_t l = 0; l < m; l++) {
        wide8 *t = sides + l * SIDES;
        lanes_product(d, left, g->value + l * d, t + S);
        lanes_product(d, l2 ? slope + l * step : q, b->v + l * d, t + W);
        lanes_product(d, moved, b->key + l * d, t + D);
        lanes_product(d, left, b->val + l * d, t + RHO);
    }
    spread(b, m, i, sides);
    for (size_t r = 0; r < d; r++) query[r] = keys[r] = (wide8){0};
    for (size_t l = 0; l < m; l++) {
        const wide8 *t = sides + l * SIDES;
        batch_add(d, t + S, b->key + l * d, query);
        batch_add(d, t + RHO, turned + l * d, query);
        batch_add(d, t + W, left, g->back + l * d);
        if (l2) {
            pull(b, d, i, l, t, moved);
            continue;
        }
        batch_add(d, t + D, b->key + l * d, keys);
        batch_add(d, t + D, moved, g->x + l * d);
        batch_add(d, t + S, q, g->x + l * d);
    }
    batch_add_image_t(d, b->A, query, g->x + i * d);
    for (size_t r = 0; !l2 && r < d; r++) {
        batch_add(d, &query[r], b->x + i * d, g->A + r * d);
        batch_add(d, &keys[r], right, g->A + r * d);
    }
}

WIDE_BODY void sides(const tl_batch *b, size_t m, size_t d, bool l2)
{
    batch_slope g;
    const wide8 inverse = 1.0 / b->sigma;
    for (size_t i = 0; i < m * d; i++) {
        g.u[i] = b->u[i] * inverse;
        g.x[i] = g.back[i] = (wide8){0};
        if (l2) b->pull[i] = (wide8){0};
    }
    for (size_t i = 0; i < m; i++) b->ga[i] = (wide8){0};
    for (size_t i = 0; i < d * d; i++) g.A[i] = (wide8){0};
    for (size_t l = 0; l < m; l++) {
        batch_image(d, b->V, b->v + l * d, g.value + l * d);
        if (l2) batch_image(d, b->K, b->v + l * d, b->moved + l * d);
    }
    for (size_t i = 0; i < m; i++) token(b, m, d, l2, i, &g);
    for (size_t l = 0; l < m; l++) {
        batch_add_image_t(d, b->V, g.back + l * d, g.x + l * d);
        if (l2) batch_add_image_t(d, b->K, b->pull + l * d, g.x + l * d);
    }
    for (size_t i = 0; i < m * d; i++) b->gx[i] = g.x[i];
    for (size_t i = 0; i < d * d; i++) b->gA[i] = g.A[i];
}

WIDE_BODY void all_sides_told(const tl_batch *b, bool known)
{
    const tl_batch copy = *b; /* stores cannot change it */
    BATCH_BY_SIZE(sides, &copy, known);
}
WIDE_VARIANTS_TOLD(all_sides, (tl_batch * b), (b, true), (b, false))

void tl_batch_all_sides(tl_batch *b)
{
    WIDE_CALL(all_sides, (b));
}
