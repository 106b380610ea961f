#include "tightlip/problem.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attention/problem_parse.h"

#define COUNT(names) (sizeof(names) / sizeof(names)[0])

/* Claimed value and claimed log10 may differ by printing, not by more (relative above 1). */
static const double log10_slack = 1e-9;

static tl_status read_measure(const tl_parse *p, const json_t *root, tl_measure **out,
                              double **log_mass_out)
{
    const json_t *counts = json_object_get(root, "multiplicity");
    const json_t *masses = json_object_get(root, "log_mass");
    size_t m = 0, d = 0;
    double *x, *log_mass = NULL;
    uint64_t *count = NULL;
    tl_status s;

    if (counts && masses)
        return tl_parse_fail(p, "log_mass", "expected multiplicity or log_mass, found both");
    s = tl_parse_matrix(p, json_object_get(root, "tokens"), "tokens", &m, &d, &x);
    if (s) return s;
    if (counts) s = tl_parse_counts(p, counts, "multiplicity", m, &count);
    if (masses) s = tl_parse_vector(p, masses, "log_mass", &m, &log_mass);
    if (!s) {
        s = tl_measure_alloc(out, m, d, x, count, log_mass, p->err);
        if (s) tl_error_prefix(p->err, "%s", p->document);
    }
    free(x);
    free(count);
    *log_mass_out = log_mass;
    return s;
}

/* Whether claimed value and claimed log10 say the same, up to printing. Near and below the smallest
 * normal number the value has lost its digits and the logarithm speaks. */
static bool agree(double value, double log10_value)
{
    double smallest = DBL_MIN / DBL_EPSILON;

    if (value < smallest) return log10_value <= log10(smallest);
    return fabs(log10(value) - log10_value) <= log10_slack * fmax(1, fabs(log10_value));
}

static tl_status read_value(const tl_parse *p, const json_t *root, tl_problem *out)
{
    const json_t *value = json_object_get(root, "value");
    const json_t *logarithm = json_object_get(root, "log10");
    tl_status s = TL_OK;

    if (value) s = tl_parse_number(p, value, "value", &out->value);
    if (!s && logarithm) s = tl_parse_number(p, logarithm, "log10", &out->log10_value);
    if (s || (!value && !logarithm)) return s;
    out->has_value = true;
    if (!value) out->value = pow(10, out->log10_value);
    if (out->value < 0)
        return tl_parse_fail(p, "value", "expected a norm of at least 0, found %.17g", out->value);
    if (!logarithm) out->log10_value = log10(out->value);
    if (value && logarithm && !agree(out->value, out->log10_value))
        return tl_parse_fail(p, "log10", "expected %.17g as 'value' says, found %.17g",
                             log10(out->value), out->log10_value);
    return TL_OK;
}

static tl_status read_direction_kind(const tl_parse *p, const json_t *root, tl_problem *out)
{
    const json_t *value = json_object_get(root, "direction_kind");
    const char *name;
    tl_status s = value ? tl_parse_string(p, value, "direction_kind", &name) : TL_OK;

    if (s || !value) return s;
    if (!out->direction)
        return tl_parse_fail(p, "direction_kind", "expected beside a direction only");
    if (strcmp(name, "joint") != 0 && strcmp(name, "split") != 0)
        return tl_parse_fail(p, "direction_kind", "expected joint or split, found '%s'", name);
    out->direction_kind = name[0] == 'j' ? TL_DIRECTION_JOINT : TL_DIRECTION_SPLIT;
    return TL_OK;
}

/* What a witness has beyond a problem. */
static tl_status read_witness(const tl_parse *p, const json_t *root, tl_problem *out)
{
    const json_t *norm = json_object_get(root, "norm");
    const json_t *direction = json_object_get(root, "direction");
    size_t m = out->measure->m, d = out->measure->d;
    const char *name;
    tl_status s = TL_OK;

    if (norm) {
        s = tl_parse_string(p, norm, "norm", &name);
        if (s) return s;
        if (tl_norm_from_name(name, &out->norm))
            return tl_parse_fail(p, "norm", "expected 2, inf, 1, inf2 or fro, found '%s'", name);
        out->has_norm = true;
    }
    if (direction) s = tl_parse_matrix(p, direction, "direction", &m, &d, &out->direction);
    if (!s) s = read_direction_kind(p, root, out);
    return s ? s : read_value(p, root, out);
}

