#include "experiment/internal.h"

#include <math.h>

double tl_record_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

static json_t *number(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

int tl_json_set_number(json_t *object, const char *key, double x)
{
    return json_object_set_new(object, key, number(x));
}

json_t *tl_json_rows(const double *x, size_t rows, size_t cols)
{
    json_t *list = json_array();

    for (size_t i = 0; i < rows; i++) {
        json_t *row = json_array();
        int bad = !row;
        for (size_t j = 0; !bad && j < cols; j++)
            bad = json_array_append_new(row, number(x[i * cols + j]));
        if (json_array_append_new(list, row) || bad) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

char *tl_json_line(const json_t *value)
{
    return json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(17));
}
