/* tightlip attack: what a perturbation of finite size can do, and every bound that covers it. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "cli/attack_measure.h"
#include "cli/attack_report.h"
#include "cli/cli.h"
#include "tightlip/attack.h"
#include "tightlip/lofast.h"
#include "tightlip/model.h"
#include "tightlip/problem.h"

#define ATTACK_OPTIONS(X)                                                                         \
    X(EPSILON, "epsilon", 'e', TEXT, "E[,E2,..]", NULL, 0, 0, NULL,                               \
      "budget: ||X' - X||_F <= E; several in rising order, each starting from the last one too")  \
    X(TOKEN, "token-budget", 0, POSITIVE, "B", NULL, 0, 0, NULL, "no token moves farther than B") \
    X(STAY, "stay", 0, FLAG, NULL, NULL, 0, 0, NULL,                                              \
      "tokens stay in the domain of the file; without it they may leave it")                      \
    X(FREE, "free", 0, FLAG, NULL, NULL, 0, 0, NULL,                                              \
      "a measure may leave the domain of the file; without it it stays there")                    \
    X(RESIDUAL, "residual", 0, FLAG, NULL, NULL, 0, 0, NULL, "F(X) = X + attention(X)")           \
    X(PARTS, "parts", 0, COUNT, "K", "2", 1, 100, NULL,                                           \
      "on a measure: parts that an atom may be split into; given, a sequence counts as one")      \
    X(RESTARTS, "restarts", 0, COUNT, "K", "16", 1, 1000000, NULL, "restarts for each budget")    \
    X(STEPS, "steps", 0, COUNT, "K", "200", 1, 1000000, NULL, "ascent steps for each restart")    \
    X(SEED, "seed", 's', COUNT, "S", "1", 0, 9007199254740992, NULL, "seed of the restarts")      \
    X(OUT, "output", 'o', TEXT, "FILE", NULL, 0, 0, NULL,                                         \
      "write the perturbed input of the last budget as a problem file")                           \
    X(THREADS, "threads", 'j', COUNT, "T", NULL, 1, 1024, NULL,                                   \
      "OpenMP threads; results do not depend on them")

enum {
#define X(id, ...) ATTACK_##id,
    ATTACK_OPTIONS(X) ATTACK_COUNT
#undef X
};

static const tl_cli_option options[ATTACK_COUNT] = {ATTACK_OPTIONS(CLI_OPTION_ROW)};

static tl_status read_budgets(const char *text, tl_cli_attack *report, tl_error *err)
{
    if (!text) return tl_fail(err, TL_ERR_ARGUMENT, "expected --epsilon, the size of the budget");
    const tl_status status = tl_cli_parse_rising("--epsilon", text, report->epsilon,
                                                 CLI_BUDGETS_MOST, &report->count, err);
    for (size_t i = 0; status == TL_OK && i < report->count; i++)
        report->row[i].epsilon = report->epsilon[i];
    return status;
}

/* Of X + F(X): lofast takes the two together, where they may cancel; others have a norm of 1 more.
 */
static tl_status add_residual(const tl_problem *p, const tl_domain *ball,
                              const tl_cli_bound_row *row, double *log_value, tl_error *err)
{
    tl_head_facts *head = NULL;
    tl_lofast_curve curve = {0};
    tl_bound_query query;
    tl_status status;

    *log_value = *log_value > 0 ? *log_value + log1p(exp(-*log_value)) : log1p(exp(*log_value));
    if (strcmp(row->bound->key, "lofast") != 0) return TL_OK;
    head = calloc(p->layer->heads, sizeof *head);
    curve.head = calloc(p->layer->heads, sizeof *curve.head);
    status = head && curve.head ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");
    if (status == TL_OK)
        status = tl_bound_query_domain(&query, head, p->layer, p->measure, ball, err);
    if (status == TL_OK) status = tl_lofast_curve_at(&curve, &query, true, err);
    if (status == TL_OK) *log_value = fmin(*log_value, log(tl_lofast_ratio(&curve, ball->epsilon)));
    free(curve.head);
    free(head);
    return status;
}

