/* What `tightlip search` found, for people and as JSON. */
#ifndef TIGHTLIP_CLI_SEARCH_H
#define TIGHTLIP_CLI_SEARCH_H

#include "cli/cli.h"
#include "tightlip/problem.h"
#include "tightlip/search.h"

typedef struct {
    const tl_search_problem *problem;
    const tl_search_result *result;
    const char *from; /* where the domain comes from */
    const tl_cli_bound_row *rows;
    tl_cli_found found;
} tl_cli_search_report;

/* The result as a witness; every pointer is borrowed from the report: never clear it. */
tl_problem tl_cli_search_witness(const tl_cli_search_report *report);
void tl_cli_search_print(FILE *out, const tl_cli_search_report *report);
json_t *tl_cli_search_json(const tl_cli_search_report *report);

/* Centred domain of that kind: a ball or sphere of that radius, a box of half that side, a norm of
 * which every gain is that, the whole space with that scale. */
TL_MUST_USE tl_status tl_cli_search_domain(tl_domain **out, tl_domain_kind kind, size_t d,
                                           double radius, tl_error *err);

#endif
