/* The formulas in ball arithmetic against the double-precision bounds, which are rounded up by a
 * margin: two separate writings of each. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/witness_text.h"

/* Heads and rest of problems: short and long form, biases, output matrix, copies, mean field, mask,
 * a ball about another centre, one token, A = 0, large g, Frobenius balls. */
static const char *const problems[] = {
    "'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[1,2],[0.5,-1]]}]},'tokens':[[1,0],[0,-1],[0.5,0.5]]",
    "'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[1,2],[0.5,-1]]}]},'tokens':[[1,0],[0,-1],[0.5,0.5]],"
    "'multiplicity':[1,1000000000000,3],'domain':{'kind':'ball','radius':1.5}",
    "'heads':[{'A':[[-2,0],[0,-1]],'V':[[1,0],[0,1]]}]},'tokens':[[3,0],[-3,0]],"
    "'log_mass':[-1e-8,-18.420680743952367],'domain':{'kind':'ball','radius':3}",
    "'heads':[{'Q':[[1,0.5]],'K':[[0.25,-1]],'V':[[1,1]],'bq':[0.5],'scale':2},{'Q':[[0.1,0.2]],"
    "'K':[[2,-1]],'V':[[1,-1]],'bk':[3]}],'output':[[1,0.5],[0,2],[0.1,0.1]]},"
    "'tokens':[[1,2],[0,-1],[2,2],[1,1]],'domain':{'kind':'ball','radius':3,'centre':[1,0.5]}",
    "'heads':[{'Q':[[1,0.5]],'K':[[0.25,-1]],'V':[[1,1]]},{'Q':[[0.1,0.2]],'K':[[2,-1]],"
    "'V':[[1,-1]]}],'output':[[1,0.5],[0,2]]},'tokens':[[1,2],[0,-1]],"
    "'domain':{'kind':'ball','radius':3,'centre':[1,0.5]}",
    "'mask':'causal','heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[1,2],[0.5,-1]]}]},"
    "'tokens':[[1,0],[0,-1],[0.5,0.5]]",
    "'mask':[[1,0,1],[1,1,0],[0,0,1]],'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[1,2],[0.5,-1]]}]},"
    "'tokens':[[1,0],[0,-1],[0.5,0.5]]",
    "'heads':[{'A':[[3]],'V':[[2]]}]},'tokens':[[0.5]]",
    "'heads':[{'A':[[0]],'V':[[2]]}]},'tokens':[[0.5],[1]]",
    "'heads':[{'A':[[1e-200]],'V':[[2]]}]},'tokens':[[0.5],[1],[-0.5]]",
    "'heads':[{'A':[[-40]],'V':[[2]]}]},'tokens':[[5],[1],[-4]],'multiplicity':[2,2,9]",
    "'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[1,2],[0.5,-1]]}]},'tokens':[[1.25,-0.375],[-0.75,0."
    "625]],"
    "'domain':{'kind':'rms-norm','gain':[1,0.5],'shift':[0.25,0.125]}",
    "'heads':[{'Q':[[1,0.5]],'K':[[0.25,-1]],'V':[[1,1]],'bq':[0.5],'scale':2},{'Q':[[0.1,0.2]],"
    "'K':[[2,-1]],'V':[[1,-1]]}],'output':[[1,0.5],[0,2],[0.1,0.1]]},"
    "'tokens':[[1.25,-0.375],[-0.75,0.625]],'domain':{'kind':'rms-norm','gain':[1,0.5],'shift':[0."
    "25,"
    "0.125]}",
    "'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[1,2],[0.5,-1]]}]},'tokens':[[1,0],[0,-1],[0.5,0.5]],"
    "'multiplicity':[1,3,2],'domain':{'kind':'frobenius-ball','epsilon':0.0009765625}",
    "'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[1,2],[0.5,-1]]}]},'tokens':[[1,0],[0,-1],[0.5,0.5]],"
    "'multiplicity':[1,3,2],'domain':{'kind':'frobenius-ball','epsilon':40}",
    "'heads':[{'Q':[[1,0.5]],'K':[[0.25,-1]],'V':[[1,1]],'bq':[0.5],'scale':2},{'Q':[[0.1,0.2]],"
    "'K':[[2,-1]],'V':[[1,-1]],'bk':[3]}],'output':[[1,0.5],[0,2],[0.1,0.1]]},"
    "'tokens':[[1,2],[0,-1],[2,2],[1,1]],'domain':{'kind':'frobenius-ball','epsilon':0.25}",
    "'mask':'causal','heads':[{'A':[[5,-1],[0.25,-10]],'V':[[1,2],[0.5,-1]]}]},'tokens':[[10,0],"
    "[0,-1],[0.5,0.5]],'domain':{'kind':'frobenius-ball','epsilon':0.5}",
    "'mask':[[1,0,1],[1,1,0],[0,0,1]],'heads':[{'Q':[[1,0.5]],'V':[[1,1]],'K':[[1,0]]},{'Q':[[0.1,"
    "0.2]],'K':[[0,1]],'V':[[1,-1]]}]},'tokens':[[1,0],[0,-1],[0.5,0.5]],"
    "'domain':{'kind':'frobenius-ball','epsilon':1}",
    "'heads':[{'A':[[0]],'V':[[2]]}]},'tokens':[[0.5],[1]],"
    "'domain':{'kind':'frobenius-ball','epsilon':2}",
    "'heads':[{'A':[[3]],'V':[[2]]}]},'tokens':[[0.5]],"
    "'domain':{'kind':'frobenius-ball','epsilon':2}",
    "'heads':[{'A':[[3]],'V':[[2]]}]},'tokens':[[0.5],[1.5]],"
    "'domain':{'kind':'frobenius-ball','epsilon':1.5,'tokens':[[0.25],[0.5]]}",
    "'bias':-2,'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[1,2],[0.5,-1]]}]},'tokens':[[1,0],[0,-1]],"
    "'multiplicity':[3,70]",
    "'bias':0.25,'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[1,2],[0.5,-1]]}]},'tokens':[[1,0],[0,-1]]",
    "'bias':-1,'mask':[[1,0],[1,1]],'heads':[{'Q':[[1,0.5]],'K':[[0.25,-1]],'V':[[1,1]]},{'Q':[[0."
    "1,"
    "0.2]],'K':[[2,-1]],'V':[[1,-1]]}],'output':[[1,0.5],[0,2]]},'tokens':[[1,0],[0,-1]]",
    "'bias':-1,'mask':'causal','heads':[{'A':[[1]],'V':[[0]]}]},'tokens':[[1],[0],[-1]]",
    "'eps':0.5,'nu':2,'heads':[{'A':[[0.5,-1],[0.25,1]],'V':[[1,2],[0.5,-1]]}]},'tokens':[[1,0],[0,"
    "-1]],'multiplicity':[1,4]",
    "'eps':0.25,'tau':3,'heads':[{'Q':[[1,0.5]],'K':[[0.25,-1]],'V':[[1,1]]},{'Q':[[0.1,0.2]],"
    "'K':[[2,-1]],'V':[[1,-1]]}],'output':[[1,0.5],[0,2]]},'tokens':[[1,0]]",
    "'heads':[{'Q':[[1,0.5]],'V':[[1,2],[0.5,-1]]}]},'tokens':[[1,0],[0,-1]],'multiplicity':[1,4]",
    "'heads':[{'Q':[[1,0.5]],'V':[[1,1]]},{'Q':[[0.1,0.2],[1,2]],'V':[[1,-1]]}],"
    "'output':[[1,0.5],[0,2]]},'tokens':[[1,0],[0.5,0.25],[0,-1]]",
    "'heads':[{'Q':[[1,0]],'V':[[1,0]]},{'Q':[[0,1]],'V':[[0,1]]},{'Q':[[3,1],[0,1]],'V':[[0,0]]}]}"
    ","
    "'tokens':[[1,0],[0,-1]]",
    "'heads':[{'Q':[[2]],'V':[[3]]}]},'tokens':[[1]]",
    "'heads':[{'Q':[[2,1]],'V':[[3,-1]]}]},'tokens':[[1,0],[0.5,0]]",
    "'heads':[{'Q':[[2,1]],'V':[[3,-1]]}]},'tokens':[[1,0],[0.5,0]],'multiplicity':[999,30000001]",
    "'mask':'causal','heads':[{'Q':[[2,1]],'V':[[3,-1]]}]},'tokens':[[1,0],[0.5,0],[1,1],[0,0]]",
    "'mask':[[1,0,1],[1,1,0],[0,0,1]],'heads':[{'Q':[[2,1],[0,1]],'V':[[3,-1]]}]},"
    "'tokens':[[1,0],[0.5,0],[1,1]]",
    "'heads':[{'Q':[[1,0.5,0,0,1,2,0,1,3,1,1,0,1]],'V':[[1,0,0,0,0,0,0,1,0,0,0,0,1]]},"
    "{'Q':[[1,0.5,0,0,1,2,0,1,3,1,1,0,1],[1,0,0,1,0,0,0,0,0,0,-1,-1,3]],"
    "'V':[[1,0,0,0,0,2,0,0,0,1,0,0,0]]}]},"
    "'tokens':[[1,0,0,0,0,0,0,0,0,0,0,0,0],[0,0.5,0.25,0,0,0,0,0,0,0,0,0,1]]",
    "'heads':[{'Q':[[1,0.5]],'V':[[1,2],[0.5,-1]]}]},'tokens':[[1,0],[0,-1]],'log_mass':[-0."
    "6931471805599453,-0.6931471805599453]",
};

