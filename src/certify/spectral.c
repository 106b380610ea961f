/* ||M||_2 of a matrix of balls. */
#include "certify/steer.h"

void tl_certify_length(arb_t length, arb_srcptr x, size_t n, slong prec)
{
    arb_dot(length, NULL, 0, x, 1, x, 1, (slong)n, prec);
    arb_sqrtpos(length, length, prec);
}

bool tl_certify_cholesky(arb_mat_t L, const arb_mat_t S, slong prec)
{
    const slong size = arb_mat_nrows(S);

    arb_mat_zero(L);
    for (slong i = 0; i < size; i++)
        for (slong j = 0; j <= i; j++) {
            arb_ptr entry = arb_mat_entry(L, i, j);
            arb_dot(entry, arb_mat_entry(S, i, j), 1, L->rows[i], 1, L->rows[j], 1, j, prec);
            if (j < i) {
                arb_mul(entry, entry, arb_mat_entry(L, j, j), prec); /* its inverse */
            } else {
                if (!arb_is_positive(entry)) return false;
                arb_rsqrt(entry, entry, prec);
            }
        }
    for (slong i = 0; i < size; i++) arb_inv(arb_mat_entry(L, i, i), arb_mat_entry(L, i, i), prec);
    return true;
}

/* G = M'M or M M', the smaller of the two. */
static void gram(arb_mat_t G, const arb_mat_t M, slong prec)
{
    arb_mat_t transposed;

    arb_mat_init(transposed, arb_mat_ncols(M), arb_mat_nrows(M));
    arb_mat_transpose(transposed, M);
    if (arb_mat_nrows(M) < arb_mat_ncols(M))
        arb_mat_mul(G, M, transposed, prec);
    else
        arb_mat_mul(G, transposed, M, prec);
    arb_mat_clear(transposed);
}

/* Divides by a power of two near the trace; false when the trace is zero or not finite. */
static bool normalise(arb_mat_t P)
{
    arb_t trace;
    fmpz_t shift;

    arb_init(trace);
    fmpz_init(shift);
    arb_mat_trace(trace, P, 64);
    const bool good = arf_is_finite(arb_midref(trace)) && arf_sgn(arb_midref(trace)) > 0;
    if (good) {
        arf_abs_bound_lt_2exp_fmpz(shift, arb_midref(trace));
        fmpz_neg(shift, shift);
        for (slong i = 0; i < arb_mat_nrows(P); i++)
            for (slong j = 0; j < arb_mat_ncols(P); j++)
                arb_mul_2exp_fmpz(arb_mat_entry(P, i, j), arb_mat_entry(P, i, j), shift);
    }
    fmpz_clear(shift);
    arb_clear(trace);
    return good;
}

/* Larger matrices, at a precision where the square of a double's is all that is asked for, are
 * looked at in double precision: squarings in balls cost more than all else. */
enum { SMALL_SIZE = 8 };

/* v: near the top eigenvector of the midpoints of G, by repeated squaring, then powers; exact
 * numbers, about which nothing is claimed. False when G says nothing. */
static bool guess(arb_mat_t v, const arb_mat_t G, slong prec)
{
    const slong size = arb_mat_nrows(G);
    if (size > SMALL_SIZE && prec <= TL_CERTIFY_FIRST_BITS) return tl_certify_steer_top(v, G);
    /* A squaring costs as much as `size` powers; where it is dear, the enclosure is left wider. */
    const int squarings = size <= 32 ? 40 : size <= 64 ? 14 : 0, powers = size <= 64 ? 24 : 120;
    slong top = 0;
    arb_mat_t P, next;

    arb_mat_init(P, size, size);
    arb_mat_init(next, size, 1);
    arb_mat_get_mid(P, G);
    bool good = normalise(P);
    for (int i = 0; i < squarings && good; i++) {
        arb_mat_sqr(P, P, prec);
        arb_mat_get_mid(P, P);
        good = normalise(P);
    }
    for (slong j = 1; j < size; j++)
        if (arf_cmp(arb_midref(arb_mat_entry(P, j, j)), arb_midref(arb_mat_entry(P, top, top))) > 0)
            top = j;
    for (slong j = 0; j < size; j++) arb_set(arb_mat_entry(v, j, 0), arb_mat_entry(P, j, top));
    for (int i = 0; i < powers && good; i++) {
        arb_mat_mul(next, G, v, prec);
        arb_mat_get_mid(v, next);
    }
    arb_mat_clear(next);
    arb_mat_clear(P);
    return good;
}

/* v'G v / v'v */
static void rayleigh(arb_t value, const arb_mat_t G, const arb_mat_t v, slong prec)
{
    const slong size = arb_mat_nrows(G);
    arb_mat_t image;
    arb_t length;

    arb_init(length);
    arb_mat_init(image, size, 1);
    arb_mat_mul(image, G, v, prec);
    arb_dot(value, NULL, 0, arb_mat_entry(v, 0, 0), 1, arb_mat_entry(image, 0, 0), 1, size, prec);
    arb_dot(length, NULL, 0, arb_mat_entry(v, 0, 0), 1, arb_mat_entry(v, 0, 0), 1, size, prec);
    arb_div(value, value, length, prec);
    arb_mat_clear(image);
    arb_clear(length);
}

