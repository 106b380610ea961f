/* A star against its claim and the bounds. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "certify/certificate.h"
#include "certify/l2_norm.h"
#include "certify/star.h"

/* n^(1/2) (4c + 1), where U = V A = I, and over k^(1/4) as printed. */
static void kim(arb_t value, const fmpz_t n, ulong width, bool printed, slong prec)
{
    arb_t t;

    arb_init(t);
    tl_certify_l2_c(value, n, prec);
    arb_mul_2exp_si(value, value, 2);
    arb_add_ui(value, value, 1, prec);
    arb_sqrt_fmpz(t, n, prec);
    arb_mul(value, value, t, prec);
    arb_set_ui(t, width);
    arb_root_ui(t, t, 4, prec);
    if (printed) arb_div(value, value, t, prec);
    arb_clear(t);
}

static bool by_form(arb_t value, const char *key, const fmpz_t n, ulong width, bool slow,
                    slong prec)
{
    static const struct {
        const char *key;
        tl_certify_l2_form *form;
        bool slow;
    } table[] = {{"l2-form-a", tl_certify_l2_form_a, false},
                 {"l2-form-b", tl_certify_l2_form_b, true},
                 {"l2-form-c", tl_certify_l2_form_c, true},
                 {"l2-form-d", tl_certify_l2_form_d, true}};

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        tl_certify_l2_size size;
        if (strcmp(table[i].key, key) != 0) continue;
        if (table[i].slow && !slow) return false;
        tl_certify_l2_size_init(&size, n, width, NULL, prec);
        table[i].form(value, &size);
        tl_certify_l2_size_clear(&size);
        return true;
    }
    return false;
}

bool tl_certify_star_formula(arb_t value, const char *key, const tl_certified_star *star, bool slow,
                             slong prec)
{
    const ulong width = star->n - star->centre + 1;
    bool known = true;
    fmpz_t n;

    fmpz_init_set_ui(n, star->n);
    if (strcmp(key, "kim-2") == 0 || strcmp(key, "kim-2-printed") == 0) {
        kim(value, n, width, strcmp(key, "kim-2") != 0, prec);
    } else if (strcmp(key, "l2-2") == 0 && slow) {
        arb_pos_inf(value);
        tl_certify_l2_norm(value, n, width, NULL, prec);
    } else {
        known = by_form(value, key, n, width, slow, prec);
    }
    fmpz_clear(n);
    return known && arb_is_finite(value);
}

static tl_status check(const tl_certified_star *star, tl_error *err)
{
    if (star->n < 2 || star->centre < 1 || star->centre >= star->n)
        return tl_fail(err, TL_ERR_ARGUMENT,
                       "star: expected 1 to n - 1 tokens in the centre, found %llu of %llu",
                       (unsigned long long)star->centre, (unsigned long long)star->n);
    if (isfinite(star->a) && isfinite(star->rho)) return TL_OK;
    return tl_fail(err, TL_ERR_ARGUMENT, "star: expected finite a and rho");
}

tl_status tl_certify_star_lower(const tl_certified_star *star, tl_certified *lower, tl_error *err)
{
    const tl_status status = check(star, err);
    tl_enclosure norm;
    arb_t ball;

    if (status != TL_OK) return status;
    arb_init(ball);
    for (slong bits = TL_CERTIFY_FIRST_BITS; bits <= TL_CERTIFY_MOST_BITS; bits *= 2) {
        tl_certify_star_norm(ball, star, bits);
        if (tl_certify_is_tight(ball)) break;
    }
    tl_certify_round(&norm, ball, TL_CERTIFY_FIRST_BITS);
    *lower = norm.low;
    arb_clear(ball);
    return TL_OK;
}

tl_status tl_certify_star_upper(const tl_certified_star *star, size_t count,
                                const tl_bound *const *bound, const tl_bound_value *value,
                                tl_certified *upper, tl_error *err)
{
    const tl_status status = check(star, err);
    tl_enclosure enclosure;
    arb_t ball;

    if (status != TL_OK) return status;
    arb_init(ball);
    for (size_t i = 0; i < count; i++) {
        arb_pos_inf(ball);
        if (value[i].applicable &&
            !tl_certify_star_formula(ball, bound[i]->key, star, false, TL_CERTIFY_FIRST_BITS))
            tl_certify_from_logarithm(ball, value[i].log_value);
        tl_certify_round(&enclosure, ball, TL_CERTIFY_FIRST_BITS);
        upper[i] = enclosure.high;
    }
    arb_clear(ball);
    return TL_OK;
}

