/* A directory for the files of one test. */
#ifndef TIGHTLIP_TESTS_SCRATCH_H
#define TIGHTLIP_TESTS_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

enum { SCRATCH_PATH_SIZE = 512 };

typedef struct {
    char directory[SCRATCH_PATH_SIZE / 2];
    char path[SCRATCH_PATH_SIZE]; /* the last name asked for */
} scratch;

/* Makes a fresh directory under TMPDIR (or /tmp); false when that fails. */
bool scratch_init(scratch *s);
/* The path of a file of that name inside; valid until the next call. */
const char *scratch_path(scratch *s, const char *name);
/* Creates or overwrites a file inside with these bytes and gives its path; NULL when that fails. */
const char *scratch_write(scratch *s, const char *name, const void *data, size_t size);
/* Number of entries in the directory. */
size_t scratch_count(const scratch *s);
/* Removes the directory and the files in it. */
void scratch_clear(scratch *s);

#endif
