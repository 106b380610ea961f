#include "experiment/table.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Cuts the cell at *at out in place and moves past it; *last is set at the end of a row. */
static char *take_cell(char **at, int *last, int *open)
{
    char *cell = *at, *from = *at, *to = *at, *kept = *at;
    int quoted = *from == '"';

    if (quoted) from++;
    for (;; from++) {
        if (*from == '\0') {
            *open = quoted;
            break;
        }
        if (quoted && from[0] == '"' && from[1] == '"')
            from++;
        else if (quoted && from[0] == '"') {
            quoted = 0;
            kept = to; /* what stood in quotes is the cell's own */
            continue;
        } else if (!quoted && (*from == ',' || *from == '\n'))
            break;
        *to++ = *from;
    }
    *last = *from != ',';
    *at = *from ? from + 1 : from;
    if (to > kept && to[-1] == '\r') to--;
    *to = '\0';
    return cell;
}

static size_t count_char(const char *text, char c)
{
    size_t count = 0;

    for (; *text; text++) count += *text == c;
    return count;
}

static tl_status fill(tl_table *t, const char *path, size_t room, tl_error *err)
{
    char *at = t->text;
    size_t count = 0, line = 1;

    while (*at) {
        int last = 0, open = 0;
        size_t start = count;
        while (!last && count < room) t->cell[count++] = take_cell(&at, &last, &open);
        if (open) return tl_fail(err, TL_ERR_PARSE, "%s:%zu: a quote is not closed", path, line);
        if (line == 1) t->cols = count;
        if (count - start != t->cols)
            return tl_fail(err, TL_ERR_PARSE, "%s:%zu: expected %zu cells, found %zu", path, line,
                           t->cols, count - start);
        line++;
    }
    if (t->cols == 0) return tl_fail(err, TL_ERR_PARSE, "%s: expected a header, found none", path);
    t->rows = count / t->cols - 1;
    memcpy(t->name, t->cell, t->cols * sizeof *t->name);
    memmove(t->cell, t->cell + t->cols, t->rows * t->cols * sizeof *t->cell);
    return TL_OK;
}

tl_status tl_table_parse(tl_table *out, const char *path, char *text, tl_error *err)
{
    size_t room = count_char(text, ',') + count_char(text, '\n') + 2;
    tl_status s;

    *out = (tl_table){.text = text};
    out->cell = calloc(room, sizeof *out->cell);
    out->name = calloc(room, sizeof *out->name);
    s = out->cell && out->name ? fill(out, path, room, err)
                               : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    if (s) tl_table_clear(out);
    return s;
}

void tl_table_clear(tl_table *table)
{
    free(table->text);
    free(table->name);
    free(table->cell);
    *table = (tl_table){0};
}

size_t tl_table_column(const tl_table *table, const char *name)
{
    for (size_t i = 0; i < table->cols; i++)
        if (strcmp(table->name[i], name) == 0) return i;
    return SIZE_MAX;
}

const char *tl_table_at(const tl_table *table, size_t row, size_t col)
{
    return table->cell[row * table->cols + col];
}

double tl_table_number(const tl_table *table, size_t row, size_t col)
{
    const char *text = tl_table_at(table, row, col);
    char *end;
    double x = strtod(text, &end);

    return end == text || *end ? (double)NAN : x;
}
