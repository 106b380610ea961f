/* Which token of a witness leaves its domain, and by how much, for every kind of domain. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

#include <gsl/gsl_randist.h>

#include "support/exact_domain.h"
#include "support/witness_text.h"
#include "tightlip/rng.h"

static const char *const layers[] = {
    "'kind':'l2','heads':[{'Q':[[1]],'V':[[1]]}]",
    "'kind':'dot','heads':[{'A':[[1,0],[0,1]],'V':[[1,0],[0,1]]}]",
    "'kind':'dot','heads':[{'A':[[1,0,0],[0,1,0],[0,0,1]],'V':[[1,0,0],[0,1,0],[0,0,1]]}]",
    ("'kind':'dot','heads':[{'A':[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]],"
     "'V':[[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]}]")};

enum { INSIDE = -1 };
#define ROOT2 1.4142135623730951
#define ROOT3 1.7320508075688772

/* Distances by hand; a step of a rounding unit past the boundary counts. */
static const struct {
    size_t d;
    const char *tokens, *domain;
    int outside;
    double excess;
} rows[] = {
    {2, "[[3,4],[0,-5]]", "'kind':'sphere','radius':5", INSIDE, 0},
    {2, "[[3,4],[6,8]]", "'kind':'sphere','radius':5", 1, 5},
    {2, "[[3,4.0000000000000009]]", "'kind':'sphere','radius':5", 0, 0.8 * 8 * DBL_EPSILON / 2},
    {2, "[[3,0]]", "'kind':'sphere','radius':5", 0, 2},
    {3, "[[1,-1,0]]", "'kind':'layer-norm','eps':1", INSIDE, 0},
    {3, "[[0,0,0],[2,-2,0]]", "'kind':'layer-norm','eps':1", 1, 2 * ROOT2 - ROOT3},
    {3, "[[1,-1,0.25]]", "'kind':'layer-norm','eps':1", 0, 0.25 / ROOT3},
    {3, "[[0.5,-0.5,0]]", "'kind':'layer-norm','eps':0", 0, ROOT3 - ROOT2 / 2},
    /* z = (1, 1) leaves two hidden entries of sum -2: |z|^2 = 1 + 1 + 1 + 1 = d. */
    {4, "[[1,1,0,0]]", "'kind':'layer-norm','gain':[1,1,0,0],'eps':1", INSIDE, 0},
    {4, "[[1,1,0,0],[1,1.0000000000000009,0,0]]", "'kind':'layer-norm','gain':[1,1,0,0],'eps':1", 1,
     0.7 * 4 * DBL_EPSILON},
    {4, "[[1,1,0.5,0]]", "'kind':'layer-norm','gain':[1,1,0,0],'eps':1", 0, 0.5},
    {2, "[[3,1]]", "'kind':'rms-norm','gain':[2,1],'shift':[1,0]", INSIDE, 0},
    {2, "[[3,1.0000000000000002]]", "'kind':'rms-norm','gain':[2,1],'shift':[1,0]", 0, DBL_EPSILON},
    {2, "[[1,0],[1.5,0]]", "'kind':'rms-norm','gain':[1,0],'eps':1", 1, 1.5 - ROOT2},
    {2, "[[1,0.125]]", "'kind':'rms-norm','gain':[1,0],'eps':1", 0, 0.125},
    {2, "[[1,-1],[0,0.5]]", "'kind':'box','lower':-1,'upper':1", INSIDE, 0},
    {2, "[[1,-1],[-4,5]]", "'kind':'box','lower':-1,'upper':1", 1, 5},
    {2, "[[0,0],[1.0000000000000002,0]]", "'kind':'box','lower':-1,'upper':1", 1, DBL_EPSILON},
    {2, "[[0,0],[0,-1.0000000000000002]]", "'kind':'box','lower':-1,'upper':1", 1, DBL_EPSILON},
    {1, "[[1e300],[-1e-300]]", "'kind':'space'", INSIDE, 0},
};

