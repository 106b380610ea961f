/* causal-sharp and masked-sharp in ball arithmetic against doubles, over tokens, masks and radii.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/draws.h"
#include "support/witness_text.h"

/* n tokens on a line, A = a, in the ball of radius r. Above: by how much balls may say more, whose
 * searches end earlier, and below: where a profile of rows says less than all else and either
 * writing finds its own. */
static const struct {
    int n;
    double a, r, above, below;
} rows[] = {
    {1, -1, 1, 0, 0},       {2, 0, 1, 0, 0},           {2, -1, 0.5, 0, 0},  {2, 2, 2, 0, 0},
    {3, 0.05, 1, 0, 0},     {3, -1, 1, 0.002, 0},      {5, 3, 1, 0.005, 0}, {12, -0.25, 1, 0, 0},
    {70, 0.2, 1, 0, 0},     {12, -1, 2.5, 0.01, 0},    {70, 4, 1, 0.01, 0}, {3, 400, 1, 0, 0},
    {300, 0.5, 1, 1e-6, 0}, {200, 0.1, 1, 0.01, 0.01},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

/* Some direction: the norm at the tokens, which nothing here looks at, is not enclosed then. */
static void point(tl_problem *problem)
{
    const size_t count = problem->measure->m * problem->measure->d;

    problem->direction = malloc(count * sizeof *problem->direction);
    cr_assert(problem->direction != NULL);
    for (size_t i = 0; i < count; i++) problem->direction[i] = 1;
}

static tl_certificate at(size_t i, tl_problem *problem)
{
    char tokens[4096] = "";
    size_t used = 0;
    const tl_certify_settings settings = {.boxes = true};

    for (int k = 0; k < rows[i].n; k++)
        used += (size_t)snprintf(tokens + used, sizeof tokens - used, "%s[%g]", k ? "," : "",
                                 rows[i].r * (k % 2 ? -1 : 0.5));
    read_text(problem,
              "{'schema':'tightlip/problem/1','attention':{'kind':'dot','mask':'causal','heads':"
              "[{'A':[[%.17g]],'V':[[2]]}]},'tokens':[%s],'domain':{'kind':'ball','radius':%.17g}}",
              rows[i].a, tokens, rows[i].r);
    point(problem);
    return certify(problem, &settings);
}

static const tl_certified_bound *row_of(const tl_certificate *c, const char *key)
{
    for (size_t j = 0; j < c->bounds; j++)
        if (c->bound[j].bound == tl_bound_find(key)) return &c->bound[j];
    return NULL;
}

/* log10 of the upper end over the double. */
static double over_double(const tl_problem *problem, const tl_certified_bound *row)
{
    tl_head_facts head[1];
    tl_bound_query query;
    tl_bound_value value;

    cr_assert(row && row->applicable);
    cr_assert_eq(tl_bound_query_domain(&query, head, problem->layer, problem->measure,
                                       problem->domain, NULL),
                 TL_OK);
    cr_assert_eq(tl_bound_evaluate(row->bound, &query, &value, NULL), TL_OK);
    return row->value.high.log10 - value.log_value / log(10);
}

Test(certify_causal, two_writings_agree)
{
    for (size_t i = 0; i < ROWS; i += draw_stride(5)) {
        tl_problem problem;
        tl_certificate c = at(i, &problem);
        const tl_certified_bound *row = row_of(&c, "causal-sharp");
        const double over = over_double(&problem, row);
        cr_expect(row->enclosed, "row %zu", i);
        cr_expect(over > -rows[i].below - 1e-11 && over < rows[i].above + 1e-11, "row %zu: %g", i,
                  over);
        const tl_certified_bound *every = row_of(&c, "causal-riccati");
        cr_expect(every->enclosed && fabs(over_double(&problem, every)) < 0.01, "row %zu", i);
        cr_expect_leq(every->value.high.log10, row_of(&c, "causal-closed")->value.high.log10);
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
    }
}

/* Windows, a prefix that all see, parts: of every kind, in any order, and one that is causal beside
 * tokens that see themselves alone; everything, one token that sees itself alone. Above as before;
 * below: the merge of columns by doubles ends after six sweeps, that in balls at its least. */
static const struct {
    const char *mask;
    double a, above;
} masks[] = {
    {"[1,1,0,0,0],[1,1,1,0,0],[0,1,1,1,0],[0,0,1,1,1],[0,0,0,1,1]", -1, 0.01},
    {"[1,1,0,0,0],[1,1,1,0,0],[0,1,1,1,0],[0,0,1,1,1],[0,0,0,1,1]", 3, 0.01},
    {"[1,1,0,0,0],[1,1,0,0,0],[1,1,1,0,0],[1,1,1,1,0],[1,1,1,1,1]", 0.25, 0.01},
    {"[1,0,0,0,0],[1,1,0,0,0],[1,0,1,0,0],[1,0,0,1,0],[1,0,0,0,1]", 1, 0.01},
    {"[0,1,0,0,0],[0,0,1,0,0],[0,0,0,1,0],[0,0,0,0,1],[1,1,1,1,0]", -2, 0.01},
    {"[1,1,0,0,0],[1,1,0,0,0],[0,0,1,1,1],[0,0,1,1,1],[0,0,1,1,1]", 1, 0.02},
    {"[1,0,1,0,0],[0,1,0,0,1],[1,0,1,0,0],[0,0,0,1,0],[0,1,0,0,1]", 2, 0.02},
    {"[1,0,1,0,1],[0,1,0,0,0],[0,0,1,0,1],[0,0,0,1,0],[0,0,0,0,1]", 1, 0.01},
    {"[1,0,1,0,1],[0,1,0,1,0],[1,0,1,0,0],[0,0,0,1,0],[0,0,1,0,1]", 0.5, 0.01},
    {"[1,0,0,0,0],[0,1,0,0,0],[0,0,1,0,0],[0,0,0,1,0],[0,0,0,0,1]", 5, 0},
    {"[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1]", 1, 0.02},
};

/* The row where every token sees itself alone: the bound is attained. */
enum { ALONE = 9 };

Test(certify_causal, masks)
{
    const tl_certify_settings settings = {.boxes = true};

    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
        tl_problem problem;
        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{'kind':'dot','mask':[%s],'heads':"
                  "[{'A':[[%.17g]],'V':[[2]]}]},'tokens':[[1],[-1],[0.5],[0.25],[-0.5]],"
                  "'domain':{'kind':'ball','radius':1}}",
                  masks[i].mask, masks[i].a);
        tl_certificate c = certify(&problem, &settings);
        const tl_certified_bound *row = row_of(&c, "masked-sharp");
        const double over = over_double(&problem, row);
        cr_expect(row->enclosed, "row %zu", i);
        cr_expect(over > -0.012 && over < masks[i].above + 1e-11, "row %zu: %g", i, over);
        cr_expect_eq(row->standing, i == ALONE ? TL_STANDS_EQUAL : TL_STANDS_ABOVE);
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
    }
}

