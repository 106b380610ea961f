/* Searches of one plain head on a ball, of every kind and mask, for the tests of src/search. */
#ifndef SUPPORT_SEARCH_PROBLEM_H
#define SUPPORT_SEARCH_PROBLEM_H

#include "tightlip/search.h"

typedef struct {
    tl_layer *layer;
    tl_domain *domain;
    tl_search_problem problem;
    tl_search_settings settings;
} search_fixture;

/* Of a table of tests. */
typedef struct {
    const char *name;
    tl_kind kind;
    tl_mask mask;
    size_t d;
    uint64_t n;
    size_t atoms;
} search_case;

/* A = a I (kind l2: Q = sqrt(|a|) I) of width d, V = I, ball of radius R, mask general: all but the
 * diagonal, n >= 2. Bias of kind sigmoid: -log n. atoms = n under a mask. */
search_fixture search_fixture_make(tl_kind kind, tl_mask mask, size_t d, double a, double R,
                                   uint64_t n, size_t atoms);
void search_fixture_clear(search_fixture *f);
/* The search in the fixture; aborts the test on an error. */
tl_search_result search_fixture_run(search_fixture *f);
/* Tokens within the domain, value no more than any bound of that norm that applies to the domain as
 * a whole. Their number. */
size_t search_fixture_check(const search_fixture *f, const tl_search_result *found);

#endif
