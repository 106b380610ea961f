#include <criterion/criterion.h>
#include <string.h>

#include "support/scratch.h"
#include "tightlip/problem.h"

#define SCHEMA "{\"schema\": \"tightlip/problem/1\", "
#define TOKENS "\"tokens\": [[1, 0], [0, 1.5]]"
#define HEAD "{\"A\": [[1, 0], [0, 1]], \"V\": [[1, 2]]}"
#define LAYER "\"attention\": {\"kind\": \"dot\", \"heads\": [" HEAD "]}"
/* A document that is right but for its end, and one that is right but for its attention. */
#define END(text) SCHEMA LAYER ", " TOKENS ", " text "}"
#define ATTENTION(text) SCHEMA TOKENS ", \"attention\": " text "}"
#define ONE_HEAD(text) ATTENTION("{\"kind\": \"dot\", \"heads\": [" text "]}")
#define L2_HEAD(head) ATTENTION("{\"kind\": \"l2\", \"heads\": [" head "]}")
#define COSINE(text) ATTENTION("{\"kind\": \"cosine\", \"heads\": [" HEAD "]" text "}")
#define MASK(text) ATTENTION("{\"kind\": \"dot\", \"mask\": " text ", \"heads\": [" HEAD "]}")
#define QKV(text) ONE_HEAD("{\"Q\": [[1, 0]], \"K\": [[1, 0]], \"V\": [[1, 0]]" text "}")

typedef struct {
    const char *text;
    tl_status status;
    const char *fragment;
} row;

