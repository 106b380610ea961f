/* The page over results: every row, texts escaped, identifiers of two plots apart. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/experiment_run.h"

#define SVG                                                                              \
    "<?xml version=\"1.0\"?>\n<svg xmlns=\"x\"><path id='gpPt0'/><g id=\"canvas\"><use " \
    "xlink:href='#gpPt0'/><path clip-path=\"url(#box)\"/></g></svg>"
#define MANIFEST                                                                              \
    "{\"schema\": \"tightlip/manifest/1\", \"name\": \"t\", \"file\": \"-my 'own'.cfg\", "    \
    "\"title\": \"a < b & \\\"c\\\"\", "                                                      \
    "\"question\": \"why?\", \"seed\": 7,"                                                    \
    "\"variables\": [{\"name\": \"n\"}, {\"name\": \"A\"}], \"config\": {\"paper\": \"so\"}," \
    "\"build\": {\"version\": \"1\"}}"
#define RECORDS                                                                              \
    "{\"cell\":0,\"variables\":{\"n\":2,\"A\":\"<x>\"},\"lower\":{\"log10\":0.30103,"        \
    "\"certified\":\"1.99\"},\"best_bound\":\"sharp\",\"ratio_log10\":0.1,\"bounds\":"       \
    "[{\"key\":\"sharp\",\"log10\":0.4},{\"key\":\"mine\",\"log10\":0.2,\"refuted\":true}]," \
    "\"witness\":{\"name\":\"</script>\"}}\n"                                                \
    "{\"cell\":1,\"variables\":{\"n\":3,\"A\":\"y\"},\"lower\":null,\"why\":\"no luck\","    \
    "\"bounds\":[],\"witness\":null}\n"                                                      \
    "{\"cell\":2,\"variables\":{},\"lower\":{\"log10\":1},\"best_bound\":\"sharp\","         \
    "\"bounds\":[{\"key\":\"sharp\",\"log10\":2}],\"witness\":null}\n"                       \
    "{\"cell\":3,\"variables\":{},\"lower\":{\"log10\":1},\"bounds\":[],\"witness\":null}\n"

static size_t count(const char *text, const char *word)
{
    size_t found = 0;

    for (; (text = strstr(text, word)) != NULL; text += strlen(word)) found++;
    return found;
}

Test(report, every_row_and_nothing_unescaped)
{
    scratch dir;
    tl_error err = {0};
    char where[SCRATCH_PATH_SIZE], out[SCRATCH_PATH_SIZE];

    cr_assert(scratch_init(&dir));
    (void)scratch_write(&dir, "manifest.json", MANIFEST, strlen(MANIFEST));
    (void)scratch_write(&dir, "plot.svg", SVG, strlen(SVG));
    const char *cells = scratch_write(&dir, "cells.ndjson", RECORDS, strlen(RECORDS));
    (void)snprintf(where, sizeof where, "%.*s", (int)(strrchr(cells, '/') - cells), cells);
    (void)snprintf(out, sizeof out, "%s", scratch_path(&dir, "report.html"));
    const char *const twice[] = {where, where};
    cr_assert_eq(tl_experiment_report(twice, 2, out, &err), TL_OK, "%s", err.text);
    char *page = results_text(where, "report.html");
    cr_assert(page);
    cr_expect_eq(count(page, "<tr>"), 2 * (1 + 4));
    cr_expect(strstr(page, "a &lt; b &amp; &quot;c&quot;"));
    cr_expect(strstr(page, "<td>&lt;x&gt;</td>"));
    cr_expect(strstr(page, "refutes</span> mine"));
    cr_expect(strstr(page, "failed</span>: no luck"));
    cr_expect_eq(count(page, "below every bound"), 2, "once, where there is one");
    cr_expect_eq(count(page, "download its witness"), 2);
    cr_expect(strstr(page, "The paper: so"));
    cr_expect(strstr(page, "tightlip run ./'-my '\\''own'\\''.cfg' --seed 7</code>"));
    /* A witness cannot end the element it stands in. */
    cr_expect_eq(count(page, "</script>"), 3);
    for (int plot = 0; plot < 2; plot++) {
        char id[40];
        (void)snprintf(id, sizeof id, "id='p%d-gpPt0'", plot);
        cr_expect_eq(count(page, id), 1);
        (void)snprintf(id, sizeof id, "href='#p%d-gpPt0'", plot);
        cr_expect_eq(count(page, id), 1);
        (void)snprintf(id, sizeof id, "url(#p%d-box)", plot);
        cr_expect_eq(count(page, id), 1);
    }
    free(page);
    (void)scratch_write(&dir, "cells.ndjson", "{}\n", 3);
    cr_assert_eq(tl_experiment_report(twice, 1, out, &err), TL_OK, "%s", err.text);
    page = results_text(where, "report.html");
    cr_assert(page);
    cr_expect_null(strstr(page, "download its witness"));
    free(page);
    (void)scratch_write(&dir, "cells.ndjson", "{}\n{", 4);
    cr_expect_eq(tl_experiment_report(twice, 1, out, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "cells.ndjson:2:1: string or '}' expected"), "%s", err.text);
    scratch_clear(&dir);
}
