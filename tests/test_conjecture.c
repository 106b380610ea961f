/* A user's own bound: formulas, their errors, and the facts they speak of. */
#include <criterion/criterion.h>
#include <gsl/gsl_math.h>
#include <locale.h>
#include <math.h>
#include <string.h>

#include "support/bound_query.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/conjecture.h"
#include "tightlip/linalg.h"

#ifdef TL_WITH_MUPARSER

static double value_of(const char *formula, const tl_conjecture_facts *facts)
{
    tl_error err = {.text = ""};
    double value = 0;

    cr_assert_eq(tl_conjecture_evaluate(formula, facts, &value, &err), TL_OK, "%s: %s", formula,
                 err.text);
    return value;
}

Test(conjecture, formulas)
{
    tl_head_facts head;
    tl_bound_query query = plain_query(&head, 4, 100);
    tl_conjecture_facts facts;

    head.norm_v = 3;
    query.d = 2;
    cr_assert_eq(tl_conjecture_facts_at(&query, &facts), TL_OK);
    static const struct {
        const char *formula;
        double value;
    } rows[] = {
        {"log(norm_v) + 0.5*log(n) + log(1 + g)",
         1.0986122886681098 + 2.302585092994046 + 1.6094379124341003},
        {"n", 100},
        {"g - norm_a*R^2", 0},
        {"heads + H + d", 4},
        {"norm_o", 1},
        {"min(n, g) + max(1.5, 2)", 6},
        {"sqrt(g) * 2.5", 5},
        {"g > 3 ? 7 : 8", 7},
        {"2e1 + 1.5e-1*n", 35},
        {"n > 1e300 ? 2*g : log(n)", 4.605170185988092},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const double value = value_of(rows[i].formula, &facts);
        cr_expect(value <= rows[i].value + 1e-12 && value >= rows[i].value - 1e-12, "%s: %.17g",
                  rows[i].formula, value);
        cr_expect_eq(tl_conjecture_check(rows[i].formula, NULL), TL_OK);
    }
    query.infinite = true;
    cr_assert_eq(tl_conjecture_facts_at(&query, &facts), TL_OK);
    cr_expect_float_eq(value_of("n > 1e300 ? 2*g : log(n)", &facts), 8, 1e-12);
    cr_expect_float_eq(value_of("min(0.5*log(n), 2*g)", &facts), 8, 1e-12);
    /* The decimal point does not follow the locale. */
    (void)setlocale(LC_ALL, "de_DE.UTF-8");
    cr_expect_float_eq(value_of("0.5 * g", &facts), 2, 1e-15);
}

Test(conjecture, what_is_refused)
{
    static const struct {
        const char *formula, *says;
    } rows[] = {
        {"log(normv)", "position 5: unknown name 'normv' (did you mean 'norm_v'?); known are n, g"},
        {"zzz + 1", "position 1: unknown name 'zzz'; known are n, g, R"},
        {"n + max_row_p2", "position 5: unknown name 'max_row_p2'"},
        {"log(norm_v", "position 11: Missing parenthesis"},
        {"1 +", "position 4: Unexpected end of expression, in"},
        {"", "position"},
        {"g g", "position 3"},
        {"log(1, 2)", "Too many"},
        {"1, 2", "one formula, found 2"},
        {"n = 5", "position 3: Unexpected operator \"=\", in"},
        {"\"n\"", "Strings"},
    };
    tl_error err = {.text = ""};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_eq(tl_conjecture_check(rows[i].formula, &err), TL_ERR_PARSE, "%s",
                     rows[i].formula);
        cr_expect(strstr(err.text, rows[i].says), "%s: %s", rows[i].formula, err.text);
        cr_expect(strstr(err.text, rows[i].formula));
    }
    /* Words longer than muParser has room for. */
    char longest[TL_CONJECTURE_LONGEST + 2];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    cr_expect_eq(tl_conjecture_check(longest, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "at most 1000 characters, found 1001"), "%s", err.text);
    longest[sizeof longest - 2] = '\0';
    cr_expect_eq(tl_conjecture_check(longest, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "position 1: unknown name 'xxx"), "%s", err.text);
}

