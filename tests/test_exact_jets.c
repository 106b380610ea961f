/* Jets of the Jacobian: derivatives against differences of it, and over boxes every value that an
 * input of the box has. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "certify/exact_jet.h"
#include "support/draws.h"
#include "support/exact_layer.h"
#include "support/random_problem.h"

enum { MOST = TL_EXACT_COORDINATES };

typedef struct {
    tl_layer *layer;
    tl_exact_task task;
    tl_exact_jets jets;
    tl_exact_algebra algebra;
    size_t entries;
    arb_ptr at, other;
} setting;

/* Width 1 or 2, two or three tokens, both kinds, with and without a mask and a bias. */
static void set(setting *s, gsl_rng *rng, int draw)
{
    const size_t d = 1 + (size_t)draw % 2, n = d == 1 ? 2 + (size_t)draw / 2 % 2 : 2;
    const bool l2 = draw % 3 == 0;
    double A[4], V[4], bq[2];

    for (int i = 0; i < 4; i++) {
        A[i] = random_normal(rng);
        V[i] = random_normal(rng);
    }
    bq[0] = random_normal(rng);
    bq[1] = random_normal(rng);
    s->layer = exact_masked_layer(l2 ? TL_KIND_L2 : TL_KIND_DOT,
                                  !l2 && draw % 5 == 1 ? TL_MASK_CAUSAL : TL_MASK_NONE, d, A, V,
                                  !l2 && draw % 4 < 2 ? bq : NULL);
    cr_assert_eq(tl_exact_task_init(&s->task, s->layer, n, 1, NULL), TL_OK);
    cr_assert(tl_exact_jets_init(&s->jets, &s->task));
    s->algebra = tl_exact_algebra_of(&s->task, NULL);
    s->entries = s->task.size * s->task.size;
    s->at = _arb_vec_init((slong)(s->entries * s->task.jet));
    s->other = _arb_vec_init((slong)(s->entries * s->task.jet));
}

static void unset(setting *s)
{
    _arb_vec_clear(s->at, (slong)(s->entries * s->task.jet));
    _arb_vec_clear(s->other, (slong)(s->entries * s->task.jet));
    tl_exact_jets_clear(&s->jets);
    tl_exact_task_clear(&s->task);
    tl_layer_free(s->layer);
}

static double middle(arb_srcptr J, const setting *s, size_t entry, slong component)
{
    return arf_get_d(arb_midref(J + entry * s->task.jet + (size_t)component), ARF_RND_NEAR);
}

/* Jets at x moved by step in coordinate c, into other. */
static void at_step(setting *s, const double *x, size_t c, double step)
{
    double moved[MOST];

    memcpy(moved, x, s->task.dim * sizeof *moved);
    moved[c] += step;
    tl_exact_jacobian(&s->jets, moved, moved, s->other);
}

Test(exact_jets, derivatives_are_limits_of_differences)
{
    const double h = 1e-5;
    gsl_rng *rng = draw_stream(146);

    for (int draw = 0; draw < draw_count(60); draw++) {
        double x[MOST], up[81 * (1 + MOST)];
        setting s;
        set(&s, rng, draw);
        for (size_t i = 0; i < s.task.dim; i++) x[i] = 0.1 + 0.8 * gsl_rng_uniform(rng);
        tl_exact_jacobian(&s.jets, x, x, s.at);
        const size_t parts = 1 + s.task.dim;
        for (size_t c = 0; c < s.task.dim; c++) {
            at_step(&s, x, c, h);
            for (size_t i = 0; i < s.entries * parts; i++)
                up[i] = middle(s.other, &s, i / parts, (slong)(i % parts));
            at_step(&s, x, c, -h);
            for (size_t i = 0; i < s.entries * parts; i++) {
                const size_t entry = i / parts, e = i % parts;
                const double slope = (up[i] - middle(s.other, &s, entry, (slong)e)) / (2 * h);
                const slong part = e == 0 ? 1 + (slong)c
                                          : tl_jet_second(&s.algebra, e - 1 < c ? e - 1 : c,
                                                          e - 1 < c ? c : e - 1);
                const double found = middle(s.at, &s, entry, part);
                cr_expect(fabs(found - slope) <= 1e-6 * (1 + fabs(slope)),
                          "draw %d, entry %zu, d%zu of part %zu: %.9g, not %.9g", draw, entry, c, e,
                          found, slope);
            }
        }
        unset(&s);
    }
    gsl_rng_free(rng);
}

/* Corners and points inside, for the values and both kinds of derivatives. */
Test(exact_jets, boxes_hold_their_inputs)
{
    gsl_rng *rng = draw_stream(147);

    for (int draw = 0; draw < draw_count(120); draw++) {
        const double size = pow(0.5, 1 + (double)draw_below(rng, 8));
        double lo[MOST], hi[MOST], x[MOST];
        setting s;
        set(&s, rng, draw);
        for (size_t i = 0; i < s.task.dim; i++) {
            lo[i] = gsl_rng_uniform(rng) * (1 - size);
            hi[i] = lo[i] + size;
        }
        tl_exact_jacobian(&s.jets, lo, hi, s.at);
        for (int point = 0; point < 12; point++) {
            for (size_t i = 0; i < s.task.dim; i++)
                x[i] =
                    lo[i] + size * (point < 8 ? (double)draw_below(rng, 2) : gsl_rng_uniform(rng));
            tl_exact_jacobian(&s.jets, x, x, s.other);
            for (size_t i = 0; i < s.entries * s.task.jet; i++)
                if (i % s.task.jet < (size_t)s.algebra.middle)
                    cr_expect(arb_overlaps(s.at + i, s.other + i),
                              "draw %d, size %g, entry %zu, part %zu", draw, size, i / s.task.jet,
                              i % s.task.jet);
        }
        unset(&s);
    }
    gsl_rng_free(rng);
}
