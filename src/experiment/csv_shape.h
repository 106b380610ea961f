/* The columns of data.csv, as a resolved configuration decides them: of a run, and of results whose
 * table is looked at again. */
#ifndef EXPERIMENT_CSV_SHAPE_H
#define EXPERIMENT_CSV_SHAPE_H

#include "experiment/buffer.h"
#include "experiment/internal.h"

typedef struct {
    size_t variables;
    const char **variable; /* owned list of borrowed names */
    bool given, exact, invert, tokens, network, attacked;
    size_t rows;                             /* of a cell: of its iterations or epsilons, or one */
    size_t attack;                           /* columns of attacks */
    const json_t *compared, *bounds;         /* borrowed: lists of texts, one text, or NULL */
    double epsilon[TL_NETWORK_EPSILONS_MAX]; /* of a network */
} tl_csv_shape;

/* Everything is borrowed from ex or manifest. path: of the manifest, in messages. Errors:
 * TL_ERR_PARSE (a configuration that no run writes), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_csv_shape_of(tl_csv_shape *out, const tl_experiment *ex, tl_error *err);
TL_MUST_USE tl_status tl_csv_shape_read(tl_csv_shape *out, const json_t *manifest, const char *path,
                                        tl_error *err);
void tl_csv_shape_clear(tl_csv_shape *shape);
size_t tl_csv_words(const json_t *list);
/* Text i of them; "" where it is none. */
const char *tl_csv_word(const json_t *list, size_t i);

void tl_csv_header(tl_buffer *b, const tl_csv_shape *shape);
/* The rows of a cell. */
void tl_csv_rows(tl_buffer *b, const tl_csv_shape *shape, const json_t *record);
/* The whole table of the text of cells.ndjson. Errors: TL_ERR_PARSE with line, TL_ERR_MEMORY; what
 * b holds by then is the caller's. */
TL_MUST_USE tl_status tl_csv_remake(tl_buffer *b, const tl_csv_shape *shape, const char *records,
                                    tl_error *err);
/* Whether numbers of that column are computed from those of the record: by another mathematical
 * library they may come out another way in the last digit. */
bool tl_csv_is_computed(const char *column);

#endif
