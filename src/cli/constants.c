#include "cli/constants.h"

#include <math.h>
#include <string.h>

tl_status tl_cli_check_constants(const tl_cli_call *call, const tl_cli_option *options,
                                 const tl_cli_constant *row, size_t rows, tl_kind kind,
                                 tl_error *err)
{
    for (size_t i = 0; i < rows; i++)
        if (call->value[row[i].option].given && row[i].kind != kind)
            return tl_fail(err, TL_ERR_ARGUMENT, "--%s: expected --attention %s",
                           options[row[i].option].name, tl_kind_name(row[i].kind));
    return TL_OK;
}

tl_status tl_cli_read_bias(double *bias, const tl_cli_value *given, uint64_t n, tl_error *err)
{
    *bias = 0;
    if (!given->given) return TL_OK;
    if (strcmp(given->text, "-log n") == 0) {
        if (n == 0) return tl_fail(err, TL_ERR_ARGUMENT, "--bias '-log n': expected a finite --n");
        *bias = -log((double)n);
        return TL_OK;
    }
    if (!tl_cli_parse_real(given->text, bias) || !isfinite(*bias))
        return tl_fail(err, TL_ERR_ARGUMENT, "--bias: expected a number or '-log n', found '%s'",
                       given->text);
    return TL_OK;
}
