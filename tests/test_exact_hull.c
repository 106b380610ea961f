/* Boxes that hold the maximisers of tiny problems, and where a start lies among them. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#include "support/draws.h"
#include "support/exact_layer.h"

/* The supremum of two tokens on the line lies at a gap of 1.407252031; of three dot-product tokens,
 * A = -1, R = 2, at (2, .2195.., -2) up to order and sign. The start is found by its image. */
Test(exact, the_hull_holds_the_maximiser)
{
    static const struct {
        tl_kind kind;
        size_t n, dim;
        double a, radius, start[3], maximiser[3];
        tl_exact_place place;
    } rows[] = {
        {TL_KIND_L2, 2, 1, 1, INFINITY, {5, 5 + 1.4072520309}, {1.4072520309}, TL_EXACT_INSIDE},
        {TL_KIND_L2, 2, 1, 1, INFINITY, {0, 2}, {1.4072520309}, TL_EXACT_OUTSIDE},
        {TL_KIND_DOT, 3, 3, -1, 2, {2, .219527634764, -2}, {2, .219527634764, -2}, TL_EXACT_INSIDE},
        {TL_KIND_DOT, 3, 3, -1, 2, {-.219527634764, 2, -2}, {2, .219527634764, -2}, TL_EXACT_IMAGE},
        {TL_KIND_DOT, 3, 3, -1, 2, {1, 2, -2}, {2, .219527634764, -2}, TL_EXACT_OUTSIDE},
    };
    const double one = 1;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i += draw_stride(5)) {
        tl_layer *layer = exact_layer(rows[i].kind, 1, &rows[i].a, &one, NULL);
        const tl_exact_problem problem = {.layer = layer,
                                          .n = rows[i].n,
                                          .radius = rows[i].radius,
                                          .start = rows[i].start,
                                          .tolerance = 1e-6};
        tl_exact_result r = exact_run(&problem);
        cr_expect_eq(r.place, rows[i].place, "row %zu: %s", i, tl_exact_place_name(r.place));
        cr_assert_eq(r.dim, rows[i].dim);
        cr_expect(r.holding >= 1 && r.holding <= r.looked_at, "row %zu: %zu", i, r.holding);
        for (size_t k = 0; k < r.dim; k++)
            cr_expect(r.hull[2 * k] <= rows[i].maximiser[k] &&
                          rows[i].maximiser[k] <= r.hull[2 * k + 1] &&
                          r.hull[2 * k + 1] - r.hull[2 * k] < 0.02,
                      "row %zu: [%.9g, %.9g]", i, r.hull[2 * k], r.hull[2 * k + 1]);
        tl_exact_result_clear(&r);
        tl_layer_free(layer);
    }
}

/* Width 2, A = -1: turned, reflected and in the other order. */
Test(exact, images_at_width_two)
{
    const double A[] = {-1, 0, 0, -1}, V[] = {1, 0, 0, 1};
    /* The maximiser on a line through the origin, turned by 0.3 and 2, tokens exchanged. */
    static const double turn[] = {0, 0.3, 2};
    tl_layer *layer = exact_layer(TL_KIND_DOT, 2, A, V, NULL);

    for (size_t i = 0; i < 3; i += draw_stride(3)) {
        const double c = cos(turn[i]), s = sin(turn[i]), near = -0.512824854689;
        const double start[] = {near * c, near * s, 2 * c * (1 - 1e-15), 2 * s * (1 - 1e-15)};
        const tl_exact_problem problem = {
            .layer = layer, .n = 2, .radius = 2, .start = start, .tolerance = 1e-3};
        tl_exact_result r = exact_run(&problem);
        cr_expect_eq(r.place, TL_EXACT_IMAGE, "turn %g: %s", turn[i], tl_exact_place_name(r.place));
        tl_exact_result_clear(&r);
    }
    tl_layer_free(layer);
}

/* Two tokens in the ball of radius 1/2, kind l2: the norm rises with the gap t up to 1.407, so it
 * is largest at t = 1, where it is tanh(t^2/2) + t^2 sech^2(t^2/2). A start that lies outside by
 * rounding must not lift the lower end above it. */
Test(exact, a_start_on_the_sphere_proves_nothing_about_the_outside)
{
    static const double beyond[] = {0, 1e-16, 4e-13, 9.9e-13};
    const double one = 1, t = 1, known = tanh(t * t / 2) + t * t / pow(cosh(t * t / 2), 2);
    tl_layer *layer = exact_layer(TL_KIND_L2, 1, &one, &one, NULL);

    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        const double start[] = {0.5 * (1 + beyond[i]), -0.5 * (1 + beyond[i])};
        const tl_exact_problem problem = {
            .layer = layer, .n = 2, .radius = 0.5, .start = start, .tolerance = 1e-9};
        tl_exact_result r = exact_run(&problem);
        cr_expect(r.lower <= known * (1 + 4 * DBL_EPSILON) && known <= r.upper,
                  "%g beyond: [%.17g, %.17g], expected %.17g inside", beyond[i], r.lower, r.upper,
                  known);
        cr_expect_geq(r.lower, known * (1 - 1e-13));
        tl_exact_result_clear(&r);
    }
    tl_layer_free(layer);
}
