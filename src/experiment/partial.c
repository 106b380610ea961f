#include "experiment/partial.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlip/file.h"

static const double SYNC_SECONDS = 2;

static tl_status io_error(tl_error *err, const char *path, const char *step)
{
    return tl_fail(err, TL_ERR_IO, "%s: %s: %s", path, step, strerror(errno));
}

/* ---- opening ---- */

/* Whether another run has finished, and removed the file, between its opening and its locking. */
static bool removed(int fd)
{
    struct stat info;

    return fstat(fd, &info) != 0 || info.st_nlink == 0;
}

/* Opens the records as they stand. Where a file system has no locks the run goes on without. */
static tl_status open_locked(tl_partial *p, tl_error *err)
{
    for (int tries = 8;; tries--) {
        int fd = open(p->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
        if (fd < 0) return io_error(err, p->path, "cannot be created");
        if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            (void)close(fd);
            return tl_fail(err, TL_ERR_IO, "%s: another run is writing here", p->directory);
        }
        if (tries > 0 && removed(fd)) {
            (void)close(fd);
            continue;
        }
        p->cells = fdopen(fd, "ab");
        if (p->cells) return TL_OK;
        (void)close(fd);
        return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", p->path);
    }
}

/* Devices, whose size is 0, cannot be cut. */
static tl_status cut(const tl_partial *p, size_t size, tl_error *err)
{
    const int fd = fileno(p->cells);
    struct stat info;

    if (fstat(fd, &info) != 0) return io_error(err, p->path, "cannot be examined");
    if (info.st_size == (off_t)size) return TL_OK;
    if (ftruncate(fd, (off_t)size) != 0) return io_error(err, p->path, "cannot be cut");
    /* Before the manifest: what it names must never stand below another one. */
    return fsync(fd) == 0 ? TL_OK : io_error(err, p->path, "writing to disk failed");
}

static void tell_fault(const tl_run_options *options, const tl_source *source,
                       const tl_lines *lines, size_t from)
{
    tl_error text = {0};

    if (!lines->fault || !options->notice) return;
    (void)tl_fail(&text, TL_ERR_PARSE,
                  "%s: line %zu %s: the cells from number %zu on are computed again", source->name,
                  lines->count + 1, lines->fault, from + lines->count);
    options->notice(options->context, text.text);
}

static tl_status add_records(tl_partial *p, const char *text, size_t size, tl_error *err)
{
    tl_status s = TL_OK;

    for (size_t at = 0, length; !s && at < size; at += length + 1) {
        length = (size_t)((const char *)memchr(text + at, '\n', size - at) - (text + at));
        s = tl_partial_add(p, text + at, length, p->synced, err);
    }
    return s;
}

/* Files hold what is kept afterwards, and the manifest says of what. */
static tl_status begin(tl_partial *p, const tl_run_options *options, const tl_source *joined,
                       tl_error *err)
{
    tl_source kept = {0};
    const tl_source *source = joined ? joined : &kept;
    tl_status s = tl_partial_find(p, options, joined != NULL, &kept, err);

    if (!s) {
        const tl_lines lines = tl_lines_take(source, p->from, p->end - p->from);
        tell_fault(options, source, &lines, p->from);
        s = cut(p, source->sealed ? lines.taken : 0, err);
        if (!s) s = tl_file_write(p->manifest_path, p->manifest, strlen(p->manifest), err);
        if (source->sealed)
            p->done = lines.count;
        else if (!s)
            s = add_records(p, source->text, lines.size, err);
    }
    free(kept.text);
    return s;
}

tl_status tl_partial_open(tl_partial *p, const tl_experiment *ex, const tl_run_options *options,
                          const tl_source *joined, uint64_t seed, tl_error *err)
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
    p->final_path = tl_results_path(directory, "cells.ndjson");
    p->final_manifest_path = tl_results_path(directory, "manifest.json");
    p->manifest = tl_manifest_text(ex, directory, seed, options->shard, options->shards);
    if (!p->path || !p->manifest_path || !p->final_path || !p->final_manifest_path || !p->manifest)
        return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);
    s = open_locked(p, err);
    return s ? s : begin(p, options, joined, err);
}

/* ---- writing ---- */

tl_status tl_partial_add(tl_partial *p, const char *record, size_t size, double now, tl_error *err)
{
    char seal[TL_SEAL_SIZE + 1];

    tl_line_seal(seal, record, size);
    if (fwrite(record, 1, size - 1, p->cells) != size - 1 || fputs(seal, p->cells) < 0 ||
        fputc('\n', p->cells) == EOF || fflush(p->cells) != 0)
        return io_error(err, p->path, "writing failed");
    p->done++;
    if (now > p->synced + SYNC_SECONDS) {
        p->synced = now;
        if (fsync(fileno(p->cells)) != 0) return io_error(err, p->path, "writing to disk failed");
    }
    return TL_OK;
}

tl_status tl_partial_sync(tl_partial *p, tl_error *err)
{
    if (!p->cells || (fflush(p->cells) == 0 && fsync(fileno(p->cells)) == 0)) return TL_OK;
    return io_error(err, p->path, "writing to disk failed");
}

tl_status tl_partial_read(const tl_partial *p, char **text, size_t *size, tl_error *err)
{
    tl_source source = {.name = p->path, .sealed = true};
    tl_status s = tl_file_read(p->path, &source.text, &source.size, err);
    tl_lines lines = {0};

    if (!s) lines = tl_lines_take(&source, p->from, p->done);
    if (!s && lines.count < p->done)
        s = tl_fail(err, TL_ERR_IO,
                    "%s: line %zu %s, though it was written whole: go on with --resume", p->path,
                    lines.count + 1, lines.fault ? lines.fault : "is missing");
    if (s) {
        free(source.text);
        source.text = NULL;
    }
    *text = source.text;
    *size = lines.size;
    return s;
}

tl_status tl_partial_finish(tl_partial *p, const char *text, size_t size, tl_error *err)
{
    tl_status s = tl_file_write(p->final_path, text, size, err);

    if (!s && rename(p->manifest_path, p->final_manifest_path) != 0)
        s = io_error(err, p->final_manifest_path, "cannot be replaced");
    p->finished = !s;
    return s;
}

void tl_partial_clear(tl_partial *p)
{
    struct stat info;

    if (p->cells) {
        /* Under the lock still; an empty one is that of a run that was refused. */
        if (p->finished || (fstat(fileno(p->cells), &info) == 0 && S_ISREG(info.st_mode) &&
                            info.st_size == 0 && access(p->manifest_path, F_OK) != 0))
            (void)unlink(p->path);
        (void)fclose(p->cells);
    }
    free(p->path);
    free(p->manifest_path);
    free(p->final_path);
    free(p->final_manifest_path);
    free(p->manifest);
    *p = (tl_partial){0};
}
