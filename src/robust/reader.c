#include "robust/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tl_status tl_reader_open(tl_reader *r, const char *path, tl_error *err)
{
    *r = (tl_reader){.path = path, .err = err};
    const tl_status status = tl_weights_open(&r->file, path, err);
    if (status != TL_OK) return status;
    r->used = calloc(tl_weights_count(r->file) + 1, sizeof *r->used);
    return r->used ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
}

void tl_reader_close(tl_reader *r)
{
    tl_weights_close(r->file);
    free(r->used);
}

bool tl_reader_has(const tl_reader *r, const char *name)
{
    return tl_weights_has(r->file, name);
}

bool tl_reader_has_prefix(const tl_reader *r, const char *prefix)
{
    for (size_t i = 0; i < tl_weights_count(r->file); i++)
        if (strncmp(tl_weights_name(r->file, i), prefix, strlen(prefix)) == 0) return true;
    return false;
}

void tl_reader_mark(const tl_reader *r, const char *name)
{
    for (size_t i = 0; i < tl_weights_count(r->file); i++)
        if (strcmp(tl_weights_name(r->file, i), name) == 0) r->used[i] = true;
}

tl_status tl_reader_tensor(tl_reader *r, double **data, size_t *rows, size_t *cols,
                           const char *format, ...)
{
    char name[TL_TENSOR_NAME_SIZE], high[24] = "any", wide[24] = "any";
    size_t found_rows, found_cols;
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    const tl_status status = tl_weights_read(r->file, name, data, &found_rows, &found_cols, r->err);
    if (status != TL_OK) return status;
    tl_reader_mark(r, name);
    if (*rows) (void)snprintf(high, sizeof high, "%zu", *rows);
    if (*cols) (void)snprintf(wide, sizeof wide, "%zu", *cols);
    if ((*rows && *rows != found_rows) || (*cols && *cols != found_cols))
        return tl_fail(r->err, TL_ERR_SHAPE, "%s: tensor '%s': expected %s x %s, found %zu x %zu",
                       r->path, name, high, wide, found_rows, found_cols);
    *rows = found_rows;
    *cols = found_cols;
    return TL_OK;
}

tl_status tl_reader_number(tl_reader *r, double *out, double low, double high, const char *name)
{
    double *data = NULL;
    size_t one = 1, cols = 1;
    const tl_status status = tl_reader_tensor(r, &data, &one, &cols, "%s", name);

    if (status == TL_OK) *out = data[0];
    free(data);
    if (status == TL_OK && !(*out >= low && *out <= high))
        return tl_fail(r->err, TL_ERR_DOMAIN,
                       "%s: tensor '%s': expected a number from %g to %g, found %g", r->path, name,
                       low, high, *out);
    return status;
}

tl_status tl_reader_all_used(const tl_reader *r)
{
    for (size_t i = 0; i < tl_weights_count(r->file); i++)
        if (!r->used[i])
            return tl_fail(r->err, TL_ERR_ARGUMENT,
                           "%s: tensor '%s' is no part of the network (names: livit.h)", r->path,
                           tl_weights_name(r->file, i));
    return TL_OK;
}
