#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/layers.h"
#include "tightlip/linalg.h"
#include "tightlip/search.h"

void layers_report_clear(layers_report *report)
{
    free(report->row);
    free(report->attack);
    *report = (layers_report){0};
}

static void measure_radii(const tl_measure *mu, layers_row *row)
{
    for (size_t i = 0; i < mu->m; i++) {
        const double length = tl_nrm2(mu->d, mu->x + i * mu->d);
        row->mean_radius += length / (double)mu->m;
        row->max_radius = fmax(row->max_radius, length);
    }
}

/* What takes long is not begun; what is in hand ends. */
static tl_status go_on(const layers_plan *plan)
{
    return *plan->stop ? TL_ERR_INTERRUPTED : TL_OK;
}

/* The least bound of the spectral norm on the outputs of the layer norm, or at the tokens. */
static tl_status measure_bounds(const tl_layer *layer, const layers_plan *plan,
                                const tl_measure *mu, const tl_domain *domain, layers_row *row,
                                tl_error *err)
{
    tl_head_facts *head = calloc(layer->heads, sizeof *head);
    tl_bound_query query;
    tl_status s = head ? tl_bound_query_domain(&query, head, layer, mu, domain, err)
                       : tl_fail(err, TL_ERR_MEMORY, "out of memory for %zu heads", layer->heads);

    row->log_bound = HUGE_VAL;
    for (size_t i = 0; !s && i < tl_bound_count(); i++) {
        const tl_bound *bound = tl_bound_at(i);
        tl_bound_value value;
        if (bound->provenance == TL_PROVENANCE_REFUTED || bound->norm != TL_NORM_2) continue;
        s = go_on(plan);
        if (s) break;
        const tl_bound_query asked = tl_bound_query_about(&query, bound, domain, false);
        s = tl_bound_evaluate(bound, &asked, &value, err);
        if (s || !value.applicable || !(value.log_value < row->log_bound)) continue;
        row->log_bound = value.log_value;
        row->bound = bound->key;
    }
    free(head);
    return s;
}

/* domain: of bounds, or NULL. */
static tl_status measure_row(const tl_layer *layer, const layers_plan *plan,
                             const tl_domain *domain, const double *x, layers_row *row,
                             tl_error *err)
{
    tl_measure *mu = NULL;
    tl_norm_layer_result norm = {0};
    tl_norm_result functional = {0};
    tl_status s = tl_measure_alloc(&mu, row->n, layer->d, x, NULL, NULL, err);

    if (!s) s = tl_norm_layer(layer, mu, &tl_norm_settings_measured, NULL, &norm, err);
    if (!s) s = tl_norm_compute(layer, mu, TL_NORM_JT_F, NULL, &functional, err);
    if (!s) {
        row->norm = norm.value;
        row->residual = norm.residual;
        row->jt_f = functional.value;
        measure_radii(mu, row);
    }
    if (!s && domain) s = go_on(plan);
    if (!s && domain) s = measure_bounds(layer, plan, mu, domain, row, err);
    tl_measure_free(mu);
    return s;
}

/* One at first R u, the others at rest R u; on the ellipsoid the nearest points to these. */
static tl_status adversarial_value(const tl_layer *layer, const tl_castin *tokens, const double *u,
                                   size_t n, const tl_domain *domain, double *value, tl_error *err)
{
    const size_t d = layer->d;
    const double R = domain->radius_origin;
    double *x = malloc(n * d * sizeof *x);
    tl_measure *mu = NULL;
    tl_norm_layer_result norm;
    tl_status s = x ? TL_OK : TL_ERR_MEMORY;

    for (size_t i = 0; !s && i < n; i++) {
        for (size_t r = 0; r < d; r++)
            x[i * d + r] = R * (i == 0 ? tokens->first : tokens->rest) * u[r];
        if (domain->kind != TL_DOMAIN_BALL) tl_domain_project(domain, x + i * d);
    }
    if (!s) s = tl_measure_alloc(&mu, n, d, x, NULL, NULL, err);
    if (!s) s = tl_norm_layer(layer, mu, &tl_norm_settings_measured, NULL, &norm, err);
    *value = s ? (double)NAN : norm.value;
    tl_measure_free(mu);
    free(x);
    return s;
}

static tl_status search_value(const tl_layer *layer, const layers_plan *plan,
                              const tl_domain *domain, double *value, tl_error *err)
{
    const size_t n = plan->adversarial;
    const tl_search_problem problem = {.layer = layer,
                                       .norm_a = 1,
                                       .domain = domain,
                                       .n = n,
                                       .atoms = layer->mask != TL_MASK_NONE || n < 4 ? n : 4,
                                       .log_mass_ratio = (double)NAN,
                                       .norm = TL_NORM_2};
    tl_search_settings settings;
    tl_search_result best = {0};

    tl_search_defaults(&settings);
    settings.restarts = plan->restarts;
    settings.evaluations = plan->evaluations;
    settings.seed = plan->seed;
    settings.stop = plan->stop;
    const tl_status s = tl_search_run(&problem, &settings, &best, err);
    *value = s ? (double)NAN : best.norm.value;
    tl_search_result_clear(&best);
    return s;
}

