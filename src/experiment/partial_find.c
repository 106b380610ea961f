#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "experiment/partial.h"
#include "tightlip/file.h"

/* The manifests that stand in a directory; NULL when absent. */
typedef struct {
    char *begun, *finished;
} manifests;

/* Text of a file, or NULL when there is none. */
static tl_status read_if_there(const char *path, char **text, size_t *size, tl_error *err)
{
    *text = NULL;
    *size = 0;
    if (access(path, F_OK) != 0 && errno == ENOENT) return TL_OK;
    return tl_file_read(path, text, size, err);
}

static size_t count_lines(const tl_source *source)
{
    size_t count = 0;

    for (size_t i = 0; i < source->size; i++) count += source->text[i] == '\n';
    return count;
}

static long long shard_of(const json_t *manifest)
{
    return json_integer_value(json_object_get(json_object_get(manifest, "shard"), "index"));
}

/* Other shards count as others, and a whole run to a shard of it; how many there are in all may
 * change. */
static tl_status refuse_finished(const tl_partial *p, const char *text, tl_error *err)
{
    json_t *old = json_loads(text, 0, NULL), *own = json_loads(p->manifest, 0, NULL);
    const char *name = json_string_value(json_object_get(old, "name"));
    const long long before = shard_of(old), now = shard_of(own);
    char found[40] = "a whole run";
    tl_status s = TL_OK;

    if (before > 0) (void)snprintf(found, sizeof found, "shard %lld", before);
    if (!name || !json_equal(json_object_get(old, "name"), json_object_get(own, "name")))
        s = tl_fail(err, TL_ERR_ARGUMENT,
                    "%s: expected no results of another experiment, found those of '%s': choose "
                    "another directory, or replace them with --overwrite",
                    p->directory, name ? name : "?");
    else if (now > 0 && before != now)
        s = tl_fail(err, TL_ERR_ARGUMENT,
                    "%s: expected no results of another shard, found those of %s: choose "
                    "another directory, or replace them with --overwrite",
                    p->directory, found);
    json_decref(old);
    json_decref(own);
    return s;
}

static tl_status refuse_begun(const tl_partial *p, const char *text, size_t cells, tl_error *err)
{
    const bool own = strcmp(text, p->manifest) == 0;

    return tl_fail(err, TL_ERR_ARGUMENT,
                   "%s: expected no unfinished run, found %zu finished cells of one%s: %s, or "
                   "discard them with --overwrite",
                   p->directory, cells,
                   own ? "" : " of another configuration, seed, shard or build",
                   own ? "keep them with --resume" : "choose another directory");
}

/* What joined records replace is an unfinished join of the same, which has nothing to lose. */
static tl_status check_replaced(const tl_partial *p, const manifests *m, bool joined, tl_error *err)
{
    tl_source lines = {0};
    size_t cells;
    tl_status s = TL_OK;

    if (m->begun && !(joined && strcmp(m->begun, p->manifest) == 0)) {
        s = read_if_there(p->path, &lines.text, &lines.size, err);
        cells = s ? 0 : count_lines(&lines);
        free(lines.text);
        if (!s && cells > 0) s = refuse_begun(p, m->begun, cells, err);
    }
    if (!s && m->finished) s = refuse_finished(p, m->finished, err);
    return s;
}

static tl_status find_resumed(const tl_partial *p, const manifests *m, bool overwrite,
                              tl_source *kept, tl_error *err)
{
    const char *found = m->begun ? m->begun : m->finished;

    if (!found) return TL_OK;
    if (strcmp(found, p->manifest) != 0) {
        if (overwrite) return TL_OK;
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "%s: expected the results of this configuration, seed and build to resume, "
                       "found others: choose another directory, or start over with --overwrite",
                       m->begun ? p->manifest_path : p->final_manifest_path);
    }
    kept->sealed = m->begun != NULL;
    kept->name = kept->sealed ? p->path : p->final_path;
    return read_if_there(kept->name, &kept->text, &kept->size, err);
}

tl_status tl_partial_find(const tl_partial *p, const tl_run_options *options, bool joined,
                          tl_source *kept, tl_error *err)
{
    manifests m = {0};
    size_t size;
    tl_status s = read_if_there(p->manifest_path, &m.begun, &size, err);

    *kept = (tl_source){0};
    if (!s) s = read_if_there(p->final_manifest_path, &m.finished, &size, err);
    if (!s && options->resume && !joined)
        s = find_resumed(p, &m, options->overwrite, kept, err);
    else if (!s && !options->overwrite)
        s = check_replaced(p, &m, joined, err);
    free(m.begun);
    free(m.finished);
    return s;
}
