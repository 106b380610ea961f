#include "cli/attack_measure.h"

#include <math.h>
#include <stdlib.h>

#include "cli/bound_rows.h"
#include "tightlip/slopes.h"

enum { SLOPE_RESTARTS = 32 };

typedef struct {
    tl_measure_attack_result whole, parts;
} pair;

typedef struct {
    const tl_cli_measure_attack *attack;
    tl_slopes slopes;
    tl_cli_bound_row *rows;
    const tl_cli_bound_row *least; /* that covers every measure on the domain, or NULL */
    pair *row;
} report;

/* Bounds of every measure on the domain, whatever its n. */
static tl_status find_bounds(report *r, tl_error *err)
{
    const tl_problem *p = r->attack->problem;
    tl_measure *shares = NULL;
    tl_status status = tl_measure_alloc(&shares, p->measure->m, p->measure->d, p->measure->x, NULL,
                                        p->measure->log_mass, err);

    if (status == TL_OK)
        status = tl_cli_bounds_at(&r->rows, p->layer, shares, p->domain, NULL, err);
    tl_measure_free(shares);
    for (size_t i = 0; status == TL_OK && r->rows[i].bound; i++)
        if (tl_cli_bound_covers(&r->rows[i]) &&
            (!r->least || r->rows[i].value.log_value < r->least->value.log_value))
            r->least = &r->rows[i];
    return status;
}

static tl_status attack_all(report *r, tl_error *err)
{
    const tl_cli_measure_attack *a = r->attack;
    tl_measure_attack problem = {
        .layer = a->problem->layer, .mu = a->problem->measure, .domain = a->problem->domain};
    tl_status status = TL_OK;

    for (size_t i = 0; status == TL_OK && i < a->count; i++) {
        problem.epsilon = a->epsilon[i];
        problem.parts = 1;
        status = tl_measure_attack_run(&problem, &a->settings, &r->row[i].whole, err);
        problem.parts = a->parts;
        if (status == TL_OK && a->parts > 1)
            status = tl_measure_attack_run(&problem, &a->settings, &r->row[i].parts, err);
    }
    return status;
}

/* With parts where they were asked for. */
static const tl_measure_attack_result *best_of(const report *r, size_t i)
{
    return r->attack->parts > 1 ? &r->row[i].parts : &r->row[i].whole;
}

static bool refuted(const report *r)
{
    bool above = false;

    for (size_t i = 0; r->least && i < r->attack->count; i++) {
        const tl_measure_attack_result *best = best_of(r, i);
        const double ratio = best->effect / best->distance * (1 - 1e-7);
        if (!(ratio > 0) || !tl_cli_bound_exceeded(log(ratio), r->least->value.log_value)) continue;
        fprintf(stderr, "tightlip: epsilon %g: the ratio %.12g lies above the bound %s = %.12g\n",
                r->attack->epsilon[i], ratio, r->least->bound->key, exp(r->least->value.log_value));
        above = true;
    }
    return above;
}

static void print_at(const char *name, double value, const char *what, const double *y, size_t d)
{
    printf("%-14s %.9g  %s", name, value, what);
    for (size_t i = 0; y && i < d && i < 6; i++) printf(" %.6g", y[i]);
    printf("%s\n", y && d > 6 ? " .." : "");
}

static void print_report(const report *r)
{
    const tl_cli_measure_attack *a = r->attack;
    const tl_slopes *s = &r->slopes;
    const size_t d = a->problem->layer->d;
    char text[CLI_NUMBER_SIZE];

    tl_cli_print_setting(stdout, a->problem->layer, a->problem->measure, a->problem->domain,
                         a->from);
    print_at("move", s->move, "atoms move whole", NULL, 0);
    print_at("split", s->split, "copies of one atom part", NULL, 0);
    print_at("far", s->far, "a tiny share of one atom moves to", s->far_to, d);
    print_at("pointwise", s->pointwise, "slope at this measure: the largest of these", NULL, 0);
    print_at("neighbourhood", s->neighbourhood, "near it: a tiny mass at", s->at, d);
    if (r->least)
        printf("%-14s %s  %s, every measure on the domain\n", "least bound",
               tl_cli_format_log(text, r->least->value.log_value), r->least->bound->key);
    printf("\n%-12s %-14s %-14s %s\n", "epsilon", "whole", a->parts > 1 ? "split" : "",
           a->parts > 1 ? "gain" : "");
    for (size_t i = 0; i < a->count; i++) {
        printf("%-12.6g %-14.9g", a->epsilon[i], r->row[i].whole.ratio);
        if (a->parts > 1)
            printf(" %-14.9g %.6g", r->row[i].parts.ratio,
                   r->row[i].parts.ratio / r->row[i].whole.ratio);
        putchar('\n');
    }
}

