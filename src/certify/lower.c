/* Lower bounds and enclosures of the norm at the tokens. */
#include <math.h>

#include "certify/measure.h"
#include "certify/quick.h"

/* Joint blocks whose smaller side is larger than this are not enclosed: the certificate costs a
 * Cholesky factor of that size, several times. */
static const size_t ENCLOSED_SIZE = 512;

/* Products of fewer terms a head are a fraction of a millisecond in balls, and exact more often. */
static const size_t FEW_TERMS = 1024;

/* value = |image|/|v|, when its lower end is the best yet. */
static bool improves(arb_t value, arb_srcptr image, size_t rows, arb_srcptr v, size_t cols,
                     slong prec)
{
    arb_t length, quotient;
    arf_t old, new;
    bool better = false;

    if (_arb_vec_is_zero(v, (slong)cols)) return false;
    arb_init(length);
    arb_init(quotient);
    arf_init(old);
    arf_init(new);
    tl_certify_length(quotient, image, rows, prec);
    tl_certify_length(length, v, cols, prec);
    arb_div(quotient, quotient, length, prec);
    arb_get_lbound_arf(new, quotient, prec);
    arb_get_lbound_arf(old, value, prec);
    better = arf_cmp(new, old) > 0;
    if (better) arb_set(value, quotient);
    arf_clear(new);
    arf_clear(old);
    arb_clear(quotient);
    arb_clear(length);
    return better;
}

void tl_certify_at_direction(tl_certify_state *s, const tl_problem *problem, bool quick,
                             tl_certify_value *value)
{
    arb_mat_t v, joint, split;

    value->split = false;
    value->pairs = quick && s->prec == TL_CERTIFY_FIRST_BITS &&
                   s->m * s->m * s->layer->values >= FEW_TERMS &&
                   problem->direction_kind != TL_DIRECTION_SPLIT &&
                   tl_certify_quick(value->ball, s, problem->direction);
    if (value->pairs) return;
    arb_mat_init(v, (slong)s->m, (slong)s->d);
    tl_certify_matrix_set(v, problem->direction);
    arb_mat_init(joint, (slong)s->m, (slong)s->out);
    arb_mat_init(split, (slong)s->m, (slong)s->out);
    tl_certify_apply(s, v, joint, split);
    arb_set_si(value->ball, -1); /* below every quotient */
    if (problem->direction_kind != TL_DIRECTION_SPLIT)
        (void)improves(value->ball, joint->entries, s->m * s->out, v->entries, s->m * s->d,
                       s->prec);
    for (size_t k = 0; k < s->m; k++) {
        if (problem->direction_kind == TL_DIRECTION_JOINT || !tl_certify_splits(s->mu, k) ||
            !improves(value->ball, split->rows[k], s->out, v->rows[k], s->d, s->prec))
            continue;
        value->split = true;
        value->atom = k;
    }
    if (arb_is_negative(value->ball)) arb_zero_pm_inf(value->ball);
    arb_mat_clear(split);
    arb_mat_clear(joint);
    arb_mat_clear(v);
}

bool tl_certify_encloses(const tl_certify_state *s)
{
    return s->m * (s->out < s->d ? s->out : s->d) <= ENCLOSED_SIZE;
}

tl_status tl_certify_enclose(const tl_certify_state *s, tl_certify_value *value, tl_error *err)
{
    const size_t rows = s->m * s->out, cols = s->m * s->d;
    arb_mat_struct *split;
    arb_mat_t M;
    arb_t one;

    if (!tl_certify_encloses(s))
        return tl_fail(
            err, TL_ERR_LIMIT,
            "enclosing norm 2: expected a Jacobian of at most %zu rows or columns, found "
            "%zu by %zu",
            ENCLOSED_SIZE, rows, cols);
    arb_init(one);
    split = flint_malloc(s->m * sizeof *split);
    for (size_t k = 0; k < s->m; k++) arb_mat_init(split + k, (slong)s->out, (slong)s->d);
    arb_mat_init(M, (slong)rows, (slong)cols);
    tl_certify_joint(s, M, split);
    tl_certify_norm2(value->ball, M, s->prec);
    value->split = false;
    for (size_t k = 0; k < s->m; k++) {
        if (tl_certify_splits(s->mu, k)) {
            tl_certify_norm2(one, split + k, s->prec);
            if (arf_cmp(arb_midref(one), arb_midref(value->ball)) > 0) {
                value->split = true;
                value->atom = k;
            }
            arb_max(value->ball, value->ball, one, s->prec);
        }
        arb_mat_clear(split + k);
    }
    flint_free(split);
    arb_mat_clear(M);
    arb_clear(one);
    return TL_OK;
}

