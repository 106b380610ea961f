/* causal-sharp in ball arithmetic against the double, over tokens and radii. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

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

Test(certify_causal, two_writings_agree)
{
    for (size_t i = 0; i < ROWS; i++) {
        tl_problem problem;
        tl_certificate c = at(i, &problem);
        tl_head_facts head[1];
        tl_bound_query query;
        tl_bound_value value;
        const tl_certified_bound *row = NULL;
        for (size_t j = 0; j < c.bounds; j++)
            if (c.bound[j].bound == tl_bound_find("causal-sharp")) row = &c.bound[j];
        cr_assert(row && row->applicable);
        cr_assert_eq(tl_bound_query_domain(&query, head, problem.layer, problem.measure,
                                           problem.domain, NULL),
                     TL_OK);
        cr_assert_eq(tl_bound_evaluate(row->bound, &query, &value), TL_OK);
        const double over = row->value.high.log10 - value.log_value / log(10);
        cr_expect_eq(row->enclosed, rows[i].enclosed, "row %zu", i);
        cr_expect(over > -1e-11 && over < rows[i].above + 1e-11, "row %zu: %g", i, over);
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
    }
}
