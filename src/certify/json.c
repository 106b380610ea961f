/* A certificate as JSON. Numbers past the double range stand as decimal text; infinite: null. */
#include <math.h>
#include <string.h>

#include "certify/internal.h"

static json_t *text_or_null(const tl_certified *number)
{
    return isinf(number->value) && strcmp(number->text, "inf") == 0 ? json_null()
                                                                    : json_string(number->text);
}

static json_t *pair(const tl_enclosure *enclosure)
{
    return json_pack("[o,o]", text_or_null(&enclosure->low), text_or_null(&enclosure->high));
}

static json_t *pairs(const tl_enclosure *enclosure, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(array, pair(&enclosure[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static const char *standing_name(tl_certified_standing standing)
{
    switch (standing) {
    case TL_STANDS_APART:
        return "apart";
    case TL_STANDS_ABOVE:
        return "above";
    case TL_STANDS_EQUAL:
        return "equal";
    case TL_STANDS_EXCEEDED:
        return "exceeded";
    case TL_STANDS_OPEN:
        return "open";
    }
    return "unknown";
}

static json_t *bound_json(const tl_certified_bound *row)
{
    const bool low = row->applicable && row->enclosed;

    return json_pack(
        "{s:s,s:s,s:s,s:s,s:b,s:s?,s:s?,s:o,s:o,s:b,s:s}", "key", row->bound->key, "norm",
        tl_norm_name(row->bound->norm), "scope", tl_scope_name(row->bound->scope), "provenance",
        tl_provenance_name(row->bound->provenance), "applicable", (int)row->applicable, "why",
        row->why[0] != '\0' ? row->why : NULL, "arithmetic",
        !row->applicable ? NULL
        : row->enclosed  ? "ball"
                         : "double, rounded up",
        "lower", low ? text_or_null(&row->value.low) : json_null(), "upper",
        row->applicable ? text_or_null(&row->value.high) : json_null(), "outside_hypotheses",
        (int)row->outside_hypotheses, "standing", standing_name(row->standing));
}

static json_t *bounds_json(const tl_certificate *c, bool refuted_only)
{
    json_t *array = json_array();

    for (size_t i = 0; i < c->bounds && array; i++) {
        const tl_certified_bound *row = &c->bound[i];
        const bool refuted = row->counts && row->standing == TL_STANDS_EXCEEDED;
        if (!row->bound || (refuted_only && !refuted)) continue;
        if (json_array_append_new(array,
                                  refuted_only ? json_string(row->bound->key) : bound_json(row))) {
            json_decref(array);
            return NULL;
        }
    }
    return array;
}

static json_t *claim_json(const tl_certificate *c)
{
    if (!c->has_claim) return json_null();
    return json_pack("{s:o,s:o}", "value", isfinite(c->claim) ? json_real(c->claim) : json_null(),
                     "log10", isfinite(c->claim_log10) ? json_real(c->claim_log10) : json_null());
}

json_t *tl_certificate_to_json(const tl_certificate *c, const char *file)
{
    const bool measured = c->verdict != TL_VERDICT_OUTSIDE;
    const bool upper = measured && c->has_upper;
    const size_t heads = measured ? c->heads : 0;
    const double log10 = c->norm_at_x.low.log10;
    json_t *outside = measured
                          ? json_null()
                          : json_pack("{s:I,s:o}", "token", (json_int_t)c->outside, "distance",
                                      isfinite(c->excess) ? json_real(c->excess) : json_null());

    return json_pack(
        "{s:s,s:s,s:o,s:s,s:o,s:o,s:o,s:o,s:s?,s:b,s:I,s:s?,s:o,s:o,s:o,s:o}", "file", file,
        "verdict", tl_verdict_name(c->verdict), "refutes", bounds_json(c, true), "norm",
        tl_norm_name(c->norm), "lower", measured ? text_or_null(&c->norm_at_x.low) : json_null(),
        "lower_log10", measured && isfinite(log10) ? json_real(log10) : json_null(), "upper",
        upper ? text_or_null(&c->norm_at_x.high) : json_null(), "claimed", claim_json(c),
        "arithmetic", measured ? (c->pairs ? "pairs of doubles" : "ball") : NULL, "split",
        (int)c->split, "bits", (json_int_t)c->bits, "why", c->why[0] != '\0' ? c->why : NULL,
        "outside", outside, "norm_a", pairs(c->norm_a, heads), "norm_v", pairs(c->norm_v, heads),
        "bounds", bounds_json(c, false));
}