static json_t *slopes_json(const tl_slopes *s, size_t d)
{
    return json_pack("{s:o,s:o,s:o,s:I,s:o,s:o,s:o,s:o}", "move", tl_cli_json_real(s->move),
                     "split", tl_cli_json_real(s->split), "far", tl_cli_json_real(s->far),
                     "far_atom", (json_int_t)s->far_atom, "far_to", tl_cli_json_reals(s->far_to, d),
                     "pointwise", tl_cli_json_real(s->pointwise), "neighbourhood",
                     tl_cli_json_real(s->neighbourhood), "neighbourhood_at",
                     tl_cli_json_reals(s->at, d));
}

static json_t *report_json(const report *r)
{
    const tl_cli_measure_attack *a = r->attack;
    json_t *attacks = json_array();

    for (size_t i = 0; i < a->count; i++) {
        const tl_measure_attack_result *best = best_of(r, i);
        const double gain = best->ratio / r->row[i].whole.ratio;
        tl_cli_json_append(
            &attacks,
            json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "epsilon", tl_cli_json_real(a->epsilon[i]),
                      "whole", tl_cli_json_real(r->row[i].whole.ratio), "split",
                      a->parts > 1 ? tl_cli_json_real(best->ratio) : json_null(), "gain",
                      a->parts > 1 ? tl_cli_json_real(gain) : json_null(), "distance",
                      tl_cli_json_real(best->distance), "moved", tl_cli_json_atoms(best->nu)));
    }
    return json_pack("{s:o,s:s?,s:o,s:o}", "slopes", slopes_json(&r->slopes, a->problem->layer->d),
                     "bound", r->least ? r->least->bound->key : NULL, "bound_log10",
                     tl_cli_json_log10(r->least ? r->least->value.log_value : (double)NAN),
                     "attacks", attacks);
}

static tl_status write_moved(const report *r, tl_error *err)
{
    const tl_problem *p = r->attack->problem;
    const tl_problem moved = {.layer = p->layer,
                              .measure = best_of(r, r->attack->count - 1)->nu,
                              .domain = r->attack->problem->domain};

    return tl_problem_write(&moved, r->attack->out, err);
}

tl_status tl_cli_attack_measure(const tl_cli_measure_attack *attack, bool *above, tl_error *err)
{
    const tl_problem *p = attack->problem;
    report r = {.attack = attack, .row = calloc(attack->count, sizeof *r.row)};
    tl_status status = r.row ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");

    if (status == TL_OK)
        status = tl_slopes_find(p->layer, p->measure, p->domain, SLOPE_RESTARTS,
                                attack->settings.seed, &r.slopes, err);
    if (status == TL_OK) status = attack_all(&r, err);
    if (status == TL_OK) status = find_bounds(&r, err);
    if (status == TL_OK) *above = refuted(&r);
    if (status == TL_OK && attack->out) status = write_moved(&r, err);
    if (status == TL_OK && attack->json)
        status = tl_cli_json_print(report_json(&r));
    else if (status == TL_OK)
        print_report(&r);
    for (size_t i = 0; r.row && i < attack->count; i++) {
        tl_measure_attack_clear(&r.row[i].whole);
        tl_measure_attack_clear(&r.row[i].parts);
    }
    free(r.row);
    free(r.rows);
    tl_slopes_clear(&r.slopes);
    return status;
}
