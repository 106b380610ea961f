#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ranks.h"
#include "cli/run.h"

#define RUN_OPTIONS(X)                                                                             \
    X(OUTPUT, "output", 'o', TEXT, "DIR", NULL, 0, 0, NULL,                                        \
      "results go here; without this option to results/NAME, NAME being the experiment's name")    \
    X(THREADS, "threads", 'j', COUNT, "T", NULL, 1, 1024, NULL,                                    \
      "OpenMP threads; results do not depend on them")                                             \
    X(SEED, "seed", 's', COUNT, "S", NULL, 0, UINT64_MAX, NULL, "instead of the seed in the file") \
    X(RESUME, "resume", 0, FLAG, NULL, NULL, 0, 0, NULL,                                           \
      "keep the cells that an interrupted run has finished")                                       \
    X(OVERWRITE, "overwrite", 0, FLAG, NULL, NULL, 0, 0, NULL,                                     \
      "start over where cells of an interrupted run, or results of another experiment, are in "    \
      "the way; with --resume: where they cannot be kept")                                         \
    X(SHARD, "shard", 0, TEXT, "I/N", NULL, 0, 0, NULL,                                            \
      "only share I of N of the cells: for arrays of jobs, joined by tightlip merge")              \
    X(MODEL, "model", 0, TEXT, "DIR", NULL, 0, 0, NULL,                                            \
      "a model's directory, in place of the one that the file names")                              \
    X(NO_PLOT, "no-plot", 0, FLAG, NULL, NULL, 0, 0, NULL, "leave the plot to tightlip plot")

enum {
#define X(id, ...) RUN_##id,
    RUN_OPTIONS(X) RUN_COUNT
#undef X
};

static const tl_cli_option options[RUN_COUNT] = {RUN_OPTIONS(CLI_OPTION_ROW)};

static tl_status choose_directory(const tl_cli_call *call, const tl_experiment *experiment,
                                  char *directory, size_t size, tl_error *err)
{
    const char *given = call->value[RUN_OUTPUT].text;
    int length;

    if (given != NULL) {
        length = snprintf(directory, size, "%s", given);
    } else {
        if (mkdir("results", 0777) != 0 && errno != EEXIST)
            return tl_fail(err, TL_ERR_IO, "results: cannot be made: %s", strerror(errno));
        length = snprintf(directory, size, "results/%s", tl_experiment_name(experiment));
    }
    if (length < 0 || (size_t)length >= size)
        return tl_fail(err, TL_ERR_ARGUMENT, "the path of the results is longer than %zu bytes",
                       size - 1);
    return TL_OK;
}

/* Adds the text as one word of a shell. What does not fit is left out. */
static void add_word(char *text, size_t size, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_.+/=:,@-";
    size_t used = strlen(text);

    if (word[0] && word[strspn(word, plain)] == '\0') {
        (void)snprintf(text + used, size - used, " %s", word);
        return;
    }
    used += (size_t)snprintf(text + used, size - used, " '");
    for (; *word && used + 6 < size; word++) {
        const char one[] = {*word, '\0'};
        used += (size_t)snprintf(text + used, size - used, "%s", *word == '\'' ? "'\\''" : one);
    }
    if (used + 2 < size) (void)snprintf(text + used, size - used, "'");
}

/* How to go on after an interruption. */
static void go_on_with(const tl_cli_call *call, const char *directory, char *text, size_t size)
{
    const tl_cli_value *v = call->value;

    (void)snprintf(text, size,
                   "interrupted; the finished cells are kept. Go on with: tightlip run");
    add_word(text, size, call->operand[0]);
    add_word(text, size, "-o");
    add_word(text, size, directory);
    if (v[RUN_SEED].given) {
        char seed[24];
        (void)snprintf(seed, sizeof seed, "%" PRIu64, v[RUN_SEED].count);
        add_word(text, size, "--seed");
        add_word(text, size, seed);
    }
    if (v[RUN_SHARD].given) {
        add_word(text, size, "--shard");
        add_word(text, size, v[RUN_SHARD].text);
    }
    if (v[RUN_MODEL].given) {
        add_word(text, size, "--model");
        add_word(text, size, v[RUN_MODEL].text);
    }
    if (v[RUN_NO_PLOT].given) add_word(text, size, "--no-plot");
    add_word(text, size, "--resume");
}

/* The cell whose ratio is the largest (sign 1) or the least (sign -1). */
static json_t *extreme_cell(const tl_cli_summary *summary, int sign)
{
    json_t *best = NULL, *cell;
    double best_ratio = -HUGE_VAL;
    size_t i;

    json_array_foreach(summary->cells, i, cell)
    {
        const json_t *ratio = json_object_get(cell, "ratio_log10");
        if (!json_is_number(ratio) || !(sign * json_number_value(ratio) > best_ratio)) continue;
        best_ratio = sign * json_number_value(ratio);
        best = cell;
    }
    return best;
}

/* Prints the paths of the files that are there, or collects them. */
static json_t *list_files(const char *directory, bool json)
{
    static const char *const names[] = {"manifest.json", "cells.ndjson", "data.csv",
                                        "plot.gp",       "plot.svg",     "plot.png",
                                        "fit.csv",       "timing.ndjson"};
    json_t *files = json_array();

    for (size_t i = 0; i < CLI_COUNT_OF(names); i++) {
        char path[4400];
        snprintf(path, sizeof path, "%s/%s", directory, names[i]);
        if (access(path, F_OK) != 0) continue;
        if (!json) printf("%s\n", path);
        tl_cli_json_append(&files, json_string(path));
    }
    return files;
}

