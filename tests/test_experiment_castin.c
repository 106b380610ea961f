/* Tokens in the construction of Castin et al. for a head. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/draws.h"
#include "support/experiment_run.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

/* Values of an independent implementation, d = 1, V = 1, to the digits it printed. */
Test(experiment_castin, castin_tokens_have_their_known_norms)
{
    static const struct {
        double A, radius;
        int n;
        double free, causal;
    } rows[] = {{-1, 1, 10, 2.9937, 3.4414},
                {-1, 2, 50, 7.7864, 7.4745},
                {-1, 3, 100, 9.9501, 10.0001},
                {1, 2, 5, 1.8955, 1.9029},
                {1, 3, 50, 3.9927, 5.7740}};

    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const bool causal = i % 2;
        scratch dir;
        char text[400];
        tl_norm_result norm;
        tl_error err = {0};
        cr_assert(scratch_init(&dir));
        (void)snprintf(text, sizeof text,
                       "name = \"t\"; attention = { d = 1; A = %.1f; V = 1.0; mask = \"%s\"; };\n"
                       "tokens = { construction = \"castin\"; radius = %.1f; n = %d; };",
                       rows[i / 2].A, causal ? "causal" : "none", rows[i / 2].radius,
                       rows[i / 2].n);
        tl_experiment *ex = experiment_from(&dir, text);
        tl_cell *cell = experiment_cell(ex, 0);
        cr_expect_eq(cell->tokens->n, (uint64_t)rows[i / 2].n);
        cr_expect_eq(cell->tokens->m, causal ? (size_t)rows[i / 2].n : 2, "listed under a mask");
        cr_assert_eq(
            tl_norm_compute(cell->attention.layer, cell->tokens, TL_NORM_2, NULL, &norm, &err),
            TL_OK, "%s", err.text);
        cr_expect_float_eq(norm.value, causal ? rows[i / 2].causal : rows[i / 2].free, 5.1e-5,
                           "row %zu", i);
        tl_cell_free(cell);
        tl_experiment_free(ex);
        scratch_clear(&dir);
    }
}

/* A u = 8 gamma u or -gamma u, the same pair from Q and K as from A; the paper's lower bound holds
 * where the output matrix is the identity. */
Test(experiment_castin, castin_direction_is_an_eigenvector)
{
    gsl_rng *rng = draw_stream(21);
    double A[36], u[6], v[6], Au[6];

    for (int draw = 0; draw < draw_count(100); draw++) {
        const random_shape shape = {.m = 1, .d = 6, .heads = 2, .factored = true, .logit_scale = 1};
        random_problem p = random_problem_draw(rng, &shape);
        tl_castin from_factors, from_map;
        tl_layer *brief = NULL;
        const double V[6] = {1};
        tl_layer_logit_map(p.layer, 1, A, NULL);
        cr_assert_eq(tl_layer_alloc_av(&brief, 6, 1, A, V), TL_OK);
        const tl_status s = tl_castin_tokens(p.layer, 1, u, &from_factors, NULL);
        if (s == TL_OK) {
            const double lambda =
                from_factors.first > 0 ? 8 * from_factors.gamma : -from_factors.gamma;
            double error = 0, size = 0;
            tl_gemm('N', 'N', 6, 1, 6, 1, A, 6, u, 1, 0, Au, 1);
            for (size_t r = 0; r < 6; r++) error = fmax(error, fabs(Au[r] - lambda * u[r]));
            for (size_t r = 0; r < 36; r++) size = fmax(size, fabs(A[r]));
            cr_expect_lt(error, 1e-9 * size, "draw %d", draw);
            cr_expect_float_eq(tl_nrm2(6, u), 1, 1e-14);
            cr_assert_eq(tl_castin_tokens(brief, 0, v, &from_map, NULL), TL_OK);
            cr_expect_float_eq(from_factors.gamma, from_map.gamma, 1e-9 * size, "draw %d", draw);
            cr_expect_eq(from_factors.first, from_map.first);
            cr_expect_eq(from_factors.rest, from_map.rest);
        }
        tl_layer_free(brief);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

Test(experiment_castin, a_rotation_has_no_castin_tokens)
{
    const double A[4] = {0, -1, 1, 0}, V[2] = {1, 0};
    double u[2] = {7, 8};
    tl_castin tokens = {.gamma = 9};
    tl_layer *layer = NULL;
    tl_error err = {0};

    cr_assert_eq(tl_layer_alloc_av(&layer, 2, 1, A, V), TL_OK);
    cr_expect_eq(tl_castin_tokens(layer, 0, u, &tokens, &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "expected real eigenvalues"), "%s", err.text);
    cr_expect(u[0] == 7 && u[1] == 8 && tokens.gamma == 9);
    tl_layer_free(layer);
}
