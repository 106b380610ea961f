/* The forward pass against the reference files, by finite differences against the Jacobian, and
 * under translations. */
#include <criterion/criterion.h>
#include <float.h>
#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/random_problem.h"
#include "tightlip/jacobian.h"
#include "tightlip/problem.h"
#include "tightlip/rng.h"

static void check_file(const char *path, size_t *checked)
{
    tl_problem problem;
    json_t *root = json_load_file(path, 0, NULL);
    const json_t *expect = json_object_get(root, "expect"), *row;
    const double rtol = json_number_value(json_object_get(expect, "rtol"));
    row = json_object_get(expect, "forward_first_token");
    if (tl_problem_read(path, &problem, NULL) == TL_OK) {
        const size_t out = problem.layer->out, m = problem.measure->m;
        double *Y = malloc(m * out * sizeof(double)), size = 0.0;
        cr_assert_eq(tl_forward(problem.layer, problem.measure, Y, NULL), TL_OK, "%s", path);
        cr_assert_eq(json_array_size(row), out, "%s", path);
        for (size_t r = 0; r < out; r++)
            size = fmax(size, fabs(json_number_value(json_array_get(row, r))));
        for (size_t r = 0; r < out; r++)
            cr_expect_float_eq(Y[r], json_number_value(json_array_get(row, r)), rtol * size, "%s",
                               path);
        (*checked)++;
        free(Y);
        tl_problem_clear(&problem);
    }
    json_decref(root);
}

Test(forward, golden_files)
{
    glob_t files;
    size_t checked = 0;
    cr_assert_eq(glob("tests/golden/*.json", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) check_file(files.gl_pathv[i], &checked);
    globfree(&files);
    cr_assert_eq(checked, 27, "%zu files", checked);
}

/* F(X + t Y) - F(X - t Y) over 2 t against the Jacobian, all copies of an atom moving together. */
Test(forward, jacobian_is_the_derivative)
{
    gsl_rng *rng = tl_rng_stream_alloc(21, 0, 0);
    double worst = 0.0;
    for (int i = 0; i < 400; i++) {
        random_shape shape = random_shape_draw_any(rng);
        shape.logit_scale = 1.0;
        random_problem p = random_problem_draw(rng, &shape);
        const size_t m = p.measure->m, d = p.layer->d, out = p.layer->out;
        double *move = malloc(m * d * sizeof(double)), *x = malloc(m * d * sizeof(double));
        double *phi = malloc(m * d * sizeof(double)), *psi = malloc(m * out * sizeof(double));
        double *up = malloc(m * out * sizeof(double)), *down = malloc(m * out * sizeof(double));
        tl_jacobian *J = NULL;
        cr_assert_eq(tl_jacobian_alloc(&J, p.layer, m, NULL), TL_OK);
        cr_assert_eq(tl_jacobian_set(J, p.layer, p.measure), TL_OK);
        for (size_t k = 0; k < m; k++)
            for (size_t r = 0; r < d; r++) {
                move[k * d + r] = random_normal(rng);
                phi[k * d + r] = exp(0.5 * p.measure->log_mass[k]) * move[k * d + r];
            }
        tl_jacobian_apply(J, phi, psi);
        const double t = 1e-5;
        memcpy(x, p.measure->x, m * d * sizeof(double));
        tl_axpy(m * d, t, move, p.measure->x);
        cr_assert_eq(tl_forward(p.layer, p.measure, up, NULL), TL_OK);
        memcpy(p.measure->x, x, m * d * sizeof(double));
        tl_axpy(m * d, -t, move, p.measure->x);
        cr_assert_eq(tl_forward(p.layer, p.measure, down, NULL), TL_OK);
        double error = 0.0, size = 0.0;
        for (size_t k = 0; k < m; k++)
            for (size_t r = 0; r < out; r++) {
                const double slope = (up[k * out + r] - down[k * out + r]) / (2.0 * t);
                const double exact = psi[k * out + r] * exp(-0.5 * p.measure->log_mass[k]);
                error = fmax(error, fabs(slope - exact));
                size = fmax(size, fabs(exact));
            }
        worst = fmax(worst, error / (1.0 + size));
        tl_jacobian_free(J);
        free(move);
        free(x);
        free(phi);
        free(psi);
        free(up);
        free(down);
        random_problem_clear(&p);
    }
    /* Central differences with t = 1e-5: t^2 f''' and eps / t both below 1e-6 at these sizes. */
    cr_assert_leq(worst, 1e-5);
    gsl_rng_free(rng);
}
