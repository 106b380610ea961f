#include "tightlip/names.h"
#include "tightlip/search.h"

TL_DEFINE_NAME(tl_objective_name, tl_objective, TL_OBJECTIVE_LIST)
TL_DEFINE_FROM_NAME(tl_objective_from_name, tl_objective, TL_OBJECTIVE_LIST)
TL_DEFINE_FROM_NAME(tl_start_from_name, tl_start, TL_START_LIST)
TL_DEFINE_NAME(tl_stop_name, tl_stop, TL_STOP_LIST)

const char *tl_start_name(tl_start start)
{
    switch ((int)start) {
        TL_START_LIST(TL_NAMES_CASE)
    case TL_START_NEIGHBOUR:
        return "neighbour";
    }
    return "unknown";
}

#define TEXT(value, name, text) TL_NAMES_CASE(value, text)
#define TEXTS(X) TL_START_LIST(TEXT)
TL_DEFINE_NAME(tl_start_text, tl_start, TEXTS)
