/* Constants of the exponential of pairs, from balls. */
#include <arb.h>

#include "certify/pairs.h"

void tl_certify_exp_table_set(tl_certify_exp_table *table)
{
    arb_t t;
    arf_t rest;

    arb_init(t);
    arf_init(rest);
    arb_const_log2(t, 256);
    arf_set(rest, arb_midref(t));
    for (int i = 0; i < 3; i++) {
        arf_t part;
        arf_init(part);
        (void)arf_set_round(part, rest, i == 0 ? 40 : 53, ARF_RND_DOWN);
        table->ln2[i] = arf_get_d(part, ARF_RND_NEAR);
        arf_sub(rest, rest, part, 256, ARF_RND_NEAR);
        arf_clear(part);
    }
    for (ulong n = 0; n < TL_PAIRS_TERMS; n++) {
        arb_fac_ui(t, n, 256);
        arb_inv(t, t, 256);
        table->hi[n] = arf_get_d(arb_midref(t), ARF_RND_NEAR);
        arf_set_d(rest, table->hi[n]);
        arf_sub(rest, arb_midref(t), rest, 256, ARF_RND_NEAR);
        table->lo[n] = arf_get_d(rest, ARF_RND_NEAR);
    }
    arf_clear(rest);
    arb_clear(t);
}
