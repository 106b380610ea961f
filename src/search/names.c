#include <string.h>

#include "tightlip/search.h"

const char *tl_objective_name(tl_objective objective)
{
    switch (objective) {
#define X(id, name, text) \
    case id:              \
        return name;
        TL_OBJECTIVE_LIST(X)
#undef X
    }
    return "?";
}

tl_status tl_objective_from_name(const char *name, tl_objective *objective)
{
#define X(id, word, text)          \
    if (strcmp(name, word) == 0) { \
        *objective = id;           \
        return TL_OK;              \
    }
    TL_OBJECTIVE_LIST(X)
#undef X
    return TL_ERR_ARGUMENT;
}

const char *tl_start_name(tl_start start)
{
    switch (start) {
#define X(id, name, text) \
    case id:              \
        return name;
        TL_START_LIST(X)
#undef X
    case TL_START_NEIGHBOUR:
        return "neighbour";
    }
    return "?";
}

const char *tl_start_text(tl_start start)
{
    switch (start) {
#define X(id, name, text) \
    case id:              \
        return text;
        TL_START_LIST(X)
#undef X
    case TL_START_COUNT:
        break;
    }
    return "?";
}

tl_status tl_start_from_name(const char *name, tl_start *start)
{
#define X(id, word, text)          \
    if (strcmp(name, word) == 0) { \
        *start = id;               \
        return TL_OK;              \
    }
    TL_START_LIST(X)
#undef X
    return TL_ERR_ARGUMENT;
}

const char *tl_stop_name(tl_stop stop)
{
    switch (stop) {
#define X(id, name) \
    case id:        \
        return name;
        TL_STOP_LIST(X)
#undef X
    }
    return "?";
}
