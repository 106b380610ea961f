/* Causal mask: row i sees tokens 1..i. Proofs: README "Causal mask". */
#include <float.h>
#include <math.h>

#include "bounds/box.h"
#include "bounds/causal.h"
#include "bounds/internal.h"

/* ---- n = 2 ----------------------------------------------------------------------------------- */

typedef struct {
    double g, c;
} pair;

/* The norm of [[1, 0], [a, b]] over 1 + g + c, on a box of p, the weight of the first token in the
 * second row, and k = cos(u, b). */
static double pair_upper(const void *context, const double *lo, const double *hi)
{
    const pair *at = context;
    const double unit = 1 / (1 + at->g + at->c), g = at->g * unit, up = 1 + 64 * DBL_EPSILON;
    const double p0 = lo[0], p1 = hi[0], q0 = 1 - p1, q1 = 1 - p0;
    const double product0 = fmin(p0 * q1, p1 * q0);
    const double product1 = p0 <= 0.5 && p1 >= 0.5 ? 0.25 : fmax(p0 * q1, p1 * q0);
    /* Cross terms take the weight and the product at the end that makes them largest. */
    const double first = hi[1] > 0 ? hi[1] * p1 * product1 : hi[1] * p0 * product0;
    const double second = lo[1] < 0 ? -lo[1] * q1 * product1 : -lo[1] * q0 * product0;
    const double size = unit * unit + g;
    const double a2 =
        p1 * p1 * unit * unit + 4 * g * unit * first + 4 * g * g * product1 * product1;
    const double b2 =
        q1 * q1 * unit * unit + 4 * g * unit * second + 4 * g * g * product1 * product1;
    const double a = sqrt(fmax(a2, 0) + 64 * DBL_EPSILON * size) * up;
    const double b =
        (sqrt(fmax(b2, 0) + 64 * DBL_EPSILON * size) + 4 * product1 * at->c * unit) * up;

    return (hypot(unit - b, a) + hypot(unit + b, a)) / 2 * up;
}

double tl_bounds_log_causal_pair(double g, double c)
{
    const pair at = {g, c};
    const double least = 1 / (1 + exp(2 * g));
    const tl_bounds_box_problem problem = {.dim = 2,
                                           .lo = {least * (1 - 8 * DBL_EPSILON), -1},
                                           .hi = {1 - least * (1 - 8 * DBL_EPSILON), 1},
                                           .context = &at,
                                           .upper = pair_upper,
                                           .ceiling = (double)INFINITY,
                                           .tolerance = 1e-6,
                                           .budget = 4000};
    double log_unit = log1p(g + c);

    return tl_bounds_up(log(tl_bounds_box_max(&problem)) + log_unit, 2 * log_unit);
}

/* ---- every n --------------------------------------------------------------------------------- */

/* log of (1 + 2g) (sqrt(e^(2g) - 1) + 2). */
double tl_bounds_log_causal_closed(double g)
{
    double log_root = g > 0 ? g + log(-expm1(-2 * g)) / 2 : -(double)INFINITY;

    return tl_bounds_up(log1p(2 * g) + tl_bounds_log_add(log_root, log(2)), 2 * g + 2 * log1p(g));
}

/* log of the weighted Hardy bound tau_mf (Xi / tau_mf^2)^(a/2) / sqrt(a (1 - a)) at its best a. */
double tl_bounds_log_causal_hardy(double g)
{
    double log_tau2 = 2 * tl_bounds_log_tau_mean_field(g);
    double gap = fmax(4 * g + 2 * log1p(2 * g) - log_tau2, 0);
    double a = 2 / (gap + 2 + sqrt(gap * gap + 4)); /* any a in (0, 1) is a bound */
    double log_square = log_tau2 + a * gap - log(a) - log1p(-a);

    return tl_bounds_up(log_square / 2, 8 * g + 4 * log1p(2 * g));
}

/* ---- the bounds ------------------------------------------------------------------------------ */

/* log of (log_t + c). */
static double log_with(double log_t, double c)
{
    double log_sum = tl_bounds_log_add(log_t, log(c));

    return tl_bounds_up(log_sum, fabs(log_sum) + tl_bounds_finite(log(c)));
}

static double log_closed(const tl_bound_query *query, double g, double c)
{
    (void)query;
    return log_with(tl_bounds_log_causal_closed(g), c);
}

