#include "reference_table.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

void reference_table_read(reference_cell cells[REFERENCE_CELLS])
{
    FILE *file = fopen("tests/support/tightness_reference.csv", "r");
    char line[256], tokens[32];
    size_t rows = 0;

    cr_assert(file && fgets(line, sizeof line, file), "the reference table cannot be read");
    while (fgets(line, sizeof line, file)) {
        reference_cell c;
        cr_assert(rows < REFERENCE_CELLS);
        cr_assert_eq(sscanf(line, "%lf,%31[^,],%lf,%lf,%*f,%lf", &c.g, tokens, &c.found, &c.proven,
                            &c.schur),
                     5, "row %zu: %s", rows, line);
        c.n = strtod(tokens, NULL);
        cr_assert(c.found <= c.proven * (1 + 1e-5) && c.proven <= c.schur * (1 + 1e-5), "row %zu",
                  rows);
        cells[rows++] = c;
    }
    (void)fclose(file);
    cr_assert_eq(rows, REFERENCE_CELLS);
}
