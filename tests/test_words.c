#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"
#include "tightlip/tokenizer.h"
#include "tightlip/words.h"

static const struct {
    tl_numbering how;
    const char *text;
    size_t count;
    uint32_t id[12];
} rows[] = {
    {TL_NUMBERING_WORDS, "to be, or not to be", 7, {1, 2, 3, 4, 5, 1, 2}},
    {TL_NUMBERING_WORDS, "don't  don't\n(a-b)", 7, {1, 1, 2, 3, 4, 5, 6}},
    {TL_NUMBERING_WORDS, "a A a2", 3, {1, 2, 3}},
    {TL_NUMBERING_WORDS, "\xc3\xa9t\xc3\xa9 \xc3\xa9t\xc3\xa9!", 3, {1, 1, 2}},
    {TL_NUMBERING_BYTES, "ab a", 4, {98, 99, 33, 98}},
    {TL_NUMBERING_BYTES, "\xff", 1, {256}},
    {TL_NUMBERING_IDS, " 7,12\n4294967295 0", 4, {7, 12, 4294967295u, 0}},
    {TL_NUMBERING_IDS, " 3,4,\t5\r\n6\n", 4, {3, 4, 5, 6}},
};

Test(words, tokens_are_numbered)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t *id = NULL;
        size_t count = 0;
        cr_assert_eq(
            tl_words_number(rows[i].how, rows[i].text, strlen(rows[i].text), &id, &count, NULL),
            TL_OK);
        cr_assert_eq(count, rows[i].count, "row %zu: %zu", i, count);
        cr_expect_arr_eq(id, rows[i].id, count * sizeof *id, "row %zu", i);
        free(id);
    }
}

static const struct {
    tl_numbering how;
    const char *text;
    tl_status status;
    const char *fragment;
} refused[] = {
    {TL_NUMBERING_WORDS, "", TL_ERR_SHAPE, "at least one token"},
    {TL_NUMBERING_WORDS, " \n\t", TL_ERR_SHAPE, "at least one token"},
    {TL_NUMBERING_IDS, "1 two", TL_ERR_PARSE,
     "byte 2: expected a number below 2^32, found \"two\""},
    {TL_NUMBERING_IDS, "4294967296", TL_ERR_PARSE, "byte 0"},
    {TL_NUMBERING_IDS, "99999999999999999999999999", TL_ERR_PARSE, "byte 0"},
    {TL_NUMBERING_IDS, "18446744073709551617", TL_ERR_PARSE, "byte 0"},
    {TL_NUMBERING_IDS, "-1", TL_ERR_PARSE, "found \"-1\""},
    {TL_NUMBERING_IDS, "1.0", TL_ERR_PARSE, "found \".0\""},
    {TL_NUMBERING_IDS, "1x", TL_ERR_PARSE, "found \"x\""},
    {TL_NUMBERING_IDS, "", TL_ERR_SHAPE, "at least one token"},
    {TL_NUMBERING_IDS, " \n\n", TL_ERR_SHAPE, "at least one token"},
};

Test(words, what_is_no_text_is_refused)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        uint32_t *id = NULL;
        size_t count = 0;
        tl_error err = {0};
        cr_expect_eq(tl_words_number(refused[i].how, refused[i].text, strlen(refused[i].text), &id,
                                     &count, &err),
                     refused[i].status, "row %zu", i);
        cr_expect(strstr(err.text, refused[i].fragment), "row %zu: %s", i, err.text);
    }
}

#define VOCABULARY "tests/tokenizer/wordpiece"

Test(words, a_zero_byte_is_no_blank)
{
    uint32_t *id = NULL;
    size_t count = 0;

    cr_expect_eq(tl_words_number(TL_NUMBERING_IDS, "1 \0 2", 5, &id, &count, NULL), TL_ERR_PARSE);
}

/* The same text by each way of ids; a vocabulary adds its special tokens, a list is left alone. */
Test(words, texts_in_files)
{
    static const char text[] = "3 1,2";
    static const struct {
        const char *vocabulary;
        tl_numbering how;
        size_t count;
        uint32_t id[3];
    } ways[] = {{NULL, TL_NUMBERING_IDS, 3, {3, 1, 2}},
                {VOCABULARY, TL_NUMBERING_IDS, 3, {3, 1, 2}},
                {NULL, TL_NUMBERING_WORDS, 4, {1, 2, 3}},
                {NULL, TL_NUMBERING_BYTES, 5, {52, 33, 50}}};
    tl_tokenizer *t = NULL;
    uint32_t *id = NULL, *expected = NULL;
    size_t count = 0, length = 0;
    tl_error err = {0};
    scratch s;

    cr_assert(scratch_init(&s) && scratch_write(&s, "text", text, sizeof text - 1));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        cr_assert_eq(tl_words_read(s.path, ways[i].vocabulary, ways[i].how, -1, &id, &count, &err),
                     TL_OK, "%s", err.text);
        cr_assert_eq(count, ways[i].count, "row %zu", i);
        cr_expect_arr_eq(id, ways[i].id, sizeof ways[i].id, "row %zu", i);
        free(id);
    }
    if (tl_tokenizer_available()) {
        cr_assert_eq(tl_tokenizer_open(&t, VOCABULARY, NULL), TL_OK);
        cr_assert_eq(tl_tokenizer_encode(t, text, sizeof text - 1, true, &expected, &length, NULL),
                     TL_OK);
        cr_assert_eq(tl_words_read(s.path, VOCABULARY, TL_NUMBERING_WORDS, -1, &id, &count, &err),
                     TL_OK, "%s", err.text);
        cr_assert_eq(count, length);
        cr_expect_arr_eq(id, expected, length * sizeof *id);
        free(id);
        free(expected);
        tl_tokenizer_free(t);
    }
    cr_expect_eq(
        tl_words_read(scratch_path(&s, "absent"), NULL, TL_NUMBERING_WORDS, -1, &id, &count, &err),
        TL_ERR_IO);
    cr_expect(strstr(err.text, "absent: cannot be opened"), "%s", err.text);
    scratch_clear(&s);
}

/* Lines count where they are not blank; each is numbered by itself. */
Test(words, one_line_of_a_file)
{
    static const char text[] = "\n the cat\n \t\n\r\nthat cat, the cat\nlast";
    static const struct {
        long line;
        size_t count;
        uint32_t id[5];
    } lines[] = {{0, 2, {1, 2}}, {1, 5, {1, 2, 3, 4, 2}}, {2, 1, {1}}};
    uint32_t *id = NULL;
    size_t count = 0;
    tl_error err = {0};
    scratch s;

    cr_assert(scratch_init(&s) && scratch_write(&s, "text", text, sizeof text - 1));
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        cr_assert_eq(
            tl_words_read(s.path, NULL, TL_NUMBERING_WORDS, lines[i].line, &id, &count, &err),
            TL_OK, "%s", err.text);
        cr_assert_eq(count, lines[i].count, "line %zu: %zu", i, count);
        cr_expect_arr_eq(id, lines[i].id, count * sizeof *id, "line %zu", i);
        free(id);
    }
    cr_expect_eq(tl_words_read(s.path, NULL, TL_NUMBERING_WORDS, 3, &id, &count, &err),
                 TL_ERR_SHAPE);
    cr_expect(strstr(err.text, "text: expected 4 lines that are not blank, found 3"), "%s",
              err.text);
    cr_expect_eq(tl_words_read(s.path, NULL, TL_NUMBERING_IDS, 0, &id, &count, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "text: line 0: byte 1: expected a number"), "%s", err.text);
    scratch_clear(&s);
}
