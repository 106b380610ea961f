/* Text into the token ids that BERT and GPT-2 were trained on, and back. */
#ifndef TIGHTLIP_TOKENIZER_H
#define TIGHTLIP_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlip/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tl_tokenizer tl_tokenizer;

/* Reads the vocabulary in a directory, as model hubs lay them out:
 *   vocab.json and merges.txt  byte-level BPE (GPT-2)
 *   vocab.txt                  WordPiece (BERT); lower case and accents stripped unless
 *                              tokenizer_config.json there says "do_lower_case": false
 * The second where both are there. Refused with file, line or token, expected and found: files
 * above 64 MB, text that is not UTF-8, tokens twice, ids other than 0 to size - 1 each once, a byte
 * without a token, merges of or into what is no token, merges twice, a vocab.txt without [UNK],
 * [CLS] or [SEP]. Errors: TL_ERR_IO, TL_ERR_PARSE, TL_ERR_LIMIT, TL_ERR_MEMORY,
 * TL_ERR_UNSUPPORTED (a build without libunistring).
 * Source: openai/gpt-2 encoder.py; google-research/bert tokenization.py. */
TL_MUST_USE tl_status tl_tokenizer_open(tl_tokenizer **out, const char *directory, tl_error *err);
void tl_tokenizer_free(tl_tokenizer *t);

/* Number of tokens; the bytes of token id (BPE: those it stands for), of *length. NULL: none. */
size_t tl_tokenizer_size(const tl_tokenizer *t);
const char *tl_tokenizer_token(const tl_tokenizer *t, uint32_t id, size_t *length);

/* Ids of a text of `length` bytes of UTF-8; *ids is owned by the caller (free), NULL where there
 * are none. special: WordPiece puts [CLS] before and [SEP] behind; BPE adds nothing. Names of
 * special tokens inside the text are text like any other. BPE: the text is cut into words by the
 * pattern of GPT-2, 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+, and
 * in each word the pair of neighbours that comes first in merges.txt is joined, everywhere, until
 * no pair is there. Every byte has a token: tl_tokenizer_decode gives the text back. WordPiece:
 * control characters are dropped (general category C), white space becomes a space, CJK ideographs
 * and punctuation are words of their own; then, unless cased, full lower case, NFD, and nonspacing
 * marks dropped; each word is cut from the left into the longest tokens, with ## before all but the
 * first. A word of more than 100 characters, or one that cannot be cut, is [UNK]. Unicode 14.
 * Errors: TL_ERR_PARSE (not UTF-8, with the byte), TL_ERR_LIMIT (2^30 bytes or more),
 * TL_ERR_MEMORY. Cost: BPE O(w log w) for a word of w bytes. */
TL_MUST_USE tl_status tl_tokenizer_encode(const tl_tokenizer *t, const char *text, size_t length,
                                          bool special, uint32_t **ids, size_t *count,
                                          tl_error *err);

/* The text of ids, *length bytes and a 0 behind them, owned by the caller (free). WordPiece: a
 * space between words, which is not the text they were made from. Errors: TL_ERR_ARGUMENT (an id
 * past the vocabulary), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_tokenizer_decode(const tl_tokenizer *t, const uint32_t *ids, size_t count,
                                          char **text, size_t *length, tl_error *err);

/* Whether this build has tokenisers. */
bool tl_tokenizer_available(void);

#ifdef __cplusplus
}
#endif

#endif
