/* What searches over boxes maximise, looked at in their place: no box is said to hold less than a
 * point in it. The maxima themselves cannot show it, since a search that loses a box mostly finds
 * the same maximum in another. */
#include <criterion/criterion.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/causal.h"
#include "bounds/internal.h"
#include "bounds/l2_norm.h"
#include "certify/boxes.h"
#include "certify/causal.h"
#include "certify/l2_norm.h"
#include "support/bound_query.h"
#include "support/draws.h"
#include "support/witness_text.h"

typedef double upper_bound(const void *context, const double *lo, const double *hi);

enum { SIDES = 4, FUNCTIONS = 16, DOUBLES = 600, BALLS = 60, POINTS = 6 };

/* The functions that one of the two searches was given. */
typedef struct {
    size_t count;
    upper_bound *f[FUNCTIONS];
} functions;

typedef struct {
    size_t dim;
    const double *lo, *hi;
    const bool *whole;
    const void *context;
    upper_bound *upper;
    double floor; /* what lies below is of no interest, and need not be told apart */
} asked;

static gsl_rng *rng;
static functions in_doubles, in_balls;

static void meet(functions *met, upper_bound *f)
{
    size_t i = 0;

    while (i < met->count && met->f[i] != f) i++;
    if (i < met->count) return;
    cr_assert_lt(met->count, FUNCTIONS);
    met->f[met->count++] = f;
}

/* A number of [lo, hi]: an end, or between. */
static double number_of(double lo, double hi, bool whole)
{
    const size_t kind = draw_below(rng, 4);
    const double x = lo + (hi - lo) * gsl_rng_uniform(rng);

    if (kind < 2) return kind ? hi : lo;
    return whole ? fmin(fmax(round(x), lo), hi) : fmin(x, hi);
}

/* A box in the domain, of any size, mostly flat: what goes one way along one side is not hidden by
 * the others. */
static void draw_box(const asked *a, double *lo, double *hi)
{
    for (size_t i = 0; i < a->dim; i++) {
        const double at = number_of(a->lo[i], a->hi[i], a->whole[i]);
        double side = (a->hi[i] - a->lo[i]) * exp2(-16 * gsl_rng_uniform(rng));
        if (draw_below(rng, 3)) side = 0;
        if (a->whole[i]) side = floor(side);
        lo[i] = fmax(a->lo[i], draw_below(rng, 2) ? at : at - side);
        hi[i] = fmin(a->hi[i], lo[i] + side);
    }
}

static void look(const asked *a, size_t boxes)
{
    double lo[SIDES] = {0}, hi[SIDES] = {0}, x[SIDES] = {0};

    for (size_t i = 0; i < boxes; i++) {
        draw_box(a, lo, hi);
        const double box = a->upper(a->context, lo, hi);
        for (size_t k = 0; k < POINTS; k++) {
            for (size_t j = 0; j < a->dim; j++) x[j] = number_of(lo[j], hi[j], a->whole[j]);
            const double point = a->upper(a->context, x, x);
            cr_expect(fmax(box, a->floor) >= point - 1e-9 * fabs(point),
                      "[%.17g, %.17g] x [%.17g, %.17g] x [%.17g, %.17g] x [%.17g, %.17g]: %.17g, "
                      "but %.17g at (%.17g, %.17g, %.17g, %.17g)",
                      lo[0], hi[0], lo[1], hi[1], lo[2], hi[2], lo[3], hi[3], box, point, x[0],
                      x[1], x[2], x[3]);
        }
    }
}

/* In place of both searches: the bound of the whole domain, which is one of the maximum. */
double tl_bounds_box_max(const tl_bounds_box_problem *p)
{
    meet(&in_doubles, p->upper);
    look(&(asked){p->dim, p->lo, p->hi, p->whole, p->context, p->upper, p->floor},
         (size_t)draw_count(DOUBLES));
    return fmin(p->upper(p->context, p->lo, p->hi), p->ceiling);
}

double tl_certify_boxes_max(const tl_certify_boxes *p)
{
    meet(&in_balls, p->upper);
    look(&(asked){p->dim, p->lo, p->hi, p->whole, p->context, p->upper, p->floor},
         (size_t)draw_count(BALLS));
    return fmin(p->upper(p->context, p->lo, p->hi), p->ceiling);
}

static const double sizes[] = {0.15, 0.6, 1, 2.5, 7, 16}, shares[] = {0.3, 1, 2};
static const double counts[] = {2, 3, 4, 7, 30, 1e6, (double)INFINITY};

