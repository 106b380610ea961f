/* Queries of one plain head, and bounds of them, for the tests of src/bounds. */
#ifndef SUPPORT_BOUND_QUERY_H
#define SUPPORT_BOUND_QUERY_H

#include "tightlip/bounds.h"

/* One head with V = I and ||A|| = g on the unit ball; n may be infinite. */
tl_bound_query plain_query(tl_head_facts *head, double g, double n);
/* log of the bound; NaN when it does not apply. Aborts the test on an error. */
double log_bound(const char *key, const tl_bound_query *query);
double plain(const char *key, double g, double n);

#endif
