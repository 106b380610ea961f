/* Vocabularies that lie. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/scratch.h"
#include "tightlip/tokenizer.h"

/* vocab.json of all bytes in the order of their spelling below 512, then `more`. */
static void put_bytes(char *out, size_t room, const char *more)
{
    size_t used = (size_t)snprintf(out, room, "{");
    unsigned next = 256, id = 0;

    for (unsigned byte = 0; byte < 256; byte++) {
        const bool plain =
            (byte >= 33 && byte < 127) || (byte >= 0xa1 && byte < 0xad) || byte >= 0xae;
        used += (size_t)snprintf(out + used, room - used, "%s\"\\u%04x\":%u", byte ? "," : "",
                                 plain ? byte : next++, id++);
    }
    (void)snprintf(out + used, room - used, "%s}", more);
}

static const struct {
    const char *vocabulary; /* behind the bytes; or the whole text where it begins with a brace */
    const char *merges;
    tl_status status;
    const char *fragment;
} bpe[] = {
    {",\"ab\":256", "#version: 0.2\na b\n", TL_OK, ""},
    {",\"ab\":256", "a b", TL_OK, ""},
    {",\"ab\":256", "a b\r\n", TL_OK, ""},
    {"", "", TL_OK, ""},
    {"{", "", TL_ERR_PARSE, "vocab.json:1:"},
    {"{}", "", TL_ERR_PARSE, "expected an object of tokens and ids"},
    {"[]", "", TL_ERR_PARSE, "expected an object of tokens and ids"},
    {"{\"a\":0}", "", TL_ERR_PARSE, "expected a token for every byte, found none for 0x00"},
    {",\"a\":256", "", TL_ERR_PARSE, "duplicate"},
    {",\"ab\":257", "", TL_ERR_PARSE, "token 'ab': expected an id of its own below 257"},
    {",\"ab\":255", "", TL_ERR_PARSE, "expected an id of its own"},
    {",\"ab\":-1", "", TL_ERR_PARSE, "expected an id of its own"},
    {",\"ab\":256.0", "", TL_ERR_PARSE, "expected an id of its own"},
    {",\"ab\":1000000000000", "", TL_ERR_PARSE, "expected an id of its own"},
    {",\"a b\":256", "", TL_ERR_PARSE, "the characters that stand for bytes"},
    {",\"\\u6c49\":256", "", TL_ERR_PARSE, "the characters that stand for bytes"},
    {",\"\":256", "", TL_ERR_PARSE, "the characters that stand for bytes"},
    {",\"ab\":256", "ab\n", TL_ERR_PARSE, "merges.txt:1: expected two tokens with a space"},
    {",\"ab\":256", "a b c\n", TL_ERR_PARSE, "merges.txt:1: expected two tokens"},
    {",\"ab\":256", "a \n", TL_ERR_PARSE, "merges.txt:1: expected two tokens"},
    {",\"ab\":256", "#version\na c\n", TL_ERR_PARSE, "merges.txt:2: expected tokens that join"},
    {",\"ab\":256", "a b\nb ab\n", TL_ERR_PARSE, "merges.txt:2: expected tokens that join"},
    {",\"ab\":256", "a b\na b\n", TL_ERR_PARSE, "merges 0 and 1 join the same"},
    {",\"ab\":256", "a \xff\n", TL_ERR_PARSE, "merges.txt:1: expected two tokens"},
};

Test(tokenizer_files, bpe)
{
    static char text[8192];
    scratch s;

    if (!tl_tokenizer_available()) cr_skip_test("a build without libunistring");
    cr_assert(scratch_init(&s));
    for (size_t i = 0; i < sizeof bpe / sizeof *bpe; i++) {
        const char *vocabulary = bpe[i].vocabulary;
        tl_tokenizer *t = NULL;
        tl_error err = {0};
        if (vocabulary[0] != '{' && vocabulary[0] != '[') {
            put_bytes(text, sizeof text, vocabulary);
            vocabulary = text;
        }
        cr_assert(scratch_write(&s, "vocab.json", vocabulary, strlen(vocabulary)));
        cr_assert(scratch_write(&s, "merges.txt", bpe[i].merges, strlen(bpe[i].merges)));
        cr_expect_eq(tl_tokenizer_open(&t, s.directory, &err), bpe[i].status, "row %zu: %s", i,
                     err.text);
        cr_expect(strstr(err.text, bpe[i].fragment), "row %zu: %s", i, err.text);
        if (bpe[i].status == TL_OK) tl_tokenizer_free(t);
    }
    scratch_clear(&s);
}

