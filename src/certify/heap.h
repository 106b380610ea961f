/* Boxes that are left, the largest upper bound first: a binary heap in memory of the caller. */
#ifndef TIGHTLIP_CERTIFY_HEAP_H
#define TIGHTLIP_CERTIFY_HEAP_H

#include <stddef.h>

enum { TL_CERTIFY_PIECE_DIM = 6 };

typedef struct {
    double upper;
    size_t split; /* the side to halve, where that is known beforehand */
    double lo[TL_CERTIFY_PIECE_DIM], hi[TL_CERTIFY_PIECE_DIM];
} tl_certify_piece;

/* heap has room for one more; *size grows by it. */
void tl_certify_heap_push(tl_certify_piece *heap, size_t *size, const tl_certify_piece *piece);
/* *size > 0. */
void tl_certify_heap_pop(tl_certify_piece *heap, size_t *size, tl_certify_piece *piece);

#endif
