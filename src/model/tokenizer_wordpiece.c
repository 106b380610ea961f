/* WordPiece behind the basic tokeniser of BERT. */
#include <stdlib.h>
#include <string.h>
#ifdef TL_WITH_UNISTRING
#include <unicase.h>
#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>
#endif

#include "model/tokenizer.h"

#ifdef TL_WITH_UNISTRING
enum { WORD_MOST = 100 }; /* characters */

static tl_status need(const tl_tokenizer *t, const char *path, const char *token, uint32_t *id,
                      tl_error *err)
{
    if (tl_vocabulary_find(t, token, strlen(token), id)) return TL_OK;
    return tl_fail(err, TL_ERR_PARSE, "%s: expected a token %s among the %zu, found none", path,
                   token, t->size);
}

/* One token a line, its id the number of the line from 0 on. */
static tl_status split_lines(tl_tokenizer *t, size_t size, const char *path, tl_error *err)
{
    size_t lines = 0;

    for (size_t i = 0; i < size; i++) lines += t->arena[i] == '\n';
    lines += size > 0 && t->arena[size - 1] != '\n';
    t->token = calloc(lines + 1, sizeof *t->token);
    if (!t->token) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    for (const char *at = t->arena; t->size < lines;) {
        const char *end = memchr(at, '\n', (size_t)(t->arena + size - at));
        const char *stop = end ? end : t->arena + size;
        size_t length = (size_t)(stop - at);
        if (length > 0 && at[length - 1] == '\r') length--;
        t->token[t->size++] = (tl_token){at, length};
        at = stop + 1;
    }
    return TL_OK;
}

tl_status tl_wordpiece_read(tl_tokenizer *t, const char *vocabulary, tl_error *err)
{
    size_t size = 0;
    tl_status s = tl_vocabulary_load(vocabulary, &t->arena, &size, err);

    if (s) return s;
    const uint8_t *wrong = u8_check((const uint8_t *)t->arena, size);
    if (wrong)
        return tl_fail(err, TL_ERR_PARSE, "%s: expected UTF-8, found 0x%02x at byte %zu",
                       vocabulary, (unsigned)*wrong, (size_t)(wrong - (const uint8_t *)t->arena));
    s = split_lines(t, size, vocabulary, err);
    if (!s) s = tl_vocabulary_sort(t, vocabulary, err);
    if (!s) s = need(t, vocabulary, "[UNK]", &t->unknown, err);
    if (!s) s = need(t, vocabulary, "[CLS]", &t->begin, err);
    return s ? s : need(t, vocabulary, "[SEP]", &t->end, err);
}

/* Bytes of the longest token that begins at the `length` bytes behind the mark in piece; 0: none.
 */
static size_t longest(const tl_tokenizer *t, const char *piece, size_t mark, size_t length,
                      uint32_t *id)
{
    for (size_t end = length; end > 0; end--) {
        /* Whole characters alone: a byte 10xxxxxx continues one. */
        const bool whole = end == length || ((unsigned char)piece[mark + end] & 0xc0) != 0x80;
        if (whole && tl_vocabulary_find(t, piece, mark + end, id)) return end;
    }
    return 0;
}

/* The longest token at each place, with ## before all but the first. *fits: there was one
 * everywhere; ids that were added are to be taken back otherwise. */
static tl_status cut(const tl_tokenizer *t, const uint8_t *word, size_t length, tl_ids *out,
                     bool *fits, tl_error *err)
{
    char piece[2 + 4 * WORD_MOST];

    *fits = true;
    for (size_t at = 0; at < length;) {
        const size_t mark = at > 0 ? 2 : 0;
        uint32_t id = 0;
        memcpy(piece, "##", mark);
        memcpy(piece + mark, word + at, length - at);
        const size_t used = longest(t, piece, mark, length - at, &id);
        *fits = used > 0;
        const tl_status s = used > 0 ? tl_ids_add(out, id, err) : TL_OK;
        if (s || !*fits) return s;
        at += used;
    }
    return TL_OK;
}

