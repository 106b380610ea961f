/* Top singular triples of eight small matrices, one in each lane. Internal to src. */
#ifndef TIGHTLIP_LINALG_TOP_BATCH_H
#define TIGHTLIP_LINALG_TOP_BATCH_H

#include "linalg/wide.h"

/* M: rows x cols, cols <= TL_TOP_SMALL, its rows tl_top_batch_stride(cols) vectors apart. v: a
 * start in each lane, zero or not finite: the largest row; overwritten by the right vector, of
 * length 1 to 2 above two columns. u: M v times a power of two, and weight u is M v / |M v|^2, so
 * that weight u' dM v is the change of the log of the norm. top: |M v|^2 / |v|^2. used: lanes to be
 * looked at, the others hold anything. told: lanes whose triple is shown to be the top one: top is
 * the square of the norm to a relative 2e-10, and to rounding where the second value is further
 * off; v is right to 1e-11 then. The others are to be asked of another method. least: lanes for
 * which M'M is worth its cost above 16 columns; 1: every lane's result depends on that lane alone;
 * more: so does every triple that is told, and whether it is on the others. work:
 * tl_top_batch_room(cols) vectors. From a start near v a few products with M and M' where the top
 * holds more than half of the squared Frobenius norm, else M'M and a factorisation or two. */
void tl_top_batch(size_t rows, size_t cols, const wide8 *M, const wide8l *used, size_t least,
                  wide8 *u, wide8 *v, wide8 *weight, wide8 *top, wide8l *told, wide8 *work);
size_t tl_top_batch_room(size_t cols);
size_t tl_top_batch_stride(size_t cols);

#endif
