/* Constants of one kind of attention, as options of the verbs that make a layer from flags. */
#ifndef TIGHTLIP_CLI_CONSTANTS_H
#define TIGHTLIP_CLI_CONSTANTS_H

#include "cli/cli.h"

#define CLI_CONSTANT_OPTIONS(X)                                                              \
    X(BIAS, "bias", 0, TEXT, "B", NULL, 0, 0, NULL,                                          \
      "kind sigmoid: added to every logit; a number or '-log n'; without it 0")              \
    X(NU, "nu", 0, NONNEGATIVE, "X", "1", 0, 0, NULL, "kind cosine: factor of the output")   \
    X(TAU, "tau", 0, NONNEGATIVE, "X", "1", 0, 0, NULL, "kind cosine: factor of the logits") \
    X(EPS, "eps", 0, POSITIVE, "X", "1", 0, 0, NULL,                                         \
      "kind cosine: rows are divided by sqrt(|.|^2 + X)")

/* Options of that kind alone, by their place in the table of the verb. */
typedef struct {
    int option;
    tl_kind kind;
} tl_cli_constant;

/* A constant of one kind beside another is a mistake. */
TL_MUST_USE tl_status tl_cli_check_constants(const tl_cli_call *call, const tl_cli_option *options,
                                             const tl_cli_constant *row, size_t rows, tl_kind kind,
                                             tl_error *err);

/* --bias of n tokens, 0: infinitely many; not given: 0. */
TL_MUST_USE tl_status tl_cli_read_bias(double *bias, const tl_cli_value *given, uint64_t n,
                                       tl_error *err);

#endif
