/* What a cell does beside search and evaluation: enclose its supremum, invert its layer, attack its
 * input, build it by a formula, certify an image of a network. */
#ifndef EXPERIMENT_MODES_H
#define EXPERIMENT_MODES_H

#include "experiment/csv_shape.h"

/* ---- suprema (the group `exact`) ---- */
TL_MUST_USE tl_status tl_exact_read(tl_experiment *ex, const config_setting_t *at, tl_error *err);
/* Refuses what tl_exact_run cannot enclose. */
TL_MUST_USE tl_status tl_exact_check(const tl_bindings *b, const tl_cell *cell, tl_error *err);

typedef struct {
    tl_exact_result result;
    tl_measure *measure;   /* owned: the maximiser, every token single */
    bool searched, missed; /* the search stayed below by more than the tolerance */
    double found;          /* by the search */
} tl_supremum;

/* From the best input of the search, or NULL. */
TL_MUST_USE tl_status tl_supremum_find(const tl_experiment *ex, const tl_cell *cell,
                                       const tl_search_result *best, tl_supremum *out,
                                       tl_error *err);
json_t *tl_supremum_json(const tl_supremum *supremum);
void tl_supremum_clear(tl_supremum *supremum);

/* ---- inversion (the group `invert`) ---- */
TL_MUST_USE tl_status tl_invert_read(tl_experiment *ex, const config_setting_t *at, tl_error *err);
/* c and the bound of the cell; refuses what cannot be inverted. */
TL_MUST_USE tl_status tl_invert_check(const tl_bindings *b, tl_cell *cell, tl_error *err);
/* record.invert: the errors after 0, 1, .. iterations; nothing where none are wanted. */
TL_MUST_USE tl_status tl_invert_add(json_t *record, const tl_experiment *ex, const tl_cell *cell,
                                    double log_norm, tl_error *err);

/* ---- perturbations of finite size (the group `attack`) ---- */
enum { TL_ATTACK_COLUMNS = 9 };
/* How many of them a resolved configuration has. */
size_t tl_attack_columns_of(const json_t *config);
extern const char *const tl_attack_columns[TL_ATTACK_COLUMNS];
TL_MUST_USE tl_status tl_attack_read(tl_experiment *ex, const config_setting_t *at, tl_error *err);
TL_MUST_USE tl_status tl_attack_check(const tl_bindings *b, tl_cell *cell, tl_error *err);
/* record.attack: ratio and perturbed input, for measures the slopes too; bounds below the ratio are
 * marked. Nothing where none is wanted. */
TL_MUST_USE tl_status tl_attack_add(json_t *record, const tl_experiment *ex, const tl_cell *cell,
                                    const tl_measure *mu, tl_error *err);
/* The measure at which splitting pays most, owned by the caller; NULL where it is not asked for. */
TL_MUST_USE tl_status tl_attack_worst(const tl_experiment *ex, const tl_cell *cell,
                                      tl_measure **out, tl_error *err);

/* ---- stars of L2 attention (`star` of an attention group) ---- */
bool tl_star_wanted(const tl_bindings *b);
/* Refuses what does not go with them; the domain of the cell. */
TL_MUST_USE tl_status tl_star_check(const tl_bindings *b, tl_cell *cell, tl_error *err);
/* The record of such a cell, as tl_record_make. */
TL_MUST_USE tl_status tl_star_record(const tl_experiment *ex, const tl_cell *cell, char **out,
                                     double *certify_seconds, tl_error *err);

/* ---- images of a network (the group `network`) ---- */
TL_MUST_USE tl_status tl_network_read(tl_experiment *ex, const config_setting_t *at, tl_error *err);
TL_MUST_USE tl_status tl_network_build(const tl_bindings *b, tl_cell *cell, tl_error *err);
void tl_network_free(struct tl_network_cell *network);
/* As tl_record_make. */
TL_MUST_USE tl_status tl_network_record(const tl_experiment *ex, const tl_cell *cell, char **out,
                                        tl_error *err);
/* The columns after the variables; a row for each epsilon. */
extern const char *const tl_network_columns;
void tl_network_row(tl_buffer *b, const tl_csv_shape *shape, const json_t *record, size_t e);

#endif
