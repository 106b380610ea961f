#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "experiment/partial.h"
#include "tightlip/file.h"

#define MARK ",\"fnv1a\":\""
enum { MARK_SIZE = sizeof MARK - 1 };

void tl_line_seal(char seal[TL_SEAL_SIZE + 1], const char *record, size_t size)
{
    (void)snprintf(seal, TL_SEAL_SIZE + 1, MARK "%016" PRIx64 "\"}",
                   tl_file_hash_on(TL_FILE_HASH_BEGIN, record, size - 1));
}

/* A sealed line is what this program wrote: its start is enough. */
static bool starts_with_cell(const char *line, size_t size, size_t cell)
{
    char start[40];
    int length = snprintf(start, sizeof start, "{\"cell\":%zu,", cell);

    return size > (size_t)length && memcmp(line, start, (size_t)length) == 0;
}

static bool holds_cell(const char *line, size_t size, size_t cell)
{
    json_error_t where;
    json_t *record = json_loadb(line, size, JSON_REJECT_DUPLICATES, &where);
    const json_t *index = json_object_get(record, "cell");
    bool good = json_is_integer(index) && json_integer_value(index) == (json_int_t)cell;

    json_decref(record);
    return good && line[size - 1] == '}';
}

static const char *fault_of(const char *line, size_t size, size_t cell, bool sealed)
{
    static const char other[] = "is not the record of the next cell";
    char seal[TL_SEAL_SIZE + 1];

    if (!sealed) return holds_cell(line, size, cell) ? NULL : other;
    if (size <= TL_SEAL_SIZE || memcmp(line + size - TL_SEAL_SIZE, MARK, MARK_SIZE) != 0)
        return "has no checksum";
    tl_line_seal(seal, line, size - TL_SEAL_SIZE + 1);
    if (memcmp(line + size - TL_SEAL_SIZE, seal, TL_SEAL_SIZE) != 0)
        return "does not match its checksum";
    return starts_with_cell(line, size, cell) ? NULL : other;
}

tl_lines tl_lines_take(const tl_source *source, size_t from, size_t count)
{
    tl_lines lines = {0};
    char *const text = source->text;

    while (lines.count < count && lines.taken < source->size && !lines.fault) {
        char *line = text + lines.taken, *end = memchr(line, '\n', source->size - lines.taken);
        size_t size = end ? (size_t)(end - line) : 0;
        lines.fault = end ? fault_of(line, size, from + lines.count, source->sealed) : "is cut off";
        if (lines.fault) break;
        lines.taken += size + 1;
        if (source->sealed) size -= TL_SEAL_SIZE - 1;
        memmove(text + lines.size, line, size - 1);
        memcpy(text + lines.size + size - 1, "}\n", 2);
        lines.size += size + 1;
        lines.count++;
    }
    if (text) text[lines.size] = '\0';
    return lines;
}
