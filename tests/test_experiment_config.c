/* What an experiment file may not say, and what its refusal tells. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "support/draws.h"
#include "support/scratch.h"
#include "tightlip/experiment.h"

#define ATTENTION "attention = { kind = \"dot\"; d = 2; A = \"identity\"; V = \"identity\"; };\n"
#define DOMAIN "domain = { kind = \"ball\"; radius = 1.0; };\n"
#define SEARCH "search = { restarts = 1; evaluations = 10; };\n"
/* A document that is right but for its end; with another attention; with other tokens. */
#define END(text) "name = \"t\";\n" ATTENTION DOMAIN SEARCH text
#define LAYER(text) "name = \"t\";\n" DOMAIN SEARCH "attention = {" text "};"
#define TOKENS(text) "name = \"t\";\n" ATTENTION text
#define SWEEP(text) "name = \"t\";\n" ATTENTION SEARCH "domain = { kind = \"ball\"; };\n" text

typedef struct {
    const char *text;
    tl_status status;
    const char *fragment;
} row;

static const row refused[] = {
    /* Syntax, and what libconfig 1.5 would take wrongly. */
    {"name = \"t\"\nattention = {", TL_ERR_PARSE, ":2: syntax error"},
    {END("n = 2; n = 3;"), TL_ERR_PARSE, "duplicate setting name"},
    {END("n = 1000000000000;"), TL_ERR_PARSE, ":5: expected the suffix L"},
    {END("/* two\nlines */ n = 3000000000;"), TL_ERR_PARSE, ":6: expected the suffix L"},
    {END("n = 99999999999999999999L;"), TL_ERR_PARSE, "below 2^63, found 99999999999999999999L"},
    {END("\n @include \"x\""), TL_ERR_PARSE, ":6: expected a setting, found an include of x"},
    {"name = \"@\"; @include \"y\"", TL_ERR_PARSE, ":1: expected a setting, found an include of"},
    {LAYER("A = ([1e999]); V = 1.0;"), TL_ERR_PARSE, "A[0][0]: expected a finite number"},
    {LAYER("A = ([1.0, 2]); V = 1.0;"), TL_ERR_PARSE, "mismatched element type in array"},
    /* Top level. */
    {"", TL_ERR_PARSE, "expected a setting \"name\", found none"},
    {"name = \"a b\";", TL_ERR_ARGUMENT, "expected letters, digits, _ and -"},
    {"name = 3;", TL_ERR_PARSE, ":1: name: expected text, found 3"},
    {"name = \"t\";", TL_ERR_PARSE, "expected a setting \"attention\""},
    {END("finding = 3;"), TL_ERR_PARSE, ":5: finding: expected text, found 3"},
    {END("serch = {};"), TL_ERR_ARGUMENT,
     ":5: serch: unknown setting \"serch\"; did you mean "
     "\"search\"?"},
    {END("conjectures = ();"), TL_ERR_ARGUMENT, "unknown setting \"conjectures\""},
    {"name = \"t\";\n" ATTENTION, TL_ERR_PARSE, "expected search, or tokens to evaluate"},
    {"name = \"t\";\n" ATTENTION SEARCH, TL_ERR_PARSE, "expected a setting \"domain\""},
    {END("n = 0;"), TL_ERR_PARSE, "n: expected an integer from 1"},
    {END("n = -1;"), TL_ERR_PARSE, "found -1"},
    {END("n = 2.5;"), TL_ERR_PARSE, "found 2.5"},
    {END("n = \"many\";"), TL_ERR_ARGUMENT, "a positive integer or \"inf\", found \"many\""},
    {END("norm = \"3\";"), TL_ERR_ARGUMENT, "unknown norm of an experiment \"3\""},
    {END("norm = \"fro\";"), TL_ERR_UNSUPPORTED, "infinite in mean field"},
    {END("bounds = (\"shar\");"), TL_ERR_ARGUMENT, "did you mean \"sharp\"?"},
    {END("bounds = (\"sharp\", \"sharp\");"), TL_ERR_ARGUMENT, "named twice"},
    {END("bounds = ();"), TL_ERR_PARSE, "expected a text or a list of texts"},
    /* Attention. */
    {LAYER("kind = \"l2\"; A = 1.0; V = 1.0; d = 1;"), TL_ERR_UNSUPPORTED, "expected heads"},
    {LAYER("mask = \"causal\"; A = 1.0; V = 1.0; d = 1;"), TL_ERR_UNSUPPORTED,
     "expected a finite n, found \"inf\""},
    {LAYER("A = ([1.0, 0.0], [0.0]); V = 1.0;"), TL_ERR_SHAPE,
     "attention.A[1]: expected 2 numbers as in the first row, found 1"},
    {LAYER("A = (); V = 1.0;"), TL_ERR_PARSE, "expected rows such as"},
    {LAYER("A = ([]); V = 1.0;"), TL_ERR_SHAPE, "found an empty row"},
    {LAYER("A = ([1.0, 0.0]); V = \"identity\";"), TL_ERR_SHAPE, "expected A d x d"},
    {LAYER("A = ([1.0]); V = ([1.0, 2.0]);"), TL_ERR_SHAPE, "V 1 x 2"},
    {LAYER("A = \"identity\"; V = \"identity\";"), TL_ERR_ARGUMENT, "a setting d that gives"},
    {LAYER("d = 2; A = \"identiti\"; V = 1.0;"), TL_ERR_ARGUMENT, "did you mean \"identity\"?"},
    {LAYER("d = 3; A = \"rotation\"; V = 1.0;"), TL_ERR_SHAPE, "expected an even d"},
    {LAYER("d = 2; A = \"identity\"; V = \"worst\";"), TL_ERR_ARGUMENT, "stands only for A"},
    {LAYER("d = 2; A = \"identity\";"), TL_ERR_PARSE, "expected a setting \"V\""},
    {LAYER("d = 2; A = \"identity\"; V = 1.0; norm_a = -1.0;"), TL_ERR_DOMAIN, "norm_a >= 0"},
    {LAYER("A = ([1.0]); V = 1.0; norm_a = 2.0;"), TL_ERR_ARGUMENT, "beside a norm to scale"},
    {LAYER("d = 0; A = 1.0; V = 1.0;"), TL_ERR_PARSE, "attention.d: expected an integer from 1"},
    {LAYER("heads = ();"), TL_ERR_PARSE, "expected a list of heads"},
    {LAYER("heads = ({Q = ([1.0]); K = ([1.0],[1.0]); V = ([1.0]);});"), TL_ERR_SHAPE,
     "attention.heads[0]: expected Q and K of one shape, found 1 x 1 and 2 x 1"},
    {LAYER("heads = ({Q = ([1.0]); K = ([1.0]); V = ([1.0]); bq = [1.0, 2.0];});"), TL_ERR_SHAPE,
     "bq: expected 1 numbers"},
    {LAYER("heads = ({A = ([1.0]); V = ([1.0]);}, {A = ([1.0,0.0],[0.0,1.0]); V = ([1.0,0.0]);});"),
     TL_ERR_SHAPE, "attention.heads[1]: expected matrices with 1 columns, found 2"},
    {LAYER("heads = ({A = ([1.0]); V = ([1.0]);}); output = ([1.0, 2.0]);"), TL_ERR_SHAPE,
     "expected 1 columns, the rows of all V together, found 2"},
    {LAYER("heads = ({A = ([1.0]); V = ([1.0]); W = 1;});"), TL_ERR_ARGUMENT,
     "unknown setting \"W\""},
    {LAYER("module = { prefix = \"p\"; heads = 1; };"), TL_ERR_PARSE, "a setting \"file\""},
    {LAYER("module = { file = \"none.safetensors\"; prefix = \"p\"; heads = 1; };"), TL_ERR_IO,
     "none.safetensors"},
    /* Tokens. */
    {TOKENS("tokens = ([1.0, 0.0], [1.0]);"), TL_ERR_SHAPE, "tokens[1]: expected 2 numbers"},
    {TOKENS("tokens = ([1.0]);"), TL_ERR_SHAPE, "expected tokens of width 2 as in attention"},
    {TOKENS("tokens = {values = ([1.0, 0.0]); multiplicity = [0];};"), TL_ERR_PARSE,
     "tokens.multiplicity[0]: expected an integer from 1"},
    {TOKENS("tokens = {values = ([1.0, 0.0]); multiplicity = [1, 2];};"), TL_ERR_SHAPE,
     "expected 1 numbers, one per token, found 2"},
    {TOKENS("tokens = {values = ([1.0, 0.0]); multiplicity = [1]; mass = [1.0];};"),
     TL_ERR_ARGUMENT, "expected one of multiplicity, mass and log_mass"},
    {TOKENS("tokens = {values = ([1.0, 0.0], [0.0, 0.0]); mass = [0.5, 0.4];};"), TL_ERR_ARGUMENT,
     ": tokens.mass: the masses are expected to sum to 1, and sum to 0.9"},
    {TOKENS("tokens = {values = ([1.0, 0.0]); mass = [-1.0];};"), TL_ERR_DOMAIN, "0, found -1"},
    {TOKENS("tokens = {values = ([1.0, 0.0]); scale = \"R\";};"), TL_ERR_ARGUMENT,
     "the name of a swept number, found \"R\""},
    {TOKENS("tokens = ([2.0, 0.0]);" DOMAIN), TL_ERR_DOMAIN, "found token 0 outside"},
    {TOKENS("tokens = ([2.0, 0.0]); n = 3;"), TL_ERR_ARGUMENT, "comes from the tokens"},
    /* Domain. */
    {"name = \"t\"; domain = {kind = \"ball\"; radius = 0.0;};\n" ATTENTION SEARCH, TL_ERR_DOMAIN,
     "expected a radius above 0, found 0"},
    {"name = \"t\"; domain = {kind = \"ball\"; radius = -1;};\n" ATTENTION SEARCH, TL_ERR_DOMAIN,
     "found -1"},
    {"name = \"t\"; domain = {kind = \"cube\";};\n" ATTENTION SEARCH, TL_ERR_ARGUMENT,
     "unknown domain \"cube\""},
    {"name = \"t\"; domain = {kind = \"ball\";};\n" ATTENTION SEARCH, TL_ERR_PARSE,
     "or a sweep over R or g, found neither"},
    {"name = \"t\"; domain = {kind = \"ball\"; radius = 1.0; g = 2.0;};\n" ATTENTION SEARCH,
     TL_ERR_PARSE, "or a sweep over R or g, found both"},
    {"name = \"t\"; domain = {kind = \"ball\"; g = 0.0;};\n" ATTENTION SEARCH, TL_ERR_DOMAIN,
     "expected g and ||A|| above 0, found 0 and 1"},
    {"name = \"t\"; domain = {kind = \"enclosing\";};\n" ATTENTION SEARCH, TL_ERR_ARGUMENT,
     "expected tokens to enclose"},
    /* Sweep. */
    {END("sweep = { variable = \"n\"; values = (); };"), TL_ERR_PARSE, "found none"},
    {END("sweep = { variable = \"n\"; values = (2, 2); };"), TL_ERR_ARGUMENT, "found 2 twice"},
    {END("sweep = { variable = \"n\"; values = (2, 0); };"), TL_ERR_ARGUMENT,
     ":5: sweep variable n: expected a positive integer or \"inf\", found 0 (cell 1: n = 0)"},
    {END("sweep = { variable = \"n\"; from = 2; to = 8; };"), TL_ERR_PARSE, "\"points\""},
    {END("sweep = { variable = \"n\"; from = 0; to = 8; points = 3; scale = \"log\"; };"),
     TL_ERR_DOMAIN, "above 0 on a log scale"},
    {END("sweep = { variable = \"n\"; from = 1; to = 8; points = 3; scale = \"lag\"; };"),
     TL_ERR_ARGUMENT, "did you mean \"log\"?"},
    {END("sweep = { variable = \"n\"; from = 2; to = 8; points = 1; };"), TL_ERR_ARGUMENT,
     "at least 2 points"},
    {END("sweep = { variable = \"n\"; from = 2.5; to = 8.0; points = 3; };"), TL_ERR_ARGUMENT,
     "integer ends for \"n\""},
    {END("sweep = { variable = \"Rr\"; values = (1.0); };"), TL_ERR_ARGUMENT,
     ":5: sweep variable \"Rr\" is used nowhere"},
    {END("sweep = ({ variable = \"n\"; values = (2); }, { variable = \"n\"; values = (3); });"),
     TL_ERR_ARGUMENT, "swept twice"},
    {END("sweep = ({ variable = \"n\"; from = 1; to = 100000; points = 100000; },\n"
         "{ variable = \"atoms\"; from = 1; to = 100; points = 100; });"),
     TL_ERR_LIMIT, "at most 1000000 cells"},
    {SWEEP("sweep = { variable = \"R\"; values = (1.0, -2.0); };"), TL_ERR_DOMAIN,
     "found -2 (cell 1: R = -2)"},
    {SWEEP("sweep = { variable = \"R\"; values = (\"big\"); };"), TL_ERR_ARGUMENT,
     "sweep variable R: expected a number, found \"big\""},
    /* Search. */
    {"name = \"t\";\n" ATTENTION DOMAIN "search = { restart = 1; };", TL_ERR_ARGUMENT,
     "did you mean \"restarts\"?"},
    {"name = \"t\";\n" ATTENTION DOMAIN "search = { restarts = 0; };", TL_ERR_PARSE, "found 0"},
    {"name = \"t\";\n" ATTENTION DOMAIN "search = { atoms = 0; };", TL_ERR_PARSE, "found 0"},
    {"name = \"t\";\n" ATTENTION DOMAIN "search = { starts = (\"castn\"); };", TL_ERR_ARGUMENT,
     "did you mean \"castin\"?"},
    {"name = \"t\";\n" ATTENTION DOMAIN "search = { starts = (\"given\"); };", TL_ERR_ARGUMENT,
     "expected tokens beside the start \"given\""},
    {"name = \"t\";\n" ATTENTION DOMAIN "search = { warm = \"neighbors\"; };", TL_ERR_ARGUMENT,
     "search.warm: unknown warm \"neighbors\"; did you mean \"neighbours\"?"},
    {"name = \"t\";\n" ATTENTION DOMAIN "search = { warm = true; };", TL_ERR_PARSE, "search.warm"},
    {"name = \"t\";\n" ATTENTION DOMAIN "search = { objective = \"join\"; };", TL_ERR_ARGUMENT,
     "did you mean \"joint\"?"},
    {"name = \"t\";\n" ATTENTION DOMAIN "search = { mass_ratio = 0.0; };", TL_ERR_DOMAIN,
     "expected mass_ratio above 0"},
    /* Templates. */
    {TOKENS("tokens = { file = \"x${s\"; tensor = \"t\"; };"), TL_ERR_PARSE, "expected } after ${"},
    {TOKENS("tokens = { file = \"x${s}\"; tensor = \"t\"; };"), TL_ERR_ARGUMENT,
     "unknown sweep variable \"s\""},
    /* Plot. */
    {END("plot = { x = \"n\"; };"), TL_ERR_ARGUMENT, "unknown x \"n\""},
    {SWEEP("sweep = { variable = \"R\"; values = (1.0); }; plot = { log = \"z\"; };"),
     TL_ERR_ARGUMENT, "unknown log \"z\""},
    {SWEEP("sweep = { variable = \"R\"; values = (1.0); }; plot = { y = (\"lowr\"); };"),
     TL_ERR_ARGUMENT, "did you mean \"lower\"?"},
    {SWEEP("sweep = { variable = \"R\"; values = (1.0); }; plot = { y = (\"given\"); };"),
     TL_ERR_ARGUMENT, "\"given\": expected search and tokens"},
    {SWEEP("sweep = { variable = \"R\"; values = (1.0); }; plot = { formulas = ({title = \"t\";}); "
           "};"),
     TL_ERR_PARSE, "expected a setting \"y\""},
    {SWEEP("sweep = { variable = \"R\"; values = (1.0); }; plot = { fit = 1; };"), TL_ERR_PARSE,
     "expected true or false"},
    {SWEEP("sweep = { variable = \"R\"; values = (1.0); }; plot = { ymax = 0.0; };"), TL_ERR_DOMAIN,
     "expected a number above 0"},
};

