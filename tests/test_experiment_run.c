/* Records, their bytes at any number of threads, and what a run leaves when it cannot finish. */
#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "experiment/internal.h"
#include "support/experiment_run.h"
#include "tightlip/certify.h"

#define SMALL SMALL_EXPERIMENT

static tl_status run(const tl_experiment *ex, tl_run_options options, tl_error *err)
{
    return tl_experiment_run(ex, &options, err);
}

static bool all_finite(const json_t *value)
{
    const char *key;
    json_t *member;
    size_t i;

    if (json_is_real(value)) return isfinite(json_real_value(value));
    json_object_foreach((json_t *)(uintptr_t)value, key,
                        member) if (!all_finite(member)) return false;
    json_array_foreach((json_t *)(uintptr_t)value, i, member) if (!all_finite(member)) return false;
    return true;
}

/* The witness stands on its own: its norm, computed anew, is the value that is recorded. */
static void check_record(const tl_experiment *ex, const json_t *record, size_t cell)
{
    const json_t *lower = json_object_get(record, "lower");
    tl_problem witness = {0};
    tl_certified_lower certified;
    tl_norm_result norm;
    tl_error err = {0};

    cr_expect_eq(json_integer_value(json_object_get(record, "cell")), (json_int_t)cell);
    cr_expect(all_finite(record));
    /* The file alone gives the same certificate. */
    cr_assert_eq(
        tl_problem_from_json(json_object_get(record, "witness"), "witness", &witness, &err), TL_OK,
        "%s", err.text);
    cr_assert_eq(tl_norm_compute(witness.layer, witness.measure, TL_NORM_2, NULL, &norm, &err),
                 TL_OK);
    cr_assert_eq(tl_certify_lower(&witness, &certified, &err), TL_OK, "%s", err.text);
    cr_expect_str_eq(json_string_value(json_object_get(lower, "certified")), certified.lower.text);
    cr_expect_eq(json_number_value(json_object_get(lower, "certified_log10")),
                 certified.lower.log10);
    /* Equal up to the rounding of masses printed as logarithms. */
    cr_expect_float_eq(norm.value / json_number_value(json_object_get(lower, "value")), 1, 1e-12);
    cr_expect_eq(json_array_size(json_object_get(record, "bounds")), ex->bounds);
    tl_problem_clear(&witness);
}

Test(experiment_run, records_are_json_with_witnesses)
{
    scratch dir;
    tl_error err = {0};
    size_t cell = 0;

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SMALL);
    cr_assert_eq(run(ex, (tl_run_options){.directory = dir.directory, .no_plot = true}, &err),
                 TL_OK, "%s", err.text);
    char *text = results_text(dir.directory, "cells.ndjson");
    cr_assert(text);
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1, cell++) {
        json_t *record = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, NULL);
        cr_assert(record, "line %zu", cell);
        check_record(ex, record, cell);
        json_decref(record);
    }
    cr_expect_eq(cell, 5);
    cr_expect(!results_exist(dir.directory, "cells.ndjson.partial"));
    cr_expect(!results_exist(dir.directory, "manifest.json.partial"));
    cr_expect(results_exist(dir.directory, "timing.ndjson"));
    free(text);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_run, csv_has_the_promised_columns)
{
    static const char header[] =
        "n,lower,lower_log10,lower_certified,lower_certified_log10,joint_log10,split_log10,split,"
        "atoms,min_mass_log10,objective_log10,"
        "best_bound,ratio,ratio_log10,best_proven,proven_log10,proven_ratio,proven_ratio_log10,"
        "best_published,published_log10,published_ratio,published_ratio_log10,"
        "bound:sharp,bound:half-softmax,certified:sharp,certified:half-softmax\n";
    scratch dir;
    tl_error err = {0};
    size_t lines = 0;

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SMALL "bounds = (\"sharp\", \"half-softmax\");");
    cr_assert_eq(run(ex, (tl_run_options){.directory = dir.directory, .no_plot = true}, &err),
                 TL_OK, "%s", err.text);
    char *text = results_text(dir.directory, "data.csv");
    cr_assert(text);
    cr_expect_eq(strncmp(text, header, strlen(header)), 0, "%s", text);
    for (const char *at = text; (at = strchr(at, '\n')); at++) lines++;
    cr_expect_eq(lines, 6);
    /* half-softmax does not apply in mean field: its cell is empty. */
    const char *inf = strstr(text, "\ninf,");
    cr_assert(inf);
    cr_expect_eq(text[strlen(text) - 2], ',', "%s", inf);
    cr_expect(strstr(text, "\n1000000000000,"), "%s", text);
    cr_expect(!strstr(text, "nan"), "%s", text);
    free(text);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_run, bytes_do_not_depend_on_threads)
{
    scratch one, two;
    tl_error err = {0};

    cr_assert(scratch_init(&one) && scratch_init(&two));
    tl_experiment *ex = experiment_from(&one, SMALL);
    cr_assert_eq(run(ex, (tl_run_options){.directory = one.directory, .threads = 1}, &err), TL_OK,
                 "%s", err.text);
    cr_assert_eq(run(ex, (tl_run_options){.directory = two.directory, .threads = 2}, &err), TL_OK,
                 "%s", err.text);
    expect_same_bytes(one.directory, two.directory, "threads");
    tl_experiment_free(ex);
    scratch_clear(&one);
    scratch_clear(&two);
}

