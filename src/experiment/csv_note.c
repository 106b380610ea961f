/* What a person must hear of a record. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "experiment/internal.h"

/* The first conjecture of the record that has no value there. */
static void note_undefined(const json_t *record, size_t cell, const char *where,
                           tl_run_summary *summary)
{
    const json_t *bounds = json_object_get(record, "bounds");
    size_t i;
    json_t *row;

    json_array_foreach((json_t *)(uintptr_t)bounds, i, row)
    {
        const char *provenance = json_string_value(json_object_get(row, "provenance"));
        if (strcmp(provenance ? provenance : "", "conjecture") != 0 ||
            json_is_true(json_object_get(row, "applicable")))
            continue;
        if (summary->undefined++ == 0)
            (void)snprintf(summary->first_undefined, sizeof summary->first_undefined,
                           "conjecture \"%s\": cell %zu (%s): %s",
                           json_string_value(json_object_get(row, "key")), cell, where,
                           json_string_value(json_object_get(row, "why")));
        return;
    }
}

void tl_csv_note(const tl_experiment *ex, const json_t *record, size_t cell,
                 tl_run_summary *summary)
{
    const json_t *bounds = json_object_get(record, "bounds");
    const char *why = json_string_value(json_object_get(record, "why"));
    char where[200];
    size_t i;
    json_t *row;

    tl_experiment_describe(ex, cell, where, sizeof where);
    if (json_is_null(json_object_get(record, "lower"))) {
        if (summary->failed++ == 0)
            (void)snprintf(summary->first_failure, sizeof summary->first_failure,
                           "cell %zu (%s): %.200s", cell, where, why ? why : "no reason kept");
    }
    note_undefined(record, cell, where, summary);
    if (!json_is_true(json_object_get(record, "violation"))) return;
    if (summary->violated++ > 0) return;
    if (ex->network.on)
        (void)snprintf(summary->first_violation, sizeof summary->first_violation,
                       "cell %zu (%s): an attack succeeded within the certified radius", cell,
                       where);
    json_array_foreach((json_t *)(uintptr_t)bounds, i, row)
    {
        if (!json_is_true(json_object_get(row, "violation"))) continue;
        (void)snprintf(
            summary->first_violation, sizeof summary->first_violation,
            "cell %zu (%s): found log10 %.17g above bound %s with log10 %.17g", cell, where,
            json_number_value(json_object_get(json_object_get(record, "lower"), "log10")),
            json_string_value(json_object_get(row, "key")),
            json_number_value(json_object_get(row, "log10")));
        break;
    }
}
