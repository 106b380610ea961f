/* The least time of one evaluation on this machine: a table of operations, how many there are and
 * how many wait for one another, with costs measured in the same run.
 *
 *   throughput  (additions + multiplications) / rate of a large product
 *               + exponentials, each at what a long loop of them takes
 *   divider     divisions and square roots, each at what a long loop of them takes
 *   chain       the longest sequence in which every operation needs the one before, at latencies:
 *               images -> logits -> largest -> exp -> sum -> inverse -> weighted means -> block ->
 *               M'M -> climb and rounds of inverse iteration, or steps of Lanczos -> pair ->
 *               gradient; sums of n numbers as trees, log2 n additions deep; a product and the
 *               addition that takes it as one operation
 *   bound       the largest of the three: no overlap is perfect, so that it is not attained
 *   beside      that of one of eight points side by side: an eighth of the chain counts, they run
 * at once
 *
 * Counted is what the algorithm needs, whatever the code does. */
#ifndef TESTS_BENCH_BOUND_H
#define TESTS_BENCH_BOUND_H

#include "bench.h"
#include "linalg/wide_exp.h"

#pragma STDC FP_CONTRACT ON

#define BOUND_OPERATIONS(X) \
    X(ADD, "add")           \
    X(MULTIPLY, "multiply") \
    X(DIVIDE, "divide")     \
    X(ROOT, "sqrt")         \
    X(EXP, "exp")

enum {
#define X(id, name) BOUND_##id,
    BOUND_OPERATIONS(X)
#undef X
        BOUND_KINDS
};

typedef struct {
    double work[BOUND_KINDS], chain[BOUND_KINDS];
} bound_count;

/* Seconds: one of many independent ones, and one that waits for the last. Additions and
 * multiplications by the thousand cost what they cost in a large product. */
typedef struct {
    double each[BOUND_KINDS], latency[BOUND_KINDS];
    double peak;      /* operations per second of a large product */
    double registers; /* and of vectors that stay in registers */
} bound_costs;

static inline void bound_sum(bound_count *b, double times, double length)
{
    b->chain[BOUND_ADD] += times * ceil(log2(length));
}

static inline void bound_dot(bound_count *b, double times, double length)
{
    b->chain[BOUND_MULTIPLY] += times;
    bound_sum(b, times, length);
}

/* The scaling of a vector to unit length. */
static inline void bound_unit(bound_count *b, double times, double length)
{
    bound_dot(b, times, length);
    b->chain[BOUND_ROOT] += times;
    b->chain[BOUND_DIVIDE] += times;
    b->chain[BOUND_MULTIPLY] += times;
}

/* A quotient with its residual, then a climb: products with M'M. */
static inline void bound_climb(bound_count *b, double cols)
{
    b->work[BOUND_MULTIPLY] += 0.5 * cols * cols * cols + 2.0 * cols * cols;
    b->work[BOUND_ADD] += 0.5 * cols * cols * cols + 2.0 * cols * cols;
    b->work[BOUND_DIVIDE] += 4.0;
    b->work[BOUND_ROOT] += 5.0;
    bound_dot(b, 1.0, cols);       /* M'M */
    bound_dot(b, 2.0 * 3.0, cols); /* product, quotient, residual, before and after */
    b->chain[BOUND_ROOT] += 4.0;   /* two residuals, the two of the plane */
    b->chain[BOUND_DIVIDE] += 3.0;
    b->chain[BOUND_MULTIPLY] += 3.0;
    b->chain[BOUND_ADD] += 6.0;
}

/* Two columns: M'M, and its vector in closed form. */
static inline void bound_plane(bound_count *b, double cols)
{
    b->work[BOUND_MULTIPLY] += 0.5 * cols * cols * cols + 10.0;
    b->work[BOUND_ADD] += 0.5 * cols * cols * cols + 6.0;
    b->work[BOUND_DIVIDE] += 2.0;
    b->work[BOUND_ROOT] += 2.0;
    bound_dot(b, 1.0, cols);    /* M'M */
    b->chain[BOUND_ADD] += 4.0; /* the difference of the diagonal, a square, with the root, a sum */
    b->chain[BOUND_MULTIPLY] += 5.0; /* the last: u by its length */
    b->chain[BOUND_ROOT] += 2.0;     /* of the plane, of the length */
    b->chain[BOUND_DIVIDE] += 1.0;   /* by it */
}

/* Inverse iteration: the factorisation and with it the forward solution, a pivot at a time, the
 * backward solution, which tells quotient and residual. A factor used again is not counted. */
static inline void bound_rounds(bound_count *b, double cols, double rounds)
{
    b->work[BOUND_MULTIPLY] += rounds * (cols * cols * cols / 6.0 + cols * cols + 5.0 * cols);
    b->work[BOUND_ADD] += rounds * (cols * cols * cols / 6.0 + cols * cols + 4.0 * cols);
    b->work[BOUND_DIVIDE] += rounds * (cols + 1.0);
    b->work[BOUND_ROOT] += rounds;
    b->chain[BOUND_DIVIDE] += rounds * cols;
    b->chain[BOUND_MULTIPLY] += rounds * cols;
    b->chain[BOUND_ADD] += rounds * 2.0 * cols;
    bound_dot(b, 2.0 * rounds, cols);
    b->chain[BOUND_DIVIDE] += rounds;
    b->chain[BOUND_ROOT] += rounds;
}

