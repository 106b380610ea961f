/* The member "domain" of a problem file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attention/problem_parse.h"

#define COUNT(names) (sizeof(names) / sizeof(names)[0])

/* Puts the place before what the domain itself says. */
static tl_status located(const tl_parse *p, tl_status s)
{
    if (s) tl_error_prefix(p->err, "%s: domain", p->document);
    return s;
}

/* What may stand beside "kind". */
static tl_status check_keys(const tl_parse *p, const json_t *value, tl_domain_kind kind)
{
    static const char *const round[] = {"kind", "radius", "centre"};
    static const char *const norm[] = {"kind", "gain", "shift", "eps"};
    static const char *const box[] = {"kind", "lower", "upper"};
    static const char *const space[] = {"kind", "scale"};
    static const char *const array[] = {"kind", "epsilon", "tokens", "multiplicity"};

    switch (kind) {
    case TL_DOMAIN_LAYER_NORM:
    case TL_DOMAIN_RMS_NORM:
        return tl_parse_object(p, value, "domain", norm, COUNT(norm));
    case TL_DOMAIN_BOX:
        return tl_parse_object(p, value, "domain", box, COUNT(box));
    case TL_DOMAIN_SPACE:
        return tl_parse_object(p, value, "domain", space, COUNT(space));
    case TL_DOMAIN_FROBENIUS:
        return tl_parse_object(p, value, "domain", array, COUNT(array));
    default:
        return tl_parse_object(p, value, "domain", round, COUNT(round));
    }
}

/* An optional vector of width d; *out stays NULL without it. */
static tl_status optional_vector(const tl_parse *p, const json_t *value, const char *key, size_t d,
                                 double **out)
{
    const json_t *member = json_object_get(value, key);
    char place[TL_PLACE_SIZE];

    tl_parse_place(place, "domain.%s", key);
    return member ? tl_parse_vector(p, member, place, &d, out) : TL_OK;
}

static tl_status optional_number(const tl_parse *p, const json_t *value, const char *key,
                                 double *out)
{
    const json_t *member = json_object_get(value, key);
    char place[TL_PLACE_SIZE];

    tl_parse_place(place, "domain.%s", key);
    return member ? tl_parse_number(p, member, place, out) : TL_OK;
}

static tl_status read_round(const tl_parse *p, const json_t *value, size_t d, tl_domain_kind kind,
                            tl_domain **out)
{
    double radius, *centre = NULL;
    tl_status s = tl_parse_number(p, json_object_get(value, "radius"), "domain.radius", &radius);

    if (!s) s = optional_vector(p, value, "centre", d, &centre);
    if (s) return s;
    s = located(p, kind == TL_DOMAIN_BALL ? tl_domain_alloc_ball(out, d, radius, centre, p->err)
                                          : tl_domain_alloc_sphere(out, d, radius, centre, p->err));
    free(centre);
    return s;
}

static tl_status read_norm(const tl_parse *p, const json_t *value, size_t d, tl_domain_kind kind,
                           tl_domain **out)
{
    double eps = 0, *gain = NULL, *shift = NULL;
    tl_status s = optional_vector(p, value, "gain", d, &gain);

    if (!s) s = optional_vector(p, value, "shift", d, &shift);
    if (!s) s = optional_number(p, value, "eps", &eps);
    if (!s) s = located(p, tl_domain_alloc_norm(out, kind, d, gain, shift, eps, p->err));
    free(gain);
    free(shift);
    return s;
}

/* A number for every coordinate, or one of each. */
static tl_status read_side(const tl_parse *p, const json_t *value, const char *key, size_t d,
                           double **out)
{
    const json_t *member = json_object_get(value, key);
    char place[TL_PLACE_SIZE];
    double all;
    tl_status s;

    tl_parse_place(place, "domain.%s", key);
    if (!json_is_number(member)) return tl_parse_vector(p, member, place, &d, out);
    s = tl_parse_number(p, member, place, &all);
    if (s) return s;
    *out = malloc(d * sizeof **out);
    if (!*out) return tl_fail(p->err, TL_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < d; i++) (*out)[i] = all;
    return TL_OK;
}

static tl_status read_box(const tl_parse *p, const json_t *value, size_t d, tl_domain **out)
{
    double *lower = NULL, *upper = NULL;
    tl_status s = read_side(p, value, "lower", d, &lower);

    if (!s) s = read_side(p, value, "upper", d, &upper);
    if (!s) s = located(p, tl_domain_alloc_box(out, d, lower, upper, p->err));
    free(lower);
    free(upper);
    return s;
}

static tl_status read_space(const tl_parse *p, const json_t *value, size_t d, tl_domain **out)
{
    double scale = 1;
    tl_status s = optional_number(p, value, "scale", &scale);

    return s ? s : located(p, tl_domain_alloc_space(out, d, scale, p->err));
}

