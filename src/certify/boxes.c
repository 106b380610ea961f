#include "certify/boxes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "certify/heap.h"

typedef struct {
    const tl_certify_boxes *problem;
    tl_certify_piece *heap;
    size_t size;
    double pruned, reached;
} search;

static double middle_of(const tl_certify_boxes *p, const tl_certify_piece *b, size_t i)
{
    const double middle = b->lo[i] + (b->hi[i] - b->lo[i]) / 2;

    return p->whole[i] ? floor(middle) : middle;
}

static void keep(search *s, const tl_certify_piece *b)
{
    const tl_certify_boxes *p = s->problem;
    double middle[TL_CERTIFY_BOXES_DIM];

    if (b->upper <= s->reached * (1 + p->tolerance)) {
        s->pruned = fmax(s->pruned, b->upper);
        return;
    }
    for (size_t i = 0; i < p->dim; i++) middle[i] = middle_of(p, b, i);
    s->reached = fmax(s->reached, p->upper(p->context, middle, middle));
    tl_certify_heap_push(s->heap, &s->size, b);
}

/* The side whose halving brings the larger bound down most. A bound of a part is at most that of
 * the whole; a NaN counts as no bound. */
static void halve(const tl_certify_boxes *p, const tl_certify_piece *whole,
                  tl_certify_piece part[2])
{
    double least = (double)INFINITY;

    part[0] = part[1] = *whole; /* still a cover where no side can be halved */
    for (size_t i = 0; i < p->dim; i++) {
        const double middle = middle_of(p, whole, i);
        tl_certify_piece tried[2] = {*whole, *whole};
        if (whole->lo[i] >= whole->hi[i]) continue;
        tried[0].hi[i] = middle;
        tried[1].lo[i] = p->whole[i] ? middle + 1 : middle;
        for (int k = 0; k < 2; k++)
            tried[k].upper = fmin(whole->upper, p->upper(p->context, tried[k].lo, tried[k].hi));
        const double high = fmax(tried[0].upper, tried[1].upper);
        const double low = fmax(fmin(tried[0].upper, tried[1].upper), 0);
        if (!(high + low / 2 < least)) continue;
        least = high + low / 2;
        memcpy(part, tried, sizeof tried);
    }
}

double tl_certify_boxes_max(const tl_certify_boxes *p)
{
    search s = {.problem = p, .pruned = p->floor, .reached = p->floor};
    tl_certify_piece whole = {.upper = (double)INFINITY};

    s.heap = malloc((p->budget + 2) * sizeof *s.heap);
    if (!s.heap) return (double)INFINITY;
    memcpy(whole.lo, p->lo, sizeof p->lo);
    memcpy(whole.hi, p->hi, sizeof p->hi);
    whole.upper = fmin(whole.upper, p->upper(p->context, p->lo, p->hi));
    keep(&s, &whole);
    for (size_t split = 0; s.size > 0 && split < p->budget; split++) {
        tl_certify_piece part[2];
        if (s.heap[0].upper <= s.reached * (1 + p->tolerance) || s.reached >= p->ceiling) break;
        tl_certify_heap_pop(s.heap, &s.size, &whole);
        halve(p, &whole, part);
        keep(&s, &part[0]);
        keep(&s, &part[1]);
    }
    const double bound = s.size > 0 ? fmax(s.pruned, s.heap[0].upper) : s.pruned;
    free(s.heap);
    return bound;
}
