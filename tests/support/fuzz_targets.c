#define _GNU_SOURCE
#include "support/fuzz_targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tightlip/experiment.h"
#include "tightlip/images.h"
#include "tightlip/problem.h"
#include "tightlip/weights.h"

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
