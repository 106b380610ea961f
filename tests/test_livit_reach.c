/* Stages by themselves: how far they let tokens move, what rounding adds, columns that are switched
 * off. */
#include <criterion/criterion.h>
#include <math.h>

#include "robust/network.h"

/* A network of one token whose patch map has norm 1, and a pass through it. */
typedef struct {
    tl_livit net;
    tl_livit_pass pass;
    tl_stage stage[2];
    double x[6], rounding[3], logits[2], apart[4];
} made;

static void make(made *m, size_t stages, tl_stage_kind kind, double size)
{
    *m = (made){.net = {.n = 1, .d = 2, .features = 2, .classes = 2, .patch_norm = 1}};
    for (size_t s = 0; s < 2; s++) m->stage[s] = (tl_stage){.kind = kind, .size = size};
    m->net.stages = stages;
    m->net.stage = m->stage;
    m->net.apart = m->apart;
    m->pass =
        (tl_livit_pass){.net = &m->net, .x = m->x, .rounding = m->rounding, .logits = m->logits};
}

/* The largest step of x/max(1, |x|) from (norm, 0) to points within delta. */
static double moved(double norm, double delta)
{
    double most = 0;

    for (int i = 0; i <= 720; i++)
        for (int j = 1; j <= 8; j++) {
            const double angle = acos(-1) * i / 720, step = delta * j / 8;
            const double x = norm + step * cos(angle), y = step * sin(angle);
            const double length = fmax(hypot(x, y), 1), from = fmin(norm, 1);
            most = fmax(most, hypot(x / length - from, y / length));
        }
    return most;
}

Test(livit_reach, nothing_leaves_a_ball_farther_and_something_as_far)
{
    static const double norms[] = {0.5, 0.999, 1.001, 1.05, 1.5, 2, 5, 100};
    static const double shares[] = {1e-6, 0.01, 0.1, 0.3, 0.6, 0.9};

    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++)
        for (size_t j = 0; j < sizeof shares / sizeof *shares; j++) {
            const double norm = norms[i], delta = shares[j] * norm, most = moved(norm, delta);
            made m;
            make(&m, 1, TL_STAGE_BALL, 1);
            m.x[0] = norm;
            const double reach = tl_livit_reach(&m.pass, delta);
            cr_expect(reach >= most - 1e-14 * norm && reach <= delta * (1 + 1e-12),
                      "|x| %g, delta %g: %.9g, reached %.9g", norm, delta, reach, most);
            if (norm - delta > 1)
                cr_expect(reach <= most * (1 + 1e-4), "|x| %g, delta %g: %.9g, reached %.9g", norm,
                          delta, reach, most);
        }
}

Test(livit_reach, every_rounding_counts_once)
{
    made m;

    make(&m, 2, TL_STAGE_SLL, 0);
    m.rounding[0] = 0.5;
    m.rounding[1] = 0.25;
    m.rounding[2] = 0.125;
    cr_expect_float_eq(tl_livit_reach(&m.pass, 1), 1.875, 1e-12);
    m.stage[0] = (tl_stage){.kind = TL_STAGE_CENTRE, .size = 2};
    cr_expect_float_eq(tl_livit_reach(&m.pass, 1), 3.375, 1e-12);
    /* And that of a difference of logits: 2 against 1, apart by half a step. */
    m.logits[0] = 2;
    m.logits[1] = 1;
    m.apart[1] = m.apart[2] = 0.25;
    cr_expect(tl_livit_certified(&m.pass, 0, 1) && !tl_livit_certified(&m.pass, 1, 1));
    m.pass.head_rounding = 0.25;
    cr_expect(!tl_livit_certified(&m.pass, 0, 1) && tl_livit_certified(&m.pass, 0, 0.25));
}

/* 1/T of columns whose squares, or whose ratios of q, are no doubles: 0. */
Test(livit_reach, columns_that_cannot_be_bounded_are_off)
{
    static const double weight[][4] = {
        {1, 0, 0, 1}, {1e-160, 0, 0, 1}, {1, 0, 0, 1}, {1e200, 0, 0, 1}};
    static const double q[][2] = {{1, 1}, {1, 1}, {1e-200, 1e200}, {1, 1}};
    static const bool on[][2] = {{true, true}, {false, true}, {false, true}, {false, true}};

    for (size_t i = 0; i < sizeof on / sizeof *on; i++) {
        double inverse[2];
        tl_stage_inverse(inverse, 2, 2, weight[i], q[i]);
        for (int j = 0; j < 2; j++)
            cr_expect(on[i][j] ? inverse[j] > 0.99 && inverse[j] < 1 : inverse[j] == 0,
                      "row %zu, column %d: %g", i, j, inverse[j]);
    }
}