static const row refused[] = {
    /* Malformed JSON, with the line. */
    {"", TL_ERR_PARSE, ":1:"},
    {"{\n\"schema\": ", TL_ERR_PARSE, ":2:"},
    {END("\"value\": 1") "x", TL_ERR_PARSE, "end of file expected"},
    {END("\"value\": NaN"), TL_ERR_PARSE, ":1:"},
    {END("\"value\": -Infinity"), TL_ERR_PARSE, ":1:"},
    {END("\"value\": 1e400"), TL_ERR_PARSE, "real number overflow"},
    {END("\"multiplicity\": [1, 99999999999999999999]"), TL_ERR_PARSE, "too big integer"},
    {END("\"value\": 1, \"value\": 1"), TL_ERR_PARSE, "duplicate object key"},
    {"[]", TL_ERR_PARSE, "document: expected an object, found an array"},
    /* Top level. */
    {"{}", TL_ERR_PARSE, "schema: expected a string, found nothing"},
    {"{\"schema\": \"tightlip/problem/2\"}", TL_ERR_PARSE, "found 'tightlip/problem/2'"},
    {END("\"token\": []"), TL_ERR_PARSE, "unknown key 'token'; did you mean 'tokens'?"},
    {END("\"zzzzzzzzzz\": []"), TL_ERR_PARSE, "expected one of schema, name"},
    {END("\"name\": 3"), TL_ERR_PARSE, "name: expected a string, found an integer"},
    {END("\"why\": null"), TL_ERR_PARSE, "why: expected a string, found null"},
    /* Tokens and masses. */
    {SCHEMA LAYER "}", TL_ERR_PARSE, "tokens: expected an array of rows, found nothing"},
    {SCHEMA LAYER ", \"tokens\": []}", TL_ERR_PARSE, "tokens: expected at least one of the rows"},
    {SCHEMA LAYER ", \"tokens\": [[]]}", TL_ERR_PARSE, "tokens[0]: expected at least one"},
    {SCHEMA LAYER ", \"tokens\": [[1, 0], [1]]}", TL_ERR_PARSE,
     "tokens[1]: expected 2 numbers, found 1"},
    {SCHEMA LAYER ", \"tokens\": [[1, 0], 1]}", TL_ERR_PARSE,
     "tokens[1]: expected an array of numbers, found an integer"},
    {SCHEMA LAYER ", \"tokens\": [[1, \"0\"]]}", TL_ERR_PARSE,
     "tokens[0][1]: expected a number, found a string"},
    {SCHEMA LAYER ", \"tokens\": [[1, 0, 0]]}", TL_ERR_PARSE,
     "attention.heads[0].A: expected 3 rows, found 2"},
    {END("\"multiplicity\": [1]"), TL_ERR_PARSE, "multiplicity: expected 2 integers, found 1"},
    {END("\"multiplicity\": 2"), TL_ERR_PARSE, "multiplicity: expected an array"},
    {END("\"multiplicity\": [1, 0]"), TL_ERR_PARSE,
     "multiplicity[1]: expected a positive integer, found 0"},
    {END("\"multiplicity\": [-3, 1]"), TL_ERR_PARSE,
     "multiplicity[0]: expected a positive integer, found -3"},
    {END("\"multiplicity\": [1, 2.0]"), TL_ERR_PARSE,
     "multiplicity[1]: expected a positive integer, found a real number"},
    {SCHEMA LAYER ", \"tokens\": [[1, 0], [0, 1], [1, 1]], \"multiplicity\": [9223372036854775807, "
                  "9223372036854775807, 2]}",
     TL_ERR_ARGUMENT, "multiplicity: the sum is expected to fit 64 bits"},
    {END("\"multiplicity\": [1, 1], \"log_mass\": [-1, -1]"), TL_ERR_PARSE, "found both"},
    {END("\"log_mass\": [-1, -1]"), TL_ERR_ARGUMENT, "sum to 0.735"},
    {END("\"log_mass\": [0]"), TL_ERR_PARSE, "log_mass: expected 2 numbers, found 1"},
    /* Attention. */
    {SCHEMA TOKENS "}", TL_ERR_PARSE, "attention: expected an object, found nothing"},
    {ATTENTION("{\"kind\": \"dot\"}"), TL_ERR_PARSE, "attention.heads: expected an array"},
    {ATTENTION("{\"kind\": \"dot\", \"heads\": []}"), TL_ERR_PARSE, "found an empty one"},
    {ATTENTION("{\"heads\": [" HEAD "]}"), TL_ERR_PARSE, "attention.kind: expected a string"},
    {ATTENTION("{\"kind\": \"softmax\", \"heads\": [" HEAD "]}"), TL_ERR_PARSE,
     "attention.kind: expected dot, l2, sigmoid or cosine, found 'softmax'"},
    {ATTENTION("{\"kind\": \"l2\", \"heads\": [" HEAD "]}"), TL_ERR_PARSE,
     "attention.heads[0]: unknown key 'A', expected one of Q, K, V"},
    {L2_HEAD("{\"V\": [[1, 0]]}"), TL_ERR_PARSE, "heads[0].Q: expected an array"},
    {L2_HEAD("{\"Q\": [[1, 0]]}"), TL_ERR_PARSE, "heads[0].V: expected an array"},
    {L2_HEAD("{\"Q\": [[1]], \"V\": [[1, 0]]}"), TL_ERR_PARSE, "heads[0].Q[0]: expected 2 numbers"},
    {L2_HEAD("{\"Q\": [[1, 0]], \"V\": [[1, 0]], \"bv\": [0]}"), TL_ERR_PARSE, "unknown key 'bv'"},
    {L2_HEAD("{\"Q\": [[1, 0], [0, 1], [1, 1]], \"V\": [[1, 0]]}"), TL_ERR_SHAPE,
     "Q: expected at most 2 rows, the token width, found 3"},
    {L2_HEAD("{\"Q\": [[1, 0]], \"K\": [[1]], \"V\": [[1, 0]]}"), TL_ERR_PARSE,
     "heads[0].K[0]: expected 2 numbers"},
    {ATTENTION("{\"kind\": \"dot\", \"value_factor\": true, \"heads\": [" HEAD "]}"), TL_ERR_PARSE,
     "attention.value_factor: expected with kind 'l2' only, found 'dot'"},
    {ATTENTION("{\"kind\": \"l2\", \"value_factor\": 0, \"heads\": []}"), TL_ERR_PARSE,
     "attention.value_factor: expected true or false, found an integer"},
    {COSINE(""), TL_ERR_PARSE, "attention.eps: expected a positive number, found nothing"},
    {COSINE(", \"eps\": 0"), TL_ERR_PARSE, "attention.eps: expected a positive number, found 0"},
    {COSINE(", \"eps\": -1e-6"), TL_ERR_PARSE, "attention.eps: expected a positive number"},
    {COSINE(", \"eps\": 1, \"tau\": -1"), TL_ERR_PARSE, "attention.tau: expected at least 0"},
    {COSINE(", \"eps\": 1, \"nu\": \"1\""), TL_ERR_PARSE, "attention.nu: expected a number"},
    {COSINE(", \"eps\": 1, \"bias\": 1"), TL_ERR_PARSE,
     "attention.bias: expected with kind 'sigmoid' only, found 'cosine'"},
    {ATTENTION("{\"kind\": \"dot\", \"eps\": 1, \"heads\": [" HEAD "]}"), TL_ERR_PARSE,
     "attention.eps: expected with kind 'cosine' only, found 'dot'"},
    {ATTENTION(
         "{\"kind\": \"cosine\", \"eps\": 1, \"heads\": [{\"Q\": [[1, 0]], \"K\": [[1, 0]], \"V\": "
         "[[1, 0]], \"scale\": 2}]}"),
     TL_ERR_PARSE, "expected no scale with kind 'cosine'"},
    {MASK("[[1, 0], [0, 0]]"), TL_ERR_ARGUMENT,
     "attention: mask[1]: expected a row that sees at least one token"},
    {MASK("[[1, 0]]"), TL_ERR_PARSE, "attention.mask: expected 2 rows, one per token, found 1"},
    {MASK("[[1, 0], [1]]"), TL_ERR_PARSE, "attention.mask[1]: expected an array of 2 entries"},
    {MASK("[[1, 0], 1]"), TL_ERR_PARSE, "attention.mask[1]: expected an array of 2 entries"},
    {MASK("[[1, 2], [1, 1]]"), TL_ERR_PARSE, "attention.mask[0][1]: expected 0 or 1"},
    {MASK("[[1, true], [1, 1]]"), TL_ERR_PARSE,
     "attention.mask[0][1]: expected 0 or 1, found true"},
    {MASK("3"), TL_ERR_PARSE, "attention.mask: expected none, causal, self-masked or an array"},
    {MASK("\"general\""), TL_ERR_PARSE, "or an array of rows of 0 and 1, found 'general'"},
    {ATTENTION("{\"kind\": \"dot\", \"bias\": 1, \"heads\": [" HEAD "]}"), TL_ERR_PARSE,
     "attention.bias: expected with kind 'sigmoid' only"},
    {ATTENTION("{\"kind\": \"dot\", \"mask\": \"casual\", \"heads\": [" HEAD "]}"), TL_ERR_PARSE,
     "or an array of rows of 0 and 1, found 'casual'"},
    {ATTENTION("{\"kind\": \"dot\", \"head\": [" HEAD "]}"), TL_ERR_PARSE,
     "attention: unknown key 'head'; did you mean 'heads'?"},
    {ATTENTION("{\"kind\": \"dot\", \"output\": [[1, 2]], \"heads\": [" HEAD "]}"), TL_ERR_PARSE,
     "attention.output[0]: expected 1 numbers, found 2"},
    {ONE_HEAD("3"), TL_ERR_PARSE, "attention.heads[0]: expected an object, found an integer"},
    {ONE_HEAD(HEAD ", {}"), TL_ERR_PARSE, "attention.heads[1]: expected A and V, or Q, K and V"},
    {ONE_HEAD("{\"A\": [[1, 0], [0, 1]]}"), TL_ERR_PARSE, "heads[0].V: expected an array"},
    {ONE_HEAD("{\"A\": [[1, 0]], \"V\": [[1, 0]]}"), TL_ERR_PARSE, "heads[0].A: expected 2 rows"},
    {ONE_HEAD("{\"A\": [[1, 0], [0]], \"V\": [[1, 0]]}"), TL_ERR_PARSE,
     "attention.heads[0].A[1]: expected 2 numbers, found 1"},
    {ONE_HEAD("{\"A\": [[1, 0], [0, 1]], \"V\": []}"), TL_ERR_PARSE, "heads[0].V: expected at"},
    {ONE_HEAD("{\"A\": [[1, 0], [0, 1]], \"V\": [[1, 0]], \"scale\": 2}"), TL_ERR_PARSE,
     "found A and scale"},
    {QKV(", \"A\": [[1, 0], [0, 1]]"), TL_ERR_PARSE, "found A and Q"},
    {ONE_HEAD("{\"Q\": [[1, 0]], \"V\": [[1, 0]]}"), TL_ERR_PARSE, "heads[0].K: expected an array"},
    {ONE_HEAD("{\"Q\": [[1, 0]], \"K\": [[1, 0], [0, 1]], \"V\": [[1, 0]]}"), TL_ERR_PARSE,
     "attention.heads[0].K: expected 1 rows, found 2"},
    {ONE_HEAD("{\"Q\": [[1, 0]], \"K\": [[1]], \"V\": [[1, 0]]}"), TL_ERR_PARSE,
     "attention.heads[0].K[0]: expected 2 numbers, found 1"},
    {QKV(", \"bq\": [1, 2]"), TL_ERR_PARSE, "heads[0].bq: expected 1 numbers, found 2"},
    {QKV(", \"bk\": []"), TL_ERR_PARSE, "heads[0].bk: expected 1 numbers, found 0"},
    {QKV(", \"bv\": [null]"), TL_ERR_PARSE, "heads[0].bv[0]: expected a number, found null"},
    {QKV(", \"scale\": true"), TL_ERR_PARSE, "heads[0].scale: expected a number, found true"},
    {QKV(", \"bQ\": [1]"), TL_ERR_PARSE, "unknown key 'bQ'; did you mean 'bq'?"},
    /* Domain. */
    {END("\"domain\": \"ball\""), TL_ERR_PARSE, "domain: expected an object, found a string"},
    {END("\"domain\": {\"kind\": \"cube\", \"radius\": 2}"), TL_ERR_PARSE, "found 'cube'"},
    {END("\"domain\": {\"kind\": \"box\", \"radius\": 2}"), TL_ERR_PARSE, "unknown key 'radius'"},
    {END("\"domain\": {\"kind\": \"box\", \"lower\": 0}"), TL_ERR_PARSE, "domain.upper: expected"},
    {END("\"domain\": {\"kind\": \"box\", \"lower\": 1, \"upper\": 0}"), TL_ERR_DOMAIN,
     "domain: lower[0]: expected at most upper[0] = 0, found 1"},
    {END("\"domain\": {\"kind\": \"box\", \"lower\": [0], \"upper\": 1}"), TL_ERR_PARSE,
     "domain.lower: expected 2 numbers, found 1"},
    {END("\"domain\": {\"kind\": \"box\", \"lower\": 0, \"upper\": 1}"), TL_ERR_DOMAIN,
     "tokens[1]: expected a token of the domain \"box\""},
    {END("\"domain\": {\"kind\": \"sphere\", \"radius\": 7}"), TL_ERR_DOMAIN,
     "expected a token of the domain \"sphere\""},
    {END("\"domain\": {\"kind\": \"layer-norm\", \"gain\": [1]}"), TL_ERR_PARSE,
     "domain.gain: expected 2 numbers, found 1"},
    {END("\"domain\": {\"kind\": \"layer-norm\", \"eps\": -1}"), TL_ERR_DOMAIN,
     "domain: eps: expected"},
    {END("\"domain\": {\"kind\": \"rms-norm\", \"shift\": 1}"), TL_ERR_PARSE,
     "domain.shift: expected an array"},
    {END("\"domain\": {\"kind\": \"space\"}"), TL_ERR_UNSUPPORTED,
     "expected kind \"l2\", found \"dot\""},
    {END("\"domain\": {\"kind\": \"space\", \"scale\": 0}"), TL_ERR_DOMAIN,
     "domain: scale: expected"},
    {END("\"domain\": {\"kind\": \"frobenius-ball\"}"), TL_ERR_PARSE, "domain.epsilon: expected"},
    {END("\"domain\": {\"kind\": \"frobenius-ball\", \"epsilon\": 0}"), TL_ERR_DOMAIN,
     "domain: epsilon: expected"},
    {END("\"domain\": {\"kind\": \"frobenius-ball\", \"epsilon\": 1, \"multiplicity\": [1, 1]}"),
     TL_ERR_PARSE, "expected beside domain.tokens only"},
    {END("\"domain\": {\"kind\": \"frobenius-ball\", \"epsilon\": 1, \"tokens\": [[9, 9], [9, "
         "9]]}"),
     TL_ERR_DOMAIN, "tokens: expected within 1 of those of the domain"},
    {END("\"domain\": {\"kind\": \"frobenius-ball\", \"epsilon\": 1, \"tokens\": [[9, 9]]}"),
     TL_ERR_DOMAIN, "tokens: expected 1 atoms and n = 1"},
    {END("\"domain\": {\"kind\": \"ball\"}"), TL_ERR_PARSE, "domain.radius: expected a number"},
    {END("\"domain\": {\"kind\": \"ball\", \"radius\": 0}"), TL_ERR_DOMAIN,
     "domain: radius: expected a positive finite number, found 0"},
    {END("\"domain\": {\"kind\": \"ball\", \"radius\": -2.5}"), TL_ERR_DOMAIN, "found -2.5"},
    {END("\"domain\": {\"kind\": \"ball\", \"raduis\": 2}"), TL_ERR_PARSE, "did you mean 'radius'"},
    {END("\"domain\": {\"kind\": \"ball\", \"radius\": 2, \"centre\": [1]}"), TL_ERR_PARSE,
     "domain.centre: expected 2 numbers, found 1"},
    {END("\"domain\": {\"kind\": \"ball\", \"radius\": 1.25}"), TL_ERR_DOMAIN,
     "tokens[1]: expected within 1.25 of the centre of the domain, found at 1.5"},
    {END("\"domain\": {\"kind\": \"ball\", \"radius\": 1.5, \"centre\": [2, 0]}"), TL_ERR_DOMAIN,
     "tokens[1]: expected within 1.5 of the centre of the domain, found at 2.5"},
    /* Witness. */
    {END("\"norm\": 2"), TL_ERR_PARSE, "norm: expected a string, found an integer"},
    {END("\"norm\": \"3\""), TL_ERR_PARSE, "norm: expected 2, inf, 1, inf2 or fro, found '3'"},
    {END("\"direction\": [[1, 0]]"), TL_ERR_PARSE, "direction: expected 2 rows, found 1"},
    {END("\"direction\": [[1, 0], [1]]"), TL_ERR_PARSE, "direction[1]: expected 2 numbers"},
    {END("\"direction_kind\": \"joint\""), TL_ERR_PARSE, "direction_kind: expected beside"},
    {END("\"direction\": [[1, 0], [1, 1]], \"direction_kind\": \"spilt\""), TL_ERR_PARSE,
     "direction_kind: expected joint or split, found 'spilt'"},
    {END("\"value\": \"1\""), TL_ERR_PARSE, "value: expected a number, found a string"},
    {END("\"value\": -1"), TL_ERR_PARSE, "value: expected a norm of at least 0, found -1"},
    {END("\"value\": 100, \"log10\": 3"), TL_ERR_PARSE, "log10: expected 2 as 'value' says"},
};

