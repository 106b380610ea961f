/* Products in pairs of doubles against balls of many more bits: what they claim to be off by is not
 * less than what they are off by. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "certify/measure.h"
#include "certify/quick.h"
#include "support/draws.h"

enum { MORE = 300, WIDEST = 70 };

static double normal(gsl_rng *rng)
{
    double sum = 0;

    for (int i = 0; i < 4; i++) sum += gsl_rng_uniform(rng) - 0.5;
    return sum;
}

static void set_pair(arb_t to, double hi, double lo)
{
    arb_t t;

    arb_init(t);
    arb_set_d(to, hi);
    arb_set_d(t, lo);
    arb_add(to, to, t, MORE);
    arb_clear(t);
}

/* Entries of many sizes, hi and lo. */
static void draw_pairs(tl_certify_pairs *p, gsl_rng *rng, size_t rows, size_t cols)
{
    cr_assert(tl_certify_pairs_alloc(p, rows, cols));
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            const double x = ldexp(normal(rng), (int)draw_below(rng, 40) - 20);
            p->hi[i * p->stride + j] = x;
            p->lo[i * p->stride + j] = x * normal(rng) * 0x1p-56;
        }
}

/* Terms 2k and 2k + 1 cancel to what only the lower parts know. */
static void cancel(tl_certify_pairs *A, tl_certify_pairs *B)
{
    for (size_t k = 0; k + 1 < A->cols; k += 2) {
        for (size_t i = 0; i < A->rows; i++) {
            double *hi = A->hi + i * A->stride + k, *lo = A->lo + i * A->stride + k;
            hi[1] = hi[0];
            lo[1] = lo[0] / 2;
        }
        for (size_t j = 0; j < B->cols; j++) {
            double *hi = B->hi + k * B->stride + j, *lo = B->lo + k * B->stride + j;
            hi[B->stride] = -hi[0];
            lo[B->stride] = lo[0] / 4;
        }
    }
}

/* |C_ij - sum_k a_ik b_kj| over sum_k |a_ik b_kj|. */
static double relative_error(const tl_certify_pairs *A, const tl_certify_pairs *B,
                             const tl_certify_pairs *C, size_t i, size_t j)
{
    arb_t sum, moduli, a, b;

    arb_init(sum);
    arb_init(moduli);
    arb_init(a);
    arb_init(b);
    set_pair(sum, -C->hi[i * C->stride + j], -C->lo[i * C->stride + j]);
    for (size_t k = 0; k < A->cols; k++) {
        set_pair(a, A->hi[i * A->stride + k], A->lo[i * A->stride + k]);
        set_pair(b, B->hi[k * B->stride + j], B->lo[k * B->stride + j]);
        arb_addmul(sum, a, b, MORE);
        arb_mul(a, a, b, MORE);
        arb_abs(a, a);
        arb_add(moduli, moduli, a, MORE);
    }
    arb_abs(sum, sum);
    arb_div(sum, sum, moduli, MORE);
    const double error = arf_get_d(arb_midref(sum), ARF_RND_UP);
    arb_clear(b);
    arb_clear(a);
    arb_clear(moduli);
    arb_clear(sum);
    return error;
}

Test(certify_quick, products_are_within_their_margin_and_not_far_within)
{
    gsl_rng *rng = draw_stream(7311);
    double worst = 0;

    for (int draw = 0; draw < draw_count(30); draw++) {
        const size_t rows = 1 + draw_below(rng, 9), n = 1 + draw_below(rng, WIDEST);
        const size_t cols = 1 + draw_below(rng, 20);
        tl_certify_pairs A, B, C;
        draw_pairs(&A, rng, rows, n);
        draw_pairs(&B, rng, n, cols);
        if (draw % 2) cancel(&A, &B);
        cr_assert(tl_certify_pairs_alloc(&C, rows, cols));
        cr_assert(tl_certify_pairs_times(&C, &A, &B));
        for (size_t i = 0; i < rows; i++)
            for (size_t j = 0; j < cols; j++) {
                const double error = relative_error(&A, &B, &C, i, j);
                worst = fmax(worst, error);
                cr_expect(error <= tl_certify_pairs_dot_margin(n), "n = %zu: %g", n, error);
            }
        tl_certify_pairs_free(&C);
        tl_certify_pairs_free(&B);
        tl_certify_pairs_free(&A);
    }
    /* The pairs do round: no bound that anything would pass. */
    cr_expect(worst > 0x1p-112, "%g", worst);
    gsl_rng_free(rng);
}

Test(certify_quick, exponentials_are_within_their_margin)
{
    gsl_rng *rng = draw_stream(7312);
    tl_certify_exp_table table;
    arb_t t, top, claimed;

    arb_init(t);
    arb_init(top);
    arb_init(claimed);
    tl_certify_exp_table_set(&table);
    for (int draw = 0; draw < draw_count(200); draw++) {
        double hi[8], lo[8], was[2][8];
        const size_t at = draw_below(rng, 8);
        const double from = 100 * normal(rng);
        for (size_t l = 0; l < 8; l++) {
            const double below = ldexp(gsl_rng_uniform(rng), (int)draw_below(rng, 24) - 14);
            was[0][l] = hi[l] = l == at ? from : from - below;
            was[1][l] = lo[l] = hi[l] * normal(rng) * 0x1p-56;
        }
        tl_certify_pairs_exp(hi, lo, 1, at, &table);
        set_pair(top, was[0][at], was[1][at]);
        for (size_t l = 0; l < 8; l++) {
            set_pair(t, was[0][l], was[1][l]);
            arb_sub(t, t, top, MORE);
            const double x = arf_get_d(arb_midref(t), ARF_RND_NEAR);
            arb_exp(t, t, MORE);
            set_pair(claimed, hi[l], lo[l]);
            if (x < TL_PAIRS_LEAST) {
                cr_expect(hi[l] <= 0 && hi[l] >= 0, "%g", x);
                continue;
            }
            arb_div(claimed, claimed, t, MORE);
            arb_sub_ui(claimed, claimed, 1, MORE);
            /* The difference to the top was rounded as well, as a sum of pairs. */
            const double error = fabs(arf_get_d(arb_midref(claimed), ARF_RND_UP));
            cr_expect(error <= TL_PAIRS_EXP + fabs(x) * TL_PAIRS_STEP, "exp %g: %g", x, error);
        }
    }
    arb_clear(claimed);
    arb_clear(top);
    arb_clear(t);
    gsl_rng_free(rng);
}

