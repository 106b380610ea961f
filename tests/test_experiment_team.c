/* Ranks that share a run: the same bytes for any number of them; what goes wrong on one of them
 * ends the run, loses nothing, and says so. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <string.h>

#include "support/experiment_run.h"
#include "support/team.h"

#define WARM_GRID                                                                      \
    "name = \"grid\"; attention = { d = 2; A = \"worst\"; V = \"identity\"; };"        \
    "domain = { kind = \"ball\"; };"                                                   \
    "sweep = ( { variable = \"g\"; values = (0.5, 2.0); },"                            \
    "          { variable = \"n\"; values = (2, 4, 12, \"inf\"); } );"                 \
    "search = { atoms = 3; restarts = 13; evaluations = 40; warm = \"neighbours\"; };" \
    "certify = false;"

/* Nothing is searched: records alone. */
#define GIVEN                                                                       \
    "name = \"given\"; attention = { d = 2; A = \"identity\"; V = \"rotation\"; };" \
    "tokens = { values = ([1.0, 0.0], [0.0, 1.0], [-0.5, 0.25]); };"                \
    "sweep = { variable = \"mask\"; values = (\"none\", \"causal\", \"self-masked\"); };"

static const char *const texts[] = {SMALL_EXPERIMENT, WARM_GRID, GIVEN};
enum { TEXTS = sizeof texts / sizeof *texts, RANKS = 4 };

static tl_status run_with(int ranks, const tl_experiment *ex, const char *directory,
                          team_habits habits, bool *ended_well, tl_error *err)
{
    team_of_children t;
    const tl_run_options options = {
        .directory = directory, .threads = 1, .no_plot = true, .team = &t.team};
    tl_status s;

    cr_assert(team_start(&t, ranks, ex, habits));
    s = tl_experiment_run(ex, &options, err);
    *ended_well = team_end(&t);
    return s;
}

static void expect_as_alone(const tl_experiment *ex, const scratch *dir, bool resume)
{
    scratch whole;
    tl_error err = {0};
    tl_run_options options = {
        .directory = dir->directory, .threads = 2, .resume = true, .no_plot = true};

    cr_assert(scratch_init(&whole));
    if (resume) cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    options = (tl_run_options){.directory = whole.directory, .threads = 1, .no_plot = true};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    expect_same_records(whole.directory, dir->directory, "ranks");
    scratch_clear(&whole);
}

/* A row is text and number of ranks: children come before threads, so a process tests one row. */
static struct criterion_test_params all_rows(void)
{
    static int rows[TEXTS * RANKS];

    for (int i = 0; i < TEXTS * RANKS; i++) rows[i] = i;
    return cr_make_param_array(int, rows, TEXTS *RANKS);
}

ParameterizedTestParameters(experiment_team, the_same_bytes_for_any_number_of_ranks)
{
    return all_rows();
}

ParameterizedTest(const int *row, experiment_team, the_same_bytes_for_any_number_of_ranks)
{
    const int ranks = 1 + *row % RANKS;
    scratch dir;
    tl_error err = {0};
    bool well;

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, texts[*row / RANKS]);
    cr_assert_eq(run_with(ranks, ex, dir.directory, (team_habits){0}, &well, &err), TL_OK, "%s",
                 err.text);
    cr_expect(well, "row %d", *row);
    expect_as_alone(ex, &dir, false);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* A rank that dies at its first, second, .. message: the run names it, and a resume completes it.
 */
ParameterizedTestParameters(experiment_team, a_rank_that_dies)
{
    static unsigned messages[] = {1, 2, 3, 7};

    return cr_make_param_array(unsigned, messages, sizeof messages / sizeof *messages);
}

ParameterizedTest(const unsigned *dies_at, experiment_team, a_rank_that_dies)
{
    scratch dir;
    tl_error err = {0};
    bool well;

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, WARM_GRID);
    cr_assert_eq(run_with(3, ex, dir.directory, (team_habits){.dies_at = *dies_at}, &well, &err),
                 TL_ERR_IO, "message %u", *dies_at);
    cr_expect(strstr(err.text, "rank 1 was lost: its socket is closed; what is finished is kept"),
              "%s", err.text);
    cr_expect_not(well);
    expect_as_alone(ex, &dir, true);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_team, a_rank_with_another_seed_is_refused)
{
    scratch dir;
    tl_error err = {0};
    bool well;

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SMALL_EXPERIMENT);
    cr_assert_eq(run_with(3, ex, dir.directory, (team_habits){.seed = 77}, &well, &err),
                 TL_ERR_ARGUMENT);
    cr_expect(strstr(err.text, "rank 1: expected the configuration"), "%s", err.text);
    cr_expect(well, "it is told, and ends");
    cr_expect_not(results_exist(dir.directory, "cells.ndjson"));
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_team, a_rank_asked_to_end_ends_the_run)
{
    scratch dir;
    tl_error err = {0};
    bool well;

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, WARM_GRID);
    cr_assert_eq(run_with(3, ex, dir.directory, (team_habits){.stops = true}, &well, &err),
                 TL_ERR_INTERRUPTED);
    cr_expect(well);
    expect_as_alone(ex, &dir, true);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* Ranks are told so even when rank 0 never begins. */
Test(experiment_team, a_directory_that_cannot_be_made)
{
    scratch dir;
    tl_error err = {0};
    bool well;

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SMALL_EXPERIMENT);
    cr_assert_eq(run_with(3, ex, "/proc/tightlip", (team_habits){0}, &well, &err), TL_ERR_IO);
    cr_expect(well);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}
