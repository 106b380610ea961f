/* The gradient of batch.h: gradient_body of softmax.c, a measure in each lane. */
#include "attention/batch_lanes.h"

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

/* Token i: its pairs with all others. */
WIDE_BODY void token(tl_batch *b, size_t m, size_t d, bool l2, size_t i, const wide8 *u,
                     const wide8 *value, wide8 *back)
{
    const wide8 *right = b->v + i * d, *q = b->q + i * d, *left = u + i * d;
    const wide8 *turned = l2 ? b->moved : b->v;
    wide8 moved[BATCH_WIDTH], query[BATCH_WIDTH], keys[BATCH_WIDTH], room[BATCH_COORDINATES];
    const size_t step = l2 ? d : 0;
    const wide8 *slope = batch_slopes(b, m, d, l2, i, room);
    batch_sides t;
    batch_image(d, b->A, right, moved);
    for (size_t l = 0; l < m; l++) {
        batch_product(d, left, value + l * d, &t.S[l]);
        batch_product(d, slope + l * step, b->v + l * d, &t.W[l]);
        batch_product(d, moved, b->key + l * d, &t.D[l]);
        batch_product(d, left, b->val + l * d, &t.rho[l]);
    }
    spread(b, m, i, &t);
    for (size_t r = 0; r < d; r++) query[r] = keys[r] = (wide8){0};
    for (size_t l = 0; l < m; l++) {
        batch_add(d, &t.S[l], b->key + l * d, query);
        batch_add(d, &t.rho[l], turned + l * d, query);
        batch_add(d, &t.W[l], left, back + l * d);
        if (l2) {
            pull(b, d, i, l, &t, moved);
            continue;
        }
        batch_add(d, &t.D[l], b->key + l * d, keys);
        batch_add(d, &t.D[l], moved, b->gx + l * d);
        batch_add(d, &t.S[l], q, b->gx + l * d);
    }
    batch_add_image_t(d, b->A, query, b->gx + i * d);
    for (size_t r = 0; !l2 && r < d; r++) {
        batch_add(d, &query[r], b->x + i * d, b->gA + r * d);
        batch_add(d, &keys[r], right, b->gA + r * d);
    }
}

WIDE_BODY void sides(tl_batch *b, size_t m, size_t d, bool l2)
{
    wide8 u[BATCH_COORDINATES], value[BATCH_COORDINATES], back[BATCH_COORDINATES];
    const wide8 inverse = 1.0 / b->sigma;
    for (size_t i = 0; i < m * d; i++) {
        u[i] = b->u[i] * inverse;
        b->gx[i] = back[i] = (wide8){0};
        if (l2) b->pull[i] = (wide8){0};
    }
    for (size_t i = 0; i < m; i++) b->ga[i] = (wide8){0};
    for (size_t i = 0; i < d * d; i++) b->gA[i] = (wide8){0};
    for (size_t l = 0; l < m; l++) {
        batch_image(d, b->V, b->v + l * d, value + l * d);
        if (l2) batch_image(d, b->K, b->v + l * d, b->moved + l * d);
    }
    for (size_t i = 0; i < m; i++) token(b, m, d, l2, i, u, value, back);
    for (size_t l = 0; l < m; l++) {
        batch_add_image_t(d, b->V, back + l * d, b->gx + l * d);
        if (l2) batch_add_image_t(d, b->K, b->pull + l * d, b->gx + l * d);
    }
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
