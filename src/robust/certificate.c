/* One number is carried through the network: how far the exact tokens of a moved image can lie from
 * the computed tokens of the clean one. README sections 2 to 4. */
#include <float.h>
#include <math.h>

#include "robust/network.h"
#include "tightlip/linalg.h"

static const double RADIUS_MOST = 1e6;

tl_status tl_livit_bound(tl_livit_pass *pass, tl_error *err)
{
    const tl_livit *net = pass->net;

    tl_pass_rounding(pass);
    for (size_t s = 0; s < net->stages; s++) {
        if (net->stage[s].kind != TL_STAGE_ATTENTION) continue;
        tl_bound_query query = net->stage[s].query;
        query.measure = pass->measure[s];
        const tl_status status = tl_lofast_curve_at(&pass->curve[s], &query, true, err);
        if (status != TL_OK) return status;
    }
    return TL_OK;
}

/* Points within delta of x, at |x| >= norm, all outside the ball of radius r: seen from the origin
 * they lie within the angle arcsin(delta/norm), so their projections within that chord. */
static double ball_reach(double r, double norm, double delta)
{
    if (!(norm - delta > r * (1 + 4 * DBL_EPSILON))) return delta;
    const double sine = delta / norm;
    return fmin(delta, r * sqrt(2 / (1 + sqrt(1 - sine * sine))) * sine * (1 + 16 * DBL_EPSILON));
}

double tl_livit_reach(const tl_livit_pass *pass, double epsilon)
{
    const tl_livit *net = pass->net;
    const size_t size = net->n * net->d;
    const double shorter = 1 - (double)(size + 8) * DBL_EPSILON; /* a computed norm */
    double delta = net->patch_norm * epsilon + pass->rounding[0];

    for (size_t s = 0; s < net->stages; s++) {
        const tl_stage *stage = &net->stage[s];
        switch (stage->kind) {
        case TL_STAGE_BALL:
            delta = ball_reach(stage->size, tl_nrm2(size, pass->x + s * size) * shorter, delta);
            break;
        case TL_STAGE_CENTRE:
            delta *= stage->size;
            break;
        case TL_STAGE_ATTENTION:
            delta = tl_lofast_delta(&pass->curve[s], delta);
            break;
        case TL_STAGE_SLL:
            break;
        }
        delta = (delta + pass->rounding[s + 1]) * (1 + 8 * DBL_EPSILON);
    }
    if (net->features == net->d) delta /= sqrt((double)net->n);
    return delta * (1 + 8 * DBL_EPSILON);
}

bool tl_livit_certified(const tl_livit_pass *pass, size_t label, double epsilon)
{
    const size_t classes = pass->net->classes;
    const double delta = tl_livit_reach(pass, epsilon);

    for (size_t j = 0; j < classes; j++) {
        if (j == label) continue;
        const double need = pass->net->apart[label * classes + j] * delta + pass->head_rounding;
        /* Also false for NaN. */
        if (!(pass->logits[label] - pass->logits[j] > need * (1 + 8 * DBL_EPSILON))) return false;
    }
    return true;
}

double tl_livit_radius(const tl_livit_pass *pass, size_t label)
{
    const double close = 1e-6;
    double low = 0, high = 1e-3;

    if (!tl_livit_certified(pass, label, 0)) return 0;
    while (high < RADIUS_MOST && tl_livit_certified(pass, label, high)) {
        low = high;
        high *= 2;
    }
    /* Nothing below is worth a digit. */
    while (high - low > close * high && high > DBL_EPSILON) {
        const double middle = low + (high - low) / 2;
        if (tl_livit_certified(pass, label, middle))
            low = middle;
        else
            high = middle;
    }
    return low;
}
