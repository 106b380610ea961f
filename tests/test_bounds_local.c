#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "support/bound_query.h"
#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/domain.h"
#include "tightlip/jacobian.h"
#include "tightlip/rng.h"

enum { MAX_HEADS = 8 };

typedef struct {
    double norm;        /* token Jacobian by full SVD */
    double inf2;        /* a lower bound of its (inf,2) norm */
    double worst_slack; /* largest log(norm / bound) over all bounds that apply */
    double local;       /* log(bound / norm) of sharp-local */
    const char *worst;
} verdict;

/* (inf,2) norm from below: for each output token i, ascent over unit movements of all tokens. */
static double inf2_lower(size_t n, size_t out, size_t d, const double *J)
{
    double best = 0, phi[64], u[64];

    for (size_t i = 0; i < n; i++) {
        for (size_t a = 0; a < out; a++) u[a] = 1;
        double value = 0;
        for (int step = 0; step < 12; step++) {
            double image[64] = {0}, length;
            for (size_t j = 0; j < n; j++) {
                memset(phi, 0, d * sizeof *phi);
                for (size_t a = 0; a < out; a++)
                    tl_axpy(d, u[a], J + (i * out + a) * n * d + j * d, phi);
                length = tl_nrm2(d, phi);
                for (size_t a = 0; a < out && length > 0; a++)
                    image[a] += tl_dot(d, J + (i * out + a) * n * d + j * d, phi) / length;
            }
            value = tl_nrm2(out, image);
            for (size_t a = 0; a < out && value > 0; a++) u[a] = image[a] / value;
        }
        best = fmax(best, value);
    }
    return best;
}

/* The smallest ball found around the tokens, and the one about the origin: all bounds on both. */
static void judge_query(const tl_bound_query *query, verdict *v)
{
    for (size_t b = 0; b < tl_bound_count(); b++) {
        const tl_bound *bound = tl_bound_at(b);
        if (bound->provenance == TL_PROVENANCE_REFUTED) continue;
        double found = bound->norm == TL_NORM_INF2 ? v->inf2 : v->norm;
        double log_value = log_bound(bound->key, query);
        if (isnan(log_value)) continue;
        double slack = log(found) - log_value;
        if (!(slack <= v->worst_slack)) {
            v->worst_slack = slack;
            v->worst = bound->key;
        }
        if (strcmp(bound->key, "sharp-local") == 0) v->local = -slack;
    }
}

static verdict judge(const tl_layer *layer, const tl_measure *mu)
{
    const size_t rows = (size_t)mu->n * layer->out, cols = (size_t)mu->n * layer->d;
    verdict v = {.worst_slack = -(double)INFINITY};
    double *J = malloc(rows * cols * sizeof *J), radius = 0;
    tl_head_facts head[MAX_HEADS];
    tl_bound_query query;
    tl_domain *ball = NULL;

    cr_assert(J != NULL);
    cr_assert_eq(tl_jacobian_tokens_dense(layer, mu, J, NULL), TL_OK);
    cr_assert_eq(tl_norm2_dense(rows, cols, J, &v.norm), TL_OK);
    v.inf2 = inf2_lower((size_t)mu->n, layer->out, layer->d, J);
    free(J);
    for (size_t k = 0; k < mu->m; k++) radius = fmax(radius, tl_nrm2(mu->d, mu->x + k * mu->d));
    cr_assert_eq(tl_bound_query_init(&query, head, layer, mu, NULL, radius, NULL), TL_OK);
    judge_query(&query, &v);
    cr_assert_eq(tl_domain_alloc_enclosing(&ball, mu->m, mu->d, mu->x, NULL), TL_OK);
    cr_assert_eq(tl_bound_query_init(&query, head, layer, mu, ball->centre, ball->radius, NULL),
                 TL_OK);
    judge_query(&query, &v);
    tl_domain_free(ball);
    return v;
}

/* The dense norm itself carries rounding; bounds are rounded up. */
static const double rounding = 64 * DBL_EPSILON;

