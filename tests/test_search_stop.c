/* Searches that are told to end: by what they return, and that nothing else changes. */
#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "support/search_problem.h"

static const search_case cases[] = {
    {"lanes", TL_KIND_DOT, TL_MASK_NONE, 2, 100, 3},
    {"few tokens", TL_KIND_L2, TL_MASK_NONE, 2, 5, 4},
    {"mean field", TL_KIND_DOT, TL_MASK_NONE, 2, 0, 3},
    {"one by one", TL_KIND_SIGMOID, TL_MASK_NONE, 3, 50, 4},
    {"causal", TL_KIND_DOT, TL_MASK_CAUSAL, 2, 12, 12},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static search_fixture fixture_of(size_t i)
{
    const search_case *c = &cases[i];
    search_fixture f = search_fixture_make(c->kind, c->mask, c->d, -1, 2, c->n, c->atoms);
    f.settings.restarts = 20;
    f.settings.evaluations = 300;
    return f;
}

static volatile int asked;

static void ask(int number)
{
    (void)number;
    asked = 1;
}

Test(search_stop, ends_at_once_with_an_input_of_the_domain)
{
    for (size_t i = 0; i < CASES; i++) {
        search_fixture f = fixture_of(i);
        tl_search_result found;
        tl_error err = {0};
        asked = 1;
        f.settings.stop = &asked;
        f.settings.restarts = 100000;
        f.settings.evaluations = 100000000;
        cr_expect_eq(tl_search_run(&f.problem, &f.settings, &found, &err), TL_ERR_INTERRUPTED);
        cr_assert(found.measure, "%s", cases[i].name);
        cr_expect_eq(found.stop, TL_STOP_INTERRUPTED, "%s", cases[i].name);
        cr_expect_leq(found.evaluations, 2 * TL_SEARCH_TOGETHER, "%s: %llu", cases[i].name,
                      (unsigned long long)found.evaluations);
        cr_expect_gt(search_fixture_check(&f, &found), 0);
        tl_search_result_clear(&found);
        search_fixture_clear(&f);
    }
}

/* On the way it keeps the best of all restarts, those that have ended too. */
Test(search_stop, keeps_what_it_has_found)
{
    search_fixture f = fixture_of(0);
    const tl_search_result whole = search_fixture_run(&f);
    tl_search_result found;
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = ask;
    cr_assert_eq(sigaction(SIGALRM, &action, NULL), 0);
    asked = 0;
    f.settings.stop = &asked;
    f.settings.restarts = 10000000;
    (void)alarm(1);
    cr_expect_eq(tl_search_run(&f.problem, &f.settings, &found, NULL), TL_ERR_INTERRUPTED);
    cr_assert(found.measure);
    cr_expect_gt(found.evaluations, whole.evaluations);
    cr_expect_geq(found.log_objective, whole.log_objective);
    cr_expect_gt(search_fixture_check(&f, &found), 0);
    tl_search_result_clear(&found);
    tl_search_result left = whole;
    tl_search_result_clear(&left);
    search_fixture_clear(&f);
}

Test(search_stop, unasked_it_changes_nothing)
{
    for (size_t i = 0; i < CASES; i++) {
        search_fixture f = fixture_of(i);
        tl_search_result plain = search_fixture_run(&f);
        asked = 0;
        f.settings.stop = &asked;
        tl_search_result same = search_fixture_run(&f);
        cr_assert_eq(plain.measure->m, same.measure->m);
        cr_expect_eq(plain.evaluations, same.evaluations);
        cr_expect_eq(plain.stop, same.stop);
        cr_expect_eq(plain.norm.log_value, same.norm.log_value);
        cr_expect_eq(memcmp(plain.measure->x, same.measure->x,
                            plain.measure->m * plain.measure->d * sizeof *plain.measure->x),
                     0, "%s", cases[i].name);
        tl_search_result_clear(&plain);
        tl_search_result_clear(&same);
        search_fixture_clear(&f);
    }
}

/* A stop that comes when all is done is no interruption. */
Test(search_stop, is_told_only_where_something_is_left_undone)
{
    bool whole = false, cut = false;

    for (size_t i = 0; i < CASES; i++)
        for (size_t evaluations = 1; evaluations <= 4; evaluations++)
            for (size_t restarts = 1; restarts <= 9; restarts += 4) {
                search_fixture f = fixture_of(i);
                tl_search_result found;
                f.settings.evaluations = evaluations;
                f.settings.restarts = restarts;
                tl_search_result plain = search_fixture_run(&f);
                asked = 1;
                f.settings.stop = &asked;
                const tl_status status = tl_search_run(&f.problem, &f.settings, &found, NULL);
                cr_assert(found.measure);
                if (status == TL_OK)
                    cr_expect(plain.evaluations == found.evaluations && plain.stop == found.stop &&
                                  !(plain.norm.log_value < found.norm.log_value) &&
                                  !(plain.norm.log_value > found.norm.log_value),
                              "%s, %zu x %zu: %llu of %llu", cases[i].name, restarts, evaluations,
                              (unsigned long long)found.evaluations,
                              (unsigned long long)plain.evaluations);
                else
                    cr_expect_eq(status, TL_ERR_INTERRUPTED);
                whole = whole || status == TL_OK;
                cut = cut || status == TL_ERR_INTERRUPTED;
                tl_search_result_clear(&found);
                tl_search_result_clear(&plain);
                search_fixture_clear(&f);
            }
    cr_expect(whole && cut);
}
