/* Witness files of stars. */
#include <math.h>
#include <string.h>

#include "certify/star.h"

bool tl_certified_star_is(const json_t *document)
{
    const char *schema = json_string_value(json_object_get(document, "schema"));

    return schema && strcmp(schema, TL_STAR_SCHEMA) == 0;
}

tl_status tl_certified_star_read(json_t *document, const char *label, tl_certified_star *out,
                                 tl_error *err)
{
    const char *schema, *norm = "2";
    json_int_t n, centre;
    json_error_t why;

    *out = (tl_certified_star){.value = (double)NAN};
    if (json_unpack_ex(document, &why, JSON_STRICT, "{s:s, s:I, s:I, s:F, s:F, s?s, s?F}", "schema",
                       &schema, "n", &n, "centre", &centre, "a", &out->a, "rho", &out->rho, "norm",
                       &norm, "value", &out->value) != 0)
        return tl_fail(err, TL_ERR_PARSE, "%s: star: %s", label, why.text);
    if (strcmp(norm, "2") != 0)
        return tl_fail(err, TL_ERR_PARSE, "%s: norm: expected \"2\", found \"%s\"", label, norm);
    if (n < 2 || centre < 1 || centre >= n)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: centre: expected 1 to n - 1 tokens, found %lld of n = %lld", label,
                       (long long)centre, (long long)n);
    out->has_value = !isnan(out->value);
    out->n = (uint64_t)n;
    out->centre = (uint64_t)centre;
    return TL_OK;
}

json_t *tl_certified_star_write(const tl_certified_star *star)
{
    return json_pack("{s:s, s:I, s:I, s:f, s:f, s:s, s:f}", "schema", TL_STAR_SCHEMA, "n",
                     (json_int_t)star->n, "centre", (json_int_t)star->centre, "a", star->a, "rho",
                     star->rho, "norm", "2", "value", star->value);
}
