/* Tokenisers against an implementation of their own in Python (support/tokenizer_reference.py). */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "support/scratch.h"
#include "tightlip/rng.h"
#include "tightlip/tokenizer.h"

#define DATA "tests/tokenizer/"

static const char *const kinds[] = {"bpe", "shuffled", "wordpiece", "cased"};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void need_tokenizers(void)
{
    if (!tl_tokenizer_available()) cr_skip_test("a build without libunistring");
}

static tl_tokenizer *open_kind(const char *kind)
{
    tl_tokenizer *t = NULL;
    tl_error err = {0};
    char path[64];

    (void)snprintf(path, sizeof path, DATA "%s", kind);
    cr_assert_eq(tl_tokenizer_open(&t, path, &err), TL_OK, "%s", err.text);
    return t;
}

static bool equal(const json_t *expected, const uint32_t *ids, size_t count)
{
    bool same = json_array_size(expected) == count;

    for (size_t i = 0; same && i < count; i++)
        same = (uint64_t)json_integer_value(json_array_get(expected, i)) == ids[i];
    return same;
}

Test(tokenizer, the_reference)
{
    json_t *rows = json_load_file(DATA "expected.json", JSON_ALLOW_NUL, NULL), *row;
    size_t i;

    need_tokenizers();
    cr_assert(json_array_size(rows) > 200);
    for (size_t k = 0; k < KINDS; k++) {
        tl_tokenizer *t = open_kind(kinds[k]);
        json_array_foreach(rows, i, row)
        {
            const json_t *text = json_object_get(row, "text");
            uint32_t *ids = NULL;
            size_t count = 0;
            tl_error err = {0};
            cr_expect_eq(tl_tokenizer_encode(t, json_string_value(text), json_string_length(text),
                                             true, &ids, &count, &err),
                         TL_OK, "%s", err.text);
            cr_expect(equal(json_object_get(row, kinds[k]), ids, count), "%s, row %zu: '%s'",
                      kinds[k], i, json_string_value(text));
            free(ids);
        }
        tl_tokenizer_free(t);
    }
    json_decref(rows);
}

/* Without special tokens: what stands between [CLS] and [SEP]. */
Test(tokenizer, special_tokens)
{
    uint32_t *with = NULL, *without = NULL;
    size_t more = 0, count = 0, length = 0;
    tl_tokenizer *t;

    need_tokenizers();
    t = open_kind("wordpiece");
    cr_assert_eq(tl_tokenizer_encode(t, "Alice, late!", 12, true, &with, &more, NULL), TL_OK);
    cr_assert_eq(tl_tokenizer_encode(t, "Alice, late!", 12, false, &without, &count, NULL), TL_OK);
    cr_assert(count > 2 && more == count + 2);
    cr_expect(memcmp(with + 1, without, count * sizeof *with) == 0);
    cr_expect(memcmp(tl_tokenizer_token(t, with[0], &length), "[CLS]", 5) == 0 && length == 5);
    cr_expect(memcmp(tl_tokenizer_token(t, with[more - 1], &length), "[SEP]", 5) == 0);
    cr_expect_null(tl_tokenizer_token(t, (uint32_t)tl_tokenizer_size(t), &length));
    free(with);
    free(without);
    tl_tokenizer_free(t);
}

/* A character of one to four bytes, from everywhere but the surrogates. */
static size_t put_character(char *to, gsl_rng *rng)
{
    static const uint32_t most[] = {0x80, 0x800, 0x10000, 0x110000};
    uint32_t c = (uint32_t)gsl_rng_uniform_int(rng, most[gsl_rng_uniform_int(rng, 4)]);
    size_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;

    if (gsl_rng_uniform_int(rng, 3) == 0) c = (uint32_t) " the's\n"[gsl_rng_uniform_int(rng, 7)];
    if (c >= 0xd800 && c < 0xe000) c = ' ';
    if (c < 0x80) more = 0;
    for (size_t i = more; i > 0; i--, c >>= 6) to[i] = (char)(unsigned char)(0x80 | (c & 63));
    to[0] = (char)(unsigned char)(more == 0 ? c : (0xf0u << (3 - more) & 0xff) | c);
    return more + 1;
}

