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
        {"-1/0", -(double)INFINITY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const double value = value_of(rows[i].formula, &facts);
        cr_expect(value <= rows[i].value + 1e-12 && value >= rows[i].value - 1e-12, "%s: %.17g",
                  rows[i].formula, value);
        cr_expect_eq(tl_conjecture_check(rows[i].formula, NULL), TL_OK);
    }
    query.infinite = true;
    cr_assert_eq(tl_conjecture_facts_at(&query, &facts), TL_OK);
    cr_expect(isinf(value_of("log(n)", &facts)));
    /* The decimal point does not follow the locale. */
    (void)setlocale(LC_ALL, "de_DE.UTF-8");
    cr_expect_float_eq(value_of("0.5 * g", &facts), 2, 1e-15);
}

Test(conjecture, what_is_refused)
{
    static const struct {
        const char *formula, *says;
    } rows[] = {
        {"log(normv)", "position 5: unknown name 'normv'; did you mean 'norm_v'?"},
        {"zzz + 1", "position 1: unknown name 'zzz'; known are n, g, R"},
        {"log(norm_v", "position 12: Missing parenthesis"},
        {"1 +", "position"},
        {"", "position"},
        {"g g", "position 3"},
        {"log(1, 2)", "Too many"},
    };
    tl_error err = {.text = ""};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect_eq(tl_conjecture_check(rows[i].formula, &err), TL_ERR_PARSE, "%s",
                     rows[i].formula);
        cr_expect(strstr(err.text, rows[i].says), "%s: %s", rows[i].formula, err.text);
        cr_expect(strstr(err.text, rows[i].formula));
    }
    tl_conjecture_facts facts = {{0}};
    double value;
    facts.value[TL_CONJECTURE_G] = -2;
    facts.value[TL_CONJECTURE_LAMBDA] = (double)NAN;
    cr_expect_eq(tl_conjecture_evaluate("log(g)", &facts, &value, &err), TL_ERR_NUMERIC);
    cr_expect(strstr(err.text, "not a number at g = -2"), "%s", err.text);
    cr_expect_eq(tl_conjecture_evaluate("g + lambda_max", &facts, &value, &err), TL_ERR_NUMERIC);
    cr_expect(strstr(err.text, "lambda_max = unknown"), "%s", err.text);
}

/* Facts at the tokens against their definitions written out. */
Test(conjecture, facts_at_tokens)
{
    gsl_rng *rng = draw_stream(121);

    for (int draw = 0; draw < 40; draw++) {
        const random_shape shape = {
            .m = 1 + draw_below(rng, 4), .d = 2, .heads = 1, .copies = draw % 2, .logit_scale = 2};
        random_problem p = random_problem_draw(rng, &shape);
        const tl_measure *mu = p.measure;
        double A[4], weight = 0, lambda = 0, column[4] = {0}, sum = 0, radius = 0;
        tl_layer_logit_map(p.layer, 0, A, NULL);
        for (size_t i = 0; i < mu->m; i++) {
            const double *x = mu->x + 2 * i;
            const double b[2] = {A[0] * x[0] + A[1] * x[1], A[2] * x[0] + A[3] * x[1]};
            double q[4], total = 0, mean[2] = {0}, c[3] = {0};
            radius = fmax(radius, hypot(x[0], x[1]));
            for (size_t j = 0; j < mu->m; j++)
                total += q[j] =
                    exp(b[0] * mu->x[2 * j] + b[1] * mu->x[2 * j + 1]) * (double)mu->count[j];
            for (size_t j = 0; j < mu->m; j++) {
                q[j] /= total;
                weight = fmax(weight, q[j]);
                column[j] += q[j] * (double)mu->count[i] / (double)mu->count[j];
                for (int r = 0; r < 2; r++) mean[r] += q[j] * mu->x[2 * j + (size_t)r];
            }
            for (size_t j = 0; j < mu->m; j++) {
                const double u = mu->x[2 * j] - mean[0], v = mu->x[2 * j + 1] - mean[1];
                c[0] += q[j] * u * u;
                c[1] += q[j] * u * v;
                c[2] += q[j] * v * v;
            }
            lambda = fmax(lambda, (c[0] + c[2]) / 2 + hypot((c[0] - c[2]) / 2, c[1]));
        }
        for (size_t j = 0; j < mu->m; j++) sum = fmax(sum, column[j]);
        tl_head_facts head;
        tl_bound_query query;
        tl_conjecture_facts facts;
        cr_assert_eq(tl_bound_query_init(&query, &head, p.layer, mu, NULL, radius, NULL), TL_OK);
        cr_assert_eq(tl_conjecture_facts_at(&query, &facts), TL_OK);
        cr_expect_float_eq(value_of("max_weight", &facts), weight, 1e-11);
        cr_expect_float_eq(value_of("column_sum", &facts), sum, 1e-10 * sum);
        cr_expect_float_eq(value_of("lambda_max", &facts), lambda, 1e-10 * (1 + lambda));
        cr_expect_float_eq(value_of("m", &facts), (double)mu->m, 0);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}
