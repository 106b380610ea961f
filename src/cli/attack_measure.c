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
    size_t done; /* budgets that were come to */
    bool cut;    /* a stop ended the last of them */
} report;

/* Bounds of every measure on the domain, whatever its n; moves that leave it have none. */
static tl_status find_bounds(report *r, tl_error *err)
{
    const tl_problem *p = r->attack->problem;
    tl_measure *shares = NULL;
    tl_status status;

    if (!r->attack->stay) return TL_OK;
    status = tl_measure_alloc(&shares, p->measure->m, p->measure->d, p->measure->x, NULL,
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
    tl_measure_attack problem = {.layer = a->problem->layer,
                                 .mu = a->problem->measure,
                                 .domain = a->problem->domain,
                                 .free = !a->stay};
    tl_status status;

    /* The first in any case, so that there is a row. */
    for (size_t i = 0; i < a->count && !r->cut && (i == 0 || !*a->settings.stop); i++) {
        problem.epsilon = a->epsilon[i];
        for (int split = 0; split < (a->parts > 1 ? 2 : 1); split++) {
            problem.parts = split ? a->parts : 1;
            status = tl_measure_attack_run(&problem, &a->settings,
                                           split ? &r->row[i].parts : &r->row[i].whole, err);
            r->cut = r->cut || status == TL_ERR_INTERRUPTED;
            if (status != TL_OK && status != TL_ERR_INTERRUPTED) return status;
        }
        r->done++;
    }
    return TL_OK;
}

/* With parts where they were asked for; those of an attack that was cut short may not have come to
 * what whole atoms reach. */
static const tl_measure_attack_result *best_of(const report *r, size_t i)
{
    const pair *row = &r->row[i];

    return r->attack->parts > 1 && row->parts.ratio >= row->whole.ratio ? &row->parts : &row->whole;
}

static bool refuted(const report *r)
{
    bool above = false;

    for (size_t i = 0; r->least && i < r->done; i++) {
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
    printf("%-14s %s\n", "moves",
           a->stay ? "inside the domain; only the slopes move and split do not ask for it"
                   : "anywhere; only far and neighbourhood ask where in the domain");
    print_at("move", s->move, "atoms move whole", NULL, 0);
    print_at("split", s->split, "copies of one atom part", NULL, 0);
    print_at("far", s->far, "a tiny share of one atom moves to", s->far_to, d);
    print_at("pointwise", s->pointwise, "slope at this measure: the largest of these", NULL, 0);
    print_at("neighbourhood", s->neighbourhood, "near it: a tiny mass at", s->at, d);
    if (r->least)
        printf("%-14s %s  %s, every measure on the domain\n", "least bound",
               tl_cli_format_log(text, r->least->value.log_value), r->least->bound->key);
    else
        printf("%-14s none covers moves %s\n", "least bound",
               a->stay ? "inside the domain" : "that may go anywhere");
    printf("\n%-12s %-14s %-14s %s\n", "epsilon", "whole", a->parts > 1 ? "split" : "",
           a->parts > 1 ? "gain" : "");
    for (size_t i = 0; i < r->done; i++) {
        const double best = best_of(r, i)->ratio, whole = r->row[i].whole.ratio;
        printf("%-12.6g %-14.9g", a->epsilon[i], whole);
        if (a->parts > 1) printf(" %-14.9g %.6g", best, best / whole);
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

    for (size_t i = 0; i < r->done; i++) {
        const tl_measure_attack_result *best = best_of(r, i);
        const double gain = best->ratio / r->row[i].whole.ratio;
        tl_cli_json_append(
            &attacks,
            json_pack("{s:o,s:b,s:o,s:o,s:o,s:o,s:o}", "epsilon", tl_cli_json_real(a->epsilon[i]),
                      "interrupted", r->cut && i + 1 == r->done, "whole",
                      tl_cli_json_real(r->row[i].whole.ratio), "split",
                      a->parts > 1 ? tl_cli_json_real(best->ratio) : json_null(), "gain",
                      a->parts > 1 ? tl_cli_json_real(gain) : json_null(), "distance",
                      tl_cli_json_real(best->distance), "moved", tl_cli_json_atoms(best->nu)));
    }
    return json_pack("{s:b,s:o,s:s?,s:o,s:o}", "stay", a->stay, "slopes",
                     slopes_json(&r->slopes, a->problem->layer->d), "bound",
                     r->least ? r->least->bound->key : NULL, "bound_log10",
                     tl_cli_json_log10(r->least ? r->least->value.log_value : (double)NAN),
                     "attacks", attacks);
}

static tl_status write_moved(const report *r, tl_error *err)
{
    const tl_problem *p = r->attack->problem;
    const tl_problem moved = {.layer = p->layer,
                              .measure = best_of(r, r->done - 1)->nu,
                              .domain = r->attack->stay ? p->domain : NULL};

    return tl_problem_write(&moved, r->attack->out, err);
}

tl_status tl_cli_attack_interrupted(const double *all, size_t count, size_t done, bool cut,
                                    tl_error *err)
{
    char best[80] = "", left[80] = "";

    if (cut)
        (void)snprintf(best, sizeof best, "at epsilon %g it is the best found so far",
                       all[done - 1]);
    if (done < count)
        (void)snprintf(left, sizeof left, "%snothing yet from epsilon %g on", cut ? "; " : "",
                       all[done]);
    return tl_fail(err, TL_ERR_INTERRUPTED, "interrupted: %s%s", best, left);
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
    /* What was found is shown even where it cannot be written. */
    const tl_status written = status == TL_OK && attack->out ? write_moved(&r, err) : TL_OK;
    if (status == TL_OK && attack->json)
        status = tl_cli_json_print(report_json(&r));
    else if (status == TL_OK)
        print_report(&r);
    if (status == TL_OK) status = written;
    if (status == TL_OK && (r.cut || r.done < attack->count))
        status = tl_cli_attack_interrupted(attack->epsilon, attack->count, r.done, r.cut, err);
    for (size_t i = 0; r.row && i < attack->count; i++) {
        tl_measure_attack_clear(&r.row[i].whole);
        tl_measure_attack_clear(&r.row[i].parts);
    }
    free(r.row);
    free(r.rows);
    tl_slopes_clear(&r.slopes);
    return status;
}
