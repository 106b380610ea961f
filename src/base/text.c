#include "tightlip/text.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

enum { LONGEST = 127 };

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* Levenshtein distance, one row of the table at a time; both texts at most LONGEST bytes. */
static size_t edit_distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[LONGEST + 1];

    for (size_t j = 0; j <= b_length; j++) row[j] = j;
    for (size_t i = 1; i <= a_length; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; j++) {
            int same = tolower((unsigned char)a[i - 1]) == tolower((unsigned char)b[j - 1]);
            size_t replaced = diagonal + (same ? 0 : 1);
            diagonal = row[j];
            row[j] = min3(row[j] + 1, row[j - 1] + 1, replaced);
        }
    }
    return row[b_length];
}

const char *tl_text_nearest(const char *word, const char *const *names, size_t count)
{
    size_t length = strlen(word), best = SIZE_MAX;
    const char *nearest = NULL;

    for (size_t i = 0; i < count && length <= LONGEST; i++) {
        size_t other = strlen(names[i]), longer = length > other ? length : other, distance;
        if (other > LONGEST) continue;
        distance = edit_distance(word, length, names[i], other);
        if (3 * distance <= longer && distance < best) {
            best = distance;
            nearest = names[i];
        }
    }
    return nearest;
}
