/* A CSV file with a header row, as text cells. */
#ifndef EXPERIMENT_TABLE_H
#define EXPERIMENT_TABLE_H

#include <stddef.h>

#include "tightlip/status.h"

typedef struct {
    char *text; /* owned; the cells point into it */
    size_t cols, rows;
    char **name; /* owned list of cols */
    char **cell; /* owned list of rows x cols */
} tl_table;

/* Takes over text (also on failure). path is the name in messages. Errors: TL_ERR_PARSE (a row of
 * another length than the header, an open quote), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_table_parse(tl_table *out, const char *path, char *text, tl_error *err);
void tl_table_clear(tl_table *table);
/* Column of that name; SIZE_MAX when there is none. */
size_t tl_table_column(const tl_table *table, const char *name);
const char *tl_table_at(const tl_table *table, size_t row, size_t col);
/* NAN for an empty or unreadable cell, INFINITY for inf. */
double tl_table_number(const tl_table *table, size_t row, size_t col);

#endif
