/* A whole run under ThreadSanitizer: cells built, searched and written by several threads. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tightlip/experiment.h"

static const char text[] =
    "name = \"race\"; attention = { kind = \"dot\"; d = 2; A = \"worst\"; V = \"identity\"; };"
    "domain = { kind = \"ball\"; radius = 1.5; };"
    "sweep = { variable = \"n\"; values = (1, 2, 5, 9, 1000, \"inf\"); };"
    "search = { atoms = 3; restarts = 5; evaluations = 40; warm = \"neighbours\"; };";

static const char *const left[] = {"race.cfg", "manifest.json", "cells.ndjson", "data.csv",
                                   "timing.ndjson"};

static void count(void *context, const tl_progress *progress)
{
    *(uint64_t *)context = progress->items_done;
}

int main(void)
{
    char directory[] = "/tmp/tightlip-race-XXXXXX", path[128];
    tl_experiment *ex = NULL;
    tl_error err = {0};
    uint64_t items = 0;
    if (!mkdtemp(directory)) return 1;
    (void)snprintf(path, sizeof path, "%s/race.cfg", directory);
    FILE *file = fopen(path, "w");
    if (!file || fputs(text, file) < 0 || fclose(file) != 0) return 1;
    const tl_run_options options = {.directory = directory,
                                    .threads = 4,
                                    .no_plot = true,
                                    .progress = count,
                                    .context = &items};
    tl_status s = tl_experiment_load(&ex, path, &err);
    if (!s) s = tl_experiment_run(ex, &options, &err);
    printf("race_experiment: %d items, %s\n", (int)items, s ? err.text : "all written");
    tl_experiment_free(ex);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", directory, left[i]);
        (void)unlink(path);
    }
    (void)rmdir(directory);
    return s || items != 40;
}
