/* A mask cut into parts that do not see each other. */
#include <stdlib.h>
#include <string.h>

#include "bounds/masked.h"

/* Marks everything joined to `first`, breadth first; how many tokens were listed. */
static size_t spread(const tl_layer *layer, size_t n, size_t first, bool *taken, size_t *list)
{
    size_t count = 1;

    taken[first] = true;
    list[0] = first;
    for (size_t at = 0; at < count; at++)
        for (size_t j = 0; j < n; j++) {
            const size_t i = list[at];
            if (taken[j] || !(tl_layer_sees(layer, i, j) || tl_layer_sees(layer, j, i))) continue;
            taken[j] = true;
            list[count++] = j;
        }
    return count;
}

/* token[0..m) by ascending length: counting sort. list and length: as given, in any order. */
static void sort_part(size_t m, size_t n, const size_t *list, const size_t *lengths, size_t *place,
                      size_t *token, size_t *length)
{
    memset(place, 0, (n + 2) * sizeof *place);
    for (size_t k = 0; k < m; k++) place[lengths[list[k]] + 1]++;
    for (size_t l = 0; l <= n; l++) place[l + 1] += place[l];
    for (size_t k = 0; k < m; k++) {
        const size_t at = place[lengths[list[k]]]++;
        token[at] = list[k];
        length[at] = lengths[list[k]];
    }
}

static tl_bounds_part kind_of(const tl_bounds_mask *mask, size_t part)
{
    const size_t from = mask->start[part], m = mask->start[part + 1] - from;
    const size_t *token = mask->token + from, *length = mask->length + from;
    bool causal = true;

    if (length[0] == m) return TL_BOUNDS_PART_FULL;
    for (size_t r = 0; r < m && causal; r++) {
        causal = length[r] == r + 1;
        for (size_t q = 0; q <= r && causal; q++)
            causal = tl_layer_sees(mask->layer, token[r], token[q]);
    }
    return causal ? TL_BOUNDS_PART_CAUSAL : TL_BOUNDS_PART_OTHER;
}

tl_status tl_bounds_mask_init(tl_bounds_mask *mask, const tl_layer *layer)
{
    const size_t n = layer->seen_n;
    size_t *block = malloc((6 * n + 3) * sizeof *block);
    bool *taken = calloc(n, sizeof *taken);
    size_t used = 0;

    *mask = (tl_bounds_mask){.n = n, .layer = layer, .token = block};
    mask->kind = malloc(n * sizeof *mask->kind);
    if (!block || !taken || !mask->kind) {
        free(taken);
        tl_bounds_mask_clear(mask);
        return TL_ERR_MEMORY;
    }
    mask->length = block + n;
    mask->start = mask->length + n;
    size_t *lengths = mask->start + n + 1, *list = lengths + n, *place = list + n;
    for (size_t i = 0; i < n; i++) lengths[i] = tl_layer_seen_by(layer, i, n);
    mask->start[0] = 0;
    for (size_t i = 0; i < n; i++) {
        if (taken[i]) continue;
        const size_t m = spread(layer, n, i, taken, list);
        sort_part(m, n, list, lengths, place, mask->token + used, mask->length + used);
        used += m;
        mask->start[++mask->parts] = used;
        mask->kind[mask->parts - 1] = kind_of(mask, mask->parts - 1);
    }
    free(taken);
    return TL_OK;
}

void tl_bounds_mask_clear(tl_bounds_mask *mask)
{
    free(mask->token);
    free(mask->kind);
    *mask = (tl_bounds_mask){0};
}
