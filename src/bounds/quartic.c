/* Global maximum of a quartic on [0, 1]. A polynomial lies below the largest of its Bernstein
 * coefficients, and halving the interval brings the two together quadratically. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "bounds/internal.h"

enum { DEPTH = 48, MAX_BOXES = 1 << 14 };

typedef struct {
    double c[5];
    int depth;
} box;

static double largest(const double c[5])
{
    double high = c[0];

    for (int i = 1; i < 5; i++) high = fmax(high, c[i]);
    return high;
}

/* de Casteljau at the midpoint: a keeps the left half, b the right. */
static void halve(box *a, box *b)
{
    double row[5];

    memcpy(row, a->c, sizeof row);
    b->depth = ++a->depth;
    b->c[4] = row[4];
    for (int level = 1; level < 5; level++) {
        for (int i = 0; i + level < 5; i++) row[i] = (row[i] + row[i + 1]) / 2;
        a->c[level] = row[0];
        b->c[4 - level] = row[4 - level];
    }
}

double tl_bounds_quartic_max(const double b[5])
{
    /* Depth first: at most one waiting sibling per level. */
    box stack[DEPTH + 2];
    size_t size = 1;
    double reached = fmax(b[0], b[4]), bound = reached, magnitude = 0;

    for (int i = 0; i < 5; i++) magnitude = fmax(magnitude, fabs(b[i]));
    memcpy(stack[0].c, b, sizeof stack[0].c);
    stack[0].depth = 0;
    for (int boxes = 0; size > 0; boxes++) {
        box left = stack[--size], right;
        double high = largest(left.c);
        if (high <= reached + 64 * DBL_EPSILON * magnitude || left.depth == DEPTH ||
            boxes > MAX_BOXES) {
            bound = fmax(bound, high);
            continue;
        }
        halve(&left, &right);
        reached = fmax(reached, left.c[4]);
        stack[size++] = right;
        stack[size++] = left;
    }
    /* Averages do not amplify errors: each of the 4 DEPTH averages above a coefficient adds half an
     * ulp of the magnitude, the given coefficients less than 16 in all. */
    return bound + (2 * DEPTH + 16) * DBL_EPSILON * magnitude;
}
