/* Ids for the tokens of a text: by the vocabulary of the model or, where none is at hand, numbers.
 */
#ifndef TIGHTLIP_WORDS_H
#define TIGHTLIP_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "tightlip/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* At initialisation the rows of a word table are independent with one law, so that only which
 * tokens are equal counts, not what they are called: any one-to-one numbering gives the same law.
 *   words  runs of letters, digits, apostrophes and bytes above 127, and every other character that
 *          is no blank by itself, numbered 1, 2, .. as they first occur
 *   bytes  the byte + 1
 *   ids    the text is a list of numbers, separated by white space or commas: as they are */
#define TL_NUMBERING_LIST(X)       \
    X(TL_NUMBERING_WORDS, "words") \
    X(TL_NUMBERING_BYTES, "bytes") \
    X(TL_NUMBERING_IDS, "ids")

typedef enum {
#define X(id, name) id,
    TL_NUMBERING_LIST(X)
#undef X
} tl_numbering;

TL_MUST_USE tl_status tl_numbering_from_name(const char *name, tl_numbering *numbering);
/* *id (count) is owned by the caller. Errors: TL_ERR_SHAPE (no token), TL_ERR_PARSE (ids: what is
 * no number below 2^32, with its place), TL_ERR_MEMORY. Cost: O(size count) for words. */
TL_MUST_USE tl_status tl_words_number(tl_numbering numbering, const char *text, size_t size,
                                      uint32_t **id, size_t *count, tl_error *err);
/* The same for the text in a file, or for one of its lines alone: line counts from 0 those that are
 * not blank; -1: the whole file. vocabulary: a directory as tl_tokenizer_open reads it, whose ids
 * are taken, special tokens too, unless the file is a list of ids; NULL: none. Errors: TL_ERR_SHAPE
 * (fewer lines), those of tl_words_number, tl_file_read, tl_tokenizer_open and tl_tokenizer_encode.
 */
TL_MUST_USE tl_status tl_words_read(const char *path, const char *vocabulary,
                                    tl_numbering numbering, long line, uint32_t **id, size_t *count,
                                    tl_error *err);

#ifdef __cplusplus
}
#endif

#endif
