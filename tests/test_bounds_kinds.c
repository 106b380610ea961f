#include <criterion/criterion.h>
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/bound_query.h"
#include "support/draws.h"
#include "support/other_kinds.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

static double norm_of(const tl_layer *layer, const kind_constants *k, size_t n, const double *x)
{
    const size_t rows = n * layer->out, cols = n * layer->d;
    double *J = malloc(rows * cols * sizeof *J), norm = (double)NAN;

    cr_assert(J && kind_jacobian(layer, k, n, x, J));
    cr_assert_eq(tl_norm2_dense(rows, cols, J, &norm), TL_OK);
    free(J);
    return norm;
}

static void matrix(const json_t *rows, size_t count, size_t cols, double *a)
{
    cr_assert_eq(json_array_size(rows), count);
    for (size_t i = 0; i < count * cols; i++)
        a[i] = json_number_value(json_array_get(json_array_get(rows, i / cols), i % cols));
}

Test(bounds_kinds, sigmoid_oracle_gives_the_golden_norms)
{
    for (int file = 0; file < 3; file++) {
        char path[64];
        (void)snprintf(path, sizeof path, "tests/golden/sigmoid-%d.json", file);
        json_t *root = json_load_file(path, 0, NULL);
        cr_assert_not_null(root, "%s", path);
        const json_t *attention = json_object_get(root, "attention");
        const json_t *head = json_array_get(json_object_get(attention, "heads"), 0);
        const json_t *tokens = json_object_get(root, "tokens");
        const size_t n = json_array_size(tokens), d = json_array_size(json_array_get(tokens, 0));
        const size_t v = json_array_size(json_object_get(head, "V"));
        double A[64], V[64], x[64];
        tl_layer *layer = NULL;
        cr_assert(n * d <= 64 && v * d <= 64);
        matrix(json_object_get(head, "A"), d, d, A);
        matrix(json_object_get(head, "V"), v, d, V);
        matrix(tokens, n, d, x);
        cr_assert_eq(tl_layer_alloc_av(&layer, d, v, A, V), TL_OK);
        layer->kind = TL_KIND_SIGMOID;
        const kind_constants k = {.bias = json_number_value(json_object_get(attention, "bias"))};
        const double expected =
            json_number_value(json_object_get(json_object_get(root, "expect"), "norm_2"));
        cr_expect_float_eq(norm_of(layer, &k, n, x), expected, 1e-10 * expected, "%s", path);
        tl_layer_free(layer);
        json_decref(root);
    }
}

enum { WIDTH = 3, TOKENS = 6 };

/* A random layer of one or two heads with all biases for cosine; (A, V) without for sigmoid. */
static tl_layer *random_kind(gsl_rng *rng, tl_kind kind, size_t d, double size)
{
    const bool cosine = kind == TL_KIND_COSINE;
    const size_t heads = 1 + draw_below(rng, 2);
    tl_head head[2];
    double store[2][6][WIDTH * WIDTH], O[WIDTH * 2 * WIDTH];
    tl_layer *layer = NULL;

    for (size_t h = 0; h < heads; h++) {
        for (size_t a = 0; a < 6; a++)
            for (size_t i = 0; i < d * d; i++)
                store[h][a][i] = (a == 2 ? 1 : size) * random_normal(rng);
        head[h] = (tl_head){.k = d, .v = d, .Q = store[h][0], .V = store[h][2], .scale = 1};
        if (!cosine) continue;
        head[h].K = store[h][1];
        head[h].bq = store[h][3];
        head[h].bk = store[h][4];
        head[h].bv = store[h][5];
    }
    for (size_t i = 0; i < sizeof O / sizeof *O; i++) O[i] = random_normal(rng);
    bool output = draw_below(rng, 2);
    tl_mask mask = draw_below(rng, 2) ? TL_MASK_NONE : TL_MASK_CAUSAL;
    cr_assert_eq(
        tl_layer_alloc(&layer, kind, mask, d, heads, head, output ? O : NULL, output ? d : 0, NULL),
        TL_OK);
    return layer;
}

