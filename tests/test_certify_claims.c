/* What a certificate says where little is known: claims beside the value, logarithms of claims,
 * ends at few bits, and bounds that are no enclosures or not about the tokens. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "support/witness_text.h"
#include "tightlip/norm.h"

/* Tokens 10 and -10 that attend to each other: moved together they move by 1 - 400 e^-200. */
#define APART                                                                                     \
    "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[-1]],'V':[[1]]}]}," \
    "'tokens':[[10],[-10]],'direction':[[1],[1]]}"

Test(certify_claims, a_claim_beside_the_value_stays_open)
{
    const tl_certify_settings rough = {.norm_only = true},
                              fine = {.slack = 1e-300, .norm_only = true};
    tl_problem problem;

    read_text(&problem, APART);
    problem.has_value = true;
    problem.value = 1;
    tl_certificate c = certify(&problem, &rough);
    cr_expect(c.verdict == TL_VERDICT_CONFIRMED && c.bits == 128, "%s, %ld bits",
              tl_verdict_name(c.verdict), c.bits);
    tl_certificate_clear(&c);
    c = certify(&problem, &fine);
    cr_expect(c.verdict == TL_VERDICT_BELOW && c.bits > 128, "%s, %ld bits",
              tl_verdict_name(c.verdict), c.bits);
    tl_certificate_clear(&c);
    tl_problem_clear(&problem);
}

/* Copies move apart by 10^-21714716 or so, whose logarithm is a double up to a relative 4e-9. */
Test(certify_claims, logarithms_of_claims_are_rounded)
{
    tl_problem problem;

    read_text(&problem,
              "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[1]],"
              "'V':[[1]]}]},'tokens':[[5000],[-5000]],'multiplicity':[2,1],"
              "'direction':[[1],[0]],'direction_kind':'split'}");
    cr_assert_eq(problem.direction_kind, TL_DIRECTION_SPLIT);
    tl_certificate c = certify(&problem, NULL);
    cr_expect(c.norm_at_x.low.log10 < -2e7 && c.split, "%s", c.norm_at_x.low.text);
    problem.has_value = true;
    problem.value = 0;
    problem.log10_value = nextafter(c.norm_at_x.low.log10, 0); /* above what it stands for */
    tl_certificate_clear(&c);
    cr_expect_eq(verdict(&problem), TL_VERDICT_CONFIRMED);
    problem.log10_value += 1e-6;
    cr_expect_eq(verdict(&problem), TL_VERDICT_BELOW);
    tl_problem_clear(&problem);
}

/* Heads that cancel but for e^-62 and the like: both ends hold what more bits say. */
Test(certify_claims, ends_at_few_bits_hold)
{
    static const tl_norm norms[] = {TL_NORM_INF, TL_NORM_1, TL_NORM_FRO};

    for (int i = 0; i < 24; i++) {
        const tl_certify_settings few = {.most_bits = 128, .norm_only = true},
                                  many = {.norm_only = true};
        tl_problem problem;
        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[1]],"
                  "'V':[[1]]},{'A':[[%g]],'V':[[1]]}],'output':[[1,-1]]},'tokens':[[-5.625],"
                  "[5.625]]}",
                  1.125 + 0.0625 * i);
        problem.has_norm = true;
        problem.norm = norms[i % 3];
        tl_certificate wide = certify(&problem, &few), narrow = certify(&problem, &many);
        cr_expect(narrow.bits > 128 && wide.bits == 128 && wide.has_upper);
        cr_expect(wide.norm_at_x.low.value <= narrow.norm_at_x.high.value &&
                      wide.norm_at_x.high.value >= narrow.norm_at_x.low.value,
                  "row %d: [%s, %s], then [%s, %s]", i, wide.norm_at_x.low.text,
                  wide.norm_at_x.high.text, narrow.norm_at_x.low.text, narrow.norm_at_x.high.text);
        tl_certificate_clear(&narrow);
        tl_certificate_clear(&wide);
        tl_problem_clear(&problem);
    }
}

static const tl_certified_bound *row_of(const tl_certificate *c, const char *key)
{
    for (size_t i = 0; i < c->bounds; i++)
        if (strcmp(c->bound[i].bound->key, key) == 0) return &c->bound[i];
    cr_assert_fail("%s", key);
    return NULL;
}

/* A double is a bound from above alone. */
Test(certify_claims, doubles_have_no_lower_end)
{
    const tl_certify_settings doubles = {.lower_only = true};
    tl_problem problem;

    read_text(&problem, APART);
    tl_certificate c = certify(&problem, &doubles), balls = certify(&problem, NULL);
    for (size_t i = 0; i < c.bounds; i++) {
        if (!c.bound[i].applicable) continue;
        cr_expect(!c.bound[i].enclosed && strcmp(c.bound[i].value.low.text, "0") == 0, "%s: %s",
                  c.bound[i].bound->key, c.bound[i].value.low.text);
    }
    const tl_certified_bound *row = row_of(&balls, "newhouse-inf2");
    cr_expect(row->enclosed && row->value.low.value > 200);
    tl_certificate_clear(&balls);
    tl_certificate_clear(&c);
    tl_problem_clear(&problem);
}

/* Moves from the centre are bounded there, not from any tokens of the ball. */
Test(certify_claims, moves_from_the_centre_start_there)
{
    static const char *const tokens[] = {"[[0],[1]]", "[[0],[1.25]]", "[[0.25],[1]]"};

    for (size_t i = 0; i < 3; i++) {
        tl_problem problem;
        read_text(&problem,
                  "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[1]],"
                  "'V':[[1]]}]},'tokens':%s,'domain':{'kind':'frobenius-ball','epsilon':0.5,"
                  "'tokens':[[0],[1]]}}",
                  tokens[i]);
        tl_certificate c = certify(&problem, NULL);
        cr_expect_eq(row_of(&c, "lofast")->applicable, i == 0, "row %zu", i);
        cr_expect(row_of(&c, "local-ball")->applicable, "row %zu", i);
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
    }
}
