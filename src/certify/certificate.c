/* One problem against its claim and the bounds. */
#include "tightlip/certify.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "certify/certificate.h"
#include "tightlip/names.h"

/* Double precision leaves a relative residual of 1e-11 in iterated singular pairs. */
static const double default_slack = 1e-10;

TL_DEFINE_NAME(tl_verdict_name, tl_verdict, TL_VERDICT_LIST)

void tl_certify_cleanup(void)
{
    flint_cleanup();
}

bool tl_certificate_contradicts(const tl_certificate *certificate)
{
    return certificate->verdict == TL_VERDICT_BELOW || certificate->verdict == TL_VERDICT_REFUTES ||
           certificate->verdict == TL_VERDICT_OUTSIDE;
}

void tl_certificate_clear(tl_certificate *certificate)
{
    free(certificate->norm_a);
    free(certificate->norm_v);
    free(certificate->bound);
    *certificate = (tl_certificate){.verdict = TL_VERDICT_UNDECIDED};
}

void tl_certify_round(tl_enclosure *out, const arb_t ball, slong prec)
{
    arf_t end;

    arf_init(end);
    if (arb_is_finite(ball)) {
        arb_get_lbound_arf(end, ball, prec);
        tl_certify_number(&out->low, end, false);
        arb_get_ubound_arf(end, ball, prec);
        tl_certify_number(&out->high, end, true);
    } else {
        tl_certify_number(&out->low, end, false);
        arf_pos_inf(end);
        tl_certify_number(&out->high, end, true);
    }
    arf_clear(end);
}

/* value: a ball whose lower end is a lower bound of the norm at the tokens; high: an upper bound.
 */
static tl_status measure(const tl_certify_run *run, tl_certify_state *s, tl_certify_value *value,
                         arf_t high, tl_certificate *out, tl_error *err)
{
    const tl_problem *problem = run->problem;
    const bool spectral = out->norm == TL_NORM_2, directed = spectral && problem->direction;
    tl_certify_value whole = {.split = false};
    tl_status status = TL_OK;

    arf_pos_inf(high);
    if (directed) tl_certify_at_direction(s, problem, run->settings.pairs, value);
    if (out->norm == TL_NORM_INF2) tl_certify_movement(s, value);
    out->too_large = directed && run->settings.enclose && !tl_certify_encloses(s);
    out->has_upper =
        out->norm != TL_NORM_INF2 && (!directed || (run->settings.enclose && !out->too_large));
    if (!out->has_upper) return TL_OK;
    arb_init(whole.ball);
    status = spectral ? tl_certify_enclose(s, &whole, err)
                      : tl_certify_entry_norm(s, out->norm, whole.ball, err);
    arb_get_ubound_arf(high, whole.ball, s->prec);
    if (!directed || arb_gt(whole.ball, value->ball)) {
        arb_set(value->ball, whole.ball);
        value->split = whole.split;
        value->atom = whole.atom;
        value->pairs = false;
    }
    arb_clear(whole.ball);
    return status;
}

/* Enclosing norm 2 leaves the slack of its Cholesky certificate. */
static bool known(const tl_certificate *out, const tl_certify_value *value)
{
    const bool rough = out->norm == TL_NORM_2 && out->has_upper;

    return tl_certify_is_enough(value) || (rough && arb_rel_accuracy_bits(value->ball) >= 30);
}

/* c (1 - slack), where a claim past or near the end of the double range is 10^log10. */
static void claim_ball(arb_t claim, const tl_problem *problem, double slack, slong prec)
{
    arb_t t;

    arb_init(t);
    if (isfinite(problem->value) &&
        (problem->value >= DBL_MIN || problem->log10_value == -(double)INFINITY)) {
        arb_set_d(claim, problem->value);
    } else {
        arb_set_d(claim, problem->log10_value);
        /* The logarithm itself was rounded. */
        arb_set_d(t, 2 * DBL_EPSILON * fabs(problem->log10_value));
        arb_sub(claim, claim, t, prec);
        arb_set_ui(t, 10);
        arb_log(t, t, prec);
        arb_mul(claim, claim, t, prec);
        arb_exp(claim, claim, prec);
    }
    arb_set_d(t, slack);
    arb_sub_ui(t, t, 1, prec);
    arb_neg(t, t);
    arb_mul(claim, claim, t, prec);
    arb_clear(t);
}

/* 1 reached, -1 not reached, 0 open. */
static int reaches(const arb_t value, const tl_certify_run *run, slong prec)
{
    arb_t claim;
    int result = 0;

    arb_init(claim);
    claim_ball(claim, run->problem, run->settings.slack, prec);
    if (arb_ge(value, claim))
        result = 1;
    else if (arb_lt(value, claim))
        result = -1;
    arb_clear(claim);
    return result;
}

/* What a pass has found, rounded; whether nothing is left open. Norm inf2 has no direction that a
 * claim could be checked at: a claim above what the ascent finds stays undecided. */
