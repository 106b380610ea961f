/* Inside of tokenisers: the vocabulary, and what each kind makes of a text. */
#ifndef TIGHTLIP_MODEL_TOKENIZER_H
#define TIGHTLIP_MODEL_TOKENIZER_H

#include <jansson.h>

#include "tightlip/tokenizer.h"

enum { TL_VOCABULARY_FILE_MAX = 64 << 20 };

typedef struct {
    const char *text; /* into tl_tokenizer.arena, length bytes */
    size_t length;
} tl_token;

typedef struct {
    uint32_t left, right, rank, whole;
} tl_merge;

struct tl_tokenizer {
    char *arena; /* owned: the bytes of every token */
    size_t size;
    tl_token *token;   /* by id, owned */
    uint32_t *by_text; /* ids in the order of their bytes, owned */
    /* BPE */
    size_t merges;
    tl_merge *merge; /* by left, then right, owned; NULL: WordPiece */
    uint32_t byte[256];
    /* WordPiece */
    bool cased;
    uint32_t unknown, begin, end;
};

/* A growing list of ids. */
typedef struct {
    uint32_t *id;
    size_t count, room;
} tl_ids;

TL_MUST_USE tl_status tl_ids_add(tl_ids *ids, uint32_t id, tl_error *err);

/* The whole file with a 0 behind it, owned by the caller. Errors: TL_ERR_IO, TL_ERR_LIMIT. */
TL_MUST_USE tl_status tl_vocabulary_load(const char *path, char **text, size_t *size,
                                         tl_error *err);
/* The same as JSON; *root is owned by the caller. Errors: those of tl_json_parse too. */
TL_MUST_USE tl_status tl_vocabulary_parse(const char *path, json_t **root, tl_error *err);
/* Sorts t->by_text. Errors: TL_ERR_PARSE (a token twice), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_vocabulary_sort(tl_tokenizer *t, const char *path, tl_error *err);
bool tl_vocabulary_find(const tl_tokenizer *t, const char *text, size_t length, uint32_t *id);

TL_MUST_USE tl_status tl_bpe_read(tl_tokenizer *t, const char *vocabulary, const char *merges,
                                  tl_error *err);
TL_MUST_USE tl_status tl_bpe_encode(const tl_tokenizer *t, const char *text, size_t length,
                                    tl_ids *out, tl_error *err);
TL_MUST_USE tl_status tl_wordpiece_read(tl_tokenizer *t, const char *vocabulary, tl_error *err);
TL_MUST_USE tl_status tl_wordpiece_encode(const tl_tokenizer *t, const char *text, size_t length,
                                          tl_ids *out, tl_error *err);

#endif
