/* The pictures of a results directory, and a gnuplot that fails. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/drawing.h"
#include "support/draws.h"
#include "support/experiment_run.h"

static const char basic[] = PLOT(AXES "\"log\": \"xy\", \"y\": [\"lower\", \"bounds\"],"
                                      "\"bounds\": [\"sharp\", \"wide\"], \"series\": []");

static void write_results(scratch *dir, const char *manifest, const char *csv)
{
    cr_assert(scratch_write(dir, "manifest.json", manifest, strlen(manifest)));
    cr_assert(scratch_write(dir, "data.csv", csv, strlen(csv)));
}

static const char basic_csv[] = "n,lower_log10,bound:sharp,bound:wide\n10,1,1.5,40\n100,2,2.5,50\n";

Test(plot_drawing, pictures_are_the_same_bytes_every_time)
{
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    write_results(&dir, basic, basic_csv);
    cr_assert_eq(tl_experiment_plot(dir.directory, &err), TL_OK, "%s", err.text);
    char *first = results_text(dir.directory, "plot.svg");
    cr_assert_eq(tl_experiment_plot(dir.directory, &err), TL_OK, "%s", err.text);
    char *second = results_text(dir.directory, "plot.svg");
    char *png = results_text(dir.directory, "plot.png");
    cr_assert(first && second && png);
    cr_expect_str_eq(first, second);
    expect_in(first, "bound sharp");
    cr_expect_eq(strncmp(png, "\x89PNG", 4), 0);
    cr_expect(!results_exist(dir.directory, "plot.svg.partial"));
    free(first);
    free(second);
    free(png);
    scratch_clear(&dir);
}

/* Groups beside plot have files of their own; a name that is no name of a file is left alone. */
Test(plot_drawing, several_plots_of_one_table)
{
    static const char group[] =
        "{\"x\": \"n\", \"xlabel\": \"n\", \"ylabel\": \"y\", \"log\": \"xy\","
        "\"y\": [\"lower\"], \"bounds\": [], \"series\": [], \"fit\": true}";
    char manifest[2000];
    scratch dir;
    tl_error err = {0};

    (void)snprintf(manifest, sizeof manifest,
                   "{" SCHEMA
                   "\"name\": \"t\", \"config\": {\"plot\": %s, \"plot_two\": %s, \"plots\": %s,"
                   "\"plot_../up\": %s}}",
                   group, group, group, group);
    cr_assert(scratch_init(&dir));
    write_results(&dir, manifest, "n,lower_log10\n1,0\n10,1\n100,2.5\n");
    cr_assert_eq(tl_experiment_plot(dir.directory, &err), TL_OK, "%s", err.text);
    cr_expect(results_exist(dir.directory, "plot.png"));
    cr_expect(results_exist(dir.directory, "plot_two.png"));
    cr_expect(results_exist(dir.directory, "fit_two.csv"));
    cr_expect(!results_exist(dir.directory, "plots.gp"));
    cr_expect(!results_exist(dir.directory, "../up.gp"));
    scratch_clear(&dir);
}

/* Names of series hold what a configuration gives them. */
Test(plot_drawing, fits_of_series_with_quotes)
{
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    write_results(&dir,
                  PLOT(AXES "\"log\": \"xy\", \"y\": [\"lower\"], \"bounds\": [],"
                            "\"series\": [\"k\"], \"fit\": true"),
                  "n,k,lower_log10\n1,\"a \"\"b\"\", c\",0\n10,\"a \"\"b\"\", c\",1\n"
                  "100,\"a \"\"b\"\", c\",2.5\n");
    cr_assert_eq(tl_experiment_plot(dir.directory, &err), TL_OK, "%s", err.text);
    char *fit = results_text(dir.directory, "fit.csv");
    cr_assert(fit);
    expect_in(fit, "\nlower,\"k = a \"\"b\"\", c\",3,");
    free(fit);
    scratch_clear(&dir);
}

Test(plot_drawing, missing_or_broken_inputs)
{
    scratch dir;
    tl_error err = {0};

    cr_assert(scratch_init(&dir));
    cr_expect_eq(tl_experiment_plot(dir.directory, &err), TL_ERR_IO);
    expect_in(err.text, "manifest.json: cannot be opened");
    write_results(&dir, "{", "n\n");
    cr_expect_eq(tl_experiment_plot(dir.directory, &err), TL_ERR_PARSE);
    write_results(&dir, "{}", "n\n");
    cr_expect_eq(tl_experiment_plot(dir.directory, &err), TL_ERR_PARSE);
    expect_in(err.text, "schema: expected \"tightlip/manifest/1\", found none");
    write_results(&dir, "{" SCHEMA "\"name\": \"t\", \"config\": {}}", "n\n");
    cr_expect_eq(tl_experiment_plot(dir.directory, &err), TL_ERR_PARSE);
    expect_in(err.text, "config.plot: expected an object");
    scratch_clear(&dir);
}