Test(bounds_local, above_the_token_jacobian_at_random)
{
    gsl_rng *rng = tl_rng_stream_alloc(3, 1, 4);
    const int count = draw_count(100);

    for (int i = 0; i < count; i++) {
        random_shape shape = random_shape_draw(rng);
        if (shape.mean_field) continue;
        random_problem p = random_problem_draw(rng, &shape);
        cr_assert(p.layer && p.measure);
        verdict v = judge(p.layer, p.measure);
        cr_assert(v.worst_slack <= rounding,
                  "draw %d: %s below by %g (m %zu d %zu heads %zu factored %d output %d copies %d)",
                  i, v.worst, v.worst_slack, shape.m, shape.d, shape.heads, shape.factored,
                  shape.output, shape.copies);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

/* Random search that makes norm / bound as large as it can. */
Test(bounds_local, above_the_token_jacobian_when_attacked)
{
    gsl_rng *rng = tl_rng_stream_alloc(5, 9, 2);
    const int starts = draw_count(8), steps = 20;

    for (int s = 0; s < starts; s++) {
        random_shape shape = random_shape_draw(rng);
        shape.mean_field = false;
        random_problem p = random_problem_draw(rng, &shape);
        cr_assert(p.layer && p.measure);
        const size_t size = p.measure->m * p.measure->d;
        double *kept = malloc(size * sizeof *kept), best = -(double)INFINITY, width = 1;
        cr_assert(kept != NULL);
        for (int step = 0; step < steps; step++) {
            memcpy(kept, p.measure->x, size * sizeof *kept);
            for (size_t i = 0; step && i < size; i++) p.measure->x[i] += width * random_normal(rng);
            verdict v = judge(p.layer, p.measure);
            cr_assert(v.worst_slack <= rounding, "start %d step %d: %s below by %g", s, step,
                      v.worst, v.worst_slack);
            if (v.worst_slack > best) {
                best = v.worst_slack;
                width *= 1.3;
            } else {
                memcpy(p.measure->x, kept, size * sizeof *kept);
                width = fmax(width * 0.85, 1e-6);
            }
        }
        free(kept);
        random_problem_clear(&p);
    }
    gsl_rng_free(rng);
}

typedef struct {
    const char *name;
    size_t d, m;
    double A[16], x[16];
    uint64_t count[4];
    double most; /* sharp-local over the norm, at most */
} construction;

/* Inputs at which bounds are attained or nearly so. */
static const construction constructions[] = {
    {"two tokens apart", 1, 2, {-4}, {1, -1}, {1, 1}, 1.2},
    {"two-dirac", 1, 2, {-2}, {1, -1}, {1, 100}, 1.2},
    {"equal tokens", 2, 1, {3, 1, 0, 2}, {1, 2}, {5}, 1.0001},
    {"heavy pair",
     3,
     3,
     {-16, 0, 0, 0, -16, 0, 0, 0, -16},
     {1, 0, 0, -1, 0, 0, 0, 1, 0},
     {1, 1, 30},
     1.05},
    {"castin", 2, 2, {-1, 0, 0, -2}, {0, 2, 0, 1}, {1, 40}, 1.5},
    {"one-hot", 2, 3, {50, 0, 0, 50}, {1, 0, 0, 1, 0.9, 0}, {1, 4, 3}, 1.01},
};

Test(bounds_local, above_the_token_jacobian_where_it_is_large)
{
    for (size_t i = 0; i < sizeof constructions / sizeof constructions[0]; i++) {
        const construction *c = &constructions[i];
        double V[16] = {0};
        tl_layer *layer = NULL;
        tl_measure *mu = NULL;
        for (size_t a = 0; a < c->d; a++) V[a * c->d + a] = 1;
        cr_assert_eq(tl_layer_alloc_av(&layer, c->d, c->d, c->A, V), TL_OK);
        cr_assert_eq(tl_measure_alloc(&mu, c->m, c->d, c->x, c->count, NULL, NULL), TL_OK);
        verdict v = judge(layer, mu);
        cr_expect(v.worst_slack <= rounding, "%s: %s below by %g", c->name, v.worst, v.worst_slack);
        cr_expect(exp(v.local) <= c->most, "%s: sharp-local is %g times the norm", c->name,
                  exp(v.local));
        tl_measure_free(mu);
        tl_layer_free(layer);
    }
}
