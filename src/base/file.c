#define _XOPEN_SOURCE 700 /* realpath */

#include "tightlip/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static tl_status fail_errno(tl_error *err, const char *path, const char *step)
{
    return tl_fail(err, TL_ERR_IO, "%s: %s: %s", path, step, strerror(errno));
}

static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t done = write(fd, data, size);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return false;
        data += done;
        size -= (size_t)done;
    }
    return true;
}

/* Opens, writes and closes `target`; `path` is the name to blame. */
static tl_status write_target(const char *target, int flags, const char *path, const void *data,
                              size_t size, tl_error *err)
{
    int fd = open(target, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, 0666);
    tl_status s = TL_OK;

    if (fd < 0) return fail_errno(err, path, "cannot be created");
    if (!write_all(fd, data, size)) s = fail_errno(err, path, "writing failed");
    /* Devices and pipes answer EINVAL: they have nothing to sync. */
    if (!s && fsync(fd) != 0 && errno != EINVAL && errno != EROFS)
        s = fail_errno(err, path, "writing to disk failed");
    if (close(fd) != 0 && !s) s = fail_errno(err, path, "closing failed");
    return s;
}

/* The rename is on disk once the directory is. Best effort: not every file system can sync one. */
static void sync_directory(const char *target)
{
    const char *slash = strrchr(target, '/');
    char *directory =
        slash ? strndup(target, slash == target ? 1 : (size_t)(slash - target)) : strdup(".");
    int fd = directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
    free(directory);
}

static tl_status write_and_rename(const char *target, const char *path, const void *data,
                                  size_t size, tl_error *err)
{
    size_t room = strlen(target) + sizeof ".tmp-" + 3 * sizeof(long);
    char *temporary = malloc(room);
    tl_status s;

    if (!temporary) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    (void)snprintf(temporary, room, "%s.tmp-%ld", target, (long)getpid());
    s = write_target(temporary, O_CREAT | O_TRUNC, path, data, size, err);
    if (!s && rename(temporary, target) != 0) s = fail_errno(err, path, "cannot be replaced");
    if (s)
        (void)unlink(temporary);
    else
        sync_directory(target);
    free(temporary);
    return s;
}

tl_status tl_file_write(const char *path, const void *data, size_t size, tl_error *err)
{
    struct stat info;
    char *target = NULL;
    tl_status s;

    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return tl_fail(err, TL_ERR_IO, "%s: expected a file, found a directory", path);
        if (!S_ISREG(info.st_mode)) return write_target(path, 0, path, data, size, err);
        target = realpath(path, NULL);
    }
    s = write_and_rename(target ? target : path, path, data, size, err);
    free(target);
    return s;
}

tl_status tl_file_make_directory(const char *path, tl_error *err)
{
    struct stat info;

    if (mkdir(path, 0777) == 0) return TL_OK;
    if (errno != EEXIST) return fail_errno(err, path, "the directory cannot be made");
    if (stat(path, &info) != 0) return fail_errno(err, path, "cannot be examined");
    if (S_ISDIR(info.st_mode)) return TL_OK;
    return tl_fail(err, TL_ERR_IO, "%s: expected a directory, found a file", path);
}