static tl_status add_word(const tl_tokenizer *t, const ucs4_t *word, size_t count, tl_ids *out,
                          tl_error *err)
{
    const size_t before = out->count;
    uint8_t bytes[4 * WORD_MOST];
    size_t length = sizeof bytes;
    bool fits = false;

    if (count <= WORD_MOST) {
        if (!u32_to_u8(word, count, bytes, &length))
            return tl_fail(err, TL_ERR_MEMORY, "out of memory for a word");
        const tl_status s = cut(t, bytes, length, out, &fits, err);
        if (s) return s;
    }
    if (fits) return TL_OK;
    out->count = before;
    return tl_ids_add(out, t->unknown, err);
}

static bool is_punctuation(ucs4_t c)
{
    if (c < 128)
        return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
               (c >= '{' && c <= '~');
    return uc_is_general_category(c, UC_CATEGORY_P);
}

static bool is_ideograph(ucs4_t c)
{
    static const struct {
        ucs4_t from, to;
    } blocks[] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df}, {0x2a700, 0x2b73f},
                  {0x2b740, 0x2b81f}, {0x2b820, 0x2ceaf}, {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};

    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (c >= blocks[i].from && c <= blocks[i].to) return true;
    return false;
}

static bool is_space(ucs4_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' ||
           uc_is_general_category(c, UC_CATEGORY_Z);
}

/* A word without white space: punctuation and what stands between it. */
static tl_status add_split(const tl_tokenizer *t, const ucs4_t *word, size_t count, tl_ids *out,
                           tl_error *err)
{
    tl_status s = TL_OK;

    for (size_t at = 0, end; at < count && !s; at = end) {
        end = at + 1;
        if (!is_punctuation(word[at]))
            while (end < count && !is_punctuation(word[end])) end++;
        s = add_word(t, word + at, end - at, out, err);
    }
    return s;
}

/* Full lower case, NFD, no nonspacing marks; the result is owned by the caller. */
static ucs4_t *fold(const ucs4_t *word, size_t count, size_t *length)
{
    size_t low_count = 0, kept = 0;
    ucs4_t *low = u32_tolower(word, count, NULL, NULL, NULL, &low_count);
    ucs4_t *apart = low ? u32_normalize(UNINORM_NFD, low, low_count, NULL, length) : NULL;

    free(low);
    for (size_t i = 0; apart && i < *length; i++)
        if (!uc_is_general_category(apart[i], UC_CATEGORY_Mn)) apart[kept++] = apart[i];
    *length = kept;
    return apart;
}

static tl_status add_folded(const tl_tokenizer *t, const ucs4_t *word, size_t count, tl_ids *out,
                            tl_error *err)
{
    size_t length = 0;

    if (t->cased) return add_split(t, word, count, out, err);
    ucs4_t *folded = fold(word, count, &length);
    if (!folded) return tl_fail(err, TL_ERR_MEMORY, "out of memory for a word");
    const tl_status s = add_split(t, folded, length, out, err);
    free(folded);
    return s;
}

tl_status tl_wordpiece_encode(const tl_tokenizer *t, const char *text, size_t length, tl_ids *out,
                              tl_error *err)
{
    ucs4_t *clean = malloc((length + 1) * sizeof *clean);
    size_t count = 0;
    tl_status s = TL_OK;

    if (!clean) return tl_fail(err, TL_ERR_MEMORY, "out of memory for a text of %zu bytes", length);
    for (size_t at = 0; at <= length && !s;) {
        ucs4_t c = ' ';
        at +=
            at < length ? (size_t)u8_mbtouc_unsafe(&c, (const uint8_t *)text + at, length - at) : 1;
        const bool space = is_space(c), alone = is_ideograph(c);
        if (!space && (c == 0xfffd || uc_is_general_category(c, UC_CATEGORY_C))) continue;
        if ((space || alone) && count > 0) {
            s = add_folded(t, clean, count, out, err);
            count = 0;
        }
        if (!space) clean[count++] = c;
        if (!s && alone) {
            s = add_folded(t, clean, 1, out, err);
            count = 0;
        }
    }
    free(clean);
    return s;
}
#endif
