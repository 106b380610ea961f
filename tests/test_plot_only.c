/* Plots of some rows of the data. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/drawing.h"
#include "support/experiment_run.h"

static size_t points_of(const char *only, const char *csv)
{
    char text[400];
    drawing d;
    size_t points = 0;

    (void)snprintf(text, sizeof text,
                   PLOT(AXES "\"log\": \"y\", \"y\": [\"lower\"], \"bounds\": [],"
                             "\"series\": [], \"only\": %s"),
                   only);
    drawing_collect(&d, text, csv);
    for (size_t i = 0; i < d.plot.curves; i++) points += d.plot.curve[i].count;
    drawing_clear(&d);
    return points;
}

Test(plot_only, only_some_rows)
{
    static const char csv[] = "n,head,layer,lower_log10\n1,all,0,1\n2,all,6,2\n3,0,0,3\n4,0,6,4\n"
                              "5,10,6,5\n";

    cr_expect_eq(points_of("{}", csv), 5);
    cr_expect_eq(points_of("{\"head\": [\"all\"]}", csv), 2);
    cr_expect_eq(points_of("{\"head\": [0.0]}", csv), 2);
    cr_expect_eq(points_of("{\"head\": [\"all\", 10.0]}", csv), 3);
    cr_expect_eq(points_of("{\"head\": [\"all\", 0.0], \"layer\": [6.0]}", csv), 2);
    cr_expect_eq(points_of("{\"head\": [1.0]}", csv), 0);
}

/* A name among the hidden rows makes no axis of names. */
Test(plot_only, hidden_rows_leave_the_axis_alone)
{
    drawing d;

    drawing_collect(&d,
                    PLOT(AXES "\"log\": \"x\", \"y\": [\"lower\"], \"bounds\": [], \"series\": [],"
                              "\"only\": {\"k\": [\"a\"]}"),
                    "n,k,lower_log10\n10,a,1\nword,b,1\n100,a,2\n");
    cr_expect(!d.plot.categories && d.plot.xlog && d.plot.labels == 0);
    cr_assert(d.plot.curves == 1 && d.plot.curve[0].count == 2);
    cr_expect_float_eq(d.plot.curve[0].x[1], 2, 1e-12);
    drawing_clear(&d);
}

#define EXPERIMENT                                                                                \
    "name = \"t\"; attention = { kind = \"dot\"; d = 1; A = \"identity\"; V = \"identity\"; };\n" \
    "tokens = ((1.0), (2.0)); sweep = { variable = \"A\"; values = (\"identity\", 2.0, 3); };\n"

static const struct {
    const char *only, *expected;
} resolved[] = {
    {"A = 2", "{\"A\":[2.0]}"},
    {"A = (\"identity\", 3.0)", "{\"A\":[\"identity\",3.0]}"},
};

Test(plot_only, values_are_those_of_the_sweep)
{
    for (size_t i = 0; i < sizeof resolved / sizeof *resolved; i++) {
        scratch dir;
        char text[600];
        cr_assert(scratch_init(&dir));
        (void)snprintf(text, sizeof text, EXPERIMENT "plot = { only = { %s; }; };",
                       resolved[i].only);
        tl_experiment *ex = experiment_from(&dir, text);
        char *found = json_dumps(json_object_get(ex->plot, "only"), JSON_COMPACT);
        cr_assert(found);
        cr_expect_str_eq(found, resolved[i].expected);
        free(found);
        tl_experiment_free(ex);
        scratch_clear(&dir);
    }
}

static const refusal refused[] = {
    {"{ A = 4; }", "a value that A takes in the sweep, found 4"},
    {"{ A = \"rotation\"; }", "a value that A takes in the sweep, found \"rotation\""},
    {"{ A = (); }", "expected a value, found none"},
    {"{ A = true; }", "only.A"},
    {"{ B = 1; }", "unknown setting \"B\""},
    {"2", "expected a group"},
};

Test(plot_only, what_no_row_has_is_refused)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        scratch dir;
        char text[600];
        tl_experiment *ex = NULL;
        tl_error err = {0};
        cr_assert(scratch_init(&dir));
        (void)snprintf(text, sizeof text, EXPERIMENT "plot = { only = %s; };", refused[i].text);
        const char *path = scratch_write(&dir, "x.cfg", text, strlen(text));
        cr_expect_neq(tl_experiment_load(&ex, path, &err), TL_OK, "row %zu", i);
        cr_expect(strstr(err.text, refused[i].why), "row %zu: %s", i, err.text);
        scratch_clear(&dir);
    }
}
