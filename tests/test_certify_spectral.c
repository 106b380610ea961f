/* Norms of matrices of balls where double precision steers the certificate: against the same at
 * more bits, which squares in balls, and against points that an ascent finds. */
#include <criterion/criterion.h>
#include <math.h>

#include "certify/formulas.h"
#include "support/draws.h"

enum { PREC = 128, MORE = 256, LARGEST = 40, ASCENT = 3000, STARTS = 4 };

static double normal(gsl_rng *rng)
{
    double sum = 0;

    for (int i = 0; i < 4; i++) sum += gsl_rng_uniform(rng) - 0.5;
    return sum;
}

/* Shapes that a start, a shift or a tie may be wrong for. */
static const char *const shapes[] = {"dense", "blocks", "rank one", "graded", "tied", "gaps"};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static double shaped(gsl_rng *rng, size_t shape, size_t i, size_t j)
{
    const bool diagonal = i == j;

    switch (shape) {
    case 0:
        return normal(rng);
    /* The longest column is an eigenvector, and not of the largest eigenvalue. */
    case 1:
        return diagonal && i == 0 ? 3 : i > 0 && i < 3 && j > 0 && j < 3 ? 2 : 0;
    case 2:
        return (1 + (double)i) * (2 - (double)(j % 5));
    case 3:
        return ldexp(normal(rng), -(int)(2 * i + j));
    case 4:
        return diagonal ? 1 : 0;
    default:
        return diagonal ? (i == 3 ? 1 : 1 - ldexp(1, -30)) : 0;
    }
}

Test(certify_spectral, norms_agree_with_those_at_more_bits)
{
    gsl_rng *rng = draw_stream(7301);
    arb_t norm, again;

    arb_init(norm);
    arb_init(again);
    for (int draw = 0; draw < draw_count(30); draw++) {
        const size_t shape = (size_t)draw % SHAPES, size = 9 + draw_below(rng, LARGEST - 9);
        const size_t cols = size + (shape == 0 ? draw_below(rng, 9) : 0);
        arb_mat_t M;
        arb_mat_init(M, (slong)size, (slong)cols);
        for (size_t i = 0; i < size; i++)
            for (size_t j = 0; j < cols; j++)
                arb_set_d(arb_mat_entry(M, (slong)i, (slong)j), shaped(rng, shape, i, j));
        tl_certify_norm2(norm, M, PREC);
        tl_certify_norm2(again, M, MORE);
        cr_expect(arb_overlaps(norm, again), "%s, %zu x %zu", shapes[shape], size, cols);
        /* The finest step of the certificate is 2^-64 of the square. */
        cr_expect(arb_rel_accuracy_bits(norm) >= 60, "%s, %zu x %zu: %ld bits", shapes[shape], size,
                  cols, (long)arb_rel_accuracy_bits(norm));
        arb_mat_clear(M);
    }
    arb_clear(again);
    arb_clear(norm);
    gsl_rng_free(rng);
}

/* A matrix at the ends of balls: signs of a rank-one matrix or at random. */
static void at_ends(arb_mat_t end, const arb_mat_t M, gsl_rng *rng, bool aligned)
{
    const slong rows = arb_mat_nrows(M), cols = arb_mat_ncols(M);
    const size_t across = draw_below(rng, 1u << cols), down = draw_below(rng, 1u << rows);
    arf_t radius;

    arf_init(radius);
    for (slong i = 0; i < rows; i++)
        for (slong j = 0; j < cols; j++) {
            const size_t drawn = aligned ? (across >> j ^ down >> i) & 1 : draw_below(rng, 2);
            arb_srcptr from = arb_mat_entry(M, i, j);
            arb_ptr to = arb_mat_entry(end, i, j);
            arf_set_mag(radius, arb_radref(from));
            if (drawn) arf_neg(radius, radius);
            arb_get_mid_arb(to, from);
            arb_add_arf(to, to, radius, ARF_PREC_EXACT);
        }
    arf_clear(radius);
}

