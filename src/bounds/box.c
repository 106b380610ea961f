/* Maxima by best-first branch and bound. */
#include "bounds/box.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    double upper;
    double lo[TL_BOUNDS_BOX_DIM], hi[TL_BOUNDS_BOX_DIM];
} box;

typedef struct {
    const tl_bounds_box_problem *problem;
    box *heap; /* largest upper first */
    size_t size;
    double pruned; /* largest upper of the boxes thrown away */
    double reached;
} search;

static void sink(box *heap, size_t size, size_t i)
{
    box moved = heap[i];

    for (size_t child = 2 * i + 1; child < size; child = 2 * i + 1) {
        if (child + 1 < size && heap[child + 1].upper > heap[child].upper) child++;
        if (heap[child].upper <= moved.upper) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = moved;
}

static void push(search *s, const box *b)
{
    size_t i = s->size++;

    for (; i > 0 && s->heap[(i - 1) / 2].upper < b->upper; i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = *b;
}

static void pop(search *s, box *b)
{
    *b = s->heap[0];
    s->heap[0] = s->heap[--s->size];
    if (s->size > 0) sink(s->heap, s->size, 0);
}

/* The upper bound of a box never exceeds that of the box it is a part of. */
static void offer(search *s, box *b)
{
    const tl_bounds_box_problem *p = s->problem;
    const double inherited = b->upper;
    double middle[TL_BOUNDS_BOX_DIM];

    b->upper = fmin(inherited, p->upper(p->context, b->lo, b->hi));
    if (b->upper <= s->reached * (1 + p->tolerance)) {
        s->pruned = fmax(s->pruned, b->upper);
        return;
    }
    for (size_t i = 0; i < p->dim; i++) middle[i] = b->lo[i] + (b->hi[i] - b->lo[i]) / 2;
    s->reached = fmax(s->reached, p->upper(p->context, middle, middle));
    push(s, b);
}

/* The side whose halving moves the value most at the middle of the box; ties by width. */
static size_t longest(const tl_bounds_box_problem *p, const box *b)
{
    size_t best = 0;
    double width = -1;

    for (size_t i = 0; i < p->dim; i++) {
        double scaled = (b->hi[i] - b->lo[i]) * (p->weight ? p->weight[i] : 1);
        if (scaled > width) {
            width = scaled;
            best = i;
        }
    }
    return best;
}

double tl_bounds_box_max(const tl_bounds_box_problem *p)
{
    search s = {.problem = p, .reached = p->floor, .pruned = p->floor};
    box whole = {.upper = (double)INFINITY};

    s.heap = malloc((p->budget + 2) * sizeof *s.heap);
    if (!s.heap) return (double)INFINITY;
    memcpy(whole.lo, p->lo, p->dim * sizeof *p->lo);
    memcpy(whole.hi, p->hi, p->dim * sizeof *p->hi);
    offer(&s, &whole);
    for (size_t split = 0; s.size > 0 && split < p->budget; split++) {
        box low, high;
        if (s.heap[0].upper <= s.reached * (1 + p->tolerance)) break;
        pop(&s, &low);
        size_t i = longest(p, &low);
        double middle = low.lo[i] + (low.hi[i] - low.lo[i]) / 2;
        high = low;
        low.hi[i] = high.lo[i] = middle;
        offer(&s, &low);
        offer(&s, &high);
    }
    double bound = s.size > 0 ? fmax(s.pruned, s.heap[0].upper) : s.pruned;
    free(s.heap);
    return bound;
}
