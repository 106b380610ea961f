#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/random_problem.h"
#include "support/scratch.h"
#include "tightlip/problem.h"
#include "tightlip/rng.h"

static bool same(const double *a, const double *b, size_t n)
{
    return (!a && !b) || (a && b && memcmp(a, b, n * sizeof *a) == 0);
}

static bool same_layer(const tl_layer *a, const tl_layer *b)
{
    size_t d = a->d;
    bool ok = a->kind == b->kind && a->mask == b->mask && d == b->d && a->heads == b->heads &&
              a->bias == b->bias && a->value_factor == b->value_factor && a->nu == b->nu &&
              a->tau == b->tau && a->eps == b->eps && a->seen_n == b->seen_n &&
              (!a->seen || memcmp(a->seen, b->seen, a->seen_n * a->seen_n) == 0) &&
              a->out == b->out && a->values == b->values && same(a->O, b->O, a->out * a->values);

    for (size_t h = 0; ok && h < a->heads; h++) {
        const tl_head *x = &a->head[h], *y = &b->head[h];
        ok = x->k == y->k && x->v == y->v && x->scale == y->scale && same(x->Q, y->Q, x->k * d) &&
             same(x->K, y->K, x->k * d) && same(x->V, y->V, x->v * d) && same(x->bq, y->bq, x->k) &&
             same(x->bk, y->bk, x->k) && same(x->bv, y->bv, x->v);
    }
    return ok;
}

static bool same_measure(const tl_measure *a, const tl_measure *b)
{
    return a->m == b->m && a->d == b->d && a->n == b->n && same(a->x, b->x, a->m * a->d) &&
           same(a->log_mass, b->log_mass, a->m) && !a->count == !b->count &&
           (!a->count || memcmp(a->count, b->count, a->m * sizeof *a->count) == 0);
}

static bool same_domain(const tl_domain *a, const tl_domain *b)
{
    if (!a || !b) return !a && !b;
    return a->kind == b->kind && a->d == b->d && a->radius == b->radius &&
           same(a->centre, b->centre, a->d);
}

static bool same_problem(const tl_problem *a, const tl_problem *b)
{
    return same_layer(a->layer, b->layer) && same_measure(a->measure, b->measure) &&
           same_domain(a->domain, b->domain) && a->has_norm == b->has_norm && a->norm == b->norm &&
           same(a->direction, b->direction, a->measure->m * a->measure->d) &&
           a->direction_kind == b->direction_kind && a->has_value == b->has_value &&
           a->value == b->value && a->log10_value == b->log10_value && !a->name == !b->name &&
           (!a->name || strcmp(a->name, b->name) == 0);
}

/* A random problem with everything a witness may have; the caller clears it. */
static tl_problem draw_witness(gsl_rng *rng)
{
    random_shape shape = random_shape_draw_any(rng);
    random_problem drawn = random_problem_draw(rng, &shape);
    tl_problem p = {.layer = drawn.layer, .measure = drawn.measure};
    size_t size = p.measure->m * p.measure->d;

    if (gsl_rng_uniform_int(rng, 2)) p.name = strdup("a \"name\"\n\xc3\xa9");
    if (gsl_rng_uniform_int(rng, 2))
        cr_assert_eq(
            tl_domain_alloc_enclosing(&p.domain, p.measure->m, p.measure->d, p.measure->x, NULL),
            TL_OK);
    if (gsl_rng_uniform_int(rng, 2)) {
        p.has_norm = true;
        p.norm = gsl_rng_uniform_int(rng, 2) ? TL_NORM_2 : TL_NORM_FRO;
        p.direction = malloc(size * sizeof *p.direction);
        for (size_t i = 0; i < size; i++)
            p.direction[i] = ldexp(random_normal(rng), -(int)gsl_rng_uniform_int(rng, 1100));
        p.direction_kind = (tl_direction_kind)gsl_rng_uniform_int(rng, 3);
    }
    if (gsl_rng_uniform_int(rng, 2)) {
        p.has_value = true;
        p.log10_value = 400 * random_normal(rng);
        p.value = pow(10, p.log10_value);
    }
    return p;
}

Test(problem_write, reading_back_gives_every_bit)
{
    gsl_rng *rng = tl_rng_stream_alloc(21, 0, 0);
    scratch s;

    cr_assert(scratch_init(&s));
    for (int draw = 0; draw < 200; draw++) {
        tl_problem p = draw_witness(rng), q;
        tl_error err = {0};
        char *first, *second;
        cr_assert_eq(tl_problem_write(&p, scratch_path(&s, "p.json"), &err), TL_OK, "%s", err.text);
        cr_assert_eq(tl_problem_read(s.path, &q, &err), TL_OK, "draw %d: %s", draw, err.text);
        cr_expect(same_problem(&p, &q), "draw %d", draw);
        first = tl_problem_dump(&p);
        second = tl_problem_dump(&q);
        cr_assert(first && second);
        cr_expect_str_eq(first, second);
        free(first);
        free(second);
        tl_problem_clear(&p);
        tl_problem_clear(&q);
    }
    cr_expect_eq(scratch_count(&s), 1);
    scratch_clear(&s);
    gsl_rng_free(rng);
}