/* Norms that go through every entry of every head are refused above this many terms: minutes. */
static const double MOST_TERMS = 1e9;

/* Whether some row of the direction is not zero; split: a row of an atom that has copies. */
static bool moves(const tl_problem *problem)
{
    const tl_measure *mu = problem->measure;
    const bool split = problem->direction_kind == TL_DIRECTION_SPLIT;

    for (size_t i = 0; i < mu->m * mu->d; i++)
        if (problem->direction[i] != 0 && (!split || tl_certify_splits(mu, i / mu->d))) return true;
    return false;
}

tl_status tl_certify_check(const tl_problem *problem, tl_norm norm, tl_error *err)
{
    if (norm == TL_NORM_JT_F)
        return tl_fail(err, TL_ERR_UNSUPPORTED, "norm jt-f: no norm, and not certified");
    if (norm == TL_NORM_2 && problem->direction && !moves(problem))
        return tl_fail(err, TL_ERR_ARGUMENT,
                       problem->direction_kind == TL_DIRECTION_SPLIT
                           ? "direction: expected one that moves an atom with copies"
                           : "direction: expected one that is not zero");
    const double m = (double)problem->measure->m;
    const double terms = m * m * (double)problem->layer->heads * (double)problem->layer->out *
                         (double)problem->layer->d;
    if (norm != TL_NORM_2 && terms > MOST_TERMS)
        return tl_fail(err, TL_ERR_LIMIT,
                       "norm %s: expected at most %.3g entries of all heads together, found %.3g",
                       tl_norm_name(norm), MOST_TERMS, terms);
    return TL_OK;
}

/* Whether the ball is known to a relative 2^-56, or is exactly zero. */
bool tl_certify_is_tight(const arb_t ball)
{
    return arb_is_zero(ball) || (arb_is_finite(ball) && arb_rel_accuracy_bits(ball) >= 56);
}

bool tl_certify_is_enough(const tl_certify_value *value)
{
    return value->pairs || tl_certify_is_tight(value->ball);
}

static tl_status lower_at(const tl_problem *problem, tl_norm norm, slong prec,
                          tl_certify_value *value, tl_error *err)
{
    tl_certify_state s;
    tl_status status = norm == TL_NORM_2 ? tl_certify_state_init_lean(&s, problem, prec, err)
                                         : tl_certify_state_init(&s, problem, prec, err);

    if (status != TL_OK) return status;
    if (norm == TL_NORM_2)
        tl_certify_at_direction(&s, problem, true, value);
    else if (norm == TL_NORM_INF2)
        tl_certify_movement(&s, value);
    else
        status = tl_certify_entry_norm(&s, norm, value->ball, err);
    tl_certify_state_clear(&s);
    return status;
}

tl_status tl_certify_lower(const tl_problem *problem, tl_certified_lower *out, tl_error *err)
{
    const tl_norm norm = problem->has_norm ? problem->norm : TL_NORM_2;
    tl_certify_value value = {.split = false};
    long bits = TL_CERTIFY_FIRST_BITS;
    tl_status status = tl_certify_check(problem, norm, err);
    arf_t end;

    if (status == TL_OK && norm == TL_NORM_2 && !problem->direction)
        return tl_fail(err, TL_ERR_ARGUMENT, "direction: expected one for norm 2, found none");
    if (status != TL_OK) return status;
    arb_init(value.ball);
    arf_init(end);
    for (;; bits *= 2) {
        status = lower_at(problem, norm, bits, &value, err);
        if (status != TL_OK || tl_certify_is_enough(&value) || bits >= TL_CERTIFY_MOST_BITS) break;
    }
    if (status == TL_OK) {
        arb_get_lbound_arf(end, value.ball, bits);
        *out = (tl_certified_lower){.split = value.split,
                                    .atom = value.atom,
                                    .bits = value.pairs ? TL_CERTIFY_PAIR_BITS : bits,
                                    .pairs = value.pairs};
        if (value.pairs)
            tl_certify_known_low(&out->lower, value.ball, bits);
        else
            tl_certify_number(&out->lower, end, false);
        if (!(arf_sgn(end) > 0) && !arb_is_zero(value.ball))
            status =
                tl_fail(err, TL_ERR_LIMIT, "the norm: cannot be told from zero at %ld bits", bits);
    }
    arf_clear(end);
    arb_clear(value.ball);
    return status;
}
