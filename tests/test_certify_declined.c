/* Slow formulas that have no value are asked once, whatever the precision rises to. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "certify/certificate.h"
#include "support/witness_text.h"

typedef struct {
    tl_problem problem;
    tl_certify_run run;
    tl_certificate out;
} certified;

/* Three tokens of width 2: of kind l2, doubles know more of l2-2 than the forms in balls do. */
static void set(certified *c, const char *kind)
{
    const size_t bounds = tl_bound_count();
    tl_error err = {.text = ""};

    read_text(
        &c->problem,
        "{'schema':'tightlip/problem/1','attention':{'kind':'%s','heads':[{'%s':[[1,0],[0,1]],"
        "'V':[[1,0],[0,1]]}]},'tokens':[[1,0],[0,-1],[0.5,0.5]],"
        "'domain':{'kind':'ball','radius':2}}",
        kind, strcmp(kind, "dot") == 0 ? "A" : "Q");
    c->run = (tl_certify_run){.problem = &c->problem, .settings = {.boxes = true}};
    c->run.domain = c->problem.domain;
    c->run.log_value = calloc(bounds, sizeof *c->run.log_value);
    c->run.declined = calloc(bounds, sizeof *c->run.declined);
    c->out = (tl_certificate){.norm = TL_NORM_2, .heads = 1, .bounds = bounds};
    c->out.norm_a = calloc(1, sizeof *c->out.norm_a);
    c->out.norm_v = calloc(1, sizeof *c->out.norm_v);
    c->out.bound = calloc(bounds, sizeof *c->out.bound);
    cr_assert(c->run.log_value && c->run.declined && c->out.norm_a && c->out.norm_v &&
              c->out.bound);
    tl_certify_defaults(&c->run.settings);
    cr_assert_eq(tl_certify_double_bounds(&c->run, &c->out, &err), TL_OK, "%s", err.text);
}

static void unset(certified *c)
{
    free(c->run.log_value);
    free(c->run.declined);
    tl_certificate_clear(&c->out);
    tl_problem_clear(&c->problem);
}

static void stand(certified *c, slong prec)
{
    tl_error err = {.text = ""};
    tl_certify_state s;
    arb_t one;

    arb_init(one);
    arb_one(one);
    cr_assert_eq(tl_certify_state_init(&s, &c->problem, prec, &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_certify_stand(&c->run, &s, one, &c->out, &err), TL_OK, "%s", err.text);
    tl_certify_state_clear(&s);
    arb_clear(one);
}

static size_t index_of(const certified *c, const char *key)
{
    size_t i = 0;

    while (i < c->out.bounds && strcmp(c->out.bound[i].bound->key, key) != 0) i++;
    cr_assert_lt(i, c->out.bounds, "no bound %s", key);
    return i;
}

Test(certify_declined, a_formula_without_a_value_is_remembered)
{
    certified c;

    set(&c, "l2");
    const size_t declines = index_of(&c, "l2-2");
    stand(&c, TL_CERTIFY_FIRST_BITS);
    cr_expect(c.out.bound[declines].applicable && !c.out.bound[declines].enclosed);
    cr_expect(c.run.declined[declines]);
    unset(&c);
}

Test(certify_declined, what_is_remembered_is_not_asked_again)
{
    certified c;

    set(&c, "dot");
    const size_t answers = index_of(&c, "sharp");
    stand(&c, TL_CERTIFY_FIRST_BITS);
    cr_expect(c.out.bound[answers].enclosed && !c.run.declined[answers]);
    /* A formula that has a value gives none once it is remembered. */
    unset(&c);
    set(&c, "dot");
    c.run.declined[answers] = true;
    stand(&c, TL_CERTIFY_FIRST_BITS);
    cr_expect(c.out.bound[answers].applicable && !c.out.bound[answers].enclosed);
    cr_expect_eq(c.out.bound[answers].standing, TL_STANDS_ABOVE);
    unset(&c);
}
