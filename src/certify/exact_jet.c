#include "certify/exact_jet.h"

enum { PREC = TL_EXACT_BITS };

tl_exact_algebra tl_exact_algebra_of(const tl_exact_task *task, mag_srcptr half)
{
    const slong dim = (slong)task->dim;

    return (tl_exact_algebra){.size = (slong)task->jet,
                              .dim = dim,
                              .middle = 1 + dim + dim * (dim + 1) / 2,
                              .half = half};
}

slong tl_jet_second(const tl_exact_algebra *a, size_t c, size_t e)
{
    const slong row = (slong)c, column = (slong)e;

    return 1 + a->dim + row * a->dim - row * (row - 1) / 2 + column - row;
}

arb_ptr tl_jet_at(arb_ptr array, const tl_exact_algebra *a, size_t i)
{
    return array + i * (size_t)a->size;
}

void tl_addmul(arb_t z, const arb_t x, const arb_t y)
{
    if (!arb_is_zero(x) && !arb_is_zero(y)) arb_addmul(z, x, y, PREC);
}

void tl_jet_zero(const tl_exact_algebra *a, arb_ptr z)
{
    _arb_vec_zero(z, a->size);
}

void tl_jet_sub(const tl_exact_algebra *a, arb_ptr z, arb_srcptr x, arb_srcptr y)
{
    for (slong i = 0; i < a->size; i++) {
        if (arb_is_zero(y + i))
            arb_set(z + i, x + i);
        else
            arb_sub(z + i, x + i, y + i, PREC);
    }
}

void tl_jet_addmul(const tl_exact_algebra *a, arb_ptr z, arb_srcptr x, arb_srcptr y)
{
    const slong dim = a->dim;
    slong second = 1 + dim;
    arb_t twice;

    for (slong at = 0; at <= a->middle; at += a->middle) {
        tl_addmul(z + at, x + at, y + at);
        for (slong i = at + 1; i <= at + dim; i++) {
            tl_addmul(z + i, x + at, y + i);
            tl_addmul(z + i, x + i, y + at);
        }
    }
    arb_init(twice);
    for (slong c = 1; c <= dim; c++)
        for (slong e = c; e <= dim; e++, second++) {
            tl_addmul(z + second, x, y + second);
            tl_addmul(z + second, x + second, y);
            arb_mul_2exp_si(twice, x + c, c == e);
            tl_addmul(z + second, twice, y + e);
            if (c != e) tl_addmul(z + second, x + e, y + c);
        }
    arb_clear(twice);
}

void tl_jet_mul(const tl_exact_algebra *a, arb_ptr z, arb_srcptr x, arb_srcptr y)
{
    tl_jet_zero(a, z);
    tl_jet_addmul(a, z, x, y);
}

void tl_jet_addscaled(const tl_exact_algebra *a, arb_ptr z, arb_srcptr x, const arb_t c)
{
    for (slong i = 0; i < a->size; i++) tl_addmul(z + i, x + i, c);
}

/* z to its part in the ball around middle. */
static void cut(arb_t z, const arb_t middle, const mag_t radius)
{
    arb_t other;

    arb_init(other);
    arb_set(other, middle);
    mag_add(arb_radref(other), arb_radref(other), radius);
    if (!arb_is_finite(z))
        arb_set(z, other);
    else if (arb_is_finite(other) && !arb_contains(other, z))
        (void)arb_intersection(z, z, other, PREC);
    arb_clear(other);
}

/* sum_k half_k |z_k| */
static void add_reach(mag_t reach, const tl_exact_algebra *a, arb_srcptr z)
{
    mag_t slope;

    mag_init(slope);
    for (slong k = 0; k < a->dim; k++) {
        arb_get_mag(slope, z + k);
        mag_addmul(reach, slope, a->half + k);
    }
    mag_clear(slope);
}

void tl_jet_tighten(const tl_exact_algebra *a, arb_ptr z)
{
    arb_srcptr middle = z + a->middle;
    mag_t reach, bend, total;

    mag_init(reach);
    mag_init(bend);
    mag_init(total);
    for (size_t c = 0; c < (size_t)a->dim; c++) {
        mag_zero(reach);
        for (size_t e = 0; e < (size_t)a->dim; e++) {
            arb_get_mag(bend, z + tl_jet_second(a, c < e ? c : e, c < e ? e : c));
            mag_addmul(reach, bend, a->half + e);
        }
        cut(z + 1 + c, middle + 1 + c, reach);
        mag_addmul(total, reach, a->half + c);
    }
    mag_mul_2exp_si(total, total, -1);
    add_reach(total, a, middle + 1);
    cut(z, middle, total);
    mag_zero(reach);
    add_reach(reach, a, z + 1);
    cut(z, middle, reach);
    mag_clear(total);
    mag_clear(bend);
    mag_clear(reach);
}
