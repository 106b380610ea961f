#include "experiment/internal.h"

#include <stdlib.h>
#include <string.h>

/* Adds key: value unless it stands there already; takes over value. */
static int fill(json_t *object, const char *key, json_t *value)
{
    if (!value) return 1;
    if (json_object_get(object, key)) {
        json_decref(value);
        return 0;
    }
    return json_object_set_new(object, key, value);
}

static json_t *start_names(unsigned starts)
{
    json_t *list = json_array();

    for (int i = 0; list && i < TL_START_COUNT; i++)
        if ((starts & 1u << i) &&
            json_array_append_new(list, json_string(tl_start_name((tl_start)i)))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static json_t *bound_keys(const tl_experiment *ex)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < ex->bounds; i++)
        if (json_array_append_new(list, json_string(ex->bound[i]->key))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static int resolve_search(json_t *search, const tl_search_settings *settings)
{
    int bad = fill(search, "restarts", json_integer((json_int_t)settings->restarts));

    bad = bad || fill(search, "evaluations", json_integer((json_int_t)settings->evaluations));
    bad = bad || json_object_set_new(search, "starts", start_names(settings->starts));
    /* The seed in force is the manifest's own: a run may override the file's. */
    (void)json_object_del(search, "seed");
    bad = bad || fill(search, "objective", json_string("norm"));
    return bad;
}

tl_status tl_resolve(tl_experiment *ex, tl_error *err)
{
    json_t *root = tl_config_to_json(config_root_setting(&ex->tree));
    json_t *search = root ? json_object_get(root, "search") : NULL;
    int bad = !root;

    ex->resolved = root;
    if (ex->network.on) {
        json_t *pgd = json_object_get(json_object_get(root, "network"), "pgd");
        bad =
            bad || (pgd && (fill(pgd, "restarts", json_integer((json_int_t)ex->network.restarts)) ||
                            fill(pgd, "steps", json_integer((json_int_t)ex->network.steps))));
        return bad ? tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", ex->path) : TL_OK;
    }
    bad = bad || (search && resolve_search(search, &ex->settings));
    bad = bad || fill(root, "norm", json_string(tl_norm_name(ex->norm)));
    if (ex->exact.on) {
        json_t *exact = json_object_get(root, "exact");
        bad = bad || fill(exact, "tolerance", json_real(ex->exact.tolerance));
        bad = bad || fill(exact, "boxes", json_integer((json_int_t)ex->exact.boxes));
    }
    if (ex->invert.on)
        bad = bad || fill(json_object_get(root, "invert"), "iterations",
                          json_integer((json_int_t)ex->invert.iterations));
    if (ex->attack.on) {
        json_t *attack = json_object_get(root, "attack");
        bad = bad || fill(attack, "restarts", json_integer((json_int_t)ex->attack.restarts));
        bad = bad || fill(attack, "steps", json_integer((json_int_t)ex->attack.steps));
        bad = bad || fill(attack, "parts", json_integer((json_int_t)ex->attack.parts));
        json_t *worst = json_object_get(attack, "worst");
        if (worst)
            bad = bad ||
                  fill(worst, "restarts", json_integer((json_int_t)ex->attack.worst_restarts)) ||
                  fill(worst, "evaluations",
                       json_integer((json_int_t)ex->attack.worst_evaluations)) ||
                  fill(worst, "least_mass", json_real(ex->attack.worst_least_mass));
    }
    bad = bad || fill(root, "certify", json_boolean(ex->certify));
    bad = bad || json_object_set_new(root, "bounds", bound_keys(ex));
    return bad ? tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", ex->path) : TL_OK;
}
