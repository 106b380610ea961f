/* Byte-level byte pair encoding, as GPT-2 has it. */
#include <stdlib.h>
#include <string.h>
#ifdef TL_WITH_UNISTRING
#include <unictype.h>
#include <unistr.h>
#endif

#include "model/tokenizer.h"

#ifdef TL_WITH_UNISTRING
/* ---- words ---- */

typedef enum { LETTER, NUMBER, SPACE, OTHER } class_of;

static class_of classify(const uint8_t *s, size_t n, size_t *size)
{
    ucs4_t c;

    *size = (size_t)u8_mbtouc_unsafe(&c, s, n);
    if (uc_is_general_category(c, UC_CATEGORY_L)) return LETTER;
    if (uc_is_general_category(c, UC_CATEGORY_N)) return NUMBER;
    return uc_is_property_white_space(c) ? SPACE : OTHER;
}

/* Bytes of the characters of class c from s on; *last is how many the last of them has. */
static size_t run_of(class_of c, const uint8_t *s, size_t n, size_t *last)
{
    size_t used = 0, size;

    while (used < n && classify(s + used, n - used, &size) == c) {
        used += size;
        *last = size;
    }
    return used;
}

/* Bytes of the first match of the pattern in the header, n > 0. */
static size_t next_word(const uint8_t *s, size_t n)
{
    static const char *const tails[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    const size_t start = s[0] == ' ' && n > 1;
    size_t size = 0, last = 0;

    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        const size_t length = strlen(tails[i]);
        if (length <= n && memcmp(s, tails[i], length) == 0) return length;
    }
    const class_of c = classify(s + start, n - start, &size);
    if (c != SPACE) return start + run_of(c, s + start, n - start, &last);
    size = run_of(SPACE, s, n, &last);
    /* The last space before a word belongs to it. */
    return size < n && size > last ? size - last : size;
}

/* ---- merges inside a word ---- */

typedef struct {
    uint32_t id;
    uint32_t before, after; /* neighbours; NONE at the ends */
} node;

typedef struct {
    uint32_t rank, at, left, right, whole;
} candidate;

enum { NONE = INT32_MAX };

typedef struct {
    const tl_tokenizer *t;
    node *list;
    candidate *heap, *later; /* later: found while pairs of the present rank are joined */
    size_t heaped, delayed, room;
} work;

static bool sooner(const candidate *a, const candidate *b)
{
    return a->rank != b->rank ? a->rank < b->rank : a->at < b->at;
}

static void heap_push(work *w, candidate c)
{
    size_t i = w->heaped++;

    for (; i > 0 && sooner(&c, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = c;
}

static candidate heap_pop(work *w)
{
    const candidate top = w->heap[0], last = w->heap[--w->heaped];
    size_t i = 0;

    for (size_t child = 1; child < w->heaped; child = 2 * i + 1) {
        if (child + 1 < w->heaped && sooner(&w->heap[child + 1], &w->heap[child])) child++;
        if (!sooner(&w->heap[child], &last)) break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return top;
}

/* The pair that begins at node `at`, where there is a merge for it. */
static bool find_pair(const work *w, uint32_t at, candidate *out)
{
    const uint32_t after = w->list[at].after;
    size_t low = 0, high = w->t->merges;

    if (after == NONE) return false;
    const uint32_t left = w->list[at].id, right = w->list[after].id;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const tl_merge *m = &w->t->merge[middle];
        if (m->left == left && m->right == right) {
            *out = (candidate){m->rank, at, left, right, m->whole};
            return true;
        }
        if (m->left < left || (m->left == left && m->right < right))
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* Joins a pair unless one of its nodes has changed; new pairs wait in w->later. */
static void join(work *w, const candidate *c)
{
    node *left = &w->list[c->at];
    candidate next;

    if (left->id != c->left || left->after == NONE || w->list[left->after].id != c->right) return;
    w->list[left->after].id = NONE;
    left->id = c->whole;
    left->after = w->list[left->after].after;
    if (left->after != NONE) w->list[left->after].before = c->at;
    if (find_pair(w, c->at, &next)) w->later[w->delayed++] = next;
    if (left->before != NONE && find_pair(w, left->before, &next)) w->later[w->delayed++] = next;
}

/* The whole word: all pairs of the least rank from left to right, then the next. */
static void merge_word(work *w, const uint8_t *s, size_t n)
{
    candidate c;

    w->heaped = w->delayed = 0;
    for (size_t i = 0; i < n; i++)
        w->list[i] = (node){w->t->byte[s[i]], i ? (uint32_t)i - 1 : NONE,
                            i + 1 < n ? (uint32_t)i + 1 : NONE};
    for (size_t i = 0; i + 1 < n; i++)
        if (find_pair(w, (uint32_t)i, &c)) heap_push(w, c);
    while (w->heaped > 0) {
        const uint32_t rank = w->heap[0].rank;
        while (w->heaped > 0 && w->heap[0].rank == rank) {
            c = heap_pop(w);
            join(w, &c);
        }
        for (size_t i = 0; i < w->delayed; i++) heap_push(w, w->later[i]);
        w->delayed = 0;
    }
}

/* A word of n bytes has at most n - 1 joins, each with two new pairs. */
static tl_status make_room(work *w, size_t n, tl_error *err)
{
    if (n <= w->room) return TL_OK;
    free(w->list);
    free(w->heap);
    free(w->later);
    w->room = 2 * n;
    w->list = malloc(w->room * sizeof *w->list);
    w->heap = malloc(3 * w->room * sizeof *w->heap);
    w->later = malloc(2 * w->room * sizeof *w->later);
    if (w->list && w->heap && w->later) return TL_OK;
    return tl_fail(err, TL_ERR_MEMORY, "out of memory for a word of %zu bytes", n);
}

tl_status tl_bpe_encode(const tl_tokenizer *t, const char *text, size_t length, tl_ids *out,
                        tl_error *err)
{
    const uint8_t *s = (const uint8_t *)text;
    work w = {.t = t};
    tl_status status = TL_OK;

    for (size_t at = 0, n; at < length && !status; at += n) {
        n = next_word(s + at, length - at);
        status = make_room(&w, n, err);
        if (!status) merge_word(&w, s + at, n);
        for (uint32_t i = 0; i != NONE && !status; i = w.list[i].after)
            status = tl_ids_add(out, w.list[i].id, err);
    }
    free(w.list);
    free(w.heap);
    free(w.later);
    return status;
}
#endif