/* Balls from wider than their middle to narrow: what is enclosed is every matrix in them. */
Test(certify_spectral, norms_hold_every_matrix_of_wide_balls)
{
    gsl_rng *rng = draw_stream(7304);
    arb_t norm, one;

    arb_init(norm);
    arb_init(one);
    for (int draw = 0; draw < draw_count(60); draw++) {
        const slong rows = 1 + (slong)draw_below(rng, 11), cols = 1 + (slong)draw_below(rng, 11);
        const slong width = 2 - (slong)draw_below(rng, 40);
        arb_mat_t M, end;
        arb_mat_init(M, rows, cols);
        arb_mat_init(end, rows, cols);
        for (slong i = 0; i < rows * cols; i++) {
            arb_set_d(M->entries + i, draw % 5 == 0 ? 0 : normal(rng));
            mag_set_d(arb_radref(M->entries + i), gsl_rng_uniform(rng));
            mag_mul_2exp_si(arb_radref(M->entries + i), arb_radref(M->entries + i), width);
        }
        tl_certify_norm2(norm, M, PREC);
        for (int i = 0; i < 8; i++) {
            at_ends(end, M, rng, i % 2 == 0);
            tl_certify_norm2(one, end, PREC);
            cr_expect(arb_overlaps(norm, one), "%ld x %ld, radius 2^%ld", (long)rows, (long)cols,
                      (long)width);
        }
        arb_mat_clear(end);
        arb_mat_clear(M);
    }
    arb_clear(one);
    arb_clear(norm);
    gsl_rng_free(rng);
}

/* A product of small inner width has the norm of its entries multiplied out. */
Test(certify_spectral, products_through_a_narrow_middle)
{
    gsl_rng *rng = draw_stream(7305);
    arb_t norm, whole;

    arb_init(norm);
    arb_init(whole);
    for (int draw = 0; draw < draw_count(20); draw++) {
        const slong inner = 1 + (slong)draw_below(rng, 5), outer = inner + draw % 3;
        arb_mat_t L, R, product;
        arb_mat_init(L, outer, inner);
        arb_mat_init(R, inner, outer + 1);
        arb_mat_init(product, outer, outer + 1);
        for (slong i = 0; i < outer * inner; i++) arb_set_d(L->entries + i, normal(rng));
        for (slong i = 0; i < inner * (outer + 1); i++) arb_set_d(R->entries + i, normal(rng));
        arb_mat_mul(product, L, R, PREC);
        tl_certify_norm2(whole, product, PREC);
        tl_certify_norm2_product(norm, L, R, PREC);
        cr_expect(arb_overlaps(norm, whole), "%ld x %ld", (long)outer, (long)inner);
        arb_mat_clear(product);
        arb_mat_clear(R);
        arb_mat_clear(L);
    }
    arb_clear(whole);
    arb_clear(norm);
    gsl_rng_free(rng);
}

/* S = I - t v v'/v'v, definite for t < 1 alone. */
static void deflated(arb_mat_t S, gsl_rng *rng, double t)
{
    const slong size = arb_mat_nrows(S);
    arb_mat_t v;
    arb_t scale;

    arb_mat_init(v, size, 1);
    arb_init(scale);
    for (slong i = 0; i < size; i++) arb_set_d(arb_mat_entry(v, i, 0), normal(rng));
    arb_dot(scale, NULL, 0, v->entries, 1, v->entries, 1, size, PREC);
    for (slong i = 0; i < size; i++)
        for (slong j = 0; j < size; j++) {
            arb_ptr to = arb_mat_entry(S, i, j);
            arb_mul(to, v->entries + i, v->entries + j, PREC);
            arb_div(to, to, scale, PREC);
        }
    arb_set_d(scale, t);
    arb_mat_scalar_mul_arb(S, S, scale, PREC);
    arb_mat_neg(S, S);
    for (slong i = 0; i < size; i++)
        arb_add_ui(arb_mat_entry(S, i, i), arb_mat_entry(S, i, i), 1, PREC);
    arb_clear(scale);
    arb_mat_clear(v);
}

Test(certify_spectral, factors_prove_definite_matrices_and_no_others)
{
    gsl_rng *rng = draw_stream(7302);

    for (int draw = 0; draw < draw_count(20); draw++) {
        const slong size = 1 + (slong)draw_below(rng, 30);
        const double edge = ldexp(1, -(int)draw_below(rng, 50));
        arb_mat_t S, L, T;
        arb_mat_init(S, size, size);
        arb_mat_init(L, size, size);
        arb_mat_init(T, size, size);
        deflated(S, rng, 1 + edge);
        cr_expect(!tl_certify_cholesky(L, S, PREC), "size %ld, 1 + %g", size, edge);
        deflated(S, rng, 1 - edge / 2);
        cr_expect(tl_certify_cholesky(L, S, PREC), "size %ld, 1 - %g", size, edge / 2);
        arb_mat_transpose(T, L);
        arb_mat_mul(T, L, T, PREC);
        cr_expect(arb_mat_overlaps(T, S), "size %ld, 1 - %g", size, edge / 2);
        arb_mat_clear(T);
        arb_mat_clear(L);
        arb_mat_clear(S);
    }
    gsl_rng_free(rng);
}

