#include "experiment/norm_symbol.h"

#include <string.h>

static const struct {
    const char *symbol, *axis;
} norms[] = {
    [TL_NORM_2] = {TL_SYMBOL_2, TL_NORM_AXIS},
    [TL_NORM_INF] = {TL_SYMBOL_INF, "largest row sum of the Jacobian  " TL_SYMBOL_INF},
    [TL_NORM_1] = {TL_SYMBOL_1, "largest column sum of the Jacobian  " TL_SYMBOL_1},
    [TL_NORM_INF2] = {TL_SYMBOL_INF2, "largest token movement  " TL_SYMBOL_INF2},
    [TL_NORM_FRO] = {TL_SYMBOL_FRO, "Frobenius norm of the Jacobian  " TL_SYMBOL_FRO},
    [TL_NORM_JT_F] = {TL_SYMBOL_JT_F, TL_SYMBOL_JT_F "  (no norm)"},
};

const char *tl_norm_axis(tl_norm norm)
{
    return norms[norm].axis;
}

size_t tl_norm_marked(const char *text)
{
    for (size_t i = 0; i < sizeof norms / sizeof *norms; i++) {
        const char *symbol = norms[i].symbol;
        if (strchr(symbol, '_') && strncmp(text, symbol, strlen(symbol)) == 0)
            return strlen(symbol);
    }
    return 0;
}
