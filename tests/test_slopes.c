/* Slopes in W_2: the values of the reference, their order, and a brute force over y. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/draws.h"
#include "support/measure_line.h"
#include "tightlip/linalg.h"
#include "tightlip/slopes.h"

Test(slopes, reference_values)
{
    static const struct {
        double a, r, move, split;
    } rows[] = {{-1, 1.5, 1.4308, 1.5000}, {-1, 2, 2.3980, 2.6667}, {-1, 3, 5.6869, 6.0000}};

    for (size_t i = 0; i < 3; i++) {
        const double x[] = {-rows[i].r, 0, rows[i].r};
        measure_line l = measure_line_at(rows[i].a, 3, x, rows[i].r);
        tl_slopes s;
        cr_assert_eq(tl_slopes_find(l.layer, l.mu, l.ball, 16, 1, &s, NULL), TL_OK);
        cr_expect_float_eq(s.move, rows[i].move, 5e-5);
        cr_expect_float_eq(s.split, rows[i].split, 5e-5);
        cr_expect(s.far >= s.split && s.pointwise >= s.move && s.neighbourhood >= s.split);
        tl_slopes_clear(&s);
        measure_line_clear(&l);
    }
    const double x[] = {-3, 3};
    measure_line l = measure_line_at(1, 2, x, 3);
    tl_slopes s;
    cr_assert_eq(tl_slopes_find(l.layer, l.mu, l.ball, 16, 1, &s, NULL), TL_OK);
    cr_expect_float_eq(s.move, 1.0000, 5e-5);
    cr_expect_float_eq(s.far, 1.6330, 5e-5);
    cr_expect_float_eq(fabs(s.far_to[0]), 0.50, 5e-3);
    cr_expect_float_eq(s.pointwise, 1.6330, 5e-5);
    /* C_0 = 9: a token at 0 sees both atoms alike. */
    cr_expect_float_eq(s.neighbourhood, 9, 1e-9);
    cr_expect_float_eq(s.at[0], 0, 1e-5);
    tl_slopes_clear(&s);
    measure_line_clear(&l);
}

/* f(y) by its definition. */
static double output(double a, size_t m, const double *x, double y)
{
    double top = 0, bottom = 0;

    for (size_t k = 0; k < m; k++) {
        const double w = exp(a * y * x[k]);
        top += w * x[k];
        bottom += w;
    }
    return top / bottom;
}

/* On a line the cheapest chain stops at every output in between: a grid over y. */
Test(slopes, grid_on_a_line)
{
    gsl_rng *rng = draw_stream(75);

    for (int i = 0; i < draw_count(20); i++) {
        const size_t m = 2 + draw_below(rng, 3);
        const double a = gsl_rng_uniform(rng) < .5 ? -1 : 1;
        double x[4], far = 0, steep = 0, f[4];
        for (size_t k = 0; k < m; k++) x[k] = 4 * gsl_rng_uniform(rng) - 2;
        for (size_t k = 0; k < m; k++) f[k] = output(a, m, x, x[k]);
        for (int g = 0; g <= 4000; g++) {
            const double y = -2 + 4 * g / 4000.0, fy = output(a, m, x, y);
            const double h = 1e-5;
            steep = fmax(steep, fabs(output(a, m, x, y + h) - output(a, m, x, y - h)) / (2 * h));
            for (size_t k = 0; k < m; k++) {
                /* Outputs strictly between split the hop; in one dimension all of them help. */
                double stops[6] = {fmin(fy, f[k]), fmax(fy, f[k])}, sum = 0;
                size_t count = 2;
                for (size_t l = 0; l < m; l++)
                    if (f[l] > stops[0] && f[l] < stops[1]) stops[count++] = f[l];
                for (size_t p = 1; p < count; p++)
                    for (size_t q = p; q > 0 && stops[q] < stops[q - 1]; q--) {
                        const double t = stops[q];
                        stops[q] = stops[q - 1];
                        stops[q - 1] = t;
                    }
                for (size_t p = 1; p < count; p++)
                    sum += (stops[p] - stops[p - 1]) * (stops[p] - stops[p - 1]);
                if (fabs(y - x[k]) > 1e-3) far = fmax(far, sqrt(sum) / fabs(y - x[k]));
            }
        }
        measure_line l = measure_line_at(a, m, x, 2);
        tl_slopes s;
        cr_assert_eq(tl_slopes_find(l.layer, l.mu, l.ball, 12, 1, &s, NULL), TL_OK);
        cr_expect(s.far >= far * (1 - 1e-5), "draw %d: %.9g, grid %.9g", i, s.far, far);
        cr_expect(s.far <= fmax(far, s.split) * (1 + 1e-3), "draw %d: %.9g, grid %.9g", i, s.far,
                  far);
        cr_expect(s.neighbourhood >= steep * (1 - 1e-6), "draw %d: %.9g, grid %.9g", i,
                  s.neighbourhood, steep);
        tl_slopes_clear(&s);
        measure_line_clear(&l);
    }
    gsl_rng_free(rng);
}

Test(slopes, what_is_refused)
{
    const double x[] = {-1, 3};
    measure_line l = measure_line_at(1, 2, x, 2);
    tl_domain *space = NULL, *wide = NULL;
    tl_slopes s;
    tl_error err = {0};

    cr_assert_eq(tl_domain_alloc_space(&space, 1, 1, NULL), TL_OK);
    cr_expect_eq(tl_slopes_find(l.layer, l.mu, l.ball, 4, 1, &s, &err), TL_ERR_DOMAIN);
    cr_expect(strstr(err.text, "tokens[1]"), "%s", err.text);
    cr_expect_eq(tl_slopes_find(l.layer, l.mu, space, 4, 1, &s, &err), TL_ERR_UNSUPPORTED);
    cr_expect(strstr(err.text, "bounded"), "%s", err.text);
    cr_assert_eq(tl_domain_alloc_ball(&wide, 3, 9, NULL, NULL), TL_OK);
    cr_expect_eq(tl_slopes_find(l.layer, l.mu, wide, 4, 1, &s, &err), TL_ERR_SHAPE);
    cr_expect(strstr(err.text, "width 3"), "%s", err.text);
    tl_domain_free(wide);
    tl_domain_free(space);
    measure_line_clear(&l);
}