/* The first problem of kind sigmoid, of kind cosine and of kind l2, and on a Frobenius ball. */
enum {
    L2 = sizeof problems / sizeof problems[0] - 10,
    COSINE = L2 - 2,
    SIGMOID = COSINE - 4,
    FROBENIUS = SIGMOID - 8
};

/* By query of the same ball as the certificate's. */
static double log_double(const tl_problem *problem, const tl_bound *bound)
{
    tl_head_facts head[4];
    tl_bound_query query;
    tl_bound_value value;
    tl_domain *enclosing = NULL;
    const tl_domain *domain = problem->domain;

    if (!domain) {
        cr_assert_eq(tl_domain_alloc_enclosing(&enclosing, problem->measure->m, problem->measure->d,
                                               problem->measure->x, NULL),
                     TL_OK);
        domain = enclosing;
    }
    cr_assert_eq(
        tl_bound_query_domain(&query, head, problem->layer, problem->measure, domain, NULL), TL_OK);
    tl_bound_query asked = tl_bound_query_about(&query, bound, domain, false);
    asked.epsilon = domain->epsilon;
    cr_assert_eq(tl_bound_evaluate(bound, &asked, &value, NULL), TL_OK);
    cr_assert(value.applicable);
    tl_domain_free(enclosing);
    return value.log_value;
}

