#include "tightlip/transport.h"

#include <float.h>
#include <glpk.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Masses are whole multiples of 2^-50, and costs of 2^-50 of the largest while a basis is looked
 * for: glp_exact takes whole numbers as they are and approximates others to 1e-9, which times the
 * mass of a heavy atom may be more than all that is moved. */
static const double UNIT = 1125899906842624.0;

typedef struct {
    size_t d, m, n;
    double *a, *b;    /* whole multiples of the unit */
    double *cost;     /* m x n */
    double dear;      /* the largest cost, or 1 */
    int exponent;     /* costs are those of atoms times 2^-exponent */
    double *u, *v;    /* potentials */
    double *plan;     /* m x n, in units */
    double *fraction; /* max(m, n) */
    double *block;
} transport;

static bool transport_alloc(transport *t, size_t d, size_t m, size_t n)
{
    const size_t most = m > n ? m : n;
    double *at = malloc((2 * (m + n) + 2 * m * n + most) * sizeof *at);

    *t = (transport){.d = d, .m = m, .n = n, .block = at};
    if (!at) return false;
    t->a = at;
    t->b = t->a + m;
    t->u = t->b + n;
    t->v = t->u + m;
    t->cost = t->v + n;
    t->plan = t->cost + m * n;
    t->fraction = t->plan + m * n;
    return true;
}

static tl_status check(size_t count, const double *mass, const char *side, tl_error *err)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++) {
        if (!(mass[i] >= 0) || !isfinite(mass[i]))
            return tl_fail(err, TL_ERR_DOMAIN, "%s mass %zu: expected at least 0, found %g", side,
                           i, mass[i]);
        sum += mass[i];
    }
    if (!(fabs(sum - 1) <= 1e-9))
        return tl_fail(err, TL_ERR_DOMAIN, "%s masses: expected a sum of 1, found %.12g", side,
                       sum);
    return TL_OK;
}

/* Whole multiples that sum to the unit: rounded down, the largest fractions then up. */
static void round_masses(size_t count, const double *mass, double *fraction, double *out)
{
    double sum = 0, total = 0;

    for (size_t i = 0; i < count; i++) sum += mass[i];
    for (size_t i = 0; i < count; i++) {
        const double exact = mass[i] / sum * UNIT;
        out[i] = floor(exact);
        fraction[i] = exact - out[i];
        total += out[i];
    }
    /* Rounding may have left the sum some units on either side. */
    for (; total > UNIT; total--) {
        size_t most = 0;
        for (size_t i = 1; i < count; i++)
            if (out[i] > out[most]) most = i;
        out[most]--;
    }
    for (; total < UNIT; total++) {
        size_t most = 0;
        for (size_t i = 1; i < count; i++)
            if (fraction[i] > fraction[most]) most = i;
        out[most]++;
        fraction[most] -= 1;
    }
}

/* The program without its last column equation, which the others imply. */
static void fill(const transport *t, glp_prob *lp)
{
    const int m = (int)t->m, n = (int)t->n;

    glp_add_rows(lp, m + n - 1);
    glp_add_cols(lp, m * n);
    for (int i = 0; i < m; i++) glp_set_row_bnds(lp, i + 1, GLP_FX, t->a[i], t->a[i]);
    for (int j = 0; j + 1 < n; j++) glp_set_row_bnds(lp, m + j + 1, GLP_FX, t->b[j], t->b[j]);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            const int column = i * n + j + 1, rows[] = {0, i + 1, m + j + 1};
            const double ones[] = {0, 1, 1};
            glp_set_col_bnds(lp, column, GLP_LO, 0, 0);
            glp_set_obj_coef(lp, column, round(t->cost[i * n + j] / t->dear * UNIT));
            glp_set_mat_col(lp, column, j + 1 < n ? 2 : 1, rows, ones);
        }
}

