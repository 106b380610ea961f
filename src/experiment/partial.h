/* The files of a run that is not finished: manifest.json.partial and cells.ndjson.partial. */
#ifndef EXPERIMENT_PARTIAL_H
#define EXPERIMENT_PARTIAL_H

#include <stdio.h>

#include "experiment/internal.h"

typedef struct {
    const char *directory; /* borrowed */
    char *path, *manifest_path;
    char *manifest; /* its text, which a resume must meet again byte for byte */
    FILE *cells;
    size_t from, end; /* cells of this share */
    size_t done;      /* of them, those that stand in the file already */
    double synced;
} tl_partial;

/* Makes the directory when absent and opens both files. With resume, whole lines of an earlier run
 * with the same manifest are kept, a torn last line is cut off, and a finished run counts as one
 * whose cells are all there. Errors: TL_ERR_IO, TL_ERR_ARGUMENT (another configuration, seed or
 * build), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_partial_open(tl_partial *p, const tl_experiment *ex,
                                      const tl_run_options *options, uint64_t seed, tl_error *err);
/* Appends one line and hands it to the system; to the disk at most every two seconds. */
TL_MUST_USE tl_status tl_partial_add(tl_partial *p, const char *line, double now, tl_error *err);
/* Syncs and closes what was written; the partial files stay. Reports the first failure. */
TL_MUST_USE tl_status tl_partial_close(tl_partial *p, tl_error *err);
/* After close: the partial files get their final names. */
TL_MUST_USE tl_status tl_partial_rename(const tl_partial *p, tl_error *err);
void tl_partial_clear(tl_partial *p);

#endif