Test(conjecture, values_that_are_not_finite)
{
    static const struct {
        const char *formula, *says;
    } rows[] = {
        {"log(g)", "found none at g = -2, in \"log(g)\""},
        {"n/0 + 1e5*H", "found inf at n = 3, H = 1, in"},
        {"log(norm_v)", "found -inf at norm_v = 0"},
        {"1/0", "found inf at any values"},
        {"g + lambda_max", "lambda_max is not known here"},
        {"max(lambda_max, 1)", "lambda_max is not known here"},
    };
    tl_conjecture_facts facts = {{0}};
    tl_error err = {.text = ""};

    facts.value[TL_CONJECTURE_N] = 3;
    facts.value[TL_CONJECTURE_H] = 1;
    facts.value[TL_CONJECTURE_G] = -2;
    facts.value[TL_CONJECTURE_LAMBDA] = (double)NAN;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double value = 0;
        cr_expect_eq(tl_conjecture_check(rows[i].formula, NULL), TL_OK, "%s", rows[i].formula);
        cr_expect_eq(tl_conjecture_evaluate(rows[i].formula, &facts, &value, &err), TL_ERR_NUMERIC);
        cr_expect(isnan(value));
        cr_expect(strstr(err.text, rows[i].says), "%s: %s", rows[i].formula, err.text);
    }
}

/* What the parser keeps for the whole process would show here as a crash or a wrong value. */
Test(conjecture, threads)
{
    int wrong = 0;

#pragma omp parallel for num_threads(4) reduction(+ : wrong)
    for (int i = 0; i < 4000; i++) {
        tl_conjecture_facts facts = {{0}};
        tl_error err;
        double value = 0;
        facts.value[TL_CONJECTURE_N] = i;
        if (tl_conjecture_evaluate("n + 0.5", &facts, &value, &err) != TL_OK) wrong++;
        wrong += !(value > i && value < i + 1);
        if (tl_conjecture_evaluate("log(0*n - 1)", &facts, &value, &err) != TL_ERR_NUMERIC) wrong++;
        wrong += strstr(err.text, "at n = ") == NULL;
        if (tl_conjecture_evaluate("n +", &facts, &value, &err) != TL_ERR_PARSE) wrong++;
    }
    cr_expect_eq(wrong, 0);
}

static double logit(const tl_layer *layer, size_t h, const double *x, const double *y)
{
    const tl_head *head = &layer->head[h];
    double A[4], sum = 0;

    if (layer->kind == TL_KIND_DOT) {
        double c[2];
        tl_layer_logit_map(layer, h, A, c);
        return (A[0] * x[0] + A[1] * x[1] + c[0]) * y[0] +
               (A[2] * x[0] + A[3] * x[1] + c[1]) * y[1];
    }
    const double *K = head->K ? head->K : head->Q;
    for (size_t r = 0; r < 2 * head->k; r += 2) {
        const double u = head->Q[r] * x[0] + head->Q[r + 1] * x[1] - K[r] * y[0] - K[r + 1] * y[1];
        sum += u * u;
    }
    return -sum / sqrt((double)head->k);
}

typedef struct {
    double weight, column, lambda;
} at_tokens;

/* By the definitions, for width 2. */
static at_tokens expected_at(const tl_layer *layer, const tl_measure *mu)
{
    at_tokens most = {0};

    for (size_t h = 0; h < layer->heads; h++) {
        double column[8] = {0};
        for (size_t i = 0; i < mu->m; i++) {
            const double *x = mu->x + 2 * i;
            double q[8], total = 0, mean[2] = {0}, c[3] = {0};
            for (size_t j = 0; j < mu->m; j++)
                total += q[j] = exp(logit(layer, h, x, mu->x + 2 * j) - logit(layer, h, x, x) +
                                    mu->log_mass[j]);
            for (size_t j = 0; j < mu->m; j++) {
                q[j] /= total;
                most.weight = fmax(most.weight, q[j]);
                column[j] += q[j] * exp(mu->log_mass[i] - mu->log_mass[j]);
                for (int r = 0; r < 2; r++) mean[r] += q[j] * mu->x[2 * j + (size_t)r];
            }
            for (size_t j = 0; j < mu->m; j++) {
                const double u = mu->x[2 * j] - mean[0], v = mu->x[2 * j + 1] - mean[1];
                c[0] += q[j] * u * u;
                c[1] += q[j] * u * v;
                c[2] += q[j] * v * v;
            }
            const double root = hypot((c[0] - c[2]) / 2, c[1]);
            most.lambda = fmax(most.lambda, (c[0] + c[2]) / 2 + root);
        }
        for (size_t j = 0; j < mu->m; j++) most.column = fmax(most.column, column[j]);
    }
    return most;
}

