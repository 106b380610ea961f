/* The boxes that are left, and a run as a text file: one line that names the task, one that says
 * where it stands, and one per box. Numbers are hexadecimal and exact. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "certify/exact.h"
#include "tightlip/file.h"

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

typedef struct {
    char *text;
    size_t size, capacity;
    bool failed;
} buffer;

static void put(buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(buffer *b, const char *format, ...)
{
    va_list args;

    if (b->capacity - b->size < 256) {
        const size_t capacity = 2 * b->capacity + 4096;
        char *text = realloc(b->text, capacity);
        if (!text) {
            b->failed = true;
            return;
        }
        b->text = text;
        b->capacity = capacity;
    }
    va_start(args, format);
    const int length = vsnprintf(b->text + b->size, 256, format, args);
    va_end(args);
    if (length < 0 || length >= 256)
        b->failed = true;
    else
        b->size += (size_t)length;
}

static void put_numbers(buffer *b, const double *x, size_t count)
{
    for (size_t i = 0; i < count; i++) put(b, " %a", x[i]);
}

/* The task by its sizes and the middles of its maps. */
static void put_task(buffer *b, const tl_exact_task *task)
{
    put(b, "tightlip-exact-2 %d %d %zu %zu %a", (int)task->l2, (int)task->causal, task->n, task->d,
        task->radius);
    for (size_t i = 0; i < 2 * task->d * task->d + task->d; i++)
        put(b, " %a", arf_get_d(arb_midref(task->exact + i), ARF_RND_NEAR));
    put(b, "\n");
}

static void put_pieces(buffer *b, const tl_certify_piece *piece, size_t count, size_t dim)
{
    for (size_t i = 0; i < count; i++) {
        put(b, "%a %zu", piece[i].upper, piece[i].split);
        put_numbers(b, piece[i].lo, dim);
        put_numbers(b, piece[i].hi, dim);
        put(b, "\n");
    }
}

tl_status tl_exact_state_write(const tl_exact_search *s, const char *path, tl_error *err)
{
    const size_t dim = s->task->dim;
    buffer b = {0};

    put_task(&b, s->task);
    put(&b, "%zu %zu %a %a", s->size, s->looked_at, s->lower, s->pruned);
    put_numbers(&b, s->best, dim);
    put(&b, "\n");
    put_pieces(&b, s->heap, s->size, dim);
    put(&b, "%zu\n", s->kept_size);
    put_pieces(&b, s->kept, s->kept_size, dim);
    tl_status status = b.failed ? TL_ERR_MEMORY : tl_file_write(path, b.text, b.size, err);
    free(b.text);
    return status;
}

static bool get_numbers(FILE *in, double *x, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char word[64], *end;
        if (fscanf(in, "%63s", word) != 1) return false;
        x[i] = strtod(word, &end);
        if (*end || isnan(x[i])) return false;
    }
    return true;
}

static bool get_count(FILE *in, size_t *count)
{
    return fscanf(in, "%zu", count) == 1;
}

static bool get_piece(FILE *in, tl_certify_piece *piece, size_t dim)
{
    *piece = (tl_certify_piece){0};
    return get_numbers(in, &piece->upper, 1) && get_count(in, &piece->split) &&
           piece->split < dim && get_numbers(in, piece->lo, dim) && get_numbers(in, piece->hi, dim);
}

static bool read_body(tl_exact_search *s, FILE *in)
{
    const size_t dim = s->task->dim;
    tl_certify_piece piece;
    size_t size, kept;

    if (!get_count(in, &size) || !get_count(in, &s->looked_at) || !get_numbers(in, &s->lower, 1) ||
        !get_numbers(in, &s->pruned, 1) || !get_numbers(in, s->best, dim))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!get_piece(in, &piece, dim) || !tl_exact_push(s, &piece)) return false;
    if (!get_count(in, &kept)) return false;
    for (size_t i = 0; i < kept; i++)
        if (!get_piece(in, &piece, dim) || !tl_exact_keep(s, &piece)) return false;
    char rest[2];
    return fscanf(in, "%1s", rest) == EOF;
}

static bool same_task(const tl_exact_task *task, FILE *in)
{
    buffer b = {0};
    bool same = true;

    put_task(&b, task);
    for (size_t i = 0; i < b.size && same; i++) same = fgetc(in) == (unsigned char)b.text[i];
    same = same && !b.failed;
    free(b.text);
    return same;
}

tl_status tl_exact_state_read(tl_exact_search *s, const char *path, bool *found, tl_error *err)
{
    FILE *in = fopen(path, "r");

    *found = in != NULL;
    if (!in && errno == ENOENT) return TL_OK;
    if (!in) return tl_fail(err, TL_ERR_IO, "%s: cannot be read: %s", path, strerror(errno));
    tl_status status = TL_OK;
    if (!same_task(s->task, in))
        status = tl_fail(err, TL_ERR_PARSE,
                         "%s: line 1: expected a state of this layer, n and radius", path);
    else if (!read_body(s, in))
        status =
            tl_fail(err, TL_ERR_PARSE, "%s: expected a whole state, found it cut or changed", path);
    fclose(in);
    return status;
}
