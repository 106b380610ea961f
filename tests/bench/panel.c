/* Local ascents side by side on a fixed panel of cells: evaluations and seconds until 99.9 % of the
 * best known value, restarting from the same sequence of points.
 *
 *   panel CELL [KNOWN]    one line of JSON for every method and seed on that cell (0 .. 23); the
 * best known value comes from a long search unless it is given
 *
 * Methods see log sigma at the feasible point nearest to their variables, with its gradient: tokens
 * pulled into the ball, log-masses normalised and held at one token or more. */
#include <string.h>

#include "bench.h"
#include "search/internal.h"
#include "tightlip/rng.h"

enum {
    D = 2,
    ATOMS = 4,
    LOCAL = 400,
    TOTAL = 16000,
    RESTART = 500,
    KNOWN = 64,
    CELLS = 24,
    SEEDS = 5
};
static const double SHARE = 0.999;
static const char *const kinds[] = {"dot", "causal", "l2"};
static const uint64_t sizes[][4] = {{2, 10, 1000, 0}, {2, 4, 8, 16}, {2, 10, 1000, 0}};
static const double radii[] = {1.0, 3.0};

typedef struct {
    tl_layer *layer;
    tl_domain *domain;
    tl_search_problem problem;
    tl_evaluator ev;
    tl_ascent *ascent;
    tl_point start, trial;
    double *gx, *ga, *scratch;
    double best;  /* log of the best value seen by this method */
    uint64_t end; /* evaluations at which a local run has to stop */
} panel;

static size_t variables(const panel *p)
{
    return p->start.m * D + (p->start.integral ? 0 : p->start.m);
}

static void pack(const panel *p, double *y)
{
    memcpy(y, p->start.x, p->start.m * D * sizeof *y);
    if (!p->start.integral) memcpy(y + p->start.m * D, p->start.log_mass, p->start.m * sizeof *y);
}

/* From the gradient at the nearest feasible point to that in y. */
static void pull_back(const panel *p, const double *y, double *g)
{
    const size_t m = p->start.m;
    const double R = p->domain->radius;
    for (size_t k = 0; k < m; k++) {
        const double *y_k = y + k * D, length = tl_nrm2(D, y_k);
        double *g_k = p->gx + k * D;
        const double along = length > R ? tl_dot(D, y_k, g_k) / length : 0.0;
        for (size_t r = 0; r < D; r++)
            g[k * D + r] = length > R ? R / length * (g_k[r] - along * y_k[r] / length) : g_k[r];
    }
    if (p->start.integral) return;
    const double least = p->problem.n ? -log((double)p->problem.n) : -HUGE_VAL;
    double sum = 0.0;
    for (size_t k = 0; k < m; k++) {
        if (p->trial.log_mass[k] <= least) p->ga[k] = 0.0;
        sum += p->ga[k];
    }
    for (size_t k = 0; k < m; k++) g[m * D + k] = p->ga[k] - exp(p->trial.log_mass[k]) * sum;
}

/* log sigma, and its gradient where g is not NULL; -1e3, below everything, on failure. */
static double objective(panel *p, const double *y, double *g)
{
    tl_value value;
    const size_t m = p->start.m;
    tl_point_copy(&p->trial, &p->start);
    memcpy(p->trial.x, y, m * D * sizeof *y);
    if (!p->start.integral) memcpy(p->trial.log_mass, y + m * D, m * sizeof *y);
    for (size_t i = 0; i < variables(p); i++)
        if (!isfinite(y[i])) return -1e3;
    if (tl_point_project(&p->problem, &p->trial) ||
        tl_evaluate(&p->ev, &p->trial, &value, g ? p->gx : NULL, g ? p->ga : NULL, NULL) ||
        !isfinite(value.log_value))
        return -1e3;
    if (g) pull_back(p, y, g);
    p->best = fmax(p->best, value.log_value);
    return value.log_value;
}

#include "ascents.h"

static void panel_init(panel *p, size_t cell)
{
    const double A[] = {1.0, 0.0, 0.0, -1.0}, V[] = {1.0, 0.0, 0.0, 1.0};
    const size_t kind = cell / 8, i = cell % 8;
    const uint64_t n = sizes[kind][i / 2];
    const tl_head head = {.k = D,
                          .v = D,
                          .Q = (double *)(uintptr_t)(kind == 2 ? V : A),
                          .V = (double *)(uintptr_t)V,
                          .scale = 1.0};
    *p = (panel){0};
    require(!tl_layer_alloc(&p->layer, kind == 2 ? TL_KIND_L2 : TL_KIND_DOT,
                            kind == 1 ? TL_MASK_CAUSAL : TL_MASK_NONE, D, 1, &head, NULL, 0,
                            NULL) &&
                !tl_domain_alloc_ball(&p->domain, D, radii[i % 2], NULL, NULL),
            "no layer");
    const size_t atoms = kind == 1 ? (size_t)n : n && n < ATOMS ? (size_t)n : ATOMS;
    p->problem = (tl_search_problem){.layer = p->layer,
                                     .domain = p->domain,
                                     .n = n,
                                     .atoms = atoms,
                                     .log_mass_ratio = (double)NAN,
                                     .norm = TL_NORM_2};
    const size_t capacity = tl_search_capacity(&p->problem);
    p->gx = calloc(capacity * (2 * D + 2), sizeof(double));
    require(p->gx && !tl_evaluator_init(&p->ev, &p->problem, capacity, UINT64_MAX, NULL) &&
                !tl_ascent_alloc(&p->ascent, capacity, D, false) &&
                tl_point_init(&p->start, capacity, D, false) &&
                tl_point_init(&p->trial, capacity, D, false),
            "out of memory");
    p->ga = p->gx + capacity * D;
    p->scratch = p->ga + capacity;
}

