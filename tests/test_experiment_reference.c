/* Records that name weights and tokens instead of repeating them. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "support/experiment_run.h"
#include "tightlip/model.h"

/* Weights too many to repeat: the record names the draw, and what it names is the cell. */
Test(experiment_reference, a_wide_layer_is_named_in_its_record)
{
    static const char *const tokens[] = {"\"castin\"; radius = 30.0; n = 5", "\"normal\"; n = 3"};

    for (size_t i = 0; i < 2; i++) {
        scratch dir;
        char text[400];
        tl_problem problem;
        tl_error err = {0};
        char *line = NULL;
        double seconds;
        bool changed = false;
        cr_assert(scratch_init(&dir));
        (void)snprintf(text, sizeof text,
                       "name = \"t\"; bounds = (\"none\"); attention = { mask = \"causal\"; random "
                       "= { d = 40; heads = 2; std = 0.3; seed = 5; }; };\n"
                       "tokens = { construction = %s; };",
                       tokens[i]);
        tl_experiment *ex = experiment_from(&dir, text);
        tl_cell *cell = experiment_cell(ex, 0);
        cr_assert_eq(tl_record_make(ex, cell, NULL, &line, &seconds, &err), TL_OK, "%s", err.text);
        json_t *record = json_loads(line, 0, NULL);
        json_t *witness = json_object_get(record, "witness");
        const char *certified =
            json_string_value(json_object_get(json_object_get(record, "lower"), "certified"));
        const double value =
            json_number_value(json_object_get(json_object_get(record, "lower"), "value"));
        cr_expect_lt(strlen(line), 8000, "the weights alone are 6400 numbers");
        cr_assert_not_null(certified);
        cr_expect_float_eq(strtod(certified, NULL), value, 1e-9 * value);
        cr_assert_eq(tl_model_resolve(witness, "", &changed, &err), TL_OK, "%s", err.text);
        cr_expect(changed);
        cr_assert_eq(tl_problem_from_json(witness, "t", &problem, &err), TL_OK, "%s", err.text);
        cr_assert(problem.layer->heads == 2 && problem.layer->mask == TL_MASK_CAUSAL);
        cr_expect_arr_eq(problem.layer->head[1].K, cell->attention.layer->head[1].K,
                         800 * sizeof(double));
        cr_assert_eq(problem.measure->m, cell->tokens->m);
        cr_expect_arr_eq(problem.measure->x, cell->tokens->x,
                         cell->tokens->m * 40 * sizeof(double));
        tl_problem_clear(&problem);
        json_decref(record);
        free(line);
        tl_cell_free(cell);
        tl_experiment_free(ex);
        scratch_clear(&dir);
    }
}