Test(boxes_points, of_one_head_in_doubles)
{
    rng = draw_stream(1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const double g = sizes[i];
        (void)tl_bounds_log_pair_range(g, -0.6, 0.3, 0);
        (void)tl_bounds_log_causal_pair(g, 1.5 * g);
        (void)tl_bounds_log_causal_every(g, 1);
        for (size_t j = 0; j < sizeof counts / sizeof *counts; j++)
            for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
                const double n = counts[j], l = shares[k] * g;
                (void)tl_bounds_log_row_at(n, g, l);
                (void)tl_bounds_log_row_three_at(n, g, l, k == 1, 1000, 0);
                (void)tl_bounds_log_row_frobenius(n, g, l, 1 + (double)k, 1000, 0);
                (void)tl_bounds_row_joint_at(n, g, l, 1 + (double)k, (double)INFINITY, 0);
                (void)tl_bounds_log_merge_joint_at(n, log1p(g), g, l, g, 0);
            }
        (void)plain("row-fro", g, 2);
    }
    for (size_t k = 1; k <= 3; k++)
        for (double n = 2; n <= 6; n++) {
            if (n < 4 || (k == 1 && n < 6)) (void)tl_bounds_l2_search(n, k, 0);
            (void)tl_bounds_l2_form_b(n * n, k, n);
            (void)tl_bounds_l2_norm(n * n, k, (double)INFINITY);
            (void)tl_bounds_l2_log_frobenius(n, n, k, false);
        }
    cr_expect_eq(in_doubles.count, 13);
    gsl_rng_free(rng);
}

/* The bounds of one head of that size, and of a second row norm. */
static void ask_balls(tl_certify_size *s, double n, double share)
{
    arb_t square, most;

    arb_init(square);
    arb_init(most);
    arb_pos_inf(most);
    fmpz_set_d(s->n, n);
    tl_certify_three_square(square, s, most);
    tl_certify_few_square(square, s, 1 + share, most);
    tl_certify_many_square(square, s, 1 + share, most);
    tl_certify_pair_square(square, s);
    tl_certify_heavy_row row;
    tl_certify_heavy_init(&row, false);
    arb_set_d(row.kappa, 1 + share);
    arb_set(row.g, s->g);
    arb_set(row.l, s->l);
    arb_set_d(row.c, share - 0.3);
    arb_set_d(row.rest, n - 2);
    tl_certify_heavy_square(square, &row, most, s->prec);
    tl_certify_heavy_clear(&row);
    arb_clear(most);
    arb_clear(square);
}

Test(boxes_points, of_one_head_in_balls)
{
    rng = draw_stream(2);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
            tl_certify_size s = {.prec = 128, .coupled = k == 1};
            arb_init(s.g);
            arb_init(s.l);
            arb_init(s.c);
            fmpz_init(s.n);
            arb_set_d(s.g, sizes[i]);
            arb_set_d(s.l, shares[k] * sizes[i]);
            arb_set_d(s.c, sizes[i]);
            for (size_t j = 0; j + 1 < sizeof counts / sizeof *counts; j++)
                ask_balls(&s, counts[j], shares[k]);
            if (k == 1) tl_certify_causal_every(s.l, &s);
            tl_certify_size_clear(&s);
        }
    for (ulong width = 1; width <= 3; width++)
        for (size_t j = 0; j + 1 < sizeof counts / sizeof *counts; j++) {
            fmpz_t n;
            arb_t value;
            fmpz_init(n);
            arb_init(value);
            fmpz_set_d(n, counts[j]);
            arb_pos_inf(value);
            tl_certify_l2_size size;
            tl_certify_l2_size_init(&size, n, width, NULL, 128);
            tl_certify_l2_form_b(value, &size);
            tl_certify_l2_size_clear(&size);
            tl_certify_l2_norm(value, n, width, NULL, 128);
            arb_clear(value);
            fmpz_clear(n);
        }
    cr_expect_eq(in_balls.count, 9);
    gsl_rng_free(rng);
}

static const struct {
    const char *mask, *tokens;
} rows[] = {{"none", "[[1,0],[0,-1]]"},
            {"none", "[[1,0],[0,-1]],'multiplicity':[1,2]"},
            {"none", "[[1,0],[0,-1]],'multiplicity':[3,9]"},
            {"none", "[[1,0],[0,-1]],'multiplicity':[1,1000000]"},
            {"causal", "[[1,0],[0,-1]]"}};

/* A problem whose head, mask and tokens are those texts. */
static void ask_witness(const char *head, const char *mask, const char *tokens)
{
    const tl_certify_settings boxes = {.boxes = true};
    tl_problem problem;

    read_text(&problem,
              "{'schema':'tightlip/problem/1','attention':{'mask':'%s',%s},'tokens':%s,"
              "'domain':{'kind':'ball','radius':1}}",
              mask, head, tokens);
    tl_certificate c = certify(&problem, &boxes);
    tl_certificate_clear(&c);
    tl_problem_clear(&problem);
}

Test(boxes_points, of_witnesses_in_balls)
{
    rng = draw_stream(3);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char head[200];
        const double a = sizes[i];
        snprintf(head, sizeof head,
                 "'kind':'dot','heads':[{'A':[[0.1,%g],[%g,0]],'V':[[1,0],[0,1]]}]", a, -a);
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
            ask_witness(head, rows[k].mask, rows[k].tokens);
        snprintf(head, sizeof head, "'kind':'l2','heads':[{'Q':[[%g,0]],'V':[[1,0],[0,1]]}]", a);
        ask_witness(head, "none", rows[0].tokens);
    }
    cr_expect_eq(in_doubles.count, 11);
    cr_expect_eq(in_balls.count, 12);
    gsl_rng_free(rng);
}