static tl_status find_bounds(const tl_cli_attack *report, tl_cli_attack_row *row, tl_error *err)
{
    tl_domain *ball = NULL;
    const tl_problem *p = &report->problem;
    tl_status status = tl_domain_alloc_frobenius(&ball, p->measure, row->epsilon, err);

    if (status == TL_OK)
        status = tl_cli_bounds_at(&row->rows, p->layer, p->measure, ball, NULL, err);
    for (size_t i = 0; status == TL_OK && row->rows[i].bound; i++) {
        double log_value = row->rows[i].value.log_value;
        if (!tl_cli_bound_covers(&row->rows[i])) continue;
        if (report->residual != 0) status = add_residual(p, ball, &row->rows[i], &log_value, err);
        if (row->least && !(log_value < row->log_bound)) continue;
        row->least = &row->rows[i];
        row->log_bound = log_value;
    }
    tl_domain_free(ball);
    return status;
}

static tl_status attack_all(const tl_cli_call *call, const volatile int *stop,
                            tl_cli_attack *report, tl_error *err)
{
    const tl_cli_value *value = call->value;
    const tl_measure *mu = report->problem.measure;
    double *budget = NULL, *hint = NULL;
    tl_attack_settings settings;
    tl_attack_problem problem = {.layer = report->problem.layer,
                                 .around = mu,
                                 .residual = report->residual,
                                 .domain = report->stay ? report->problem.domain : NULL};
    tl_status status = TL_OK;

    tl_attack_defaults(&settings);
    settings.restarts = (size_t)value[ATTACK_RESTARTS].count;
    settings.steps = (size_t)value[ATTACK_STEPS].count;
    settings.seed = value[ATTACK_SEED].count;
    settings.stop = stop;
    if (value[ATTACK_TOKEN].given) {
        budget = malloc(mu->m * sizeof *budget);
        if (!budget) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
        for (size_t k = 0; k < mu->m; k++) budget[k] = value[ATTACK_TOKEN].real;
        problem.budget = budget;
    }
    /* The first in any case, so that there is a row. */
    for (size_t i = 0; i < report->count && !report->cut && (i == 0 || !*stop); i++) {
        tl_attack_result *result = &report->row[i].result;
        problem.epsilon = report->row[i].epsilon;
        status = tl_attack_run(&problem, &settings, result, err);
        report->cut = status == TL_ERR_INTERRUPTED;
        if (status == TL_OK || report->cut) status = find_bounds(report, &report->row[i], err);
        if (status != TL_OK) break;
        report->rows++;
        const size_t size = result->n * result->d;
        free(hint);
        hint = malloc(size * sizeof *hint);
        for (size_t k = 0; hint && k < size; k++) hint[k] = result->x[k] - result->clean[k];
        settings.hint = hint;
    }
    free(hint);
    free(budget);
    return status;
}

static tl_status write_perturbed(const tl_cli_attack *report, const char *path, tl_error *err)
{
    const tl_attack_result *r = &report->row[report->rows - 1].result;
    tl_problem out = {.layer = report->problem.layer};
    tl_status status = tl_measure_alloc(&out.measure, r->n, r->d, r->x, NULL, NULL, err);

    if (status == TL_OK) status = tl_problem_write(&out, path, err);
    tl_measure_free(out.measure);
    return status;
}

/* Masses instead of tokens. */
static bool is_measure(const tl_cli_call *call, const tl_problem *p)
{
    return p->measure->n == 0 || call->value[ATTACK_PARTS].given;
}

/* Whether moves stay in the domain of the file. A measure does unless told otherwise: outside no
 * bound covers it, and a share that goes far enough has no largest effect. */
static tl_status set_rule(const tl_cli_call *call, tl_cli_attack *report, tl_error *err)
{
    const bool named = report->problem.domain != NULL, measure = is_measure(call, &report->problem);
    const bool stay = call->value[ATTACK_STAY].given, leave = call->value[ATTACK_FREE].given;

    if (stay && !named)
        return tl_fail(err, TL_ERR_ARGUMENT, "--stay: %s: expected a domain, found none",
                       call->operand[0]);
    if (leave && (stay || !measure))
        return tl_fail(err, TL_ERR_ARGUMENT, "--free: expected %s",
                       stay ? "no --stay" : "a measure: tokens are free without it");
    report->stay = stay || (measure && named && !leave);
    return TL_OK;
}

static tl_status read_input(const tl_cli_call *call, tl_cli_attack *report, tl_error *err)
{
    tl_problem *p = &report->problem;
    tl_status status = tl_model_read_problem(call->operand[0], p, err);

    report->from = "the file's";
    if (status == TL_OK) status = set_rule(call, report, err);
    if (status != TL_OK || p->domain) return status;
    report->from = "a small ball about the tokens";
    return tl_domain_alloc_enclosing(&p->domain, p->measure->m, p->measure->d, p->measure->x, err);
}