Test(problem, bad_documents_are_refused_with_their_place)
{
    scratch s;

    cr_assert(scratch_init(&s));
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const char *path = scratch_write(&s, "bad.json", refused[i].text, strlen(refused[i].text));
        tl_error err = {0};
        tl_problem p;
        tl_status status;
        cr_assert_not_null(path);
        status = tl_problem_read(path, &p, &err);
        cr_expect_eq(status, refused[i].status, "%s\nstatus %d: %s", refused[i].text, (int)status,
                     err.text);
        cr_expect(strstr(err.text, refused[i].fragment), "%s\n%s\nwithout: %s", refused[i].text,
                  err.text, refused[i].fragment);
        cr_expect(strncmp(err.text, path, strlen(path)) == 0, "no path: %s", err.text);
    }
    scratch_clear(&s);
}

Test(problem, every_cut_of_a_document_is_refused)
{
    static const char whole[] = END("\"multiplicity\": [1, 5], \"norm\": \"2\", \"value\": 1.5");
    tl_error err;
    tl_problem p;
    scratch s;

    cr_assert(scratch_init(&s));
    for (size_t size = 0; size < sizeof whole - 1; size++) {
        cr_assert_not_null(scratch_write(&s, "cut.json", whole, size));
        cr_expect_eq(tl_problem_read(s.path, &p, &err), TL_ERR_PARSE, "%zu bytes were taken", size);
    }
    cr_assert_not_null(scratch_write(&s, "cut.json", whole, sizeof whole - 1));
    cr_assert_eq(tl_problem_read(s.path, &p, &err), TL_OK, "%s", err.text);
    tl_problem_clear(&p);
    scratch_clear(&s);
}

