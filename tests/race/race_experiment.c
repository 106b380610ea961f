/* A whole run under ThreadSanitizer: cells built, searched and written by several threads. */
#include <stdio.h>

#include "support/scratch.h"
#include "tightlip/experiment.h"

static const char text[] =
    "name = \"race\"; attention = { kind = \"dot\"; d = 2; A = \"worst\"; V = \"identity\"; };"
    "domain = { kind = \"ball\"; radius = 1.5; };"
    "sweep = { variable = \"n\"; values = (1, 2, 5, 9, 1000, \"inf\"); };"
    "search = { atoms = 3; restarts = 5; evaluations = 40; warm = \"neighbours\"; };";

static void count(void *context, const tl_progress *progress)
{
    *(uint64_t *)context = progress->items_done;
}

int main(void)
{
    scratch dir;
    tl_experiment *ex = NULL;
    tl_error err = {0};
    uint64_t items = 0;
    if (!scratch_init(&dir)) return 1;
    const char *path = scratch_write(&dir, "race.cfg", text, sizeof text - 1);
    const tl_run_options options = {.directory = dir.directory,
                                    .threads = 4,
                                    .no_plot = true,
                                    .progress = count,
                                    .context = &items};
    tl_status s = path ? tl_experiment_load(&ex, path, &err) : TL_ERR_IO;
    if (!s) s = tl_experiment_run(ex, &options, &err);
    printf("race_experiment: %d items, %s\n", (int)items, s ? err.text : "all written");
    tl_experiment_free(ex);
    scratch_clear(&dir);
    return s || items != 46;
}
