#include "certify/heap.h"

void tl_certify_heap_push(tl_certify_piece *heap, size_t *size, const tl_certify_piece *piece)
{
    size_t i = (*size)++;

    for (; i > 0 && heap[(i - 1) / 2].upper < piece->upper; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = *piece;
}

void tl_certify_heap_pop(tl_certify_piece *heap, size_t *size, tl_certify_piece *piece)
{
    *piece = heap[0];
    const tl_certify_piece last = heap[--*size];
    size_t i = 0;

    for (size_t child = 1; child < *size; child = 2 * i + 1) {
        if (child + 1 < *size && heap[child + 1].upper > heap[child].upper) child++;
        if (heap[child].upper <= last.upper) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
}