Test(bounds_kinds, cosine_oracle_is_the_limit_of_differences)
{
    gsl_rng *rng = draw_stream(71);
    const kind_constants k = {.nu = 1.3, .tau = 2, .eps = 0.3};
    double x[TOKENS * WIDTH], phi[TOKENS * WIDTH], moved[TOKENS * WIDTH];
    double y[2][TOKENS * 2 * WIDTH], dy[TOKENS * 2 * WIDTH], unused[TOKENS * 2 * WIDTH];

    for (int draw = 0; draw < 20; draw++) {
        tl_layer *layer = random_kind(rng, TL_KIND_COSINE, WIDTH, 1);
        double errors[2];
        for (size_t i = 0; i < TOKENS * WIDTH; i++) {
            x[i] = random_normal(rng);
            phi[i] = random_normal(rng);
        }
        for (int step = 0; step < 2; step++) {
            const double h = step ? 0.5e-3 : 1e-3;
            for (int side = 0; side < 2; side++) {
                for (size_t i = 0; i < TOKENS * WIDTH; i++)
                    moved[i] = x[i] + (side ? h : -h) * phi[i];
                cr_assert(kind_derivative(layer, &k, TOKENS, moved, phi, y[side], unused));
            }
            cr_assert(kind_derivative(layer, &k, TOKENS, x, phi, unused, dy));
            errors[step] = 0;
            for (size_t i = 0; i < TOKENS * layer->out; i++)
                errors[step] = hypot(errors[step], (y[1][i] - y[0][i]) / (2 * h) - dy[i]);
        }
        /* Central differences: the error falls by four. */
        cr_expect(errors[0] < 1e-2 && errors[0] / errors[1] > 3.5 && errors[0] / errors[1] < 4.5,
                  "errors %g %g", errors[0], errors[1]);
        tl_layer_free(layer);
    }
    gsl_rng_free(rng);
}

static double norm_up(const double *a, size_t rows, size_t cols)
{
    double norm = 0;

    cr_assert_eq(tl_norm2_dense(rows, cols, a, &norm), TL_OK);
    return norm * (1 + 64 * DBL_EPSILON);
}

/* What the bounds may know: norms and the radius about the origin. */
static tl_bound_query query_of(const tl_layer *layer, const kind_constants *k, tl_head_facts *fact,
                               size_t n, const double *x)
{
    tl_bound_query q = {.kind = layer->kind,
                        .mask = layer->mask,
                        .n = (double)n,
                        .d = layer->d,
                        .heads = layer->heads,
                        .head = fact,
                        .norm_o = layer->O ? norm_up(layer->O, layer->out, layer->values) : 1,
                        .bias = k->bias,
                        .nu = k->nu,
                        .tau = k->tau,
                        .eps = k->eps};
    double A[WIDTH * WIDTH], G[2 * WIDTH * WIDTH];

    for (size_t i = 0; i < n; i++)
        q.radius_origin = fmax(q.radius_origin, tl_nrm2(layer->d, x + i * layer->d));
    q.radius_origin *= 1 + 8 * DBL_EPSILON;
    q.radius = q.radius_origin;
    for (size_t h = 0; h < layer->heads; h++) {
        const tl_head *head = &layer->head[h];
        tl_layer_logit_map(layer, h, A, NULL);
        tl_layer_value_map(layer, h, G);
        fact[h] = (tl_head_facts){.norm_a = norm_up(A, layer->d, layer->d),
                                  .norm_v = norm_up(head->V, head->v, layer->d),
                                  .norm_ov = norm_up(G, layer->out, layer->d),
                                  .norm_q = norm_up(head->Q, head->k, layer->d),
                                  .width = head->k};
        fact[h].rho = fact[h].norm_a * q.radius;
        if (head->K) fact[h].norm_k = norm_up(head->K, head->k, layer->d);
    }
    return q;
}

/* Walks uphill in norm / bound and returns the largest seen. */
static double attack(gsl_rng *rng, tl_kind kind, const char *key, int starts, int steps)
{
    double worst = 0, x[TOKENS * WIDTH], kept[TOKENS * WIDTH];

    for (int s = 0; s < starts; s++) {
        const size_t n = 1 + draw_below(rng, TOKENS), d = 1 + draw_below(rng, WIDTH);
        const kind_constants k = {.bias = 3 * random_normal(rng),
                                  .nu = exp(random_normal(rng)),
                                  .tau = exp(2 * random_normal(rng)),
                                  .eps = exp(2 * random_normal(rng) - 2)};
        tl_layer *layer = random_kind(rng, kind, d, exp(random_normal(rng)));
        double best = 0, width = exp(random_normal(rng));
        memset(kept, 0, sizeof kept);
        for (int step = 0; step < steps; step++) {
            tl_head_facts fact[2];
            for (size_t i = 0; i < n * d; i++) x[i] = kept[i] + width * random_normal(rng);
            tl_bound_query q = query_of(layer, &k, fact, n, x);
            double ratio = norm_of(layer, &k, n, x) / exp(log_bound(key, &q));
            cr_assert(ratio <= 1 + 1e-12, "%s start %d step %d: %g", key, s, step, ratio);
            if (ratio > best) memcpy(kept, x, sizeof kept);
            width = ratio > best ? 1.2 * width : fmax(0.9 * width, 1e-5);
            best = fmax(best, ratio);
        }
        worst = fmax(worst, best);
        tl_layer_free(layer);
    }
    return worst;
}