/* Balls that hold a matrix which is not definite, whatever their middle is. */
Test(certify_spectral, factors_need_every_matrix_of_the_balls_definite)
{
    static const struct {
        double diagonal, beside, radius;
        bool definite;
    } rows[] = {{1, 0, 2, false},      {1, 0, 1, false},  {0, 0, 0, false},  {1, 0.5, 0.75, false},
                {1, 0.5, 0.125, true}, {-1, 0, 2, false}, {1, 0, 0.25, true}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (slong size = rows[i].beside > 0 ? 2 : 1; size <= 3; size++) {
            arb_mat_t S, L;
            arb_mat_init(S, size, size);
            arb_mat_init(L, size, size);
            for (slong j = 0; j < size; j++) {
                arb_set_d(arb_mat_entry(S, j, j), rows[i].diagonal);
                if (size > 1 && j < 2) arb_set_d(arb_mat_entry(S, j, 1 - j), rows[i].beside);
            }
            for (slong j = 0; j < (size > 1 ? 2 : 1); j++)
                for (slong k = 0; k < (size > 1 ? 2 : 1); k++)
                    mag_set_d(arb_radref(arb_mat_entry(S, j, k)), rows[i].radius);
            cr_expect_eq(tl_certify_cholesky(L, S, PREC), rows[i].definite, "row %zu, size %ld", i,
                         (long)size);
            arb_mat_clear(L);
            arb_mat_clear(S);
        }
}

/* The largest |c + M y| of an ascent on |y| = 1: y along M'(c + M y) never goes down. */
static double reached(gsl_rng *rng, const double *m, const double *c, size_t rows, size_t k)
{
    double y[LARGEST], image[LARGEST], best = 0;

    for (int start = 0; start < STARTS; start++) {
        double length = 0;
        for (size_t j = 0; j < k; j++) y[j] = normal(rng);
        for (int step = 0; step < ASCENT; step++) {
            length = 0;
            for (size_t j = 0; j < k; j++) length += y[j] * y[j];
            for (size_t j = 0; j < k; j++) y[j] /= sqrt(length);
            length = 0;
            for (size_t i = 0; i < rows; i++) {
                image[i] = c[i];
                for (size_t j = 0; j < k; j++) image[i] += m[i * k + j] * y[j];
                length += image[i] * image[i];
            }
            for (size_t j = 0; j < k; j++) {
                y[j] = 0;
                for (size_t i = 0; i < rows; i++) y[j] += m[i * k + j] * image[i];
            }
        }
        best = fmax(best, sqrt(length));
    }
    return best;
}

Test(certify_spectral, the_farthest_point_is_enclosed_and_hardly_more)
{
    gsl_rng *rng = draw_stream(7303);
    arb_t reach;

    arb_init(reach);
    for (int draw = 0; draw < draw_count(24); draw++) {
        const size_t k = 1 + draw_below(rng, 20), rows = 1 + draw_below(rng, 20);
        const double sizes[] = {0, 1e-3, 1, 1e3};
        double m[LARGEST * LARGEST], c[LARGEST];
        arb_mat_t M, C;
        arb_mat_init(M, (slong)rows, (slong)k);
        arb_mat_init(C, (slong)rows, 1);
        for (size_t i = 0; i < rows * k; i++) m[i] = normal(rng);
        for (size_t i = 0; i < rows; i++) c[i] = sizes[draw % 4] * normal(rng);
        tl_certify_matrix_set(M, m);
        tl_certify_matrix_set(C, c);
        tl_certify_farthest(reach, M, C, PREC);
        const double found = reached(rng, m, c, rows, k);
        const double above = arf_get_d(arb_midref(reach), ARF_RND_NEAR);
        /* Sums of up to 400 terms in double precision. */
        cr_expect(above >= found * (1 - 1e-13), "%zu x %zu, %g: %.17g below %.17g", rows, k,
                  sizes[draw % 4], above, found);
        cr_expect(above <= found * (1 + 1e-8), "%zu x %zu, %g: %.17g far above %.17g", rows, k,
                  sizes[draw % 4], above, found);
        arb_mat_clear(C);
        arb_mat_clear(M);
    }
    arb_clear(reach);
    gsl_rng_free(rng);
}
