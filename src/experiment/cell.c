#include "experiment/modes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void tl_cell_free(tl_cell *cell)
{
    if (!cell) return;
    tl_layer_free(cell->attention.layer);
    json_decref(cell->attention.reference);
    free(cell->attention.vocabulary);
    tl_measure_free(cell->tokens);
    json_decref(cell->tokens_reference);
    tl_domain_free(cell->domain);
    tl_network_free(cell->network);
    free(cell);
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
            return tl_bindings_fail(b, "n", value, "a positive integer or \"inf\"", err);
        *n = (uint64_t)value->integer;
        return TL_OK;
    }
    if (!at) return TL_OK;
    if (config_setting_type(at) == CONFIG_TYPE_STRING) {
        const char *word = config_setting_get_string(at);
        if (strcmp(word, "inf") != 0)
            return tl_config_fail(b->experiment, at, err, TL_ERR_ARGUMENT,
                                  "expected a positive integer or \"inf\", found \"%.60s\"", word);
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
    /* Under a mask every token is an atom; the check of the search has a word on too many. */
    if (p->layer->mask != TL_MASK_NONE && p->n <= TL_SEARCH_TOKENS_MAX && p->n > (uint64_t)atoms)
        atoms = (long long)p->n;
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
    p->n = cell->n;
    s = read_atoms(b, cell, p, err);
    if (!s) s = read_mass_ratio(b, p, err);
    if (!s) s = read_objective(b, p, err);
    if (s) return s;
    s = tl_search_check(p, &cell->settings, &inner);
    return s ? tl_config_fail(ex, ex->search, err, s, "%s", inner.text) : TL_OK;
}

/* n, and what of the layer depends on it. Rows of a mask say what n is where nothing else does. */
static tl_status settle_n(const tl_bindings *b, tl_cell *cell, tl_error *err)
{
    const tl_experiment *ex = b->experiment;
    const tl_layer *layer = cell->attention.layer;
    tl_status s = TL_OK;

    if (ex->search || ex->exact.on)
        s = read_n(b, cell, &cell->n, err);
    else if (cell->tokens)
        cell->n = cell->tokens->n;
    if (layer->mask == TL_MASK_GENERAL && !cell->tokens && !ex->n && !tl_bindings_find(b, "n"))
        cell->n = layer->seen_n;
    return s ? s : tl_kind_finish(b, cell->n, &cell->attention, err);
}

/* The layer takes them. */
static tl_status check_tokens(const tl_bindings *b, const tl_cell *cell, tl_error *err)
{
    const tl_experiment *ex = b->experiment;
    tl_error inner = {0};
    tl_status s;

    if (cell->tokens->d != cell->attention.layer->d)
        return tl_config_fail(ex, ex->tokens, err, TL_ERR_SHAPE,
                              "expected tokens of width %zu as in attention, found %zu",
                              cell->attention.layer->d, cell->tokens->d);
    s = tl_layer_accepts(cell->attention.layer, cell->tokens, &inner);
    return s ? tl_config_fail(ex, ex->tokens, err, s, "%s", inner.text) : TL_OK;
}

/* The attention group, or the one that the variable "attention" names. */
static tl_status choose_attention(const tl_bindings *b, const config_setting_t **out, tl_error *err)
{
    const tl_experiment *ex = b->experiment;
    const config_setting_t *list = ex->attention;
    const tl_value *wanted = config_setting_is_list(list) ? tl_bindings_find(b, "attention") : NULL;

    *out = list;
    if (!config_setting_is_list(list)) return TL_OK;
    if (!wanted)
        return tl_config_fail(
            ex, list, err, TL_ERR_ARGUMENT,
            "several groups: expected a sweep over \"attention\", by their names");
    for (int i = 0; i < config_setting_length(list); i++) {
        const config_setting_t *group = config_setting_get_elem(list, (unsigned)i), *name = NULL;
        const char *text = "";
        tl_status s = config_setting_is_group(group)
                          ? tl_config_require(ex, group, "name", &name, err)
                          : tl_config_keys(ex, group, NULL, 0, err);
        if (!s) s = tl_config_text(ex, name, &text, err);
        if (s) return s;
        *out = group;
        if (strcmp(text, wanted->text) == 0) return TL_OK;
    }
    return tl_config_fail(ex, list, err, TL_ERR_ARGUMENT, "expected a group named \"%.60s\"",
                          wanted->text);
}

static tl_status read_parts(const tl_bindings *b, tl_cell *cell, tl_error *err)
{
    const tl_experiment *ex = b->experiment;
    tl_status s = tl_layer_spec_read(b, &cell->attention, err);

    if (!s && ex->tokens) s = tl_tokens_read(b, &cell->attention, &cell->tokens, err);
    if (!s) s = settle_n(b, cell, err);
    if (!s && cell->attention.reference && cell->tokens)
        cell->tokens_reference = tl_tokens_reference(b, cell->tokens);
    if (!s && cell->tokens) s = check_tokens(b, cell, err);
    if (!s) s = tl_domain_spec_read(b, cell, err);
    if (!s && ex->exact.on) s = tl_exact_check(b, cell, err);
    if (!s && ex->invert.on) s = tl_invert_check(b, cell, err);
    if (!s && ex->attack.on) s = tl_attack_check(b, cell, err);
    return !s && ex->search ? read_search(b, cell, err) : s;
}

static tl_status build_star(const tl_bindings *b, tl_cell *cell, tl_error *err)
{
    tl_status s = tl_star_check(b, cell, err);

    if (!s) s = read_n(b, cell, &cell->n, err);
    if (!s && cell->n < 2)
        s = tl_config_fail(b->experiment, b->attention, err, TL_ERR_ARGUMENT,
                           "star: expected a finite n of at least 2, found %s",
                           cell->n ? "1" : "none");
    return s;
}

tl_status tl_cell_build(const tl_bindings *given, tl_cell **out, tl_error *err)
{
    const tl_experiment *ex = given->experiment;
    tl_cell *cell = calloc(1, sizeof *cell);
    tl_bindings bindings = *given;
    const tl_bindings *b = &bindings;
    tl_status s;

    if (!cell) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", ex->path);
    cell->index = b->cell;
    if (ex->network.on) {
        s = tl_network_build(b, cell, err);
    } else {
        s = choose_attention(given, &bindings.attention, err);
        cell->star = !s && tl_star_wanted(b);
        if (!s) s = cell->star ? build_star(b, cell, err) : read_parts(b, cell, err);
    }
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
