/* Top singular triples in lanes. Where the quotient of v holds more than half of the trace of M'M,
 * products with M and M' are enough: the largest eigenvalue is at least the quotient q, so all
 * others together are at most trace - q < q: the eigenvalue next to q is the top one, and the
 * others are at least 2 q - trace below q. Then v is off by at most the residual over that (Davis
 * and Kahan). v is led there by Lanczos. */
#include "linalg/top_batch.h"

#include <float.h>

#include "linalg/top_factor.h"
#include "linalg/top_lanes.h"

enum { BASIS = 8, SWEEPS = 2, NEWTON = 12 };

/* Starts and traces outside are no numbers to work with; factors between what is seen of a residual
 * before and after a sweep. */
static const double LEAST_START = 1e-60, LEAST_TRACE = 1e-200, SEEN = 0.1;
/* Newton's last step, whose next would be its square. */
static const double STILL = 64 * DBL_EPSILON;

/* Lanes without a start get their largest row, whose quotient is at least the trace over rows. */
WIDE_BODY void begin_cold(top_lanes *t, const wide8l *cold)
{
    const size_t cols = t->cols;
    wide8 most = {0}, scale;
    for (size_t i = 0; i < t->rows; i++) {
        const wide8 *row = t->M + i * cols;
        wide8 square;
        lanes_dot(cols, row, row, &square);
        const wide8l more = *cold & (square > most);
        wide_choose(&more, &square, &most, &most);
        lanes_rsqrt(&square, &scale);
        lanes_set(cols, &more, row, &scale, t->v);
    }
}

WIDE_BODY void begin(top_lanes *t)
{
    wide8 square, unit, trace = {0};
    lanes_dot(t->cols, t->v, t->v, &square);
    const wide8 least = LEAST_START - (wide8){0}, most = 1.0 / least;
    const wide8l warm = (square >= least) & (square <= most), cold = t->open & ~warm;
    lanes_rsqrt(&square, &unit);
    lanes_set(t->cols, &warm, t->v, &unit, t->v);
    if (lanes_any(&cold)) begin_cold(t, &cold);
    lanes_products(t, t->v, t->u, t->back, &trace);
    const wide8 low = LEAST_TRACE - (wide8){0}, high = 1.0 / low;
    t->open &= (trace >= low) & (trace <= high);
    t->scale = 1.0 / trace;
    lanes_told(t, &t->open, t->back);
}

/* A symmetric tridiagonal matrix. */
typedef struct {
    size_t n;
    wide8 diagonal[BASIS], across[BASIS];
} tridiagonal;

/* Its largest value from theta below it, and x, the vector, of first component 1. In the
 * continued fraction of theta - across^2 / .. all denominators are positive at the largest value
 * and above; the last equation is concave there, so that Newton's steps rise to it. */
WIDE_BODY void ritz(const tridiagonal *T, const wide8l *wanted, wide8 *theta, wide8 *x)
{
    const wide8 zero = {0};
    wide8l moving = *wanted;
    for (int step = 0; step < NEWTON && lanes_any(&moving); step++) {
        wide8 tail = zero, share[BASIS], slope = 1.0 - zero, part = 1.0 - zero;
        wide8l inside = moving;
        for (size_t j = T->n; --j > 0;) {
            const wide8 left = (*theta - T->diagonal[j]) - tail;
            inside &= left > zero;
            share[j] = T->across[j - 1] / left;
            tail = T->across[j - 1] * share[j];
        }
        for (size_t j = 1; j < T->n; j++) {
            part *= share[j];
            slope += part * part;
            wide_choose(&moving, &part, &x[j], &x[j]);
        }
        const wide8 over = (*theta - T->diagonal[0]) - tail, up = 0.5 * (*theta + 1.0);
        const wide8 next = *theta - over / slope, least = STILL - zero;
        wide8 to;
        wide_choose(&inside, &next, &up, &to);
        wide_choose(&moving, &to, theta, theta);
        moving &= ~(inside & (over <= least) & (over >= -least));
    }
}

