#include "support/drawing.h"

#include <criterion/criterion.h>
#include <string.h>

void drawing_collect(drawing *d, const char *manifest, const char *csv)
{
    tl_error err = {0};
    char *text = strdup(csv);

    d->manifest = json_loads(manifest, 0, NULL);
    cr_assert(d->manifest && text);
    cr_assert_eq(tl_table_parse(&d->table, "data.csv", text, &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_plot_collect(&d->plot,
                                 json_object_get(json_object_get(d->manifest, "config"), "plot"),
                                 &d->table, &err),
                 TL_OK, "%s", err.text);
}

void drawing_clear(drawing *d)
{
    tl_plot_clear(&d->plot);
    tl_table_clear(&d->table);
    json_decref(d->manifest);
}

char *drawing_script(const char *manifest, const char *csv)
{
    drawing d;
    tl_error err = {0};
    char *text = NULL;

    drawing_collect(&d, manifest, csv);
    cr_assert_eq(tl_plot_script(&d.plot, d.manifest, &text, &err), TL_OK, "%s", err.text);
    drawing_clear(&d);
    return text;
}

void expect_in(const char *text, const char *fragment)
{
    cr_expect(strstr(text, fragment), "\"%s\" is missing in\n%s", fragment, text);
}
