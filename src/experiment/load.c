#define _XOPEN_SOURCE 700 /* realpath */
#include <stdlib.h>
#include <string.h>

#include "experiment/model_layer.h"
#include "experiment/modes.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

const char *tl_experiment_name(const tl_experiment *ex)
{
    return ex->name;
}

size_t tl_experiment_cells(const tl_experiment *ex)
{
    return ex->cells;
}

void tl_experiment_free(tl_experiment *ex)
{
    if (!ex) return;
    for (size_t i = 0; i < ex->variables; i++) tl_variable_clear(&ex->variable[i]);
    free(ex->variable);
    free(ex->bound);
    free(ex->conjecture);
    json_decref(ex->files);
    json_decref(ex->resolved);
    config_destroy(&ex->tree);
    tl_model_cache_free(ex->networks);
    free(ex->model_directory);
    free(ex->directory);
    free(ex->path);
    free(ex);
}

static tl_status read_norm(tl_experiment *ex, const config_setting_t *root, tl_error *err)
{
    const config_setting_t *at = config_setting_get_member(root, "norm");

    ex->norm = TL_NORM_2;
    return at ? tl_config_norm(ex, at, &ex->norm, err) : TL_OK;
}

static tl_status add_bound(tl_experiment *ex, const config_setting_t *at, const char *const *names,
                           tl_error *err)
{
    const char *word = config_setting_get_string(at);
    const tl_bound *bound = tl_bound_find(word);

    if (!bound)
        return tl_config_unknown(ex, at, err, "bound", word, names,
                                 tl_bound_count() + tl_bound_part_count());
    for (size_t i = 0; i < ex->bounds; i++)
        if (ex->bound[i] == bound)
            return tl_config_fail(ex, at, err, TL_ERR_ARGUMENT, "bound \"%s\" is named twice",
                                  word);
    ex->bound[ex->bounds++] = bound;
    return TL_OK;
}

/* ("all"), the default, or keys in the order wanted, or ("none"). */
static tl_status read_bounds(tl_experiment *ex, const config_setting_t *root, tl_error *err)
{
    const config_setting_t *at = config_setting_get_member(root, "bounds");
    size_t count = 0;
    const size_t listed = tl_bound_count(), known = listed + tl_bound_part_count();
    const char **names = calloc(known + 1, sizeof *names);
    tl_status s = at ? tl_config_words_count(ex, at, &count, err) : TL_OK;
    bool all = !at;

    ex->bound = calloc(known + 1, sizeof *ex->bound);
    if (!s && (!names || !ex->bound))
        s = tl_config_fail(ex, root, err, TL_ERR_MEMORY, "out of memory");
    for (size_t i = 0; !s && i < known; i++)
        names[i] = (i < listed ? tl_bound_at(i) : tl_bound_part_at(i - listed))->key;
    if (!s && count == 1) {
        const char *word = config_setting_get_string(tl_config_word_at(at, 0));
        all = strcmp(word, "all") == 0;
        if (strcmp(word, "none") == 0) count = 0;
    }
    for (size_t i = 0; !s && all && i < listed; i++) ex->bound[ex->bounds++] = tl_bound_at(i);
    for (size_t i = 0; !s && !all && i < count; i++)
        s = add_bound(ex, tl_config_word_at(at, i), names, err);
    free(names);
    return s;
}

static tl_status read_starts(tl_experiment *ex, const config_setting_t *at, tl_error *err)
{
    const char *names[TL_START_COUNT];
    size_t count = 0;
    tl_status s = tl_config_words_count(ex, at, &count, err);

    for (int i = 0; i < TL_START_COUNT; i++) names[i] = tl_start_name((tl_start)i);
    if (s ||
        (count == 1 && strcmp(config_setting_get_string(tl_config_word_at(at, 0)), "all") == 0))
        return s;
    ex->settings.starts = 0;
    for (size_t i = 0; i < count; i++) {
        const config_setting_t *word = tl_config_word_at(at, i);
        tl_start start;
        if (tl_start_from_name(config_setting_get_string(word), &start))
            return tl_config_unknown(ex, word, err, "start", config_setting_get_string(word), names,
                                     TL_START_COUNT);
        if (start == TL_START_GIVEN && !ex->tokens)
            return tl_config_fail(ex, word, err, TL_ERR_ARGUMENT,
                                  "expected tokens beside the start \"given\", found none");
        ex->settings.starts |= 1u << start;
    }
    return TL_OK;
}

