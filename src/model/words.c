#include "tightlip/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/file.h"
#include "tightlip/names.h"
#include "tightlip/tokenizer.h"

TL_DEFINE_FROM_NAME(tl_numbering_from_name, tl_numbering, TL_NUMBERING_LIST)

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Whether c goes on with a word. */
static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '\'' || (unsigned char)c > 127;
}

/* Where the tokens that are numbered start and how long they are. */
typedef struct {
    size_t start, length;
} span;

static uint32_t number_of(const char *text, span word, span *known, size_t *count)
{
    size_t i = 0;

    while (i < *count && !(known[i].length == word.length &&
                           memcmp(text + known[i].start, text + word.start, word.length) == 0))
        i++;
    if (i == *count) known[(*count)++] = word;
    return (uint32_t)(i + 1);
}

static size_t number_words(const char *text, size_t size, span *known, uint32_t *id)
{
    size_t count = 0, distinct = 0;

    for (size_t at = 0, end; at < size; at = end) {
        end = at + 1;
        if (is_blank(text[at])) continue;
        while (in_word(text[at]) && end < size && in_word(text[end])) end++;
        id[count++] = number_of(text, (span){at, end - at}, known, &distinct);
    }
    return count;
}

static tl_status read_ids(const char *text, size_t size, uint32_t *id, size_t *count, tl_error *err)
{
    for (size_t at = 0; at < size;) {
        uint64_t value = 0;
        size_t digits = 0;
        if (is_blank(text[at]) || text[at] == ',') {
            at++;
            continue;
        }
        for (; at + digits < size && text[at + digits] >= '0' && text[at + digits] <= '9'; digits++)
            if (value <= UINT32_MAX) value = 10 * value + (uint64_t)(text[at + digits] - '0');
        if (digits == 0 || value > UINT32_MAX)
            return tl_fail(err, TL_ERR_PARSE,
                           "byte %zu: expected a number below 2^32, found \"%.*s\"", at,
                           (int)(size - at < 20 ? size - at : 20), text + at);
        id[(*count)++] = (uint32_t)value;
        at += digits;
    }
    return TL_OK;
}

tl_status tl_words_number(tl_numbering numbering, const char *text, size_t size, uint32_t **id,
                          size_t *count, tl_error *err)
{
    span *known = malloc((size + 1) * sizeof *known);
    uint32_t *found = malloc((size + 1) * sizeof *found);
    size_t n = 0;
    tl_status s = known && found ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");

    if (!s && numbering == TL_NUMBERING_WORDS) n = number_words(text, size, known, found);
    if (!s && numbering == TL_NUMBERING_IDS) s = read_ids(text, size, found, &n, err);
    for (size_t i = 0; !s && numbering == TL_NUMBERING_BYTES && i < size; i++)
        found[n++] = (uint32_t)(unsigned char)text[i] + 1;
    if (!s && n == 0) s = tl_fail(err, TL_ERR_SHAPE, "expected at least one token, found none");
    free(known);
    if (s) {
        free(found);
        return s;
    }
    *id = found;
    *count = n;
    return TL_OK;
}

static tl_status encode(const tl_tokenizer *tokenizer, const char *text, size_t size, uint32_t **id,
                        size_t *count, tl_error *err)
{
    tl_status s = tl_tokenizer_encode(tokenizer, text, size, true, id, count, err);

    if (!s && *count == 0) s = tl_fail(err, TL_ERR_SHAPE, "expected a text, found none");
    return s;
}

/* Where the line starts and ends among those that are not blank; false: there are `lines` only. */
static bool find_line(const char *text, size_t size, long line, span *out, long *lines)
{
    *lines = 0;
    for (size_t at = 0, end; at < size; at = end + 1) {
        bool blank = true;
        for (end = at; end < size && text[end] != '\n'; end++) blank = blank && is_blank(text[end]);
        *out = (span){at, end - at};
        if (!blank && (*lines)++ == line) return true;
    }
    return false;
}

tl_status tl_words_read(const char *path, const char *vocabulary, tl_numbering numbering, long line,
                        uint32_t **id, size_t *count, tl_error *err)
{
    tl_tokenizer *tokenizer = NULL;
    char *whole = NULL, *text;
    size_t size = 0;
    long lines = 0;
    span part;
    tl_status s = tl_file_read(path, &whole, &size, err);

    text = whole;
    if (!s && line >= 0 && !find_line(whole, size, line, &part, &lines)) {
        s = tl_fail(err, TL_ERR_SHAPE, "%s: expected %ld lines that are not blank, found %ld", path,
                    line + 1, lines);
    } else if (!s && line >= 0) {
        text = whole + part.start;
        size = part.length;
    }
    if (!s && vocabulary && numbering != TL_NUMBERING_IDS)
        s = tl_tokenizer_open(&tokenizer, vocabulary, err);
    if (!s) {
        s = tokenizer ? encode(tokenizer, text, size, id, count, err)
                      : tl_words_number(numbering, text, size, id, count, err);
        if (s && line >= 0) tl_error_prefix(err, "line %ld", line);
        if (s) tl_error_prefix(err, "%s", path);
    }
    tl_tokenizer_free(tokenizer);
    free(whole);
    return s;
}
