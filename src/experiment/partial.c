#include "experiment/partial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlip/file.h"

static const double SYNC_SECONDS = 2;

static tl_status io_error(tl_error *err, const char *path, const char *step)
{
    return tl_fail(err, TL_ERR_IO, "%s: %s: %s", path, step, strerror(errno));
}

/* Text of a file, or NULL when there is none. */
static tl_status read_if_there(const char *path, char **text, tl_error *err)
{
    size_t size = 0;

    *text = NULL;
    if (access(path, F_OK) != 0 && errno == ENOENT) return TL_OK;
    return tl_file_read(path, text, &size, err);
}

/* Length of the whole lines at the start of text that are records from, from + 1, ..; *count of
 * them. */
static size_t whole_records(const char *text, size_t from, size_t end_cell, size_t *count)
{
    const char *line = text, *end;

    *count = 0;
    while (from + *count < end_cell && (end = strchr(line, '\n'))) {
        json_error_t where;
        json_t *record = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, &where);
        const json_t *cell = json_object_get(record, "cell");
        bool next = json_is_integer(cell) && (size_t)json_integer_value(cell) == from + *count;
        json_decref(record);
        if (!next) break;
        line = end + 1;
        (*count)++;
    }
    return (size_t)(line - text);
}

/* Whether the manifest at path says what ours says. */
static tl_status check_manifest(const tl_partial *p, const char *path, bool *there, tl_error *err)
{
    char *old = NULL;
    tl_status s = read_if_there(path, &old, err);

    *there = old != NULL;
    if (!s && old && strcmp(old, p->manifest) != 0)
        s = tl_fail(err, TL_ERR_ARGUMENT,
                    "%s: expected the results of this configuration, seed and build to resume, "
                    "found others: choose another directory, or run without resume",
                    path);
    free(old);
    return s;
}

/* The text of the lines to keep, from the partial file or from a finished run. */
static tl_status kept_lines(const tl_partial *p, char **text, tl_error *err)
{
    char *manifest = tl_results_path(p->directory, "manifest.json");
    char *cells = tl_results_path(p->directory, "cells.ndjson");
    bool there = false;
    tl_status s = manifest && cells ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");

    *text = NULL;
    if (!s) s = check_manifest(p, p->manifest_path, &there, err);
    if (!s && there) {
        s = read_if_there(p->path, text, err);
    } else if (!s) {
        s = check_manifest(p, manifest, &there, err);
        if (!s && there) s = read_if_there(cells, text, err);
    }
    free(manifest);
    free(cells);
    return s;
}

static tl_status resume_lines(tl_partial *p, tl_error *err)
{
    char *text = NULL;
    tl_status s = kept_lines(p, &text, err);

    if (!s && text) {
        size_t size = whole_records(text, p->from, p->end, &p->done);
        s = tl_file_write(p->path, text, size, err);
    }
    free(text);
    return s;
}

/* Where the files that records refer to lie, as seen from the results. Nonzero when out of memory.
 */
static int name_data(json_t *manifest, const tl_experiment *ex, const char *directory)
{
    char *data;
    int bad;

    if (json_object_size(ex->files) == 0) return 0;
    data = tl_file_relative(directory, *ex->directory ? ex->directory : ".");
    bad = !data || json_object_set_new(manifest, "data", json_string(data));
    free(data);
    return bad;
}

/* The text of the manifest; NULL when out of memory. */
static char *manifest_text(const tl_experiment *ex, const char *directory, uint64_t seed,
                           size_t shard, size_t shards)
{
    json_t *manifest = tl_manifest_make(ex, seed);
    int bad = !manifest || name_data(manifest, ex, directory);
    char *text;

    if (shards > 0)
        bad = bad || json_object_set_new(manifest, "shard",
                                         json_pack("{s:I, s:I}", "index", (json_int_t)shard, "of",
                                                   (json_int_t)shards));
    text = bad ? NULL : json_dumps(manifest, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    json_decref(manifest);
    return text;
}

tl_status tl_manifest_write_partial(const tl_experiment *ex, const char *directory, uint64_t seed,
                                    tl_error *err)
{
    /* First of all: the manifest says where data lie as seen from there. */
    tl_status s = tl_file_make_directory(directory, err);
    char *path = tl_results_path(directory, "manifest.json.partial");
    char *text = s ? NULL : manifest_text(ex, directory, seed, 0, 0);

    if (!s && !(path && text)) s = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);
    if (!s) s = tl_file_write(path, text, strlen(text), err);
    free(text);
    free(path);
    return s;
}

tl_status tl_partial_open(tl_partial *p, const tl_experiment *ex, const tl_run_options *options,
                          uint64_t seed, tl_error *err)
{
    const char *directory = options->directory;
    tl_status s = tl_file_make_directory(directory, err);

    *p = (tl_partial){.directory = directory, .end = ex->cells};
    if (options->shards > 0) {
        p->from = (options->shard - 1) * ex->cells / options->shards;
        p->end = options->shard * ex->cells / options->shards;
    }
    if (s) return s;
    p->path = tl_results_path(directory, "cells.ndjson.partial");
    p->manifest_path = tl_results_path(directory, "manifest.json.partial");
    p->manifest = manifest_text(ex, directory, seed, options->shard, options->shards);
    if (!p->path || !p->manifest_path || !p->manifest)
        s = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);
    if (!s && options->resume) s = resume_lines(p, err);
    if (!s) s = tl_file_write(p->manifest_path, p->manifest, strlen(p->manifest), err);
    if (s) return s;
    p->cells = fopen(p->path, p->done ? "ab" : "wb");
    return p->cells ? TL_OK : io_error(err, p->path, "cannot be created");
}

tl_status tl_partial_add(tl_partial *p, const char *line, double now, tl_error *err)
{
    if (fputs(line, p->cells) < 0 || fputc('\n', p->cells) == EOF || fflush(p->cells) != 0)
        return io_error(err, p->path, "writing failed");
    if (now > p->synced + SYNC_SECONDS) {
        p->synced = now;
        if (fsync(fileno(p->cells)) != 0) return io_error(err, p->path, "writing to disk failed");
    }
    return TL_OK;
}

tl_status tl_partial_close(tl_partial *p, tl_error *err)
{
    tl_status s = TL_OK;

    if (!p->cells) return TL_OK;
    if (fflush(p->cells) != 0 || fsync(fileno(p->cells)) != 0)
        s = io_error(err, p->path, "writing to disk failed");
    if (fclose(p->cells) != 0 && !s) s = io_error(err, p->path, "closing failed");
    p->cells = NULL;
    return s;
}

static tl_status give_name(const tl_partial *p, const char *from, const char *name, tl_error *err)
{
    char *to = tl_results_path(p->directory, name);
    tl_status s = TL_OK;

    if (!to) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", p->directory);
    if (rename(from, to) != 0) s = io_error(err, to, "cannot be replaced");
    free(to);
    return s;
}

tl_status tl_partial_rename(const tl_partial *p, tl_error *err)
{
    tl_status s = give_name(p, p->path, "cells.ndjson", err);

    return s ? s : give_name(p, p->manifest_path, "manifest.json", err);
}

void tl_partial_clear(tl_partial *p)
{
    if (p->cells) (void)fclose(p->cells);
    free(p->path);
    free(p->manifest_path);
    free(p->manifest);
    *p = (tl_partial){0};
}
