/* Plots and fits that an earlier run left in a results directory. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment/internal.h"
#include "experiment/plot.h"

bool tl_plot_is_group(const char *key)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

    return strncmp(key, "plot", 4) == 0 && (key[4] == '\0' || key[4] == '_') &&
           strlen(key) <= TL_PLOT_GROUP_MOST && strspn(key, letters) == strlen(key);
}

static tl_status drop(const char *directory, const char *stem, const char *end, tl_error *err)
{
    char name[TL_PLOT_GROUP_MOST + 8];

    (void)snprintf(name, sizeof name, "%s%s", stem, end);
    char *path = tl_results_path(directory, name);
    if (!path) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);
    (void)unlink(path);
    free(path);
    return TL_OK;
}

static tl_status drop_group(const char *directory, const char *group, tl_error *err)
{
    char fit[TL_FIT_NAME_SIZE];

    tl_fit_name(fit, group);
    tl_status s = drop(directory, group, ".gp", err);
    if (!s) s = drop(directory, group, ".svg", err);
    if (!s) s = drop(directory, group, ".png", err);
    return s ? s : drop(directory, fit, "", err);
}

/* Whether the script is of ours: one beside it may be the user's. */
static bool is_ours(const char *directory, const char *name)
{
    static const char first[] = "# Draws plot";
    char line[sizeof first] = "";
    char *path = tl_results_path(directory, name);
    FILE *in = path ? fopen(path, "r") : NULL;
    const bool ours = in && fgets(line, sizeof line, in) && strcmp(line, first) == 0;

    if (in) (void)fclose(in);
    free(path);
    return ours;
}

tl_status tl_experiment_drop_plots(const char *directory, tl_error *err)
{
    DIR *list = opendir(directory);
    tl_status s = drop_group(directory, "plot", err);

    for (const struct dirent *entry; !s && list && (entry = readdir(list));) {
        char group[TL_PLOT_GROUP_MOST + 1];
        const size_t length = strcspn(entry->d_name, ".");
        if (length >= sizeof group || strcmp(entry->d_name + length, ".gp") != 0) continue;
        memcpy(group, entry->d_name, length);
        group[length] = '\0';
        if (tl_plot_is_group(group) && is_ours(directory, entry->d_name))
            s = drop_group(directory, group, err);
    }
    if (list) (void)closedir(list);
    return s;
}
