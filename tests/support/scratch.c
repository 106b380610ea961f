#include "support/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool scratch_init(scratch *s)
{
    const char *base = getenv("TMPDIR");

    for (unsigned i = 0; i < 100000; i++) {
        (void)snprintf(s->directory, sizeof s->directory, "%s/tightlip-test-%ld-%u",
                       base && *base ? base : "/tmp", (long)getpid(), i);
        if (mkdir(s->directory, 0700) == 0) return true;
        if (errno != EEXIST) return false;
    }
    return false;
}

const char *scratch_path(scratch *s, const char *name)
{
    (void)snprintf(s->path, sizeof s->path, "%s/%.200s", s->directory, name);
    return s->path;
}

const char *scratch_write(scratch *s, const char *name, const void *data, size_t size)
{
    FILE *file = fopen(scratch_path(s, name), "wb");
    bool ok = file && fwrite(data, 1, size, file) == size;

    if (file && fclose(file) != 0) ok = false;
    return ok ? s->path : NULL;
}

static bool is_entry(const struct dirent *e)
{
    return strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

size_t scratch_count(const scratch *s)
{
    DIR *dir = opendir(s->directory);
    size_t count = 0;

    for (const struct dirent *e; dir && (e = readdir(dir));) count += is_entry(e);
    if (dir) closedir(dir);
    return count;
}

void scratch_clear(scratch *s)
{
    DIR *dir = opendir(s->directory);

    for (const struct dirent *e; dir && (e = readdir(dir));)
        if (is_entry(e)) (void)unlink(scratch_path(s, e->d_name));
    if (dir) closedir(dir);
    (void)rmdir(s->directory);
}