/* Tables that lack what is drawn: file, line and what was expected, and nothing is drawn. */
Test(plot_drawing, damaged_tables)
{
    static const struct {
        const char *csv, *said;
    } rows[] = {
        {"", "data.csv:1: expected the end of a line"},
        {"n,lower_log10,bound:sh", "data.csv:1: expected the end of a line"},
        {"n,lower_log10,bound:sharp,bound:wide\n", "data.csv:1: expected rows below the header"},
        {"n,lower_log9,bound:sharp,bound:wide\n10,1,2,3\n",
         "data.csv:1: expected a column \"lower_"},
        {"m,lower_log10,bound:sharp,bound:wide\n10,1,2,3\n", "data.csv:1: expected a column \"n\""},
        {"n,lower_log10,bound:sharp,bound:wide\n10,1,2,3\n9,1,2,x.88\n",
         "data.csv:3: bound:wide: expected a number, found \"x.88\""},
        {"n,lower_log10,bound:sharp,bound:wide\nx,1,2,3\n", "data.csv:2: n: expected a number"},
    };
    scratch dir;

    cr_assert(scratch_init(&dir));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tl_error err = {0};
        write_results(&dir, basic, rows[i].csv);
        cr_expect_eq(tl_experiment_plot(dir.directory, &err), TL_ERR_PARSE);
        expect_in(err.text, rows[i].said);
        cr_expect_eq(scratch_count(&dir), 2);
    }
    scratch_clear(&dir);
}

/* On a full disk gnuplot cuts the drawing short and ends with 0. */
Test(plot_drawing, gnuplot_that_runs_out_of_disk)
{
    static const char stand_in[] =
        "#!/bin/sh\neval \"$(echo \"$3\" | sed 's/ = /=/g')\"\n"
        "echo '<svg xmlns=\"x\"><path d=\"M0,0' > \"$svg\"\n: > \"$png\"\n";
    scratch dir, path;
    tl_error err = {0};
    char search[2 * SCRATCH_PATH_SIZE];

    cr_assert(scratch_init(&dir) && scratch_init(&path));
    write_results(&dir, basic, basic_csv);
    cr_assert(scratch_write(&path, "gnuplot", stand_in, strlen(stand_in)));
    cr_assert_eq(chmod(path.path, 0755), 0);
    (void)snprintf(search, sizeof search, "%s:%s", path.directory, getenv("PATH"));
    cr_assert_eq(setenv("PATH", search, 1), 0);
    cr_expect_eq(tl_experiment_plot(dir.directory, &err), TL_ERR_IO);
    expect_in(err.text, "cut short: no space left on the device?");
    cr_expect(!results_exist(dir.directory, "plot.svg"));
    scratch_clear(&dir);
    scratch_clear(&path);
}

/* A stand-in on PATH fails with a message; then there is no gnuplot at all. */
Test(plot_drawing, gnuplot_that_fails_or_is_missing)
{
    static const char stand_in[] =
        "#!/bin/sh\necho 'line 3: undefined' >&2\necho more >&2\nexit 7\n";
    scratch dir, path;
    tl_error err = {0};

    cr_assert(scratch_init(&dir) && scratch_init(&path));
    write_results(&dir, basic, basic_csv);
    cr_assert(scratch_write(&path, "gnuplot", stand_in, strlen(stand_in)));
    cr_assert_eq(chmod(path.path, 0755), 0);
    cr_assert_eq(setenv("PATH", path.directory, 1), 0);
    cr_expect_eq(tl_experiment_plot(dir.directory, &err), TL_ERR_IO);
    expect_in(err.text, "plot.gp: exit code 7: line 3: undefined more");
    cr_expect(!results_exist(dir.directory, "plot.svg"));
    cr_assert_eq(setenv("PATH", dir.directory, 1), 0);
    cr_expect_eq(tl_experiment_plot(dir.directory, &err), TL_ERR_IO);
    if (!under_memcheck()) {
        expect_in(err.text, "gnuplot: cannot be started: No such file or directory");
        expect_in(err.text, "install gnuplot-nox");
    }
    scratch_clear(&dir);
    scratch_clear(&path);
}

/* The only point of y over n = 10, in the units of the axis. */
static double height(const char *y, const char *log, const char *csv)
{
    char text[400];
    drawing d;

    (void)snprintf(text, sizeof text,
                   PLOT(AXES "\"log\": \"%s\", \"y\": [\"%s\"], \"bounds\": [], \"series\": []"),
                   log, y);
    drawing_collect(&d, text, csv);
    cr_assert(d.plot.curves == 1 && d.plot.curve[0].count == 1, "%s", y);
    const double found = d.plot.curve[0].y[0];
    drawing_clear(&d);
    return found;
}

/* Logarithms and values on axes of either kind; what is certified before what was found. */
Test(plot_drawing, numbers_in_the_units_of_the_axis)
{
    static const char csv[] =
        "n,lower_log10,lower_certified_log10,given_log10,atoms,joint_log10\n10,3,2,0.5,100,1\n";

    cr_expect_float_eq(height("joint", "y", csv), 1, 1e-14);
    cr_expect_float_eq(height("joint", "", csv), 10, 1e-12);
    cr_expect_float_eq(height("atoms", "y", csv), 2, 1e-14);
    cr_expect_float_eq(height("atoms", "", csv), 100, 1e-12);
    cr_expect_float_eq(height("lower", "y", csv), 2, 1e-14);
    cr_expect_float_eq(height("gain", "y", csv), 2.5, 1e-14);
}
