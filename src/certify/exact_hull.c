/* Boxes that are left or kept and may hold a maximiser, and where a given input lies among them. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "certify/exact.h"
#include "tightlip/names.h"

enum { MOST = TL_EXACT_COORDINATES };

TL_DEFINE_NAME(tl_exact_place_name, tl_exact_place, TL_EXACT_PLACE_LIST)

bool tl_exact_push(tl_exact_search *s, const tl_certify_piece *piece)
{
    if (s->size == s->capacity) {
        const size_t capacity = s->capacity ? 2 * s->capacity : 1024;
        tl_certify_piece *heap = realloc(s->heap, capacity * sizeof *heap);
        if (!heap) return false;
        s->heap = heap;
        s->capacity = capacity;
    }
    tl_certify_heap_push(s->heap, &s->size, piece);
    return true;
}

/* Kept pieces that the lower bound has passed meanwhile. */
static void forget(tl_exact_search *s)
{
    size_t left = 0;

    for (size_t i = 0; i < s->kept_size; i++)
        if (s->kept[i].upper >= s->lower) s->kept[left++] = s->kept[i];
    s->kept_size = left;
}

bool tl_exact_keep(tl_exact_search *s, const tl_certify_piece *piece)
{
    if (!(piece->upper >= s->lower)) return true;
    if (s->kept_size == s->kept_capacity) forget(s);
    if (2 * s->kept_size >= s->kept_capacity) {
        const size_t capacity = 4 * s->kept_size + 256;
        tl_certify_piece *kept = realloc(s->kept, capacity * sizeof *kept);
        if (!kept) return false;
        s->kept = kept;
        s->kept_capacity = capacity;
    }
    s->kept[s->kept_size++] = *piece;
    return true;
}

static void widen(tl_exact_result *result, const tl_certify_piece *piece, double lower)
{
    if (!(piece->upper >= lower)) return;
    for (size_t i = 0; i < result->dim; i++) {
        double *hull = result->hull + 2 * i;
        hull[0] = result->holding ? fmin(hull[0], piece->lo[i]) : piece->lo[i];
        hull[1] = result->holding ? fmax(hull[1], piece->hi[i]) : piece->hi[i];
    }
    result->holding++;
}

/* In the hull, up to the rounding of coordinates. */
static bool holds(const tl_exact_result *result, const double *point)
{
    for (size_t i = 0; i < result->dim; i++) {
        const double *hull = result->hull + 2 * i;
        const double room = 16 * DBL_EPSILON * (fabs(hull[0]) + fabs(hull[1]) + fabs(point[i]));
        if (!(point[i] >= hull[0] - room && point[i] <= hull[1] + room)) return false;
    }
    return result->holding > 0;
}

static int falling(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

/* Radius and angle of each token, largest radius first; isotropic: turned so that the first angle
 * is 0. */
static void order_polar(const tl_exact_task *task, double *point)
{
    const double pi = 3.1415926535897931, turn = task->isotropic ? point[1] : 0;

    if (!task->causal) qsort(point, task->n, 2 * sizeof *point, falling);
    const double first = task->isotropic ? point[1] : turn;
    for (size_t i = 0; i < task->n; i++) {
        double *angle = point + 2 * i + 1;
        *angle -= first;
        if (*angle > pi) *angle -= 2 * pi;
        if (*angle < -pi) *angle += 2 * pi;
    }
}

/* The representative of a point among the boxes: itself, or after the reflection. */
static void represent(const tl_exact_task *task, bool reflected, const double *from, double *point)
{
    const double pi = 3.1415926535897931;

    memcpy(point, from, task->dim * sizeof *point);
    if (task->gaps) {
        for (size_t i = 0; reflected && i < task->dim; i++) point[i] = from[task->dim - 1 - i];
        return;
    }
    if (task->d == 1) {
        for (size_t i = 0; reflected && i < task->dim; i++) point[i] = -from[i];
        if (!task->causal) qsort(point, task->n, sizeof *point, falling);
        return;
    }
    order_polar(task, point);
    for (size_t i = 0; reflected && i < task->n; i++) {
        double *angle = point + 2 * i + 1;
        *angle = task->isotropic ? -*angle : *angle > 0 ? *angle - pi : *angle + pi;
    }
}

static tl_exact_place place_of(const tl_exact_task *task, const tl_exact_result *result,
                               const double *start)
{
    double given[MOST], point[MOST];

    if (!start) return TL_EXACT_NOWHERE;
    tl_exact_coordinates(task, start, given);
    if (holds(result, given)) return TL_EXACT_INSIDE;
    for (int reflected = 0; reflected < (task->odd ? 2 : 1); reflected++) {
        represent(task, reflected == 1, given, point);
        if (holds(result, point)) return TL_EXACT_IMAGE;
    }
    return TL_EXACT_OUTSIDE;
}

void tl_exact_hull(const tl_exact_search *s, const double *start, tl_exact_result *result)
{
    const tl_exact_task *task = s->task;

    for (size_t i = 0; i < s->size; i++) widen(result, &s->heap[i], s->lower);
    for (size_t i = 0; i < s->kept_size; i++) widen(result, &s->kept[i], s->lower);
    result->coordinates = task->gaps ? "gaps" : task->d == 1 ? "tokens" : "radius and angle";
    result->place = place_of(task, result, start);
}
