#include "experiment/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

void tl_cell_free(tl_cell *cell)
{
    if (!cell) return;
    tl_layer_free(cell->attention.layer);
    tl_measure_free(cell->tokens);
    tl_domain_free(cell->domain);
    free(cell);
}

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

static tl_status read_ball(const tl_bindings *b, const config_setting_t *group, tl_cell *cell,
                           tl_error *err)
{
    static const char *const keys[] = {"kind", "radius", "g", "centre"};
    const config_setting_t *at = config_setting_get_member(group, "centre");
    size_t d = cell->attention.layer->d, count = d;
    double radius = 0, *centre = NULL;
    tl_error inner = {0};
    tl_status s = tl_config_keys(b->experiment, group, keys, COUNT(keys), err);

    if (!s) s = read_radius(b, group, cell, &radius, err);
    if (!s && at) s = tl_vector_read(b, at, &centre, &count, err);
    if (!s && count != d)
        s = tl_config_fail(b->experiment, at, err, TL_ERR_SHAPE,
                           "expected %zu numbers, the token width, found %zu", d, count);
    if (!s) {
        s = tl_domain_alloc_ball(&cell->domain, d, radius, centre, &inner);
        if (s) (void)tl_config_fail(b->experiment, group, err, s, "%s", inner.text);
    }
    free(centre);
    return s;
}

static tl_status enclose_tokens(const tl_bindings *b, const config_setting_t *at, tl_cell *cell,
                                tl_error *err)
{
    const tl_measure *mu = cell->tokens;
    tl_error inner = {0};
    tl_status s;

    if (!mu)
        return tl_config_fail(b->experiment, at, err, TL_ERR_ARGUMENT,
                              "expected tokens to enclose, found none");
    s = tl_domain_alloc_enclosing(&cell->domain, mu->m, mu->d, mu->x, &inner);
    return s ? tl_config_fail(b->experiment, at, err, s, "%s", inner.text) : TL_OK;
}

static tl_status check_inside(const tl_bindings *b, const config_setting_t *at, const tl_cell *cell,
                              tl_error *err)
{
    const tl_measure *mu = cell->tokens;

    for (size_t k = 0; mu && k < mu->m; k++)
        if (!tl_domain_contains(cell->domain, mu->x + k * mu->d))
            return tl_config_fail(b->experiment, at, err, TL_ERR_DOMAIN,
                                  "expected tokens within radius %.17g, found token %zu outside",
                                  cell->domain->radius, k);
    return TL_OK;
}

static tl_status read_domain(const tl_bindings *b, tl_cell *cell, tl_error *err)
{
    static const char *const kinds[] = {"ball", "enclosing"};
    static const char *const keys[] = {"kind"};
    const config_setting_t *group = b->experiment->domain, *at = NULL;
    const char *word = "enclosing";
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
    if (strcmp(word, "ball") != 0)
        return tl_config_unknown(b->experiment, at, err, "domain", word, kinds, 2);
    s = read_ball(b, group, cell, err);
    return s ? s : check_inside(b, group, cell, err);
}

static tl_status bad_n(const tl_bindings *b, const char *text, tl_error *err)
{
    return tl_config_fail(b->experiment, b->experiment->n, err, TL_ERR_ARGUMENT,
                          "expected n: a positive integer or \"inf\", found \"%.60s\"", text);
}

/* 0 stands for infinity. A swept n wins; then the setting; then the tokens' own; then infinity. */
static tl_status read_n(const tl_bindings *b, const tl_cell *cell, uint64_t *n, tl_error *err)
{
    /* Beside tokens a variable n names them (tensor = "n${n}"): their own number counts. */
    const tl_value *value = cell->tokens ? NULL : tl_bindings_find(b, "n");
    const config_setting_t *at = b->experiment->n;
    long long integer = 0;
    tl_status s;

    *n = cell->tokens ? cell->tokens->n : 0;
    if (value && value->kind == TL_VALUE_TEXT && strcmp(value->text, "inf") == 0) return TL_OK;
    if (value) {
        if (value->kind != TL_VALUE_INTEGER || value->integer < 1)
            return bad_n(b, value->text, err);
        *n = (uint64_t)value->integer;
        return TL_OK;
    }
    if (!at) return TL_OK;
    if (config_setting_type(at) == CONFIG_TYPE_STRING) {
        const char *word = config_setting_get_string(at);
        if (strcmp(word, "inf") != 0) return bad_n(b, word, err);
        *n = 0;
        return TL_OK;
    }
    s = tl_config_integer(b->experiment, at, 1, INT64_MAX, &integer, err);
    *n = (uint64_t)integer;
    return s;
}