Test(experiment_run, a_seed_changes_the_search)
{
    scratch one, two;
    tl_error err = {0};

    cr_assert(scratch_init(&one) && scratch_init(&two));
    tl_experiment *ex = experiment_from(&one, SMALL);
    cr_assert_eq(run(ex, (tl_run_options){.directory = one.directory, .no_plot = true}, &err),
                 TL_OK);
    cr_assert_eq(run(ex,
                     (tl_run_options){
                         .directory = two.directory, .no_plot = true, .has_seed = true, .seed = 6},
                     &err),
                 TL_OK);
    char *a = results_text(one.directory, "cells.ndjson");
    char *b = results_text(two.directory, "cells.ndjson");
    cr_expect_str_neq(a, b);
    free(a);
    free(b);
    tl_experiment_free(ex);
    scratch_clear(&one);
    scratch_clear(&two);
}

/* Two cells with the same problem search with different random numbers. */
Test(experiment_run, every_cell_has_its_own_stream)
{
    scratch dir;
    tl_error err = {0};
    json_t *tokens[2];

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(
        &dir, "name = \"t\"; attention = { d = 2; V = \"identity\"; }; domain = { kind = \"ball\";"
              "radius = 1.0; }; sweep = { variable = \"A\"; values = (\"identity\", 1); };"
              "search = { restarts = 1; evaluations = 1; starts = (\"random\"); };");
    cr_assert_eq(run(ex, (tl_run_options){.directory = dir.directory, .no_plot = true}, &err),
                 TL_OK, "%s", err.text);
    char *text = results_text(dir.directory, "cells.ndjson"), *line = text;
    for (int i = 0; i < 2; i++, line = strchr(line, '\n') + 1) {
        json_t *record = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
        tokens[i] = json_incref(json_object_get(json_object_get(record, "witness"), "tokens"));
        json_decref(record);
    }
    cr_expect(!json_equal(tokens[0], tokens[1]));
    json_decref(tokens[0]);
    json_decref(tokens[1]);
    free(text);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_run, directories_that_cannot_be_used)
{
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SMALL);
    cr_expect_eq(run(ex, (tl_run_options){.directory = "/nowhere/deep"}, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "/nowhere/deep: the directory cannot be made"), "%s", err.text);
    const char *file = scratch_write(&dir, "file", "x", 1);
    cr_expect_eq(run(ex, (tl_run_options){.directory = file}, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "expected a directory, found a file"), "%s", err.text);
    cr_expect_eq(run(ex, (tl_run_options){.directory = "/proc/self"}, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "/proc/self/cells.ndjson.partial"), "%s", err.text);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* Not the default, which would be 0. */
Test(experiment_run, a_negative_number_of_threads_is_refused)
{
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SMALL);
    cr_expect_eq(run(ex, (tl_run_options){.directory = dir.directory, .threads = -1}, &err),
                 TL_ERR_ARGUMENT);
    cr_expect_str_eq(err.text, "threads: expected 0 or more, found -1");
    cr_expect_not(results_exist(dir.directory, "cells.ndjson"));
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_run, a_negative_limit_of_time_is_refused)
{
    static const refusal rows[] = {{"search = { seconds = -1.0; };", ":2: search.seconds: expected "
                                                                     "seconds >= 0, found -1"},
                                   {"search = { seconds = 0.0; };", NULL}};

    expect_refusals("name = \"t\"; attention = { d = 2; A = \"worst\"; V = \"identity\"; };"
                    "domain = { kind = \"ball\"; radius = 1.0; };\n",
                    rows, 2);
}

/* A limit on the size of files stands for a disk that fills. */
Test(experiment_run, a_full_disk_leaves_whole_lines)
{
    struct rlimit limit;
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SMALL);
    cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    rlim_t before = limit.rlim_cur;
    limit.rlim_cur = 6000;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    tl_status s = run(ex, (tl_run_options){.directory = dir.directory}, &err);
    limit.rlim_cur = before;
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_expect_eq(s, TL_ERR_IO, "%d", (int)s);
    cr_expect(strstr(err.text, "cells.ndjson.partial: writing failed"), "%s", err.text);
    cr_expect(!results_exist(dir.directory, "cells.ndjson"));
    cr_expect(!results_exist(dir.directory, "data.csv"));
    /* What was finished counts on resume. */
    cr_expect_eq(run(ex,
                     (tl_run_options){.directory = dir.directory, .resume = true, .no_plot = true},
                     &err),
                 TL_OK, "%s", err.text);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* Integers and reals are numbers; null, text, what is missing and no object at all are none. */
Test(experiment_run, numbers_of_a_record)
{
    json_t *record = json_pack("{s:f,s:i,s:n,s:s,s:b}", "a", -2.5, "b", 3, "c", "d", "1", "e", 1);

    cr_expect_eq(tl_record_number(record, "a"), -2.5);
    cr_expect_eq(tl_record_number(record, "b"), 3);
    for (const char *key = "cdef"; *key; key++)
        cr_expect(isnan(tl_record_number(record, (const char[]){*key, '\0'})), "%c", *key);
    cr_expect(isnan(tl_record_number(NULL, "a")) && isnan(tl_record_number(json_null(), "a")));
    json_decref(record);
}
