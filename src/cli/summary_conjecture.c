/* What a run says of each conjecture: where the found value lies above it, and where it is loosest.
 */
#include <math.h>
#include <string.h>

#include <gsl/gsl_math.h>

#include "cli/run.h"

/* Of those that refute, before "..". */
enum { CELLS_SHOWN = 6 };

/* The entry of key in the summary, made when it is new. */
static json_t *entry_of(json_t *all, const char *key)
{
    json_t *entry;
    size_t i;

    json_array_foreach(all, i, entry) if (strcmp(json_string_value(json_object_get(entry, "key")),
                                                 key) == 0) return entry;
    entry = json_pack("{s:s,s:i,s:[],s:n,s:n,s:n,s:n}", "key", key, "tested", 0, "violated",
                      "loosest", "loosest_log10", "tightest", "tightest_log10");
    if (entry == NULL || json_array_append_new(all, entry) != 0) return NULL;
    return entry;
}

/* Keeps the cell under `name` where sign * ratio is the largest so far. */
static bool keep_extreme(json_t *entry, const char *name, double sign, json_t *cell, double ratio)
{
    char key[32];

    (void)snprintf(key, sizeof key, "%s_log10", name);
    const json_t *most = json_object_get(entry, key);
    if (json_is_number(most) && !(sign * ratio > sign * json_number_value(most))) return true;
    return json_object_set(entry, name, cell) == 0 &&
           json_object_set_new(entry, key, json_real(ratio)) == 0;
}

/* ratio: log10 of the conjecture over the found value. */
static bool add_cell(json_t *entry, const json_t *record, bool violated, double ratio)
{
    json_t *cell = json_object_get(record, "cell");
    const json_int_t tested = json_integer_value(json_object_get(entry, "tested"));
    bool bad = json_object_set_new(entry, "tested", json_integer(tested + 1)) != 0;

    if (violated) bad = bad || json_array_append(json_object_get(entry, "violated"), cell) != 0;
    return !bad && keep_extreme(entry, "loosest", 1, cell, ratio) &&
           keep_extreme(entry, "tightest", -1, cell, ratio);
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
        json_t *entry = entry_of(all, json_string_value(json_object_get(bound, "key")));
        if (entry == NULL) return false;
        if (!json_is_true(json_object_get(bound, "comparable")) || !json_is_number(value) ||
            !json_is_number(found))
            continue;
        if (!add_cell(entry, record, json_is_true(json_object_get(bound, "refuted")),
                      json_number_value(value) - json_number_value(found)))
            return false;
    }
    return true;
}

typedef struct {
    char where[256], times[CLI_NUMBER_SIZE];
    size_t line;
} place;

/* "n = 4, R = 2" of the cell with this index, its line in cells.ndjson, and a ratio. */
static place place_of(const tl_cli_summary *summary, const json_t *index, double log10_ratio)
{
    place found = {.line = 0};
    json_t *cell;
    size_t i;

    (void)tl_cli_format_log(found.times, M_LN10 * log10_ratio);
    json_array_foreach(summary->cells, i, cell)
    {
        if (json_integer_value(json_object_get(cell, "cell")) != json_integer_value(index))
            continue;
        tl_cli_describe_cell(found.where, sizeof found.where, json_object_get(cell, "variables"));
        found.line = i + 1;
    }
    return found;
}

static void print_refuted(FILE *out, const tl_cli_summary *summary, const json_t *entry)
{
    const json_t *violated = json_object_get(entry, "violated");
    const size_t count = json_array_size(violated);
    const place worst = place_of(summary, json_object_get(entry, "tightest"),
                                 -json_number_value(json_object_get(entry, "tightest_log10")));

    fprintf(out, "REFUTED in %zu of %" JSON_INTEGER_FORMAT " cells", count,
            json_integer_value(json_object_get(entry, "tested")));
    for (size_t i = 0; i < count && i < CELLS_SHOWN; i++)
        fprintf(out, "%s%s", i == 0 ? " (" : "; ",
                place_of(summary, json_array_get(violated, i), 0).where);
    fprintf(out,
            "%s), most at %s: the found value is %s times it (witness: line %zu of "
            "cells.ndjson)",
            count > CELLS_SHOWN ? "; .." : "", worst.where, worst.times, worst.line);
}

void tl_cli_conjectures_print(FILE *out, const char *label, const tl_cli_summary *summary)
{
    json_t *entry;
    size_t i;

    json_array_foreach(summary->conjectures, i, entry)
    {
        fprintf(out, "%sconjecture %s: ", label, json_string_value(json_object_get(entry, "key")));
        if (json_integer_value(json_object_get(entry, "tested")) == 0) {
            fputs("tested in no cell: no value, or another norm\n", out);
            continue;
        }
        if (json_array_size(json_object_get(entry, "violated")) == 0)
            fputs("nowhere below the found value", out);
        else
            print_refuted(out, summary, entry);
        const double loosest = json_number_value(json_object_get(entry, "loosest_log10"));
        if (loosest >= 0) {
            const place at = place_of(summary, json_object_get(entry, "loosest"), loosest);
            fprintf(out, "; loosest at %s: %s times the found value", at.where, at.times);
        }
        fputc('\n', out);
    }
}
