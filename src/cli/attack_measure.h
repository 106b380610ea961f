/* tightlip attack on a measure: atoms may be split. */
#ifndef TIGHTLIP_CLI_ATTACK_MEASURE_H
#define TIGHTLIP_CLI_ATTACK_MEASURE_H

#include "cli/cli.h"
#include "tightlip/measure_attack.h"
#include "tightlip/problem.h"

typedef struct {
    const tl_problem *problem; /* with a domain */
    bool stay;                 /* the moved measure stays in it */
    const char *from;          /* where the domain comes from */
    const double *epsilon;
    size_t count, parts;
    tl_measure_attack_settings settings;
    const char *out; /* where the moved measure of the last budget goes, or NULL */
    bool json;
} tl_cli_measure_attack;

/* An attack at several budgets that was interrupted: at all[done - 1], of which the best so far is
 * shown, where cut, or between two of them. Returns TL_ERR_INTERRUPTED. */
tl_status tl_cli_attack_interrupted(const double *all, size_t count, size_t done, bool cut,
                                    tl_error *err);

/* Slopes, then one row a budget: whole atoms, parts, gain, least bound. *refuted: a ratio lies
 * above a bound. */
TL_MUST_USE tl_status tl_cli_attack_measure(const tl_cli_measure_attack *attack, bool *refuted,
                                            tl_error *err);

#endif