Test(problem, unreadable_files)
{
    tl_error err;
    tl_problem p;
    scratch s;

    cr_assert(scratch_init(&s));
    cr_expect_eq(tl_problem_read(scratch_path(&s, "none.json"), &p, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "none.json: cannot be opened: No such file"), "%s", err.text);
    cr_expect_eq(tl_problem_read(s.directory, &p, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "reading failed: Is a directory"), "%s", err.text);
    scratch_clear(&s);
}

Test(problem, defaults_and_both_kinds_of_number)
{
    static const char text[] = QKV(", \"bk\": [3]");
    json_t *root = json_loads(text, 0, NULL);
    tl_problem p;

    cr_assert_eq(tl_problem_from_json(root, "here", &p, NULL), TL_OK);
    cr_expect_eq(p.layer->head[0].scale, 1.0);
    cr_expect_eq(p.layer->head[0].bk[0], 3.0);
    cr_expect_eq(p.layer->mask, TL_MASK_NONE);
    cr_expect_eq(p.measure->n, 2);
    cr_expect_eq(p.measure->x[3], 1.5);
    cr_expect(!p.has_norm && !p.has_value && !p.direction && !p.domain && !p.name);
    tl_problem_clear(&p);
    json_decref(root);
}

/* The word says the same as the rows. */
Test(problem, self_masked_is_rows_without_the_diagonal)
{
    static const char *const texts[] = {MASK("\"self-masked\""), MASK("[[0, 1], [1, 0]]")};
    tl_problem p;

    for (size_t t = 0; t < 2; t++) {
        json_t *root = json_loads(texts[t], 0, NULL);
        cr_assert_eq(tl_problem_from_json(root, "here", &p, NULL), TL_OK);
        cr_assert_eq(p.layer->mask, TL_MASK_GENERAL);
        for (size_t i = 0; i < 4; i++)
            cr_expect_eq(tl_layer_sees(p.layer, i / 2, i % 2), i / 2 != i % 2);
        tl_problem_clear(&p);
        json_decref(root);
    }
}
