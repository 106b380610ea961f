#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <gsl/gsl_fit.h>

#include "experiment/plot.h"

/* Sorted by x: infinity, if there, stands at the end. 0: not enough for a fit. */
static size_t finite_points(const tl_curve *curve)
{
    size_t count = curve->count;

    while (count > 0 && isinf(curve->x[count - 1])) count--;
    return count < 3 || !(curve->x[0] < curve->x[count - 1]) ? 0 : count;
}

bool tl_fit_line(const tl_curve *curve, tl_fit *out)
{
    double c00, c01, c11, squares;
    const size_t count = finite_points(curve);

    if (count == 0) return false;
    *out = (tl_fit){.points = count};
    (void)snprintf(out->series, sizeof out->series, "%s", curve->series);
    if (gsl_fit_linear(curve->x, 1, curve->y, 1, count, &out->intercept, &out->slope, &c00, &c01,
                       &c11, &squares))
        return false;
    out->error = sqrt(c11);
    return isfinite(out->slope) && isfinite(out->error);
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
}
