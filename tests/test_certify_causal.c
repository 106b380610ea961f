/* causal-sharp and masked-sharp in ball arithmetic against doubles, over tokens, masks and radii.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "support/draws.h"
#include "support/witness_text.h"

/* n tokens on a line, A = a, in the ball of radius r. Above: by how much balls may say more, whose
 * searches end earlier. Not enclosed: a profile of rows says less. */
static const struct {
    int n;
    double a, r;
    bool enclosed;
    double above;
} rows[] = {
    {1, -1, 1, true, 0},     {2, 0, 1, true, 0},      {2, -1, 0.5, true, 0},
    {2, 2, 2, true, 0},      {3, 0.05, 1, true, 0},   {3, -1, 1, true, 0.002},
    {5, 3, 1, true, 0.005},  {12, -0.25, 1, true, 0}, {12, -1, 2.5, true, 0.01},
    {70, 0.2, 1, true, 0},   {70, 4, 1, true, 0.01},  {3, 400, 1, true, 0},
    {300, 0.5, 1, false, 0},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

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
    cr_assert_eq(tl_bound_evaluate(row->bound, &query, &value), TL_OK);
    return row->value.high.log10 - value.log_value / log(10);
}

Test(certify_causal, two_writings_agree)
{
    for (size_t i = 0; i < ROWS; i += draw_stride(5)) {
        tl_problem problem;
        tl_certificate c = at(i, &problem);
        const tl_certified_bound *row = row_of(&c, "causal-sharp");
        const double over = over_double(&problem, row);
        cr_expect_eq(row->enclosed, rows[i].enclosed, "row %zu", i);
        cr_expect(over > -1e-11 && over < rows[i].above + 1e-11, "row %zu: %g", i, over);
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
    }
}

/* Windows, a prefix that all see, parts, everything, one token that sees itself alone. */
static const struct {
    const char *mask;
    double a;
    bool enclosed;
} masks[] = {
    {"[1,1,0,0,0],[1,1,1,0,0],[0,1,1,1,0],[0,0,1,1,1],[0,0,0,1,1]", -1, true},
    {"[1,1,0,0,0],[1,1,1,0,0],[0,1,1,1,0],[0,0,1,1,1],[0,0,0,1,1]", 3, true},
    {"[1,1,0,0,0],[1,1,0,0,0],[1,1,1,0,0],[1,1,1,1,0],[1,1,1,1,1]", 0.25, true},
    {"[1,0,0,0,0],[1,1,0,0,0],[1,0,1,0,0],[1,0,0,1,0],[1,0,0,0,1]", 1, true},
    {"[0,1,0,0,0],[0,0,1,0,0],[0,0,0,1,0],[0,0,0,0,1],[1,1,1,1,0]", -2, true},
    {"[1,1,0,0,0],[1,1,0,0,0],[0,0,1,1,1],[0,0,1,1,1],[0,0,1,1,1]", 1, false},
    {"[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1],[1,1,1,1,1]", 1, false},
};

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
        cr_expect_eq(row->enclosed, masks[i].enclosed, "row %zu", i);
        cr_expect(over > -0.005 && over < 0.01, "row %zu: %g", i, over);
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
    }
}
