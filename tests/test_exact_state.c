/* The state of a certified optimum: what is refused of one, what is left without one, and ends on
 * request. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/exact_layer.h"
#include "support/scratch.h"
#include "tightlip/file.h"

enum { SUM_SIZE = sizeof "fnv1a 0123456789abcdef\n" - 1 };

static tl_layer *minus_identity(void)
{
    const double a = -1, one = 1;

    return exact_layer(TL_KIND_DOT, 1, &a, &one, NULL);
}

/* The state after 200 boxes of three tokens in [-3, 3]; owned by the caller. */
static char *state_text(tl_exact_problem *problem, const char *path)
{
    char *text;
    size_t size;

    problem->boxes = 200;
    problem->state = path;
    tl_exact_result part = exact_run(problem);
    cr_assert(!part.finished);
    tl_exact_result_clear(&part);
    cr_assert_eq(tl_file_read(path, &text, &size, NULL), TL_OK);
    return text;
}

static const char *line_of(const char *text, size_t line)
{
    for (; line > 1; line--) text = strchr(text, '\n') + 1;
    return text;
}

/* Another word at its place (from 0 on) of that line (from 1 on). */
static char *with_word(const char *text, size_t line, size_t word, const char *other)
{
    char *out = malloc(strlen(text) + strlen(other) + 1);
    const char *from = line_of(text, line);

    cr_assert(out);
    for (; word > 0; word--) from = strchr(from, ' ') + 1;
    sprintf(out, "%.*s%s%s", (int)(from - text), text, other, from + strcspn(from, " \n"));
    return out;
}

static void seal(char *text)
{
    const size_t size = strlen(text) - SUM_SIZE;

    sprintf(text + size, "fnv1a %016" PRIx64 "\n", tl_file_hash_on(TL_FILE_HASH_BEGIN, text, size));
}

static void expect_refused(const tl_exact_problem *problem, const char *text, const char *says)
{
    tl_exact_result none;
    tl_error err = {0};

    cr_assert_eq(tl_file_write(problem->state, text, strlen(text), NULL), TL_OK);
    cr_expect_eq(tl_exact_run(problem, &none, &err), TL_ERR_PARSE, "%s", says);
    cr_expect(strstr(err.text, says), "expected '%s' in '%s'", says, err.text);
    cr_expect_null(none.x);
}

/* Line 3 is a box: its upper bound, the side to halve, lower and upper corner. */
static const struct {
    size_t line, word;
    const char *other, *says;
} words[] = {
    {3, 0, "0x1.6bf5ecdc74746p+2", NULL}, /* the lower bound: the box would be thrown away */
    {3, 0, "nan", "line 3: expected a number from 0 to inf, found 'nan'"},
    {3, 0, "-1", "found '-1'"},
    {3, 0, "", "line 3: expected an integer"},
    {3, 1, "3", "line 3: expected an integer from 0 to 2, found '3'"},
    {3, 1, "-1", "found '-1'"},
    {3, 2, "inf", "line 3: expected a number from -3 to 3, found 'inf'"},
    {3, 2, "-0x1.8000000000001p+1", "from -3 to 3, found '-0x1.8000000000001p+1'"},
    {3, 7, "-4", "to 3, found '-4'"}, /* below the lower corner */
    {3, 7, "4", "to 3, found '4'"},
    {3, 7, "0 0", "line 3: expected its end, found '0'"},
    {4, 5, "word", "line 4: expected a number"},
    {2, 0, "1", "line 4: expected an integer"}, /* fewer boxes than there are */
    {2, 0, "99999999999999999999", "line 2: expected an integer"},
    {2, 2, "inf", "line 2: expected a number from 0 to 1.7976931348623157e+308, found 'inf'"},
    {2, 4, "3.5", "line 2: expected a number from -3 to 3, found '3.5'"},
    {1, 5, "0x1p+2", "line 1: expected a state of this layer, n and radius"},
    {1, 0, "tightlip-exact-2", "line 1: expected 'tightlip-exact-3', found 'tightlip-exact-2'"},
};

Test(exact_state, edited)
{
    tl_layer *layer = minus_identity();
    tl_exact_problem problem = {.layer = layer, .n = 3, .radius = 3, .tolerance = 1e-6};
    scratch dir;
    cr_assert(scratch_init(&dir));
    char *text = state_text(&problem, scratch_path(&dir, "state"));

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char *edited = with_word(text, words[i].line, words[i].word, words[i].other);
        expect_refused(&problem, edited,
                       words[i].line + words[i].word > 1 ? "cut or changed" : words[i].says);
        seal(edited);
        if (words[i].says) expect_refused(&problem, edited, words[i].says);
        free(edited);
    }
    free(text);
    scratch_clear(&dir);
    tl_layer_free(layer);
}