/* The larger value of (a, b; b, c). */
WIDE_BODY void larger(const wide8 *a, const wide8 *b, const wide8 *c, wide8 *out)
{
    const wide8 half = 0.5 * (*a - *c), square = half * half + *b * *b, zero = {0};
    wide8 inverse;
    lanes_rsqrt(&square, &inverse);
    const wide8 root = square * inverse, above = *b * *b / (half + root), below = root - half;
    const wide8l first = half > zero;
    wide8 rise;
    wide_choose(&first, &above, &below, &rise);
    *out = *a + rise;
}

/* w = scale M'M V_k without V_k and V_(k - 1). */
WIDE_BODY void lengthen(top_lanes *t, tridiagonal *T, wide8 *V)
{
    const size_t cols = t->cols, k = T->n;
    const wide8 *last = V + k * cols, *before = last - cols;
    wide8 alpha, square = {0}, inverse;
    lanes_products(t, last, t->u, t->back, NULL);
    lanes_dot(t->rows, t->u, t->u, &alpha);
    alpha *= t->scale;
    for (size_t j = 0; j < cols; j++) {
        const wide8 w = (t->back[j] * t->scale - alpha * last[j]) - T->across[k - 1] * before[j];
        t->back[j] = w;
        square += w * w;
    }
    lanes_rsqrt(&square, &inverse);
    T->diagonal[k] = alpha;
    T->across[k] = square * inverse;
    T->n = k + 1;
    for (size_t j = 0; T->n < BASIS && j < cols; j++) V[T->n * cols + j] = t->back[j] * inverse;
}

/* Lanczos from v in the lanes of mask; v becomes its Ritz vector. A lane ends where the last
 * component, from quotients that leave the continued fraction's tails out, shows that the residual
 * will do: zeros behind then leave its vector as it is. */
WIDE_BODY void sweep(top_lanes *t, const wide8l *mask)
{
    const size_t cols = t->cols, most = cols < BASIS ? cols : BASIS;
    wide8 *V = t->work;
    const wide8 zero = {0};
    wide8 theta = t->quotient, share = 1.0 - zero, x[BASIS] = {{0}}, inverse;
    wide8l going = *mask;
    tridiagonal T = {.n = 1};
    T.diagonal[0] = t->quotient;
    T.across[0] = t->residual;
    inverse = 1.0 / t->residual;
    for (size_t j = 0; j < cols; j++) {
        V[j] = t->v[j];
        V[cols + j] = t->w[j] * inverse;
    }
    while (T.n < most && lanes_any(&going)) {
        const size_t k = T.n;
        lengthen(t, &T, V);
        wide_choose(&going, &T.diagonal[k], &zero, &T.diagonal[k]);
        if (k == 1) larger(&T.diagonal[0], &T.across[0], &T.diagonal[1], &theta);
        share *= T.across[k - 1] / (theta - T.diagonal[k]);
        const wide8 left = share * T.across[k], enough = (2.0 * theta - 1.0) * (SEEN * TOP_TURNED);
        going &= (left > enough) | (left < -enough);
        wide_choose(&going, &T.across[k], &zero, &T.across[k]);
    }
    ritz(&T, mask, &theta, x);
    x[0] = 1.0 - zero;
    for (size_t j = 0; j < cols; j++) {
        wide8 sum = zero;
        for (size_t k = 0; k < T.n; k++) sum += x[k] * V[k * cols + j];
        t->back[j] = sum;
    }
    wide8 square;
    lanes_dot(cols, t->back, t->back, &square);
    lanes_rsqrt(&square, &inverse);
    lanes_set(cols, mask, t->back, &inverse, t->v);
    lanes_judge(t, mask);
}