/* The tokens of the domain itself and their multiplicities. */
static tl_status read_atoms(const tl_parse *p, const json_t *value, size_t d, tl_measure **out)
{
    const json_t *counts = json_object_get(value, "multiplicity");
    uint64_t *count = NULL;
    double *x = NULL;
    size_t m = 0;
    tl_status s = tl_parse_matrix(p, json_object_get(value, "tokens"), "domain.tokens", &m, &d, &x);

    if (!s && counts) s = tl_parse_counts(p, counts, "domain.multiplicity", m, &count);
    if (!s) s = located(p, tl_measure_alloc(out, m, d, x, count, NULL, p->err));
    free(x);
    free(count);
    return s;
}

/* Around the tokens named here, or else around those of the problem. */
static tl_status read_array(const tl_parse *p, const json_t *value, const tl_measure *mu,
                            tl_domain **out)
{
    const json_t *tokens = json_object_get(value, "tokens");
    double epsilon;
    tl_measure *around = NULL;
    tl_status s = tl_parse_number(p, json_object_get(value, "epsilon"), "domain.epsilon", &epsilon);

    if (!s && !tokens && json_object_get(value, "multiplicity"))
        s = tl_parse_fail(p, "domain.multiplicity", "expected beside domain.tokens only");
    if (!s && tokens) s = read_atoms(p, value, mu->d, &around);
    if (!s) s = located(p, tl_domain_alloc_frobenius(out, tokens ? around : mu, epsilon, p->err));
    tl_measure_free(around);
    return s;
}

static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static bool put_vector(json_t *object, const char *key, size_t d, const double *x)
{
    return !x || put(object, key, tl_vector_to_json(x, d));
}

json_t *tl_domain_to_json(const tl_domain *domain)
{
    const bool round = domain->kind == TL_DOMAIN_BALL || domain->kind == TL_DOMAIN_SPHERE;
    const tl_measure *around = domain->around;
    const size_t d = domain->d;
    json_t *object = json_object();
    bool ok = object && put(object, "kind", json_string(tl_domain_name(domain->kind)));

    if (round) ok = ok && put(object, "radius", json_real(domain->radius));
    if (round) ok = ok && put_vector(object, "centre", d, domain->centre);
    ok = ok && put_vector(object, "lower", d, domain->lower);
    ok = ok && put_vector(object, "upper", d, domain->upper);
    ok = ok && put_vector(object, "gain", d, domain->gain);
    if (domain->gain) ok = ok && put_vector(object, "shift", d, domain->centre);
    if (domain->gain) ok = ok && put(object, "eps", json_real(domain->eps));
    if (domain->kind == TL_DOMAIN_SPACE) ok = ok && put(object, "scale", json_real(domain->scale));
    if (around) {
        ok = ok && put(object, "epsilon", json_real(domain->epsilon));
        ok = ok && tl_put_measure(object, around);
    }
    if (ok) return object;
    json_decref(object);
    return NULL;
}

static tl_status read_kind(const tl_parse *p, const json_t *value, tl_domain_kind *kind)
{
    const char *name;
    tl_status s = json_is_object(value) ? TL_OK : tl_parse_object(p, value, "domain", NULL, 0);

    if (!s) s = tl_parse_string(p, json_object_get(value, "kind"), "domain.kind", &name);
    if (s) return s;
    if (tl_domain_from_name(name, kind) == TL_OK) return check_keys(p, value, *kind);
    return tl_parse_fail(p, "domain.kind",
                         "expected 'ball', 'sphere', 'layer-norm', 'rms-norm', 'box', 'space' or "
                         "'frobenius-ball', found '%s'",
                         name);
}

tl_status tl_parse_domain(const tl_parse *p, const json_t *value, const tl_layer *layer,
                          const tl_measure *mu, tl_domain **out)
{
    tl_domain_kind kind = TL_DOMAIN_BALL;
    tl_domain *domain = NULL;
    tl_status s = read_kind(p, value, &kind);

    if (s) return s;
    switch (kind) {
    case TL_DOMAIN_LAYER_NORM:
    case TL_DOMAIN_RMS_NORM:
        s = read_norm(p, value, mu->d, kind, &domain);
        break;
    case TL_DOMAIN_BOX:
        s = read_box(p, value, mu->d, &domain);
        break;
    case TL_DOMAIN_SPACE:
        s = read_space(p, value, mu->d, &domain);
        break;
    case TL_DOMAIN_FROBENIUS:
        s = read_array(p, value, mu, &domain);
        break;
    default:
        s = read_round(p, value, mu->d, kind, &domain);
    }
    if (!s) {
        s = tl_domain_fits(domain, layer, p->err);
        if (s) tl_error_prefix(p->err, "%s", p->document);
    }
    if (s) {
        tl_domain_free(domain);
        return s;
    }
    *out = domain;
    return TL_OK;
}
