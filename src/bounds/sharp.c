/* The bounds of this project on a ball: schur and sharp. Proofs: README sections 4 and 6. */
#include <float.h>
#include <math.h>

#include "bounds/internal.h"

/* Theorem 4.4: tau^2 = exp(2l) max over p of [(1-p) + p e] [p (1 + 2g(1-p))^2 + e (1-p) (1 -
 * 2gp)^2], e = exp(-2l), in Bernstein coefficients divided by s^2 = (1 + 2g)^2. */
double tl_bounds_log_tau_mean_field_at(double g, double l)
{
    const double s = 1 + 2 * g, e = exp(-2 * l), t = (1 - 2 * g) / s;
    const double heavy[4] = {0, 1.0 / 3, 2 / (3 * s), 1 / s / s};
    const double light[4] = {1 / s / s, 2 * t / (3 * s), t * t / 3, 0};
    double cubic[4], b[5];

    for (int i = 0; i < 4; i++) cubic[i] = heavy[i] + e * light[i];
    for (int i = 0; i < 5; i++) {
        double kept = i < 4 ? cubic[i] * (4 - i) / 4 : 0;
        double raised = i > 0 ? cubic[i - 1] * i / 4 : 0;
        b[i] = kept + e * raised;
    }
    return tl_bounds_up(l + log(s) + log(tl_bounds_quartic_max(b)) / 2, 2 * l + 2 * log(s));
}

double tl_bounds_log_tau_mean_field(double g)
{
    return tl_bounds_log_tau_mean_field_at(g, g);
}

/* Proposition 4.5: n = 2, tau^2 = max over D in [0, tanh g] of 1 + D^2 + 2g D (1 - D^2) + g^2 (1 -
 * D^2)^2. Divided by s^2 = (1 + g)^2. */
double tl_bounds_log_tau_pair_at(double g, double l)
{
    const double s = 1 + g, top = tanh(l) * (1 + 4 * DBL_EPSILON), u = g / s;
    /* Powers of y in D = top y, then power basis to Bernstein. */
    const double power[5] = {1 / s / s + u * u, 2 * u / s * top,
                             (1 / s / s - 2 * u * u) * top * top, -2 * u / s * top * top * top,
                             u * u * top * top * top * top};
    static const double binomial[5][5] = {
        {1, 0, 0, 0, 0}, {1, 1, 0, 0, 0}, {1, 2, 1, 0, 0}, {1, 3, 3, 1, 0}, {1, 4, 6, 4, 1}};
    double b[5];

    for (int i = 0; i < 5; i++) {
        b[i] = 0;
        for (int k = 0; k <= i; k++) b[i] += power[k] * binomial[i][k] / binomial[4][k];
    }
    /* Signed terms: their rounding is relative to the largest, at most 2 each. */
    return tl_bounds_up(log(s) + log(tl_bounds_quartic_max(b) + 64 * DBL_EPSILON) / 2, 2 * log(s));
}

double tl_bounds_log_tau_pair(double g)
{
    return tl_bounds_log_tau_pair_at(g, g);
}

/* log of (1+g^2)^(1-b/2) n max_p p (1 + 2g(1-p))^b over p <= p_max, and its slope in b. */
static double schur_at(double n, bool infinite, double g, double l, double b, double *slope)
{
    const double log_w2 = 2 * log(hypot(1, g));
    double log_np = 2 * l, log_reach = log1p(2 * g);

    if (!infinite) {
        double rest = exp(log(n - 1) - 2 * l); /* (1 - p_max) / p_max */
        double inner = (0.5 / g + 1) / (1 + b);
        if (inner * (1 + rest) <= 1) {
            log_np = log(n) + log(inner);
            log_reach += log(b / (1 + b));
        } else {
            log_np = log(n) - log1p(rest);
            log_reach = log1p(2 * g * (rest / (1 + rest)));
        }
    }
    *slope = log_reach - log_w2 / 2;
    return (1 - b / 2) * log_w2 + log_np + b * log_reach;
}

double tl_bounds_log_tau_schur_at(double n, bool infinite, double g, double l)
{
    /* A maximum of affine functions of b is convex: bisection on the sign of the slope. Any b is a
     * bound, so nothing depends on how well this converges. */
    double low = 0, high = 2, slope;
    double best = schur_at(n, infinite, g, l, low, &slope);

    best = fmin(best, schur_at(n, infinite, g, l, high, &slope));
    for (int step = 0; step < 52; step++) {
        double middle = (low + high) / 2;
        best = fmin(best, schur_at(n, infinite, g, l, middle, &slope));
        if (slope > 0)
            high = middle;
        else
            low = middle;
    }
    return tl_bounds_up(best / 2, 2 * l + (infinite ? 0 : log(n)) + 4 * log1p(2 * g));
}

double tl_bounds_log_tau_schur(double n, bool infinite, double g)
{
    return tl_bounds_log_tau_schur_at(n, infinite, g, g);
}

double tl_bounds_log_merge(double log_tau, double g, double c)
{
    double unit = fmax(log_tau, log(c)), log_w = fmin(log(hypot(1, g)), log_tau);
    double t = exp(log_tau - unit), w = exp(log_w - unit), k = exp(log(c) - unit);
    double square = k * k + (t * t + 2 * k * w + t * sqrt(t * t + 4 * k * (k + w))) / 2;

    return tl_bounds_up(unit + log(square) / 2, fabs(unit));
}

