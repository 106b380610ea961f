/* Several points at once: values and gradients of one by one, whatever else is in the lanes. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/internal.h"
#include "support/difference.h"
#include "support/draws.h"
#include "support/search_problem.h"
#include "tightlip/rng.h"

enum { MOST = 64, ATOMS = 32, WIDTH = 8 };

typedef struct {
    double v[MOST], gx[MOST], ga[ATOMS], gA[WIDTH * WIDTH];
    size_t warm;
    tl_evaluation e;
} lane;

typedef struct {
    search_fixture f;
    tl_evaluator ev;
    tl_point p[TL_BATCH];
    lane all[TL_BATCH], one;
    gsl_rng *rng;
} side;

/* Maps of every kind: K = Q and another one, A between V and the sum and not. */
static void draw_head(side *s, uint64_t seed)
{
    tl_head *head = s->f.layer->head;
    const size_t dd = s->f.layer->d * s->f.layer->d;
    double spare[WIDTH * WIDTH], *K = seed % 2 ? malloc(sizeof spare) : spare;
    double *const map[3] = {(double *)head->Q, (double *)head->V, K};
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < dd; i++) map[k][i] = 3.0 * gsl_rng_uniform(s->rng) - 1.5;
    head->K = seed % 2 ? K : NULL;
    s->f.layer->value_factor = seed % 3 > 0;
}

/* The evaluator borrows the problem in *s. */
static void side_init(side *s, tl_kind kind, tl_mask mask, size_t d, uint64_t n, size_t atoms,
                      uint64_t seed)
{
    *s = (side){.f = search_fixture_make(kind, mask, d, -1, 2, n, atoms), .rng = draw_stream(seed)};
    tl_search_problem *problem = &s->f.problem;
    if (kind == TL_KIND_L2) draw_head(s, seed);
    problem->worst_a = kind == TL_KIND_DOT && seed % 2;
    problem->norm_a = 1.5;
    const size_t capacity = tl_search_capacity(problem);
    cr_assert_eq(tl_evaluator_init(&s->ev, problem, capacity, UINT64_MAX, NULL), TL_OK);
    cr_assert_eq(tl_evaluator_widen(&s->ev), TL_OK);
    cr_assert(s->ev.batch);
    for (size_t j = 0; j < TL_BATCH; j++)
        cr_assert(tl_point_init(&s->p[j], capacity, d, problem->worst_a));
}

static void side_clear(side *s)
{
    for (size_t j = 0; j < TL_BATCH; j++) tl_point_clear(&s->p[j]);
    tl_evaluator_clear(&s->ev);
    search_fixture_clear(&s->f);
    gsl_rng_free(s->rng);
}

static void resize(side *s, tl_point *p, size_t m)
{
    while (p->m > m) tl_point_remove(p, p->m - 1);
    while (p->m < m)
        tl_domain_random(s->f.problem.domain, s->rng, false, p->x + tl_point_append(p, 0) * p->d);
    cr_assert_eq(tl_point_project(&s->f.problem, p), TL_OK);
}

static void draw_point(side *s, size_t j)
{
    const tl_search_problem *problem = &s->f.problem;
    const bool large = problem->atoms > s->ev.batch_atoms;
    tl_point *p = &s->p[j];
    cr_assert_eq(tl_start_make(problem, TL_START_RANDOM, s->rng, p), TL_OK);
    if (tl_search_ordered(problem)) return;
    if (large) resize(s, p, j % 4 == 1 ? problem->atoms : 3);
    while (!large && p->m > 1 && draw_below(s->rng, 3) == 0) tl_point_remove(p, p->m - 1);
    if (problem->n && draw_below(s->rng, 2)) tl_point_round(problem, p);
}

static void place(side *s, lane *l, const tl_point *p)
{
    l->warm = 0;
    l->e = (tl_evaluation){.ev = &s->ev,
                           .p = p,
                           .v = l->v,
                           .warm = &l->warm,
                           .gx = l->gx,
                           .ga = l->ga,
                           .gA = p->A ? l->gA : NULL};
}

/* Relative; of slopes of a logarithm that are next to nothing, absolute. */
static double off(size_t count, const double *x, const double *y)
{
    return relative_difference(count, x, y, 1e-4);
}

/* sigma_2 / sigma_1 of the joint block near 1 makes any gradient one of many: where it is not. */
static bool apart(side *s, const tl_point *p)
{
    const size_t md = p->m * p->d;
    double M[MOST * MOST], sigma[MOST], u[MOST], v[MOST];
    tl_jacobian_dense(s->ev.J, M);
    cr_assert_eq(tl_svd_dense(md, md, M, sigma, u, v), TL_OK);
    return md < 2 || sigma[1] < 0.999 * sigma[0];
}

