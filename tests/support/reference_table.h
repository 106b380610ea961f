/* The table of reference values: best norms known and bounds of an independent implementation. */
#ifndef SUPPORT_REFERENCE_TABLE_H
#define SUPPORT_REFERENCE_TABLE_H

/* Dot product, A searched at ||A|| R^2 = g, V = I, n tokens (INFINITY: mean field). Six digits are
 * printed. found: largest norm known (d up to 4); proven: a bound whose branch and bound ended a
 * few 1e-3 above its maximum; schur: minimised over a grid of b, a few 1e-5 above the true minimum.
 */
typedef struct {
    double g, n, found, proven, schur;
} reference_cell;

enum { REFERENCE_CELLS = 72 };

/* Reads tests/support/tightness_reference.csv; asserts that it is whole and consistent. */
void reference_table_read(reference_cell cells[REFERENCE_CELLS]);

#endif
