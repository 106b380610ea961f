/* Names of the values of an enumeration, and back: functions made from one list of both.
 *
 *   #define COLOUR_LIST(X) X(RED, "red") X(BLUE, "blue", "like the sky")
 *   typedef enum { RED, BLUE } colour;
 *   TL_DEFINE_NAME(colour_name, colour, COLOUR_LIST)
 *   TL_DEFINE_FROM_NAME(colour_from_name, colour, COLOUR_LIST)
 *
 * A list is a macro that applies its argument to every (value, name, ..); what follows the name is
 * not looked at. A value with several names can be had from them, but has no name of its own: then
 * TL_DEFINE_NAME does not compile. `static` may stand in front. Functions are pure and can run at
 * the same time; names are constants that nobody frees. Cost: one comparison of strings a name. */
#ifndef TIGHTLIP_NAMES_H
#define TIGHTLIP_NAMES_H

#include <string.h>

#include "tightlip/status.h"

/* For functions that treat a value in a way of their own: the cases of a list in a switch over an
 * int, and its tests of `word` that leave the value in *out. */
#define TL_NAMES_FIRST(first, ...) first
#define TL_NAMES_CASE(value, ...) \
    case value:                   \
        return TL_NAMES_FIRST(__VA_ARGS__, 0);
#define TL_NAMES_TEST(value, ...)                            \
    if (strcmp(word, TL_NAMES_FIRST(__VA_ARGS__, 0)) == 0) { \
        *out = value;                                        \
        return TL_OK;                                        \
    }

/* const char *function(type value): the name, or "unknown" for a value outside the list. Never
 * NULL. */
#define TL_DEFINE_NAME(function, type, LIST) \
    const char *function(type value)         \
    {                                        \
        switch ((int)value) {                \
            LIST(TL_NAMES_CASE)              \
        }                                    \
        return "unknown";                    \
    }

/* tl_status function(const char *word, type *out): the value whose name is word (not NULL; exactly,
 * case and all). Errors: TL_ERR_ARGUMENT where none is, *out as it was. */
#define TL_DEFINE_FROM_NAME(function, type, LIST)   \
    tl_status function(const char *word, type *out) \
    {                                               \
        LIST(TL_NAMES_TEST)                         \
        return TL_ERR_ARGUMENT;                     \
    }

#endif