/* Masks of n tokens, row i seeing those from i - back to the larger of i and `prefix`, both counted
 * from the start of its part, of `part` tokens: A = a, radius 1. Not enclosed: a part of more than
 * 512 tokens of no special kind. */
static const struct {
    size_t n, part, back, prefix;
    double a;
    bool enclosed;
} long_masks[] = {
    {200, 200, 200, 2, 0, true},   {200, 200, 200, 2, 0.1, true}, {120, 120, 120, 5, 1, true},
    {120, 120, 10, 2, 0.5, true},  {300, 150, 150, 2, 0.1, true}, {300, 50, 50, 0, 0.5, true},
    {200, 200, 200, 0, 0.1, true}, {100, 20, 20, 20, 1, true},    {520, 520, 520, 2, 0.1, false},
};

static void set_long(tl_problem *problem, size_t i)
{
    static unsigned char seen[520 * 520];
    const size_t n = long_masks[i].n;
    char tokens[4096] = "";
    size_t used = 0;

    for (size_t r = 0; r < n; r++) {
        used += (size_t)snprintf(tokens + used, sizeof tokens - used, "%s[%d]", r ? "," : "",
                                 r % 2 ? 1 : 0);
        const size_t first = r - r % long_masks[i].part, at = r - first;
        for (size_t j = 0; j < n; j++) {
            const size_t q = j - first;
            seen[r * n + j] = j >= first && q < long_masks[i].part &&
                              (q <= at || q < long_masks[i].prefix) && q + long_masks[i].back >= at;
        }
    }
    read_text(problem,
              "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[%.17g]],"
              "'V':[[1]]}]},'tokens':[%s],'domain':{'kind':'ball','radius':1}}",
              long_masks[i].a, tokens);
    cr_assert_eq(tl_layer_mask(problem->layer, n, seen, NULL), TL_OK);
    point(problem);
}

Test(certify_causal, long_masks)
{
    const tl_certify_settings settings = {.boxes = true};

    for (size_t i = 0; i < sizeof long_masks / sizeof long_masks[0]; i += draw_stride(4)) {
        tl_problem problem;
        set_long(&problem, i);
        tl_certificate c = certify(&problem, &settings);
        const tl_certified_bound *row = row_of(&c, "masked-sharp");
        const double over = over_double(&problem, row);
        cr_expect_eq(row->enclosed, long_masks[i].enclosed, "row %zu", i);
        cr_expect(over > -0.02 && over < 0.02, "row %zu: %g", i, over);
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
    }
}
