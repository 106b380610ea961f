/* What a record publishes beside its witness, against what the witness proves. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_math.h>

#include "cli/cli.h"
#include "cli/verify.h"

/* What one certificate may have above another: one product, rounded twice, or the products with
 * two directions, each found to what double precision leaves. */
static const double same_product = 1e-15, other_direction = 1e-10;

static double tolerance(double log10_value)
{
    return CLI_AGREEMENT * fmax(1 / M_LN10, fabs(log10_value));
}

/* "1.5e+400": past the double range as well; "inf". NAN: no number. */
static double decimal_log10(const char *text)
{
    const size_t length = strcspn(text, "eE");
    char mantissa[TL_CERTIFIED_SIZE], *end = NULL;
    double x = 0;
    long exponent = 0;

    if (strcmp(text, "inf") == 0) return (double)INFINITY;
    (void)snprintf(mantissa, sizeof mantissa, "%.*s", (int)length, text);
    if (length >= sizeof mantissa || !tl_cli_parse_real(mantissa, &x)) return (double)NAN;
    if (text[length] != '\0') {
        exponent = strtol(text + length + 1, &end, 10);
        if (end == text + length + 1 || *end != '\0') return (double)NAN;
    }
    return log10(x) + (double)exponent;
}

static double recorded_log10(const json_t *found, bool is_log)
{
    if (json_is_string(found)) return decimal_log10(json_string_value(found));
    if (!json_is_number(found)) return (double)NAN;
    return is_log ? json_number_value(found) : log10(json_number_value(found));
}

static bool is_absent(const json_t *found)
{
    return found == NULL || json_is_null(found);
}

/* Whether a record can hold that number, linear or as a logarithm; else it has null. */
static bool is_storable(double log10_value, bool is_log)
{
    return is_log ? isfinite(log10_value) : log10_value < DBL_MAX_10_EXP;
}

bool tl_cli_record_agrees(const json_t *found, bool is_log, double expected)
{
    const double x = recorded_log10(found, is_log);

    if (is_absent(found)) return !is_storable(expected, is_log);
    if (isinf(expected)) return isinf(x) && (x < 0) == (expected < 0);
    /* Few digits are left of the smallest doubles. */
    if (json_is_real(found) && !is_log && expected < DBL_MIN_10_EXP) return x <= DBL_MIN_10_EXP;
    return fabs(x - expected) <= tolerance(expected);
}

void tl_cli_findings_note(tl_cli_findings *out, const char *where, const char *key,
                          const char *expected, const json_t *found)
{
    json_t *copy = is_absent(found) ? json_null() : json_deep_copy(found);

    tl_cli_json_append(&out->differs,
                       json_pack("{s:o,s:s,s:o}", "at", json_sprintf("%s.%s", where, key),
                                 "expected", expected, "found", copy));
}

void tl_cli_record_check_number(const json_t *object, const char *where, const char *key,
                                bool is_log, double expected, tl_cli_findings *out)
{
    const json_t *found = json_object_get(object, key);
    char text[40];

    if (tl_cli_record_agrees(found, is_log, expected)) return;
    if (is_log || !is_storable(expected, false))
        (void)snprintf(text, sizeof text, "%s%.15g", is_log ? "" : "10^", expected);
    else
        (void)snprintf(text, sizeof text, "%.15g", pow(10, expected));
    tl_cli_findings_note(out, where, key, text, found);
}

/* A lower end may be less sharp by rounding, and not above what is proven. */
static void check_certified(tl_cli_findings *out, const json_t *lower, const char *key,
                            const tl_certified *proven, double expected, bool same)
{
    const json_t *found = json_object_get(lower, key);
    const bool is_log = !json_is_string(found);
    const double x = recorded_log10(found, is_log), slack = same ? same_product : other_direction;
    char text[TL_CERTIFIED_SIZE + 16];

    if (is_absent(found)) return; /* not every run certifies */
    const double most = isinf(proven->log10) ? proven->log10
                                             : proven->log10 + slack / M_LN10 +
                                                   4 * DBL_EPSILON * fabs(proven->log10);
    if (x <= most && tl_cli_record_agrees(found, is_log, expected)) return;
    if (is_log)
        (void)snprintf(text, sizeof text, "at most %.17g", proven->log10);
    else
        (void)snprintf(text, sizeof text, "at most %s", proven->text);
    tl_cli_findings_note(out, "lower", key, text, found);
}

void tl_cli_record_check_lower(const json_t *record, const tl_certificate *c, bool same_direction,
                               tl_cli_findings *out)
{
    const json_t *lower = json_object_get(record, "lower");
    /* An ascent may end elsewhere than that of the run, and an enclosure may lie above the value at
     * the direction: the claim, which was looked at, is what the record is to hold. */
    const bool ascent = c->norm == TL_NORM_INF2, enclosed = c->norm == TL_NORM_2 && c->has_upper;
    const double found =
        (ascent || enclosed) && c->has_claim ? c->claim_log10 : c->norm_at_x.low.log10;

    if (!json_is_object(lower) || c->verdict == TL_VERDICT_OUTSIDE ||
        c->verdict == TL_VERDICT_UNDECIDED)
        return;
    tl_cli_record_check_number(lower, "lower", "value", false, found, out);
    tl_cli_record_check_number(lower, "lower", "log10", true, found, out);
    if (ascent) return;
    check_certified(out, lower, "certified", &c->norm_at_x.low, found, same_direction);
    check_certified(out, lower, "certified_log10", &c->norm_at_x.low, found, same_direction);
}

void tl_cli_record_check_bound(const json_t *row, const char *key, const tl_bound_value *value,
                               tl_cli_findings *out)
{
    char where[100];

    (void)snprintf(where, sizeof where, "bound %s", key);
    if (json_is_true(json_object_get(row, "applicable")) != value->applicable) {
        tl_cli_findings_note(out, where, "applicable", value->applicable ? "true" : "false",
                             json_object_get(row, "applicable"));
        return;
    }
    if (!value->applicable) return;
    const double expected = value->log_value / M_LN10;
    tl_cli_record_check_number(row, where, "log10", true, expected, out);
    tl_cli_record_check_number(row, where, "value", false, expected, out);
}

/* The logarithm that the record has of that bound; NAN: none. */
static double bound_log10(const json_t *record, const char *key)
{
    const json_t *rows = json_object_get(record, "bounds");

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *name = json_string_value(json_object_get(row, "key"));
        if (name && strcmp(name, key) == 0)
            return recorded_log10(json_object_get(row, "log10"), true);
    }
    return (double)NAN;
}

void tl_cli_record_check_ratios(const json_t *record, tl_cli_findings *out)
{
    static const char *const names[][2] = {{"best_bound", "ratio_log10"},
                                           {"best_proven", "proven_ratio_log10"},
                                           {"best_published", "published_ratio_log10"}};
    const double found =
        recorded_log10(json_object_get(json_object_get(record, "lower"), "log10"), true);

    for (size_t i = 0; i < CLI_COUNT_OF(names); i++) {
        const char *key = json_string_value(json_object_get(record, names[i][0]));
        const double bound = key ? bound_log10(record, key) : (double)NAN;
        const json_t *ratio = json_object_get(record, names[i][1]);
        char text[40];
        if (!isfinite(bound) || !isfinite(found) ||
            fabs(recorded_log10(ratio, true) - (bound - found)) <= tolerance(bound))
            continue;
        (void)snprintf(text, sizeof text, "%.15g", bound - found);
        tl_cli_findings_note(out, "record", names[i][1], text, ratio);
    }
}
