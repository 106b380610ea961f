/* How rows of bounds stand to a found value and to each other. */
#ifndef TIGHTLIP_CLI_BOUND_ROWS_H
#define TIGHTLIP_CLI_BOUND_ROWS_H

#include "cli/cli.h"

/* True when a found value lies above a bound by more than the rounding of both logarithms. */
bool tl_cli_bound_exceeded(double log_found, double log_bound);
bool tl_cli_bound_comparable(const tl_cli_bound_row *row, const tl_cli_found *found);
/* A bound L with |F(X') - F(X)| <= L |X' - X| in the 2-norm wherever the rows were asked about:
 * published or proven, and not about X alone. */
bool tl_cli_bound_covers(const tl_cli_bound_row *row);
/* The smallest in its norm of those that hold and are published or proven; ties: the first. */
bool tl_cli_bound_is_least(const tl_cli_bound_row *rows, const tl_cli_bound_row *row);

#endif