/* Bounds that a row of the header promises in ball arithmetic, and how far below the double the
 * ball may lie, relative in the logarithm: margins for rounding; more where parameters are searched
 * for on either side. */
static const struct {
    const char *key;
    double margin, above;
    bool slow; /* asked for by `boxes` alone */
} enclosed[] = {
    {"castin-general", 1e-11, 0, false},  {"castin-mean-field", 1e-11, 0, false},
    {"half-softmax", 1e-11, 0, false},    {"schur", 1e-11, 0, false},
    {"kernel", 1e-11, 0, false},          {"exact-1d", 1e-10, 0, false},
    {"l2-inf", 1e-10, 0, false},          {"l2-mean-field", 1e-9, 0, false},
    {"l2-fro", 1e-9, 1e-6, false},        {"l2-2", 1e-3, 1e-3, true},
    {"l2-ball", 1e-3, 1e-3, true},        {"sharp", 1e-3, 0.02, true},
    {"row-fro", 1e-10, 0.02, true},       {"numerical-range", 0.02, 0.02, true},
    {"ellipsoid", 1e-8, 0.02, true},      {"newhouse-inf2", 1e-11, 0, false},
    {"sharp-local", 1e-5, 1e-5, false},   {"local-ball", 1e-5, 1e-5, false},
    {"lofast", 1e-11, 0, true},           {"lofast-fine", 1e-11, 0, false},
    {"lofast-coarse", 1e-11, 0, false},   {"sharp-inf2", 1e-11, 0, false},
    {"w-infinity", 1e-11, 0, false},      {"causal-closed", 1e-11, 0, false},
    {"causal-riccati", 0.02, 0.02, true}, {"causal-sharp", 1e-10, 0.02, true},
    {"yudin-local", 1e-11, 0, false},     {"masked-sharp", 1e-3, 0.02, true},
    {"lipschitznorm", 1e-11, 0, false},   {"released-helper", 1e-11, 0, false},
    {"sigmoid", 1e-11, 0, false},         {"sigmoid-fro", 1e-11, 0, false},
    {"ellipsoid-inf2", 1e-8, 0, false},   {"scsa", 1e-11, 0, false},
    {"scsa-sharp", 1e-11, 0, false},      {"kim-2", 1e-11, 0, false},
    {"kim-2-printed", 1e-11, 0, false},   {"kim-inf", 1e-11, 0, false},
};

