#include "cli/cli.h"
#include "cli/experiments.h"

#include "tightlip/experiment.h"

static tl_status run_plot(tl_cli_call *call, tl_error *err)
{
    const char *directory = call->operand[0];
    json_t *list;
    tl_status status = tl_experiment_plot(directory, err);

    if (status != TL_OK) return status;
    list = tl_cli_list_plots(directory, call->json);
    if (call->json)
        return tl_cli_json_print(json_pack("{s:s,s:o}", "directory", directory, "files", list));
    json_decref(list);
    return TL_OK;
}

const tl_cli_verb tl_cli_verb_plot = {
    .name = "plot",
    .operands = "DIR",
    .summary = "draw the plot of a results directory again",
    .details =
        "Draws plot.gp, plot.svg and plot.png again from manifest.json and data.csv in DIR, with "
        "fit.csv where the plot has slopes, and prints their paths. Where manifest.json or "
        "data.csv is damaged it says file, line and what was expected, and the old plot stays.",
    .least = 1,
    .most = 1,
    .run = run_plot,
};