static bool record(const tl_certify_run *run, const tl_certify_value *value, const arf_t high,
                   slong prec, tl_certificate *out)
{
    const bool tight = known(out, value);
    const int claim = out->has_claim ? reaches(value->ball, run, prec) : 1;

    tl_certify_round(&out->norm_at_x, value->ball, prec);
    out->pairs = value->pairs;
    if (value->pairs) {
        tl_certify_known_low(&out->norm_at_x.low, value->ball, prec);
        out->bits = TL_CERTIFY_PAIR_BITS;
    }
    tl_certify_number(&out->norm_at_x.high, high, true);
    out->split = value->split;
    out->atom = value->atom;
    out->verdict = !out->has_claim ? TL_VERDICT_NO_CLAIM
                   : claim > 0     ? TL_VERDICT_CONFIRMED
                                   : TL_VERDICT_BELOW;
    if (out->norm == TL_NORM_INF2 && claim < 0) {
        (void)snprintf(out->why, sizeof out->why, "the ascent reached %s", out->norm_at_x.low.text);
        out->verdict = TL_VERDICT_UNDECIDED;
        return true;
    }
    /* A claim that is missed for certain needs no more digits. */
    if ((tight && claim != 0) || claim < 0) return out->why[0] == '\0';
    (void)snprintf(out->why, sizeof out->why, "the norm: at least %s, known to %ld bits",
                   out->norm_at_x.low.text, (long)arb_rel_accuracy_bits(value->ball));
    return false;
}

/* One pass at one precision. */
static tl_status pass(const tl_certify_run *run, slong prec, tl_certificate *out, bool *decided,
                      tl_error *err)
{
    tl_certify_value value = {.split = false};
    tl_certify_state s;
    arf_t high;
    /* As a product alone needs it. */
    const bool lean = run->settings.norm_only && out->norm == TL_NORM_2 &&
                      run->problem->direction && !run->settings.enclose;
    tl_status status = lean ? tl_certify_state_init_lean(&s, run->problem, prec, err)
                            : tl_certify_state_init(&s, run->problem, prec, err);

    if (status != TL_OK) return status;
    arb_init(value.ball);
    arf_init(high);
    out->bits = prec;
    out->why[0] = '\0';
    status = measure(run, &s, &value, high, out, err);
    if (status == TL_OK) status = tl_certify_stand(run, &s, value.ball, out, err);
    if (status == TL_OK) *decided = record(run, &value, high, prec, out);
    arf_clear(high);
    arb_clear(value.ball);
    tl_certify_state_clear(&s);
    return status;
}

static void conclude(tl_certificate *out, bool decided)
{
    if (!decided) out->verdict = TL_VERDICT_UNDECIDED;
    for (size_t i = 0; i < out->bounds; i++)
        if (out->bound[i].counts && out->bound[i].standing == TL_STANDS_EXCEEDED)
            out->verdict = TL_VERDICT_REFUTES;
}

void tl_certify_defaults(tl_certify_settings *settings)
{
    if (settings->slack <= 0) settings->slack = default_slack;
    if (settings->most_bits <= 0) settings->most_bits = TL_CERTIFY_MOST_BITS;
}

static tl_status prepare(tl_certify_run *run, tl_certificate *out, tl_error *err)
{
    const tl_problem *problem = run->problem;
    const size_t heads = problem->layer->heads, bounds = tl_bound_count();

    *out = (tl_certificate){.verdict = TL_VERDICT_UNDECIDED,
                            .norm = problem->has_norm ? problem->norm : TL_NORM_2,
                            .has_claim = problem->has_value,
                            .claim = problem->value,
                            .claim_log10 = problem->log10_value,
                            .heads = run->settings.norm_only ? 0 : heads,
                            .bounds = bounds};
    tl_certify_defaults(&run->settings);
    if (run->settings.against && !tl_bound_find(run->settings.against))
        return tl_fail(err, TL_ERR_ARGUMENT, "no bound has the key '%s'", run->settings.against);
    out->norm_a = calloc(heads, sizeof *out->norm_a);
    out->norm_v = calloc(heads, sizeof *out->norm_v);
    out->bound = calloc(bounds, sizeof *out->bound);
    run->log_value = calloc(bounds, sizeof *run->log_value);
    run->declined = calloc(bounds, sizeof *run->declined);
    if (!out->norm_a || !out->norm_v || !out->bound || !run->log_value || !run->declined)
        return tl_fail(err, TL_ERR_MEMORY, "out of memory for a certificate");
    tl_status status = tl_certify_check(problem, out->norm, err);
    if (status != TL_OK || problem->domain) return status;
    return tl_domain_alloc_enclosing(&run->enclosing, problem->measure->m, problem->measure->d,
                                     problem->measure->x, err);
}

/* Raises the precision until nothing is open. */
static tl_status decide(const tl_certify_run *run, tl_certificate *out, tl_error *err)
{
    bool decided = false;
    tl_status status = TL_OK;

    for (long bits = TL_CERTIFY_FIRST_BITS; status == TL_OK && !decided; bits *= 2) {
        status = pass(run, bits, out, &decided, err);
        if (bits >= run->settings.most_bits) break;
    }
    if (status == TL_OK) conclude(out, decided);
    return status;
}

tl_status tl_certify_problem(const tl_problem *problem, const tl_certify_settings *settings,
                             tl_certificate *out, tl_error *err)
{
    tl_certify_run run = {.problem = problem};

    if (settings) run.settings = *settings;
    tl_status status = prepare(&run, out, err);
    run.domain = problem->domain ? problem->domain : run.enclosing;
    if (status == TL_OK) {
        out->outside = tl_certify_outside(problem->measure, run.domain, &out->excess);
        if (out->outside < problem->measure->m)
            out->verdict = TL_VERDICT_OUTSIDE;
        else
            status = tl_certify_double_bounds(&run, out, err);
    }
    if (status == TL_OK && out->verdict != TL_VERDICT_OUTSIDE) status = decide(&run, out, err);
    if (status != TL_OK) tl_certificate_clear(out);
    free(run.log_value);
    free(run.declined);
    tl_domain_free(run.enclosing);
    return status;
}
