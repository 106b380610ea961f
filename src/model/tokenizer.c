#include "tightlip/tokenizer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef TL_WITH_UNISTRING
#include <unistr.h>
#endif

#include "model/tokenizer.h"

#ifdef TL_WITH_UNISTRING
/* directory/name in path; whether such a file can be read. */
static bool has_file(char *path, size_t room, const char *directory, const char *name)
{
    (void)snprintf(path, room, "%s/%s", directory, name);
    return access(path, R_OK) == 0;
}

/* "do_lower_case" of tokenizer_config.json, where there is one. */
static tl_status read_case(tl_tokenizer *t, const char *path, tl_error *err)
{
    json_t *root = NULL;
    tl_status s = tl_vocabulary_parse(path, &root, err);

    if (s) return s;
    const json_t *lower = json_object_get(root, "do_lower_case");
    if (!json_is_object(root))
        s = tl_fail(err, TL_ERR_PARSE, "%s: expected an object", path);
    else if (lower && !json_is_boolean(lower))
        s = tl_fail(err, TL_ERR_PARSE, "%s: do_lower_case: expected true or false", path);
    t->cased = json_is_false(lower);
    json_decref(root);
    return s;
}

tl_status tl_tokenizer_open(tl_tokenizer **out, const char *directory, tl_error *err)
{
    const size_t room = strlen(directory) + 32;
    tl_tokenizer *t = calloc(1, sizeof *t);
    char *path = calloc(2, room), *second = path ? path + room : NULL;
    tl_status s = TL_OK;

    if (!t || !path)
        s = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", directory);
    else if (has_file(path, room, directory, "vocab.txt"))
        s = tl_wordpiece_read(t, path, err);
    else if (has_file(second, room, directory, "merges.txt") &&
             has_file(path, room, directory, "vocab.json"))
        s = tl_bpe_read(t, path, second, err);
    else
        s = tl_fail(err, TL_ERR_IO,
                    "%s: expected a directory with vocab.txt, or vocab.json and merges.txt, found "
                    "neither",
                    directory);
    if (!s && !t->merge && has_file(path, room, directory, "tokenizer_config.json"))
        s = read_case(t, path, err);
    free(path);
    if (s)
        tl_tokenizer_free(t);
    else
        *out = t;
    return s;
}

static tl_status encode(const tl_tokenizer *t, const char *text, size_t length, bool special,
                        tl_ids *out, tl_error *err)
{
    tl_status s;

    if (t->merge) return tl_bpe_encode(t, text, length, out, err);
    s = special ? tl_ids_add(out, t->begin, err) : TL_OK;
    if (!s) s = tl_wordpiece_encode(t, text, length, out, err);
    return s || !special ? s : tl_ids_add(out, t->end, err);
}

tl_status tl_tokenizer_encode(const tl_tokenizer *t, const char *text, size_t length, bool special,
                              uint32_t **ids, size_t *count, tl_error *err)
{
    static const size_t most = (size_t)1 << 30;
    tl_ids list = {0};
    const uint8_t *wrong;
    tl_status s;

    if (length >= most)
        return tl_fail(err, TL_ERR_LIMIT, "text: expected below %zu bytes, found %zu", most,
                       length);
    wrong = u8_check((const uint8_t *)text, length);
    if (wrong)
        return tl_fail(err, TL_ERR_PARSE, "text: expected UTF-8, found 0x%02x at byte %zu",
                       (unsigned)*wrong, (size_t)(wrong - (const uint8_t *)text));
    s = encode(t, text, length, special, &list, err);
    if (s) {
        free(list.id);
        return s;
    }
    *ids = list.id;
    *count = list.count;
    return TL_OK;
}

bool tl_tokenizer_available(void)
{
    return true;
}
#else
tl_status tl_tokenizer_open(tl_tokenizer **out, const char *directory, tl_error *err)
{
    (void)out;
    return tl_fail(err, TL_ERR_UNSUPPORTED,
                   "%s: this build has no tokenisers (libunistring); give ids in a file",
                   directory);
}

tl_status tl_tokenizer_encode(const tl_tokenizer *t, const char *text, size_t length, bool special,
                              uint32_t **ids, size_t *count, tl_error *err)
{
    (void)t, (void)text, (void)length, (void)special, (void)ids, (void)count;
    return tl_fail(err, TL_ERR_UNSUPPORTED, "this build has no tokenisers (libunistring)");
}

bool tl_tokenizer_available(void)
{
    return false;
}
#endif

void tl_tokenizer_free(tl_tokenizer *t)
{
    if (!t) return;
    free(t->merge);
    free(t->by_text);
    free(t->token);
    free(t->arena);
    free(t);
}

size_t tl_tokenizer_size(const tl_tokenizer *t)
{
    return t->size;
}

const char *tl_tokenizer_token(const tl_tokenizer *t, uint32_t id, size_t *length)
{
    if (id >= t->size) return NULL;
    *length = t->token[id].length;
    return t->token[id].text;
}

/* Bytes of a token in a text: WordPiece joins ## to what stands before, and puts a space before all
 * else but the first. Written where `to` is not NULL. */
static size_t put_token(const tl_tokenizer *t, uint32_t id, bool first, char *to)
{
    const tl_token *x = &t->token[id];
    const bool joined = !t->merge && x->length > 2 && memcmp(x->text, "##", 2) == 0;
    const size_t skip = joined ? 2 : 0, space = !t->merge && !joined && !first;

    if (to && space) *to = ' ';
    if (to && x->length > skip) memcpy(to + space, x->text + skip, x->length - skip);
    return space + x->length - skip;
}

tl_status tl_tokenizer_decode(const tl_tokenizer *t, const uint32_t *ids, size_t count, char **text,
                              size_t *length, tl_error *err)
{
    size_t size = 0, used = 0;

    for (size_t i = 0; i < count; i++) {
        if (ids[i] >= t->size)
            return tl_fail(err, TL_ERR_ARGUMENT, "id %zu: expected below %zu, found %" PRIu32, i,
                           t->size, ids[i]);
        size += put_token(t, ids[i], i == 0, NULL);
    }
    char *out = malloc(size + 1);
    if (!out) return tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu bytes", size);
    for (size_t i = 0; i < count; i++) used += put_token(t, ids[i], i == 0, out + used);
    out[used] = '\0';
    *text = out;
    *length = used;
    return TL_OK;
}
