/* Stars in ball arithmetic: against the doubles, against the whole Jacobian of their tokens, and as
 * witnesses. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/witness_text.h"
#include "tightlip/star.h"

static const tl_star stars[] = {{2, 1, 1, 0.9},
                                {3, 1, 0.4, 1.3},
                                {3, 2, 1.1, 0.2},
                                {7, 3, 1.2, 1.1},
                                {9, 1, -0.7, 1.6},
                                {12, 6, 1, 1.4},
                                {12, 2, 1.3, -0.8},
                                {10, 9, 1, 1},
                                {5, 2, 0, 0},
                                {1025, 40, 1, 2.3},
                                {1000000000, 84348, 1, 3.4},
                                {400, 3, 30, 2},
                                {400, 3, 1e-9, 25}};

enum { STARS = sizeof stars / sizeof stars[0], LISTED = 9 };

static tl_certified_star exactly(const tl_star *star)
{
    tl_certified_star out = {
        .n = star->n, .centre = star->centre, .a = star->a, .rho = star->rho, .has_value = true};

    cr_assert_eq(tl_star_norm(star, &out.value), TL_OK);
    return out;
}

/* The upper end of the norm at the tokens, every one listed, U = V A = I: Q = 2 I at width 16. */
static double whole(const tl_star *star)
{
    enum { WIDTH = 16 };
    double I[WIDTH * WIDTH] = {0}, Q[WIDTH * WIDTH] = {0}, x[12 * WIDTH] = {0};
    tl_measure *listed = NULL, *mu = NULL;
    const tl_head head = {.k = WIDTH, .v = WIDTH, .Q = Q, .V = I, .scale = 1};

    for (size_t i = 0; i < WIDTH; i++) {
        I[i * (WIDTH + 1)] = 1;
        Q[i * (WIDTH + 1)] = 2;
    }
    cr_assert_eq(tl_star_tokens(star, &listed, NULL), TL_OK);
    for (size_t i = 0; i < listed->m * listed->d; i++)
        x[i / listed->d * WIDTH + i % listed->d] = listed->x[i];
    cr_assert_eq(tl_measure_alloc(&mu, listed->m, WIDTH, x, NULL, NULL, NULL), TL_OK);
    tl_layer layer = {.kind = TL_KIND_L2,
                      .mask = TL_MASK_NONE,
                      .d = WIDTH,
                      .out = WIDTH,
                      .heads = 1,
                      .values = WIDTH,
                      .head = (tl_head *)&head,
                      .value_factor = true};
    const tl_problem problem = {.layer = &layer, .measure = mu};
    tl_certificate c =
        certify(&problem, &(tl_certify_settings){.enclose = true, .norm_only = true});
    const double high = c.norm_at_x.high.value;
    tl_certificate_clear(&c);
    tl_measure_free(listed);
    tl_measure_free(mu);
    return high;
}

Test(certify_star, lower_bounds)
{
    for (size_t i = 0; i < STARS; i++) {
        const tl_certified_star star = exactly(&stars[i]);
        tl_certified lower;
        cr_assert_eq(tl_certify_star_lower(&star, &lower, NULL), TL_OK);
        cr_expect_float_eq(lower.value, star.value, 1e-13 * star.value, "star %zu: %.17g, %.17g", i,
                           lower.value, star.value);
        if (i < LISTED) cr_expect_leq(lower.value, whole(&stars[i]), "star %zu", i);
    }
    tl_certify_cleanup();
}

Test(certify_star, claims)
{
    static const struct {
        double factor;
        tl_verdict verdict;
    } rows[] = {{1, TL_VERDICT_CONFIRMED},
                {0.5, TL_VERDICT_CONFIRMED},
                {1 + 1e-9, TL_VERDICT_BELOW},
                {100, TL_VERDICT_BELOW}};
    const tl_certify_settings settings = {.boxes = true, .against = "kim-2-printed"};

    for (size_t i = 0; i < 3 * 5; i++) {
        static const size_t some[] = {0, 3, 10};
        tl_certified_star star = exactly(&stars[some[i / 5]]);
        tl_certificate c;
        size_t balls = 0;
        star.has_value = i % 5 < 4;
        if (star.has_value) star.value *= rows[i % 5].factor;
        cr_assert_eq(tl_certify_star(&star, &settings, &c, NULL), TL_OK);
        cr_expect_eq(c.verdict, star.has_value ? rows[i % 5].verdict : TL_VERDICT_NO_CLAIM,
                     "%zu: %s, %s", i, tl_verdict_name(c.verdict), c.why);
        cr_expect_eq(tl_certificate_contradicts(&c), c.verdict == TL_VERDICT_BELOW);
        /* Symmetric moves say nothing from above. */
        cr_expect(!c.has_upper && strcmp(c.norm_at_x.high.text, "inf") == 0 &&
                  isinf(c.norm_at_x.high.value));
        for (size_t j = 0; j < c.bounds; j++) {
            const tl_certified_bound *row = &c.bound[j];
            const bool spectral = row->applicable && row->bound->norm == TL_NORM_2;
            cr_expect_eq(row->standing == TL_STANDS_ABOVE, spectral, "%s", row->bound->key);
            cr_expect_eq(row->enclosed, spectral, "%s", row->bound->key);
            balls += row->enclosed;
        }
        cr_expect_eq(balls, 3, "kim-2, kim-2-printed and l2-2");
        tl_certificate_clear(&c);
    }
    tl_certify_cleanup();
}

