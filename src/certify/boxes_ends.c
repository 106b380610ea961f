/* Balls as doubles, rounded outward: sides and values of boxes. */
#include <math.h>

#include "certify/boxes.h"

double tl_certify_up(const arb_t x)
{
    arf_t end;
    double value = (double)INFINITY;

    if (!arb_is_finite(x)) return value;
    arf_init(end);
    arb_get_ubound_arf(end, x, TL_CERTIFY_BOX_BITS);
    value = arf_get_d(end, ARF_RND_CEIL);
    arf_clear(end);
    return value;
}

double tl_certify_down(const arb_t x)
{
    arf_t end;
    double value = -(double)INFINITY;

    if (!arb_is_finite(x)) return value;
    arf_init(end);
    arb_get_lbound_arf(end, x, TL_CERTIFY_BOX_BITS);
    value = arf_get_d(end, ARF_RND_FLOOR);
    arf_clear(end);
    return value;
}

double tl_certify_mid(const arb_t x)
{
    return arf_get_d(arb_midref(x), ARF_RND_NEAR);
}

void tl_certify_product_max(arb_t product, const arb_t x0, const arb_t x1, slong prec)
{
    arb_t half, x;

    arb_init(half);
    arb_init(x);
    arb_set_d(half, 0.5);
    /* The point of [x0, x1] nearest to 1/2, or 1/2 where that is not decided. */
    arb_set(x, half);
    if (arb_lt(x1, half))
        arb_set(x, x1);
    else if (arb_gt(x0, half))
        arb_set(x, x0);
    arb_sub_ui(half, x, 1, prec);
    arb_neg(half, half);
    arb_mul(product, x, half, prec);
    arb_clear(x);
    arb_clear(half);
}