static void panel_clear(panel *p)
{
    tl_point_clear(&p->start);
    tl_point_clear(&p->trial);
    tl_ascent_free(p->ascent);
    tl_evaluator_clear(&p->ev);
    tl_domain_free(p->domain);
    tl_layer_free(p->layer);
    free(p->gx);
}

/* The start of restart r, the same for every method. */
static void make_start(panel *p, uint64_t seed, uint64_t r)
{
    gsl_rng *rng = tl_rng_stream_alloc(seed, 0, r);
    require(rng && !tl_start_make(&p->problem, r % 2 ? TL_START_RANDOM : TL_START_FEW_DIRAC, rng,
                                  &p->start),
            "no start");
    gsl_rng_free(rng);
}

static void print(size_t cell, uint64_t seed, const panel *p, const char *name, double known,
                  double best, uint64_t evaluations, double seconds)
{
    printf("{\"cell\": %zu, \"seed\": %llu, \"kind\": \"%s\", \"n\": %llu, \"radius\": %g, "
           "\"method\": \"%s\", "
           "\"known\": %.12g, \"value\": %.12g, \"evaluations\": %llu, \"seconds\": %.6g, "
           "\"reached\": %s}\n",
           cell, (unsigned long long)seed, kinds[cell / 8], (unsigned long long)p->problem.n,
           radii[cell % 2], name, exp(known), exp(best), (unsigned long long)evaluations, seconds,
           best >= known + log(SHARE) ? "true" : "false");
}

static void local_method(panel *p, size_t cell, uint64_t seed, const method *way, double known)
{
    const double target = known + log(SHARE), begun = cpu_seconds();
    p->best = -HUGE_VAL;
    p->ev.used = p->ev.target_at = 0;
    p->ev.target = target;
    for (uint64_t r = 0; p->ev.used < TOTAL && p->best < target; r++) {
        make_start(p, seed, r);
        pack(p, p->scratch);
        p->end = p->ev.used + LOCAL;
        p->ev.warm_m = 0;
        way->run(p, p->scratch);
    }
    print(cell, seed, p, way->name, known, p->best, p->ev.target_at ? p->ev.target_at : p->ev.used,
          cpu_seconds() - begun);
}

/* Whole restarts: constructions, races, mass moves, whole multiplicities. */
static void restarts(panel *p, size_t cell, uint64_t seed, double known)
{
    const double target = known + log(SHARE), begun = cpu_seconds();
    double best = -HUGE_VAL;
    uint64_t used = 0;
    tl_search_settings settings;
    tl_search_defaults(&settings);
    settings.evaluations = RESTART;
    settings.seed = seed;
    for (uint64_t r = 0; used < TOTAL && best < target; r++) {
        tl_search_result result;
        require(!tl_search_restarts(&p->problem, &settings, r, 1, &result, NULL),
                "a restart failed");
        best = fmax(best, result.log_objective);
        used += result.evaluations;
        tl_search_result_clear(&result);
    }
    print(cell, seed, p, "tightlip restart", known, best, used, cpu_seconds() - begun);
}

/* The best value a long search knows. */
static double search_known(const panel *p)
{
    tl_search_settings settings;
    tl_search_defaults(&settings);
    settings.restarts = KNOWN;
    settings.evaluations = 4 * RESTART;
    tl_search_result known;
    require(!tl_search_run(&p->problem, &settings, &known, NULL), "a search failed");
    const double best = known.log_objective;
    tl_search_result_clear(&known);
    return best;
}

int main(int argc, char **argv)
{
    require(argc == 2 || argc == 3, "expected: panel CELL [KNOWN]");
    const size_t cell = strtoul(argv[1], NULL, 10);
    require(cell < CELLS, "expected a cell below 24");
    bench_begin(argv);
    gsl_set_error_handler_off();
    panel p;
    panel_init(&p, cell);
    const double known = argc == 3 ? log(strtod(argv[2], NULL)) : search_known(&p);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        restarts(&p, cell, seed, known);
        for (size_t i = 0; i < METHODS; i++) local_method(&p, cell, seed, &methods[i], known);
    }
    panel_clear(&p);
    return 0;
}
