/* The display of README Theorem 5.2 of src/bounds: the best t, and its columns in balls. */
#ifndef TIGHTLIP_CERTIFY_COLUMNS_H
#define TIGHTLIP_CERTIFY_COLUMNS_H

#include "certify/internal.h"

/* columns (m), for some t > 0 near the best: column l is sum_k E_kl (1 + t_k) + (1 + 1/t_l) d_l,
 * E (m x m) and d (m) >= 0; where d_l = 0, t_l = 0 and the last term is absent. largest: the
 * largest of them. False when out of memory. */
bool tl_certify_columns(arb_ptr columns, arb_t largest, const arb_mat_t E, arb_srcptr d,
                        slong prec);

#endif
