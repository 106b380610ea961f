#include "support/experiment_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

tl_experiment *experiment_from(scratch *dir, const char *text)
{
    tl_experiment *ex = NULL;
    tl_error err = {0};
    const char *path = scratch_write(dir, "experiment.cfg", text, strlen(text));

    cr_assert(path, "no file in %s", dir->directory);
    cr_assert_eq(tl_experiment_load(&ex, path, &err), TL_OK, "%s\n%s", err.text, text);
    return ex;
}

tl_cell *experiment_cell(const tl_experiment *ex, size_t index)
{
    const tl_bindings b = {.experiment = ex, .cell = index};
    tl_cell *cell = NULL;
    tl_error err = {0};

    cr_assert_eq(tl_cell_build(&b, &cell, &err), TL_OK, "cell %zu: %s", index, err.text);
    return cell;
}

void expect_refusals(const char *prefix, const refusal *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        scratch dir;
        tl_experiment *ex = NULL;
        tl_error err = {0};
        char text[4096];
        cr_assert(scratch_init(&dir));
        cr_assert_lt(snprintf(text, sizeof text, "%s%s", prefix, rows[i].text), (int)sizeof text);
        const char *path = scratch_write(&dir, "t.cfg", text, strlen(text));
        cr_expect_eq(tl_experiment_load(&ex, path, &err) == TL_OK, rows[i].why == NULL,
                     "row %zu: %s", i, err.text);
        if (rows[i].why) cr_expect(strstr(err.text, rows[i].why), "row %zu: %s", i, err.text);
        tl_experiment_free(ex);
        scratch_clear(&dir);
    }
}

static void join(char *path, size_t size, const char *directory, const char *name)
{
    (void)snprintf(path, size, "%s/%s", directory, name);
}

/* Bytes of a file and a closing zero; NULL when there is none. */
static char *read_bytes(const char *directory, const char *name, size_t *bytes)
{
    char path[1024], *text = NULL;
    FILE *file;
    long size = 0;

    join(path, sizeof path, directory, name);
    file = fopen(path, "rb");
    if (!file) return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0) {
        rewind(file);
        text = calloc((size_t)size + 1, 1);
        if (text && fread(text, 1, (size_t)size, file) != (size_t)size) {
            free(text);
            text = NULL;
        }
    }
    if (text) *bytes = (size_t)size;
    (void)fclose(file);
    return text;
}

char *results_text(const char *directory, const char *name)
{
    size_t size = 0;

    return read_bytes(directory, name, &size);
}

bool results_exist(const char *directory, const char *name)
{
    char path[1024];

    join(path, sizeof path, directory, name);
    return access(path, F_OK) == 0;
}

static const char *const result_names[] = {"manifest.json", "cells.ndjson", "data.csv",
                                           "plot.gp",       "plot.svg",     "plot.png"};
enum { RESULTS = sizeof result_names / sizeof *result_names };

static void expect_same(const char *a, const char *b, size_t names, const char *what)
{
    for (size_t i = 0; i < names; i++) {
        size_t m = 0, n = 0;
        char *x = read_bytes(a, result_names[i], &m), *y = read_bytes(b, result_names[i], &n);
        cr_assert(x && y, "%s: %s is missing", what, result_names[i]);
        cr_expect(m > 0 && m == n && memcmp(x, y, m) == 0, "%s: %s differs", what, result_names[i]);
        free(x);
        free(y);
    }
}

void expect_same_bytes(const char *a, const char *b, const char *what)
{
    expect_same(a, b, RESULTS, what);
}

void expect_same_records(const char *a, const char *b, const char *what)
{
    expect_same(a, b, 3, what);
}

void stopper_progress(void *context, const tl_progress *progress)
{
    stopper *s = context;

    s->reports++;
    s->left = progress->items - progress->items_done;
    if (progress->items_done >= s->after) s->stop = 1;
}