static tl_status read_texts(const tl_parse *p, const json_t *root, tl_problem *out)
{
    const json_t *name = json_object_get(root, "name"), *why = json_object_get(root, "why");
    const char *schema, *text;
    tl_status s = tl_parse_string(p, json_object_get(root, "schema"), "schema", &schema);

    if (s) return s;
    if (strcmp(schema, TL_PROBLEM_SCHEMA) != 0)
        return tl_parse_fail(p, "schema", "expected '%s', found '%s'", TL_PROBLEM_SCHEMA, schema);
    if (why) s = tl_parse_string(p, why, "why", &text);
    if (!s && name) s = tl_parse_string(p, name, "name", &text);
    if (s || !name) return s;
    out->name = strdup(text);
    return out->name ? TL_OK : tl_fail(p->err, TL_ERR_MEMORY, "%s: out of memory", p->document);
}

static tl_status from_json(const json_t *root, const char *where, bool anywhere, tl_problem *out,
                           tl_error *err)
{
    static const char *const names[] = {
        "schema", "name", "why",       "attention", "tokens", "multiplicity", "log_mass",
        "domain", "norm", "direction", "value",     "log10",  "expect",       "direction_kind"};
    const tl_parse p = {where, err};
    tl_problem problem = {0};
    const json_t *domain;
    tl_status s = tl_parse_object(&p, root, "document", names, COUNT(names));

    if (!s) s = read_texts(&p, root, &problem);
    if (!s) s = read_measure(&p, root, &problem.measure, &problem.log_mass);
    if (!s)
        s = tl_parse_layer(&p, json_object_get(root, "attention"), problem.measure->m,
                           problem.measure->d, &problem.layer);
    domain = json_object_get(root, "domain");
    if (!s && domain)
        s = tl_parse_domain(&p, domain, problem.layer, problem.measure, &problem.domain);
    if (!s && domain && !anywhere) {
        s = tl_domain_check(problem.domain, problem.measure, err);
        if (s) tl_error_prefix(err, "%s", where);
    }
    if (!s) s = read_witness(&p, root, &problem);
    if (s)
        tl_problem_clear(&problem);
    else
        *out = problem;
    return s;
}

tl_status tl_problem_from_json(const json_t *root, const char *where, tl_problem *out,
                               tl_error *err)
{
    return from_json(root, where, false, out, err);
}

tl_status tl_problem_from_json_anywhere(const json_t *root, const char *where, tl_problem *out,
                                        tl_error *err)
{
    return from_json(root, where, true, out, err);
}

/* A stream with a limit on its length, as Jansson reads it. */
typedef struct {
    FILE *file;
    uint64_t left;
    int reason; /* errno of a failed read */
    bool too_long;
} source;

static size_t read_some(void *buffer, size_t size, void *data)
{
    source *in = data;
    size_t found = fread(buffer, 1, size, in->file);

    if (ferror(in->file)) in->reason = errno;
    in->too_long = found > in->left;
    if (in->reason || in->too_long) return (size_t)-1;
    in->left -= found;
    return found;
}

tl_status tl_problem_load_json(const char *path, json_t **root, tl_error *err)
{
    source in = {.file = fopen(path, "rb"), .left = UINT64_C(1) << 31};
    json_error_t error;

    *root = NULL;
    if (!in.file) return tl_fail(err, TL_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    *root = json_load_callback(read_some, &in, JSON_REJECT_DUPLICATES, &error);
    (void)fclose(in.file);
    if (in.reason || in.too_long) {
        json_decref(*root);
        *root = NULL;
        return in.reason
                   ? tl_fail(err, TL_ERR_IO, "%s: reading failed: %s", path, strerror(in.reason))
                   : tl_fail(err, TL_ERR_LIMIT, "%s: expected at most 2^31 bytes", path);
    }
    if (!*root) return tl_fail_at(err, path, error.line, error.column, error.text);
    return TL_OK;
}

tl_status tl_problem_read(const char *path, tl_problem *out, tl_error *err)
{
    json_t *root;
    tl_status s = tl_problem_load_json(path, &root, err);

    if (s) return s;
    s = tl_problem_from_json(root, path, out, err);
    json_decref(root);
    return s;
}

void tl_problem_clear(tl_problem *problem)
{
    free(problem->name);
    tl_layer_free(problem->layer);
    tl_measure_free(problem->measure);
    tl_domain_free(problem->domain);
    free(problem->direction);
    free(problem->log_mass);
    *problem = (tl_problem){0};
}
