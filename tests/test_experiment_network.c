/* Experiments whose cells are images of a network. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/experiment_run.h"
#include "tightlip/livit.h"

#define ROWS 12

/* Paths of the experiment are taken from its own directory. */
static tl_experiment *network_from(scratch *dir, const char *more)
{
    char text[8192], here[2048];

    cr_assert_not_null(getcwd(here, sizeof here));
    (void)snprintf(text, sizeof text,
                   "name = \"t\"; network = { model = \"%s/experiments/livit/model.safetensors\"; "
                   "images = \"%s/experiments/data/fashion_mnist/images.idx\"; "
                   "labels = \"%s/experiments/data/fashion_mnist/labels.idx\"; %s",
                   here, here, here, more);
    return experiment_from(dir, text);
}

#define USUAL                                                             \
    "epsilons = (0.25, 0.5, 3.0); pgd = { restarts = 1; steps = 8; }; };" \
    "sweep = { variable = \"image\"; from = 0; to = 11; points = 12; };"  \
    "plot = { y = (\"share-clean\", \"share-standing\", \"share-certified\"); };"

static char *run(scratch *dir, const tl_experiment *ex, const char *name, const char *file,
                 int threads, size_t shard)
{
    char where[SCRATCH_PATH_SIZE];
    tl_error err = {0};

    (void)snprintf(where, sizeof where, "%s", scratch_path(dir, name));
    const tl_run_options options = {.directory = where,
                                    .threads = threads,
                                    .no_plot = true,
                                    .shard = shard,
                                    .shards = shard ? 3 : 0};
    cr_assert_eq(tl_experiment_run(ex, &options, &err), TL_OK, "%s", err.text);
    return shard ? NULL : results_text(where, file);
}

/* What the evaluation of all images at once says. */
static void expect_as_evaluated(const char *lines)
{
    const double epsilon[] = {0, 0.25, 0.5, 3};
    const tl_livit_attack attack = {.restarts = 1, .steps = 8, .seed = 1};
    tl_livit *net = NULL;
    tl_images images;
    tl_livit_report report;

    cr_assert_eq(tl_livit_open(&net, "experiments/livit/model.safetensors", NULL), TL_OK);
    cr_assert_eq(tl_images_read(&images, "experiments/data/fashion_mnist/images.idx",
                                "experiments/data/fashion_mnist/labels.idx", ROWS, NULL),
                 TL_OK);
    cr_assert_eq(tl_livit_evaluate(&report, net, &images, epsilon, 4, &attack, NULL), TL_OK);
    for (size_t i = 0; i < ROWS; i++) {
        const char *end = strchr(lines, '\n');
        json_t *record = json_loadb(lines, (size_t)(end - lines), 0, NULL);
        const json_t *image = json_object_get(record, "image");
        const json_t *from = json_object_get(image, "attacked_from");
        const double first = json_is_number(from) ? json_number_value(from) : (double)INFINITY;
        cr_expect_eq(json_number_value(json_object_get(image, "radius")), report.row[i].radius);
        cr_expect_eq(json_number_value(json_object_get(image, "margin")), report.row[i].margin);
        for (size_t e = 0; e < 4; e++)
            cr_expect_eq(report.row[i].attacked[e], epsilon[e] >= first, "image %zu at %g", i,
                         epsilon[e]);
        cr_expect_null(json_object_get(record, "violation"));
        json_decref(record);
        lines = end + 1;
    }
    cr_expect_str_empty(lines);
    tl_livit_report_clear(&report);
    tl_images_clear(&images);
    tl_livit_free(net);
}

Test(experiment_network, records_are_those_of_the_evaluation_at_any_number_of_threads)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    tl_experiment *ex = network_from(&dir, USUAL);
    char *one = run(&dir, ex, "one", "cells.ndjson", 1, 0);
    char *two = run(&dir, ex, "two", "cells.ndjson", 2, 0);

    cr_expect_str_eq(one, two);
    expect_as_evaluated(one);
    free(one);
    free(two);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

