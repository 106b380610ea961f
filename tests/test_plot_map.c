/* A map: categories in order, one coloured and numbered cell for each cell of the sweep. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/drawing.h"
#include "support/experiment_run.h"

#define MANIFEST(text)                                                                           \
    "{" SCHEMA "\"name\": \"t\", \"question\": \"How far, 'really'?\", \"config\": {\"plot\": {" \
    "\"kind\": \"map\", \"x\": \"n\", \"y\": \"g\", \"xlabel\": \"tokens\", \"ylabel\": \"it's " \
    "g\","                                                                                       \
    "\"title\": \"{/Bold t}_x\", " text "}}}"

static const char csv[] = "g,n,lower_log10,proven_ratio_log10,atoms\n"
                          "4,inf,2.5,0,3\n4,2,0.5,0.05,2\n4,10000,1.5,,4\n"
                          "0.5,inf,0.25,0.02,1\n0.5,2,0.1,0.1,2\n0.5,10000,-3.2,28.457,3\n";

static char *script(const char *manifest_text, const char *data)
{
    json_t *manifest = json_loads(manifest_text, 0, NULL);
    tl_table table = {0};
    tl_error err = {0};
    char *text = NULL;

    cr_assert(manifest);
    cr_assert_eq(tl_table_parse(&table, "data.csv", strdup(data), &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_map_script(json_object_get(json_object_get(manifest, "config"), "plot"), &table,
                               manifest, &text, &err),
                 TL_OK, "%s", err.text);
    tl_table_clear(&table);
    json_decref(manifest);
    return text;
}

Test(plot_map, every_cell_stands_at_its_values)
{
    char *text = script(MANIFEST("\"values\": [\"proven-ratio\", \"lower\"]"), csv);

    /* Numbers in order whatever the rows' order; infinity last; powers of ten as such. */
    expect_in(text, "set xtics ('2' 0, '10⁴' 1, '∞' 2) noenhanced");
    expect_in(text, "set ytics ('0.5' 0, '4' 1) noenhanced");
    /* x y colour number text-colour: g = 4 lies above; a missing value has no colour. */
    expect_in(text, "$map0 << EOD\n"
                    "2 1 0 1.000 0x000000\n"
                    "0 1 0.05 1.122 0x000000\n"
                    "1 1 NaN – 0x777777\n"
                    "2 0 0.02 1.047 0x000000\n"
                    "0 0 0.1 1.259 0x000000\n"
                    "1 0 28.457 2.9e28 0xFFFFFF\n"
                    "EOD\n");
    expect_in(text, "$map1 << EOD\n2 1 2.5 316 0xFFFFFF\n");
    expect_in(text, "1 0 -3.2 6.3e-4 0x000000\n");
    expect_in(text, "set title 'best bound proven here over found value' noenhanced");
    expect_in(text, "set cbrange [0:28.457]");
    free(text);
}

Test(plot_map, colours_end_where_they_are_told_to)
{
    char *text =
        script(MANIFEST("\"cmax\": 1000.0, \"values\": [\"proven-ratio\", \"atoms\"]"), csv);

    expect_in(text, "1 0 3 2.9e28 0xFFFFFF\n");
    expect_in(text, "set cbrange [0:3]");
    expect_in(text, ", '≥ 1000' 3) font");
    cr_expect(!strstr(text, "'1000' 3"), "the last tic stands twice");
    /* Atoms are plain numbers, all of them below the end. */
    expect_in(text, "1 1 4 4 0xFFFFFF\n");
    expect_in(text, "set cbrange [0:4]");
    free(text);
}

Test(plot_map, narrow_ranges_have_tics_of_their_own)
{
    char *text = script(MANIFEST("\"values\": [\"proven-ratio\"]"),
                        "g,n,proven_ratio_log10\n1,2,0\n1,3,0.1461280357\n");

    expect_in(text, "set cbtics ('1' 0, '1.1' 0.04139268516, '1.2' 0.07918124605, "
                    "'1.3' 0.1139433523, '1.4' 0.1461280357) font");
    free(text);
    text = script(MANIFEST("\"values\": [\"proven-ratio\"]"),
                  "g,n,proven_ratio_log10\n1,2,0.25\n1,3,0.25000000000000006\n");
    expect_in(text, "set cbrange [0.25:0.35]");
    free(text);
}

Test(plot_map, names_keep_their_order_and_are_never_commands)
{
    char *text = script(MANIFEST("\"values\": [\"atoms\"]"),
                        "g,n,atoms\n1,\"it's `x`\",2\n1,a_b,3\n1,2,4\n");

    expect_in(text, "set xtics ('it''s `x`' 0, 'a_b' 1, '2' 2) noenhanced");
    expect_in(text, "set ylabel 'it''s g' noenhanced");
    expect_in(text, "set multiplot title '{/Bold t}_x' . \"\\n\" . 'How far, ''really''?' "
                    "noenhanced");
    free(text);
}

Test(plot_map, crowded_maps_have_colours_only)
{
    char data[1024] = "g,n,atoms\n";

    for (int i = 1; i <= 17; i++)
        (void)snprintf(data + strlen(data), sizeof data - strlen(data), "1,%d,2\n", i);
    char *text = script(MANIFEST("\"values\": [\"atoms\"]"), data);
    cr_expect(!strstr(text, "with labels"));
    *strrchr(data, '1') = '\0'; /* 16 of them */
    *strrchr(data, '\n') = '\0';
    free(text);
    text = script(MANIFEST("\"values\": [\"atoms\"]"), data);
    expect_in(text, "with labels");
    free(text);
}

Test(plot_map, gnuplot_draws_it_without_a_word)
{
    scratch dir;
    tl_error err = {0};
    static const char manifest[] = MANIFEST("\"values\": [\"proven-ratio\", \"lower\", \"atoms\"]");

    cr_assert(scratch_init(&dir));
    cr_assert(scratch_write(&dir, "manifest.json", manifest, strlen(manifest)));
    cr_assert(scratch_write(&dir, "data.csv", csv, strlen(csv)));
    cr_assert_eq(tl_experiment_plot(dir.directory, &err), TL_OK, "%s", err.text);
    char *first = results_text(dir.directory, "plot.svg");
    char *png = results_text(dir.directory, "plot.png");
    cr_assert(first && png);
    expect_in(first, "2.9e28");
    expect_in(first, "10⁴");
    cr_expect_eq(strncmp(png, "\x89PNG", 4), 0);
    cr_assert_eq(tl_experiment_plot(dir.directory, &err), TL_OK, "%s", err.text);
    char *second = results_text(dir.directory, "plot.svg");
    cr_expect_str_eq(first, second);
    free(first);
    free(second);
    free(png);
    scratch_clear(&dir);
}