/* The plan of the basis that rational arithmetic ends with, and its potentials. */
static tl_status solve(transport *t)
{
    glp_prob *lp = glp_create_prob();
    glp_smcp settings;
    const int m = (int)t->m, n = (int)t->n;
    bool solved;

    (void)glp_term_out(GLP_OFF);
    fill(t, lp);
    glp_init_smcp(&settings);
    settings.msg_lev = GLP_MSG_OFF;
    (void)glp_simplex(lp, &settings); /* any basis will do */
    solved = glp_exact(lp, &settings) == 0 && glp_get_status(lp) == GLP_OPT;
    for (int i = 0; solved && i < m; i++) {
        t->u[i] = glp_get_row_dual(lp, i + 1) / UNIT * t->dear;
        for (int j = 0; j < n; j++) t->plan[i * n + j] = glp_get_col_prim(lp, i * n + j + 1);
    }
    glp_delete_prob(lp);
    (void)glp_free_env(); /* of this thread */
    return solved ? TL_OK : TL_ERR_NUMERIC;
}

/* Any plan is an upper bound. Any u, with v_j = min_i (c_ij - u_i), is a lower one, less than the
 * plan's by the sum of plan times reduced cost: taken as that difference, since u and v themselves
 * may be large against it. */
static tl_transport value_of(transport *t)
{
    const size_t m = t->m, n = t->n;
    double primal = 0, gap = 0;

    for (size_t j = 0; j < n; j++) {
        t->v[j] = INFINITY;
        for (size_t i = 0; i < m; i++) t->v[j] = fmin(t->v[j], t->cost[i * n + j] - t->u[i]);
    }
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            const double share = t->plan[i * n + j] / UNIT, cost = t->cost[i * n + j];
            primal += share * cost;
            gap += share * (cost - t->u[i] - t->v[j]);
        }
    return (tl_transport){ldexp(sqrt(fmax(primal - fmax(gap, 0), 0)), t->exponent),
                          ldexp(sqrt(primal), t->exponent)};
}

/* Squares at a scale, a power of two, where the largest neither underflows nor overflows. */
static tl_status find_costs(transport *t, const double *x, const double *y, tl_error *err)
{
    const size_t d = t->d;
    double far = 0;

    for (size_t i = 0; i < t->m; i++)
        for (size_t j = 0; j < t->n; j++)
            for (size_t r = 0; r < d; r++) {
                const double gap = fabs(x[i * d + r] - y[j * d + r]);
                if (!isfinite(gap))
                    return tl_fail(err, TL_ERR_DOMAIN,
                                   "transport: atoms %zu and %zu: expected a finite distance", i,
                                   j);
                far = fmax(far, gap);
            }
    (void)frexp(far, &t->exponent);
    for (size_t i = 0; i < t->m; i++)
        for (size_t j = 0; j < t->n; j++) {
            double sum = 0;
            for (size_t r = 0; r < d; r++) {
                const double gap = ldexp(x[i * d + r] - y[j * d + r], -t->exponent);
                sum += gap * gap;
            }
            t->cost[i * t->n + j] = sum;
            t->dear = fmax(t->dear, sum);
        }
    if (!(t->dear > 0)) t->dear = 1;
    return TL_OK;
}

tl_status tl_transport_w2(size_t d, size_t m, const double *x, const double *a, size_t n,
                          const double *y, const double *b, double *plan, tl_transport *out,
                          tl_error *err)
{
    transport t;
    tl_status status;

    if (d == 0 || m == 0 || n == 0)
        return tl_fail(err, TL_ERR_SHAPE, "transport: expected at least one atom on each side");
    if (m > TL_TRANSPORT_ATOMS_MAX || n > TL_TRANSPORT_ATOMS_MAX)
        return tl_fail(err, TL_ERR_LIMIT, "transport: expected at most %d atoms, found %zu",
                       (int)TL_TRANSPORT_ATOMS_MAX, m > n ? m : n);
    status = check(m, a, "first", err);
    if (!status) status = check(n, b, "second", err);
    if (status) return status;
    if (!transport_alloc(&t, d, m, n))
        return tl_fail(err, TL_ERR_MEMORY, "transport: no memory for %zu x %zu", m, n);
    round_masses(m, a, t.fraction, t.a);
    round_masses(n, b, t.fraction, t.b);
    status = find_costs(&t, x, y, err);
    if (!status) {
        status = solve(&t);
        if (status) (void)tl_fail(err, status, "transport: the linear program is not solved");
    }
    if (!status) {
        *out = value_of(&t);
        for (size_t k = 0; plan && k < m * n; k++) plan[k] = t.plan[k] / UNIT;
    }
    free(t.block);
    return status;
}
