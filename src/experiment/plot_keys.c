#include "experiment/plot_keys.h"

#include <string.h>

#include "experiment/plot.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *const axis_names[][2] = {
    {"n", "sequence length n (tokens)"},
    {"R", "radius R of the ball of tokens"},
    {"g", "size of the logits  g = ‖A‖ R²"},
    {"norm_a", "norm of the logit matrix  ‖A‖₂"},
    {"norm_v", "norm of the value matrix  ‖V‖₂"},
    {"d", "token width d"},
    {"iteration", "iteration t"},
    {"atoms", "number of distinct tokens (atoms) searched"},
    {"epsilon", "radius of the Frobenius ball"},
    {"length", "length n of the input (tokens)"},
    {"mean_radius", "mean length of the tokens  |x_i|"},
    {"max_radius", "largest length of a token  |x_i|"},
    {"mass_ratio", "mass of the first atom over the mass of all others"},
};

const char *tl_plot_axis_label(const char *x)
{
    for (size_t i = 0; i < COUNT(axis_names); i++)
        if (strcmp(axis_names[i][0], x) == 0) return axis_names[i][1];
    return x;
}

tl_status tl_plot_key_text(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                           const char *key, const char *fallback, tl_error *err)
{
    const config_setting_t *at = group ? config_setting_get_member(group, key) : NULL;
    const char *text = fallback;
    tl_status s = at ? tl_config_text(ex, at, &text, err) : TL_OK;

    if (s) return s;
    if (json_object_set_new(out, key, text ? json_string(text) : json_null()))
        return tl_config_fail(ex, group, err, TL_ERR_PARSE, "expected UTF-8 text");
    return TL_OK;
}

tl_status tl_plot_key_choice(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                             const char *key, const char *fallback, const char *const *names,
                             size_t count, tl_error *err)
{
    tl_status s = tl_plot_key_text(ex, out, group, key, fallback, err);
    const char *word = json_string_value(json_object_get(out, key));

    for (size_t i = 0; !s && i < count; i++)
        if (strcmp(names[i], word) == 0) return TL_OK;
    return s ? s
             : tl_config_unknown(ex, config_setting_get_member(group, key), err, key, word, names,
                                 count);
}

tl_status tl_plot_key_words(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                            const char *key, const char *const *names, size_t count, tl_error *err)
{
    const config_setting_t *at = group ? config_setting_get_member(group, key) : NULL;
    json_t *list;
    size_t words = 0;
    tl_status s;

    if (!at) return TL_OK;
    s = tl_config_words_count(ex, at, &words, err);
    if (s) return s;
    list = json_array();
    if (json_object_set_new(out, key, list))
        return tl_config_fail(ex, at, err, TL_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < words; i++) {
        const config_setting_t *element = tl_config_word_at(at, i);
        const char *word = config_setting_get_string(element);
        size_t k = 0;
        while (k < count && strcmp(names[k], word) != 0) k++;
        if (k == count) return tl_config_unknown(ex, element, err, key, word, names, count);
        if (json_array_append_new(list, json_string(word)))
            return tl_config_fail(ex, at, err, TL_ERR_MEMORY, "out of memory");
    }
    return TL_OK;
}

const char *tl_plot_y_lacks(const tl_experiment *ex, const char *name)
{
    tl_norm norm;

    if ((strcmp(name, "given") == 0 || strcmp(name, "gain") == 0) && !(ex->search && ex->tokens))
        return "search and tokens";
    static const char *const of_attacks[] = {"attack",      "whole",     "move",         "far",
                                             "split-slope", "pointwise", "neighbourhood"};
    for (size_t i = 0; i < sizeof of_attacks / sizeof *of_attacks; i++)
        if (strcmp(name, of_attacks[i]) == 0 && !ex->attack.on) return "a group attack";
    if (ex->network.on != tl_plot_is_share(name))
        return ex->network.on ? "one of share-clean, share-standing, share-certified"
                              : "a group network";
    if (strcmp(name, "share-standing") == 0 && !ex->network.attacked)
        return "a group pgd in network";
    if ((strcmp(name, "attack-gain") == 0 || strcmp(name, "slope-gain") == 0) && !ex->attack.worst)
        return "a group worst in attack";
    if (strcmp(name, "error") == 0 && !ex->invert.on) return "a group invert";
    if (tl_norm_from_name(name, &norm) == TL_OK && !tl_compares(ex, norm))
        return "a setting compare with that norm";
    return NULL;
}

tl_status tl_plot_key_memory(const tl_experiment *ex, tl_error *err)
{
    return tl_fail(err, TL_ERR_MEMORY, "%s: plot: out of memory", ex->path);
}

tl_status tl_plot_key_title(const tl_experiment *ex, json_t *out, const config_setting_t *group,
                            tl_error *err)
{
    const char *title = ex->title ? ex->title : ex->question ? ex->question : ex->name;

    return tl_plot_key_text(ex, out, group, "title", title, err);
}