/* Whether c - G is positive definite for certain. */
static bool certified(const arb_mat_t G, const arf_t c, slong prec)
{
    const slong size = arb_mat_nrows(G);
    arb_mat_t S, L;
    bool yes;

    arb_mat_init(S, size, size);
    arb_mat_init(L, size, size);
    arb_mat_neg(S, G);
    for (slong i = 0; i < size; i++) {
        arb_ptr entry = arb_mat_entry(S, i, i);
        arb_add_arf(entry, entry, c, prec);
    }
    yes = tl_certify_cholesky(L, S, prec);
    arb_mat_clear(L);
    arb_mat_clear(S);
    return yes;
}

/* high: at least the top eigenvalue of G, given low > 0 below or near it. The smallest of low (1 +
 * 2^-t) that has a certificate, else the trace. */
static void top_above(arf_t high, const arb_mat_t G, const arf_t low, slong prec)
{
    const slong finest = prec / 2 > 60 ? prec / 2 : 64;
    const slong steps[] = {finest, 60, 50, 40, 30, 20, 12, 6, 3, 0};
    const int count = (int)(sizeof steps / sizeof steps[0]);
    int good = count, bad = -1; /* steps[bad] has none, steps[good] has one */
    bool first = true;          /* the finest is the common case */
    arf_t c;
    arb_t trace;

    arf_init(c);
    arb_init(trace);
    while (good - bad > 1) {
        const int middle = first ? 0 : (good + bad) / 2;
        first = false;
        arf_mul_2exp_si(c, low, -steps[middle]);
        arf_add(c, c, low, prec, ARF_RND_CEIL);
        if (certified(G, c, prec)) {
            good = middle;
            arf_set(high, c);
        } else {
            bad = middle;
        }
    }
    if (good == count) {
        arb_mat_trace(trace, G, prec);
        arb_get_ubound_arf(high, trace, prec);
    }
    arb_clear(trace);
    arf_clear(c);
}

void tl_certify_norm2(arb_t norm, const arb_mat_t M, slong prec)
{
    const slong rows = arb_mat_nrows(M), cols = arb_mat_ncols(M);
    const slong size = rows < cols ? rows : cols;
    arb_mat_t G, v;
    arf_t low, high;

    arb_mat_init(G, size, size);
    arb_mat_init(v, size, 1);
    arf_init(low);
    arf_init(high);
    gram(G, M, prec);
    if (size == 1) {
        arb_sqrtpos(norm, arb_mat_entry(G, 0, 0), prec);
    } else {
        const bool good = guess(v, G, prec);
        if (good) rayleigh(norm, G, v, prec);
        if (good) arb_get_lbound_arf(low, norm, prec);
        if (!good || !(arf_sgn(low) > 0) || !arf_is_finite(low)) {
            /* Zero, or not known well enough to be told from zero: the trace is all there is. */
            arf_zero(low);
            arb_mat_trace(norm, G, prec);
            arb_get_ubound_arf(high, norm, prec);
        } else {
            top_above(high, G, low, prec);
        }
        if (arf_cmp(high, low) < 0) arf_set(high, low);
        arb_set_interval_arf(norm, low, high, prec);
        arb_sqrtpos(norm, norm, prec);
    }
    arf_clear(high);
    arf_clear(low);
    arb_mat_clear(v);
    arb_mat_clear(G);
}

void tl_certify_norm2_of(arb_t norm, size_t rows, size_t cols, const double *a, slong prec)
{
    arb_mat_t M;

    arb_mat_init(M, (slong)rows, (slong)cols);
    tl_certify_matrix_set(M, a);
    tl_certify_norm2(norm, M, prec);
    arb_mat_clear(M);
}

void tl_certify_norm2_product(arb_t norm, const arb_mat_t L, const arb_mat_t R, slong prec)
{
    const slong rows = arb_mat_nrows(L), inner = arb_mat_ncols(L), cols = arb_mat_ncols(R);
    arb_mat_t product, small, factor;
    bool done = false;

    if (inner < rows && inner < cols) {
        /* |L R x| = |C'R x| where L'L = C C'. */
        arb_mat_init(small, inner, inner);
        arb_mat_init(factor, inner, inner);
        arb_mat_init(product, inner, cols);
        gram(small, L, prec);
        done = tl_certify_cholesky(factor, small, prec);
        if (done) {
            arb_mat_transpose(factor, factor);
            arb_mat_mul(product, factor, R, prec);
            tl_certify_norm2(norm, product, prec);
        }
        arb_mat_clear(product);
        arb_mat_clear(factor);
        arb_mat_clear(small);
    }
    if (done) return;
    arb_mat_init(product, rows, cols);
    arb_mat_mul(product, L, R, prec);
    tl_certify_norm2(norm, product, prec);
    arb_mat_clear(product);
}
