/* The network of livit.h in long double, written apart from src/robust, in plain loops. */
#ifndef SUPPORT_SLOW_LIVIT_H
#define SUPPORT_SLOW_LIVIT_H

#include "robust/network.h"

enum { SLOW_LIVIT_MOST = 256 };

/* features (net->features of them, at most SLOW_LIVIT_MOST entries of tokens and hidden units). */
void slow_livit_features(const tl_livit *net, const double *pixels, long double *features);

#endif
