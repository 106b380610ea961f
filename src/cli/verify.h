/* What `tightlip verify` looks at: witness files, and the records of results directories. */
#ifndef TIGHTLIP_CLI_VERIFY_H
#define TIGHTLIP_CLI_VERIFY_H

#include <jansson.h>

#include "tightlip/certify.h"
#include "tightlip/model.h"

/* The A that the bounds of a record are about: the one of its witness, or, where A was searched,
 * every one of that norm. */
typedef enum { CLI_A_GIVEN, CLI_A_SEARCHED, CLI_A_UNKNOWN } tl_cli_a;

typedef struct {
    char *label;         /* the file, or "DIR/cells.ndjson:CELL" */
    char *certificate;   /* where a certificate would be written */
    char *data;          /* the directory of the files that the document refers to */
    json_t *document;    /* the problem; NULL: unreadable, as `error` says */
    json_t *record;      /* that the problem is the witness of; NULL: of none */
    tl_cli_a a;          /* of the record, unknown where its manifest is missing */
    json_t *conjectures; /* of its manifest; NULL: none, or no manifest */
    tl_error error;
} tl_cli_item;

typedef struct {
    tl_cli_item *item;
    size_t count, capacity;
    size_t bare;  /* records without a witness, and JSON files that are no problem documents */
    char **table; /* directories with manifest, records and data.csv */
    size_t tables;
} tl_cli_items;

/* Adds what path holds: a file, or in a directory every *.json problem document, every witness in
 * the records of cells.ndjson, and the table made from them. A document that cannot be read becomes
 * an item of its own. Errors: TL_ERR_IO (no such path), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_cli_items_add(tl_cli_items *items, const char *path, tl_error *err);
/* Frees record and document, which holds all weights once its references are resolved. */
void tl_cli_item_release(tl_cli_item *item);
void tl_cli_items_clear(tl_cli_items *items);

/* How far numbers must agree, relative, of a number or of its logarithm where that is larger:
 * double precision leaves 1e-10 of a norm, and e^g of a bound carries the error of g. */
#define CLI_AGREEMENT 1e-9
/* The same of a logarithm to base ten. */
#define CLI_LOG_SLACK (CLI_AGREEMENT / M_LN10)

/* What a record publishes that its witness does not bear out. */
typedef struct {
    json_t *differs; /* list of {"at", "expected", "found"}, owned; NULL: out of memory */
    size_t skipped;  /* bounds not computed again: an unknown domain, A or formula */
} tl_cli_findings;

/* verify_record.c: numbers must agree to CLI_AGREEMENT, and what is called certified must not lie
 * above what is proven. Each adds to *out. */
bool tl_cli_record_agrees(const json_t *found, bool is_log, double log10_expected);
void tl_cli_findings_note(tl_cli_findings *out, const char *where, const char *key,
                          const char *expected, const json_t *found);
/* The member `key` of object, which messages call `where`. */
void tl_cli_record_check_number(const json_t *object, const char *where, const char *key,
                                bool is_log, double log10_expected, tl_cli_findings *out);
/* same_direction: the witness holds the direction that the record was certified at. */
void tl_cli_record_check_lower(const json_t *record, const tl_certificate *c, bool same_direction,
                               tl_cli_findings *out);
/* Whether it applies, and its value. */
void tl_cli_record_check_bound(const json_t *row, const char *key, const tl_bound_value *value,
                               tl_cli_findings *out);
/* The ratios of the record, as quotients of its own numbers. */
void tl_cli_record_check_ratios(const json_t *record, tl_cli_findings *out);

/* What the bounds of one record were asked about. domain NULL: of a star. */
typedef struct {
    const tl_bound_query *query;
    tl_domain *domain;
    tl_cli_a a;
} tl_cli_asked;

/* verify_conjecture.c: a row that is a conjecture, by its formula: whether it applies and is
 * comparable, its value, and whether the found value refutes it. conjectures: of the manifest, or
 * NULL. Errors: TL_ERR_MEMORY, TL_ERR_PARSE (the formula). */
