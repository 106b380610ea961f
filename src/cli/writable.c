#define _XOPEN_SOURCE 700 /* realpath */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

/* Files are replaced by others made beside them. 0, or an errno. */
static int why_not_beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *directory = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

    if (directory == NULL) return ENOMEM;
    const int why = access(directory, W_OK | X_OK) == 0 ? 0 : errno;
    free(directory);
    return why;
}

static int why_not(const char *path)
{
    struct stat info;

    if (stat(path, &info) != 0) return why_not_beside(path);
    if (S_ISDIR(info.st_mode)) return EISDIR;
    if (access(path, W_OK) != 0) return errno;
    if (!S_ISREG(info.st_mode)) return 0;
    char *target = realpath(path, NULL);
    const int why = target != NULL ? why_not_beside(target) : errno;
    free(target);
    return why;
}

tl_status tl_cli_check_writable(const char *path, tl_error *err)
{
    const int why = path != NULL ? why_not(path) : 0;

    if (why == 0) return TL_OK;
    return tl_fail(err, TL_ERR_IO, "%s: cannot be written: %s", path, strerror(why));
}