/* Lanczos: two products a step, each new vector made orthogonal to all the old ones once. */
static inline void bound_lanczos(bound_count *b, double m, double d, bool written, double steps)
{
    const double md = m * d, pairs = 2.0 * m * m * d, linear = 2.0 * m * d * d;
    const double product = written ? 2.0 * md * md : 4.0 * pairs + 2.0 * linear + 8.0 * m * m;
    const double products = 2.0 * steps;
    const double all = products * product + steps * (steps + 1.0) * 4.0 * md;
    b->work[BOUND_MULTIPLY] += 0.5 * all;
    b->work[BOUND_ADD] += 0.5 * all;
    b->work[BOUND_DIVIDE] += 2.0 * steps;
    b->work[BOUND_ROOT] += 2.0 * steps;
    if (written) {
        bound_dot(b, products, md);
    } else {
        bound_dot(b, 2.0 * products, d); /* map, then logits of the move */
        bound_dot(b, 2.0 * products, m); /* mean, then weighted sum */
        b->chain[BOUND_MULTIPLY] += products;
        b->chain[BOUND_ADD] += 2.0 * products;
    }
    bound_dot(b, 2.0 * steps, md);
    bound_dot(b, 2.0 * steps, fmax(0.5 * steps, 1.0));
    bound_unit(b, 2.0 * steps, md);
}

/* An evaluation with value and gradient of m atoms in dimension d: top pair of a joint block of
 * md columns, written out up to 4096 entries, by `steps` rounds up to `most` columns, else Lanczos.
 */
static inline bound_count bound_evaluation(size_t atoms, size_t width, size_t most, double steps)
{
    const double m = (double)atoms, d = (double)width, md = m * d;
    const double linear = 2.0 * m * d * d, pairs = 2.0 * m * m * d;
    const bool written = md * md <= 4096.0;
    const double set = 2.0 * linear + pairs;
    const double split = m * (4.0 * md + linear + 2.0 * d * d * d);
    const double gradient = 9.0 * pairs + 20.0 * m * m + 3.0 * linear;
    const double all = set + split + gradient + (written ? 4.0 * md * md : 0.0);
    bound_count b = {0};
    b.work[BOUND_ADD] = b.work[BOUND_MULTIPLY] = 0.5 * all;
    /* all but the largest of a row, masses but the first, and the logarithm of the norm */
    b.work[BOUND_EXP] = m * (m - 1.0) + (m - 1.0) + 1.0;
    b.work[BOUND_DIVIDE] = 2.0 * m;
    bound_dot(&b, 2.0, d);
    bound_sum(&b, 2.0, m); /* the largest, the sum */
    b.chain[BOUND_EXP] += 1.0;
    b.chain[BOUND_DIVIDE] += 1.0;
    bound_dot(&b, 1.0, m);
    b.chain[BOUND_ADD] += 3.0; /* before exp, centred values, the block */
    if (atoms * width <= most) {
        if (md > 2.0) {
            bound_climb(&b, md);
            bound_rounds(&b, md, steps);
        } else
            bound_plane(&b, md);
    } else
        bound_lanczos(&b, m, d, written, steps);
    bound_dot(&b, 1.0, md); /* u, of length 1: two columns know it before */
    if (md > 2.0) bound_unit(&b, 1.0, md);
    bound_dot(&b, 1.0, d); /* the gradient's pairs, means, rows, and products */
    bound_dot(&b, 3.0, m);
    bound_sum(&b, 1.0, m);
    b.chain[BOUND_ADD] += 3.0;
    return b;
}

/* Additions and multiplications, exponentials at 32: what wide_exp takes. */
static inline double bound_operations(const bound_count *b)
{
    return b->work[BOUND_ADD] + b->work[BOUND_MULTIPLY] + 32.0 * b->work[BOUND_EXP];
}

enum { BOUND_LOOP = 4096, BOUND_REPEATS = 20 };

/* Best seconds of one of BOUND_LOOP; `body` sees i and x. */
#define BOUND_TIME(to, body)                                       \
    do {                                                           \
        double best = HUGE_VAL;                                    \
        for (int repeat = 0; repeat < BOUND_REPEATS; repeat++) {   \
            const double start = cpu_seconds();                    \
            for (size_t i = 0; i < BOUND_LOOP; i++) body;          \
            __asm__ volatile("" : : "r"(room), "x"(x) : "memory"); \
            best = fmin(best, cpu_seconds() - start);              \
        }                                                          \
        (to) = best / BOUND_LOOP;                                  \
    } while (0)

