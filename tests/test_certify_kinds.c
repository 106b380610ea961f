/* Every kind and mask in ball arithmetic against the dense norms in double precision, and what
 * edits of a witness do. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "support/draws.h"
#include "support/random_problem.h"
#include "support/witness_text.h"

static const tl_norm norms[] = {TL_NORM_2, TL_NORM_INF, TL_NORM_1, TL_NORM_FRO};

/* Relative room for the double path: rounding of a Jacobian whose logits are large. */
static double room(const tl_problem *problem, double logit_scale)
{
    const tl_measure *mu = problem->measure;

    return 512 * (double)(mu->m * mu->d) * DBL_EPSILON * (1 + logit_scale * logit_scale);
}

static void compare(int draw, tl_problem *problem, double logit_scale)
{
    const tl_certify_settings enclose = {.enclose = true};

    for (size_t j = 0; j < 4; j++) {
        tl_norm_result norm;
        problem->has_norm = true;
        problem->norm = norms[j];
        if (norms[j] == TL_NORM_FRO && !problem->measure->count) continue;
        cr_assert_eq(tl_norm_compute(problem->layer, problem->measure, norms[j], NULL, &norm, NULL),
                     TL_OK);
        tl_certificate c = certify(problem, &enclose);
        const double slack = room(problem, logit_scale) * norm.value + DBL_MIN;
        cr_expect(c.norm_at_x.low.value <= norm.value + slack &&
                      c.norm_at_x.high.value >= norm.value - slack,
                  "draw %d, %s, mask %s, norm %s: [%s, %s], not %.17g", draw,
                  tl_kind_name(problem->layer->kind), tl_mask_name(problem->layer->mask),
                  tl_norm_name(norms[j]), c.norm_at_x.low.text, c.norm_at_x.high.text, norm.value);
        cr_expect(c.norm_at_x.high.value - c.norm_at_x.low.value <= 1e-8 * norm.value + DBL_MIN,
                  "draw %d: [%s, %s]", draw, c.norm_at_x.low.text, c.norm_at_x.high.text);
        tl_certificate_clear(&c);
    }
    problem->has_norm = false;
}

/* The direction that the double path finds gives back its value, and noise a smaller one. */
static void directions(int draw, gsl_rng *rng, tl_problem *problem, double logit_scale)
{
    const size_t size = problem->measure->m * problem->measure->d;
    tl_certified_lower best, noise;
    tl_norm_result norm;

    problem->direction = calloc(size, sizeof *problem->direction);
    cr_assert_eq(tl_norm_compute(problem->layer, problem->measure, TL_NORM_2, problem->direction,
                                 &norm, NULL),
                 TL_OK);
    if (norm.value > 1e-300) {
        const double slack = room(problem, logit_scale) * norm.value;
        cr_assert_eq(tl_certify_lower(problem, &best, NULL), TL_OK);
        cr_expect(fabs(best.lower.value - norm.value) <= slack, "draw %d, %s: %s, not %.17g", draw,
                  tl_kind_name(problem->layer->kind), best.lower.text, norm.value);
        for (size_t i = 0; i < size; i++) problem->direction[i] = random_normal(rng);
        cr_assert_eq(tl_certify_lower(problem, &noise, NULL), TL_OK);
        cr_expect(noise.lower.value <= norm.value + slack, "draw %d: %s above %.17g", draw,
                  noise.lower.text, norm.value);
    }
    free(problem->direction);
    problem->direction = NULL;
}

