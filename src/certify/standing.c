/* How the bounds of the registry stand to a certified lower bound. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "certify/certificate.h"

/* Two numbers this close are called equal: no precision tells a bound from a value that attains
 * it. At the largest precision less is enough: enclosures of singular values that all but coincide
 * do not get narrower than a step of their certificate, from 2^-60 to 2^-50 (spectral.c). */
enum { EQUAL_BITS = 200, EQUAL_BITS_AT_LAST = 50 };

/* A bound that does not apply under a mask, asked for by name. */
static tl_status try_unmasked(const tl_bound_query *query, tl_certified_bound *row,
                              tl_bound_value *value)
{
    tl_bound_query unmasked = *query;

    unmasked.mask = TL_MASK_NONE;
    unmasked.measure = NULL; /* local bounds look at rows, which the mask cuts */
    tl_bound_value other;
    tl_status status = tl_bound_evaluate(row->bound, &unmasked, &other, NULL);
    if (status == TL_OK && other.applicable) {
        row->outside_hypotheses = true;
        (void)snprintf(row->why, sizeof row->why, "%s", value->why);
        *value = other;
    }
    return status;
}

static tl_status fill_row(const tl_certify_run *run, const tl_bound_query *query,
                          tl_certified_bound *row, double *log_value)
{
    const char *against = run->settings.against;
    const bool named = against && strcmp(row->bound->key, against) == 0;
    const tl_bound_query asked = tl_bound_query_about(query, row->bound, run->domain, false);
    tl_bound_value value;
    tl_status status = tl_bound_evaluate(row->bound, &asked, &value, NULL);

    row->counts = named || row->bound->provenance != TL_PROVENANCE_REFUTED;
    if (status == TL_OK && !value.applicable && named && query->mask != TL_MASK_NONE)
        status = try_unmasked(query, row, &value);
    if (status != TL_OK) return status;
    row->applicable = value.applicable;
    if (!value.applicable) {
        (void)snprintf(row->why, sizeof row->why, "%s", value.why);
        return TL_OK;
    }
    *log_value = value.log_value;
    return TL_OK;
}

/* Rows of a layer whose norms, or products of them, double precision cannot hold. */
static void refuse_row(tl_certified_bound *row)
{
    row->applicable = row->outside_hypotheses = false;
    (void)snprintf(row->why, sizeof row->why, "the norms of this layer leave the double range");
}

static void leave_out(tl_certificate *out)
{
    for (size_t i = 0; i < out->bounds; i++) {
        out->bound[i].bound = tl_bound_at(i);
        (void)snprintf(out->bound[i].why, sizeof out->bound[i].why, "left out for this layer");
    }
}

tl_status tl_certify_double_bounds(const tl_certify_run *run, tl_certificate *out, tl_error *err)
{
    const tl_problem *problem = run->problem;
    tl_head_facts *head;
    tl_bound_query query;

    if (run->settings.norm_only) {
        leave_out(out);
        return TL_OK;
    }
    head = calloc(problem->layer->heads, sizeof *head);
    if (!head) return tl_fail(err, TL_ERR_MEMORY, "out of memory for the heads");
    const tl_status facts =
        tl_bound_query_domain(&query, head, problem->layer, problem->measure, run->domain, NULL);
    tl_status status = facts == TL_ERR_MEMORY ? facts : TL_OK;
    for (size_t i = 0; i < out->bounds && status == TL_OK; i++) {
        tl_certified_bound *row = &out->bound[i];
        row->bound = tl_bound_at(i);
        status = facts == TL_OK ? fill_row(run, &query, row, &run->log_value[i]) : facts;
        if (status == TL_OK || status == TL_ERR_MEMORY) continue;
        refuse_row(row);
        status = TL_OK;
    }
    free(head);
    return status == TL_OK ? TL_OK : tl_fail(err, status, "out of memory for the bounds");
}

tl_certified_standing tl_certify_compare(const arb_t bound, const arb_t value, bool last)
{
    const long equal_bits = last ? EQUAL_BITS_AT_LAST : EQUAL_BITS;

    if (arb_gt(value, bound)) return TL_STANDS_EXCEEDED;
    if (arb_le(value, bound)) return TL_STANDS_ABOVE;
    return arb_rel_accuracy_bits(value) >= equal_bits && arb_rel_accuracy_bits(bound) >= equal_bits
               ? TL_STANDS_EQUAL
               : TL_STANDS_OPEN;
}

void tl_certify_from_logarithm(arb_t bound, double log_value)
{
    arb_zero(bound);
    if (log_value == -(double)INFINITY) return;
    arb_set_d(bound, log_value);
    arb_exp(bound, bound, TL_CERTIFY_FIRST_BITS);
    arb_get_ubound_arf(arb_midref(bound), bound, TL_CERTIFY_FIRST_BITS);
    mag_zero(arb_radref(bound));
}

