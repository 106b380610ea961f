/* Certificates whose norm comes from the product in pairs of doubles against those in balls. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/draws.h"
#include "support/random_problem.h"
#include "tightlip/certify.h"
#include "tightlip/norm.h"
#include "tightlip/random.h"

enum { TOKENS = 40, WIDTH = 96, HEADS = 4, HEAD_WIDTH = 24 };

typedef struct {
    tl_problem problem;
    double *tokens, *direction;
} wide;

/* A layer as that of a network, biases and output matrix included, at its worst direction; size: of
 * the tokens. */
static void draw(wide *at, gsl_rng *rng, tl_mask mask, double size)
{
    const tl_random_layer_spec spec = {.d = WIDTH,
                                       .heads = HEADS,
                                       .width = HEAD_WIDTH,
                                       .head = -1,
                                       .std = 0.15,
                                       .output_std = 0.05,
                                       .seed = 5};
    const tl_random_tokens_spec normal = {.n = TOKENS, .d = WIDTH, .std = size, .seed = 6};
    double bias[2 * HEADS][HEAD_WIDTH];
    tl_head head[HEADS];
    tl_norm_result norm;
    tl_error err = {.text = ""};
    tl_layer *bare;

    *at = (wide){.direction = calloc(TOKENS * WIDTH, sizeof(double))};
    cr_assert_eq(tl_random_layer(&spec, TL_KIND_DOT, mask, &bare, &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_random_tokens(&normal, &at->tokens, &err), TL_OK, "%s", err.text);
    for (size_t h = 0; h < HEADS; h++) {
        head[h] = bare->head[h];
        head[h].bq = bias[2 * h];
        head[h].bk = bias[2 * h + 1];
        for (size_t i = 0; i < HEAD_WIDTH; i++) {
            bias[2 * h][i] = random_normal(rng);
            bias[2 * h + 1][i] = random_normal(rng);
        }
    }
    cr_assert_eq(tl_layer_alloc(&at->problem.layer, TL_KIND_DOT, mask, WIDTH, HEADS, head, bare->O,
                                WIDTH, &err),
                 TL_OK, "%s", err.text);
    tl_layer_free(bare);
    cr_assert_eq(
        tl_measure_alloc(&at->problem.measure, TOKENS, WIDTH, at->tokens, NULL, NULL, &err), TL_OK,
        "%s", err.text);
    cr_assert_eq(tl_norm_compute(at->problem.layer, at->problem.measure, TL_NORM_2, at->direction,
                                 &norm, &err),
                 TL_OK, "%s", err.text);
    at->problem.direction = at->direction;
    at->problem.direction_kind = TL_DIRECTION_JOINT;
    at->problem.has_value = true;
    at->problem.value = norm.value;
    at->problem.log10_value = log10(norm.value);
}

static void clear(wide *at)
{
    tl_layer_free(at->problem.layer);
    tl_measure_free(at->problem.measure);
    free(at->tokens);
    free(at->direction);
}

static tl_certificate certify(const wide *at, bool pairs)
{
    const tl_certify_settings settings = {.lower_only = true, .norm_only = true, .pairs = pairs};
    tl_error err = {.text = ""};
    tl_certificate c;

    cr_assert_eq(tl_certify_problem(&at->problem, &settings, &c, &err), TL_OK, "%s", err.text);
    return c;
}

/* log10 of what the lower end of the pairs lacks, relative; -400: nothing that a double sees. */
static double lacking(const tl_certificate *pairs, const tl_certificate *balls)
{
    long double low[2];

    for (int i = 0; i < 2; i++) low[i] = strtold((i ? balls : pairs)->norm_at_x.low.text, NULL);
    cr_expect(low[0] <= low[1] * (1 + 4 * 0x1p-63L), "%s above %s", pairs->norm_at_x.low.text,
              balls->norm_at_x.low.text);
    const double gap = (double)(1 - low[0] / low[1]);
    return gap > 0 ? log10(gap) : -400;
}

/* Both know twenty digits, or balls alone do where rows saturate: never above them, and with no
 * digit that is not known. */
Test(certify_pairs, certificates_agree_with_those_in_balls)
{
    static const struct {
        tl_mask mask;
        double size, within; /* log10 of what may be lacking: a digit after those of the text */
        size_t least, most;  /* characters */
    } rows[] = {
        {TL_MASK_NONE, 1, -18.5, 20, 21},
        {TL_MASK_CAUSAL, 1, -18.5, 20, 21},
        {TL_MASK_CAUSAL, 3000, -16, 17, 19},
        {TL_MASK_CAUSAL, 30000, -14.1, 16, 18},
    };
    gsl_rng *rng = draw_stream(7331);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i += draw_stride(2)) {
        wide at;
        draw(&at, rng, rows[i].mask, rows[i].size);
        tl_certificate pairs = certify(&at, true), balls = certify(&at, false);
        cr_expect(pairs.pairs && !balls.pairs, "row %zu", i);
        cr_expect(pairs.bits == TL_CERTIFY_PAIR_BITS && balls.bits == TL_CERTIFY_FIRST_BITS);
        cr_expect_eq(pairs.verdict, TL_VERDICT_CONFIRMED, "row %zu: %s", i, pairs.why);
        cr_expect_eq(balls.verdict, TL_VERDICT_CONFIRMED, "row %zu: %s", i, balls.why);
        const double gap = lacking(&pairs, &balls);
        const size_t length = strlen(pairs.norm_at_x.low.text);
        cr_expect(gap <= rows[i].within, "row %zu: 1e%.1f", i, gap);
        cr_expect(length >= rows[i].least && length <= rows[i].most, "row %zu: %s", i,
                  pairs.norm_at_x.low.text);
        tl_certificate_clear(&pairs);
        tl_certificate_clear(&balls);
        clear(&at);
    }
    gsl_rng_free(rng);
}

