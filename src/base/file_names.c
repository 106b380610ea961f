#define _XOPEN_SOURCE 700 /* realpath */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tightlip/file.h"

uint64_t tl_file_hash_on(uint64_t hash, const void *data, size_t size)
{
    const unsigned char *byte = data;

    for (size_t i = 0; i < size; i++) hash = (hash ^ byte[i]) * UINT64_C(1099511628211);
    return hash;
}

tl_status tl_file_hash(const char *path, uint64_t *hash, uint64_t *bytes, tl_error *err)
{
    unsigned char block[16384];
    FILE *in = fopen(path, "rb");
    size_t size;
    tl_status s = TL_OK;

    if (!in) return tl_fail(err, TL_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    *hash = TL_FILE_HASH_BEGIN;
    *bytes = 0;
    while ((size = fread(block, 1, sizeof block, in)) > 0) {
        *bytes += size;
        *hash = tl_file_hash_on(*hash, block, size);
    }
    if (ferror(in)) s = tl_fail(err, TL_ERR_IO, "%s: reading failed: %s", path, strerror(errno));
    (void)fclose(in);
    return s;
}

/* Length of the common directory of two absolute paths, without its closing slash. */
static size_t common(const char *a, const char *b)
{
    size_t end = 0, i = 0;

    for (; a[i] && a[i] == b[i]; i++)
        if (a[i] == '/') end = i;
    if ((!a[i] || a[i] == '/') && (!b[i] || b[i] == '/')) end = i;
    return end;
}

char *tl_file_relative(const char *from, const char *to)
{
    char *a = realpath(from, NULL), *b = realpath(to, NULL), *out = NULL;

    if (a && b) {
        const size_t same = common(a, b);
        const char *rest = b + same + (b[same] == '/');
        size_t up = 0;
        for (const char *c = a + same; *c; c++) up += *c == '/' && c[1] != '\0';
        out = calloc(3 * up + strlen(rest) + 2, 1);
        for (size_t i = 0; out && i < up; i++) memcpy(out + 3 * i, "../", 3);
        if (out) memcpy(out + 3 * up, rest, strlen(rest));
        if (out && *rest == '\0') memcpy(out + (up ? 3 * up - 1 : 0), up ? "" : ".", up ? 1 : 2);
    }
    free(a);
    free(b);
    return out;
}