static tl_status read_warm(tl_experiment *ex, tl_error *err)
{
    static const char *const names[] = {"none", "neighbours"};
    const config_setting_t *at = config_setting_get_member(ex->search, "warm");
    const char *word = "none";
    tl_status s = at ? tl_config_text(ex, at, &word, err) : TL_OK;

    ex->warm = strcmp(word, "neighbours") == 0;
    if (!s && !ex->warm && strcmp(word, "none") != 0)
        s = tl_config_unknown(ex, at, err, "warm", word, names, COUNT(names));
    return s;
}

static tl_status read_search(tl_experiment *ex, tl_error *err)
{
    static const char *const keys[] = {"atoms",      "restarts",  "evaluations", "starts", "seed",
                                       "mass_ratio", "objective", "seconds",     "warm"};
    static const long long most = 1000000000;
    const config_setting_t *starts, *seed, *seconds;
    long long value = 0;
    tl_status s;

    tl_search_defaults(&ex->settings);
    if (!ex->search) return TL_OK;
    s = tl_config_keys(ex, ex->search, keys, COUNT(keys), err);
    if (s) return s;
    starts = config_setting_get_member(ex->search, "starts");
    seed = config_setting_get_member(ex->search, "seed");
    seconds = config_setting_get_member(ex->search, "seconds");
    if (!s) s = read_warm(ex, err);
    if (!s) s = tl_config_count(ex, ex->search, "restarts", 1, most, &ex->settings.restarts, err);
    if (!s)
        s = tl_config_count(ex, ex->search, "evaluations", 1, most, &ex->settings.evaluations, err);
    if (!s && starts) s = read_starts(ex, starts, err);
    if (!s && seed) s = tl_config_integer(ex, seed, 0, INT64_MAX, &value, err);
    if (!s && seed) ex->settings.seed = (uint64_t)value;
    if (!s && seconds) s = tl_config_real(ex, seconds, &ex->settings.seconds, err);
    if (!s && ex->settings.seconds < 0)
        s = tl_config_fail(ex, seconds, err, TL_ERR_DOMAIN, "expected seconds >= 0, found %g",
                           ex->settings.seconds);
    return s;
}

static tl_status read_certify(tl_experiment *ex, const config_setting_t *root, tl_error *err)
{
    const config_setting_t *at = config_setting_get_member(root, "certify");

    ex->certify = true;
    return at ? tl_config_boolean(ex, at, &ex->certify, err) : TL_OK;
}

bool tl_has_star(const config_setting_t *attention)
{
    if (!attention) return false;
    if (config_setting_is_group(attention))
        return config_setting_get_member(attention, "star") != NULL;
    for (int i = 0; config_setting_is_list(attention) && i < config_setting_length(attention); i++)
        if (tl_has_star(config_setting_get_elem(attention, (unsigned)i))) return true;
    return false;
}

static tl_status check_sections(const tl_experiment *ex, tl_error *err)
{
    const bool exact = config_setting_get_member(config_root_setting(&ex->tree), "exact") != NULL ||
                       tl_has_star(ex->attention);

    if (!ex->search && !ex->tokens && !exact)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: expected search, or tokens to evaluate, found neither", ex->path);
    if (!ex->search && !exact && ex->n)
        return tl_config_fail(ex, ex->n, err, TL_ERR_ARGUMENT,
                              "without search the number of tokens comes from the tokens");
    return TL_OK;
}

/* What is about attention: all but a network's images. */
static tl_status read_layers(tl_experiment *ex, const config_setting_t *root, tl_error *err)
{
    tl_status s = tl_config_require(ex, root, "attention", &ex->attention, err);

    if (!s) s = check_sections(ex, err);
    if (!s) s = read_norm(ex, root, err);
    if (!s) s = tl_compare_read(ex, config_setting_get_member(root, "compare"), err);
    if (!s) s = read_bounds(ex, root, err);
    if (!s) s = tl_conjectures_read(ex, config_setting_get_member(root, "conjecture"), err);
    if (!s) s = read_certify(ex, root, err);
    if (!s) s = tl_exact_read(ex, config_setting_get_member(root, "exact"), err);
    if (!s) s = tl_invert_read(ex, config_setting_get_member(root, "invert"), err);
    return s ? s : tl_attack_read(ex, config_setting_get_member(root, "attack"), err);
}