static void compare(side *s, const lane *l, const char *what)
{
    const tl_point *p = l->e.p;
    place(s, &s->one, p);
    s->ev.warm_m = 0;
    s->one.e.status = tl_evaluate(&s->ev, p, &s->one.e.value, s->one.gx, s->one.ga, s->one.e.gA);
    cr_assert_eq(l->e.status, s->one.e.status);
    cr_expect(fabs(l->e.value.log_value - s->one.e.value.log_value) <= 1e-12, "%s: off by %g", what,
              l->e.value.log_value - s->one.e.value.log_value);
    if (!apart(s, p)) return;
    cr_expect(off(p->m * p->d, l->gx, s->one.gx) <= 1e-7, "%s: gx off by %g", what,
              off(p->m * p->d, l->gx, s->one.gx));
    cr_expect(off(p->m, l->ga, s->one.ga) <= 1e-7, "%s: ga off by %g", what,
              off(p->m, l->ga, s->one.ga));
    if (p->A) cr_expect(off(p->d * p->d, l->gA, s->one.gA) <= 1e-7, "%s: gA", what);
}

static const search_case rows[] = {
    {"two atoms on a line", TL_KIND_DOT, TL_MASK_NONE, 1, 1000, 2},
    {"mean field", TL_KIND_DOT, TL_MASK_NONE, 2, 0, 4},
    {"few tokens", TL_KIND_DOT, TL_MASK_NONE, 3, 6, 5},
    {"eight atoms", TL_KIND_DOT, TL_MASK_NONE, 4, 100, 8},
    {"sixteen atoms", TL_KIND_DOT, TL_MASK_NONE, 2, 10000, 16},
    {"width 8", TL_KIND_DOT, TL_MASK_NONE, 8, 50, 4},
    {"causal", TL_KIND_DOT, TL_MASK_CAUSAL, 2, 5, 5},
    {"causal, one wide", TL_KIND_DOT, TL_MASK_CAUSAL, 1, 9, 9},
    {"more atoms than lanes take", TL_KIND_DOT, TL_MASK_NONE, 2, 1000, 20},
    {"l2 on a line", TL_KIND_L2, TL_MASK_NONE, 1, 1000, 2},
    {"l2, mean field", TL_KIND_L2, TL_MASK_NONE, 2, 0, 4},
    {"l2, few tokens", TL_KIND_L2, TL_MASK_NONE, 3, 6, 5},
    {"l2, eight atoms", TL_KIND_L2, TL_MASK_NONE, 4, 100, 8},
    {"l2, width 8", TL_KIND_L2, TL_MASK_NONE, 8, 50, 4},
    {"l2, causal", TL_KIND_L2, TL_MASK_CAUSAL, 2, 5, 5},
    {"l2, blind to itself", TL_KIND_L2, TL_MASK_GENERAL, 1, 4, 4},
};

Test(search_batch, has_the_numbers_of_one_by_one)
{
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (uint64_t seed = 0; seed < 6; seed++) {
            const size_t d = rows[r].d, atoms = rows[r].atoms;
            side s;
            tl_evaluation e[TL_BATCH];
            int taken = 0;
            side_init(&s, rows[r].kind, rows[r].mask, d, rows[r].n, atoms, 900 + seed);
            for (int step = 0; step < 4; step++) {
                for (size_t j = 0; j < TL_BATCH; j++) {
                    draw_point(&s, j);
                    place(&s, &s.all[j], &s.p[j]);
                    e[j] = s.all[j].e;
                }
                const uint64_t before = s.ev.used;
                tl_evaluate_all(&s.ev, TL_BATCH, e);
                cr_expect_eq(s.ev.used, before + TL_BATCH);
                for (size_t j = 0; j < TL_BATCH; j++) {
                    s.all[j].e = e[j];
                    cr_expect_eq(s.all[j].warm, s.p[j].m);
                    taken += !isnan(tl_batch_log_norms(s.ev.batch)[j]);
                    compare(&s, &s.all[j], rows[r].name);
                }
            }
            /* the first of an ascent: wider blocks have a far start, saturated ones are alike */
            const int least = d * atoms > 8 ? 8 : rows[r].kind == TL_KIND_L2 ? 24 : 28;
            cr_expect(taken >= least, "%s: %d of 32 points in lanes", rows[r].name, taken);
            side_clear(&s);
        }
}

/* The same bits in every lane, beside whatever: points at which logits overflow, far masses. */
Test(search_batch, lanes_do_not_see_each_other)
{
    for (uint64_t seed = 0; seed < 8; seed++) {
        side s;
        lane alone;
        side_init(&s, TL_KIND_DOT, TL_MASK_NONE, 2, 1000, 4, 950 + seed);
        for (size_t j = 0; j < TL_BATCH; j++) do
                draw_point(&s, j);
            while (s.p[j].m != s.p[0].m || s.p[0].m < 3);
        for (size_t at = 0; at < TL_BATCH; at++) {
            tl_evaluation e[TL_BATCH];
            for (size_t j = 0; j < TL_BATCH; j++) {
                place(&s, &s.all[j], &s.p[j == at ? 0 : j ? j : at]);
                e[j] = s.all[j].e;
            }
            if (at) {
                s.p[at % 7 + 1 == at ? 1 : at % 7 + 1].x[0] = 1e200;
                s.p[at].log_mass[1] = -900;
            }
            tl_evaluate_all(&s.ev, TL_BATCH, e);
            if (!at) {
                alone = s.all[0];
                alone.e = e[0];
                continue;
            }
            const size_t m = s.p[0].m;
            cr_expect_eq(memcmp(&alone.e.value, &e[at].value, sizeof e[at].value), 0);
            cr_expect_eq(memcmp(alone.gx, s.all[at].gx, 2 * m * sizeof(double)), 0, "lane %zu", at);
            cr_expect_eq(memcmp(alone.ga, s.all[at].ga, m * sizeof(double)), 0, "lane %zu", at);
            cr_expect_eq(memcmp(alone.v, s.all[at].v, 2 * m * sizeof(double)), 0, "lane %zu", at);
        }
        side_clear(&s);
    }
}

