/* Stars of L2 attention with a free head width. */
#include "tightlip/star.h"

#include <gsl/gsl_multimin.h>
#include <math.h>
#include <stdlib.h>

#include "tightlip/linalg.h"

/* Moves that permutations do not change: alpha e + beta S at the centre, S the sum of the e_l, and
 * a e + b e_i + c S_i at outer token i, S_i = S - e_i. */
enum { CENTRE_E, CENTRE_S, OUTER_E, OUTER_OWN, OUTER_REST, MOVES };

/* J phi by formula (16): (J phi)_i = sum_j P_ij [phi_j + 2 (y_j - mu_i) <y_i - y_j, phi_j -
 * phi_i>]. */
static void apply(const tl_star *star, const double phi[MOVES], double psi[MOVES])
{
    const double m = (double)star->centre, M = (double)(star->n - star->centre);
    const double a = star->a, rho = star->rho;
    const double far = exp(-a * a - rho * rho), near = exp(-2 * rho * rho);
    const double z0 = m + M * far, z = m * far + 1 + (M - 1) * near;
    /* The mean of a centre row is p0 (M a e + rho S); of an outer row e_share a e + rho (own e_i +
     * rest S_i). */
    const double p0 = far / z0, e_share = (1 + (M - 1) * near) / z, own = 1 / z, rest = near / z;
    /* <y_i, phi_0 - phi_i> = -<0 - y_i, phi_0 - phi_i> */
    const double across =
        a * (phi[CENTRE_E] - phi[OUTER_E]) + rho * (phi[CENTRE_S] - phi[OUTER_OWN]);
    const double around = 2 * rho * (phi[OUTER_REST] - phi[OUTER_OWN]);

    psi[CENTRE_E] =
        m / z0 * phi[CENTRE_E] + p0 * M * phi[OUTER_E] + 2 * p0 * across * M * a * (1 - p0 * M);
    psi[CENTRE_S] = m / z0 * phi[CENTRE_S] + p0 * (phi[OUTER_OWN] + (M - 1) * phi[OUTER_REST]) +
                    2 * p0 * across * rho * (1 - p0 * M);
    const double centre = 2 * m * far / z * across, others = 2 * rest * around;
    psi[OUTER_E] = m * far / z * phi[CENTRE_E] + (own + (M - 1) * rest) * phi[OUTER_E] -
                   centre * a * e_share + others * (M - 1) * a * (1 - e_share);
    psi[OUTER_OWN] = m * far / z * phi[CENTRE_S] + own * phi[OUTER_OWN] +
                     rest * (M - 1) * phi[OUTER_REST] - centre * rho * own -
                     others * (M - 1) * rho * own;
    psi[OUTER_REST] = m * far / z * phi[CENTRE_S] + own * phi[OUTER_REST] +
                      rest * (phi[OUTER_OWN] + (M - 2) * phi[OUTER_REST]) - centre * rho * rest +
                      others * rho * (1 - (M - 1) * rest);
}

tl_status tl_star_norm(const tl_star *star, double *norm)
{
    if (star->centre < 1 || star->centre >= star->n || !isfinite(star->a) || !isfinite(star->rho))
        return TL_ERR_ARGUMENT;
    const double m = (double)star->centre, M = (double)(star->n - star->centre);
    const double length[MOVES] = {sqrt(m), sqrt(m) * sqrt(M), sqrt(M), sqrt(M),
                                  sqrt(M) * sqrt(M - 1)};
    double J[MOVES * MOVES];

    for (int j = 0; j < MOVES; j++) {
        double phi[MOVES] = {0}, psi[MOVES];
        /* A single outer token has no others. */
        phi[j] = length[j] > 0 ? 1 / length[j] : 0;
        apply(star, phi, psi);
        for (int i = 0; i < MOVES; i++) J[i * MOVES + j] = length[i] * psi[i];
    }
    return tl_norm2_dense(MOVES, MOVES, J, norm);
}

/* x: a, rho, and log m where it is free. */
typedef struct {
    tl_star star;
    size_t dim;
} sought;

