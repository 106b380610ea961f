/* Sweeps expand to the values that are written, and names in texts to the values of the cell. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/internal.h"
#include "support/experiment_run.h"

#define HEAD                                                                                    \
    "name = \"t\"; attention = { kind = \"dot\"; d = 2; A = \"identity\"; V = \"identity\"; };" \
    "domain = { kind = \"ball\"; radius = 1.0; }; search = { restarts = 1; };"

static const struct {
    const char *sweep, *values; /* in the text form that ${name} shows */
} sweeps[] = {
    {"variable = \"n\"; values = (2, 1000000000000L, \"inf\");", "2 1000000000000 inf "},
    {"variable = \"n\"; from = 1; to = 1000; points = 4; scale = \"log\";", "1 10 100 1000 "},
    {"variable = \"n\"; from = 1; to = 10; points = 10; scale = \"log\";", "1 2 3 4 5 6 8 10 "},
    {"variable = \"n\"; from = 8; to = 2; points = 4;", "8 6 4 2 "},
    {"variable = \"R\"; from = 0.0625; to = 1.0; points = 5; scale = \"log\";",
     "0.0625 0.125 0.25 0.5 1 "},
    {"variable = \"R\"; from = 0.1; to = 0.5; points = 5;", "0.1 0.2 0.3 0.4 0.5 "},
    {"variable = \"R\"; from = 1; to = 2; points = 3;", "1 1.5 2 "},
    {"variable = \"R\"; from = 1; to = 5; points = 3;", "1 3 5 "},
    {"variable = \"R\"; from = 1.0; to = 1e-3; points = 4; scale = \"log\";", "1 0.1 0.01 0.001 "},
};

Test(experiment_sweep, ranges_and_lists)
{
    scratch dir;

    cr_assert(scratch_init(&dir));
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        char text[1024], values[512] = "";
        (void)snprintf(text, sizeof text, HEAD "sweep = { %s };", sweeps[i].sweep);
        tl_experiment *ex = experiment_from(&dir, text);
        for (size_t c = 0; c < tl_experiment_cells(ex); c++) {
            size_t used = strlen(values);
            (void)snprintf(values + used, sizeof values - used, "%s ",
                           tl_experiment_value(ex, c, 0)->text);
        }
        cr_expect_str_eq(values, sweeps[i].values, "row %zu", i);
        tl_experiment_free(ex);
    }
    scratch_clear(&dir);
}

Test(experiment_sweep, the_last_variable_of_a_grid_varies_fastest)
{
    scratch dir;
    char text[256];
    static const char *const expected[] = {"n = 2, R = 0.5", "n = 2, R = 1", "n = 3, R = 0.5",
                                           "n = 3, R = 1"};

    cr_assert(scratch_init(&dir));
    tl_experiment *ex =
        experiment_from(&dir, HEAD "sweep = ({ variable = \"n\"; values = (2, 3); },"
                                   "{ variable = \"R\"; values = (0.5, 1.0); });");
    cr_assert_eq(tl_experiment_cells(ex), 4);
    for (size_t c = 0; c < 4; c++) {
        tl_experiment_describe(ex, c, text, sizeof text);
        cr_expect_str_eq(text, expected[c]);
    }
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

static const struct {
    const char *text, *expanded;
} templates[] = {
    {"", ""},           {"plain", "plain"},
    {"${n}", "3"},      {"block.n${n}.R${R}", "block.n3.R0.5"},
    {"${n}${n}", "33"}, {"$n $ {n} $", "$n $ {n} $"},
};

Test(experiment_sweep, templates)
{
    scratch dir;

    cr_assert(scratch_init(&dir));
    tl_experiment *ex =
        experiment_from(&dir, HEAD "sweep = ({ variable = \"n\"; values = (2, 3); },"
                                   "{ variable = \"R\"; values = (0.5, 1.0); });");
    bool used[2] = {false, false};
    tl_bindings b = {.experiment = ex, .cell = 2, .used = used};
    for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
        char *out = NULL;
        tl_error err = {0};
        cr_assert_eq(tl_bindings_expand(&b, NULL, templates[i].text, &out, &err), TL_OK, "%s",
                     err.text);
        cr_expect_str_eq(out, templates[i].expanded);
        cr_expect(i != 2 || (used[0] && !used[1]), "use is noted by name");
        free(out);
    }
    tl_experiment_free(ex);
    scratch_clear(&dir);
}

static const struct {
    const char *setting;
    double a[4];
} matrices[] = {
    {"A = \"identity\"; norm_a = 3.0;", {3, 0, 0, 3}},  {"A = \"minus-identity\";", {-1, 0, 0, -1}},
    {"A = \"rotation\"; norm_a = 2.0;", {0, -2, 2, 0}}, {"A = -0.5;", {-0.5, 0, 0, -0.5}},
    {"A = ([1.0, 2.0], [3.0, 4.0]);", {1, 2, 3, 4}},    {"A = ((1, 2.5), (3, 4));", {1, 2.5, 3, 4}},
};

Test(experiment_sweep, matrices)
{
    scratch dir;

    cr_assert(scratch_init(&dir));
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        char text[512];
        (void)snprintf(text, sizeof text,
                       "name = \"t\"; attention = { d = 2; V = \"identity\"; %s };"
                       "domain = { kind = \"ball\"; radius = 1.0; }; search = { restarts = 1; };",
                       matrices[i].setting);
        tl_experiment *ex = experiment_from(&dir, text);
        tl_cell *cell = experiment_cell(ex, 0);
        for (int k = 0; k < 4; k++)
            cr_expect_eq(cell->attention.layer->head[0].Q[k], matrices[i].a[k], "row %zu, %d", i,
                         k);
        tl_cell_free(cell);
        tl_experiment_free(ex);
    }
    scratch_clear(&dir);
}
