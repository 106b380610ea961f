#include "experiment/table_compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    tl_table_check *out;
    const char *name;
    tl_table header;
    tl_cells_agree agree;
} comparison;

/* One line as cells; no cells where it is none. Takes a copy. */
static tl_status cells_of(tl_table *out, const comparison *c, const char *line, size_t size,
                          tl_error *err)
{
    tl_error why = {0};
    char *copy = strndup(line, size);
    tl_status s = copy ? tl_table_parse(out, c->name, copy, &why) : TL_ERR_MEMORY;

    if (s == TL_ERR_MEMORY) return tl_fail(err, s, "%s: out of memory", c->name);
    if (s) *out = (tl_table){0};
    return TL_OK;
}

static void note(tl_table_check *out, size_t line, const char *column, const char *expected,
                 const char *found)
{
    if (out->differing++ > 0) return;
    out->line = line;
    (void)snprintf(out->column, sizeof out->column, "%s", column);
    (void)snprintf(out->expected, sizeof out->expected, "%s", expected);
    (void)snprintf(out->found, sizeof out->found, "%s", found);
}

static void compare_cells(const comparison *c, size_t line, const tl_table *a, const tl_table *b)
{
    char one[40], other[40];

    if (a->cols != b->cols || a->cols == 0) {
        (void)snprintf(one, sizeof one, "%zu cells", a->cols);
        (void)snprintf(other, sizeof other, "%zu", b->cols);
        note(c->out, line, "", a->cols ? one : "other text", b->cols ? other : "no cells");
        return;
    }
    for (size_t i = 0; i < a->cols; i++)
        if (strcmp(a->name[i], b->name[i]) != 0 && !c->agree(&c->header, a, b, i))
            note(c->out, line, i < c->header.cols ? c->header.name[i] : "", a->name[i], b->name[i]);
}

static tl_status compare_lines(const comparison *c, size_t line, const char *expected, size_t size,
                               const char *found, size_t found_size, tl_error *err)
{
    tl_table a = {0}, b = {0};
    tl_status s = TL_OK;

    if (size == found_size && memcmp(expected, found, size) == 0) return TL_OK;
    s = cells_of(&a, c, expected, size, err);
    if (!s) s = cells_of(&b, c, found, found_size, err);
    if (!s) compare_cells(c, line, &a, &b);
    tl_table_clear(&a);
    tl_table_clear(&b);
    return s;
}

static size_t line_size(const char *text)
{
    return strcspn(text, "\n");
}

static const char *next_line(const char *text)
{
    text += line_size(text);
    return *text ? text + 1 : text;
}

tl_status tl_tables_compare(tl_table_check *out, const char *name, const char *expected,
                            const char *found, tl_cells_agree agree, tl_error *err)
{
    comparison c = {.out = out, .name = name, .agree = agree};
    tl_status s = cells_of(&c.header, &c, expected, line_size(expected), err);

    *out = (tl_table_check){0};
    for (size_t line = 1; !s && (*expected || *found); line++) {
        if (*expected && line > 1) out->rows++;
        if (!*found)
            note(out, line, "", "a row", "none");
        else if (!*expected)
            note(out, line, "", "no row", "one");
        else
            s = compare_lines(&c, line, expected, line_size(expected), found, line_size(found),
                              err);
        expected = next_line(expected);
        found = next_line(found);
    }
    tl_table_clear(&c.header);
    return s;
}