/* Any real number of copies would do in the formula; whole ones keep the value attained. */
static uint64_t whole_copies(uint64_t n, double log_m)
{
    return (uint64_t)llrint(fmin(fmax(exp(log_m), 1), (double)(n - 1)));
}

static double minus_norm(const gsl_vector *x, void *context)
{
    tl_star star = ((const sought *)context)->star;
    double norm;

    star.a = gsl_vector_get(x, 0);
    star.rho = gsl_vector_get(x, 1);
    if (((const sought *)context)->dim == 3)
        star.centre = whole_copies(star.n, gsl_vector_get(x, 2));
    return tl_star_norm(&star, &norm) ? 0 : -norm;
}

/* From the star of the closed form, by GSL's simplex; false when out of memory. */
static bool climb(sought *s, double x[3])
{
    enum { STEPS = 400, ROUNDS = 3 };
    gsl_multimin_function f = {minus_norm, s->dim, s};
    gsl_multimin_fminimizer *simplex =
        gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, s->dim);
    gsl_vector *size = gsl_vector_alloc(s->dim);
    gsl_vector_view at = gsl_vector_view_array(x, s->dim);
    const bool room = simplex && size;

    for (int round = 0; room && round < ROUNDS; round++) {
        gsl_vector_set_all(size, 0.3 * pow(0.1, round));
        if (gsl_multimin_fminimizer_set(simplex, &f, &at.vector, size)) break;
        for (int i = 0; i < STEPS && simplex->size > 1e-9; i++)
            if (gsl_multimin_fminimizer_iterate(simplex)) break;
        gsl_vector_memcpy(&at.vector, simplex->x);
    }
    if (simplex) gsl_multimin_fminimizer_free(simplex);
    if (size) gsl_vector_free(size);
    return room;
}

/* Climbs from a star with log m = start; keeps the better one in *star and *norm. */
static tl_status try_start(uint64_t n, double start, tl_star *star, double *norm)
{
    double x[3] = {1, sqrt(log(5 * (double)n) / 2), start}, found;
    sought s = {.star = {.n = n}, .dim = 3};

    if (!climb(&s, x)) return TL_ERR_MEMORY;
    s.star.centre = whole_copies(n, x[2]);
    s.dim = 2;
    if (!climb(&s, x)) return TL_ERR_MEMORY;
    s.star.a = x[0];
    s.star.rho = x[1];
    const tl_status status = tl_star_norm(&s.star, &found);
    if (status || found <= *norm) return status;
    *star = s.star;
    *norm = found;
    return TL_OK;
}

tl_status tl_star_find(uint64_t n, tl_star *star, double *norm)
{
    if (n < 2) return TL_ERR_ARGUMENT;
    /* The closed form, m = .4 e^(1 + rho^2); one token in the centre; as many as outside. */
    const double closed = log(0.4) + 1 + log(5 * (double)n) / 2, half = log((double)n / 2);
    const double start[] = {fmin(closed, half), 0, half};
    tl_status s = TL_OK;

    *norm = 0;
    for (int i = 0; i < 3 && !s; i++) s = try_start(n, start[i], star, norm);
    return s;
}

tl_status tl_star_tokens(const tl_star *star, tl_measure **out, tl_error *err)
{
    enum { NUMBERS_MAX = 1 << 20 };
    if (star->centre < 1 || star->centre >= star->n)
        return tl_fail(err, TL_ERR_ARGUMENT, "star: expected 1 to n - 1 tokens in the centre");
    if (star->n > NUMBERS_MAX / star->n)
        return tl_fail(err, TL_ERR_LIMIT, "star: expected at most %d numbers, found n = %llu",
                       NUMBERS_MAX, (unsigned long long)star->n);
    const size_t n = (size_t)star->n, m = (size_t)star->centre, d = n - m + 1;
    double *y = calloc(n * d, sizeof *y);
    if (!y) return tl_fail(err, TL_ERR_MEMORY, "out of memory for a star of %zu tokens", n);
    for (size_t i = m; i < n; i++) {
        y[i * d] = star->a;
        y[i * d + i - m + 1] = star->rho;
    }
    const tl_status s = tl_measure_alloc(out, n, d, y, NULL, NULL, err);
    free(y);
    return s;
}