TL_MUST_USE tl_status tl_cli_record_check_conjecture(const json_t *record, const json_t *row,
                                                     const json_t *conjectures,
                                                     const tl_cli_asked *asked,
                                                     tl_cli_findings *out, tl_error *err);
/* What the records of a directory say of each conjecture: verdict, worst cell, ratio; a line each,
 * or into *array its item. Errors: those of tl_cli_summary_read. */
TL_MUST_USE tl_status tl_cli_verify_conjectures(const char *directory, json_t **array,
                                                tl_error *err);

/* verify_bounds.c: the bounds and ratios of the record, in double precision. Errors: TL_ERR_MEMORY,
 * those of tl_bound_evaluate. Cost: that of the bounds. */
TL_MUST_USE tl_status tl_cli_record_check_bounds(const json_t *record, const tl_problem *problem,
                                                 tl_cli_a a, const json_t *conjectures,
                                                 tl_cli_findings *out, tl_error *err);
TL_MUST_USE tl_status tl_cli_record_check_star(const json_t *record, const tl_certified_star *star,
                                               const json_t *conjectures, tl_cli_findings *out,
                                               tl_error *err);

/* What else a record holds, as far as the witness bears it out. verify_modes.c: atoms and masses of
 * the witness, norms beside the first (but inf2, whose ascent may end elsewhere), the tokens of a
 * supremum, the steps of an inversion (errors to what rounding can have grown to); of given tokens,
 * which no record holds, that its numbers agree with each other. referred: weights or tokens are
 * named by file, and the blocks of the norm cost too much. verify_attack.c: the perturbed input. Of
 * what a search has found the value is computed again, not that there is no better one. Errors:
 * those of the norm and of attention at what the record holds, TL_ERR_MEMORY. Cost: some products.
 */
TL_MUST_USE tl_status tl_cli_record_check_modes(const json_t *record, const tl_problem *problem,
                                                bool referred, tl_cli_findings *out, tl_error *err);
TL_MUST_USE tl_status tl_cli_record_check_attack(const json_t *record, const tl_problem *problem,
                                                 tl_cli_findings *out, tl_error *err);
/* Notes a member that is not within slack of what was expected; one that is missing too. */
void tl_cli_record_check_near(const json_t *object, const char *where, const char *key,
                              double expected, double slack, tl_cli_findings *out);
/* Notes one above `most`; none is not above it. */
void tl_cli_record_check_most(const json_t *object, const char *where, const char *key, double most,
                              tl_cli_findings *out);
/* A list of rows of d numbers, owned by the caller; NULL where it is none, or memory ran out. */
double *tl_cli_record_rows(const json_t *list, size_t d, size_t *rows);

/* verify_certify.c: certificate of an item and what its record says otherwise (in findings, whose
 * list is the caller's). Errors: those of reading and certifying it; then *c is empty. */
TL_MUST_USE tl_status tl_cli_verify_item(const tl_cli_item *item,
                                         const tl_certify_settings *settings,
                                         tl_model_networks *networks, tl_certificate *c,
                                         tl_cli_findings *findings, tl_error *why);

/* verify_table.c: the lines of the tables, or into *array their items; *differing: how many are not
 * what the records give. Errors: those of tl_experiment_check_tables. */
TL_MUST_USE tl_status tl_cli_verify_tables(const char *directory, json_t **array, size_t *differing,
                                           tl_error *err);

/* verify_print.c: the line of an item. */
void tl_cli_verify_print(const char *label, const tl_certificate *c);
void tl_cli_verify_print_differs(const char *label, const json_t *record, const json_t *differs);
/* The certificate of a refutation beside its file, whole or not at all. */
TL_MUST_USE tl_status tl_cli_verify_write(const tl_cli_item *item, const tl_certificate *c,
                                          tl_error *err);

#endif
