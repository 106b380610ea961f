#include <math.h>
#include <string.h>

#include "cli/layers.h"
#include "tightlip/experiment.h"

/* The exponent of y in x over the rows of one layer and head. False with fewer than three lengths,
 * or where x hardly varies (by less than 1 %). */
static bool fit_rows(const layers_row *row, size_t count, bool over_radius, bool jt_f, tl_line *fit)
{
    double x[LAYERS_MOST], y[LAYERS_MOST];

    if (count > LAYERS_MOST) return false;
    for (size_t i = 0; i < count; i++) {
        x[i] = log(over_radius ? row[i].mean_radius : (double)row[i].n);
        y[i] = log(jt_f ? row[i].jt_f : row[i].norm);
        if (!isfinite(x[i]) || !isfinite(y[i])) return false;
    }
    return tl_line_fit(x, y, count, fit) && fit->spread > log(1.01);
}

/* Rows of one layer and head from i on. */
static size_t group_length(const layers_report *report, size_t i)
{
    size_t j = i;

    while (j < report->rows && report->row[j].layer == report->row[i].layer &&
           report->row[j].head == report->row[i].head)
        j++;
    return j - i;
}

static void print_fit(const char *what, const layers_row *row, size_t count, bool over_radius,
                      bool jt_f)
{
    tl_line fit;

    if (fit_rows(row, count, over_radius, jt_f, &fit))
        printf("  %s %.3f +- %.3f", what, fit.slope, fit.half);
    else if (count >= 3)
        printf("  %s - (no spread)", what);
}

static void print_rows(const layers_report *report, size_t from, size_t count)
{
    char head[24], bound[CLI_NUMBER_SIZE];

    for (size_t i = from; i < from + count; i++) {
        const layers_row *r = &report->row[i];
        printf("%5zu %5s %6zu %13.6g %13.6g %12.6g %12.6g", r->layer,
               layers_head_text(head, sizeof head, r->head), r->n, r->norm, r->jt_f, r->mean_radius,
               r->max_radius);
        if (r->bound) printf("  %s (%s)", tl_cli_format_log(bound, r->log_bound), r->bound);
        putchar('\n');
    }
    if (count < 3) return;
    printf("            exponents, 95 %%:");
    print_fit("||J|| in n", report->row + from, count, false, false);
    print_fit("jt-f in n", report->row + from, count, false, true);
    print_fit("||J|| in mean |x_i|", report->row + from, count, true, false);
    putchar('\n');
}

static void print_attacks(const layers_report *report)
{
    if (report->attacks == 0) return;
    printf("\n||J|| of a head: adversarial tokens (Castin et al. 2024) and the best input found by "
           "search, in the ball |x| <= R\nand on the outputs of the layer norm\n"
           "%5s %5s %6s %10s %13s %13s %13s %13s\n",
           "layer", "head", "n", "R", "ball", "search", "ellipsoid", "search");
    for (size_t i = 0; i < report->attacks; i++) {
        const layers_attack *a = &report->attack[i];
        printf("%5zu %5ld %6zu %10.5g %13.6g %13.6g %13.6g %13.6g\n", a->layer, a->head, a->n,
               a->radius, a->castin_ball, a->search_ball, a->castin_ellipsoid, a->search_ellipsoid);
    }
}

void layers_print(const layers_report *report, const tl_transformer *model)
{
    const tl_transformer_config *c = tl_transformer_about(model);

    printf("%s, width %zu, %zu layers of %zu heads, %zu weights, mask %s\n",
           tl_family_name(c->family), c->d, c->layers, c->heads, tl_transformer_weights(model),
           c->causal ? "causal" : "none");
    printf("%5s %5s %6s %13s %13s %12s %12s%s\n", "layer", "head", "n", "||J||_2", "jt-f (none)",
           "mean |x_i|", "max |x_i|", report->rows && report->row[0].bound ? "  best bound" : "");
    for (size_t i = 0, count; i < report->rows; i += count) {
        count = group_length(report, i);
        print_rows(report, i, count);
    }
    printf("jt-f is sqrt|J'f|: no Lipschitz constant, for comparison with published scripts\n");
    print_attacks(report);
}

static json_t *head_json(long head)
{
    return head < 0 ? json_string("all") : json_integer((json_int_t)head);
}

static json_t *fit_json(const layers_row *row, size_t count, bool over_radius, bool jt_f)
{
    tl_line fit;

    if (!fit_rows(row, count, over_radius, jt_f, &fit)) return json_null();
    return json_pack("{s:o, s:o, s:I}", "exponent", tl_cli_json_real(fit.slope), "half",
                     tl_cli_json_real(fit.half), "points", (json_int_t)fit.points);
}

static json_t *rows_json(const layers_report *report)
{
    json_t *list = json_array();

    for (size_t i = 0; i < report->rows; i++) {
        const layers_row *r = &report->row[i];
        json_t *bound = r->bound ? json_pack("{s:s, s:o}", "key", r->bound, "log10",
                                             tl_cli_json_log10(r->log_bound))
                                 : json_null();
        tl_cli_json_append(
            &list, json_pack("{s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "layer",
                             (json_int_t)r->layer, "head", head_json(r->head), "n",
                             (json_int_t)r->n, "norm", tl_cli_json_real(r->norm), "residual",
                             tl_cli_json_real(r->residual), "jt_f", tl_cli_json_real(r->jt_f),
                             "mean_radius", tl_cli_json_real(r->mean_radius), "max_radius",
                             tl_cli_json_real(r->max_radius), "bound", bound));
    }
    return list;
}

static json_t *fits_json(const layers_report *report)
{
    json_t *list = json_array();

    for (size_t i = 0, count; i < report->rows; i += count) {
        const layers_row *r = &report->row[i];
        count = group_length(report, i);
        tl_cli_json_append(&list, json_pack("{s:I, s:o, s:o, s:o, s:o}", "layer",
                                            (json_int_t)r->layer, "head", head_json(r->head),
                                            "norm_n", fit_json(r, count, false, false), "jt_f_n",
                                            fit_json(r, count, false, true), "norm_radius",
                                            fit_json(r, count, true, false)));
    }
    return list;
}

static json_t *attacks_json(const layers_report *report)
{
    json_t *list = json_array();

    for (size_t i = 0; i < report->attacks; i++) {
        const layers_attack *a = &report->attack[i];
        tl_cli_json_append(&list,
                           json_pack("{s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o}", "layer",
                                     (json_int_t)a->layer, "head", head_json(a->head), "n",
                                     (json_int_t)a->n, "radius", tl_cli_json_real(a->radius),
                                     "castin_ball", tl_cli_json_real(a->castin_ball), "search_ball",
                                     tl_cli_json_real(a->search_ball), "castin_ellipsoid",
                                     tl_cli_json_real(a->castin_ellipsoid), "search_ellipsoid",
                                     tl_cli_json_real(a->search_ellipsoid)));
    }
    return list;
}

json_t *layers_json(const layers_report *report, const tl_transformer *model)
{
    const tl_transformer_config *c = tl_transformer_about(model);

    return json_pack("{s:{s:s, s:I, s:I, s:I, s:I, s:b}, s:b, s:o, s:o, s:o}", "model", "family",
                     tl_family_name(c->family), "d", (json_int_t)c->d, "layers",
                     (json_int_t)c->layers, "heads", (json_int_t)c->heads, "weights",
                     (json_int_t)tl_transformer_weights(model), "causal", (int)c->causal,
                     "interrupted", (int)report->interrupted, "rows", rows_json(report), "fits",
                     fits_json(report), "adversarial", attacks_json(report));
}
