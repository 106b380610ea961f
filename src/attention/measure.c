#include "tightlip/attention.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/linalg.h"

/* Files print finite digits: the masses they give sum to one to this relative error. */
static const double mass_slack = 1e-6;

static tl_status check_atoms(size_t m, size_t d, const double *x, tl_error *err)
{
    if (m == 0 || d == 0)
        return tl_fail(err, TL_ERR_SHAPE,
                       "expected at least one token of width 1, found %zu of width %zu", m, d);
    if (m > SIZE_MAX / sizeof(double) / d)
        return tl_fail(err, TL_ERR_MEMORY, "%zu tokens of width %zu are too many", m, d);
    for (size_t i = 0; i < m * d; i++)
        if (!isfinite(x[i]))
            return tl_fail(err, TL_ERR_DOMAIN,
                           "tokens[%zu][%zu]: expected a finite number, found %g", i / d, i % d,
                           x[i]);
    return TL_OK;
}

static tl_status set_counts(tl_measure *mu, const uint64_t *count, tl_error *err)
{
    mu->n = 0;
    for (size_t k = 0; k < mu->m; k++) {
        mu->count[k] = count ? count[k] : 1;
        if (mu->count[k] == 0)
            return tl_fail(err, TL_ERR_ARGUMENT,
                           "multiplicity[%zu]: expected a positive integer, found 0", k);
        if (mu->count[k] > UINT64_MAX - mu->n)
            return tl_fail(err, TL_ERR_ARGUMENT,
                           "multiplicity: the sum is expected to fit 64 bits, and does not");
        mu->n += mu->count[k];
    }
    for (size_t k = 0; k < mu->m; k++) {
        uint64_t rest = mu->n - mu->count[k];
        /* Close to one the logarithm of the quotient would lose the rare mass; elsewhere it is
         * closer than a difference of logarithms of large counts. */
        mu->log_mass[k] = rest < mu->count[k] ? log1p(-((double)rest / (double)mu->n))
                                              : log((double)mu->count[k] / (double)mu->n);
    }
    return TL_OK;
}

static tl_status set_masses(tl_measure *mu, const double *log_mass, tl_error *err)
{
    double total;

    for (size_t k = 0; k < mu->m; k++)
        if (!isfinite(log_mass[k]))
            return tl_fail(err, TL_ERR_DOMAIN, "log_mass[%zu]: expected a finite number, found %g",
                           k, log_mass[k]);
    total = tl_logsumexp(mu->m, log_mass);
    if (!(fabs(total) <= mass_slack))
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "log_mass: the masses are expected to sum to 1, and sum to %.17g",
                       exp(total));
    /* Masses that already sum to one up to the rounding of the sum itself stay as they are, so that
     * copying, writing and reading a measure change no bit. */
    if (fabs(total) <= (4 + (double)mu->m) * DBL_EPSILON) total = 0;
    for (size_t k = 0; k < mu->m; k++) mu->log_mass[k] = log_mass[k] - total;
    return TL_OK;
}

tl_status tl_measure_alloc(tl_measure **out, size_t m, size_t d, const double *x,
                           const uint64_t *count, const double *log_mass, tl_error *err)
{
    tl_measure *mu;
    tl_status s = check_atoms(m, d, x, err);

    if (s) return s;
    if (count && log_mass)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "expected multiplicity or log_mass, found both of them");
    mu = calloc(1, sizeof *mu);
    if (!mu) return tl_fail(err, TL_ERR_MEMORY, "out of memory for a measure");
    mu->m = m;
    mu->d = d;
    mu->x = malloc(m * d * sizeof *mu->x);
    mu->log_mass = malloc(m * sizeof *mu->log_mass);
    mu->count = log_mass ? NULL : malloc(m * sizeof *mu->count);
    if (!mu->x || !mu->log_mass || (!log_mass && !mu->count)) {
        tl_measure_free(mu);
        return tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu tokens of width %zu", m, d);
    }
    memcpy(mu->x, x, m * d * sizeof *x);
    s = log_mass ? set_masses(mu, log_mass, err) : set_counts(mu, count, err);
    if (s) {
        tl_measure_free(mu);
        return s;
    }
    *out = mu;
    return TL_OK;
}

tl_status tl_measure_copy(tl_measure **out, const tl_measure *mu)
{
    return tl_measure_alloc(out, mu->m, mu->d, mu->x, mu->count, mu->count ? NULL : mu->log_mass,
                            NULL);
}

void tl_measure_free(tl_measure *mu)
{
    if (!mu) return;
    free(mu->x);
    free(mu->log_mass);
    free(mu->count);
    free(mu);
}

void tl_measure_write_out(const tl_measure *mu, double *tokens)
{
    for (size_t k = 0; k < mu->m; k++)
        for (uint64_t copy = 0; copy < mu->count[k]; copy++, tokens += mu->d)
            memcpy(tokens, mu->x + k * mu->d, mu->d * sizeof *tokens);
}
