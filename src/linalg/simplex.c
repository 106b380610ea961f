#include <gsl/gsl_multimin.h>
#include <math.h>

#include "tightlip/linalg.h"

/* A function for GSL: points outside the domain are very large, as its simplex wants numbers. */
typedef struct {
    double (*f)(const void *context, const double *x);
    const void *context;
} minimand;

static double value_at(const gsl_vector *x, void *params)
{
    const minimand *m = params;
    const double value = m->f(m->context, x->data);

    return value < 1e300 ? value : 1e300;
}

double tl_simplex_minimise(double (*f)(const void *context, const double *x), const void *context,
                           size_t dim, double *x, const double *step)
{
    enum { ROUNDS = 2, STEPS = 160 };
    minimand m = {f, context};
    gsl_multimin_function function = {value_at, dim, &m};
    gsl_multimin_fminimizer *simplex =
        gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, dim);
    gsl_vector *size = gsl_vector_alloc(dim);
    gsl_vector_view at = gsl_vector_view_array(x, dim);
    double best = f(context, x);

    /* A fresh simplex around the best point undoes one that has collapsed. */
    for (int round = 0; simplex && size && round < ROUNDS; round++) {
        for (size_t i = 0; i < dim; i++) gsl_vector_set(size, i, step[i] * pow(0.4, round));
        if (gsl_multimin_fminimizer_set(simplex, &function, &at.vector, size)) break;
        for (int i = 0; i < STEPS; i++)
            if (gsl_multimin_fminimizer_iterate(simplex) || simplex->size < 1e-5) break;
        if (!(simplex->fval < best)) continue;
        best = simplex->fval;
        gsl_vector_memcpy(&at.vector, simplex->x);
    }
    if (simplex) gsl_multimin_fminimizer_free(simplex);
    if (size) gsl_vector_free(size);
    return best;
}
