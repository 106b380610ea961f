#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "model/weights.h"

/* The JSON text of the header, and where the data starts. */
static tl_status read_header(tl_source *file, char **text, size_t *length, tl_error *err)
{
    const uint64_t size = file->size;
    unsigned char first[8];
    uint64_t claimed;
    tl_status s;

    if (size < sizeof first)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: expected at least 8 bytes of header length, found a file of %" PRIu64,
                       file->path, size);
    s = tl_source_read(file, first, sizeof first, 0, err);
    if (s) return s;
    claimed = tl_word(first, sizeof first);
    if (claimed > TL_JSON_HEADER_MAX)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: header: expected at most %d bytes, found a length of %" PRIu64,
                       file->path, TL_JSON_HEADER_MAX, claimed);
    if (claimed > size - sizeof first)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: header: expected %" PRIu64 " bytes, found only %" PRIu64 " in the file",
                       file->path, claimed, size - sizeof first);
    *length = (size_t)claimed;
    *text = malloc(*length + 1);
    if (!*text) return tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", file->path);
    file->data = sizeof first + claimed;
    file->size = size - file->data;
    return tl_source_read(file, *text, *length, sizeof first, err);
}

tl_status tl_safetensors_read(tl_weights *file, tl_error *err)
{
    char *text = NULL;
    size_t length = 0;
    tl_status s = read_header(&file->source[file->sources - 1], &text, &length, err);

    if (!s) s = tl_safetensors_parse_header(file, text, length, err);
    free(text);
    return s;
}