static tl_status measure_attack(const tl_layer *layer, const layers_plan *plan,
                                const tl_domain *ellipsoid, layers_attack *out, tl_error *err)
{
    tl_domain *ball = NULL;
    double *u = malloc(layer->d * sizeof *u);
    tl_castin tokens;
    tl_status s = u ? tl_castin_tokens(layer, 0, u, &tokens, err) : TL_ERR_MEMORY;

    out->n = plan->adversarial;
    out->radius = ellipsoid->radius_origin;
    if (!s) s = tl_domain_alloc_ball(&ball, layer->d, out->radius, NULL, err);
    if (!s) s = adversarial_value(layer, &tokens, u, out->n, ball, &out->castin_ball, err);
    if (!s) s = go_on(plan);
    if (!s)
        s = adversarial_value(layer, &tokens, u, out->n, ellipsoid, &out->castin_ellipsoid, err);
    if (!s) s = go_on(plan);
    if (!s) s = search_value(layer, plan, ball, &out->search_ball, err);
    if (!s) s = search_value(layer, plan, ellipsoid, &out->search_ellipsoid, err);
    tl_domain_free(ball);
    free(u);
    return s;
}

/* All lengths of one layer and head. states[i]: of the text cut to n[i] tokens. */
static tl_status measure_head(layers_report *report, const tl_transformer *model,
                              const layers_plan *plan, const tl_transformer_states *states,
                              size_t l, size_t h, tl_error *err)
{
    const size_t at = plan->layer[l];
    tl_layer *layer = NULL;
    tl_domain *domain = NULL;
    tl_status s = tl_transformer_attention(model, at, plan->head[h], &layer, err);

    if (!s && (plan->bounds || plan->adversarial))
        s = tl_transformer_domain(model, at, &domain, err);
    for (size_t i = 0; !s && i < plan->lengths; i++) {
        layers_row *row = &report->row[report->rows];
        *row = (layers_row){.layer = at, .head = plan->head[h], .n = states[i].n};
        s = go_on(plan);
        if (!s)
            s = measure_row(layer, plan, plan->bounds ? domain : NULL,
                            states[i].input + at * states[i].n * states[i].d, row, err);
        if (!s) report->rows++;
    }
    if (!s && plan->adversarial && plan->head[h] >= 0) {
        layers_attack *attack = &report->attack[report->attacks];
        *attack = (layers_attack){.layer = at, .head = plan->head[h]};
        s = go_on(plan);
        if (!s) s = measure_attack(layer, plan, domain, attack, err);
        if (!s) report->attacks++;
    }
    if (s && s != TL_ERR_INTERRUPTED)
        tl_error_prefix(err, "layer %zu, head %ld", at, plan->head[h]);
    tl_domain_free(domain);
    tl_layer_free(layer);
    return s;
}

/* Says what is missing. */
static tl_status interrupt(layers_report *report, const layers_plan *plan, tl_error *err)
{
    const size_t heads = plan->layers * plan->heads, next = report->rows / plan->lengths;
    size_t single = 0;
    char head[24], left[80] = "", compared[80] = "";

    report->interrupted = true;
    for (size_t h = 0; h < plan->heads; h++) single += plan->head[h] >= 0;
    if (next < heads)
        (void)snprintf(left, sizeof left, ", nothing yet from layer %zu, head %s, n = %zu on",
                       plan->layer[next / plan->heads],
                       layers_head_text(head, sizeof head, plan->head[next % plan->heads]),
                       plan->n[report->rows % plan->lengths]);
    if (plan->adversarial)
        (void)snprintf(compared, sizeof compared, "; %zu of %zu adversarial comparisons",
                       report->attacks, plan->layers * single);
    return tl_fail(err, TL_ERR_INTERRUPTED, "interrupted: %zu of %zu rows%s%s", report->rows,
                   heads * plan->lengths, left, compared);
}

tl_status layers_measure(layers_report *report, const tl_transformer *model,
                         const layers_plan *plan, const tl_transformer_input *input, tl_error *err)
{
    const size_t pairs = plan->layers * plan->heads;
    tl_transformer_states *states = calloc(plan->lengths, sizeof *states);
    tl_status s = TL_OK;

    *report = (layers_report){.row = calloc(pairs * plan->lengths, sizeof *report->row),
                              .attack = calloc(pairs, sizeof *report->attack)};
    if (!states || !report->row || !report->attack)
        s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    for (size_t i = 0; !s && i < plan->lengths; i++) {
        tl_transformer_input part = *input;
        part.n = plan->n[i];
        s = go_on(plan);
        if (!s) s = tl_transformer_run(model, &part, plan->precision, &states[i], err);
    }
    for (size_t l = 0; !s && l < plan->layers; l++)
        for (size_t h = 0; !s && h < plan->heads; h++)
            s = measure_head(report, model, plan, states, l, h, err);
    for (size_t i = 0; states && i < plan->lengths; i++) tl_transformer_states_clear(&states[i]);
    free(states);
    return s == TL_ERR_INTERRUPTED ? interrupt(report, plan, err) : s;
}
