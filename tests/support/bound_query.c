#include "bound_query.h"

#include <criterion/criterion.h>
#include <math.h>

tl_bound_query plain_query(tl_head_facts *head, double g, double n)
{
    *head = (tl_head_facts){.norm_a = g, .norm_v = 1, .norm_ov = 1, .rho = g};
    return (tl_bound_query){.infinite = isinf(n) != 0,
                            .n = isinf(n) ? 0 : n,
                            .radius = 1,
                            .radius_origin = 1,
                            .heads = 1,
                            .head = head,
                            .norm_o = 1};
}

double log_bound(const char *key, const tl_bound_query *query)
{
    tl_bound_value value;
    const tl_bound *bound = tl_bound_find(key);

    cr_assert_not_null(bound, "%s", key);
    cr_assert_eq(tl_bound_evaluate(bound, query, &value, NULL), TL_OK);
    return value.applicable ? value.log_value : (double)NAN;
}

double plain(const char *key, double g, double n)
{
    tl_head_facts head;
    tl_bound_query query = plain_query(&head, g, n);

    return log_bound(key, &query);
}