Test(certify_kinds, every_kind_and_mask_agrees_with_doubles)
{
    gsl_rng *rng = draw_stream(211);

    for (int draw = 0; draw < draw_count(12 * (int)random_kind_count); draw++) {
        const kind_and_mask *kind = &random_kinds[(size_t)draw % random_kind_count];
        random_shape shape = random_shape_draw_kind(rng, kind->kind, kind->mask);
        random_problem p = random_problem_draw(rng, &shape);
        tl_problem problem = {.layer = p.layer, .measure = p.measure};
        compare(draw, &problem, shape.logit_scale);
        directions(draw, rng, &problem, shape.logit_scale);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

/* Witnesses of the kinds and masks: the claim, a claim 1e-9 above, a token 1e-15 outside, the last
 * digit of a token. */
Test(certify_kinds, edited_witnesses)
{
    static const char *const rows[] = {
        "'kind':'cosine','tau':20,'eps':0.25,'heads':[{'A':[[1,0.5],[0,2]],'V':[[1,1],[0,1]]}]",
        "'kind':'dot','mask':[[1,0],[1,1]],'heads':[{'A':[[-3,0],[0,1]],'V':[[1,0],[0,1]]}]",
        ("'kind':'cosine','mask':[[0,1],[1,1]],'nu':2,'eps':1,'heads':[{'A':[[5,0],[1,1]],"
         "'V':[[1,0]]}]"),
        "'kind':'l2','mask':[[1,1],[1,1]],'heads':[{'Q':[[1,0.5]],'K':[[1,1]],'V':[[1,0],[0,1]]}]",
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_problem problem;
        tl_norm_result norm;
        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{%s},'tokens':[[-1,0],[0.75,0.5]],"
                  "'domain':{'kind':'ball','radius':1},'direction':[[0,0],[0,0]]}",
                  rows[i]);
        cr_assert_eq(tl_norm_compute(problem.layer, problem.measure, TL_NORM_2, problem.direction,
                                     &norm, NULL),
                     TL_OK);
        problem.has_value = true;
        problem.value = norm.value;
        problem.log10_value = norm.log_value / log(10);
        cr_expect_eq(verdict(&problem), TL_VERDICT_CONFIRMED, "row %zu", i);
        problem.value = norm.value * (1 + 1e-9);
        cr_expect_eq(verdict(&problem), TL_VERDICT_BELOW, "row %zu", i);
        problem.value = norm.value;
        problem.measure->x[3] = nextafter(0.5, 1);
        cr_expect_eq(verdict(&problem), TL_VERDICT_CONFIRMED, "row %zu", i);
        problem.measure->x[0] = -1 - 1e-15;
        cr_expect_eq(verdict(&problem), TL_VERDICT_OUTSIDE, "row %zu", i);
        problem.measure->x[0] = -1;
        problem.direction[0] += 0.01;
        cr_expect_eq(verdict(&problem), TL_VERDICT_BELOW, "row %zu", i);
        tl_problem_clear(&problem);
    }
}

/* R = ||A|| = 10^3 decides; images of length 10^-8 beside eps. */
Test(certify_kinds, extreme_inputs_decide)
{
    static const struct {
        const char *attention, *tokens;
        double norm;
    } rows[] = {
        /* One-hot rows that see one another's token: the norm of V. */
        {"'kind':'dot','mask':[[0,1],[1,0]],'heads':[{'A':[[1000,0],[0,1000]],'V':[[3,0],[0,2]]}]",
         "[[1000,0],[0,1000]]", 3},
        /* nu |z| (|z|^2 + eps)^(-1/2) at one token 0: nu/sqrt(eps). */
        {"'kind':'cosine','nu':2,'tau':1000,'eps':16,'heads':[{'A':[[1000]],'V':[[1]]}]", "[[0]]",
         0.5},
        {"'kind':'cosine','eps':1e-30,'heads':[{'A':[[1]],'V':[[1]]}]", "[[0]]", 1e15},
        /* All images along one line of length 10^3: the derivative is eps/(10^6 + eps)^(3/2). */
        {"'kind':'cosine','eps':1,'tau':0,'heads':[{'A':[[1]],'V':[[1]]}]", "[[1000],[1000]]",
         9.9999850000187508e-10},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tl_certify_settings enclose = {.enclose = true};
        tl_problem problem;
        read_text(&problem, "{'schema':'tightlip/problem/1','attention':{%s},'tokens':%s}",
                  rows[i].attention, rows[i].tokens);
        tl_certificate c = certify(&problem, &enclose);
        cr_expect_eq(c.verdict, TL_VERDICT_NO_CLAIM, "row %zu: %s", i, c.why);
        cr_expect(fabs(c.norm_at_x.low.value / rows[i].norm - 1) < 1e-8 &&
                      c.norm_at_x.high.value >= rows[i].norm * (1 - 1e-14),
                  "row %zu: [%s, %s]", i, c.norm_at_x.low.text, c.norm_at_x.high.text);
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
    }
}
