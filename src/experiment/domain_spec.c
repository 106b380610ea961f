/* The setting `domain` of an experiment. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ||A||_2 of the only head. */
static tl_status logit_norm(const tl_bindings *b, const config_setting_t *group,
                            const tl_cell *cell, double *norm, tl_error *err)
{
    const tl_layer *layer = cell->attention.layer;
    double *A;
    tl_status s;

    if (layer->heads != 1)
        return tl_config_fail(b->experiment, group, err, TL_ERR_ARGUMENT,
                              "g = ||A|| R^2: expected one head, found %zu", layer->heads);
    *norm = cell->attention.norm_a;
    if (cell->attention.worst_a) return TL_OK;
    A = malloc(layer->d * layer->d * sizeof *A);
    if (!A) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    tl_layer_logit_map(layer, 0, A, NULL);
    s = tl_norm2_dense(layer->d, layer->d, A, norm);
    free(A);
    return s ? tl_config_fail(b->experiment, group, err, s, "||A|| cannot be computed") : TL_OK;
}

/* The radius itself, or the one at which ||A|| R^2 = g. */
static tl_status read_radius(const tl_bindings *b, const config_setting_t *group,
                             const tl_cell *cell, double *radius, tl_error *err)
{
    double g = 0, norm = 0;
    bool has_radius = false, has_g = false;
    tl_status s = tl_bindings_real(b, group, "radius", "R", radius, &has_radius, err);

    if (!s) s = tl_bindings_real(b, group, "g", "g", &g, &has_g, err);
    if (!s && has_radius == has_g)
        s = tl_config_fail(b->experiment, group, err, TL_ERR_PARSE,
                           "expected a setting \"radius\" or \"g\", or a sweep over R or g, "
                           "found %s",
                           has_g ? "both" : "neither");
    if (!s && has_g) {
        s = logit_norm(b, group, cell, &norm, err);
        if (!s && !(g > 0 && norm > 0))
            s = tl_config_fail(b->experiment, group, err, TL_ERR_DOMAIN,
                               "expected g and ||A|| above 0, found %g and %g", g, norm);
        *radius = sqrt(g / norm);
    }
    if (!s && !(*radius > 0 && isfinite(*radius)))
        s = tl_config_fail(b->experiment, group, err, TL_ERR_DOMAIN,
                           "expected a radius above 0, found %g", *radius);
    return s;
}

/* A vector of the token width, or NULL where the setting is absent. number: one number may stand
 * for all of them. */
static tl_status read_vector(const tl_bindings *b, const config_setting_t *group, const char *key,
                             bool number, const tl_cell *cell, double **out, tl_error *err)
{
    const config_setting_t *at = config_setting_get_member(group, key);
    const size_t d = cell->attention.layer->d;
    size_t count = d;
    double all;
    tl_status s;

    if (!at) return TL_OK;
    if (number && config_setting_is_number(at)) {
        s = tl_config_real(b->experiment, at, &all, err);
        if (s) return s;
        *out = malloc(d * sizeof **out);
        if (!*out) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
        for (size_t i = 0; i < d; i++) (*out)[i] = all;
        return TL_OK;
    }
    s = tl_vector_read(b, at, out, &count, err);
    if (!s && count != d)
        s = tl_config_fail(b->experiment, at, err, TL_ERR_SHAPE,
                           "expected %zu numbers, the token width, found %zu", d, count);
    return s;
}

static tl_status read_round(const tl_bindings *b, const config_setting_t *group,
                            tl_domain_kind kind, tl_cell *cell, tl_error *err)
{
    static const char *const keys[] = {"kind", "radius", "g", "centre", "snap"};
    const size_t d = cell->attention.layer->d, count = kind == TL_DOMAIN_BALL ? 4 : 5;
    double radius = 0, *centre = NULL;
    tl_error inner = {0};
    tl_status s = tl_config_keys(b->experiment, group, keys, count, err);

    if (!s) s = read_radius(b, group, cell, &radius, err);
    if (!s) s = read_vector(b, group, "centre", false, cell, &centre, err);
    if (!s) {
        s = kind == TL_DOMAIN_BALL
                ? tl_domain_alloc_ball(&cell->domain, d, radius, centre, &inner)
                : tl_domain_alloc_sphere(&cell->domain, d, radius, centre, &inner);
        if (s) (void)tl_config_fail(b->experiment, group, err, s, "%s", inner.text);
    }
    free(centre);
    return s;
}

