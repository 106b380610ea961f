/* Whole searches for the worst A at radius 4 (g = ||A|| R^2 = 16) and n = 10^4.
 *
 *   search reach TARGET SEED all|plain    restarts one after another until TARGET is reached;
 *                                         plain: random and few-Dirac starts, no constructions
 *   search rate M D EVALUATIONS           restarts that go side by side, or one where none do:
 *                                         processor seconds per evaluation
 *   search threads RESTARTS EVALUATIONS   the same search with 1 and 2 threads, in turn */
#include <omp.h>
#include <string.h>

#include "bench.h"
#include "tightlip/linalg.h"

static const double RADIUS = 4.0;
static const uint64_t TOKENS = 10000;
enum { REACH_ATOMS = 4, REACH_EVALUATIONS = 500, REACH_RESTARTS = 200, THREAD_ROUNDS = 3 };

static unsigned bit(tl_start start)
{
    return 1u << start;
}

static int reach(double target, uint64_t seed, bool all)
{
    bench_problem b;
    bench_problem_init(&b, 2, REACH_ATOMS, RADIUS, TOKENS);
    tl_search_settings settings;
    tl_search_defaults(&settings);
    settings.seed = seed;
    settings.evaluations = REACH_EVALUATIONS;
    if (!all) settings.starts = bit(TL_START_FEW_DIRAC) | bit(TL_START_RANDOM);
    double best = 0.0;
    uint64_t evaluations = 0, restarts = 0;
    const double start = cpu_seconds();
    for (; restarts < REACH_RESTARTS && best < target; restarts++) {
        tl_search_result result;
        require(!tl_search_restarts(&b.problem, &settings, restarts, 1, &result, NULL),
                "a restart failed");
        best = fmax(best, result.norm.value);
        evaluations += result.evaluations;
        tl_search_result_clear(&result);
    }
    printf("{\"seconds\": %.6g, \"evaluations\": %llu, \"restarts\": %llu, \"value\": %.10g, "
           "\"reached\": %s}\n",
           cpu_seconds() - start, (unsigned long long)evaluations, (unsigned long long)restarts,
           best, best >= target ? "true" : "false");
    bench_problem_clear(&b);
    return 0;
}

static int rate(size_t m, size_t d, size_t evaluations)
{
    bench_problem b;
    bench_problem_init(&b, d, m, RADIUS, TOKENS);
    tl_search_settings settings;
    tl_search_defaults(&settings);
    settings.evaluations = evaluations;
    settings.restarts = tl_search_together(&b.problem);
    settings.starts = bit(TL_START_FEW_DIRAC);
    omp_set_num_threads(1);
    tl_search_result result;
    const double start = cpu_seconds();
    require(!tl_search_run(&b.problem, &settings, &result, NULL), "a search failed");
    printf("{\"seconds\": %.9g, \"restarts\": %zu, \"evaluations\": %llu, \"value\": %.10g}\n",
           (cpu_seconds() - start) / (double)result.evaluations, settings.restarts,
           (unsigned long long)result.evaluations, result.norm.value);
    tl_search_result_clear(&result);
    bench_problem_clear(&b);
    return 0;
}

static int threads(size_t restarts, size_t evaluations)
{
    bench_problem b;
    bench_problem_init(&b, 2, REACH_ATOMS, RADIUS, TOKENS);
    tl_search_settings settings;
    tl_search_defaults(&settings);
    settings.restarts = restarts;
    settings.evaluations = evaluations;
    double first = 0.0;
    for (int i = -2; i < 2 * THREAD_ROUNDS; i++) { /* the first two warm up */
        const int threads_now = i & 1 ? 2 : 1;
        tl_search_result best;
        const double wall = wall_seconds(), cpu = cpu_seconds();
        omp_set_num_threads(threads_now);
        require(!tl_search_run(&b.problem, &settings, &best, NULL), "a search failed");
        if (i >= 0)
            printf("{\"threads\": %d, \"wall\": %.6g, \"cpu\": %.6g, \"value\": %.17g}\n",
                   threads_now, wall_seconds() - wall, cpu_seconds() - cpu, best.norm.value);
        if (i == -2) first = best.norm.value;
        require(best.norm.value >= first && best.norm.value <= first,
                "the value depends on the number of threads");
        tl_search_result_clear(&best);
    }
    bench_problem_clear(&b);
    return 0;
}

int main(int argc, char **argv)
{
    bench_begin(argv);
    if (argc == 5 && !strcmp(argv[1], "reach"))
        return reach(strtod(argv[2], NULL), strtoull(argv[3], NULL, 10), !strcmp(argv[4], "all"));
    if (argc == 5 && !strcmp(argv[1], "rate"))
        return rate(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10),
                    strtoul(argv[4], NULL, 10));
    if (argc == 4 && !strcmp(argv[1], "threads"))
        return threads(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    require(0, "expected: search reach|rate|threads ..");
    return 2;
}
