/* Lists of tokens and of ids. */
#include <stdlib.h>
#include <string.h>

#include "model/bytes.h"
#include "model/json.h"
#include "model/tokenizer.h"

tl_status tl_ids_add(tl_ids *ids, uint32_t id, tl_error *err)
{
    if (ids->count == ids->room) {
        const size_t room = 2 * ids->room + 64;
        uint32_t *more = realloc(ids->id, room * sizeof *more);
        if (!more) return tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu ids", room);
        ids->id = more;
        ids->room = room;
    }
    ids->id[ids->count++] = id;
    return TL_OK;
}

tl_status tl_vocabulary_load(const char *path, char **text, size_t *size, tl_error *err)
{
    size_t room = 0;
    tl_bytes in;
    tl_status s = tl_bytes_open(&in, path, err);

    *text = NULL;
    *size = 0;
    for (bool more = true; !s && more;) {
        size_t found = 0;
        room = 2 * room + 65536;
        if (room > TL_VOCABULARY_FILE_MAX) room = TL_VOCABULARY_FILE_MAX + 1;
        char *larger = realloc(*text, room + 1);
        if (!larger) {
            s = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
            break;
        }
        *text = larger;
        s = tl_bytes_some(&in, *text + *size, room - *size, &found, err);
        *size += found;
        more = *size == room;
        if (!s && *size > TL_VOCABULARY_FILE_MAX)
            s = tl_fail(err, TL_ERR_LIMIT, "%s: expected at most %d bytes, found more", path,
                        TL_VOCABULARY_FILE_MAX);
    }
    tl_bytes_close(&in);
    if (!s) {
        (*text)[*size] = '\0';
        return s;
    }
    free(*text);
    *text = NULL;
    return s;
}

tl_status tl_vocabulary_parse(const char *path, json_t **root, tl_error *err)
{
    char *text = NULL;
    size_t size;
    tl_status s = tl_vocabulary_load(path, &text, &size, err);

    *root = NULL;
    if (!s) s = tl_json_parse(text, size, path, root, err);
    free(text);
    return s;
}

static int compare_text(const char *a, size_t a_length, const char *b, size_t b_length)
{
    const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);

    return order ? order : (a_length > b_length) - (a_length < b_length);
}

/* What qsort moves: the id with its text, for there is no room for a context. */
typedef struct {
    tl_token token;
    uint32_t id;
} entry;

static int by_text(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    return compare_text(x->token.text, x->token.length, y->token.text, y->token.length);
}

tl_status tl_vocabulary_sort(tl_tokenizer *t, const char *path, tl_error *err)
{
    entry *sorted = calloc(t->size + 1, sizeof *sorted);
    tl_status s = TL_OK;

    t->by_text = calloc(t->size + 1, sizeof *t->by_text);
    if (!sorted || !t->by_text) s = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    for (size_t i = 0; i < t->size && !s; i++) sorted[i] = (entry){t->token[i], (uint32_t)i};
    if (!s) qsort(sorted, t->size, sizeof *sorted, by_text);
    for (size_t i = 0; i < t->size && !s; i++) {
        t->by_text[i] = sorted[i].id;
        if (i > 0 && by_text(&sorted[i - 1], &sorted[i]) == 0)
            s = tl_fail(err, TL_ERR_PARSE, "%s: token '%.*s' occurs twice, as %u and %u", path,
                        sorted[i].token.length < 80 ? (int)sorted[i].token.length : 80,
                        sorted[i].token.text, (unsigned)sorted[i - 1].id, (unsigned)sorted[i].id);
    }
    free(sorted);
    return s;
}

bool tl_vocabulary_find(const tl_tokenizer *t, const char *text, size_t length, uint32_t *id)
{
    size_t low = 0, high = t->size;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const tl_token *x = &t->token[t->by_text[middle]];
        const int order = compare_text(text, length, x->text, x->length);
        if (order == 0) {
            *id = t->by_text[middle];
            return true;
        }
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}
