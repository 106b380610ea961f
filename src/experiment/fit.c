#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_fit.h>
#include <gsl/gsl_statistics_double.h>

#include "experiment/plot.h"

/* Sorted by x: infinity, if there, stands at the end. 0: not enough for a fit. */
static size_t finite_points(const tl_curve *curve)
{
    size_t count = curve->count;

    while (count > 0 && isinf(curve->x[count - 1])) count--;
    return count < 3 || !(curve->x[0] < curve->x[count - 1]) ? 0 : count;
}

bool tl_line_fit(const double *x, const double *y, size_t count, tl_line *out)
{
    double c00, c01, c11, squares, low = (double)INFINITY, high = -(double)INFINITY;

    for (size_t i = 0; i < count; i++) {
        low = fmin(low, x[i]);
        high = fmax(high, x[i]);
    }
    if (count < 3 || !(low < high)) return false;
    *out = (tl_line){.points = count, .spread = high - low};
    if (gsl_fit_linear(x, 1, y, 1, count, &out->intercept, &out->slope, &c00, &c01, &c11, &squares))
        return false;
    out->error = sqrt(c11);
    out->half = gsl_cdf_tdist_Pinv(0.975, (double)(count - 2)) * out->error;
    return isfinite(out->slope) && isfinite(out->error);
}

bool tl_fit_line(const tl_curve *curve, tl_line *out)
{
    const size_t count = finite_points(curve);

    return count > 0 && tl_line_fit(curve->x, curve->y, count, out);
}

typedef struct {
    uint64_t draw;
    double x, y;
} drawn;

static int compare_draws(const void *a, const void *b)
{
    const drawn *p = a, *q = b;

    if (p->draw != q->draw) return p->draw > q->draw ? 1 : -1;
    return (p->x > q->x) - (p->x < q->x);
}

/* Slopes of the draws, each by least squares, into x; 0 where one of them has none. */
static size_t slopes_of(const drawn *point, size_t count, double *x, double *y)
{
    size_t draws = 0;
    tl_line fit;

    for (size_t from = 0, to; from < count; from = to) {
        for (to = from; to < count && point[to].draw == point[from].draw; to++) {
            x[to] = point[to].x;
            y[to] = point[to].y;
        }
        if (!tl_line_fit(x + from, y + from, to - from, &fit)) return 0;
        x[draws++] = fit.slope; /* behind `from`: its points have been read */
    }
    return draws;
}

static void interval_over_draws(const double *slope, size_t draws, tl_line *out)
{
    out->slope = gsl_stats_mean(slope, 1, draws);
    out->half = gsl_cdf_tdist_Pinv(0.975, (double)(draws - 1)) *
                gsl_stats_sd_m(slope, 1, draws, out->slope) / sqrt((double)draws);
}

bool tl_fit_interval(const tl_curve *curve, tl_line *out)
{
    const size_t count = finite_points(curve);
    drawn *point = calloc(count + 1, sizeof *point);
    double *x = calloc(2 * count + 2, sizeof *x);
    size_t draws = 0;
    const bool fitted = tl_fit_line(curve, out);

    if (fitted && point && x && curve->draw) {
        for (size_t i = 0; i < count; i++)
            point[i] = (drawn){curve->draw[i], curve->x[i], curve->y[i]};
        qsort(point, count, sizeof *point, compare_draws);
        draws = slopes_of(point, count, x, x + count + 1);
    }
    if (draws > 1) interval_over_draws(x, draws, out);
    free(point);
    free(x);
    return fitted;
}

bool tl_fit_has_spread(const tl_plot *plot, const tl_line *fit)
{
    return !plot->xlog || fit->spread > log10(1.01);
}

bool tl_fit_power(const tl_curve *curve, double exponent, double *constant, double *error)
{
    const size_t count = finite_points(curve);
    double mean = 0, squares = 0;

    if (count == 0) return false;
    for (size_t i = 0; i < count; i++)
        mean += (curve->y[i] - exponent * curve->x[i]) / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += pow(curve->y[i] - exponent * curve->x[i] - mean, 2);
    *constant = pow(10, mean);
    *error = *constant * log(10) * sqrt(squares / (double)(count - 1) / (double)count);
    return isfinite(*constant) && isfinite(*error);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

size_t tl_curve_median(const tl_curve *curve, double *x, double *y)
{
    double *group = calloc(curve->count + 1, sizeof *group);
    size_t count = 0;

    for (size_t from = 0, to; group && from < curve->count; from = to) {
        size_t half;
        for (to = from; to < curve->count && !(curve->x[to] > curve->x[from]); to++)
            group[to - from] = curve->y[to];
        qsort(group, to - from, sizeof *group, compare);
        half = (to - from) / 2;
        x[count] = curve->x[from];
        y[count++] = (to - from) % 2 ? group[half] : (group[half - 1] + group[half]) / 2;
    }
    free(group);
    return count;
}

void tl_curve_mean(tl_curve *curve)
{
    size_t count = 0;

    for (size_t from = 0, to; from < curve->count; from = to) {
        double sum = 0;
        for (to = from; to < curve->count && !(curve->x[to] > curve->x[from]); to++)
            sum += curve->y[to];
        curve->x[count] = curve->x[from];
        curve->y[count++] = sum / (double)(to - from);
    }
    curve->count = count;
    free(curve->draw); /* a mean is of many */
    curve->draw = NULL;
}
