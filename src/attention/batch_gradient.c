/* The gradient of batch.h: gradient_body of softmax.c, a measure in each lane. */
#include "attention/batch_lanes.h"

#pragma STDC FP_CONTRACT ON

/* At the ref minus the sum of the others. */
WIDE_BODY void balance(size_t m, const wide8l *first, wide8 *x)
{
    wide8 rest = {0};
    for (size_t l = 0; l < m; l++) {
        x[l] = (wide8)((wide8l)x[l] & ~first[l]);
        rest += x[l];
    }
    for (size_t l = 0; l < m; l++) x[l] -= (wide8)((wide8l)rest & first[l]);
}

/* A row of tl_gradient_rows. */
typedef struct {
    wide8 S[BATCH_ATOMS], W[BATCH_ATOMS], D[BATCH_ATOMS], rho[BATCH_ATOMS];
} batch_sides;

WIDE_BODY void spread(tl_batch *b, size_t m, size_t i, batch_sides *t)
{
    const wide8 *p = b->P + i * m, *r = b->R + i * m;
    const wide8l *first = b->first + i * m;
    wide8 E = {0}, h = {0}, cov = {0}, own[BATCH_ATOMS];
    batch_centre(m, p, first, 1, t->D, t->D);
    batch_centre(m, p, first, 1, t->rho, t->rho);
    for (size_t l = 0; l < m; l++) {
        t->S[l] = r[l] * (t->S[l] + t->W[l] * t->rho[l]);
        t->W[l] *= r[l];
        own[l] = -0.5 * t->S[l];
        E += t->S[l];
        h += t->W[l];
        cov += p[l] * t->D[l] * t->rho[l];
    }
    for (size_t l = 0; l < m; l++) {
        const wide8 g = t->D[l], rho = t->rho[l];
        t->S[l] -= p[l] * (E + h * rho - (g * rho - cov));
        t->W[l] += p[l] * (g - h);
        t->D[l] = p[l] * rho;
        t->rho[l] = r[l] * rho;
    }
    balance(m, first, t->S);
    balance(m, first, t->W);
    balance(m, first, t->D);
    /* cppcheck-suppress uninitvar ; set for all l above */
    for (size_t l = 0; l < m; l++) b->ga[l] += own[l] + t->S[l];
    b->ga[i] += 0.5 * E;
}

/* Kind l2: slopes in the key of token l, which moves the logit and turns its own slope. */
WIDE_BODY void pull(tl_batch *b, size_t d, size_t i, size_t l, const batch_sides *t,
                    const wide8 *moved)
{
    const wide8 *query = b->query + i * d, *shift = b->shift + l * d, *turn = b->moved + l * d;
    wide8 *out = b->pull + l * d;
    for (size_t r = 0; r < d; r++)
        out[r] +=
            t->D[l] * moved[r] + t->S[l] * (query[r] - shift[r]) - t->rho[l] * (b->twice * turn[r]);
}

/* What all tokens add to, and what they share: apart from b, so that sums stay in registers. */
typedef struct {
    wide8 u[BATCH_COORDINATES], value[BATCH_COORDINATES]; /* u / sigma; V v */
    wide8 back[BATCH_COORDINATES], x[BATCH_COORDINATES], A[BATCH_WIDTH * BATCH_WIDTH];
} batch_slope;

/* Token i: its pairs with all others. */
WIDE_BODY void token(tl_batch *b, size_t m, size_t d, bool l2, size_t i, batch_slope *g)
{
    const wide8 *turned = l2 ? b->moved : b->v;
    wide8 moved[BATCH_WIDTH], query[BATCH_WIDTH], keys[BATCH_WIDTH], room[BATCH_COORDINATES];
    wide8 right[BATCH_WIDTH], q[BATCH_WIDTH], left[BATCH_WIDTH];
    const size_t step = l2 ? d : 0;
    const wide8 *slope = batch_slopes(b, m, d, l2, i, room);
    batch_sides t;
    for (size_t r = 0; r < d; r++) {
        right[r] = b->v[i * d + r];
        left[r] = g->u[i * d + r];
        q[r] = b->q[i * d + r];
    }
    batch_image(d, b->A, right, moved);
    for (size_t l = 0; l < m; l++) {
        batch_product(d, left, g->value + l * d, &t.S[l]);
        batch_product(d, l2 ? slope + l * step : q, b->v + l * d, &t.W[l]);
        batch_product(d, moved, b->key + l * d, &t.D[l]);
        batch_product(d, left, b->val + l * d, &t.rho[l]);
    }
    spread(b, m, i, &t);
    for (size_t r = 0; r < d; r++) query[r] = keys[r] = (wide8){0};
    for (size_t l = 0; l < m; l++) {
        batch_add(d, &t.S[l], b->key + l * d, query);
        batch_add(d, &t.rho[l], turned + l * d, query);
        batch_add(d, &t.W[l], left, g->back + l * d);
        if (l2) {
            pull(b, d, i, l, &t, moved);
            continue;
        }
        batch_add(d, &t.D[l], b->key + l * d, keys);
        batch_add(d, &t.D[l], moved, g->x + l * d);
        batch_add(d, &t.S[l], q, g->x + l * d);
    }
    batch_add_image_t(d, b->A, query, g->x + i * d);
    for (size_t r = 0; !l2 && r < d; r++) {
        batch_add(d, &query[r], b->x + i * d, g->A + r * d);
        batch_add(d, &keys[r], right, g->A + r * d);
    }
}

WIDE_BODY void sides(tl_batch *b, size_t m, size_t d, bool l2)
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

WIDE_BODY void all_sides_told(tl_batch *b, bool known)
{
    BATCH_BY_SIZE(sides, b, known);
}
WIDE_VARIANTS_TOLD(all_sides, (tl_batch * b), (b, true), (b, false))

void tl_batch_all_sides(tl_batch *b)
{
    WIDE_CALL(all_sides, (b));
}
