/* Parameters of the forms of L2 attention, in doubles: nothing here is certified, the forms look at
 * what they need of them. The maximum inside a form is taken over a grid. */
#include <math.h>

#include "certify/boxes.h"
#include "certify/l2_norm.h"
#include "tightlip/linalg.h"

enum { GRID = 160, PARAMETERS = 5 };

typedef struct {
    double k, log_n1, c, top;
    double p;                         /* 0: a parameter */
    double v[GRID], e[GRID], d[GRID]; /* delta = e^-v: E(delta), D(delta) */
} tables;

static double log_columns(const tables *t, double p, double e, double b)
{
    const double a = p * (1 - e) / 2, s = a * (2 - a), r = 1 - a, q = sqrt(p - 1);
    const double bracket = 1 + b / (2 * s) * (2 * q * r + (1 - q) * (1 - q)) +
                           (p - 1) * b * b * (r * r + 2) / (4 * s * s);

    return (log(bracket) - t->k / 2 * log1p(-r * r)) / p + (1 - 1 / p) * t->log_n1;
}

static void fill(tables *t, const tl_certify_l2_size *size)
{
    const double most = tl_certify_mid(size->e_most);

    *t = (tables){.k = (double)size->k,
                  .log_n1 = tl_certify_mid(size->log_n1),
                  .c = tl_certify_mid(size->c),
                  .top = tl_certify_mid(size->top)};
    const double end = t->log_n1 + log1p(exp(-t->log_n1));
    for (int i = 0; i < GRID; i++) {
        const double v = t->v[i] = end * i / (GRID - 1);
        const double e = i > 0 ? -expm1(-v) * (t->log_n1 - log(expm1(v))) : 0;
        t->e[i] = fmin(fmax(e, 0), most);
        t->d[i] = fmin(t->top, 2 * t->e[i] + exp(-v));
    }
}

static double value_b(const void *context, const double *z)
{
    const tables *t = context;
    const double x = exp(z[0]);
    double free = 0, fixed = 0;

    if (!(fabs(z[0]) < 40)) return (double)INFINITY;
    for (int i = 0; i < GRID; i++) {
        const double r = -expm1(-t->v[i]) + x * t->e[i];
        free = fmax(free, exp(-t->v[i]) * r * r);
        fixed = fmax(fixed, r);
    }
    free = t->log_n1 / 2 + log1p(8 / (x * x)) / 2 + log(free) / 2;
    return fmin(free, log_columns(t, 1, 0, 4 / x) + log(fixed));
}

tl_certify_l2_choice tl_certify_l2_choose_b(const tl_certify_l2_size *size)
{
    static const double step[] = {0.7};
    tables t;
    double z[PARAMETERS];

    fill(&t, size);
    z[0] = -log1p(t.c) / 2;
    (void)tl_simplex_minimise(value_b, &t, 1, z, step);
    return (tl_certify_l2_choice){.x = exp(z[0]), .p = 1};
}

/* z: log x, log(lambda/top^2 - 1), p. */
static double value_c(const void *context, const double *z)
{
    const tables *t = context;
    const double p = t->p > 0 ? t->p : z[2], power = 1 - 1 / p, x = exp(z[0]);
    const double lambda = t->top * t->top * (1 + exp(z[1]));
    double most = 0;

    if (!(fabs(z[0]) < 40 && fabs(z[1]) < 9 && p >= 1 && p <= 2)) return (double)INFINITY;
    for (int i = 0; i < GRID; i++) {
        const double r = -expm1(-t->v[i]) + x * t->e[i];
        most = fmax(most, exp(-power * t->v[i]) * r / (1 - t->d[i] * t->d[i] / lambda));
    }
    return lambda + most * exp(log_columns(t, p, 0, 4 / x));
}

tl_certify_l2_choice tl_certify_l2_choose_c(const tl_certify_l2_size *size)
{
    static const double step[] = {0.7, 0.7, 0.2}, start[] = {2, 1, 0};
    tables t;
    double best = (double)INFINITY, z[PARAMETERS];
    tl_certify_l2_choice choice = {.x = 1, .lambda = (double)INFINITY, .p = 2};

    fill(&t, size);
    for (int i = 0; i < 3; i++) {
        z[0] = -log1p(t.c) / 2;
        z[1] = -1;
        z[2] = 1.5;
        t.p = start[i];
        const double value = tl_simplex_minimise(value_c, &t, t.p > 0 ? 2 : 3, z, step);
        if (!(value < best)) continue;
        best = value;
        choice = (tl_certify_l2_choice){
            .x = exp(z[0]), .lambda = t.top * t.top * (1 + exp(z[1])), .p = t.p > 0 ? t.p : z[2]};
    }
    return choice;
}

/* z: log x, logit of 2e, log kappa, log(lambda/top^2 - 1), p. */
static tl_certify_l2_choice unfold(const tables *t, const double *z)
{
    return (tl_certify_l2_choice){.x = exp(z[0]),
                                  .lambda = t->top * t->top * (1 + exp(z[3])),
                                  .p = t->p > 0 ? t->p : z[4],
                                  .e = 0.5 / (1 + exp(-z[1])),
                                  .kappa = exp(z[2])};
}

static double value_d(const void *context, const double *z)
{
    const tables *t = context;
    const tl_certify_l2_choice at = unfold(t, z);
    const double alpha = 2 * t->top / at.lambda, end = t->log_n1 + 8;
    double most = 0;

    for (int i = 0; i < 4; i++)
        if (!(fabs(z[i]) < 12)) return (double)INFINITY;
    if (!(at.p >= 1 && at.p <= 2)) return (double)INFINITY;
    for (int far = 0; far < 2; far++) {
        const double m = far * t->c;
        const double limit = (1 - t->top / at.lambda + alpha * m) * exp(-t->log_n1);
        const double dip = fmax(log(alpha / limit), 0);
        /* The last point is where the denominator is least. */
        for (int i = 0; i <= GRID; i++) {
            const double s = i < GRID ? end * i / GRID : dip;
            const double bottom = limit * exp(s) - alpha * s + 1 + alpha * m;
            const double top =
                exp(-at.e * s) * (1 + at.x * ((1 + at.kappa) * s + (1 + 1 / at.kappa) * m));
            if (!(bottom > 0)) return (double)INFINITY;
            most = fmax(most, top / bottom);
        }
    }
    return at.lambda + most * exp(log_columns(t, at.p, at.e, 4 / at.x));
}

tl_certify_l2_choice tl_certify_l2_choose_d(const tl_certify_l2_size *size)
{
    static const double starts[][PARAMETERS] = {
        {-1, -0.5, 0, -1, 1}, {-2.5, 0.5, 0, -2.5, 1}, {-1, 0, 1, -1, 1.5}};
    static const double step[] = {0.7, 0.7, 0.7, 0.7, 0.2};
    tables t;
    double best = (double)INFINITY;
    tl_certify_l2_choice choice = {.x = 1, .lambda = (double)INFINITY, .p = 1};

    fill(&t, size);
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        double z[PARAMETERS];
        for (int j = 0; j < PARAMETERS; j++) z[j] = starts[i][j];
        const double value = tl_simplex_minimise(value_d, &t, PARAMETERS, z, step);
        if (!(value < best)) continue;
        best = value;
        choice = unfold(&t, z);
    }
    return choice;
}