Test(experiment_config, refusals_name_place_and_reason)
{
    scratch dir;
    cr_assert(scratch_init(&dir));
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        tl_experiment *ex = NULL;
        tl_error err = {0};
        const char *path =
            scratch_write(&dir, "refused.cfg", refused[i].text, strlen(refused[i].text));
        cr_assert(path);
        tl_status s = tl_experiment_load(&ex, path, &err);
        cr_expect_eq(s, refused[i].status, "row %zu: status %d (%s)\n%s", i, (int)s, err.text,
                     refused[i].text);
        cr_expect(strstr(err.text, refused[i].fragment), "row %zu: \"%s\" lacks \"%s\"", i,
                  err.text, refused[i].fragment);
        cr_expect(strstr(err.text, "refused.cfg") || strstr(err.text, "none.safetensors"),
                  "row %zu: no file in \"%s\"", i, err.text);
        cr_expect_null(ex, "row %zu", i);
        tl_experiment_free(ex);
    }
    scratch_clear(&dir);
}

static const struct {
    const char *text;
    size_t cells;
} accepted[] = {
    {END(""), 1},
    {END("n = \"inf\";"), 1},
    {END("n = 0x10;"), 1},
    {END("sweep = { variable = \"n\"; from = 2; to = 1000000000000L; points = 25; "
         "scale = \"log\"; };"),
     25},
    /* 1 .. 4 on 25 log points: four integers. */
    {END("sweep = { variable = \"n\"; from = 1; to = 4; points = 25; scale = \"log\"; };"), 4},
    {END("sweep = { variable = \"n\"; values = (2, 3, 1000000000000L, \"inf\"); };"), 4},
    {END("sweep = ({ variable = \"n\"; values = (2, 3); }, { variable = \"atoms\"; values = "
         "(2, 3, 4); });"),
     6},
    {END("sweep = { variable = \"A\"; values = (\"identity\", \"worst\", \"random\", -2.5); };"),
     4},
    {END("sweep = { variable = \"d\"; from = 1; to = 3; points = 3; };"), 3},
    {END("sweep = { variable = \"norm_a\"; values = (0.0, 1.0); };"), 2},
    {SWEEP("sweep = { variable = \"R\"; from = 1e-3; to = 1000.0; points = 7; scale = \"log\"; };"),
     7},
    {END("sweep = { variable = \"objective\"; values = (\"joint\", \"split\"); };"), 2},
    {LAYER("A = ([1.0, 0.0], [0.0, -0.5]); V = \"identity\";"), 1},
    {LAYER("A = {preset = \"random\"; seed = 7;}; V = ([1.0, 0.0]);"), 1},
    {LAYER("d = 4; A = \"rotation\"; V = 2.0;"), 1},
    {LAYER("heads = ({A = ([1.0]); V = ([2.0]);}, {Q = ([1.0],[2.0]); K = ([1.0],[2.0]); "
           "V = ([1.0]); bq = [0.5, 0.5]; scale = 0.5;}); output = ([1.0, 1.0]);"),
     1},
    {TOKENS("tokens = ([1.0, 0.0], [0.0, 1.0]); norm = \"fro\";"), 1},
    {TOKENS("tokens = {values = ([1.0, 0.0]); multiplicity = [1000000000000L];};"), 1},
    {TOKENS("tokens = {values = ([1.0, 0.0], [0.0, 0.0]); mass = [0.25, 0.75]; scale = \"R\";};"
            "sweep = { variable = \"R\"; values = (1.0, 2.0); };"),
     2},
};

