/* The product of the Jacobian with a direction, head by head, against the blocks it is made of;
 * with and without the maps as balls. */
#include <criterion/criterion.h>

#include "certify/internal.h"
#include "support/witness_text.h"

/* Short and long form, several heads with biases and output matrix, copies, masses, masks, rows
 * that saturate, width above and below what is multiplied by blocks. */
static const struct {
    const char *kind, *rest;
} problems[] = {
    {"dot", "'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[1,2],[0.5,-1]]}]},"
            "'tokens':[[1,0],[0,-1],[0.5,0.5]],'multiplicity':[1,1000000000000,3]"},
    {"dot", "'heads':[{'A':[[-2,0],[0,-1]],'V':[[1,0],[0,1]]}]},'tokens':[[30,1],[-3,0]],"
            "'log_mass':[-1e-8,-18.420680743952367]"},
    {"dot", "'heads':[{'Q':[[1,0.5]],'K':[[0.25,-1]],'V':[[1,1]],'bq':[0.5],'scale':2},"
            "{'Q':[[0.1,0.2]],'K':[[2,-1]],'V':[[1,-1]],'bk':[3]}],"
            "'output':[[1,0.5],[0,2],[0.1,0.1]]},'tokens':[[1,2],[0,-1],[2,2],[1,1]]"},
    {"dot", "'mask':'causal','heads':[{'A':[[50,-100],[25,100]],'V':[[1,2],[0.5,-1]]}]},"
            "'tokens':[[1,0],[0,-1],[0.5,0.5]]"},
    {"dot", "'mask':[[1,0,1],[1,1,0],[0,0,1]],'heads':[{'A':[[0.5,-1],[0.25,1]],"
            "'V':[[1,2],[0.5,-1]]}]},'tokens':[[1,0],[0,-1],[0.5,0.5]]"},
    {"sigmoid", "'bias':-2,'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[1,2],[0.5,-1]]}]},"
                "'tokens':[[1,0],[0,-1]],'multiplicity':[3,70]"},
    {"cosine", "'eps':0.5,'nu':2,'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[1,2],[0.5,-1]]}]},"
               "'tokens':[[1,0],[0,-1]],'multiplicity':[1,4]"},
    {"l2", "'heads':[{'Q':[[1,0.5]],'V':[[1,1]]},{'Q':[[0.1,0.2],[1,2]],'V':[[1,-1]]}],"
           "'output':[[1,0.5],[0,2]]},'tokens':[[1,0],[0.5,0.25],[0,-1]],'multiplicity':[2,1,5]"},
};

static double entry(size_t i)
{
    return (double)((i * 7919 + 11) % 64) / 16 - 2;
}

/* The balls overlap and the first are narrow. */
static void expect_same(const arb_mat_t a, const arb_mat_t b, const char *what, size_t at)
{
    cr_expect(arb_mat_overlaps(a, b), "problem %zu: %s", at, what);
    for (slong i = 0; i < arb_mat_nrows(a); i++)
        for (slong j = 0; j < arb_mat_ncols(a); j++)
            cr_expect(mag_cmp_2exp_si(arb_radref(arb_mat_entry(a, i, j)), -80) < 0,
                      "problem %zu: %s, entry %ld, %ld is known badly", at, what, i, j);
}

static void by_rows(tl_certify_state *s, const arb_mat_t v, arb_mat_t joint, arb_mat_t split)
{
    arb_mat_init(joint, (slong)s->m, (slong)s->out);
    arb_mat_init(split, (slong)s->m, (slong)s->out);
    tl_certify_apply(s, v, joint, split);
}

/* The same product by blocks: joint (m out x m d) times v, and every D_k times its row of v. */
static void by_blocks(tl_certify_state *s, const arb_mat_t v, arb_mat_t joint, arb_mat_t split)
{
    const slong m = (slong)s->m, d = (slong)s->d, out = (slong)s->out;
    arb_mat_struct *D = flint_malloc(s->m * sizeof *D);
    arb_mat_t M;

    arb_mat_init(joint, m, out);
    arb_mat_init(split, m, out);
    arb_mat_init(M, m * out, m * d);
    for (slong k = 0; k < m; k++) arb_mat_init(D + k, out, d);
    tl_certify_joint(s, M, D);
    for (slong k = 0; k < m; k++) {
        for (slong r = 0; r < out; r++) {
            arb_dot(arb_mat_entry(joint, k, r), NULL, 0, M->rows[k * out + r], 1, v->entries, 1,
                    m * d, s->prec);
            if (tl_certify_splits(s->mu, (size_t)k))
                arb_dot(arb_mat_entry(split, k, r), NULL, 0, D[k].rows[r], 1, v->rows[k], 1, d,
                        s->prec);
        }
        arb_mat_clear(D + k);
    }
    arb_mat_clear(M);
    flint_free(D);
}

static void check(size_t i, const tl_problem *problem)
{
    arb_mat_t v, joint[3], split[3];
    tl_certify_state whole, lean;

    cr_assert_eq(tl_certify_state_init(&whole, problem, 128, NULL), TL_OK);
    cr_assert_eq(tl_certify_state_init_lean(&lean, problem, 128, NULL), TL_OK);
    cr_expect_eq(lean.lean, problem->layer->kind == TL_KIND_DOT);
    arb_mat_init(v, (slong)whole.m, (slong)whole.d);
    for (size_t e = 0; e < whole.m * whole.d; e++) arb_set_d(v->entries + e, entry(e));
    by_rows(&lean, v, joint[0], split[0]);
    by_rows(&whole, v, joint[1], split[1]);
    by_blocks(&whole, v, joint[2], split[2]);
    for (int k = 0; k < 2; k++) {
        expect_same(joint[k], joint[2], k ? "joint" : "joint, lean", i);
        expect_same(split[k], split[2], k ? "split" : "split, lean", i);
    }
    for (int k = 0; k < 3; k++) {
        arb_mat_clear(joint[k]);
        arb_mat_clear(split[k]);
    }
    arb_mat_clear(v);
    tl_certify_state_clear(&lean);
    tl_certify_state_clear(&whole);
}

Test(certify_apply, blocks_times_a_direction)
{
    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        tl_problem problem;
        read_text(&problem, "{'schema':'tightlip/problem/1','attention':{'kind':'%s',%s}",
                  problems[i].kind, problems[i].rest);
        check(i, &problem);
        tl_problem_clear(&problem);
    }
    tl_certify_cleanup();
}

/* More than 16 columns of more than 64 numbers. */
Test(certify_apply, wide_heads)
{
    enum { D = 80, N = 9, K = 20 };
    double Q[K * D], V[K * D], O[3 * K], x[N * D];
    tl_measure *mu = NULL;
    tl_head head = {.k = K, .v = K, .Q = Q, .K = V, .V = Q, .scale = 0.01};
    tl_layer layer = {.kind = TL_KIND_DOT,
                      .mask = TL_MASK_CAUSAL,
                      .d = D,
                      .out = 3,
                      .heads = 1,
                      .values = K,
                      .O = O,
                      .head = &head};

    for (size_t e = 0; e < K * D; e++) {
        Q[e] = entry(e);
        V[e] = entry(e + 31);
    }
    for (size_t e = 0; e < 3 * K; e++) O[e] = entry(e + 5);
    for (size_t e = 0; e < N * D; e++) x[e] = entry(e + e / D) / 10;
    cr_assert_eq(tl_measure_alloc(&mu, N, D, x, NULL, NULL, NULL), TL_OK);
    check(0, &(tl_problem){.layer = &layer, .measure = mu});
    tl_measure_free(mu);
    tl_certify_cleanup();
}
