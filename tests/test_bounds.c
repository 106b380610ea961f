#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "bounds/internal.h"
#include "support/bound_query.h"
#include "support/draws.h"

static const char *const global_keys[] = {
    "castin-general", "castin-mean-field", "half-softmax", "schur", "sharp", "newhouse-inf2"};
enum { GLOBALS = sizeof global_keys / sizeof global_keys[0] };

Test(bounds, limits_in_g)
{
    const double ns[] = {1, 2, 3, 100, 1e9, 0x1p53, 1e18, (double)INFINITY};

    for (size_t i = 0; i < sizeof ns / sizeof ns[0]; i++) {
        /* A = 0: averaging, norm 1 whatever n. */
        cr_expect_float_eq(plain("sharp", 0, ns[i]), 0, 1e-12, "n %g", ns[i]);
        cr_expect_float_eq(plain("schur", 0, ns[i]), 0, 1e-12, "n %g", ns[i]);
        cr_expect_float_eq(plain("sharp", 1e-9, ns[i]), 0, 1e-7, "n %g", ns[i]);
        for (size_t k = 0; k < GLOBALS; k++) {
            double huge = plain(global_keys[k], 1e9, ns[i]);
            cr_expect(isnan(huge) ? isinf(ns[i]) : isfinite(huge) && huge >= 0, "%s n %g",
                      global_keys[k], ns[i]);
        }
    }
    /* tau_mf ~ sqrt(27/64) g e^g. */
    cr_expect_float_eq(plain("sharp", 1e9, (double)INFINITY) - 1e9, log(sqrt(27.0 / 64) * 1e9),
                       1e-4);
    /* n fixed, g to infinity: kappa_n^2 = 1 + (q + sqrt(q^2 + 2(n - 2)))/2, q = n/2 + 2. */
    for (double n = 2; n <= 4096; n *= 2) {
        double q = n / 2 + 2, kappa = sqrt(1 + (q + sqrt(q * q + 2 * (n - 2))) / 2);
        cr_expect_float_eq(plain("sharp", 1e9, n), log(kappa) + log(1e9), 1e-6, "n %g", n);
    }
    cr_expect(isnan(plain("sharp", 1e308, 5)), "g past the double range is refused");
}

Test(bounds, one_token_is_v_itself)
{
    for (double g = 0; g < 100; g = 3 * g + 0.1) {
        for (size_t k = 0; k < GLOBALS; k++) cr_expect(plain(global_keys[k], g, 1) >= 0);
        cr_expect_float_eq(plain("sharp", g, 1), 0, 1e-13);
        cr_expect_float_eq(plain("schur", g, 1), 0, 1e-13);
    }
}

Test(bounds, grow_with_n_and_g)
{
    for (size_t k = 0; k < GLOBALS; k += draw_stride(5)) {
        /* A branch and bound stops up to this far above its maximum, and takes its time. */
        const bool searched = strcmp(global_keys[k], "sharp") == 0;
        const double unfinished = searched ? 5e-3 : 0, step = searched ? 300 : 1.7;
        for (double g = 0; g < 200; g = 1.3 * g + (searched ? 1 : 0.05)) {
            const double larger = 1.3 * g + 0.05;
            double before = -1;
            for (double n = 1; n < 1e19; n = floor(step * n + 1)) {
                double now = plain(global_keys[k], g, n);
                /* Both sides carry their outward margin. */
                double slack = 128 * DBL_EPSILON * (2 + 4 * g + 2 * log(n)) + unfinished;
                cr_expect(now >= before - slack, "%s g %g n %g", global_keys[k], g, n);
                cr_expect(plain(global_keys[k], larger, n) >= now - slack, "%s g %g n %g",
                          global_keys[k], g, n);
                before = now;
            }
            double limit = plain(global_keys[k], g, (double)INFINITY);
            cr_expect(isnan(limit) || limit >= before - 1e-11 * (1 + g), "%s g %g", global_keys[k],
                      g);
        }
    }
}

Test(bounds, mean_field_row_bound_is_the_maximum_of_its_quartic)
{
    for (double g = 0; g < 40; g = 1.2 * g + 0.01) {
        double largest = 0, e = exp(-2 * g);
        for (int i = 0; i <= 20000; i++) {
            double p = i / 20000.0, r = 1 + 2 * g * (1 - p), s = 1 - 2 * g * p;
            largest = fmax(largest, (1 - p + p * e) * (p * r * r + e * (1 - p) * s * s));
        }
        double exact = 2 * tl_bounds_log_tau_mean_field(g) - 2 * g - log(largest);
        cr_expect(exact > 0, "g %g: below the grid by %g", g, exact);
        cr_expect(exact < 1e-7, "g %g: above the grid by %g", g, exact);
        /* The closed form of the leading branch at p* is a value of the functional. */
        double p = (5 * g + 1 - sqrt(9 * g * g + 2 * g + 1)) / (8 * g + 1e-300);
        double branch = p * (1 - p) * (1 + 2 * g * (1 - p)) * (1 + 2 * g * (1 - p));
        cr_expect(exp(2 * tl_bounds_log_tau_mean_field(g)) >= exp(2 * g) * branch);
    }
}

