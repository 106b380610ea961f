#define _GNU_SOURCE
#include "support/fuzz_targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/tokenizer.h"
#include "tightlip/experiment.h"
#include "tightlip/images.h"
#include "tightlip/problem.h"
#include "tightlip/weights.h"
#include "tightlip/words.h"

/* A file in memory with these bytes; its path for a reader. */
static int file_of(const uint8_t *data, size_t size, char path[40])
{
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
    (void)snprintf(path, 40, "/proc/self/fd/%d", fd);
    return fd;
}

void fuzz_problem(const uint8_t *data, size_t size)
{
    char path[40];
    const int fd = file_of(data, size, path);
    tl_problem problem;
    tl_error err = {0};

    if (tl_problem_read(path, &problem, &err) == TL_OK) {
        json_t *again = tl_problem_to_json(&problem);
        tl_problem copy;
        /* What is read can be written and read again. */
        if (again && tl_problem_from_json_anywhere(again, "copy", &copy, &err) != TL_OK) abort();
        if (again) tl_problem_clear(&copy);
        json_decref(again);
        tl_problem_clear(&problem);
    } else if (!err.text[0]) {
        abort(); /* a refusal without a word */
    }
    (void)close(fd);
}

void fuzz_config(const uint8_t *data, size_t size)
{
    char path[40];
    const int fd = file_of(data, size, path);
    tl_experiment *experiment = NULL;
    tl_error err = {0};

    if (tl_experiment_load(&experiment, path, &err) == TL_OK)
        tl_experiment_free(experiment);
    else if (!err.text[0])
        abort();
    (void)close(fd);
}

void fuzz_weights(const uint8_t *data, size_t size)
{
    char path[40];
    const int fd = file_of(data, size, path);
    tl_weights *file = NULL;
    tl_error err = {0};

    if (tl_weights_open(&file, path, &err) == TL_OK) {
        for (size_t i = 0; i < tl_weights_count(file) && i < 100; i++) {
            double *x = NULL;
            float *y = NULL;
            size_t rows, cols;
            if (tl_weights_read(file, tl_weights_name(file, i), &x, &rows, &cols, NULL) == TL_OK)
                free(x);
            if (tl_weights_read_float(file, tl_weights_name(file, i), &y, NULL, NULL) == TL_OK)
                free(y);
        }
        tl_weights_close(file);
    } else if (!err.text[0]) {
        abort();
    }
    (void)close(fd);
}

/* What a tokeniser makes of a text: ids of its own, and under BPE the text again. */
static void use_tokenizer(const tl_tokenizer *t, const char *text, size_t size)
{
    uint32_t *ids = NULL;
    size_t count = 0, length = 0;
    char *back = NULL;

    if (tl_tokenizer_encode(t, text, size, true, &ids, &count, NULL) != TL_OK) return;
    if (tl_tokenizer_decode(t, ids, count, &back, &length, NULL) != TL_OK) abort();
    if (t->merge && (length != size || (size > 0 && memcmp(back, text, size) != 0))) abort();
    free(back);
    free(ids);
}

/* The part of data before the next 0; *data and *size are moved past it. */
static int next_part(const uint8_t **data, size_t *size, char path[40])
{
    const uint8_t *end = *size > 0 ? memchr(*data, 0, *size) : NULL;
    const size_t length = end ? (size_t)(end - *data) : *size;
    const int fd = file_of(*data, length, path);

    *data += end ? length + 1 : length;
    *size -= end ? length + 1 : length;
    return fd;
}

#ifdef TL_WITH_UNISTRING
void fuzz_tokenizer(const uint8_t *data, size_t size)
{
    const bool pairs = size > 0 && data[0] == 'b';
    tl_tokenizer *t = calloc(1, sizeof *t);
    char path[40], merges[40];
    tl_error err = {0};
    int fd, second = -1;

    if (!t) abort();
    data += size > 0;
    size -= size > 0;
    fd = next_part(&data, &size, path);
    if (pairs) second = next_part(&data, &size, merges);
    if ((pairs ? tl_bpe_read(t, path, merges, &err) : tl_wordpiece_read(t, path, &err)) == TL_OK) {
        use_tokenizer(t, (const char *)data, size);
        t->cased = true;
        use_tokenizer(t, (const char *)data, size);
    } else if (!err.text[0]) {
        abort();
    }
    tl_tokenizer_free(t);
    (void)close(fd);
    if (second >= 0) (void)close(second);
}
#else
void fuzz_tokenizer(const uint8_t *data, size_t size)
{
    char path[40];

    (void)close(next_part(&data, &size, path));
    use_tokenizer(&(tl_tokenizer){0}, path, 0);
}
#endif

void fuzz_ids(const uint8_t *data, size_t size)
{
    for (tl_numbering how = TL_NUMBERING_WORDS; how <= TL_NUMBERING_IDS; how++) {
        uint32_t *ids = NULL;
        size_t count = 0;
        tl_error err = {0};
        if (tl_words_number(how, (const char *)data, size, &ids, &count, &err) == TL_OK) {
            if (count == 0 || count > size) abort();
        } else if (!err.text[0]) {
            abort();
        }
        free(ids);
    }
}

void fuzz_images(const uint8_t *data, size_t size)
{
    char path[40];
    const int fd = file_of(data, size, path);
    tl_images images;
    tl_error err = {0};

    if (tl_images_read(&images, path, NULL, 0, &err) == TL_OK)
        tl_images_clear(&images);
    else if (!err.text[0])
        abort();
    (void)close(fd);
}
