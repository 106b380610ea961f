#include "cli/run.h"

#include <inttypes.h>
#include <unistd.h>

enum { BAR_WIDTH = 32 };

/* Seconds between two reports: a bar should move, a log should stay short. */
static const double bar_interval = 0.1, line_interval = 10.0;

void tl_cli_progress_init(tl_cli_progress *progress)
{
    *progress = (tl_cli_progress){.terminal = isatty(STDERR_FILENO) == 1};
}

static void format_seconds(char text[CLI_NUMBER_SIZE], double seconds)
{
    double whole = seconds < 0 ? 0 : seconds + 0.5;

    if (whole < 60)
        snprintf(text, CLI_NUMBER_SIZE, "%.0f s", whole - 0.5);
    else if (whole < 3600)
        snprintf(text, CLI_NUMBER_SIZE, "%d min %02d s", (int)whole / 60, (int)whole % 60);
    else
        snprintf(text, CLI_NUMBER_SIZE, "%.0f h %02d min", whole / 3600 - 0.5,
                 (int)(whole / 60) % 60);
}

void tl_cli_progress_report(void *context, const tl_progress *now)
{
    tl_cli_progress *progress = context;
    double interval = progress->terminal ? bar_interval : line_interval;
    double share = now->items == 0 ? 1 : (double)now->items_done / (double)now->items;
    bool last = now->items_done >= now->items;
    char left[CLI_NUMBER_SIZE] = "?", bar[BAR_WIDTH + 1];

    if (now->seconds < progress->last + interval && !last) return;
    progress->last = now->seconds;
    if (share > 0) format_seconds(left, now->seconds * (1 - share) / share);
    if (!progress->terminal) {
        fprintf(stderr, "%5.1f %%  %zu of %zu cells, %s left\n", 100 * share, now->cells_done,
                now->cells, left);
        return;
    }
    for (int i = 0; i < BAR_WIDTH; i++) bar[i] = i < (int)(share * BAR_WIDTH) ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    /* ESC [ K clears what a longer line left behind. */
    fprintf(stderr, "\r[%s] %5.1f %%  %zu of %zu cells, %s left\033[K", bar, 100 * share,
            now->cells_done, now->cells, left);
    (void)fflush(stderr);
    progress->drawn = true;
}

void tl_cli_progress_notice(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "tightlip: %s\n", text);
}

void tl_cli_progress_end(tl_cli_progress *progress)
{
    if (progress->drawn) fputc('\n', stderr);
    progress->drawn = false;
}