static double log_riccati(const tl_bound_query *query, double g, double c)
{
    double log_t = tl_bounds_log_causal_every(g, query->heads);

    return log_with(fmin(log_t, tl_bounds_log_causal_closed(g)), c);
}

/* Whether n rows alone, each at most (1 + g^2)^(1/2), come below half of the closed form, and so
 * below whatever holds for every n: a guess that saves effort. */
static bool is_short(double n, double g)
{
    return sqrt(n) * hypot(1, g) < exp(fmin(tl_bounds_log_causal_closed(g), 700)) / 2;
}

double tl_bounds_log_causal_sharp(double n, bool infinite, double g, double c, size_t share)
{
    const double most = 0x1p53; /* tokens; beyond, rows cannot be counted one by one */
    const bool counted = !infinite && n <= most && g <= most && c <= most;
    if (!infinite && n < 2) return 0;
    double log_t = fmin(tl_bounds_log_causal_closed(g), tl_bounds_log_causal_hardy(g));

    if (!counted || !is_short(n, g)) log_t = fmin(log_t, tl_bounds_log_causal_every(g, share));
    double least = log_with(log_t, c);
    if (!counted) return least;
    if (n < 3) least = fmin(least, tl_bounds_log_causal_pair(g, c));
    return fmin(least, tl_bounds_log_causal_rows(n, g, c, TL_BOUNDS_CAUSAL_STARTS / share));
}

static double log_sharp(const tl_bound_query *query, double g, double c)
{
    return tl_bounds_log_causal_sharp(query->n, query->infinite, g, c, query->heads);
}

static bool is_causal(const tl_bound_query *query, tl_bound_value *value)
{
    if (query->mask == TL_MASK_CAUSAL) return true;
    (void)tl_bounds_refuse(value, query->mask == TL_MASK_NONE
                                      ? "holds under a causal mask; without a mask there is sharp"
                                      : "holds under a causal mask; for others masked-sharp");
    return false;
}

static tl_status evaluate(const tl_bound_query *query, tl_bound_value *value,
                          double (*log_head)(const tl_bound_query *, double, double))
{
    tl_bounds_total total;
    double log_l = 0;

    if (!tl_bounds_is_dot(query, value) || !is_causal(query, value)) return TL_OK;
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads; h++) {
        double g, c;
        if (!tl_bounds_head_size(query, h, &g, &c, value)) return TL_OK;
        /* Heads alike are the rule where only norms are known. */
        if (!tl_bounds_head_repeats(query, h)) log_l = log_head(query, g, c);
        tl_bounds_total_add(&total, &query->head[h], log_l);
    }
    return tl_bounds_total_finish(&total, query, value);
}

static tl_status causal_closed(const tl_bound_query *query, tl_bound_value *value)
{
    return evaluate(query, value, log_closed);
}

static tl_status causal_riccati(const tl_bound_query *query, tl_bound_value *value)
{
    return evaluate(query, value, log_riccati);
}

static tl_status causal_sharp(const tl_bound_query *query, tl_bound_value *value)
{
    return evaluate(query, value, log_sharp);
}

const tl_bound tl_bound_causal_closed = {
    .key = "causal-closed",
    .title = "||V|| ((1 + 2g) (sqrt(exp(2g) - 1) + 2) + ||A|| r^2), any n",
    .citation = "tightlip, src/bounds/README.md \"Causal mask\"",
    .hypotheses = "dot product, causal mask; tokens in a ball about any centre, biases allowed",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = causal_closed,
};

const tl_bound tl_bound_causal_riccati = {
    .key = "causal-riccati",
    .title = "||V|| ((M (C1 + C2))^(1/2) + ||A|| r^2), any n: a profile of rows, its Riccati "
             "condition",
    .citation = "tightlip, src/bounds/README.md \"Causal mask\"",
    .hypotheses = "dot product, causal mask; tokens in a ball about any centre, biases allowed",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = causal_riccati,
};

const tl_bound tl_bound_causal_sharp = {
    .key = "causal-sharp",
    .title = "||V|| times the least of: weighted merge of row bounds, joint row (n = 2), and "
             "for every n row profile, Hardy weights, closed form",
    .citation = "tightlip, src/bounds/README.md \"Causal mask\"",
    .hypotheses = "dot product, causal mask; tokens in a ball about any centre, biases allowed; "
                  "n infinite: every n",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = causal_sharp,
};