Test(bounds, quartic_maximum)
{
    /* (t - 1/3)^2 (1 - t)^2: maximum 1/9 at t = 0. */
    const double end[5] = {1.0 / 9, -1.0 / 9, 2.0 / 27, 0, 0};
    /* t (1 - t): maximum 1/4. */
    const double middle[5] = {0, 1.0 / 4, 1.0 / 3, 1.0 / 4, 0};
    const double flat[5] = {3, 3, 3, 3, 3}, negative[5] = {-3, -2, -2, -2, -3};

    cr_expect_float_eq(tl_bounds_quartic_max(end), 1.0 / 9, 1e-13);
    cr_expect(tl_bounds_quartic_max(end) >= 1.0 / 9);
    cr_expect_float_eq(tl_bounds_quartic_max(middle), 0.25, 1e-13);
    cr_expect(tl_bounds_quartic_max(middle) >= 0.25);
    cr_expect_float_eq(tl_bounds_quartic_max(flat), 3, 1e-12);
    /* The value at 1/2, by symmetry. */
    cr_expect_float_eq(tl_bounds_quartic_max(negative), -2.125, 1e-12);
}

Test(bounds, merge_is_between_its_parts)
{
    for (double g = 0.01; g < 1e4; g *= 3) {
        double tau = log(hypot(1, g)) + 0.3;
        double merged = tl_bounds_log_merge(tau, g, g);
        cr_expect(merged >= tau && merged <= log(exp(tau) + g) + 1e-12);
        cr_expect_float_eq(tl_bounds_log_merge(tau, g, 0), tau, 1e-12);
    }
    /* By hand: tau = 2, w = sqrt 2, c = 1. */
    double s = 4 + 2 * sqrt(2), u2 = 1 + (s + sqrt(s * s + 4 * (4 - 2))) / 2;
    cr_expect_float_eq(tl_bounds_log_merge(log(2), 1, 1), log(u2) / 2, 1e-13);
}

Test(bounds, published_formulas)
{
    const double g = 1.7, n = 23;

    cr_expect_float_eq(plain("castin-general", g, n), log(3 * (g * g * (4 * n + 1) + n)) / 2,
                       1e-12);
    cr_expect_float_eq(plain("castin-mean-field", g, n), log(1 + 3 * g) + 2 * g, 1e-12);
    cr_expect_float_eq(plain("half-softmax", g, n), log(sqrt(n) + n * g), 1e-12);
    cr_expect_float_eq(plain("newhouse-inf2", g, n), log(1 + 2 * g), 1e-12);
}

Test(bounds, heads_and_values)
{
    tl_head_facts head[2];
    tl_bound_query query = plain_query(head, 2, 50);
    double one = log_bound("sharp", &query);

    head[0].norm_v = head[0].norm_ov = 3;
    cr_expect_float_eq(log_bound("sharp", &query), one + log(3), 1e-12);
    head[0].norm_v = head[0].norm_ov = 0;
    for (size_t k = 0; k < GLOBALS; k++)
        cr_expect(log_bound(global_keys[k], &query) == -(double)INFINITY, "%s", global_keys[k]);
    /* Two equal heads side by side: sqrt 2, not 2. Behind an output matrix: the smaller form. */
    head[0].norm_v = head[0].norm_ov = 1;
    head[1] = head[0];
    query.heads = 2;
    cr_expect_float_eq(log_bound("sharp", &query), one + log(2) / 2, 1e-12);
    query.norm_o = 10;
    cr_expect_float_eq(log_bound("sharp", &query), one + log(2), 1e-12);
    head[0].norm_ov = 0;
    cr_expect_float_eq(log_bound("sharp", &query), one, 1e-12);
}

Test(bounds, off_centre_ball_with_bias)
{
    tl_head_facts head;
    tl_bound_query query = plain_query(&head, 2, 50);
    double centred = log_bound("sharp", &query);

    /* The same differences, the same |A x + c|: the position of the ball is of no account. */
    query.radius_origin = 100;
    query.biased = true;
    cr_expect_eq(log_bound("sharp", &query), centred);
    head.rho = 4;
    cr_expect(log_bound("sharp", &query) > centred);
    cr_expect(isnan(log_bound("castin-general", &query)));
    cr_expect(isnan(log_bound("castin-mean-field", &query)));
    cr_expect(isnan(log_bound("half-softmax", &query)));
    cr_expect(isnan(log_bound("newhouse-inf2", &query)));
}

static const char *refusal(const char *key, const tl_bound_query *query, tl_bound_value *value)
{
    cr_assert_eq(tl_bound_evaluate(tl_bound_find(key), query, value, NULL), TL_OK);
    return value->applicable ? "" : value->why;
}

