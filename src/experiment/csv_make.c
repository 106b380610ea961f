/* data.csv from the records: as a run writes it, and again for results that lie there. */
#include <stdlib.h>
#include <string.h>

#include "experiment/csv_shape.h"

/* ex: NULL, or of which the summary is to say what a person must hear. */
static tl_status put_all(tl_buffer *b, const tl_csv_shape *shape, const char *records,
                         const tl_experiment *ex, tl_run_summary *summary, tl_error *err)
{
    size_t cell = 0;

    tl_csv_header(b, shape);
    for (const char *line = records; *line && !b->failed; cell++) {
        const char *end = strchr(line, '\n');
        size_t size = end ? (size_t)(end - line) : strlen(line);
        json_error_t where;
        json_t *record = json_loadb(line, size, JSON_REJECT_DUPLICATES, &where);
        if (!record)
            return tl_fail_at(err, "cells.ndjson", (long long)cell + 1, where.column, where.text);
        tl_csv_rows(b, shape, record);
        if (ex) tl_csv_note(ex, record, cell, summary);
        json_decref(record);
        line = end ? end + 1 : line + size;
    }
    return b->failed ? tl_fail(err, TL_ERR_MEMORY, "data.csv: out of memory") : TL_OK;
}

tl_status tl_csv_make(const tl_experiment *ex, const char *records, char **out,
                      tl_run_summary *summary, tl_error *err)
{
    tl_csv_shape shape = {0};
    tl_buffer b = {0};
    tl_status s = tl_csv_shape_of(&shape, ex, err);

    *summary = (tl_run_summary){0};
    if (!s) s = put_all(&b, &shape, records, ex, summary, err);
    tl_csv_shape_clear(&shape);
    if (s) {
        free(b.text);
        return s;
    }
    *out = b.text;
    return TL_OK;
}

tl_status tl_csv_remake(tl_buffer *b, const tl_csv_shape *shape, const char *records, tl_error *err)
{
    return put_all(b, shape, records, NULL, NULL, err);
}