static tl_status read_sections(tl_experiment *ex, tl_error *err)
{
    static const char *const keys[] = {
        "name",  "title",  "question", "attention", "tokens", "n",          "domain",
        "sweep", "search", "norm",     "bounds",    "plot",   "conjecture", "certify",
        "exact", "paper",  "finding",  "compare",   "invert", "attack",     "network"};
    const config_setting_t *root = config_root_setting(&ex->tree);
    tl_status s = tl_config_keys(ex, root, keys, COUNT(keys), err);

    if (s) return s;
    ex->n = config_setting_get_member(root, "n");
    ex->tokens = config_setting_get_member(root, "tokens");
    ex->domain = config_setting_get_member(root, "domain");
    ex->search = config_setting_get_member(root, "search");
    s = tl_prose_read(ex, root, err);
    if (!s) s = tl_sweep_read(ex, config_setting_get_member(root, "sweep"), err);
    if (!s) s = tl_network_read(ex, config_setting_get_member(root, "network"), err);
    if (!s && !ex->network.on) s = read_layers(ex, root, err);
    if (!s) s = read_search(ex, err);
    if (!s && ex->search && ex->cells > TL_ITEMS_MAX / ex->settings.restarts)
        s = tl_config_fail(ex, ex->search, err, TL_ERR_LIMIT,
                           "expected at most %d restarts over all cells, found more", TL_ITEMS_MAX);
    if (!s) s = tl_resolve(ex, err);
    if (!s) s = tl_plot_read(ex, config_setting_get_member(root, "plot"), err);
    return s;
}

/* Every cell once: a wrong value anywhere in a sweep is refused before any work. */
static tl_status try_cells(tl_experiment *ex, tl_error *err)
{
    bool *used = calloc(ex->variables + 1, sizeof *used);
    tl_status s = used ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", ex->path);

    for (size_t i = 0; !s && i < ex->cells; i++) {
        tl_bindings b = {.experiment = ex, .cell = i, .used = used, .files = ex->files};
        tl_cell *cell = NULL;
        s = tl_cell_build(&b, &cell, err);
        if (!s) tl_cell_free(cell);
    }
    for (size_t i = 0; !s && i < ex->variables; i++)
        if (!used[i])
            s = tl_fail(err, TL_ERR_ARGUMENT,
                        "%s:%u: sweep variable \"%s\" is used nowhere: expected a setting it "
                        "replaces (n, R, g, norm_a, norm_v, d, atoms, mass_ratio, A, V, objective, "
                        "head, epsilon, image) or a text with ${%s}",
                        ex->path, ex->variable[i].line, ex->variable[i].name, ex->variable[i].name);
    free(used);
    return s;
}

tl_status tl_experiment_load(tl_experiment **out, const char *path, tl_error *err)
{
    return tl_experiment_load_model(out, path, NULL, err);
}

/* As seen from here, not from the experiment's directory. */
static bool take_model(tl_experiment *ex, const char *model)
{
    ex->networks = calloc(1, sizeof *ex->networks);
    if (model) ex->model_directory = realpath(model, NULL);
    if (model && !ex->model_directory) ex->model_directory = strdup(model);
    return ex->networks && (!model || ex->model_directory);
}

tl_status tl_experiment_load_model(tl_experiment **out, const char *path, const char *model,
                                   tl_error *err)
{
    tl_experiment *ex = calloc(1, sizeof *ex);
    tl_status s = TL_OK;

    if (!ex) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    config_init(&ex->tree);
    ex->path = strdup(path);
    ex->files = json_object();
    if (!ex->path || !ex->files || !take_model(ex, model))
        s = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    if (!s) s = tl_config_load(ex, err);
    if (!s) s = read_sections(ex, err);
    if (!s && model && !tl_reads_model(ex->attention))
        s = tl_fail(err, TL_ERR_ARGUMENT,
                    "%s: expected attention.model with a directory, that %s may stand in for, "
                    "found none",
                    path, model);
    if (!s) s = try_cells(ex, err);
    if (!s) s = tl_files_fingerprint(ex, err);
    if (s) {
        tl_experiment_free(ex);
        return s;
    }
    *out = ex;
    return TL_OK;
}
