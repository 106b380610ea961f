#include "experiment/internal.h"

#include <stdlib.h>
#include <string.h>

char *tl_results_path(const char *directory, const char *name)
{
    size_t a = strlen(directory), b = strlen(name);
    bool slash = a > 0 && directory[a - 1] != '/';
    char *path = malloc(a + b + 2);

    if (!path) return NULL;
    memcpy(path, directory, a);
    if (slash) path[a++] = '/';
    memcpy(path + a, name, b + 1);
    return path;
}
