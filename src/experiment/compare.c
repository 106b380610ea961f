/* Norms beside the one of the experiment: `compare`. */
#include "experiment/internal.h"

tl_status tl_config_norm(const tl_experiment *ex, const config_setting_t *at, tl_norm *out,
                         tl_error *err)
{
#define X(id, word, text) word,
    static const char *const names[] = {TL_NORM_LIST(X)};
#undef X
    const char *word = NULL;
    tl_status s = tl_config_text(ex, at, &word, err);

    if (s) return s;
    if (tl_norm_from_name(word, out))
        return tl_config_unknown(ex, at, err, "norm of an experiment", word, names,
                                 sizeof names / sizeof names[0]);
    return TL_OK;
}

bool tl_compares(const tl_experiment *ex, tl_norm norm)
{
    for (size_t i = 0; i < ex->compared; i++)
        if (ex->compare[i] == norm) return true;
    return false;
}

tl_status tl_compare_read(tl_experiment *ex, const config_setting_t *at, tl_error *err)
{
    size_t count = 0;
    tl_status s = at ? tl_config_words_count(ex, at, &count, err) : TL_OK;

    for (size_t i = 0; !s && i < count; i++) {
        const config_setting_t *word = tl_config_word_at(at, i);
        tl_norm norm;
        s = tl_config_norm(ex, word, &norm, err);
        if (!s && (norm == ex->norm || tl_compares(ex, norm)))
            s = tl_config_fail(ex, word, err, TL_ERR_ARGUMENT, "norm \"%s\" is there already",
                               tl_norm_name(norm));
        if (!s) ex->compare[ex->compared++] = norm;
    }
    return s;
}

tl_status tl_compare_add(json_t *record, const tl_experiment *ex, const tl_layer *layer,
                         const tl_measure *mu, tl_error *err)
{
    json_t *list = ex->compared ? json_object() : NULL;

    if (ex->compared == 0) return TL_OK;
    if (json_object_set_new(record, "compare", list))
        return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < ex->compared; i++) {
        tl_norm_result norm;
        json_t *row = json_object();
        tl_status s = tl_norm_compute(layer, mu, ex->compare[i], NULL, &norm, err);
        if (json_object_set_new(list, tl_norm_name(ex->compare[i]), row))
            return tl_fail(err, TL_ERR_MEMORY, "out of memory");
        if (s) return s;
        if (tl_json_set_number(row, "value", norm.value) ||
            tl_json_set_number(row, "log10", norm.log_value / TL_LN10))
            return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    }
    return TL_OK;
}
