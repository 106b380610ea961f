/* JSON values with a place to blame. Internal to the problem reader and writer. */
#ifndef TIGHTLIP_ATTENTION_PROBLEM_PARSE_H
#define TIGHTLIP_ATTENTION_PROBLEM_PARSE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "tightlip/domain.h"

#define TL_PROBLEM_SCHEMA "tightlip/problem/1"

/* Every message reads "<document>: <place>: expected <x>, found <y>". */
typedef struct {
    const char *document;
    tl_error *err;
} tl_parse;

enum { TL_PLACE_SIZE = 256 };

/* A place by format, cut when too long. */
void tl_parse_place(char place[TL_PLACE_SIZE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Fails with TL_ERR_PARSE at place. */
tl_status tl_parse_fail(const tl_parse *p, const char *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What `value` is, for messages: "a string", "an array", "nothing" for NULL. */
const char *tl_parse_type(const json_t *value);

/* value must be an object whose keys are all among names; anything else is refused with the nearest
 * known key. */
TL_MUST_USE tl_status tl_parse_object(const tl_parse *p, const json_t *value, const char *place,
                                      const char *const *names, size_t count);
/* An integer or real number. */
TL_MUST_USE tl_status tl_parse_number(const tl_parse *p, const json_t *value, const char *place,
                                      double *out);
/* The text borrows from value. */
TL_MUST_USE tl_status tl_parse_string(const tl_parse *p, const json_t *value, const char *place,
                                      const char **out);
/* An array of *count numbers, or of any positive number of them, stored in *count, when it is 0.
 * *out is owned by the caller. */
TL_MUST_USE tl_status tl_parse_vector(const tl_parse *p, const json_t *value, const char *place,
                                      size_t *count, double **out);
/* An array of *rows arrays of *cols numbers; 0 as for vectors. */
TL_MUST_USE tl_status tl_parse_matrix(const tl_parse *p, const json_t *value, const char *place,
                                      size_t *rows, size_t *cols, double **out);
/* An array of m positive integers; *out is owned by the caller. */
TL_MUST_USE tl_status tl_parse_counts(const tl_parse *p, const json_t *value, const char *place,
                                      size_t m, uint64_t **out);
/* The member "domain" of a problem with that layer and those tokens. */
TL_MUST_USE tl_status tl_parse_domain(const tl_parse *p, const json_t *value, const tl_layer *layer,
                                      const tl_measure *mu, tl_domain **out);
/* The member "mask" of an attention where it is a word (or missing); *mask none where it is rows.
 */
TL_MUST_USE tl_status tl_parse_mask_word(const tl_parse *p, const json_t *value, tl_mask *mask);
/* The same where it is rows of 0 and 1 over n tokens: into the layer. Nothing for a word. */
TL_MUST_USE tl_status tl_parse_mask_rows(const tl_parse *p, const json_t *value, size_t n,
                                         tl_layer *layer);
/* The member "attention" as a layer over that many tokens of width d. */
TL_MUST_USE tl_status tl_parse_layer(const tl_parse *p, const json_t *value, size_t tokens,
                                     size_t d, tl_layer **out);

/* For the writer: NULL (or false) when out of memory, or when a number is not finite. */
json_t *tl_vector_to_json(const double *x, size_t count);
json_t *tl_domain_to_json(const tl_domain *domain);
/* Sets "tokens" and, where it is needed, "multiplicity" or "log_mass". */
bool tl_put_measure(json_t *object, const tl_measure *mu);

#endif
