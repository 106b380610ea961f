#include "experiment/internal.h"

#include <math.h>

int tl_json_set_number(json_t *object, const char *key, double x)
{
    return json_object_set_new(object, key, isfinite(x) ? json_real(x) : json_null());
}

char *tl_json_line(const json_t *value)
{
    return json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(17));
}