Test(problem_write, a_head_without_k_keeps_its_bias_and_scale)
{
    double Q[] = {1, 2, 3, 4}, bq[] = {5, 6};
    tl_head head = {.k = 2, .v = 2, .Q = Q, .V = Q, .bq = bq, .scale = 0.3};
    tl_problem p = {0}, q;
    double A[2][4], c[2][2];
    json_t *root;

    cr_assert_eq(tl_layer_alloc(&p.layer, TL_KIND_DOT, TL_MASK_CAUSAL, 2, 1, &head, NULL, 0, NULL),
                 TL_OK);
    cr_assert_eq(tl_measure_alloc(&p.measure, 2, 2, Q, NULL, NULL, NULL), TL_OK);
    root = tl_problem_to_json(&p);
    cr_assert_eq(tl_problem_from_json(root, "here", &q, NULL), TL_OK);
    tl_layer_logit_map(p.layer, 0, A[0], c[0]);
    tl_layer_logit_map(q.layer, 0, A[1], c[1]);
    cr_expect_arr_eq(A[0], A[1], sizeof A[0]);
    cr_expect_arr_eq(c[0], c[1], sizeof c[0]);
    cr_expect_eq(q.layer->mask, TL_MASK_CAUSAL);
    json_decref(root);
    tl_problem_clear(&p);
    tl_problem_clear(&q);
}

static tl_problem small_problem(const uint64_t *count)
{
    const double one[] = {1};
    tl_problem p = {0};

    cr_assert_eq(tl_layer_alloc_av(&p.layer, 1, 1, one, one), TL_OK);
    cr_assert_eq(tl_measure_alloc(&p.measure, 1, 1, one, count, NULL, NULL), TL_OK);
    return p;
}

Test(problem_write, zero_and_overflowing_values)
{
    static const struct {
        double value, log10_value;
    } rows[] = {{0, -HUGE_VAL}, {HUGE_VAL, 4000.25}, {5e-324, -323.30621534311581}, {0, -2000}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tl_problem p = small_problem(NULL), q;
        tl_error err = {0};
        json_t *root;
        p.has_value = true;
        p.value = rows[i].value;
        p.log10_value = rows[i].log10_value;
        root = tl_problem_to_json(&p);
        cr_assert_not_null(root, "row %zu", i);
        cr_assert_eq(tl_problem_from_json(root, "here", &q, &err), TL_OK, "row %zu: %s", i,
                     err.text);
        cr_expect(same_problem(&p, &q), "row %zu", i);
        json_decref(root);
        tl_problem_clear(&p);
        tl_problem_clear(&q);
    }
}

Test(problem_write, what_json_cannot_hold_is_refused)
{
    const uint64_t fits = INT64_MAX, too_many = fits + 1;
    tl_problem p = small_problem(&fits), q = small_problem(&too_many);
    tl_error err;
    json_t *root = tl_problem_to_json(&p);
    scratch s;

    cr_assert(scratch_init(&s));
    cr_expect_not_null(root);
    json_decref(root);
    cr_expect_eq(tl_problem_write(&q, scratch_path(&s, "a"), &err), TL_ERR_DOMAIN);
    p.measure->x[0] = (double)NAN;
    cr_expect_null(tl_problem_to_json(&p));
    cr_expect_null(tl_problem_dump(&p));
    cr_expect_eq(tl_problem_write(&p, s.path, &err), TL_ERR_DOMAIN);
    cr_expect(strstr(err.text, "cannot be written as JSON"), "%s", err.text);
    cr_expect_eq(scratch_count(&s), 0);
    scratch_clear(&s);
    tl_problem_clear(&p);
    tl_problem_clear(&q);
}

Test(problem_write, unwritable_places)
{
    tl_problem p = small_problem(NULL);
    struct stat info;
    tl_error err;

    cr_expect_eq(tl_problem_write(&p, "/nonexistent/p.json", &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "/nonexistent/p.json: cannot be created"), "%s", err.text);
    if (stat("/dev/full", &info) == 0) {
        cr_expect_eq(tl_problem_write(&p, "/dev/full", &err), TL_ERR_IO);
        cr_expect(strstr(err.text, "No space left"), "%s", err.text);
    }
    tl_problem_clear(&p);
}

static const struct {
    const char *family;
    int files;
    tl_mask mask;
} golden[] = {
    {"dot", 3, TL_MASK_NONE},       {"copies", 3, TL_MASK_NONE},     {"multihead", 3, TL_MASK_NONE},
    {"saturated", 3, TL_MASK_NONE}, {"split-wins", 3, TL_MASK_NONE}, {"causal", 3, TL_MASK_CAUSAL},
    {"l2", 3, TL_MASK_NONE},        {"l2-copies", 3, TL_MASK_NONE},  {"sigmoid", 3, TL_MASK_NONE},
};

Test(problem_write, golden_files_parse_and_survive_a_round_trip)
{
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        for (int k = 0; k < golden[i].files; k++) {
            char path[128], *name;
            tl_error err = {0};
            tl_problem p, q;
            json_t *root;
            (void)snprintf(path, sizeof path, "tests/golden/%s-%d.json", golden[i].family, k);
            cr_assert_eq(tl_problem_read(path, &p, &err), TL_OK, "%s", err.text);
            cr_expect_eq(p.layer->mask, golden[i].mask);
            name = strrchr(path, '/') + 1;
            cr_expect(strncmp(p.name, name, strlen(p.name)) == 0);
            root = tl_problem_to_json(&p);
            cr_assert_eq(tl_problem_from_json(root, path, &q, &err), TL_OK, "%s", err.text);
            cr_expect(same_problem(&p, &q), "%s", path);
            json_decref(root);
            tl_problem_clear(&p);
            tl_problem_clear(&q);
        }
    }
}
