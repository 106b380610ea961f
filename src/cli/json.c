#include "cli/cli.h"

#include <math.h>

#include <gsl/gsl_math.h>

json_t *tl_cli_json_real(double x)
{
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *tl_cli_json_value(double log_value)
{
    double value = exp(log_value);

    /* A logarithm so low that the value rounds to zero is not a zero. */
    return value == 0 && log_value != -HUGE_VAL ? json_null() : tl_cli_json_real(value);
}

json_t *tl_cli_json_log10(double log_value)
{
    return tl_cli_json_real(log_value / M_LN10);
}

json_t *tl_cli_json_tokens(uint64_t n)
{
    if (n == 0) return json_string("inf");
    return n <= INT64_MAX ? json_integer((json_int_t)n) : json_real((double)n);
}

void tl_cli_json_append(json_t **array, json_t *item)
{
    if (*array == NULL) {
        json_decref(item);
    } else if (json_array_append_new(*array, item) != 0) { /* releases item, refuses NULL */
        json_decref(*array);
        *array = NULL;
    }
}

json_t *tl_cli_json_reals(const double *x, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++) tl_cli_json_append(&array, tl_cli_json_real(x[i]));
    return array;
}

json_t *tl_cli_json_rows(const double *x, size_t rows, size_t cols)
{
    json_t *array = json_array();

    for (size_t i = 0; i < rows; i++)
        tl_cli_json_append(&array, tl_cli_json_reals(x + i * cols, cols));
    return array;
}

json_t *tl_cli_json_domain(const tl_domain *domain, const char *from)
{
    json_t *centre =
        domain->centre != NULL ? tl_cli_json_reals(domain->centre, domain->d) : json_null();

    return json_pack("{s:s,s:o,s:o,s:s}", "kind", tl_domain_name(domain->kind), "radius",
                     tl_cli_json_real(domain->radius), "centre", centre, "from", from);
}

tl_status tl_cli_json_print(json_t *document)
{
    int failed;

    if (document == NULL) return TL_ERR_MEMORY;
    failed = json_dumpf(document, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    json_decref(document);
    /* A write error stays in stdout's own state and is reported once, at the end. */
    if (failed != 0 && !ferror(stdout)) return TL_ERR_MEMORY;
    putchar('\n');
    return TL_OK;
}
