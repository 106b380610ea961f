/* What a run says of each conjecture: where the found value lies above it, and where it is loosest.
 */
#include <math.h>
#include <string.h>

#include <gsl/gsl_math.h>

#include "cli/run.h"

/* The entry of key in the summary, made when it is new. */
static json_t *entry_of(json_t *all, const char *key)
{
    json_t *entry, *violated = NULL;
    size_t i;

    json_array_foreach(all, i, entry) if (strcmp(json_string_value(json_object_get(entry, "key")),
                                                 key) == 0) return entry;
    violated = json_array();
    entry = json_pack("{s:s,s:i,s:o,s:n,s:n}", "key", key, "tested", 0, "violated", violated,
                      "loosest", "loosest_log10");
    if (entry == NULL || json_array_append_new(all, entry) != 0) return NULL;
    return entry;
}

static bool add_cell(json_t *entry, const json_t *record, bool violated, double ratio)
{
    json_t *cell = json_object_get(record, "cell");
    const json_t *most = json_object_get(entry, "loosest_log10");
    const json_int_t tested = json_integer_value(json_object_get(entry, "tested"));
    bool bad = json_object_set_new(entry, "tested", json_integer(tested + 1)) != 0;

    if (violated) bad = bad || json_array_append(json_object_get(entry, "violated"), cell) != 0;
    if (json_is_number(most) && !(ratio > json_number_value(most))) return !bad;
    bad = bad || json_object_set(entry, "loosest", cell) != 0;
    return !bad && json_object_set_new(entry, "loosest_log10", json_real(ratio)) == 0;
}

bool tl_cli_conjectures_add(json_t *all, const json_t *record)
{
    const json_t *found = json_object_get(json_object_get(record, "lower"), "log10");
    json_t *bound;
    size_t i;

    json_array_foreach(json_object_get(record, "bounds"), i, bound)
    {
        const char *provenance = json_string_value(json_object_get(bound, "provenance"));
        const json_t *value = json_object_get(bound, "log10");
        if (provenance == NULL || strcmp(provenance, "conjecture") != 0) continue;
        if (!json_is_true(json_object_get(bound, "comparable")) || !json_is_number(value) ||
            !json_is_number(found))
            continue;
        json_t *entry = entry_of(all, json_string_value(json_object_get(bound, "key")));
        if (entry == NULL ||
            !add_cell(entry, record, json_is_true(json_object_get(bound, "refuted")),
                      json_number_value(value) - json_number_value(found)))
            return false;
    }
    return true;
}

/* "n = 4, R = 2" of the cell with this index. */
static const char *cell_text(const tl_cli_summary *summary, const json_t *index, char *text,
                             size_t size)
{
    json_t *cell;
    size_t i;

    text[0] = '\0';
    json_array_foreach(summary->cells, i, cell) if (json_equal(json_object_get(cell, "cell"),
                                                               (json_t *)(uintptr_t)index))
        tl_cli_describe_cell(text, size, json_object_get(cell, "variables"));
    return text;
}

void tl_cli_conjectures_print(FILE *out, const tl_cli_summary *summary)
{
    json_t *entry;
    size_t i;

    json_array_foreach(summary->conjectures, i, entry)
    {
        const json_t *violated = json_object_get(entry, "violated");
        const size_t count = json_array_size(violated);
        char text[256], ratio[CLI_NUMBER_SIZE];
        fprintf(out, "conjecture %s: ", json_string_value(json_object_get(entry, "key")));
        if (count == 0)
            fputs("nowhere below the found value", out);
        else
            fprintf(out, "REFUTED in %zu of %" JSON_INTEGER_FORMAT " cells, first at %s", count,
                    json_integer_value(json_object_get(entry, "tested")),
                    cell_text(summary, json_array_get(violated, 0), text, sizeof text));
        fprintf(out, "; loosest at %s: %s times the found value\n",
                cell_text(summary, json_object_get(entry, "loosest"), text, sizeof text),
                tl_cli_format_log(
                    ratio, M_LN10 * json_number_value(json_object_get(entry, "loosest_log10"))));
    }
}