static tl_status read_norm(const tl_bindings *b, const config_setting_t *group, tl_domain_kind kind,
                           tl_cell *cell, tl_error *err)
{
    static const char *const keys[] = {"kind", "gain", "shift", "eps", "snap"};
    double eps = 0, *gain = NULL, *shift = NULL;
    tl_error inner = {0};
    tl_status s = tl_config_keys(b->experiment, group, keys, COUNT(keys), err);

    if (!s) s = read_vector(b, group, "gain", true, cell, &gain, err);
    if (!s) s = read_vector(b, group, "shift", true, cell, &shift, err);
    if (!s) s = tl_bindings_real(b, group, "eps", NULL, &eps, NULL, err);
    if (!s) {
        s = tl_domain_alloc_norm(&cell->domain, kind, cell->attention.layer->d, gain, shift, eps,
                                 &inner);
        if (s) (void)tl_config_fail(b->experiment, group, err, s, "%s", inner.text);
    }
    free(gain);
    free(shift);
    return s;
}

static tl_status read_box(const tl_bindings *b, const config_setting_t *group, tl_cell *cell,
                          tl_error *err)
{
    static const char *const keys[] = {"kind", "lower", "upper", "snap"};
    const config_setting_t *at = NULL;
    double *lower = NULL, *upper = NULL;
    tl_error inner = {0};
    tl_status s = tl_config_keys(b->experiment, group, keys, COUNT(keys), err);

    if (!s) s = tl_config_require(b->experiment, group, "lower", &at, err);
    if (!s) s = tl_config_require(b->experiment, group, "upper", &at, err);
    if (!s) s = read_vector(b, group, "lower", true, cell, &lower, err);
    if (!s) s = read_vector(b, group, "upper", true, cell, &upper, err);
    if (!s) {
        s = tl_domain_alloc_box(&cell->domain, cell->attention.layer->d, lower, upper, &inner);
        if (s) (void)tl_config_fail(b->experiment, group, err, s, "%s", inner.text);
    }
    free(lower);
    free(upper);
    return s;
}

static tl_status read_space(const tl_bindings *b, const config_setting_t *group, tl_cell *cell,
                            tl_error *err)
{
    static const char *const keys[] = {"kind", "scale"};
    double scale = 1;
    tl_error inner = {0};
    tl_status s = tl_config_keys(b->experiment, group, keys, COUNT(keys), err);

    if (!s) s = tl_bindings_real(b, group, "scale", NULL, &scale, NULL, err);
    if (s) return s;
    s = tl_domain_alloc_space(&cell->domain, cell->attention.layer->d, scale, &inner);
    return s ? tl_config_fail(b->experiment, group, err, s, "%s", inner.text) : TL_OK;
}

static tl_status need_tokens(const tl_bindings *b, const config_setting_t *at, const tl_cell *cell,
                             const char *what, tl_error *err)
{
    if (cell->tokens) return TL_OK;
    return tl_config_fail(b->experiment, at, err, TL_ERR_ARGUMENT,
                          "expected tokens to %s, found none", what);
}

static tl_status read_array(const tl_bindings *b, const config_setting_t *group, tl_cell *cell,
                            tl_error *err)
{
    static const char *const keys[] = {"kind", "epsilon"};
    double epsilon = 0;
    bool found = false;
    tl_error inner = {0};
    tl_status s = tl_config_keys(b->experiment, group, keys, COUNT(keys), err);

    if (!s) s = need_tokens(b, group, cell, "lie about", err);
    if (!s) s = tl_bindings_real(b, group, "epsilon", "epsilon", &epsilon, &found, err);
    if (!s && !found)
        s = tl_config_fail(b->experiment, group, err, TL_ERR_PARSE,
                           "expected a setting \"epsilon\", or a sweep over it, found neither");
    if (s) return s;
    s = tl_domain_alloc_frobenius(&cell->domain, cell->tokens, epsilon, &inner);
    return s ? tl_config_fail(b->experiment, group, err, s, "%s", inner.text) : TL_OK;
}

static tl_status enclose_tokens(const tl_bindings *b, const config_setting_t *at, tl_cell *cell,
                                tl_error *err)
{
    const tl_measure *mu = cell->tokens;
    tl_error inner = {0};
    tl_status s = need_tokens(b, at, cell, "enclose", err);

    if (s) return s;
    s = tl_domain_alloc_enclosing(&cell->domain, mu->m, mu->d, mu->x, &inner);
    return s ? tl_config_fail(b->experiment, at, err, s, "%s", inner.text) : TL_OK;
}