Test(bounds_kinds, sigmoid_attacked)
{
    gsl_rng *rng = draw_stream(72);
    double worst = attack(rng, TL_KIND_SIGMOID, "sigmoid", draw_count(60), 40);

    cr_expect(worst > 0.5, "worst ratio %g: the attack has no teeth", worst);
    gsl_rng_free(rng);
}

Test(bounds_kinds, cosine_attacked)
{
    gsl_rng *rng = draw_stream(73);
    double published = attack(rng, TL_KIND_COSINE, "scsa", draw_count(30), 40);
    double sharp = attack(rng, TL_KIND_COSINE, "scsa-sharp", draw_count(60), 40);

    cr_expect(sharp > 0.3 && sharp > published, "worst ratios %g and %g", published, sharp);
    gsl_rng_free(rng);
}

Test(bounds_kinds, sigmoid_is_attained_at_zero_logits)
{
    tl_head_facts head;
    tl_bound_query q = plain_query(&head, 0, 9);

    /* A = 0: every weight is sigmoid(bias), the map n times that times the mean. */
    q.kind = TL_KIND_SIGMOID;
    q.bias = -log(9);
    cr_expect_float_eq(log_bound("sigmoid", &q), log(0.9), 1e-13);
    /* By hand: g = 2, bias 1: sigmoid(3), largest slope 1/4. */
    q = plain_query(&head, 2, 5);
    q.kind = TL_KIND_SIGMOID;
    q.bias = 1;
    cr_expect_float_eq(exp(log_bound("sigmoid", &q)), 5 * (1 / (1 + exp(-3)) + 1), 1e-10);
    /* Logits in [-7, -3]. */
    q.bias = -5;
    const double s = 1 / (1 + exp(3));
    cr_expect_float_eq(exp(log_bound("sigmoid", &q)), 5 * (s + 4 * s * (1 - s)), 1e-10);
}

Test(bounds_kinds, cosine_formulas_and_scales)
{
    tl_head_facts head;
    tl_bound_query q = plain_query(&head, 1, 7);

    q.kind = TL_KIND_COSINE;
    cr_expect(isnan(log_bound("scsa", &q)), "eps = 0 is refused");
    q.nu = 2;
    q.tau = 3;
    q.eps = 0.25;
    head.norm_q = 5;
    head.norm_k = 0.5;
    head.norm_v = 1.5;
    cr_expect_float_eq(exp(log_bound("scsa", &q)),
                       2 / 0.5 * (49 * 3 * 0.5 + 7 * 3 * 5 + 2 * 7 * 1.5), 1e-8);
    cr_expect_float_eq(exp(log_bound("scsa-sharp", &q)),
                       2 / 0.5 * (7 * 3 * 5.5 / 2 + sqrt(7) * 1.5), 1e-9);
    /* Linear in nu; t x is met by eps t^2 and weights over t. */
    double before = log_bound("scsa-sharp", &q);
    q.nu *= 4;
    cr_expect_float_eq(log_bound("scsa-sharp", &q), before + log(4), 1e-13);
    q.eps *= 4;
    cr_expect_float_eq(log_bound("scsa-sharp", &q), before + log(2), 1e-13);
    q.nu = 0;
    cr_expect(log_bound("scsa", &q) == -(double)INFINITY);
    q.infinite = true;
    cr_expect(isnan(log_bound("scsa", &q)));
}

Test(bounds_kinds, finite_at_the_ends_of_the_range)
{
    tl_head_facts head;

    for (double n = 1; n < 1e19; n *= 1000)
        for (double g = 1e-6; g < 1e7; g *= 10) {
            tl_bound_query q = plain_query(&head, g, n);
            q.kind = TL_KIND_SIGMOID;
            for (q.bias = -1e6; q.bias <= 1e6; q.bias += 1e6)
                cr_expect(isfinite(log_bound("sigmoid", &q)), "n %g g %g", n, g);
            q.kind = TL_KIND_COSINE;
            q.nu = q.tau = q.eps = g;
            head.norm_q = head.norm_k = g;
            cr_expect(isfinite(log_bound("scsa", &q)));
            cr_expect(log_bound("scsa-sharp", &q) <= log_bound("scsa", &q));
        }
}
