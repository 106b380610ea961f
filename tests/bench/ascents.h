/* The local ascents that panel.c compares, ours first. Included where `panel` is known. */
#ifndef TESTS_BENCH_ASCENTS_H
#define TESTS_BENCH_ASCENTS_H

#include <gsl/gsl_multimin.h>

#ifdef TL_WITH_NLOPT
#include <nlopt.h>
#endif

static double gsl_value(const gsl_vector *y, void *self)
{
    return -objective(self, y->data, NULL);
}

static void gsl_both(const gsl_vector *y, void *self, double *f, gsl_vector *g)
{
    memset(g->data, 0, g->size * sizeof(double));
    *f = -objective(self, y->data, g->data);
    for (size_t i = 0; i < g->size; i++) g->data[i] = -g->data[i];
}

static void gsl_gradient(const gsl_vector *y, void *self, gsl_vector *g)
{
    double f;
    gsl_both(y, self, &f, g);
}

static void run_bfgs(panel *p, double *y)
{
    const size_t n = variables(p);
    gsl_vector_view at = gsl_vector_view_array(y, n);
    gsl_multimin_function_fdf f = {gsl_value, gsl_gradient, gsl_both, n, p};
    gsl_multimin_fdfminimizer *s =
        gsl_multimin_fdfminimizer_alloc(gsl_multimin_fdfminimizer_vector_bfgs2, n);
    gsl_multimin_fdfminimizer_set(s, &f, &at.vector, 0.1, 0.1);
    while (p->ev.used < p->end && gsl_multimin_fdfminimizer_iterate(s) == 0 &&
           gsl_multimin_test_gradient(s->gradient, 1e-9) != 0) {
    }
    gsl_multimin_fdfminimizer_free(s);
}

static void run_nelder_mead(panel *p, double *y)
{
    const size_t n = variables(p);
    gsl_vector_view at = gsl_vector_view_array(y, n);
    gsl_vector *step = gsl_vector_alloc(n);
    gsl_vector_set_all(step, 0.3);
    gsl_multimin_function f = {gsl_value, n, p};
    gsl_multimin_fminimizer *s =
        gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, n);
    gsl_multimin_fminimizer_set(s, &f, &at.vector, step);
    while (p->ev.used < p->end && gsl_multimin_fminimizer_iterate(s) == 0 &&
           gsl_multimin_test_size(s->size, 1e-7) != 0) {
    }
    gsl_multimin_fminimizer_free(s);
    gsl_vector_free(step);
}

static void run_ours(panel *p, double *y)
{
    (void)y;
    tl_status status = TL_OK;
    tl_ascent_begin(p->ascent, &p->ev, &p->start, LOCAL);
    while (tl_ascent_runs(p->ascent)) tl_ascents_step(&p->ev, 1, &p->ascent, &status);
    require(!status, "an ascent failed");
    p->best = fmax(p->best, tl_ascent_best(p->ascent)->value);
}

#ifdef TL_WITH_NLOPT
static double nlopt_value(unsigned n, const double *y, double *g, void *self)
{
    (void)n;
    return objective(self, y, g);
}

static void run_nlopt(panel *p, double *y, nlopt_algorithm algorithm)
{
    double value;
    nlopt_opt opt = nlopt_create(algorithm, (unsigned)variables(p));
    nlopt_set_max_objective(opt, nlopt_value, p);
    nlopt_set_maxeval(opt, (int)(p->end - p->ev.used));
    nlopt_set_ftol_rel(opt, 1e-12);
    (void)nlopt_optimize(opt, y, &value);
    nlopt_destroy(opt);
}

static void run_nlopt_lbfgs(panel *p, double *y)
{
    run_nlopt(p, y, NLOPT_LD_LBFGS);
}

static void run_nlopt_mma(panel *p, double *y)
{
    run_nlopt(p, y, NLOPT_LD_MMA);
}
#endif

typedef struct {
    const char *name;
    void (*run)(panel *p, double *y);
} method;

static const method methods[] = {{"tightlip ascent", run_ours},
                                 {"GSL BFGS2", run_bfgs},
#ifdef TL_WITH_NLOPT
                                 {"NLopt L-BFGS", run_nlopt_lbfgs},
                                 {"NLopt MMA", run_nlopt_mma},
#endif
                                 {"GSL Nelder-Mead", run_nelder_mead}};
enum { METHODS = sizeof methods / sizeof *methods };

#endif