static tl_status attack_measure(tl_cli_call *call, const volatile int *stop,
                                const tl_cli_attack *report, tl_error *err)
{
    const tl_cli_value *value = call->value;
    tl_cli_measure_attack attack = {.problem = &report->problem,
                                    .stay = report->stay,
                                    .from = report->from,
                                    .epsilon = report->epsilon,
                                    .count = report->count,
                                    .parts = (size_t)value[ATTACK_PARTS].count,
                                    .out = value[ATTACK_OUT].text,
                                    .json = call->json};

    if (report->residual != 0 || value[ATTACK_TOKEN].given)
        return tl_fail(err, TL_ERR_UNSUPPORTED,
                       "--%s: expected a sequence of tokens, found a measure",
                       report->residual != 0 ? "residual" : "token-budget");
    tl_measure_attack_defaults(&attack.settings);
    if (value[ATTACK_RESTARTS].given)
        attack.settings.restarts = (size_t)value[ATTACK_RESTARTS].count;
    if (value[ATTACK_STEPS].given) attack.settings.steps = (size_t)value[ATTACK_STEPS].count;
    attack.settings.seed = value[ATTACK_SEED].count;
    attack.settings.stop = stop;
    return tl_cli_attack_measure(&attack, &call->refuted, err);
}

/* The perturbed input first: nothing that fails later can lose it. What was found is shown even
 * where it cannot be written. */
static tl_status show(tl_cli_call *call, const tl_cli_attack *report, tl_error *err)
{
    const char *path = call->value[ATTACK_OUT].text;
    tl_status shown = TL_OK;

    for (size_t i = 0; i < report->rows; i++)
        call->refuted |= tl_cli_attack_refuted(&report->row[i]);
    const tl_status written = path ? write_perturbed(report, path, err) : TL_OK;
    if (call->json)
        shown = tl_cli_json_print(tl_cli_attack_json(report));
    else
        tl_cli_attack_print(report);
    if (written != TL_OK || shown != TL_OK) return written != TL_OK ? written : shown;
    if (!report->cut && report->rows == report->count) return TL_OK;
    return tl_cli_attack_interrupted(report->epsilon, report->count, report->rows, report->cut,
                                     err);
}

static tl_status run_attack(tl_cli_call *call, tl_error *err)
{
    const tl_cli_value *value = call->value;
    tl_cli_attack report = {.residual = value[ATTACK_RESIDUAL].given ? 1 : 0};
    tl_status status = read_budgets(value[ATTACK_EPSILON].text, &report, err);

    if (value[ATTACK_THREADS].given) omp_set_num_threads((int)value[ATTACK_THREADS].count);
    if (status == TL_OK) status = tl_cli_check_writable(value[ATTACK_OUT].text, err);
    if (status == TL_OK) status = read_input(call, &report, err);
    if (status == TL_OK) {
        const volatile int *stop = tl_cli_interrupts_catch("", 0);
        if (is_measure(call, &report.problem)) {
            status = attack_measure(call, stop, &report, err);
        } else {
            status = attack_all(call, stop, &report, err);
            if (status == TL_OK) status = show(call, &report, err);
        }
    }
    for (size_t i = 0; i < report.count; i++) {
        tl_attack_result_clear(&report.row[i].result);
        free(report.row[i].rows);
    }
    tl_problem_clear(&report.problem);
    return status;
}

const tl_cli_verb tl_cli_verb_attack = {
    .name = "attack",
    .operands = "--epsilon E FILE",
    .summary = "the largest output movement for an input movement of finite size",
    .details =
        "Maximises ||F(X') - F(X)||_F over ||X' - X||_F <= E around the tokens X of a problem "
        "file, from the top singular directions and from random starts. Copies of a token may "
        "move apart. The ratio is the effect over E; beside it stands the least bound that covers "
        "the whole ball, of X + attention(X) with --residual. On a measure (masses, or --parts) "
        "distances are W_2 by exact optimal transport, atoms may be split, and the slopes of "
        "whole, split and far moves are printed; it stays in the domain of the file. With --free, "
        "or where the file names none, atoms and shares may go anywhere: with kind dot no ratio is "
        "then the largest, since a tiny share far away can take over the attention, and no bound "
        "covers it. Exit code 3 where a ratio found is above its bound. Interrupted, it reports "
        "and writes the budgets so far, the last with the best found by then, with exit code 1.",
    .option = options,
    .options = ATTACK_COUNT,
    .least = 1,
    .most = 1,
    .run = run_attack,
};