/* A ball by the formula (true), or what the double says. */
static bool bound_ball(arb_t ball, const tl_bound *bound, const tl_certify_facts *f,
                       double log_value)
{
    if (tl_certify_formula(ball, bound->key, f)) return true;
    tl_certify_from_logarithm(ball, log_value);
    return false;
}

static void stand(const tl_certify_run *run, const tl_certify_facts *f, const arb_t value, size_t i,
                  tl_certificate *out)
{
    tl_certified_bound *row = &out->bound[i];
    const bool last = f->prec >= run->settings.most_bits;
    arb_t bound;

    if (!row->applicable) return;
    arb_init(bound);
    const bool quick = tl_certify_has_quick_formula(row->bound->key, f->heads);
    if (run->settings.lower_only || (!run->settings.boxes && !quick) || run->declined[i])
        tl_certify_from_logarithm(bound, run->log_value[i]);
    else if (!quick && row->enclosed && isfinite(row->value.high.value))
        arb_set_d(bound, row->value.high.value); /* a maximum over boxes gains nothing by digits */
    else
        row->enclosed = bound_ball(bound, row->bound, f, run->log_value[i]);
    run->declined[i] = run->declined[i] || (run->settings.boxes && !run->settings.lower_only &&
                                            !quick && !row->enclosed);
    tl_certify_round(&row->value, bound, f->prec);
    if (!row->enclosed) row->value.low = (tl_certified){.text = "0", .log10 = -(double)INFINITY};
    if (row->bound->norm == out->norm) row->standing = tl_certify_compare(bound, value, last);
    if (row->standing == TL_STANDS_OPEN && row->counts)
        (void)snprintf(out->why, sizeof out->why, "the bound %s: in [%s, %s]", row->bound->key,
                       row->value.low.text, row->value.high.text);
    arb_clear(bound);
}

tl_status tl_certify_stand(const tl_certify_run *run, const tl_certify_state *s, const arb_t value,
                           tl_certificate *out, tl_error *err)
{
    tl_certify_facts f;

    if (run->settings.norm_only) return TL_OK;
    tl_status status = tl_certify_facts_init(&f, s, run->domain, !run->settings.lower_only, err);

    if (status != TL_OK) return status;
    for (size_t h = 0; h < out->heads; h++) {
        tl_certify_round(&out->norm_a[h], f.head[h].norm_a, s->prec);
        tl_certify_round(&out->norm_v[h], f.head[h].norm_v, s->prec);
    }
    for (size_t i = 0; i < out->bounds; i++) stand(run, &f, value, i, out);
    tl_certify_facts_clear(&f);
    return TL_OK;
}

/* Layer and tokens are looked at only where a formula wants them: the norms of wide matrices cost
 * more than all else. */
static bool any_formula(size_t heads, size_t count, const tl_bound *const *bound,
                        const tl_bound_value *value)
{
    for (size_t i = 0; i < count; i++)
        if (value[i].applicable && tl_certify_has_quick_formula(bound[i]->key, heads)) return true;
    return false;
}

static void round_up(tl_certified *upper, const arb_t ball)
{
    tl_enclosure enclosure;

    tl_certify_round(&enclosure, ball, TL_CERTIFY_FIRST_BITS);
    *upper = enclosure.high;
}

tl_status tl_certify_upper(const tl_problem *problem, size_t count, const tl_bound *const *bound,
                           const tl_bound_value *value, tl_certified *upper, tl_error *err)
{
    const size_t heads = problem->layer->heads;
    const bool formulas = any_formula(heads, count, bound, value);
    tl_certify_state s = {.head = NULL};
    tl_certify_facts f = {.head = NULL};
    tl_status status = TL_OK;
    arb_t ball;

    if (!problem->domain) return tl_fail(err, TL_ERR_ARGUMENT, "domain: expected one, found none");
    if (formulas) {
        status = tl_certify_state_init(&s, problem, TL_CERTIFY_FIRST_BITS, err);
        if (status != TL_OK) return status;
        status = tl_certify_facts_init(&f, &s, problem->domain, true, err);
    }
    arb_init(ball);
    for (size_t i = 0; i < count && status == TL_OK; i++) {
        arb_pos_inf(ball);
        if (value[i].applicable && tl_certify_has_quick_formula(bound[i]->key, heads))
            (void)bound_ball(ball, bound[i], &f, value[i].log_value);
        else if (value[i].applicable)
            tl_certify_from_logarithm(ball, value[i].log_value);
        round_up(&upper[i], ball);
    }
    arb_clear(ball);
    tl_certify_facts_clear(&f);
    tl_certify_state_clear(&s);
    return status;
}
