#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlip/file.h"

static tl_status read_all(int fd, const char *path, char *text, size_t size, tl_error *err)
{
    size_t done = 0;

    while (done < size) {
        ssize_t step = read(fd, text + done, size - done);
        if (step < 0 && errno == EINTR) continue;
        if (step < 0)
            return tl_fail(err, TL_ERR_IO, "%s: reading failed: %s", path, strerror(errno));
        if (step == 0)
            return tl_fail(err, TL_ERR_IO, "%s: expected %zu bytes, found %zu", path, size, done);
        done += (size_t)step;
    }
    text[size] = '\0';
    return TL_OK;
}

tl_status tl_file_read(const char *path, char **out, size_t *size, tl_error *err)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    tl_status s = TL_OK;

    if (fd < 0) return tl_fail(err, TL_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(fd, &info) != 0)
        s = tl_fail(err, TL_ERR_IO, "%s: %s", path, strerror(errno));
    else if (!S_ISREG(info.st_mode))
        s = tl_fail(err, TL_ERR_IO, "%s: expected a file, found %s", path,
                    S_ISDIR(info.st_mode) ? "a directory" : "something else");
    if (!s) {
        *size = (size_t)info.st_size;
        *out = malloc(*size + 1);
        if (!*out)
            s = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
        else
            s = read_all(fd, path, *out, *size, err);
        if (s) {
            free(*out);
            *out = NULL;
        }
    }
    (void)close(fd);
    return s;
}
