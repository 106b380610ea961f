/* Problem and witness files: JSON, schema "tightlip/problem/1". */
#ifndef TIGHTLIP_PROBLEM_H
#define TIGHTLIP_PROBLEM_H

#include <jansson.h>

#include "tightlip/domain.h"
#include "tightlip/norm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a direction moves copies of one atom; the word of the files ("joint", "split") under the key
 * "direction_kind". */
typedef enum {
    TL_DIRECTION_OPEN,  /* the file does not say: either reading gives a lower bound */
    TL_DIRECTION_JOINT, /* together: a movement of the joint block */
    TL_DIRECTION_SPLIT  /* apart: row k along +w and -w, every other row zero */
} tl_direction_kind;

typedef struct {
    char *name;          /* owned, or NULL */
    tl_layer *layer;     /* owned */
    tl_measure *measure; /* owned */
    tl_domain *domain;   /* owned, or NULL */
    bool has_norm;       /* the file names a norm: a witness has these too */
    tl_norm norm;
    double *direction; /* m x d, owned, or NULL */
    tl_direction_kind direction_kind;
    double *log_mass; /* m, owned: log masses as the file gives them, before the measure normalises
                         them in double precision; NULL: the measure's */
    bool has_value;   /* claimed value; log10 may stand in its place past the double range */
    double value;
    double log10_value;
} tl_problem;

/* Reads and checks a whole document before anything is computed. Refused, each with path, JSON
 * path, expected and found: malformed JSON (with line), duplicate keys, unknown keys (key "expect",
 * "why" and "name" are allowed at the top), NaN, ragged or empty matrices, shapes of Q, K, V,
 * biases, tokens, direction and output that do not fit, multiplicities that are not positive 64-bit
 * integers, both multiplicity and log_mass, masses that do not sum to one, radius <= 0, a token
 * outside the domain, value and log10 that contradict each other, documents above 2^31 bytes.
 * Members of the attention besides kind, heads and output: "mask" none, causal, self-masked (all
 * but itself), or one row of 0 and 1 per listed token (a row without a 1 is refused); "bias" with
 * kind sigmoid (0); "value_factor" with kind l2 (true); "nu", "tau" (1, at least 0) and "eps"
 * (required, positive) with kind cosine. Heads of kind l2 are {Q, V} or, untied, {Q, K, V}; heads
 * of kind cosine have no scale. Weights and tokens named by file: tl_model_resolve of
 * tightlip/model.h comes first. Cost: linear in the file. Source: DESIGN section 3, repeated in
 * README. */
TL_MUST_USE tl_status tl_problem_read(const char *path, tl_problem *out, tl_error *err);
/* The same from a parsed document; `where` names it in messages. */
TL_MUST_USE tl_status tl_problem_from_json(const json_t *root, const char *where, tl_problem *out,
                                           tl_error *err);
/* The same, but tokens may lie outside the domain: for those who check that themselves. */
TL_MUST_USE tl_status tl_problem_from_json_anywhere(const json_t *root, const char *where,
                                                    tl_problem *out, tl_error *err);
/* The document in a file, whatever it describes; *root is owned by the caller (json_decref), NULL
 * where it fails. Refused as by tl_problem_read: malformed JSON, duplicate keys, more than 2^31
 * bytes. */
TL_MUST_USE tl_status tl_problem_load_json(const char *path, json_t **root, tl_error *err);
/* A new document; reading it back gives every bit of the problem when numbers are dumped to 17
 * digits. Multiplicities that are all 1 are left out; a value past the double range is given by
 * log10 alone. NULL when out of memory, or when the problem holds what JSON cannot: a number that
 * is not finite, a multiplicity above 2^63 - 1. */
json_t *tl_problem_to_json(const tl_problem *problem);
/* The member "attention" of such a document. */
json_t *tl_layer_to_json(const tl_layer *layer);
/* The text of a document as files hold it: one line per key, numbers to 17 digits, a newline at the
 * end. Owned by the caller (free); NULL as above. */
char *tl_problem_dump(const tl_problem *problem);
/* Writes that text by tl_file_write. Errors: TL_ERR_IO, TL_ERR_DOMAIN (a text cannot be made). */
TL_MUST_USE tl_status tl_problem_write(const tl_problem *problem, const char *path, tl_error *err);
void tl_problem_clear(tl_problem *problem);

#ifdef __cplusplus
}
#endif

#endif
