#include "experiment/model_layer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    tl_matrix x;
    uint64_t *count;  /* NULL: all ones, or masses */
    double *log_mass; /* NULL: multiplicities */
} parts;

static tl_status check_length(const tl_bindings *b, const config_setting_t *at, size_t expected,
                              size_t found, tl_error *err)
{
    if (expected == found) return TL_OK;
    return tl_config_fail(b->experiment, at, err, TL_ERR_SHAPE,
                          "expected %zu numbers, one per token, found %zu", expected, found);
}

static tl_status read_counts(const tl_bindings *b, const config_setting_t *at, parts *p,
                             tl_error *err)
{
    bool row = config_setting_is_array(at) || config_setting_is_list(at);
    size_t length = row ? (size_t)config_setting_length(at) : 0;
    tl_status s = check_length(b, at, p->x.rows, length, err);

    if (s) return s;
    p->count = calloc(length, sizeof *p->count);
    if (!p->count) return tl_config_fail(b->experiment, at, err, TL_ERR_MEMORY, "out of memory");
    for (size_t i = 0; !s && i < length; i++) {
        long long n = 0;
        s = tl_config_integer(b->experiment, config_setting_get_elem(at, (unsigned)i), 1, INT64_MAX,
                              &n, err);
        p->count[i] = (uint64_t)n;
    }
    return s;
}

static tl_status read_masses(const tl_bindings *b, const config_setting_t *at, bool log_given,
                             parts *p, tl_error *err)
{
    size_t length = 0;
    tl_status s = tl_vector_read(b, at, &p->log_mass, &length, err);

    if (!s) s = check_length(b, at, p->x.rows, length, err);
    for (size_t i = 0; !s && !log_given && i < length; i++) {
        if (!(p->log_mass[i] > 0))
            s = tl_config_fail(b->experiment, at, err, TL_ERR_DOMAIN,
                               "expected masses above 0, found %g", p->log_mass[i]);
        else
            p->log_mass[i] = log(p->log_mass[i]);
    }
    return s;
}

static tl_status read_weights(const tl_bindings *b, const config_setting_t *group, parts *p,
                              tl_error *err)
{
    const config_setting_t *count = config_setting_get_member(group, "multiplicity");
    const config_setting_t *mass = config_setting_get_member(group, "mass");
    const config_setting_t *log_mass = config_setting_get_member(group, "log_mass");

    if ((count != NULL) + (mass != NULL) + (log_mass != NULL) > 1)
        return tl_config_fail(b->experiment, group, err, TL_ERR_ARGUMENT,
                              "expected one of multiplicity, mass and log_mass, found several");
    if (count) return read_counts(b, count, p, err);
    if (mass || log_mass) return read_masses(b, mass ? mass : log_mass, !mass, p, err);
    return TL_OK;
}

static tl_status read_group(const tl_bindings *b, const config_setting_t *group, parts *p,
                            tl_error *err)
{
    static const char *const keys[] = {"file",         "tensor",   "values", "mass",
                                       "multiplicity", "log_mass", "scale"};
    const config_setting_t *values = config_setting_get_member(group, "values");
    double scale = 1;
    tl_status s = tl_config_keys(b->experiment, group, keys, sizeof keys / sizeof *keys, err);

    if (!s && values && config_setting_get_member(group, "file"))
        s = tl_config_fail(b->experiment, group, err, TL_ERR_ARGUMENT,
                           "expected values or file and tensor, found both");
    if (!s)
        s = values ? tl_matrix_literal(b, values, &p->x, err)
                   : tl_matrix_file(b, group, &p->x, err);
    if (!s) s = tl_bindings_real(b, group, "scale", NULL, &scale, NULL, err);
    if (!s) s = read_weights(b, group, p, err);
    for (size_t i = 0; !s && i < p->x.rows * p->x.cols; i++) {
        p->x.a[i] *= scale;
        if (!isfinite(p->x.a[i]))
            s = tl_config_fail(b->experiment, group, err, TL_ERR_DOMAIN,
                               "expected finite tokens, found an overflow at scale %g", scale);
    }
    return s;
}

json_t *tl_tokens_reference(const tl_bindings *b, const tl_measure *tokens)
{
    const config_setting_t *at = b->experiment->tokens;
    const config_setting_t *domain = b->experiment->domain;
    char *file = NULL, *tensor = NULL;
    json_t *reference = NULL;

    if (!at || !config_setting_is_group(at) ||
        (domain && config_setting_get_member(domain, "snap")))
        return NULL;
    if (config_setting_get_member(at, "text") || config_setting_get_member(at, "images"))
        return tl_model_tokens_reference(b, tokens);
    if (config_setting_get_member(at, "construction")) return tl_tokens_drawn(b, tokens);
    if (config_setting_length(at) != 2 || !config_setting_get_member(at, "file") ||
        !config_setting_get_member(at, "tensor"))
        return NULL;
    if (tl_bindings_text(b, at, "file", NULL, &file, NULL) == TL_OK &&
        tl_bindings_text(b, at, "tensor", NULL, &tensor, NULL) == TL_OK && file && tensor)
        reference = json_pack("{s:s, s:s}", "file", file, "tensor", tensor);
    free(file);
    free(tensor);
    return reference;
}

/* A measure speaks of log_mass, whichever of the two was written: here under the key that was. */
static tl_status refused(const tl_bindings *b, const tl_error *inner, tl_error *err)
{
    static const char key[] = "log_mass", after[] = ": ";
    const config_setting_t *at = b->experiment->tokens, *masses = NULL;
    const char *text = inner->text;

    if (config_setting_is_group(at)) masses = config_setting_get_member(at, "mass");
    if (config_setting_is_group(at) && !masses) masses = config_setting_get_member(at, key);
    if (masses && strncmp(text, key, strlen(key)) == 0 &&
        strncmp(text + strlen(key), after, strlen(after)) == 0) {
        text += strlen(key) + strlen(after);
        at = masses;
    }
    return tl_config_fail(b->experiment, at, err, inner->status, "%s", text);
}

tl_status tl_tokens_read(const tl_bindings *b, const tl_layer_spec *attention, tl_measure **out,
                         tl_error *err)
{
    const config_setting_t *at = b->experiment->tokens;
    parts p = {0};
    tl_status s;

    if (config_setting_is_group(at) && config_setting_get_member(at, "construction"))
        return tl_tokens_construct(b, attention, out, err);
    if (config_setting_is_group(at) && config_setting_get_member(at, "text"))
        return tl_tokens_text_read(b, attention, out, err);
    if (config_setting_is_group(at) && config_setting_get_member(at, "images"))
        return tl_tokens_image_read(b, attention, out, err);
    s = config_setting_is_group(at) ? read_group(b, at, &p, err)
                                    : tl_matrix_literal(b, at, &p.x, err);

    if (!s) {
        tl_error inner = {0};
        s = tl_measure_alloc(out, p.x.rows, p.x.cols, p.x.a, p.count, p.log_mass, &inner);
        if (s) (void)refused(b, &inner, err);
    }
    free(p.x.a);
    free(p.count);
    free(p.log_mass);
    return s;
}
