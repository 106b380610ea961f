/* The conjectures of a record, from the formulas of its experiment again. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <gsl/gsl_math.h>

#include "cli/run.h"
#include "cli/verify.h"
#include "tightlip/conjecture.h"

/* Its group in the manifest; NULL: none. */
static const json_t *group_of(const json_t *conjectures, const char *key)
{
    const json_t *group;
    size_t i;

    json_array_foreach(conjectures, i, group)
    {
        const char *name = json_string_value(json_object_get(group, "key"));
        if (name && key && strcmp(name, key) == 0) return group;
    }
    return NULL;
}

/* As the experiment reads it: norm and scope where the group names none. */
static bool read_bound(const json_t *group, const json_t *record, tl_bound *out)
{
#define X(id, word, text) word,
    static const char *const scopes[] = {TL_SCOPE_LIST(X)};
#undef X
    const char *norm = json_string_value(json_object_get(group, "norm"));
    const char *scope = json_string_value(json_object_get(group, "scope"));

    *out = (tl_bound){.key = json_string_value(json_object_get(group, "key")),
                      .title = json_string_value(json_object_get(group, "log")),
                      .scope = TL_SCOPE_BALL,
                      .provenance = TL_PROVENANCE_CONJECTURE};
    if (!norm) norm = json_string_value(json_object_get(record, "norm"));
    for (size_t i = 0; scope && i < CLI_COUNT_OF(scopes); i++)
        if (strcmp(scope, scopes[i]) == 0) out->scope = (tl_scope)i;
    return out->title && norm && tl_norm_from_name(norm, &out->norm) == TL_OK;
}

/* Where it has no finite value it does not apply. */
static tl_status evaluate(const tl_bound *bound, const tl_bound_query *asked, tl_bound_value *value,
                          tl_error *err)
{
    tl_conjecture_facts facts;
    tl_error why = {TL_OK, ""};
    tl_status status = tl_conjecture_facts_at(asked, &facts);

    *value = (tl_bound_value){.log_value = (double)NAN};
    if (status == TL_OK)
        status = tl_conjecture_evaluate(bound->title, &facts, &value->log_value, &why);
    value->applicable = status == TL_OK;
    if (status == TL_OK || status == TL_ERR_NUMERIC) return TL_OK;
    return tl_fail(err, status, "conjecture \"%s\": %s", bound->key,
                   why.text[0] != '\0' ? why.text : tl_status_text(status));
}

static void check_flag(const json_t *row, const char *where, const char *key, bool expected,
                       tl_cli_findings *out)
{
    if (json_is_true(json_object_get(row, key)) != expected)
        tl_cli_findings_note(out, where, key, expected ? "true" : "false",
                             json_object_get(row, key));
}

/* Its verdict; nearer to the found value than numbers must agree, either is right. */
static void check_verdict(const json_t *record, const json_t *row, const char *where,
                          const tl_bound *bound, const tl_bound_value *value, tl_cli_findings *out)
{
    const char *norm = json_string_value(json_object_get(record, "norm"));
    const bool comparable = norm && strcmp(norm, tl_norm_name(bound->norm)) == 0;
    const double log10_value = value->log_value / M_LN10;
    const double found = tl_record_number(json_object_get(record, "lower"), "log10");
    const bool above = comparable && value->applicable && found > log10_value;

    check_flag(row, where, "comparable", comparable, out);
    if (value->applicable &&
        fabs(found - log10_value) <= CLI_LOG_SLACK * fmax(1, fabs(value->log_value)))
        return;
    check_flag(row, where, "refuted", above, out);
}

tl_status tl_cli_record_check_conjecture(const json_t *record, const json_t *row,
                                         const json_t *conjectures, const tl_cli_asked *asked,
                                         tl_cli_findings *out, tl_error *err)
{
    const char *key = json_string_value(json_object_get(row, "key"));
    const json_t *group = group_of(conjectures, key);
    tl_bound_value value;
    tl_bound bound;
    char where[100];

    if (!conjectures || asked->a == CLI_A_UNKNOWN) {
        out->skipped++;
        return TL_OK;
    }
    if (!group || !read_bound(group, record, &bound)) {
        tl_cli_findings_note(out, "bound", "key", "a conjecture of the manifest",
                             json_object_get(row, "key"));
        return TL_OK;
    }
    const tl_bound_query query =
        tl_bound_query_about(asked->query, &bound, asked->domain, asked->a == CLI_A_SEARCHED);
    const tl_status status = evaluate(&bound, &query, &value, err);
    if (status == TL_ERR_UNSUPPORTED) out->skipped++; /* built without muParser */
    if (status != TL_OK) return status == TL_ERR_UNSUPPORTED ? TL_OK : status;
    (void)snprintf(where, sizeof where, "bound %s", key);
    tl_cli_record_check_bound(row, key, &value, out);
    check_verdict(record, row, where, &bound, &value, out);
    return TL_OK;
}

/* ---- over all records ---- */

static json_t *outcome_json(const char *label, const json_t *entry)
{
    const size_t refuted = json_array_size(json_object_get(entry, "violated"));
    const bool tested = json_integer_value(json_object_get(entry, "tested")) > 0;
    json_t *out = json_pack("{s:s,s:s,s:n,s:[]}", "file", label, "verdict",
                            refuted  ? "conjecture refuted"
                            : tested ? "conjecture stands"
                                     : "conjecture untested",
                            "lower", "bounds");

    if (out && json_object_update_missing(out, (json_t *)(uintptr_t)entry) == 0) return out;
    json_decref(out);
    return NULL;
}

tl_status tl_cli_verify_conjectures(const char *directory, json_t **array, tl_error *err)
{
    char label[4200];
    tl_cli_summary summary;
    const tl_status status = tl_cli_summary_read(&summary, directory, err);

    (void)snprintf(label, sizeof label, "%s/cells.ndjson: ", directory);
    if (status == TL_OK && *array == NULL) tl_cli_conjectures_print(stdout, label, &summary);
    label[strlen(label) - 2] = '\0';
    for (size_t i = 0; *array && status == TL_OK && i < json_array_size(summary.conjectures); i++)
        tl_cli_json_append(array, outcome_json(label, json_array_get(summary.conjectures, i)));
    tl_cli_summary_clear(&summary);
    return status;
}