typedef struct {
    double Q[2 * WIDEST], K[2 * WIDEST], V[2 * WIDEST], b[4], O[4 * WIDEST];
    double x[WIDEST], v[WIDEST];
} numbers;

/* Two heads of width 2, or one in the short form, of m tokens of width 3. */
static void draw_problem(gsl_rng *rng, numbers *at, size_t m, double size, int form,
                         tl_layer **layer, tl_measure **mu)
{
    tl_error err = {.text = ""};
    tl_head head[2];
    double *const all[] = {at->Q, at->K, at->V, at->O, at->x, at->v};

    for (size_t a = 0; a < sizeof all / sizeof all[0]; a++)
        for (size_t i = 0; i < WIDEST; i++) all[a][i] = (a == 4 ? size : 1) * normal(rng);
    for (size_t i = 0; i < 4; i++) at->b[i] = normal(rng);
    for (size_t h = 0; h < 2; h++)
        head[h] = (tl_head){.k = form ? 2 : 3,
                            .v = 2,
                            .Q = at->Q + 20 * h,
                            .K = form ? at->K + 20 * h : NULL,
                            .V = at->V + 20 * h,
                            .bq = form == 1 ? at->b + 2 * h : NULL,
                            .bk = form == 1 ? at->b + 1 : NULL,
                            .scale = form ? 0.7 : 1};
    cr_assert_eq(tl_layer_alloc(layer, TL_KIND_DOT, form == 2 ? TL_MASK_CAUSAL : TL_MASK_NONE, 3,
                                form ? 2 : 1, head, form == 1 ? at->O : NULL, 5, &err),
                 TL_OK, "%s", err.text);
    cr_assert_eq(tl_measure_alloc(mu, m, 3, at->x, NULL, NULL, &err), TL_OK, "%s", err.text);
}

/* At another precision the same product goes through balls. */
static bool compare(const tl_layer *layer, const tl_measure *mu, double *v, const char *what)
{
    tl_problem problem = {.layer = (tl_layer *)layer,
                          .measure = (tl_measure *)mu,
                          .direction = v,
                          .direction_kind = TL_DIRECTION_JOINT};
    tl_certify_value balls = {.split = false};
    tl_certify_state s;
    tl_error err = {.text = ""};
    arb_t quick;

    arb_init(quick);
    arb_init(balls.ball);
    cr_assert_eq(tl_certify_state_init_lean(&s, &problem, 2 * MORE, &err), TL_OK, "%s", err.text);
    tl_certify_at_direction(&s, &problem, false, &balls);
    s.prec = TL_CERTIFY_FIRST_BITS;
    const bool done = tl_certify_quick(quick, &s, v);
    if (done) {
        cr_expect(arb_contains(quick, balls.ball), "%s, %zu tokens", what, mu->m);
        cr_expect(arb_rel_accuracy_bits(quick) >= TL_PRODUCT_BITS, "%s, %zu tokens", what, mu->m);
    }
    tl_certify_state_clear(&s);
    arb_clear(balls.ball);
    arb_clear(quick);
    return done;
}

Test(certify_quick, balls_of_pairs_hold_the_norm)
{
    static const char *const forms[] = {"short", "biases and output", "causal"};
    static const double sizes[] = {0.1, 1, 5, 40};
    gsl_rng *rng = draw_stream(7313);
    int done = 0, draws = draw_count(48);

    for (int draw = 0; draw < draws; draw++) {
        const size_t m = 1 + draw_below(rng, 23);
        numbers at;
        tl_layer *layer;
        tl_measure *mu;
        draw_problem(rng, &at, m, sizes[draw % 4], draw % 3, &layer, &mu);
        done += compare(layer, mu, at.v, forms[draw % 3]);
        tl_measure_free(mu);
        tl_layer_free(layer);
    }
    /* Rows that saturate may be left to balls; most are not. */
    cr_expect(2 * done > draws, "%d of %d", done, draws);
    gsl_rng_free(rng);
}

Test(certify_quick, what_it_cannot_know_is_left_to_balls)
{
    static const uint64_t copies[] = {1, 3};
    gsl_rng *rng = draw_stream(7314);
    tl_error err = {.text = ""};
    tl_measure *mu, *twice;
    tl_layer *layer;
    numbers at;

    draw_problem(rng, &at, 2, 1e60, 0, &layer, &mu);
    cr_expect(!compare(layer, mu, at.v, "logits past 1e100"));
    tl_measure_free(mu);
    for (size_t i = 0; i < 6; i++) at.x[i] = (double)i;
    cr_assert_eq(tl_measure_alloc(&mu, 2, 3, at.x, NULL, NULL, &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_measure_alloc(&twice, 2, 3, at.x, copies, NULL, &err), TL_OK, "%s", err.text);
    cr_expect(compare(layer, mu, at.v, "tokens once each"));
    cr_expect(!compare(layer, twice, at.v, "copies"));
    tl_measure_free(twice);
    tl_measure_free(mu);
    tl_layer_free(layer);
    gsl_rng_free(rng);
}