enum { ENCLOSED = sizeof enclosed / sizeof enclosed[0] };

static size_t index_of(const char *key)
{
    size_t i = 0;

    while (i < ENCLOSED && strcmp(enclosed[i].key, key) != 0) i++;
    return i;
}

/* Three tokens of L2 attention, and five on a line, where the search by doubles stays ahead of the
 * forms. */
static bool doubles_know_more(const tl_problem *problem, const char *key)
{
    const uint64_t n = problem->measure->n;

    return (n == 3 || (n == 5 && problem->layer->head[0].k == 1)) &&
           (strcmp(key, "l2-2") == 0 || strcmp(key, "l2-ball") == 0);
}

/* Columns of several heads are summed, and of many t that are equally good for one head some are
 * better for the sum: it is open which of them a search ends at. */
static double margin_of(const tl_problem *problem, size_t at)
{
    if (at >= ENCLOSED) return 0;
    /* Behind an output map doubles have more slack than balls. */
    if (strcmp(enclosed[at].key, "ellipsoid-inf2") == 0 && !problem->layer->O) return 1e-11;
    return strcmp(enclosed[at].key, "sharp-local") == 0 && problem->layer->heads > 1
               ? 0.02
               : enclosed[at].margin;
}

Test(certify_bounds, two_writings_agree)
{
    size_t seen[ENCLOSED + 1] = {0};

    for (size_t i = 0; i < sizeof problems / sizeof problems[0]; i++) {
        tl_problem problem;
        read_text(&problem, "{'schema':'tightlip/problem/1','attention':{'kind':'%s',%s}",
                  i < SIGMOID  ? "dot"
                  : i < COSINE ? "sigmoid"
                  : i < L2     ? "cosine"
                               : "l2",
                  problems[i]);
        /* Boxes where copies, biases, an ellipsoid and a large g occur. */
        const tl_certify_settings settings = {.boxes = i == 1 || i == 4 || i == 5 || i == 10 ||
                                                       i == 12 || i >= L2 ||
                                                       (i >= FROBENIUS && i < SIGMOID)};
        tl_certificate c = certify(&problem, &settings);
        cr_expect_eq(c.verdict, TL_VERDICT_NO_CLAIM, "problem %zu: %s", i, c.why);
        for (size_t j = 0; j < c.bounds; j++) {
            const tl_certified_bound *row = &c.bound[j];
            const char *key = row->bound->key;
            if (!row->applicable) continue;
            const size_t at = index_of(key);
            if (at < ENCLOSED && enclosed[at].slow && !settings.boxes) continue;
            cr_expect_eq(row->enclosed, at < ENCLOSED && !doubles_know_more(&problem, key),
                         "problem %zu: %s", i, key);
            double log_value = log_double(&problem, row->bound) / log(10);
            seen[at]++;
            const double margin = margin_of(&problem, at) * (1 + fabs(log_value));
            const double above = at < ENCLOSED && enclosed[at].above > 0
                                     ? enclosed[at].above * (1 + fabs(log_value))
                                     : 0;
            cr_expect(!(row->value.low.log10 > log_value + above) &&
                          row->value.high.log10 >= log_value - margin,
                      "problem %zu, %s: 10^[%.17g, %.17g], by doubles 10^%.17g", i, key,
                      row->value.low.log10, row->value.high.log10, log_value);
            cr_expect(!row->enclosed ||
                          row->value.high.log10 - row->value.low.log10 <
                              1e-12 * (1 + fabs(log_value)) ||
                          row->value.high.value <= 0,
                      "%s: [%s, %s]", key, row->value.low.text, row->value.high.text);
        }
        tl_certificate_clear(&c);
        tl_problem_clear(&problem);
    }
    for (size_t i = 0; i < ENCLOSED; i++)
        cr_expect(seen[i] > 0, "%s never applied", enclosed[i].key);
}

