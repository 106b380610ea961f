#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <gsl/gsl_fit.h>

#include "experiment/plot.h"

bool tl_fit_line(const tl_curve *curve, tl_fit *out)
{
    double c00, c01, c11, squares;
    size_t count = curve->count;

    /* Sorted by x: infinity, if there, stands at the end. */
    while (count > 0 && isinf(curve->x[count - 1])) count--;
    if (count < 3 || !(curve->x[0] < curve->x[count - 1])) return false;
    *out = (tl_fit){.points = count};
    (void)snprintf(out->series, sizeof out->series, "%s", curve->series);
    if (gsl_fit_linear(curve->x, 1, curve->y, 1, count, &out->intercept, &out->slope, &c00, &c01,
                       &c11, &squares))
        return false;
    out->error = sqrt(c11);
    return isfinite(out->slope) && isfinite(out->error);
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