/* Every (a, b) is joined before a pair that one of them makes, though it comes first in the file.
 */
Test(tokenizer_files, a_merge_is_done_everywhere_first)
{
    static const char merges[] = "ab a\na b\n";
    static char text[8192];
    tl_tokenizer *t = NULL;
    tl_error err = {0};
    uint32_t *found = NULL;
    size_t count = 0;
    scratch s;

    if (!tl_tokenizer_available()) cr_skip_test("a build without libunistring");
    put_bytes(text, sizeof text, ",\"ab\":256,\"aba\":257");
    cr_assert(scratch_init(&s) && scratch_write(&s, "vocab.json", text, strlen(text)));
    cr_assert(scratch_write(&s, "merges.txt", merges, sizeof merges - 1));
    cr_assert_eq(tl_tokenizer_open(&t, s.directory, &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_tokenizer_encode(t, "abab", 4, false, &found, &count, &err), TL_OK);
    cr_expect(count == 2 && found[0] == 256 && found[1] == 256);
    free(found);
    tl_tokenizer_free(t);
    scratch_clear(&s);
}

static const struct {
    const char *vocabulary, *config; /* config NULL: no such file */
    tl_status status;
    const char *fragment;
} wordpiece[] = {
    {"[UNK]\n[CLS]\n[SEP]\na\n", NULL, TL_OK, ""},
    {"[UNK]\r\n[CLS]\r\n[SEP]", "{}", TL_OK, ""},
    {"[UNK]\n[CLS]\n[SEP]\n", "{\"do_lower_case\": false, \"other\": 1}", TL_OK, ""},
    {"", NULL, TL_ERR_PARSE, "expected a token [UNK] among the 0"},
    {"[UNK]\n[CLS]\n", NULL, TL_ERR_PARSE, "expected a token [SEP]"},
    {"[UNK]\n[CLS]\n[SEP]\na\nb\na\n", NULL, TL_ERR_PARSE, "token 'a' occurs twice, as 3 and 5"},
    {"[UNK]\n\xff\n", NULL, TL_ERR_PARSE, "expected UTF-8, found 0xff at byte 6"},
    {"[UNK]\n[CLS]\n[SEP]\n", "{\"do_lower_case\": 1}", TL_ERR_PARSE, "expected true or false"},
    {"[UNK]\n[CLS]\n[SEP]\n", "[", TL_ERR_PARSE, "tokenizer_config.json:1:"},
    {"[UNK]\n[CLS]\n[SEP]\n", "[]", TL_ERR_PARSE, "expected an object"},
};

Test(tokenizer_files, wordpiece)
{
    if (!tl_tokenizer_available()) cr_skip_test("a build without libunistring");
    for (size_t i = 0; i < sizeof wordpiece / sizeof *wordpiece; i++) {
        const char *vocabulary = wordpiece[i].vocabulary, *config = wordpiece[i].config;
        tl_tokenizer *t = NULL;
        tl_error err = {0};
        scratch s;
        cr_assert(scratch_init(&s));
        cr_assert(scratch_write(&s, "vocab.txt", vocabulary, strlen(vocabulary)));
        if (config) cr_assert(scratch_write(&s, "tokenizer_config.json", config, strlen(config)));
        cr_expect_eq(tl_tokenizer_open(&t, s.directory, &err), wordpiece[i].status, "row %zu: %s",
                     i, err.text);
        cr_expect(strstr(err.text, wordpiece[i].fragment), "row %zu: %s", i, err.text);
        if (wordpiece[i].status == TL_OK) tl_tokenizer_free(t);
        scratch_clear(&s);
    }
}

Test(tokenizer_files, nothing_there)
{
    tl_tokenizer *t = NULL;
    tl_error err = {0};
    scratch s;

    if (!tl_tokenizer_available()) cr_skip_test("a build without libunistring");
    cr_assert(scratch_init(&s) && scratch_write(&s, "vocab.json", "{}", 2));
    cr_expect_eq(tl_tokenizer_open(&t, s.directory, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "or vocab.json and merges.txt, found neither"), "%s", err.text);
    scratch_clear(&s);
}
