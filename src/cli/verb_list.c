#include "cli/cli.h"

#include <string.h>

#include "cli/experiments.h"
#include "tightlip/conjecture.h"
#include "tightlip/norm.h"
#include "tightlip/search.h"

static json_t *list_bounds(bool json)
{
    json_t *array = json_array();

    const size_t listed = tl_bound_count();

    for (size_t i = 0; i < listed + tl_bound_part_count(); i++) {
        const tl_bound *bound = i < listed ? tl_bound_at(i) : tl_bound_part_at(i - listed);
        const char *norm = tl_norm_name(bound->norm), *scope = tl_scope_name(bound->scope);
        const char *provenance = tl_provenance_name(bound->provenance);

        if (!json) {
            char text[1024];
            const int start = printf("%-18s norm %s, %s, %s:", bound->key, norm, scope, provenance);
            tl_cli_print_wrapped(stdout, bound->title, start, 8);
            (void)snprintf(text, sizeof text, "for %s. %s", bound->hypotheses, bound->citation);
            fputs("    ", stdout);
            tl_cli_print_wrapped(stdout, text, 4, 8);
        }
        tl_cli_json_append(&array, json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s}", "key", bound->key,
                                             "title", bound->title, "norm", norm, "scope", scope,
                                             "provenance", provenance, "citation", bound->citation,
                                             "hypotheses", bound->hypotheses));
    }
    return array;
}

typedef struct {
    const char *name, *text;
} entry;

static json_t *list_entries(const entry *entries, size_t count, bool json)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++) {
        if (!json) printf("%-14s %s\n", entries[i].name, entries[i].text);
        tl_cli_json_append(
            &array, json_pack("{s:s,s:s}", "name", entries[i].name, "text", entries[i].text));
    }
    return array;
}

#define ENTRY(id, name, text) {name, text},
#define LIST_OF(function, LIST)                                    \
    static json_t *function(bool json)                             \
    {                                                              \
        static const entry entries[] = {LIST(ENTRY)};              \
        return list_entries(entries, CLI_COUNT_OF(entries), json); \
    }

LIST_OF(list_variables, TL_CONJECTURE_VARIABLES)
LIST_OF(list_norms, TL_NORM_LIST)
LIST_OF(list_domains, TL_DOMAIN_LIST)
LIST_OF(list_starts, TL_START_LIST)
LIST_OF(list_objectives, TL_OBJECTIVE_LIST)

static const struct {
    const char *name;
    json_t *(*list)(bool json); /* prints unless json; the document either way */
} lists[] = {
    {"bounds", list_bounds},
    {"norms", list_norms},
    {"domains", list_domains},
    {"starts", list_starts},
    {"objectives", list_objectives},
    {"variables", list_variables},
    {"experiments", tl_cli_list_experiments},
};

static tl_status run_list(tl_cli_call *call, tl_error *err)
{
    const char *names[CLI_COUNT_OF(lists)];

    for (size_t i = 0; i < CLI_COUNT_OF(lists); i++) {
        json_t *array;

        names[i] = lists[i].name;
        if (strcmp(call->operand[0], lists[i].name) != 0) continue;
        array = lists[i].list(call->json);
        if (call->json) return tl_cli_json_print(array);
        json_decref(array);
        return TL_OK;
    }
    return tl_cli_unknown(err, "list", call->operand[0], names, CLI_COUNT_OF(lists));
}

const tl_cli_verb tl_cli_verb_list = {
    .name = "list",
    .operands = "bounds|norms|domains|starts|objectives|variables|experiments",
    .summary = "what there is: bounds, norms, domains, starts, objectives, variables, experiments",
    .details = "Lists what the program knows. bounds: keys for experiment files. starts: the "
               "constructions a search can begin from. variables: what a conjecture may speak of. "
               "experiments: the files in ./experiments, or "
               "else those installed with the program, with the question each one asks.",
    .least = 1,
    .most = 1,
    .run = run_list,
};