/* BPE loses nothing, whatever the text. */
Test(tokenizer, round_trip)
{
    gsl_rng *rng = tl_rng_stream_alloc(1, 0, 0);

    need_tokenizers();
    for (size_t k = 0; k < 2; k++) {
        tl_tokenizer *t = open_kind(kinds[k]);
        for (int trial = 0; trial < 400; trial++) {
            char text[256], *back = NULL;
            uint32_t *ids = NULL;
            size_t length = 0, count = 0, found = 0;
            tl_error err = {0};
            const size_t characters = gsl_rng_uniform_int(rng, 50);
            for (size_t i = 0; i < characters; i++) length += put_character(text + length, rng);
            cr_assert_eq(tl_tokenizer_encode(t, text, length, true, &ids, &count, &err), TL_OK,
                         "%s", err.text);
            cr_assert_eq(tl_tokenizer_decode(t, ids, count, &back, &found, &err), TL_OK);
            cr_expect(found == length && memcmp(back, text, length) == 0, "trial %d", trial);
            free(back);
            free(ids);
        }
        tl_tokenizer_free(t);
    }
    gsl_rng_free(rng);
}

Test(tokenizer, wordpiece_decodes_to_words)
{
    static const char text[] = "The rabbit, considering!";
    uint32_t *ids = NULL;
    size_t count = 0, length = 0;
    char *back = NULL;
    tl_tokenizer *t;

    need_tokenizers();
    t = open_kind("wordpiece");
    cr_assert_eq(tl_tokenizer_encode(t, text, sizeof text - 1, false, &ids, &count, NULL), TL_OK);
    cr_assert_eq(tl_tokenizer_decode(t, ids, count, &back, &length, NULL), TL_OK);
    cr_expect_str_eq(back, "the rabbit , considering !");
    free(back);
    ids[0] = (uint32_t)tl_tokenizer_size(t);
    cr_expect_eq(tl_tokenizer_decode(t, ids, count, &back, &length, NULL), TL_ERR_ARGUMENT);
    free(ids);
    tl_tokenizer_free(t);
}

/* One word of a million letters: the time of a quadratic method would show. */
Test(tokenizer, a_long_word)
{
    enum { LETTERS = 1000000 };
    char *text = malloc(LETTERS), *back = NULL;
    uint32_t *ids = NULL;
    size_t count = 0, length = 0;
    tl_tokenizer *t;

    need_tokenizers();
    cr_assert(text);
    for (size_t i = 0; i < LETTERS; i++) text[i] = "theringof"[i * i % 9];
    t = open_kind("bpe");
    cr_assert_eq(tl_tokenizer_encode(t, text, LETTERS, false, &ids, &count, NULL), TL_OK);
    cr_expect(count > 0 && count < LETTERS);
    cr_assert_eq(tl_tokenizer_decode(t, ids, count, &back, &length, NULL), TL_OK);
    cr_expect(length == LETTERS && memcmp(back, text, LETTERS) == 0);
    tl_tokenizer_free(t);
    t = open_kind("wordpiece");
    free(ids);
    cr_assert_eq(tl_tokenizer_encode(t, text, LETTERS, false, &ids, &count, NULL), TL_OK);
    cr_expect_eq(count, 1); /* [UNK] */
    tl_tokenizer_free(t);
    free(ids);
    free(back);
    free(text);
}

Test(tokenizer, texts_that_are_not_utf8)
{
    static const struct {
        const char *text;
        const char *fragment;
    } rows[] = {{"abc\xff", "0xff at byte 3"},
                {"\xc3", "0xc3 at byte 0"},
                {"a\xed\xa0\x80", "at byte 1"},     /* a surrogate */
                {"\xc0\x80", "at byte 0"},          /* overlong */
                {"\xf4\x90\x80\x80", "at byte 0"}}; /* past U+10FFFF */

    need_tokenizers();
    for (size_t k = 0; k < KINDS; k += 2) {
        tl_tokenizer *t = open_kind(kinds[k]);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            uint32_t *ids = NULL;
            size_t count = 0;
            tl_error err = {0};
            cr_expect_eq(tl_tokenizer_encode(t, rows[i].text, strlen(rows[i].text), true, &ids,
                                             &count, &err),
                         TL_ERR_PARSE, "row %zu", i);
            cr_expect(strstr(err.text, rows[i].fragment), "row %zu: %s", i, err.text);
        }
        tl_tokenizer_free(t);
    }
}
