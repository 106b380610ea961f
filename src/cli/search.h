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

/* One head with V = I from flags. */
enum { SEARCH_A_WORST, SEARCH_A_IDENTITY, SEARCH_A_MINUS_IDENTITY };
enum { SEARCH_MASK_NONE, SEARCH_MASK_CAUSAL, SEARCH_MASK_SELF };
typedef struct {
    tl_kind kind;
    int mask; /* SEARCH_MASK_.. */
    int a;    /* SEARCH_A_..; the worst starts as the identity */
    size_t d;
    double norm_a;       /* kind l2: ||Q'Q||/sqrt(d) */
    uint64_t n;          /* 0: mean field */
    double bias;         /* kind sigmoid */
    double nu, tau, eps; /* kind cosine */
} tl_cli_search_head;
TL_MUST_USE tl_status tl_cli_search_layer(tl_layer **out, const tl_cli_search_head *head,
                                          tl_error *err);

/* Centred domain of that kind: a ball or sphere of that radius, a box of half that side, a norm of
 * which every gain is that, the whole space with that scale. */
TL_MUST_USE tl_status tl_cli_search_domain(tl_domain **out, tl_domain_kind kind, size_t d,
                                           double radius, tl_error *err);

#endif
