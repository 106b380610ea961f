/* Why no restart of a search has a value: which product of its inputs leaves the double range. Not
 * asked before: tokens near the origin may have a value where others have none. */
#include <math.h>

#include "search/internal.h"
#include "tightlip/linalg.h"

/* Differences of logits and of tokens reach some times the product itself. */
static const double TIMES = 16;

/* What is a product such as |A| R^2: its name, the symbol of the norm, the norm, their powers. */
typedef struct {
    const char *what, *name, *symbol;
    double norm;
    bool norm_squared, radius_squared;
} product;

static bool overflows(const product *p, double radius)
{
    const double once = p->norm * radius * TIMES;

    if (p->norm == 0) return false;
    return !isfinite(once) ||
           (p->radius_squared && !isfinite(once * (p->norm_squared ? once : radius)));
}

bool tl_search_overflow(const tl_search_problem *problem, tl_error *err)
{
    const tl_layer *layer = problem->layer;
    const double R = problem->domain->radius_origin;

    for (size_t h = 0; isfinite(R) && h < layer->heads; h++) {
        const tl_head *head = &layer->head[h];
        const double q = tl_nrm2(head->k * layer->d, head->Q);
        const double k = head->K ? tl_nrm2(head->k * layer->d, head->K) : 1;
        const double v = tl_nrm2(head->v * layer->d, head->V);
        const bool cosine = layer->kind == TL_KIND_COSINE, l2 = layer->kind == TL_KIND_L2;
        const product all[] = {
            {l2 ? "logits" : "squared queries", "|Q|^2 R^2", "|Q|", cosine || l2 ? q : 0, true,
             true},
            {"squared keys", "|K|^2 R^2", "|K|", cosine ? k : 0, true, true},
            {"squared values", "|V|^2 R^2", "|V|", cosine ? v : 0, true, true},
            {"logits", "|A| R^2", "|A|",
             cosine || l2       ? 0
             : problem->worst_a ? problem->norm_a
                                : fabs(head->scale) * q * k,
             false, true},
            {"values", "|V| R", "|V|", v, false, false},
        };
        for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
            if (!overflows(&all[i], R)) continue;
            (void)tl_fail(err, TL_ERR_NUMERIC,
                          "search: no restart has a value: the %s of head %zu leave the double "
                          "range, some %s with %s = %g and R = %g",
                          all[i].what, h, all[i].name, all[i].symbol, all[i].norm, R);
            return true;
        }
    }
    return false;
}