Test(conjecture, facts_at_tokens)
{
    gsl_rng *rng = draw_stream(121);

    for (int draw = 0; draw < 120; draw++) {
        random_shape shape =
            random_shape_draw_kind(rng, draw % 2 ? TL_KIND_L2 : TL_KIND_DOT, TL_MASK_NONE);
        shape.d = 2;
        if (shape.m > 8) shape.m = 8;
        random_problem p = random_problem_draw(rng, &shape);
        const tl_measure *mu = p.measure;
        tl_head_facts head[8];
        tl_bound_query query;
        tl_conjecture_facts facts;
        double radius = 0, k = 0;
        cr_assert(p.layer->heads <= 8);
        for (size_t i = 0; i < mu->m; i++)
            radius = fmax(radius, hypot(mu->x[2 * i], mu->x[2 * i + 1]));
        for (size_t h = 0; h < p.layer->heads; h++) k = fmax(k, (double)p.layer->head[h].k);
        cr_assert_eq(tl_bound_query_init(&query, head, p.layer, mu, NULL, radius, NULL), TL_OK);
        cr_assert_eq(tl_conjecture_facts_at(&query, &facts), TL_OK);
        const at_tokens most = expected_at(p.layer, mu);
        cr_expect_float_eq(value_of("max_row_p", &facts), most.weight, 1e-10, "draw %d", draw);
        cr_expect_float_eq(value_of("max_column_sum", &facts), most.column, 1e-9 * most.column);
        cr_expect_float_eq(value_of("lambda_max", &facts), most.lambda, 1e-9 * (1 + most.lambda));
        cr_expect_float_eq(value_of("m", &facts), (double)mu->m, 0);
        cr_expect_float_eq(value_of("k", &facts), k, 0);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

/* Logits past the double range: what does not speak of the attention keeps its value. */
Test(conjecture, facts_past_the_double_range)
{
    const double A[] = {1e200, 0, 0, 1e200}, V[] = {1, 0, 0, 1}, x[] = {1e150, 0, 0, 1e150};
    tl_layer *layer;
    tl_measure *mu;
    tl_head_facts head;
    tl_bound_query query;
    tl_conjecture_facts facts;
    double value;

    cr_assert_eq(tl_layer_alloc_av(&layer, 2, 2, A, V), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 2, 2, x, NULL, NULL, NULL), TL_OK);
    cr_assert_eq(tl_bound_query_init(&query, &head, layer, mu, NULL, 1e150, NULL), TL_OK);
    cr_assert_eq(tl_conjecture_facts_at(&query, &facts), TL_OK);
    cr_expect_float_eq(value_of("log(n) + log10(norm_a)", &facts), 200 + M_LN2, 1e-9);
    cr_expect_eq(tl_conjecture_evaluate("lambda_max", &facts, &value, NULL), TL_ERR_NUMERIC);
    /* Tokens of another width are none of this layer. */
    tl_measure_free(mu);
    tl_layer_free(layer);
    cr_assert_eq(tl_layer_alloc_av(&layer, 2, 2, V, V), TL_OK);
    cr_assert_eq(tl_measure_alloc(&mu, 2, 1, V, NULL, NULL, NULL), TL_OK);
    query.layer = layer;
    query.measure = mu;
    cr_assert_eq(tl_conjecture_facts_at(&query, &facts), TL_OK);
    cr_expect(isnan(facts.value[TL_CONJECTURE_WEIGHT]));
    tl_layer_free(layer);
    tl_measure_free(mu);
}

#else

Test(conjecture, built_without_muparser)
{
    const tl_conjecture_facts facts = {{0}};
    tl_error err = {.text = ""};
    double value = 0;

    cr_expect_eq(tl_conjecture_check("n", &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "install libmuparser-dev"), "%s", err.text);
    cr_expect_eq(tl_conjecture_evaluate("n", &facts, &value, &err), TL_ERR_UNSUPPORTED);
    cr_expect(isnan(value));
}

#endif
