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

static double middle_of(const tl_bounds_box_problem *p, const box *b, size_t i)
{
    double middle = b->lo[i] + (b->hi[i] - b->lo[i]) / 2;

    return p->whole[i] ? floor(middle) : middle;
}

/* Keeps a box whose upper bound is known, or throws it away. */
static void keep(search *s, const box *b)
{
    const tl_bounds_box_problem *p = s->problem;
    double middle[TL_BOUNDS_BOX_DIM];

    if (b->upper <= s->reached * (1 + p->tolerance)) {
        s->pruned = fmax(s->pruned, b->upper);
        return;
    }
    for (size_t i = 0; i < p->dim; i++) middle[i] = middle_of(p, b, i);
    s->reached = fmax(s->reached, p->upper(p->context, middle, middle));
    push(s, b);
}

/* Halves along side i; the bound of a part never exceeds that of the whole. */
static void halve(const tl_bounds_box_problem *p, const box *whole, size_t i, box part[2])
{
    const double middle = middle_of(p, whole, i);

    part[0] = part[1] = *whole;
    part[0].hi[i] = middle;
    part[1].lo[i] = p->whole[i] ? middle + 1 : middle;
    for (int k = 0; k < 2; k++)
        part[k].upper = fmin(whole->upper, p->upper(p->context, part[k].lo, part[k].hi));
}

/* Halves along the side that brings the bounds down most. */
static void halve_best(const tl_bounds_box_problem *p, const box *whole, box part[2])
{
    part[0] = part[1] = *whole; /* still a cover where no side can be halved */
    double least = (double)INFINITY;

    for (size_t i = 0; i < p->dim; i++) {
        box tried[2];
        if (p->whole[i] && whole->lo[i] == whole->hi[i]) continue;
        halve(p, whole, i, tried);
        double high = fmax(tried[0].upper, tried[1].upper);
        double low = fmax(fmin(tried[0].upper, tried[1].upper), 0);
        if (high + low / 2 < least) {
            least = high + low / 2;
            memcpy(part, tried, sizeof tried);
        }
    }
}

double tl_bounds_box_max(const tl_bounds_box_problem *p)
{
    search s = {.problem = p, .reached = p->floor, .pruned = p->floor};
    box whole = {.upper = (double)INFINITY};

    s.heap = malloc((p->budget + 2) * sizeof *s.heap);
    if (!s.heap) return (double)INFINITY;
    memcpy(whole.lo, p->lo, p->dim * sizeof *p->lo);
    memcpy(whole.hi, p->hi, p->dim * sizeof *p->hi);
    whole.upper = p->upper(p->context, p->lo, p->hi);
    keep(&s, &whole);
    for (size_t split = 0; s.size > 0 && split < p->budget; split++) {
        box part[2];
        if (s.heap[0].upper <= s.reached * (1 + p->tolerance) || s.reached >= p->ceiling) break;
        pop(&s, &whole);
        halve_best(p, &whole, part);
        keep(&s, &part[0]);
        keep(&s, &part[1]);
    }
    double bound = s.size > 0 ? fmax(s.pruned, s.heap[0].upper) : s.pruned;
    free(s.heap);
    return bound;
}