Test(experiment_network, shards_join_to_the_same_bytes)
{
    static const char *const names[] = {"s1", "s2", "s3"};
    char where[SCRATCH_PATH_SIZE], part[3][SCRATCH_PATH_SIZE];
    const char *parts[3];
    scratch dir;
    tl_error err = {0};
    cr_assert(scratch_init(&dir));
    tl_experiment *ex = network_from(&dir, USUAL);

    for (size_t i = 0; i < 3; i++) {
        (void)run(&dir, ex, names[i], NULL, 1, i + 1);
        (void)snprintf(part[i], sizeof part[i], "%s", scratch_path(&dir, names[i]));
        parts[i] = part[i];
    }
    (void)snprintf(where, sizeof where, "%s", scratch_path(&dir, "all"));
    const tl_run_options options = {.directory = where, .no_plot = true};
    cr_assert_eq(tl_experiment_merge(ex, parts, 3, &options, &err), TL_OK, "%s", err.text);
    free(run(&dir, ex, "whole", "data.csv", 1, 0));
    (void)snprintf(part[0], sizeof part[0], "%s", scratch_path(&dir, "whole"));
    expect_same_records(part[0], where, "shards");
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* Four rows an image; shares fall with epsilon, the certified one stays below the standing one. */
Test(experiment_network, the_table_has_a_row_for_each_epsilon)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    tl_experiment *ex = network_from(&dir, USUAL);
    char *csv = run(&dir, ex, "one", "data.csv", 1, 0), *at = strchr(csv, '\n') + 1;
    size_t certified[4] = {0}, standing[4] = {0}, rows = 0;

    cr_expect_eq(strncmp(csv, "image,epsilon,radius,clean,certified,standing\n", 45), 0);
    for (; *at; at = strchr(at, '\n') + 1, rows++) {
        int clean, sure, left, image;
        double epsilon, radius;
        cr_assert_eq(
            sscanf(at, "%d,%lf,%lf,%d,%d,%d", &image, &epsilon, &radius, &clean, &sure, &left), 6);
        cr_expect_eq(image, (int)(rows / 4));
        cr_expect(sure <= left && left <= clean);
        certified[rows % 4] += (size_t)sure;
        standing[rows % 4] += (size_t)left;
    }
    cr_expect_eq(rows, 4 * ROWS);
    cr_expect(certified[0] > 0 && standing[3] < standing[0]);
    for (size_t e = 1; e < 4; e++)
        cr_expect(certified[e] <= certified[e - 1] && standing[e] <= standing[e - 1]);
    free(csv);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

static const refusal refused[] = {
    {"epsilons = (0.5, 0.25); image = 0; };", "rising"},
    {"epsilons = (); image = 0; };", "1 to 64 numbers"},
    {"image = 0; };", "epsilons"},
    {"epsilons = (0.5); };", "expected image"},
    {"epsilons = (0.5); image = 1000; };", "expected an image below 1000"},
    {"epsilons = (0.5); image = 0; pgd = { steps = 0; }; };", "pgd.steps"},
    {"epsilons = (0.5); image = 0; labels = \"absent\"; };", "absent"},
    {"epsilons = (0.5); image = 0; }; tokens = ([1.0]);", "beside network"},
    {"epsilons = (0.5); image = 0; }; sweep = { variable = \"epsilon\"; values = (1.0); };",
     "hides the list"},
    {"epsilons = (0.5); image = 0; }; plot = { y = (\"lower\"); };", "share-clean"},
    {"epsilons = (0.5); image = 0; }; plot = { y = (\"share-standing\"); };", "a group pgd"},
    {"epsilons = (0.5); image = 0; };", NULL},
};

Test(experiment_network, wrong_settings_are_named)
{
    char here[2048], prefix[8192];

    cr_assert_not_null(getcwd(here, sizeof here));
    (void)snprintf(prefix, sizeof prefix,
                   "name = \"t\"; network = { model = \"%s/experiments/livit/model.safetensors\"; "
                   "images = \"%s/experiments/data/fashion_mnist/images.idx\"; ",
                   here, here);
    expect_refusals(prefix, refused, sizeof refused / sizeof *refused);
}