static tl_status read_objective(const tl_bindings *b, tl_search_problem *p, tl_error *err)
{
    static const char *const names[] = {
#define X(id, name, text) name,
        TL_OBJECTIVE_LIST(X)
#undef X
    };
    const config_setting_t *group = b->experiment->search;
    const config_setting_t *at = config_setting_get_member(group, "objective");
    char *word = NULL;
    tl_status s = tl_bindings_text(b, group, "objective", "objective", &word, err);

    if (!s && word && tl_objective_from_name(word, &p->objective))
        s = tl_config_unknown(b->experiment, at ? at : group, err, "objective", word, names,
                              sizeof names / sizeof *names);
    free(word);
    return s;
}

static tl_status read_mass_ratio(const tl_bindings *b, tl_search_problem *p, tl_error *err)
{
    const config_setting_t *group = b->experiment->search;
    double ratio = 0;
    bool found = false;
    tl_status s = tl_bindings_real(b, group, "mass_ratio", "mass_ratio", &ratio, &found, err);

    p->log_mass_ratio = found ? log(ratio) : (double)NAN;
    if (!s && found && !(ratio > 0))
        s = tl_config_fail(b->experiment, group, err, TL_ERR_DOMAIN,
                           "expected mass_ratio above 0, found %g", ratio);
    return s;
}

/* At least one atom per given token, at most n. */
static tl_status read_atoms(const tl_bindings *b, const tl_cell *cell, tl_search_problem *p,
                            tl_error *err)
{
    long long atoms = 4;
    tl_status s;

    if (cell->tokens && cell->tokens->m > 4) atoms = (long long)cell->tokens->m;
    s = tl_bindings_integer(b, b->experiment->search, "atoms", "atoms", 1, 1000000, &atoms, NULL,
                            err);
    p->atoms = (size_t)atoms;
    if (p->n != 0 && p->atoms > p->n) p->atoms = (size_t)p->n;
    return s;
}

static tl_status read_search(const tl_bindings *b, tl_cell *cell, tl_error *err)
{
    const tl_experiment *ex = b->experiment;
    tl_search_problem *p = &cell->problem;
    tl_error inner = {0};
    tl_status s;

    cell->searched = true;
    cell->settings = ex->settings;
    cell->settings.cell = b->cell;
    *p = (tl_search_problem){.layer = cell->attention.layer,
                             .worst_a = cell->attention.worst_a,
                             .norm_a = cell->attention.norm_a,
                             .domain = cell->domain,
                             .given = cell->tokens,
                             .norm = ex->norm};
    s = read_n(b, cell, &p->n, err);
    if (!s) s = read_atoms(b, cell, p, err);
    if (!s) s = read_mass_ratio(b, p, err);
    if (!s) s = read_objective(b, p, err);
    if (s) return s;
    s = tl_search_check(p, &cell->settings, &inner);
    return s ? tl_config_fail(ex, ex->search, err, s, "%s", inner.text) : TL_OK;
}

tl_status tl_cell_build(const tl_bindings *b, tl_cell **out, tl_error *err)
{
    const tl_experiment *ex = b->experiment;
    tl_cell *cell = calloc(1, sizeof *cell);
    tl_status s;

    if (!cell) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", ex->path);
    cell->index = b->cell;
    s = tl_layer_spec_read(b, &cell->attention, err);
    if (!s && ex->tokens) s = tl_tokens_read(b, &cell->tokens, err);
    if (!s && cell->tokens && cell->tokens->d != cell->attention.layer->d)
        s = tl_config_fail(ex, ex->tokens, err, TL_ERR_SHAPE,
                           "expected tokens of width %zu as in attention, found %zu",
                           cell->attention.layer->d, cell->tokens->d);
    if (!s) s = read_domain(b, cell, err);
    if (!s && ex->search) s = read_search(b, cell, err);
    if (s) {
        char where[256];
        tl_experiment_describe(ex, b->cell, where, sizeof where);
        if (where[0] && err) (void)tl_fail(err, s, "%s (cell %zu: %s)", err->text, b->cell, where);
        tl_cell_free(cell);
        return s;
    }
    *out = cell;
    return TL_OK;
}