/* Every bound of the records, in balls and by doubles. */
Test(certify_star, upper_ends)
{
    static const char *const keys[] = {"kim-2",     "kim-2-printed", "l2-2",      "l2-form-a",
                                       "l2-form-b", "l2-form-c",     "l2-form-d", "schur"};
    enum { KEYS = sizeof keys / sizeof keys[0] };

    for (size_t i = 0; i < STARS; i++) {
        const tl_certified_star star = exactly(&stars[i]);
        const tl_bound *bound[KEYS];
        tl_bound_value value[KEYS];
        tl_certified upper[KEYS];
        tl_head_facts head;
        tl_bound_query query;
        tl_bound_query_identity(&query, &head, star.n, star.n - star.centre + 1);
        for (size_t k = 0; k < KEYS; k++) {
            bound[k] = tl_bound_find(keys[k]);
            cr_assert_eq(tl_bound_evaluate(bound[k], &query, &value[k], NULL), TL_OK);
        }
        cr_assert_eq(tl_certify_star_upper(&star, KEYS, bound, value, upper, NULL), TL_OK);
        for (size_t k = 0; k < KEYS; k++) {
            cr_expect_eq(value[k].applicable, k < KEYS - 1 && (k < 6 || isfinite(upper[k].value)));
            if (!value[k].applicable)
                cr_expect_str_eq(upper[k].text, "inf", "%s", keys[k]);
            else
                cr_expect(fabs(upper[k].log10 * log(10) - value[k].log_value) < 1e-11 &&
                              upper[k].value >= star.value,
                          "%s, star %zu: %s", keys[k], i, upper[k].text);
        }
    }
    tl_certify_cleanup();
}

Test(certify_star, documents)
{
    static const struct {
        const char *members, *why; /* why NULL: fine */
    } rows[] = {
        {"'n': 5, 'centre': 2, 'a': 1, 'rho': 0.5", NULL},
        {"'n': 5, 'centre': 2, 'a': 1, 'rho': 0.5, 'norm': '2', 'value': 1.5", NULL},
        {"'n': 5, 'centre': 2, 'a': 1", "rho"},
        {"'n': 5, 'centre': 2, 'a': 1, 'rho': '1'", "Expected"},
        {"'n': 5, 'centre': 2, 'a': 1, 'rho': 1, 'b': 1", "left unpacked"},
        {"'n': 5.5, 'centre': 2, 'a': 1, 'rho': 1", "Expected"},
        {"'n': 5, 'centre': 2, 'a': 1, 'rho': 1, 'norm': 'inf'", "expected \"2\", found \"inf\""},
        {"'n': 5, 'centre': 5, 'a': 1, 'rho': 1", "expected 1 to n - 1 tokens, found 5 of n = 5"},
        {"'n': -5, 'centre': 1, 'a': 1, 'rho': 1", "found 1 of n = -5"}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[256];
        tl_error err = {0};
        tl_certified_star star;
        (void)snprintf(text, sizeof text, "{\"schema\": \"%s\", %s}", TL_STAR_SCHEMA,
                       rows[i].members);
        for (char *c = text; *c; c++)
            if (*c == '\'') *c = '"';
        json_t *document = json_loads(text, 0, NULL);
        cr_assert(tl_certified_star_is(document));
        const tl_status status = tl_certified_star_read(document, "w.json", &star, &err);
        cr_expect_eq(status, rows[i].why ? TL_ERR_PARSE : TL_OK, "%zu: %s", i, err.text);
        if (rows[i].why) {
            cr_expect(strstr(err.text, rows[i].why) && strncmp(err.text, "w.json: ", 8) == 0,
                      "%zu: %s", i, err.text);
        } else {
            cr_expect_eq(star.has_value, i == 1);
            cr_expect(star.n == 5 && star.centre == 2 && star.a == 1 && star.rho == 0.5);
        }
        if (i == 1) {
            json_t *again = tl_certified_star_write(&star);
            cr_expect(
                json_equal(json_object_get(again, "value"), json_object_get(document, "value")));
            cr_expect_eq(json_object_size(again), json_object_size(document));
            json_decref(again);
        }
        json_decref(document);
    }
    tl_certified_star star = {.n = 4, .centre = 4, .a = 1, .rho = 1};
    tl_certified lower;
    tl_certificate c;
    cr_expect_eq(tl_certify_star_lower(&star, &lower, NULL), TL_ERR_ARGUMENT);
    star = (tl_certified_star){.n = 4, .centre = 1, .a = (double)NAN, .rho = 1};
    cr_expect_eq(tl_certify_star(&star, NULL, &c, NULL), TL_ERR_ARGUMENT);
    cr_expect_eq(tl_certify_star_upper(&star, 0, NULL, NULL, NULL, NULL), TL_ERR_ARGUMENT);
}
