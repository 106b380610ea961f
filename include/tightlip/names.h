/* Names of the values of an enumeration, from its list: X(value, name, ..) each. */
#ifndef TIGHTLIP_NAMES_H
#define TIGHTLIP_NAMES_H

#include <string.h>

#include "tightlip/status.h"

#define TL_NAMES_FIRST(first, ...) first
#define TL_NAMES_CASE(value, ...) \
    case value:                   \
        return TL_NAMES_FIRST(__VA_ARGS__, 0);
#define TL_NAMES_TEST(value, ...)                            \
    if (strcmp(word, TL_NAMES_FIRST(__VA_ARGS__, 0)) == 0) { \
        *out = value;                                        \
        return TL_OK;                                        \
    }

/* const char *function(type value): "unknown" outside the list. */
#define TL_DEFINE_NAME(function, type, LIST) \
    const char *function(type value)         \
    {                                        \
        switch ((int)value) {                \
            LIST(TL_NAMES_CASE)              \
        }                                    \
        return "unknown";                    \
    }

/* tl_status function(const char *word, type *out): TL_ERR_ARGUMENT where no value is called so. */
#define TL_DEFINE_FROM_NAME(function, type, LIST)   \
    tl_status function(const char *word, type *out) \
    {                                               \
        LIST(TL_NAMES_TEST)                         \
        return TL_ERR_ARGUMENT;                     \
    }

#endif
