/* vocab.json and merges.txt. Both spell bytes as printable characters: tokens are kept as bytes. */
#include <stdlib.h>
#include <string.h>
#ifdef TL_WITH_UNISTRING
#include <unistr.h>
#endif

#include <jansson.h>

#include "model/tokenizer.h"

#ifdef TL_WITH_UNISTRING
/* The alphabet of GPT-2's encoder.py: printable Latin-1 bytes stand for themselves, the others, in
 * order, for the characters from 256 on. */
static bool is_itself(unsigned byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

static void fill_alphabet(uint32_t alphabet[256])
{
    uint32_t next = 256;

    for (unsigned byte = 0; byte < 256; byte++) alphabet[byte] = is_itself(byte) ? byte : next++;
}

/* The bytes that a spelling of `length` bytes of UTF-8 stands for, no more than it has; false: a
 * character outside the alphabet. */
static bool spell_back(const uint32_t alphabet[256], const char *text, size_t length, char *out,
                       size_t *size)
{
    *size = 0;
    for (size_t at = 0; at < length;) {
        ucs4_t c;
        unsigned byte = 0;
        at += (size_t)u8_mbtouc(&c, (const uint8_t *)text + at, length - at);
        while (byte < 256 && alphabet[byte] != c) byte++;
        if (byte == 256) return false;
        out[(*size)++] = (char)(unsigned char)byte;
    }
    return true;
}

/* Every id from 0 once, and the bytes of its token. */
static tl_status place_tokens(tl_tokenizer *t, const json_t *root, const char *path, tl_error *err)
{
    uint32_t alphabet[256];
    const char *key;
    json_t *value;
    size_t used = 0;

    fill_alphabet(alphabet);
    json_object_foreach((json_t *)root, key, value)
    {
        const json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        const size_t length = strlen(key);
        tl_token *token;
        if (id < 0 || (uint64_t)id >= t->size || t->token[id].text)
            return tl_fail(err, TL_ERR_PARSE,
                           "%s: token '%s': expected an id of its own below %zu, the number of "
                           "tokens",
                           path, key, t->size);
        token = &t->token[id];
        token->text = t->arena + used;
        if (!spell_back(alphabet, key, length, t->arena + used, &token->length) ||
            token->length == 0)
            return tl_fail(err, TL_ERR_PARSE,
                           "%s: token '%s': expected the characters that stand for bytes", path,
                           key);
        used += token->length;
    }
    return TL_OK;
}

static tl_status fill_tokens(tl_tokenizer *t, const json_t *root, const char *path, tl_error *err)
{
    const char *key;
    json_t *value;
    size_t bytes = 0;
    tl_status s;

    t->size = json_object_size(root);
    if (t->size == 0)
        return tl_fail(err, TL_ERR_PARSE, "%s: expected an object of tokens and ids", path);
    json_object_foreach((json_t *)root, key, value) bytes += strlen(key);
    t->token = calloc(t->size, sizeof *t->token);
    t->arena = malloc(bytes + 1);
    if (!t->token || !t->arena) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    s = place_tokens(t, root, path, err);
    if (!s) s = tl_vocabulary_sort(t, path, err);
    for (unsigned byte = 0; byte < 256 && !s; byte++) {
        const char text = (char)(unsigned char)byte;
        if (!tl_vocabulary_find(t, &text, 1, &t->byte[byte]))
            s = tl_fail(err, TL_ERR_PARSE,
                        "%s: expected a token for every byte, found none for 0x%02x", path, byte);
    }
    return s;
}

static tl_status read_vocabulary(tl_tokenizer *t, const char *path, tl_error *err)
{
    json_t *root = NULL;
    tl_status s = tl_vocabulary_parse(path, &root, err);

    if (!s) s = fill_tokens(t, root, path, err);
    json_decref(root);
    return s;
}

/* Two spellings and the token they make; buffer holds at least as many bytes as the line. */
static tl_status read_merge(tl_tokenizer *t, const uint32_t alphabet[256], const char *line,
                            size_t length, char *buffer, tl_merge *out, tl_error *err)
{
    const char *space = memchr(line, ' ', length);
    const size_t left = space ? (size_t)(space - line) : 0;
    size_t a = 0, b = 0;

    if (!space || left == 0 || left + 1 == length || memchr(space + 1, ' ', length - left - 1) ||
        u8_check((const uint8_t *)line, length) || !spell_back(alphabet, line, left, buffer, &a) ||
        !spell_back(alphabet, space + 1, length - left - 1, buffer + a, &b))
        return tl_fail(err, TL_ERR_PARSE,
                       "expected two tokens with a space between, found \"%.*s\"",
                       length < 60 ? (int)length : 60, line);
    if (!tl_vocabulary_find(t, buffer, a, &out->left) ||
        !tl_vocabulary_find(t, buffer + a, b, &out->right) ||
        !tl_vocabulary_find(t, buffer, a + b, &out->whole))
        return tl_fail(err, TL_ERR_PARSE, "expected tokens that join to a token, found \"%.*s\"",
                       length < 60 ? (int)length : 60, line);
    return TL_OK;
}

static int by_pair(const void *a, const void *b)
{
    const tl_merge *x = a, *y = b;

    if (x->left != y->left) return x->left < y->left ? -1 : 1;
    return (x->right > y->right) - (x->right < y->right);
}

static tl_status read_lines(tl_tokenizer *t, const char *text, size_t size, char *buffer,
                            const char *path, tl_error *err)
{
    uint32_t alphabet[256];
    size_t line = 0, length;
    tl_status s = TL_OK;

    fill_alphabet(alphabet);
    for (const char *at = text; at < text + size && !s; at += length + 1) {
        const char *end = memchr(at, '\n', (size_t)(text + size - at));
        length = end ? (size_t)(end - at) : (size_t)(text + size - at);
        const size_t shown = length > 0 && at[length - 1] == '\r' ? length - 1 : length;
        line++;
        if (shown == 0 || (line == 1 && strncmp(at, "#version", 8) == 0)) continue;
        tl_merge *m = &t->merge[t->merges];
        m->rank = (uint32_t)t->merges++;
        s = read_merge(t, alphabet, at, shown, buffer, m, err);
        if (s) tl_error_prefix(err, "%s:%zu", path, line);
    }
    if (s) return s;
    qsort(t->merge, t->merges, sizeof *t->merge, by_pair);
    for (size_t i = 1; i < t->merges; i++)
        if (by_pair(&t->merge[i - 1], &t->merge[i]) == 0)
            return tl_fail(err, TL_ERR_PARSE, "%s: merges %u and %u join the same two tokens", path,
                           (unsigned)t->merge[i - 1].rank, (unsigned)t->merge[i].rank);
    return TL_OK;
}

static tl_status read_merges(tl_tokenizer *t, const char *path, tl_error *err)
{
    char *text = NULL, *buffer = NULL;
    size_t size, lines = 1;
    tl_status s = tl_vocabulary_load(path, &text, &size, err);

    if (s) return s;
    for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
    t->merge = calloc(lines + 1, sizeof *t->merge);
    buffer = malloc(size + 1);
    s = t->merge && buffer ? read_lines(t, text, size, buffer, path, err)
                           : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    free(buffer);
    free(text);
    return s;
}

tl_status tl_bpe_read(tl_tokenizer *t, const char *vocabulary, const char *merges, tl_error *err)
{
    const tl_status s = read_vocabulary(t, vocabulary, err);

    return s ? s : read_merges(t, merges, err);
}
#endif