typedef struct {
    wide8 sum[12], factor;
} bound_lanes;

WIDE_BODY void registers_body(bound_lanes *t)
{
    wide8 sum[12], factor = t->factor;
    for (size_t i = 0; i < 12; i++) sum[i] = t->sum[i];
    for (size_t k = 0; k < BOUND_LOOP; k++)
        for (size_t i = 0; i < 12; i++) sum[i] = sum[i] * factor + factor;
    for (size_t i = 0; i < 12; i++) t->sum[i] = sum[i];
}
WIDE_VARIANTS(registers, (bound_lanes * t), (t))

WIDE_BODY void exponentials_body(double *x, size_t count)
{
    for (size_t i = 0; i < count; i += 8) wide_exp((wide8 *)(x + i));
}
WIDE_VARIANTS(exponentials, (double *x, size_t count), (x, count))

/* Every one waits for the one before. */
WIDE_BODY void exponential_body(double *x, size_t count)
{
    wide8 z = *(wide8u *)x;
    for (size_t i = 0; i < count; i++) {
        z = -z;
        wide_exp(&z);
    }
    *(wide8u *)x = z;
}
WIDE_VARIANTS(exponential, (double *x, size_t count), (x, count))

/* Best seconds of one of BOUND_LOOP, of a call that does them all. */
#define BOUND_TIME_CALL(to, f)                                             \
    do {                                                                   \
        double best = HUGE_VAL;                                            \
        for (int repeat = 0; repeat < BOUND_REPEATS; repeat++) {           \
            for (size_t i = 0; i < BOUND_LOOP; i++) to_raise[i] = room[i]; \
            const double start = cpu_seconds();                            \
            WIDE_CALL(f, (to_raise, BOUND_LOOP));                          \
            best = fmin(best, cpu_seconds() - start);                      \
        }                                                                  \
        (to) = best / BOUND_LOOP;                                          \
    } while (0)

static inline bound_costs bound_measure(size_t size, int rounds)
{
    bound_costs c = {.peak = bench_peak(size, rounds, false)};
    _Alignas(64) static double room[2 * BOUND_LOOP], to_raise[BOUND_LOOP];
    double *to = room + BOUND_LOOP, x = 1.0, fastest = HUGE_VAL;
    bound_lanes lanes = {.factor = {0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5}};
    volatile double given = 1.0;
    const double one = given; /* not known to the compiler */
    for (size_t i = 0; i < BOUND_LOOP; i++) room[i] = 0.5 + (double)i / BOUND_LOOP;
    BOUND_TIME(c.each[BOUND_DIVIDE], to[i] = one / room[i]);
    BOUND_TIME(c.each[BOUND_ROOT], to[i] = sqrt(room[i]));
    BOUND_TIME_CALL(c.each[BOUND_EXP], exponentials);
    BOUND_TIME_CALL(c.latency[BOUND_EXP], exponential);
    BOUND_TIME(c.latency[BOUND_ADD], x += one);
    x = 1.0;
    BOUND_TIME(c.latency[BOUND_MULTIPLY], x *= one);
    BOUND_TIME(c.latency[BOUND_DIVIDE], x = one / x);
    BOUND_TIME(c.latency[BOUND_ROOT], x = sqrt(x));
    c.each[BOUND_ADD] = c.each[BOUND_MULTIPLY] = 1.0 / c.peak;
    for (int repeat = 0; repeat < BOUND_REPEATS; repeat++) {
        const double start = cpu_seconds();
        WIDE_CALL(registers, (&lanes));
        fastest = fmin(fastest, cpu_seconds() - start);
    }
    c.registers = 12.0 * 8.0 * 2.0 * BOUND_LOOP / fastest;
    return c;
}

/* One line of JSON. */
static inline void bound_print(const bound_count *b, const bound_costs *c)
{
    static const char *const names[] = {
#define X(id, name) name,
        BOUND_OPERATIONS(X)
#undef X
    };
    double throughput = 0.0, divider = 0.0, chain = 0.0;
    printf("{\"table\": [");
    for (int k = 0; k < BOUND_KINDS; k++) {
        double *unit = k == BOUND_DIVIDE || k == BOUND_ROOT ? &divider : &throughput;
        *unit += b->work[k] * c->each[k];
        chain += b->chain[k] * c->latency[k];
        printf("%s{\"operation\": \"%s\", \"count\": %.6g, \"each\": %.4g, \"chain\": %.6g, "
               "\"latency\": %.4g}",
               k ? ", " : "", names[k], b->work[k], c->each[k], b->chain[k], c->latency[k]);
    }
    printf("], \"peak\": %.9g, \"registers\": %.9g, \"throughput\": %.6g, \"divider\": %.6g, "
           "\"chain\": %.6g, \"bound\": %.6g, \"beside\": %.6g}\n",
           c->peak, c->registers, throughput, divider, chain,
           fmax(throughput, fmax(divider, chain)), fmax(throughput, fmax(divider, chain / 8.0)));
    fflush(stdout);
}

#endif
