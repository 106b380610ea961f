/* Tables against those that were expected, cell by cell. */
#ifndef EXPERIMENT_TABLE_COMPARE_H
#define EXPERIMENT_TABLE_COMPARE_H

#include "experiment/table.h"
#include "tightlip/experiment.h"

/* Whether cell i of a line that was found may stand for the one that was expected, which has
 * another text. Lines are in the names of their tables; header: the first line of what is expected.
 */
typedef bool (*tl_cells_agree)(const tl_table *header, const tl_table *expected,
                               const tl_table *found, size_t i);

/* *out: how the text `found` compares. name: of the file, in messages. Errors: TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_tables_compare(tl_table_check *out, const char *name, const char *expected,
                                        const char *found, tl_cells_agree agree, tl_error *err);

#endif
