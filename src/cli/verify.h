/* What `tightlip verify` looks at: witness files, and the records of results directories. */
#ifndef TIGHTLIP_CLI_VERIFY_H
#define TIGHTLIP_CLI_VERIFY_H

#include <jansson.h>

#include "tightlip/model.h"

typedef struct {
    char *label;       /* the file, or "DIR/cells.ndjson:CELL" */
    char *certificate; /* where a certificate would be written */
    char *data;        /* the directory of the files that the document refers to */
    json_t *document;  /* the problem; NULL: unreadable, as `error` says */
    tl_error error;
} tl_cli_item;

typedef struct {
    tl_cli_item *item;
    size_t count, capacity;
    size_t bare; /* records without a witness, and JSON files that are no problem documents */
} tl_cli_items;

/* Adds what path holds: a file, or in a directory every *.json problem document and every witness
 * in the records of cells.ndjson. A document that cannot be read becomes an item of its own.
 * Errors: TL_ERR_IO (no such path), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_cli_items_add(tl_cli_items *items, const char *path, tl_error *err);
/* The problem of an item that was read, weights, tokens and direction found where it leaves them
 * out. *referred: it names weights or tokens. Errors: those of tl_model_resolve and of the problem.
 */
TL_MUST_USE tl_status tl_cli_item_read(const tl_cli_item *item, tl_model_networks *networks,
                                       tl_problem *problem, bool *referred, tl_error *why);
/* Frees the document, which holds all weights once its references are resolved. */
void tl_cli_item_release(tl_cli_item *item);
void tl_cli_items_clear(tl_cli_items *items);

#endif
