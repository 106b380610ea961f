#include <stdlib.h>
#include <string.h>

#include "experiment/run.h"
#include "tightlip/file.h"

/* Which value of the variable the cell has, and how many cells one step of it spans. */
static size_t position(const tl_experiment *ex, size_t cell, size_t variable, size_t *stride)
{
    *stride = 1;
    for (size_t i = ex->variables; i-- > variable + 1;) *stride *= ex->variable[i].count;
    return cell / *stride % ex->variable[variable].count;
}

/* Whether some number of copies of n tokens makes up the other n. */
static bool divides(const tl_value *n, const tl_value *other)
{
    if (n->kind != TL_VALUE_INTEGER || n->integer < 1) return false;
    return other->kind == TL_VALUE_TEXT ||
           (other->kind == TL_VALUE_INTEGER && other->integer % n->integer == 0);
}

/* Value i makes up value `to` by copies, and no value between does so from i. */
static bool is_largest_divisor(const tl_variable *n, size_t i, size_t to)
{
    if (!divides(&n->value[i], &n->value[to])) return false;
    for (size_t k = i + 1; k < to; k++)
        if (divides(&n->value[i], &n->value[k]) && divides(&n->value[k], &n->value[to]))
            return false;
    return true;
}

tl_status tl_warm_neighbours(const tl_experiment *ex, size_t cell, size_t **out, size_t *count)
{
    size_t room = 0;

    *out = NULL;
    *count = 0;
    for (size_t i = 0; i < ex->variables; i++) room += ex->variable[i].count;
    if (!ex->warm || room == 0) return TL_OK;
    *out = malloc(room * sizeof **out);
    if (!*out) return TL_ERR_MEMORY;
    for (size_t i = 0; i < ex->variables; i++) {
        const tl_variable *v = &ex->variable[i];
        bool is_n = strcmp(v->name, "n") == 0 && !ex->tokens;
        size_t stride, at = position(ex, cell, i, &stride);
        for (size_t k = 0; k < at; k++)
            if (k + 1 == at || (is_n && is_largest_divisor(v, k, at)))
                (*out)[(*count)++] = cell - (at - k) * stride;
    }
    return TL_OK;
}

tl_status tl_warm_witness(const char *line, size_t size, tl_problem **out, tl_error *err)
{
    json_error_t where;
    json_t *record = json_loadb(line, size, JSON_REJECT_DUPLICATES, &where);
    const json_t *document = json_object_get(record, "witness");
    tl_problem *witness = NULL;
    tl_status s = TL_OK;

    if (!record) s = tl_fail(err, TL_ERR_PARSE, "cells.ndjson: %s", where.text);
    if (json_is_object(document)) {
        witness = calloc(1, sizeof *witness);
        s = witness ? tl_problem_from_json(document, "witness", witness, err)
                    : tl_fail(err, TL_ERR_MEMORY, "out of memory");
    }
    json_decref(record);
    if (s) {
        free(witness);
        witness = NULL;
    }
    *out = witness;
    return s;
}

void tl_warm_witness_free(tl_problem *witness)
{
    if (witness) tl_problem_clear(witness);
    free(witness);
}

tl_status tl_warm_read(const tl_partial *partial, tl_cell_work *cell, tl_error *err)
{
    char *records = NULL;
    size_t size = 0;
    tl_status s = tl_partial_read(partial, &records, &size, err);
    const char *line = records, *end;

    for (size_t i = 0; !s && (end = strchr(line, '\n')); i++, line = end + 1) {
        cell[i].record = strndup(line, (size_t)(end - line));
        if (!cell[i].record) s = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", partial->path);
    }
    free(records);
    return s;
}
