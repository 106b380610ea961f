#include <math.h>
#include <string.h>

#include "bounds/internal.h"
#include "tightlip/names.h"

static const tl_bound *const table[] = {
    &tl_bound_castin_general,  &tl_bound_castin_mean_field,
    &tl_bound_half_softmax,    &tl_bound_schur,
    &tl_bound_sharp,           &tl_bound_kernel,
    &tl_bound_numerical_range, &tl_bound_newhouse_inf2,
    &tl_bound_sharp_local,     &tl_bound_yudin_local,
    &tl_bound_sharp_inf2,      &tl_bound_w_infinity,
    &tl_bound_sigmoid,         &tl_bound_scsa,
    &tl_bound_scsa_sharp,      &tl_bound_lipschitznorm,
    &tl_bound_released_helper, &tl_bound_causal_closed,
    &tl_bound_causal_riccati,  &tl_bound_causal_sharp,
    &tl_bound_local_ball,      &tl_bound_lofast,
    &tl_bound_lofast_fine,     &tl_bound_lofast_coarse,
    &tl_bound_kim_inf,         &tl_bound_kim_2,
    &tl_bound_kim_2_printed,   &tl_bound_exact_1d,
    &tl_bound_l2_inf,          &tl_bound_l2_2,
    &tl_bound_l2_ball,         &tl_bound_l2_mean_field,
    &tl_bound_masked_sharp,    &tl_bound_row_fro,
    &tl_bound_sigmoid_fro,     &tl_bound_l2_fro,
    &tl_bound_ellipsoid,       &tl_bound_ellipsoid_inf2,
};

static const tl_bound *const part[] = {&tl_bound_l2_form_a, &tl_bound_l2_form_b,
                                       &tl_bound_l2_form_c, &tl_bound_l2_form_d};

enum { COUNT = sizeof table / sizeof table[0], PARTS = sizeof part / sizeof part[0] };

TL_DEFINE_NAME(tl_scope_name, tl_scope, TL_SCOPE_LIST)
TL_DEFINE_NAME(tl_provenance_name, tl_provenance, TL_PROVENANCE_LIST)

size_t tl_bound_count(void)
{
    return COUNT;
}

const tl_bound *tl_bound_at(size_t i)
{
    return i < COUNT ? table[i] : NULL;
}

const tl_bound *tl_bound_find(const char *key)
{
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(table[i]->key, key) == 0) return table[i];
    for (size_t i = 0; i < PARTS; i++)
        if (strcmp(part[i]->key, key) == 0) return part[i];
    return NULL;
}

bool tl_bound_is_about_one_input(const tl_bound *bound)
{
    return bound->scope == TL_SCOPE_LOCAL || bound->scope == TL_SCOPE_FROBENIUS;
}

size_t tl_bound_part_count(void)
{
    return PARTS;
}

const tl_bound *tl_bound_part_at(size_t i)
{
    return i < PARTS ? part[i] : NULL;
}

/* Finite and not negative. */
static bool is_size(double x)
{
    return isfinite(x) && x >= 0;
}

/* Logits of kind l2 keep the map bounded on the whole space. */
static bool is_radius(double x, tl_kind kind)
{
    return is_size(x) || (kind == TL_KIND_L2 && x == (double)INFINITY);
}

static tl_status check_head(const tl_head_facts *head, size_t h, tl_error *err)
{
    const struct {
        const char *name;
        double value;
    } fact[] = {{"||A||", head->norm_a},
                {"||V||", head->norm_v},
                {"||O V||", head->norm_ov},
                {"largest |A x + c|", head->rho}};

    for (size_t i = 0; i < sizeof fact / sizeof fact[0]; i++)
        if (!is_size(fact[i].value))
            return tl_fail(err, TL_ERR_ARGUMENT,
                           "%s of head %zu: expected a number in the double range, >= 0, found %g",
                           fact[i].name, h, fact[i].value);
    return TL_OK;
}

static tl_status check(const tl_bound_query *query, tl_error *err)
{
    tl_status s = TL_OK;

    if (!query->infinite && !(isfinite(query->n) && query->n >= 1 && floor(query->n) == query->n))
        return tl_fail(err, TL_ERR_ARGUMENT, "n: expected a whole number from 1, found %g",
                       query->n);
    if (!is_radius(query->radius, query->kind) || !is_radius(query->radius_origin, query->kind))
        return tl_fail(err, TL_ERR_ARGUMENT, "radius: expected a finite number >= 0, found %g",
                       is_radius(query->radius, query->kind) ? query->radius_origin
                                                             : query->radius);
    if (!is_size(query->norm_o))
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "||O||: expected a number in the double range, >= 0, found %g",
                       query->norm_o);
    if (query->heads == 0 || !query->head)
        return tl_fail(err, TL_ERR_ARGUMENT, "expected the facts of a head, found none");
    for (size_t h = 0; h < query->heads && !s; h++) s = check_head(&query->head[h], h, err);
    if (s) return s;
    if (query->layer && query->layer->heads != query->heads)
        return tl_fail(err, TL_ERR_ARGUMENT, "expected facts of %zu heads, found %zu",
                       query->layer->heads, query->heads);
    if (query->measure && ((query->layer && query->measure->d != query->layer->d) ||
                           (query->measure->n == 0) != query->infinite ||
                           (!query->infinite && query->n < (double)query->measure->n)))
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "expected tokens of the width and number that the query tells");
    return TL_OK;
}

tl_status tl_bound_evaluate(const tl_bound *bound, const tl_bound_query *query,
                            tl_bound_value *value, tl_error *err)
{
    tl_status s;

    if (!bound || !query || !value) return tl_fail(err, TL_ERR_ARGUMENT, "expected a bound");
    s = check(query, err);
    if (!s) {
        *value = (tl_bound_value){.applicable = false, .log_value = (double)NAN};
        s = bound->evaluate(query, value);
        if (s) (void)tl_fail(err, s, "%s", tl_status_text(s));
    }
    if (s) tl_error_prefix(err, "bound %s", bound->key);
    return s;
}
