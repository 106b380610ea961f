/* Bounds that an experiment brings along: formulas beside the rows of the registry. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "tightlip/conjecture.h"

#define KEY_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"

/* That of a column of the tables. */
enum { KEY_LONGEST = 18 };

static tl_status read_text(const tl_experiment *ex, const config_setting_t *group, const char *key,
                           const char **out, tl_error *err)
{
    const config_setting_t *at;
    tl_status s = tl_config_require(ex, group, key, &at, err);

    return s ? s : tl_config_text(ex, at, out, err);
}

static tl_status check_key(const tl_experiment *ex, const config_setting_t *group, const char *key,
                           tl_error *err)
{
    /* Keys become columns, and words of a plot's script. */
    if (!*key || key[strspn(key, KEY_LETTERS)] || strlen(key) > KEY_LONGEST)
        return tl_config_fail(ex, group, err, TL_ERR_ARGUMENT,
                              "conjecture \"%.60s\": expected a key of at most %d letters, digits, "
                              "'-' and '_'",
                              key, (int)KEY_LONGEST);
    if (tl_bound_find(key))
        return tl_config_fail(ex, group, err, TL_ERR_ARGUMENT,
                              "conjecture \"%s\": expected a key of its own, found that of a bound",
                              key);
    for (size_t i = 0; i < ex->bounds; i++)
        if (strcmp(ex->bound[i]->key, key) == 0)
            return tl_config_fail(ex, group, err, TL_ERR_ARGUMENT,
                                  "conjecture \"%s\": expected a key of its own, found it twice",
                                  key);
    return TL_OK;
}

/* "2" and "ball" where the group does not say. */
static tl_status read_place(const tl_experiment *ex, const config_setting_t *group, tl_bound *bound,
                            tl_error *err)
{
#define X(id, word, text) word,
    static const char *const norms[] = {TL_NORM_LIST(X)}, *const scopes[] = {TL_SCOPE_LIST(X)};
#undef X
    const config_setting_t *norm = config_setting_get_member(group, "norm");
    const config_setting_t *scope = config_setting_get_member(group, "scope");
    const char *word = "ball";
    tl_status s = TL_OK;

    bound->norm = ex->norm;
    if (norm) s = tl_config_text(ex, norm, &word, err);
    if (!s && norm && tl_norm_from_name(word, &bound->norm))
        s = tl_config_unknown(ex, norm, err, "norm", word, norms, sizeof norms / sizeof *norms);
    word = "ball";
    if (!s && scope) s = tl_config_text(ex, scope, &word, err);
    for (size_t i = 0; !s && i < sizeof scopes / sizeof *scopes; i++)
        if (strcmp(word, scopes[i]) == 0) {
            bound->scope = (tl_scope)i;
            return TL_OK;
        }
    return s ? s
             : tl_config_unknown(ex, scope, err, "scope", word, scopes,
                                 sizeof scopes / sizeof *scopes);
}

static tl_status read_one(tl_experiment *ex, const config_setting_t *group, tl_bound *bound,
                          tl_error *err)
{
    static const char *const keys[] = {"key", "log", "norm", "scope"};
    tl_error reason = {.text = ""};
    tl_status s = tl_config_keys(ex, group, keys, sizeof keys / sizeof keys[0], err);

    *bound = (tl_bound){.citation = "the experiment file", .provenance = TL_PROVENANCE_CONJECTURE};
    if (!s) s = read_text(ex, group, "key", &bound->key, err);
    if (!s) s = check_key(ex, group, bound->key, err);
    if (!s) s = read_text(ex, group, "log", &bound->title, err);
    if (!s) s = read_place(ex, group, bound, err);
    if (s) return s;
    s = tl_conjecture_check(bound->title, &reason);
    if (s)
        return tl_config_fail(ex, config_setting_get_member(group, "log"), err, s,
                              "conjecture \"%s\": %s", bound->key, reason.text);
    ex->bound[ex->bounds++] = bound;
    return TL_OK;
}

tl_status tl_conjectures_read(tl_experiment *ex, const config_setting_t *at, tl_error *err)
{
    const int count = at ? config_setting_length(at) : 0;
    tl_status s = TL_OK;

    if (!at) return TL_OK;
    if (!config_setting_is_list(at) || count == 0)
        return tl_config_fail(ex, at, err, TL_ERR_PARSE,
                              "expected a list of groups with key and log");
    ex->conjecture = calloc((size_t)count, sizeof *ex->conjecture);
    const tl_bound **grown =
        realloc(ex->bound, (ex->bounds + (size_t)count + 1) * sizeof *ex->bound);
    if (grown) ex->bound = grown;
    if (!ex->conjecture || !grown)
        return tl_config_fail(ex, at, err, TL_ERR_MEMORY, "out of memory");
    for (int i = 0; i < count && !s; i++) {
        const config_setting_t *group = config_setting_get_elem(at, (unsigned)i);
        if (!config_setting_is_group(group))
            s = tl_config_fail(ex, group, err, TL_ERR_PARSE, "expected a group with key and log");
        else
            s = read_one(ex, group, &ex->conjecture[i], err);
    }
    return s;
}

tl_status tl_conjecture_value(const tl_bound *bound, const tl_bound_query *query,
                              tl_bound_value *value, tl_error *err)
{
    tl_conjecture_facts facts;
    tl_error reason = {.text = ""};
    tl_status s = tl_conjecture_facts_at(query, &facts);

    *value = (tl_bound_value){.log_value = (double)NAN};
    if (s) return tl_fail(err, s, "conjecture \"%s\": %s", bound->key, tl_status_text(s));
    s = tl_conjecture_evaluate(bound->title, &facts, &value->log_value, &reason);
    if (s && s != TL_ERR_NUMERIC)
        return tl_fail(err, s, "conjecture \"%s\": %s", bound->key, reason.text);
    value->applicable = s == TL_OK;
    if (s)
        (void)snprintf(value->why, sizeof value->why, "%.*s", (int)sizeof value->why - 1,
                       reason.text);
    return TL_OK;
}
