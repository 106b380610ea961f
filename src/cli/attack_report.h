/* tightlip attack on a sequence of tokens: what was found, and how it is shown. */
#ifndef TIGHTLIP_CLI_ATTACK_REPORT_H
#define TIGHTLIP_CLI_ATTACK_REPORT_H

#include "cli/bound_rows.h"
#include "cli/cli.h"
#include "tightlip/attack.h"
#include "tightlip/problem.h"

enum { CLI_BUDGETS_MOST = 64 };

typedef struct {
    tl_attack_result result;
    double epsilon;
    tl_cli_bound_row *rows;        /* on the ball of that radius about X */
    const tl_cli_bound_row *least; /* of those that cover the ball, or NULL */
    double log_bound;              /* its logarithm, with the residual branch where there is one */
} tl_cli_attack_row;

typedef struct {
    tl_problem problem;
    const char *from; /* where its domain comes from */
    double residual;
    bool stay;          /* X' stays in the domain */
    size_t count, rows; /* budgets, and those that were come to */
    bool cut;           /* a stop ended the last of them */
    double epsilon[CLI_BUDGETS_MOST];
    tl_cli_attack_row row[CLI_BUDGETS_MOST];
} tl_cli_attack;

/* Whether a ratio lies above a bound, with a word on stderr. */
bool tl_cli_attack_refuted(const tl_cli_attack_row *row);
void tl_cli_attack_print(const tl_cli_attack *report);
json_t *tl_cli_attack_json(const tl_cli_attack *report);

#endif