/* Splits of the searches over three weights, over rows in the mean field and over two tokens,
 * shared by the heads. */
enum { SPLITS = 12000, JOINT_SPLITS = 36000, PAIR_SPLITS = 1800 };

/* Up to this g the three weights say nothing beyond rows with extreme logits. */
static const double extremes_suffice = 2;

static double log_schur(const tl_bound_query *query, double norm_a, double g, double c)
{
    (void)norm_a;
    if (!query->infinite && query->n < 2) return 0;
    double log_tau = tl_bounds_log_tau_schur(query->n, query->infinite, g);
    double log_sum = tl_bounds_log_add(log_tau, log(c));

    return tl_bounds_up(log_sum, fabs(log_sum));
}

/* log tau at finite n >= 2. */
static double log_row_tau(const tl_bound_query *query, double g, double l, bool coupled,
                          size_t share)
{
    const double n = query->n, log_n = log(n);
    double log_row = tl_bounds_log_row_at(n, g, l);

    if (n > 2 || query->biased || !coupled) {
        double ceiling = n * exp(log_row);
        double joint = tl_bounds_row_joint_at(n, g, l, 1, ceiling, JOINT_SPLITS / share);
        log_row = fmin(log_row, log(joint) - log_n);
    }
    if (g > extremes_suffice) {
        size_t splits = (g > 4 ? 2 * SPLITS : SPLITS) / share;
        log_row = fmin(log_row, tl_bounds_log_row_three_at(n, g, l, coupled, log_row, splits));
    }
    return tl_bounds_up((log_row + log_n) / 2, log_n + fabs(log_row));
}

static double log_tau_of(const tl_bound_query *query, double g, double l, bool coupled,
                         size_t share)
{
    double log_tau = fmin(tl_bounds_log_tau_mean_field_at(g, l),
                          tl_bounds_log_tau_schur_at(query->n, query->infinite, g, l));

    return query->infinite ? log_tau : fmin(log_tau, log_row_tau(query, g, l, coupled, share));
}

static double log_merged(const tl_bound_query *query, double g, double l, double c, bool coupled,
                         size_t share)
{
    const double n = query->infinite ? (double)INFINITY : query->n;
    const double log_tau = log_tau_of(query, g, l, coupled, share);

    return tl_bounds_log_merge_joint_at(n, log_tau, g, l, c, JOINT_SPLITS / share);
}

double tl_bounds_log_sharp_apart(const tl_bound_query *query, double g, double l, double c,
                                 size_t share)
{
    return !query->infinite && query->n < 2 ? 0 : log_merged(query, g, l, c, false, share);
}

double tl_bounds_log_sharp(const tl_bound_query *query, double norm_a, double g, double c,
                           size_t share)
{
    if (!query->infinite && query->n < 2) return 0;
    const double n = query->infinite ? (double)INFINITY : query->n;
    if (n > 2 || query->biased) return log_merged(query, g, g, c, true, share);
    const double log_tau = log_tau_of(query, g, g, true, share);
    /* Two tokens in a ball about the origin. */
    double about_origin =
        norm_a * query->radius_origin * query->radius_origin * (1 + 4 * DBL_EPSILON);
    return fmin(tl_bounds_log_merge(log_tau, g, c),
                tl_bounds_log_pair(about_origin, PAIR_SPLITS / share));
}

static double log_sharp(const tl_bound_query *query, double norm_a, double g, double c)
{
    return tl_bounds_log_sharp(query, norm_a, g, c, tl_bounds_distinct_heads(query));
}

static tl_status evaluate(const tl_bound_query *query, tl_bound_value *value,
                          double (*log_l)(const tl_bound_query *, double, double, double))
{
    tl_bounds_total total;
    double log_head = 0;

    if (!tl_bounds_is_dot(query, value) || !tl_bounds_is_unmasked(query, value)) return TL_OK;
    tl_bounds_total_start(&total);
    for (size_t h = 0; h < query->heads; h++) {
        double g, c;
        if (!tl_bounds_head_size(query, h, &g, &c, value)) return TL_OK;
        if (!tl_bounds_head_repeats(query, h)) log_head = log_l(query, query->head[h].norm_a, g, c);
        tl_bounds_total_add(&total, &query->head[h], log_head);
    }
    return tl_bounds_total_finish(&total, query, value);
}

static tl_status schur(const tl_bound_query *query, tl_bound_value *value)
{
    return evaluate(query, value, log_schur);
}

static tl_status sharp(const tl_bound_query *query, tl_bound_value *value)
{
    return evaluate(query, value, log_sharp);
}

const tl_bound tl_bound_schur = {
    .key = "schur",
    .title = "||V|| (min over b of a weighted Schur test, plus ||A|| r^2)",
    .citation = "tightlip, src/bounds/README.md section 4.2",
    .hypotheses = "dot product, no mask; tokens in a ball about any centre, biases allowed",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = schur,
};

const tl_bound tl_bound_sharp = {
    .key = "sharp",
    .title = "||V|| U(tau, w, ||A|| r^2), tau the best row bound",
    .citation = "tightlip, src/bounds/README.md sections 4 and 6",
    .hypotheses = "dot product, no mask; tokens in a ball about any centre, biases allowed",
    .norm = TL_NORM_2,
    .scope = TL_SCOPE_BALL,
    .provenance = TL_PROVENANCE_PROVEN,
    .evaluate = sharp,
};