static json_t *run_json(const tl_experiment *experiment, const char *directory,
                        const tl_cli_summary *summary, json_t *files)
{
    return json_pack("{s:s,s:s,s:o,s:I,s:I,s:I,s:I,s:O?,s:O?,s:O,s:O}", "name",
                     tl_experiment_name(experiment), "directory", directory, "files", files,
                     "cells", (json_int_t)json_array_size(summary->cells), "violations",
                     (json_int_t)summary->violations, "certified", (json_int_t)summary->certified,
                     "failed", (json_int_t)summary->failed, "loosest", extreme_cell(summary, 1),
                     "tightest", extreme_cell(summary, -1), "table", summary->cells, "conjectures",
                     summary->conjectures);
}

static tl_status report_run(tl_cli_call *call, const tl_experiment *experiment,
                            const char *directory, tl_status status, tl_error *err)
{
    tl_cli_summary summary;

    if (tl_cli_summary_report(&summary, call, "run", directory, &status, err)) {
        json_t *files = list_files(directory, call->json);
        tl_status printed = TL_OK;
        if (call->json)
            printed = tl_cli_json_print(run_json(experiment, directory, &summary, files));
        else
            json_decref(files);
        if (status == TL_OK) status = printed;
    }
    tl_cli_summary_clear(&summary);
    return status;
}

/* "3/16" */
static tl_status read_shard(const char *text, tl_run_options *run, tl_error *err)
{
    const char *slash = text ? strchr(text, '/') : NULL;
    char first[24];
    uint64_t shard = 0, shards = 0;

    if (!text) return TL_OK;
    if (slash && (size_t)(slash - text) < sizeof first) {
        (void)snprintf(first, sizeof first, "%.*s", (int)(slash - text), text);
        if (tl_cli_parse_count(first, &shard) && tl_cli_parse_count(slash + 1, &shards) &&
            shard >= 1 && shard <= shards && shards <= TL_SHARDS_MAX) {
            run->shard = (size_t)shard;
            run->shards = (size_t)shards;
            return TL_OK;
        }
    }
    return tl_fail(err, TL_ERR_ARGUMENT,
                   "--shard: expected I/N with 1 <= I <= N <= %d, found '%.60s'", TL_SHARDS_MAX,
                   text);
}

/* Rank 0, or the only one. */
static tl_status lead(tl_cli_call *call, const tl_experiment *experiment,
                      const tl_run_options *given, tl_error *err)
{
    /* Soon under a launcher, which kills all ranks a second after it has asked them to end. */
    const long patience = given->team->ranks > 1 ? 300 : 900;
    char how[CLI_FAREWELL_SIZE - 20], text[CLI_FAREWELL_SIZE];
    tl_cli_progress progress;
    tl_run_options run = *given;
    tl_status status;

    go_on_with(call, run.directory, how, sizeof how);
    snprintf(text, sizeof text, "tightlip run: %s\n", how);
    run.stop = tl_cli_interrupts_catch(text, patience);
    run.progress = tl_cli_progress_report;
    run.notice = tl_cli_progress_notice;
    run.context = &progress;
    tl_cli_progress_init(&progress);
    status = tl_experiment_run(experiment, &run, err);
    tl_cli_progress_end(&progress);
    if (status == TL_ERR_INTERRUPTED) return tl_fail(err, status, "%s", how);
    if (status != TL_OK && status != TL_ERR_NUMERIC) return status;
    return report_run(call, experiment, run.directory, status, err);
}

static tl_status follow(const tl_experiment *experiment, tl_run_options *run, tl_error *err)
{
    run->stop = tl_cli_interrupts_catch("", 900);
    return tl_experiment_help(experiment, run, err);
}

static tl_status run_run(tl_cli_call *call, tl_error *err)
{
    char directory[4096];
    tl_experiment *experiment = NULL;
    tl_team team;
    tl_run_options run = {
        .directory = directory,
        .threads = (int)call->value[RUN_THREADS].count,
        .has_seed = call->value[RUN_SEED].given,
        .seed = call->value[RUN_SEED].count,
        .resume = call->value[RUN_RESUME].given,
        .overwrite = call->value[RUN_OVERWRITE].given,
        .no_plot = call->value[RUN_NO_PLOT].given,
        .team = &team,
    };
    tl_status status = tl_cli_ranks_begin(&team, err);

    if (status != TL_OK) return status;
    status = read_shard(call->value[RUN_SHARD].text, &run, err);
    if (status == TL_OK)
        status = tl_experiment_load_model(&experiment, call->operand[0],
                                          call->value[RUN_MODEL].text, err);
    if (status == TL_OK && team.rank == 0)
        status = choose_directory(call, experiment, directory, sizeof directory, err);
    status = tl_cli_ranks_agree(&team, status, err);
    if (status == TL_OK)
        status = team.rank == 0 ? lead(call, experiment, &run, err) : follow(experiment, &run, err);
    tl_experiment_free(experiment);
    tl_cli_ranks_end(&team);
    return status;
}

const tl_cli_verb tl_cli_verb_run = {
    .name = "run",
    .operands = "[options] CONFIG",
    .summary = "run an experiment: sweep, search, bound, record, plot",
    .details =
        "Runs every cell of an experiment file and leaves manifest.json, cells.ndjson, data.csv, "
        "plot.svg and plot.png in DIR. One run at a time writes to DIR; it replaces results of the "
        "same experiment, and no others without --overwrite. stdout names the files, stderr shows "
        "progress and a summary. Exit code 3: a found value lies above a bound. A conjecture of "
        "the file that a found value refutes is a result: the summary and the record say so, and "
        "the exit code stays 0. Exit code 1: a cell has no value, or a conjecture no finite one; "
        "the files hold the rest.",
    .option = options,
    .options = RUN_COUNT,
    .least = 1,
    .most = 1,
    .run = run_run,
};