Test(experiment_config, accepts)
{
    scratch dir;

    cr_assert(scratch_init(&dir));
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        tl_experiment *ex = NULL;
        tl_error err = {0};
        const char *path =
            scratch_write(&dir, "good.cfg", accepted[i].text, strlen(accepted[i].text));
        cr_assert(path);
        cr_assert_eq(tl_experiment_load(&ex, path, &err), TL_OK, "row %zu: %s", i, err.text);
        cr_expect_eq(tl_experiment_cells(ex), accepted[i].cells, "row %zu: %zu cells", i,
                     tl_experiment_cells(ex));
        cr_expect_str_eq(tl_experiment_name(ex), "t");
        tl_experiment_free(ex);
    }
    scratch_clear(&dir);
}

/* Every cell of every shipped file is built, trained weights where they are. */
Test(experiment_config, shipped_files_load)
{
    DIR *list = opendir("experiments");
    size_t count = 0;
    cr_assert(list, "run from the top directory");
    for (const struct dirent *entry; (entry = readdir(list));) {
        char path[512];
        tl_experiment *ex = NULL;
        tl_error err = {0};
        const size_t length = strcspn(entry->d_name, ".");
        if (strcmp(entry->d_name + length, ".cfg") != 0) continue;
        if (under_memcheck() && strstr(entry->d_name, "gpt2")) continue; /* half an hour */
        (void)snprintf(path, sizeof path, "experiments/%.200s", entry->d_name);
        const tl_status s = tl_experiment_load(&ex, path, &err);
        cr_expect(!s || strstr(err.text, "to get"), "%s", err.text);
        if (ex) cr_expect_eq(strncmp(tl_experiment_name(ex), entry->d_name, length), 0);
        tl_experiment_free(ex);
        count++;
    }
    closedir(list);
    cr_expect_geq(count, 9);
}

Test(experiment_config, unreadable_files)
{
    tl_experiment *ex = NULL;
    tl_error err = {0};
    scratch dir;
    cr_assert(scratch_init(&dir));
    cr_expect_eq(tl_experiment_load(&ex, "/nowhere/x.cfg", &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "/nowhere/x.cfg: cannot be opened"), "%s", err.text);
    cr_expect_eq(tl_experiment_load(&ex, "/tmp", &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "found a directory"), "%s", err.text);
    const char *path = scratch_write(&dir, "zero.cfg", "name\0 = 3;", 10);
    cr_expect_eq(tl_experiment_load(&ex, path, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "found a zero byte at offset 4"), "%s", err.text);
    scratch_clear(&dir);
}