/* Up to two columns: the top eigenvector of (a b; b c) = M'M in closed form. */
WIDE_BODY void plane(top_lanes *t)
{
    const size_t cols = t->cols;
    wide8 a = {0}, b = {0}, c = {0}, x, y, inverse;
    const wide8 zero = {0}, one = 1.0 - zero;
    for (size_t i = 0; i < t->rows; i++) {
        const wide8 first = t->M[i * cols], second = cols > 1 ? t->M[i * cols + 1] : zero;
        a += first * first;
        b += first * second;
        c += second * second;
    }
    const wide8 trace = a + c, low = LEAST_TRACE - zero, high = 1.0 / low;
    t->told = t->open &= (trace >= low) & (trace <= high);
    const wide8 scale = 1.0 / trace, half = 0.5 * (a - c) * scale, across = b * scale;
    const wide8 square = half * half + across * across, minus = -across;
    lanes_rsqrt(&square, &inverse);
    const wide8 root = square * inverse, right = half + root, left = root - half, other = -left;
    const wide8l first = half >= zero, up = across >= zero;
    wide8 size, turn;
    wide_choose(&up, &across, &minus, &size);
    wide_choose(&up, &left, &other, &turn);
    wide_choose(&first, &right, &size, &x);
    wide_choose(&first, &across, &turn, &y);
    const wide8 length = x * x + y * y;
    const wide8l some = length > zero; /* else all vectors do */
    lanes_rsqrt(&length, &inverse);
    x *= inverse;
    y *= inverse;
    wide_choose(&some, &x, &one, &t->v[0]);
    if (cols > 1) wide_choose(&some, &y, &zero, &t->v[1]);
}

/* u = M v of length 1, and that length. */
WIDE_BODY void finish(top_lanes *t, wide8 *sigma)
{
    wide8 square, inverse;
    lanes_dot(t->rows, t->u, t->u, &square);
    lanes_rsqrt(&square, &inverse);
    *sigma = square * inverse;
    for (size_t i = 0; i < t->rows; i++) t->u[i] *= inverse;
}

WIDE_BODY void batch_body(top_lanes *t, wide8 *sigma)
{
    if (t->cols <= 2) {
        plane(t);
        for (size_t i = 0; i < t->rows; i++) {
            t->u[i] = t->M[i * t->cols] * t->v[0];
            if (t->cols > 1) t->u[i] += t->M[2 * i + 1] * t->v[1];
        }
        finish(t, sigma);
        return;
    }
    begin(t);
    for (int done = 0; t->cols > TOP_FEW && done < SWEEPS; done++) {
        const wide8 zero = {0};
        const wide8 reach = 2.0 * (t->quotient + t->residual) - 1.0;
        const wide8l mask = t->open & ~t->told & (reach > zero) & (t->residual > zero);
        if (!lanes_any(&mask)) break;
        sweep(t, &mask);
    }
    const wide8l left = t->open & ~t->told;
    if (lanes_any(&left)) {
        tl_top_batch_rounds(t);
        lanes_products(t, t->v, t->u, NULL, NULL);
    }
    finish(t, sigma);
}
WIDE_VARIANTS(batch, (top_lanes * t, wide8 *sigma), (t, sigma))

size_t tl_top_batch_room(size_t cols)
{
    const size_t basis = BASIS * cols, rounds = tl_top_batch_rounds_room(cols);
    return 2 * cols + (basis > rounds ? basis : rounds);
}

void tl_top_batch(size_t rows, size_t cols, const wide8 *M, const wide8l *used, wide8 *u, wide8 *v,
                  wide8 *sigma, wide8l *told, wide8 *work)
{
    top_lanes t = {.rows = rows,
                   .cols = cols,
                   .M = M,
                   .u = u,
                   .v = v,
                   .w = work,
                   .back = work + cols,
                   .work = work + 2 * cols,
                   .open = *used,
                   .margin = (double)(4 * rows * cols) * DBL_EPSILON};
    WIDE_CALL(batch, (&t, sigma));
    *told = t.told;
}