Test(exact_state, cut_lengthened_or_another_byte)
{
    tl_layer *layer = minus_identity();
    tl_exact_problem problem = {.layer = layer, .n = 3, .radius = 3, .tolerance = 1e-6};
    scratch dir;
    cr_assert(scratch_init(&dir));
    char *text = state_text(&problem, scratch_path(&dir, "state"));
    const size_t size = strlen(text), first = strcspn(text, " ") + 1;
    char *other = calloc(size + 2, 1);

    cr_assert(other);
    for (size_t left = first; left < size; left += 1 + size / 97) {
        memcpy(other, text, left);
        other[left] = '\0';
        expect_refused(&problem, other, "cut or changed");
    }
    for (size_t at = first; at < size; at += 1 + size / 97) {
        memcpy(other, text, size + 1);
        other[at] ^= 1;
        expect_refused(&problem, other, "cut or changed");
    }
    sprintf(other, "%s\n", text);
    expect_refused(&problem, other, "cut or changed");
    expect_refused(&problem, "", "found ''");
    free(other);
    free(text);
    scratch_clear(&dir);
    tl_layer_free(layer);
}

/* Boxes of which nothing is known yet have an infinite bound, and are gone on with. */
Test(exact_state, with_boxes_not_bounded_yet)
{
    const double a = 1000, one = 1;
    tl_layer *layer = exact_layer(TL_KIND_DOT, 1, &a, &one, NULL);
    scratch dir;
    cr_assert(scratch_init(&dir));
    tl_exact_problem problem = {.layer = layer, .n = 3, .radius = 100, .tolerance = 1e-6};

    problem.boxes = 600;
    tl_exact_result straight = exact_run(&problem);
    problem.state = scratch_path(&dir, "state");
    problem.boxes = 10;
    tl_exact_result part = exact_run(&problem);
    cr_assert_eq(part.upper, INFINITY);
    problem.boxes = 600;
    tl_exact_result resumed = exact_run(&problem);
    cr_expect_eq(straight.lower, resumed.lower);
    cr_expect_eq(straight.upper, resumed.upper);
    tl_exact_result_clear(&straight);
    tl_exact_result_clear(&part);
    tl_exact_result_clear(&resumed);
    scratch_clear(&dir);
    tl_layer_free(layer);
}

/* The enclosure is there even when its state has nowhere to go; also where smaller problems come
 * first. */
Test(exact_state, not_writable)
{
    const double one = 1;
    tl_layer *dot = minus_identity(), *l2 = exact_layer(TL_KIND_L2, 1, &one, &one, NULL);
    const tl_exact_problem rows[] = {
        {.layer = dot, .n = 3, .radius = 3, .tolerance = 1e-6, .boxes = 200},
        {.layer = l2, .n = 3, .radius = INFINITY, .tolerance = 1e-2},
    };
    scratch dir;
    cr_assert(scratch_init(&dir));

    for (size_t i = 0; i < 2; i++) {
        tl_exact_problem problem = rows[i];
        tl_exact_result plain = exact_run(&problem), found;
        tl_error err = {0};
        problem.state = scratch_path(&dir, "absent/state");
        cr_expect_eq(tl_exact_run(&problem, &found, &err), TL_ERR_IO);
        cr_expect(strstr(err.text, "absent/state"), "%s", err.text);
        cr_assert(found.x && found.hull);
        cr_expect_eq(found.lower, plain.lower);
        cr_expect_eq(found.upper, plain.upper);
        cr_expect_eq(found.finished, plain.finished);
        tl_exact_result_clear(&plain);
        tl_exact_result_clear(&found);
    }
    scratch_clear(&dir);
    tl_layer_free(dot);
    tl_layer_free(l2);
}

/* Stopped before it begins: wide but proven, and its state leads to the same numbers. */
Test(exact_state, stopped)
{
    tl_layer *layer = minus_identity();
    tl_exact_problem problem = {.layer = layer, .n = 3, .radius = 2, .tolerance = 1e-3};
    scratch dir;
    cr_assert(scratch_init(&dir));
    volatile int stop = 1;

    tl_exact_result straight = exact_run(&problem);
    problem.state = scratch_path(&dir, "state");
    problem.stop = &stop;
    tl_exact_result part = exact_run(&problem);
    cr_expect(!part.finished && part.looked_at == 1);
    cr_expect(part.lower <= straight.lower && straight.upper <= part.upper);
    stop = 0;
    tl_exact_result resumed = exact_run(&problem);
    cr_expect_eq(straight.lower, resumed.lower);
    cr_expect_eq(straight.upper, resumed.upper);
    cr_expect_eq(straight.looked_at, resumed.looked_at);
    tl_exact_result_clear(&straight);
    tl_exact_result_clear(&part);
    tl_exact_result_clear(&resumed);
    scratch_clear(&dir);
    tl_layer_free(layer);
}
