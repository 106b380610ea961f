/* The bounds of a record: what counts as above one, and what of a searched A they know. */
#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "experiment/internal.h"
#include "support/experiment_run.h"

typedef struct {
    scratch dir;
    tl_experiment *ex;
    tl_cell *cell;
    tl_measure *mu;
} fixture;

/* n = 7 in the ball of radius 1.5, A searched on ||A|| = 1. */
static fixture fixture_make(void)
{
    static const double x[] = {1.5, 0, -0.25, 0.5, 0, -1};
    static const uint64_t count[] = {1, 2, 4};
    fixture f = {.mu = NULL};

    cr_assert(scratch_init(&f.dir));
    f.ex = experiment_from(&f.dir, SMALL_EXPERIMENT "bounds = (\"sharp\", \"castin-general\");");
    f.cell = experiment_cell(f.ex, 2);
    cr_assert_eq(tl_measure_alloc(&f.mu, 3, 2, x, count, NULL, NULL), TL_OK);
    return f;
}

static void fixture_clear(fixture *f)
{
    tl_measure_free(f->mu);
    tl_cell_free(f->cell);
    tl_experiment_free(f->ex);
    scratch_clear(&f->dir);
}

static tl_bound_table table_of(const fixture *f, const tl_layer *layer, double log_lower)
{
    tl_bound_table table;
    tl_error err = {0};

    cr_assert_eq(tl_bound_table_make(f->ex, f->cell, layer, f->mu, log_lower, &table, &err), TL_OK,
                 "%s", err.text);
    return table;
}

/* Rounding is some 1e-13 of a value here: less is none, and what is more is seen. */
Test(experiment_bounds, a_value_above_a_bound_by_more_than_rounding_counts)
{
    static const struct {
        double above;
        bool violated;
    } rows[] = {{-1e-9, false}, {0, false}, {4 * DBL_EPSILON, false}, {1e-11, true}, {1e-3, true}};
    fixture f = fixture_make();
    tl_bound_table table = table_of(&f, f.cell->attention.layer, -1);
    const double bound = table.value[0].log_value;

    cr_assert(table.value[0].applicable && bound < table.value[1].log_value);
    tl_bound_table_clear(&table);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        table = table_of(&f, f.cell->attention.layer, bound + rows[i].above);
        const json_t *sharp = json_array_get(table.rows, 0), *other = json_array_get(table.rows, 1);
        cr_expect_eq(table.violated, rows[i].violated, "row %zu", i);
        cr_expect_eq(json_is_true(json_object_get(sharp, "violation")), rows[i].violated, "%zu", i);
        cr_expect_null(json_object_get(other, "violation"));
        tl_bound_table_clear(&table);
    }
    fixture_clear(&f);
}

/* The A that was found may be a little shorter than those it stands for: no bound may profit. */
Test(experiment_bounds, a_searched_a_is_taken_at_the_norm_of_all)
{
    fixture f = fixture_make();
    tl_layer *layer = NULL;

    cr_assert_eq(tl_layer_copy(&layer, f.cell->attention.layer), TL_OK);
    memset(layer->head[0].Q, 0, 4 * sizeof(double));
    layer->head[0].Q[0] = layer->head[0].Q[3] = 1;
    tl_bound_table exact = table_of(&f, layer, -1);
    layer->head[0].Q[0] = layer->head[0].Q[3] = 1 - 1e-10;
    tl_bound_table shorter = table_of(&f, layer, -1);
    cr_expect_geq(shorter.norm_a, 1);
    cr_expect_leq(shorter.norm_a, 1 + 1e-14);
    for (size_t i = 0; i < 2; i++)
        cr_expect_float_eq(shorter.value[i].log_value, exact.value[i].log_value, 1e-14, "%zu", i);
    tl_bound_table_clear(&shorter);
    tl_bound_table_clear(&exact);
    tl_layer_free(layer);
    fixture_clear(&f);
}
