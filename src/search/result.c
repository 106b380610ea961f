#include <math.h>
#include <stdlib.h>

#include "search/internal.h"

double tl_objective_log(tl_objective objective, const tl_norm_result *norm)
{
    switch (objective) {
    case TL_OBJECTIVE_JOINT:
        return norm->log_joint;
    case TL_OBJECTIVE_SPLIT:
        return norm->log_split;
    case TL_OBJECTIVE_SPLIT_GAIN:
        return norm->log_split - norm->log_joint;
    default:
        return norm->log_value;
    }
}

void tl_search_result_clear(tl_search_result *result)
{
    tl_layer_free(result->layer);
    tl_measure_free(result->measure);
    free(result->direction);
    *result = (tl_search_result){.log_objective = -INFINITY, .stop = TL_STOP_FAILED};
}

void tl_search_reduce(tl_search_result *results, size_t count, tl_search_result *best)
{
    size_t winner = count;
    uint64_t evaluations = 0;
    for (size_t r = 0; r < count; r++) {
        evaluations += results[r].evaluations;
        if (!results[r].measure || isnan(results[r].log_objective)) continue;
        if (winner == count || results[r].log_objective > results[winner].log_objective) winner = r;
    }
    *best = (tl_search_result){.log_objective = -INFINITY, .stop = TL_STOP_FAILED};
    if (winner < count) {
        *best = results[winner];
        results[winner] = (tl_search_result){0};
    }
    for (size_t r = 0; r < count; r++) tl_search_result_clear(&results[r]);
    best->evaluations = evaluations;
}