/* The record of such a cell, and a claim that its direction does not reach. */
Test(certify_pairs, claims_that_are_not_reached)
{
    gsl_rng *rng = draw_stream(7332);
    tl_error err = {.text = ""};
    tl_certified_lower lower;
    wide at;

    draw(&at, rng, TL_MASK_CAUSAL, 1);
    cr_assert_eq(tl_certify_lower(&at.problem, &lower, &err), TL_OK, "%s", err.text);
    tl_certificate c = certify(&at, true);
    cr_expect(lower.pairs && lower.bits == TL_CERTIFY_PAIR_BITS);
    cr_expect_str_eq(lower.lower.text, c.norm_at_x.low.text);
    tl_certificate_clear(&c);
    at.problem.value *= 1 + 1e-9;
    at.problem.log10_value = log10(at.problem.value);
    c = certify(&at, true);
    cr_expect(c.pairs);
    cr_expect_eq(c.verdict, TL_VERDICT_BELOW);
    tl_certificate_clear(&c);
    clear(&at);
    gsl_rng_free(rng);
}

/* Where rows saturate to less than 48 bits, balls answer. */
Test(certify_pairs, what_pairs_do_not_know_is_done_in_balls)
{
    gsl_rng *rng = draw_stream(7334);
    wide at;

    draw(&at, rng, TL_MASK_CAUSAL, 300000);
    tl_certificate c = certify(&at, true);
    cr_expect(!c.pairs && c.verdict == TL_VERDICT_CONFIRMED, "%s", c.why);
    tl_certificate_clear(&c);
    clear(&at);
    gsl_rng_free(rng);
}

/* Copies are not for pairs: balls answer, and say so. */
Test(certify_pairs, copies_are_done_in_balls)
{
    static const uint64_t copies[] = {2, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const tl_certify_settings settings = {.norm_only = true, .pairs = true};
    gsl_rng *rng = draw_stream(7333);
    tl_error err = {.text = ""};
    tl_certificate c;
    wide at;

    draw(&at, rng, TL_MASK_NONE, 1);
    tl_measure_free(at.problem.measure);
    cr_assert_eq(tl_measure_alloc(&at.problem.measure, 10, WIDTH, at.tokens, copies, NULL, &err),
                 TL_OK, "%s", err.text);
    at.problem.has_value = false;
    cr_assert_eq(tl_certify_problem(&at.problem, &settings, &c, &err), TL_OK, "%s", err.text);
    cr_expect(!c.pairs && c.bits >= TL_CERTIFY_FIRST_BITS);
    json_t *json = tl_certificate_to_json(&c, "copies");
    cr_expect_str_eq(json_string_value(json_object_get(json, "arithmetic")), "ball");
    json_decref(json);
    tl_certificate_clear(&c);
    clear(&at);
    gsl_rng_free(rng);
}
