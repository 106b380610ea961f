/* The files of a run that is not finished: manifest.json.partial and cells.ndjson.partial.
 *
 * A line of the latter is a record as in cells.ndjson with one member more at its end, "fnv1a": the
 * hash (file.h) of what stands before it, sixteen hexadecimal digits. An advisory lock of the file
 * (flock) keeps a second run out of the directory; it ends with the process, however that ends. */
#ifndef EXPERIMENT_PARTIAL_H
#define EXPERIMENT_PARTIAL_H

#include <stdio.h>

#include "experiment/internal.h"

/* ---- lines ---- */

/* What replaces the closing brace of a record: ,"fnv1a":"0123456789abcdef"} */
enum { TL_SEAL_SIZE = 28 };
void tl_line_seal(char seal[TL_SEAL_SIZE + 1], const char *record, size_t size);

/* Lines of records from somewhere. */
typedef struct {
    const char *name; /* for messages; borrowed */
    char *text;       /* owned; NULL: none */
    size_t size;
    bool sealed; /* lines end in checksums */
} tl_source;

typedef struct {
    size_t count, size; /* records, and the bytes of their text */
    size_t taken;       /* bytes of the lines they came from */
    const char *fault;  /* of the line after them, as words after its number; NULL: none */
} tl_lines;

/* Leaves in source->text the records from, from + 1, .., at most count of them, without checksums
 * and up to the first line that is none, and a zero behind them. */
tl_lines tl_lines_take(const tl_source *source, size_t from, size_t count);

/* ---- files ---- */

typedef struct {
    const char *directory; /* borrowed */
    char *path, *manifest_path, *final_path, *final_manifest_path;
    char *manifest;   /* its text, which a resume must meet again byte for byte */
    FILE *cells;      /* holds the lock */
    size_t from, end; /* cells of this share */
    size_t done;      /* of them, those that stand in the file */
    double synced;
    bool finished; /* all files have their final names */
} tl_partial;

/* What stands in the directory and is to be kept, under the lock. Errors: TL_ERR_ARGUMENT (what a
 * run without options->overwrite must not replace, or a resume not take), TL_ERR_IO,
 * TL_ERR_MEMORY. joined: the records come from elsewhere. */
TL_MUST_USE tl_status tl_partial_find(const tl_partial *p, const tl_run_options *options,
                                      bool joined, tl_source *kept, tl_error *err);

/* Makes the directory when absent and opens both files. With resume, whole lines of an earlier run
 * with the same manifest are kept up to the first that is cut or does not match its checksum, which
 * options->notice is told, and a finished run counts as one whose cells are all there. joined:
 * records to begin with instead, or NULL; its text is changed. Errors: TL_ERR_IO (also: another run
 * holds the lock), TL_ERR_ARGUMENT (as tl_partial_find), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_partial_open(tl_partial *p, const tl_experiment *ex,
                                      const tl_run_options *options, const tl_source *joined,
                                      uint64_t seed, tl_error *err);
/* Appends one record and hands it to the system; to the disk at most every two seconds. */
TL_MUST_USE tl_status tl_partial_add(tl_partial *p, const char *record, size_t size, double now,
                                     tl_error *err);
/* Hands what was written to the disk; the partial files stay. */
TL_MUST_USE tl_status tl_partial_sync(tl_partial *p, tl_error *err);
/* All records, as cells.ndjson holds them; *text is owned by the caller. Errors: TL_ERR_IO (also:
 * one does not match its checksum). */
TL_MUST_USE tl_status tl_partial_read(const tl_partial *p, char **text, size_t *size,
                                      tl_error *err);
/* Those records and the manifest get their final names. */
TL_MUST_USE tl_status tl_partial_finish(tl_partial *p, const char *text, size_t size,
                                        tl_error *err);
/* Removes the partial file of a finished run, and gives the lock back. */
void tl_partial_clear(tl_partial *p);

#endif
