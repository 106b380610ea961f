/* The tables of a results directory against its records. */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/verify.h"
#include "tightlip/experiment.h"

static json_t *to_json(const char *label, const tl_table_check *check)
{
    json_t *differs = json_array();

    if (check->differing > 0)
        tl_cli_json_append(&differs,
                           json_pack("{s:o,s:s,s:s}", "at",
                                     check->column[0]
                                         ? json_sprintf("line %zu, %s", check->line, check->column)
                                         : json_sprintf("line %zu", check->line),
                                     "expected", check->expected, "found", check->found));
    return json_pack("{s:s,s:s,s:n,s:[],s:I,s:I,s:o}", "file", label, "verdict",
                     check->differing > 0 ? "table differs" : "confirmed", "lower", "bounds",
                     "rows", (json_int_t)check->rows, "differing", (json_int_t)check->differing,
                     "differs", differs);
}

static void print(const char *label, const tl_table_check *check)
{
    if (check->differing == 0) {
        printf("%s: confirmed: %zu rows as the records give them\n", label, check->rows);
        return;
    }
    printf("%s: table differs: line %zu%s%s: expected %s, found %s", label, check->line,
           check->column[0] ? ", " : "", check->column, check->expected, check->found);
    if (check->differing > 1) printf("; %zu places in all", check->differing);
    putchar('\n');
}

typedef struct {
    const char *directory;
    json_t **array;
    size_t differing;
} tables;

static void report(void *context, const char *name, const tl_table_check *check)
{
    tables *t = context;
    char label[4200];

    (void)snprintf(label, sizeof label, "%s/%s", t->directory, name);
    if (*t->array != NULL)
        tl_cli_json_append(t->array, to_json(label, check));
    else
        print(label, check);
    t->differing += check->differing > 0;
    if (check->differing > 0)
        fprintf(stderr, "tightlip verify: %s: the table holds what its records do not give\n",
                label);
}

tl_status tl_cli_verify_tables(const char *directory, json_t **array, size_t *differing,
                               tl_error *err)
{
    tables t = {.directory = directory, .array = array};
    const tl_status status = tl_experiment_check_tables(directory, report, &t, err);

    *differing = t.differing;
    return status;
}
