/* A resume takes no line that is not what the run has written. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/partial.h"
#include "support/experiment_run.h"

static tl_status run(const tl_experiment *ex, tl_run_options options, tl_error *err)
{
    return tl_experiment_run(ex, &options, err);
}

typedef struct {
    stopper stop;
    char notice[512];
} listener;

static void stop_after_ten(void *context, const tl_progress *progress)
{
    stopper_progress(&((listener *)context)->stop, progress);
}

static void keep_notice(void *context, const char *text)
{
    listener *l = context;

    (void)snprintf(l->notice, sizeof l->notice, "%s", text);
}

/* Lines changed by hand or by a disk, and lines of a program that wrote no checksums. */
static void flip_bit(char *text)
{
    *(strstr(text, "\"value\":") + 10) ^= 1; /* a digit of the first cell: valid JSON still */
}

static void edit_second(char *text)
{
    char *at = strstr(strchr(text, '\n'), "\"log10\":0");

    if (at) at[9] = '9';
}

static void change_sum(char *text)
{
    char *at = strstr(text, "\"fnv1a\":\"") + 9;

    *at = *at == '0' ? '1' : '0';
}

static void drop_sums(char *text)
{
    char *out = text;

    for (const char *at = text; *at;) {
        if (strncmp(at, ",\"fnv1a\":", 9) != 0) {
            *out++ = *at++;
            continue;
        }
        at = strchr(at, '}');
    }
    *out = '\0';
}

static void repeat_first(char *text)
{
    char *second = strchr(text, '\n') + 1;
    const size_t first = (size_t)(second - text), rest = strlen(second);

    cr_assert_geq(rest, first);
    memcpy(second, text, first);
    second[first] = '\0';
}

static void cut_seal(char *text)
{
    text[strlen(text) - 5] = '\0';
}

Test(experiment_checksum, changed_lines_are_computed_again)
{
    static const struct {
        void (*change)(char *text);
        const char *notice;
    } rows[] = {
        {flip_bit, "line 1 does not match its checksum: the cells from number 0 on"},
        {edit_second, "line 2 does not match its checksum: the cells from number 1 on"},
        {change_sum, "line 1 does not match its checksum: the cells from number 0 on"},
        {drop_sums, "line 1 has no checksum: the cells from number 0 on"},
        {repeat_first, "line 2 is not the record of the next cell"},
        {cut_seal, "line 2 is cut off: the cells from number 1 on"},
    };
    scratch whole;
    tl_error err = {0};

    cr_assert(scratch_init(&whole));
    tl_experiment *ex = experiment_from(&whole, SMALL_EXPERIMENT);
    cr_assert_eq(run(ex, (tl_run_options){.directory = whole.directory}, &err), TL_OK, "%s",
                 err.text);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        scratch cut;
        listener l = {.stop.after = 10};
        cr_assert(scratch_init(&cut));
        tl_run_options options = {.directory = cut.directory,
                                  .threads = 1,
                                  .progress = stop_after_ten,
                                  .notice = keep_notice,
                                  .context = &l,
                                  .stop = &l.stop.stop};
        cr_assert_eq(run(ex, options, &err), TL_ERR_INTERRUPTED, "%s", err.text);
        cr_expect_str_empty(l.notice);
        char *text = results_text(cut.directory, "cells.ndjson.partial");
        rows[i].change(text);
        cr_assert(scratch_write(&cut, "cells.ndjson.partial", text, strlen(text)));
        options.resume = true;
        options.stop = NULL;
        cr_assert_eq(run(ex, options, &err), TL_OK, "row %zu: %s", i, err.text);
        cr_expect(strstr(l.notice, rows[i].notice), "row %zu: '%s'", i, l.notice);
        expect_same_bytes(whole.directory, cut.directory, rows[i].notice);
        free(text);
        scratch_clear(&cut);
    }
    tl_experiment_free(ex);
    scratch_clear(&whole);
}

/* What changes while the run goes on is seen before the final file is written. */
static void flip_on_disk(void *context, const tl_progress *progress)
{
    const char *directory = context;
    char path[1024], *text;
    FILE *file;

    if (progress->cells_done != 2 || !(text = results_text(directory, "cells.ndjson.partial")))
        return;
    (void)snprintf(path, sizeof path, "%s/cells.ndjson.partial", directory);
    file = fopen(path, "r+b");
    if (file) {
        long at = (long)(strstr(text, "\"value\":") + 10 - text);
        (void)(fseek(file, at, SEEK_SET) == 0 && fputc('~', file) >= 0);
        (void)fclose(file);
    }
    free(text);
}

Test(experiment_checksum, a_line_that_changes_under_way_is_no_result)
{
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex = experiment_from(&dir, SMALL_EXPERIMENT);
    tl_run_options options = {.directory = dir.directory,
                              .threads = 1,
                              .no_plot = true,
                              .progress = flip_on_disk,
                              .context = dir.directory};
    cr_expect_eq(run(ex, options, &err), TL_ERR_IO, "%s", err.text);
    cr_expect(strstr(err.text, "line 1 does not match its checksum"), "%s", err.text);
    cr_expect(!results_exist(dir.directory, "cells.ndjson"));
    options = (tl_run_options){.directory = dir.directory, .no_plot = true, .resume = true};
    cr_expect_eq(run(ex, options, &err), TL_OK, "%s", err.text);
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

/* A test vector of FNV-1a and a closing brace, which the sum leaves out. */
Test(experiment_checksum, the_checksum_is_a_known_one)
{
    char seal[TL_SEAL_SIZE + 1];

    tl_line_seal(seal, "foobar}", 7);
    cr_expect_str_eq(seal, ",\"fnv1a\":\"85944171f73967e8\"}");
}