Test(bounds, refusals_say_why)
{
    tl_head_facts head;
    tl_bound_query query = plain_query(&head, 1, 5);
    tl_bound_value value;

    cr_expect(strstr(refusal("sharp-local", &query, &value), "tokens"));
    cr_expect(strstr(refusal("yudin-local", &query, &value), "tokens"));
    query.infinite = true;
    cr_expect(strstr(refusal("castin-general", &query, &value), "mean field"));
    cr_expect(strstr(refusal("half-softmax", &query, &value), "mean field"));
    cr_expect(strstr(refusal("yudin-local", &query, &value), "mean field"));
    query.infinite = false;
    query.mask = TL_MASK_CAUSAL;
    static const char *const unmasked[] = {"castin-mean-field", "schur", "sharp", "w-infinity"};
    for (size_t k = 0; k < sizeof unmasked / sizeof unmasked[0]; k++)
        cr_expect(strstr(refusal(unmasked[k], &query, &value), "causal"), "%s", unmasked[k]);
    static const char *const any_mask[] = {"castin-general", "half-softmax", "newhouse-inf2"};
    for (size_t k = 0; k < sizeof any_mask / sizeof any_mask[0]; k++)
        cr_expect_str_eq(refusal(any_mask[k], &query, &value), "", "%s", any_mask[k]);
    query.mask = TL_MASK_NONE;
    query.kind = TL_KIND_L2;
    size_t of_this_kind = 0;
    for (size_t b = 0; b < tl_bound_count(); b++) {
        const tl_bound *bound = tl_bound_at(b);
        const bool l2 = strstr(bound->hypotheses, "L2 attention") == bound->hypotheses ||
                        strcmp(bound->key, "kim-2-printed") == 0;
        const bool named = strstr(refusal(bound->key, &query, &value), "kind l2") != NULL;
        cr_expect_neq(named, l2, "%s: %s", bound->key, value.why);
        of_this_kind += l2;
    }
    cr_expect_eq(of_this_kind, 9);
}

Test(bounds, meaningless_queries)
{
    static const double bad[] = {-1, (double)NAN, (double)INFINITY};
    tl_bound_value value;

    for (size_t i = 0; i < 3; i++)
        for (int field = 0; field < 8; field++) {
            tl_head_facts head;
            tl_bound_query query = plain_query(&head, 1, 5);
            double *const fields[] = {&query.n,      &query.radius, &query.radius_origin,
                                      &query.norm_o, &head.norm_a,  &head.norm_v,
                                      &head.norm_ov, &head.rho};
            *fields[field] = bad[i];
            for (size_t b = 0; b < tl_bound_count(); b++)
                cr_expect_eq(tl_bound_evaluate(tl_bound_at(b), &query, &value, NULL),
                             TL_ERR_ARGUMENT, "field %d value %g", field, bad[i]);
        }
    tl_head_facts head;
    tl_bound_query query = plain_query(&head, 1, 0);
    cr_expect_eq(tl_bound_evaluate(tl_bound_at(0), &query, &value, NULL), TL_ERR_ARGUMENT);
    query.n = 2.5;
    cr_expect_eq(tl_bound_evaluate(tl_bound_at(0), &query, &value, NULL), TL_ERR_ARGUMENT);
    query.n = 3;
    query.heads = 0;
    cr_expect_eq(tl_bound_evaluate(tl_bound_at(0), &query, &value, NULL), TL_ERR_ARGUMENT);
    tl_error err = {0};
    query.heads = 1;
    head.norm_v = (double)INFINITY;
    cr_expect_eq(tl_bound_evaluate(tl_bound_find("sharp"), &query, &value, &err), TL_ERR_ARGUMENT);
    cr_expect_str_eq(err.text, "bound sharp: ||V|| of head 0: expected a number in the double "
                               "range, >= 0, found inf");
}

Test(bounds, registry_is_consistent)
{
    cr_assert_geq(tl_bound_count(), 8);
    cr_expect_null(tl_bound_at(tl_bound_count()));
    cr_expect_null(tl_bound_find("no such bound"));
    for (size_t i = 0; i < tl_bound_count(); i++) {
        const tl_bound *bound = tl_bound_at(i);
        const char *const texts[] = {bound->key, bound->title, bound->citation, bound->hypotheses};
        cr_expect_eq(tl_bound_find(bound->key), bound, "key %s is not unique", bound->key);
        for (size_t k = 0; k < 4; k++)
            cr_expect(texts[k] && texts[k][0], "bound %zu text %zu", i, k);
        cr_expect(bound->evaluate != NULL);
        cr_expect_str_neq(tl_scope_name(bound->scope), "unknown");
        cr_expect_str_neq(tl_provenance_name(bound->provenance), "unknown");
        if (strstr(bound->key, "inf2")) cr_expect_eq(bound->norm, TL_NORM_INF2, "%s", bound->key);
    }
    cr_expect_str_eq(tl_scope_name(TL_SCOPE_BALL), "ball");
    cr_expect_str_eq(tl_scope_name(TL_SCOPE_MEAN_FIELD), "mean-field");
    cr_expect_str_eq(tl_scope_name(TL_SCOPE_LOCAL), "local");
    cr_expect_str_eq(tl_provenance_name(TL_PROVENANCE_PUBLISHED), "published");
    cr_expect_str_eq(tl_provenance_name(TL_PROVENANCE_PROVEN), "proven");
    cr_expect_str_eq(tl_provenance_name(TL_PROVENANCE_REFUTED), "refuted");
}
