/* How figures write the norms of the Jacobian. */
#ifndef EXPERIMENT_NORM_SYMBOL_H
#define EXPERIMENT_NORM_SYMBOL_H

#include <stddef.h>

#include "tightlip/norm.h"

/* A subscript that no character is stands behind _, as gnuplot's `enhanced` takes it. */
#define TL_SYMBOL_2 "‖J‖₂"
#define TL_SYMBOL_INF "‖J‖_∞"
#define TL_SYMBOL_1 "‖J‖_1"
#define TL_SYMBOL_INF2 "‖J‖_{∞,2}"
#define TL_SYMBOL_FRO "‖J‖"
#define TL_SYMBOL_JT_F "√|J′f|"
#define TL_NORM_AXIS "local Lipschitz constant  " TL_SYMBOL_2

/* Title of an axis with values in that norm. */
const char *tl_norm_axis(tl_norm norm);
/* Bytes of the symbol that text begins with, of those with _; 0: none stands there. */
size_t tl_norm_marked(const char *text);

#endif