/* Row i of the registry against the norm at one precision. */
static tl_status stand(const tl_certified_star *star, const tl_certify_settings *asked,
                       const tl_bound_query *query, const arb_t norm, size_t i, slong prec,
                       tl_certificate *out)
{
    tl_certified_bound *row = &out->bound[i];
    tl_bound_value value;
    arb_t ball;

    row->bound = tl_bound_at(i);
    const tl_status status = tl_bound_evaluate(row->bound, query, &value, NULL);
    if (status != TL_OK) return status;
    row->counts = row->bound->provenance != TL_PROVENANCE_REFUTED ||
                  (asked->against && strcmp(row->bound->key, asked->against) == 0);
    row->applicable = value.applicable;
    (void)snprintf(row->why, sizeof row->why, "%s", value.applicable ? "" : value.why);
    if (!value.applicable) return TL_OK;
    arb_init(ball);
    row->enclosed = !asked->lower_only &&
                    tl_certify_star_formula(ball, row->bound->key, star, asked->boxes, prec);
    if (!row->enclosed) tl_certify_from_logarithm(ball, value.log_value);
    tl_certify_round(&row->value, ball, prec);
    if (!row->enclosed) row->value.low = (tl_certified){.text = "0", .log10 = -(double)INFINITY};
    if (row->bound->norm == TL_NORM_2)
        row->standing = tl_certify_compare(ball, norm, prec >= asked->most_bits);
    if (row->standing == TL_STANDS_OPEN && row->counts)
        (void)snprintf(out->why, sizeof out->why, "the bound %s: in [%s, %s]", row->bound->key,
                       row->value.low.text, row->value.high.text);
    if (row->standing == TL_STANDS_EXCEEDED && row->counts) out->verdict = TL_VERDICT_REFUTES;
    arb_clear(ball);
    return TL_OK;
}

/* 1 reached, -1 not reached, 0 open. */
static int reaches(const arb_t norm, const tl_certified_star *star, double slack, slong prec)
{
    arb_t claim, t;
    int result = 1;

    if (!star->has_value) return 1;
    arb_init(claim);
    arb_init(t);
    arb_set_d(claim, star->value);
    arb_set_d(t, slack);
    arb_submul(claim, claim, t, prec);
    if (!arb_ge(norm, claim)) result = arb_lt(norm, claim) ? -1 : 0;
    arb_clear(t);
    arb_clear(claim);
    return result;
}

static tl_status pass(const tl_certified_star *star, const tl_certify_settings *asked,
                      const tl_bound_query *query, slong prec, tl_certificate *out)
{
    tl_status status = TL_OK;
    arb_t norm;

    arb_init(norm);
    tl_certify_star_norm(norm, star, prec);
    tl_certify_round(&out->norm_at_x, norm, prec);
    /* Other moves may do more: the upper end is none of ||J||. */
    out->norm_at_x.high = (tl_certified){"inf", (double)INFINITY, (double)INFINITY};
    out->bits = prec;
    out->why[0] = '\0';
    const int claim = reaches(norm, star, asked->slack, prec);
    out->verdict = !star->has_value ? TL_VERDICT_NO_CLAIM
                   : claim > 0      ? TL_VERDICT_CONFIRMED
                                    : TL_VERDICT_BELOW;
    if (claim == 0 || !tl_certify_is_tight(norm))
        (void)snprintf(out->why, sizeof out->why, "the norm: at least %s, known to %ld bits",
                       out->norm_at_x.low.text, (long)arb_rel_accuracy_bits(norm));
    for (size_t i = 0; i < out->bounds && !asked->norm_only && status == TL_OK; i++)
        status = stand(star, asked, query, norm, i, prec, out);
    arb_clear(norm);
    return status;
}

tl_status tl_certify_star(const tl_certified_star *star, const tl_certify_settings *settings,
                          tl_certificate *out, tl_error *err)
{
    tl_certify_settings asked = {.against = NULL};
    tl_head_facts head;
    tl_bound_query query;
    tl_status status = check(star, err);

    *out = (tl_certificate){.verdict = TL_VERDICT_UNDECIDED,
                            .norm = TL_NORM_2,
                            .has_claim = star->has_value,
                            .claim = star->value,
                            .claim_log10 = log10(star->value)};
    if (status != TL_OK) return status;
    if (settings) asked = *settings;
    tl_certify_defaults(&asked);
    out->bounds = asked.norm_only ? 0 : tl_bound_count();
    out->bound = calloc(tl_bound_count(), sizeof *out->bound);
    if (!out->bound) return tl_fail(err, TL_ERR_MEMORY, "out of memory for a certificate");
    tl_bound_query_identity(&query, &head, star->n, star->n - star->centre + 1);
    for (slong bits = TL_CERTIFY_FIRST_BITS; status == TL_OK; bits *= 2) {
        status = pass(star, &asked, &query, bits, out);
        if (out->why[0] == '\0' || bits >= asked.most_bits) break;
    }
    if (out->why[0] != '\0' && out->verdict != TL_VERDICT_REFUTES)
        out->verdict = TL_VERDICT_UNDECIDED;
    if (status == TL_OK) return TL_OK;
    tl_certificate_clear(out);
    return tl_fail(err, status, "star: %s", tl_status_text(status));
}