/* Moves token k to the nearest point of the domain when that is at most snap radii away. */
static bool snap_token(const tl_cell *cell, size_t k, double snap, double *moved)
{
    const tl_domain *domain = cell->domain;
    double *x = cell->tokens->x + k * domain->d, distance = 0;

    memcpy(moved, x, domain->d * sizeof *moved);
    tl_domain_project(domain, moved);
    for (size_t i = 0; i < domain->d; i++) distance = hypot(distance, moved[i] - x[i]);
    if (!(distance <= snap * domain->radius)) return false;
    memcpy(x, moved, domain->d * sizeof *moved);
    return true;
}

static tl_status check_inside(const tl_bindings *b, const config_setting_t *at, const tl_cell *cell,
                              tl_error *err)
{
    const tl_measure *mu = cell->tokens;
    double snap = 0, *moved;
    tl_status s = tl_bindings_real(b, at, "snap", NULL, &snap, NULL, err);

    if (s || !mu || cell->domain->around) return s;
    if (!(snap >= 0 && snap < 1))
        return tl_config_fail(b->experiment, at, err, TL_ERR_DOMAIN,
                              "expected snap of at least 0 and below 1, found %g", snap);
    moved = malloc(mu->d * sizeof *moved);
    if (!moved) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    for (size_t k = 0; !s && k < mu->m; k++) {
        if (tl_domain_contains(cell->domain, mu->x + k * mu->d)) continue;
        if (snap > 0 && snap_token(cell, k, snap, moved)) continue;
        s = cell->domain->kind == TL_DOMAIN_BALL
                ? tl_config_fail(b->experiment, at, err, TL_ERR_DOMAIN,
                                 "expected tokens within radius %.17g, found token %zu outside",
                                 cell->domain->radius, k)
                : tl_config_fail(b->experiment, at, err, TL_ERR_DOMAIN,
                                 "expected tokens of the domain \"%s\", found token %zu outside "
                                 "(a setting snap moves those that are near)",
                                 tl_domain_name(cell->domain->kind), k);
    }
    free(moved);
    return s;
}

static tl_status read_kind(const tl_bindings *b, const config_setting_t *group, tl_domain_kind kind,
                           tl_cell *cell, tl_error *err)
{
    switch (kind) {
    case TL_DOMAIN_LAYER_NORM:
    case TL_DOMAIN_RMS_NORM:
        return read_norm(b, group, kind, cell, err);
    case TL_DOMAIN_BOX:
        return read_box(b, group, cell, err);
    case TL_DOMAIN_SPACE:
        return read_space(b, group, cell, err);
    case TL_DOMAIN_FROBENIUS:
        return read_array(b, group, cell, err);
    case TL_DOMAIN_BALL:
    case TL_DOMAIN_SPHERE:
        break;
    }
    return read_round(b, group, kind, cell, err);
}

tl_status tl_domain_spec_read(const tl_bindings *b, tl_cell *cell, tl_error *err)
{
    static const char *const kinds[] = {
#define X(id, name, text) name,
        TL_DOMAIN_LIST(X)
#undef X
            "enclosing"};
    static const char *const keys[] = {"kind"};
    const config_setting_t *group = b->experiment->domain, *at = NULL;
    tl_domain_kind kind = TL_DOMAIN_BALL;
    const char *word = "enclosing";
    tl_error inner = {0};
    tl_status s = TL_OK;

    if (!group && !cell->tokens)
        return tl_fail(err, TL_ERR_PARSE, "%s: expected a setting \"domain\", found none",
                       b->experiment->path);
    if (!group) return enclose_tokens(b, b->experiment->tokens, cell, err);
    if (!config_setting_is_group(group)) return tl_config_keys(b->experiment, group, NULL, 0, err);
    s = tl_config_require(b->experiment, group, "kind", &at, err);
    if (!s) s = tl_config_text(b->experiment, at, &word, err);
    if (s) return s;
    if (strcmp(word, "enclosing") == 0) {
        s = tl_config_keys(b->experiment, group, keys, 1, err);
        return s ? s : enclose_tokens(b, group, cell, err);
    }
    if (tl_domain_from_name(word, &kind))
        return tl_config_unknown(b->experiment, at, err, "domain", word, kinds, COUNT(kinds));
    s = read_kind(b, group, kind, cell, err);
    if (!s) s = check_inside(b, group, cell, err);
    if (s) return s;
    s = tl_domain_fits(cell->domain, cell->attention.layer, &inner);
    return s ? tl_config_fail(b->experiment, at, err, s, "%s", inner.text) : TL_OK;
}
