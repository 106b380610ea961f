/* JSON of strangers. */
#ifndef TIGHTLIP_MODEL_JSON_H
#define TIGHTLIP_MODEL_JSON_H

#include <stddef.h>

#include <jansson.h>

#include "tightlip/status.h"

/* Parses text of `length` bytes; *root is owned by the caller (json_decref). where names it in
 * messages. Refused: malformed text (with line and column), a key twice in one object, more than
 * 2048 levels, and more than ten million parts, which would need many times the bytes they are
 * written in. Errors: TL_ERR_PARSE, TL_ERR_LIMIT. */
TL_MUST_USE tl_status tl_json_parse(const char *text, size_t length, const char *where,
                                    json_t **root, tl_error *err);

#endif
