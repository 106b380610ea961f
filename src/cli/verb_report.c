/* tightlip report: results directories as one page. */
#include <errno.h>
#include <unistd.h>

#include "cli/cli.h"
#include "tightlip/experiment.h"

#define REPORT_OPTIONS(X) \
    X(OUT, "output", 'o', TEXT, "FILE", "report.html", 0, 0, NULL, "the page to write")

enum {
#define X(id, ...) REPORT_##id,
    REPORT_OPTIONS(X) REPORT_COUNT
#undef X
};

static const tl_cli_option options[REPORT_COUNT] = {REPORT_OPTIONS(CLI_OPTION_ROW)};

/* A directory that holds no finished run. */
static bool lacks_results(const char *directory)
{
    static const char *const inside[] = {".", "manifest.json"};
    char path[4400];

    for (size_t i = 0; i < CLI_COUNT_OF(inside); i++) {
        const int length = snprintf(path, sizeof path, "%s/%s", directory, inside[i]);
        if (length < 0 || (size_t)length >= sizeof path) return false;
        if (access(path, F_OK) != 0) return i == 1 && errno == ENOENT;
    }
    return false;
}

/* Others than runs may lie beside them: a pattern names all. */
static size_t keep_results(char **directories, size_t count)
{
    size_t kept = 0, lacking = 0;

    for (size_t i = 0; i < count; i++) lacking += lacks_results(directories[i]);
    if (lacking == count) return count; /* the report says what is wrong with the first */
    for (size_t i = 0; i < count; i++) {
        if (lacks_results(directories[i]))
            fprintf(stderr, "tightlip report: %s: left out: no manifest.json\n", directories[i]);
        else
            directories[kept++] = directories[i];
    }
    return kept;
}

static tl_status run_report(tl_cli_call *call, tl_error *err)
{
    const char *path = call->value[REPORT_OUT].text;
    const size_t count = keep_results(call->operand, (size_t)call->operands);
    const tl_status status =
        tl_experiment_report((const char *const *)call->operand, count, path, err);

    if (status != TL_OK) return status;
    if (call->json)
        return tl_cli_json_print(
            json_pack("{s:s,s:I}", "page", path, "experiments", (json_int_t)count));
    printf("%s\n", path);
    return TL_OK;
}

const tl_cli_verb tl_cli_verb_report = {
    .name = "report",
    .operands = "DIR...",
    .summary = "results as one HTML page: plots, sortable tables, witnesses",
    .details =
        "Writes a self-contained page over results directories: the question of each, its "
        "plot, a table of found values, bounds and ratios, what is refuted, and the "
        "witnesses for download. It needs no server and no network. A directory without "
        "manifest.json is left out and named, unless there is no other; one whose manifest or "
        "records cannot be read, or are fewer than its cells, is an error.",
    .option = options,
    .options = REPORT_COUNT,
    .least = 1,
    .most = 1000,
    .run = run_report,
};