/* What decides that no split block has to be looked at: at points where one is larger than the
 * joint block, which a search for them finds. */
Test(search_batch, lets_no_larger_split_block_pass)
{
    size_t widths[] = {1, 2, 3, 4, 8}, above = 0, below = 0;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        side s;
        const size_t d = widths[w], atoms = d == 8 ? 4 : 5;
        side_init(&s, TL_KIND_DOT, TL_MASK_NONE, d, 1000, atoms, 980 + 2 * w);
        tl_batch *b = s.ev.batch;
        s.f.problem.objective = TL_OBJECTIVE_SPLIT_GAIN;
        s.f.settings.restarts = 2;
        s.f.settings.evaluations = 300;
        tl_search_result found = search_fixture_run(&s.f);
        const tl_measure *at = found.measure;
        for (int round = 0; round < 40; round++) {
            double x[MOST];
            const double noise = pow(10, -0.1 * round);
            for (size_t i = 0; i < at->m * d; i++) x[i] = at->x[i] + noise * draw_entry(s.rng);
            double start[MOST] = {0};
            const tl_batch_points all = {
                .count = 4, .m[3] = at->m, .x[3] = x, .log_mass[3] = at->log_mass, .v[3] = start};
            tl_batch_norms(b, &all);
            const double found_norm = exp(tl_batch_log_norms(b)[3]);
            const tl_measure mu = {
                .m = at->m, .d = d, .x = x, .log_mass = at->log_mass, .n = at->n};
            cr_assert_eq(tl_jacobian_set(s.ev.J, s.f.problem.layer, &mu), TL_OK);
            for (size_t k = 0; k < mu.m; k++) {
                double S[WIDTH * WIDTH], norm;
                cr_assert_eq(tl_jacobian_split(s.ev.J, k, S), TL_OK);
                cr_assert_eq(tl_norm2_dense(d, d, S, &norm), TL_OK);
                if (norm > found_norm) {
                    above++;
                    cr_expect(tl_batch_may_exceed(b, 3, k), "%g", norm / found_norm - 1);
                    cr_expect_not(tl_batch_none_exceeds(b));
                } else {
                    below += !tl_batch_may_exceed(b, 3, k);
                }
            }
        }
        tl_search_result_clear(&found);
        side_clear(&s);
    }
    cr_expect(above > 20 && below > 20, "%zu above, %zu below", above, below);
}

/* Tokens so near that the product of two of them and V has lost its digits, A making up for it. */
Test(search_batch, products_out_of_range)
{
    for (int e = 60; e < 150; e += 5) {
        side s;
        side_init(&s, TL_KIND_DOT, TL_MASK_NONE, 2, 0, 3, 990); /* even: A is given */
        const tl_head *given = s.f.problem.layer->head;
        double *A = (double *)given->Q, *V = (double *)given->V;
        double x[6], alpha[3] = {-1, -1.2, -1.1}, norm, R = pow(10, -e);
        for (size_t i = 0; i < 4; i++) {
            A[i] = draw_entry(s.rng) > 0 ? 0.7 / R / R : -0.4 / R / R;
            V[i] = (1.0 + (double)i * (double)i) * 1e-97;
        }
        for (size_t i = 0; i < 6; i++) x[i] = R * (gsl_rng_uniform(s.rng) - 0.5);
        tl_batch *b = tl_batch_alloc(s.f.problem.layer, 3);
        cr_assert(b);
        double start[6] = {0};
        const tl_batch_points all = {
            .count = 3, .m[2] = 3, .x[2] = x, .log_mass[2] = alpha, .v[2] = start};
        tl_batch_norms(b, &all);
        const tl_measure mu = {.m = 3, .d = 2, .x = x, .log_mass = alpha};
        double M[36];
        cr_assert_eq(tl_jacobian_set(s.ev.J, s.f.problem.layer, &mu), TL_OK);
        tl_jacobian_dense(s.ev.J, M);
        cr_assert_eq(tl_norm2_dense(6, 6, M, &norm), TL_OK);
        norm = log(norm) + tl_jacobian_log_scale(s.ev.J);
        const double found = tl_batch_log_norms(b)[2];
        cr_expect(isnan(found) || fabs(found - norm) <= 1e-12, "R 1e-%d: off by %g", e,
                  found - norm);
        cr_expect(e > 85 || !isnan(found), "R 1e-%d", e);
        tl_batch_free(b);
        side_clear(&s);
    }
}