/* Two heads at so many tokens that their joint matrix has more than 128 rows. */
Test(certify_bounds, lofast_of_heads_at_many_tokens)
{
    enum { MANY = 90 };
    const tl_certify_settings settings = {.boxes = true};
    char tokens[16 * MANY] = "";
    size_t used = 0;
    tl_problem problem;

    for (int i = 0; i < MANY; i++)
        used += (size_t)snprintf(tokens + used, sizeof tokens - used, "%s[%d,%d]", i ? "," : "",
                                 i % 3 - 1, i % 7 - 3);
    read_text(&problem,
              "{'schema':'tightlip/problem/1','attention':{'kind':'dot','heads':[{'A':[[0.5,-1],"
              "[0.25,1]],'V':[[1,2],[0.5,-1]]},{'A':[[0,1],[-1,0]],'V':[[1,0],[1,1]]}]},"
              "'tokens':[%s],'domain':{'kind':'frobenius-ball','epsilon':0.5}}",
              tokens);
    tl_certificate c = certify(&problem, &settings);
    size_t seen = 0;
    for (size_t j = 0; j < c.bounds; j++) {
        const tl_certified_bound *row = &c.bound[j];
        if (strcmp(row->bound->key, "lofast") != 0) continue;
        const double log_value = log_double(&problem, row->bound) / log(10);
        cr_expect(row->applicable && row->enclosed);
        cr_expect_float_eq(row->value.high.log10, log_value, 1e-11 * (1 + fabs(log_value)));
        seen++;
    }
    cr_expect_eq(seen, 1);
    tl_certificate_clear(&c);
    tl_problem_clear(&problem);
}

/* What `run` asks for: the upper ends alone. */
Test(certify_bounds, upper_ends)
{
    tl_problem problem;

    read_text(&problem, "{'schema':'tightlip/problem/1','attention':{'kind':'dot',%s}",
              problems[1]);
    tl_certificate c = certify(&problem, NULL);
    tl_head_facts head[1];
    tl_bound_query query;
    cr_assert_eq(tl_bound_query_init(&query, head, problem.layer, problem.measure, NULL,
                                     problem.domain->radius, NULL),
                 TL_OK);
    for (size_t i = 0; i < tl_bound_count(); i++) {
        const tl_bound *bound = tl_bound_at(i);
        tl_bound_value value;
        tl_certified upper;
        cr_assert_eq(tl_bound_evaluate(bound, &query, &value, NULL), TL_OK);
        cr_assert_eq(tl_certify_upper(&problem, 1, &bound, &value, &upper, NULL), TL_OK);
        const size_t at = index_of(bound->key);
        if (value.applicable && at < ENCLOSED && enclosed[at].slow)
            cr_expect(fabs(upper.log10 * log(10) - value.log_value) <
                          8 * DBL_EPSILON * (1 + fabs(value.log_value)),
                      "%s: the double is taken where a formula is slow", bound->key);
        else
            cr_expect_str_eq(upper.text, value.applicable ? c.bound[i].value.high.text : "inf",
                             "%s", bound->key);
    }
    tl_domain_free(problem.domain);
    problem.domain = NULL;
    cr_expect_eq(tl_certify_upper(&problem, 0, NULL, NULL, NULL, NULL), TL_ERR_ARGUMENT);
    tl_certificate_clear(&c);
    tl_problem_clear(&problem);
}