Test(certify_outside, the_token_and_the_distance)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tl_problem problem;

        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{%s},'tokens':%s,'domain':{%s}}",
                  layers[rows[i].d - 1], rows[i].tokens, rows[i].domain);
        tl_certificate c = certify(&problem, NULL);
        cr_expect_eq(c.verdict == TL_VERDICT_OUTSIDE, rows[i].outside != INSIDE, "row %zu", i);
        if (c.verdict == TL_VERDICT_OUTSIDE) {
            cr_expect_eq((int)c.outside, rows[i].outside, "row %zu: token %zu", i, c.outside);
            /* A point nearby is put inside, by some rounding units. */
            const double tolerance = 8 * DBL_EPSILON;
            cr_expect(c.excess > 0 && fabs(c.excess - rows[i].excess) <= tolerance,
                      "row %zu: %.17g, expected %.17g", i, c.excess, rows[i].excess);
        }
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
    }
}

/* Three copies of the origin and one token more: 3 |step|^2 + |step|^2 <= epsilon^2. */
Test(certify_outside, tokens_together)
{
    static const struct {
        const char *tokens, *counts;
        bool inside;
        double excess;
    } moved[] = {{"[[0,0],[1,0]]", "[3,1]", true, 0},
                 {"[[0.25,0],[1,0.25]]", "[3,1]", true, 0},
                 {"[[0.25,0],[1,0.25000000000000006]]", "[3,1]", false, DBL_EPSILON / 8},
                 {"[[0,0],[1,2]]", "[3,1]", false, 1.5},
                 {"[[0,0.25],[1,0.3125]]", "[3,1]", false, 0.034},
                 {"[[0,0],[1,0]]", "[1,3]", false, (double)INFINITY},
                 {"[[0,0],[1,0]]", "[3,2]", false, (double)INFINITY},
                 {"[[0,0],[0,0],[1,0]]", "[1,2,1]", false, (double)INFINITY}};

    for (size_t i = 0; i < sizeof moved / sizeof *moved; i++) {
        tl_problem problem;

        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{%s},'tokens':%s,'multiplicity':%s,"
                  "'domain':{'kind':'frobenius-ball','epsilon':0.5,'tokens':[[0,0],[1,0]],"
                  "'multiplicity':[3,1]}}",
                  layers[1], moved[i].tokens, moved[i].counts);
        tl_certificate c = certify(&problem, NULL);
        cr_expect_eq(c.verdict != TL_VERDICT_OUTSIDE, moved[i].inside, "row %zu", i);
        if (!moved[i].inside && c.excess != moved[i].excess)
            cr_expect(fabs(c.excess / moved[i].excess - 1) < 0.2, "row %zu: %g", i, c.excess);
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
    }
}

/* Projected tokens are accepted by both; pushed outwards a little, refused by both. */
Test(certify_outside, agrees_with_the_oracle_on_random_domains)
{
    static const tl_domain_kind kinds[] = {TL_DOMAIN_LAYER_NORM, TL_DOMAIN_RMS_NORM, TL_DOMAIN_BOX};
    gsl_rng *rng = tl_rng_stream_alloc(19, 0, 0);

    for (int round = 0; round < 120; round++) {
        tl_domain *domain = random_domain(rng, kinds[round % 3], 2);
        tl_problem problem;

        if (!domain) continue;
        if (domain->gain && domain->rank == 0) { /* a point, and a push of rounding units */
            tl_domain_free(domain);
            continue;
        }
        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{%s},'tokens':[[0,0]],"
                  "'domain':{'kind':'ball','radius':1}}",
                  layers[1]);
        tl_domain_free(problem.domain);
        problem.domain = domain;
        double *x = problem.measure->x;
        for (int i = 0; i < 2; i++)
            x[i] = (domain->centre ? domain->centre[i] : 0) + gsl_ran_gaussian(rng, domain->scale);
        tl_domain_project(domain, x);
        for (int pushed = 0; pushed < 2; pushed++) {
            if (pushed) x[0] += (x[0] < 0 ? -1 : 1) * domain->scale * 1e-3;
            const bool member = exact_member(domain, x, 64);
            cr_expect_eq(verdict(&problem) != TL_VERDICT_OUTSIDE, member,
                         "round %d, %s, pushed %d: [%.17g, %.17g]", round,
                         tl_domain_name(domain->kind), pushed, x[0], x[1]);
        }
        tl_problem_clear(&problem);
    }
    gsl_rng_free(rng);
}
