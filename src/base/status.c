#include "tightlip/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *tl_status_text(tl_status status)
{
    switch (status) {
#define X(name, text) \
    case name:        \
        return text;
        TL_STATUS_LIST(X)
#undef X
    }
    return "unknown status";
}

tl_status tl_fail(tl_error *err, tl_status status, const char *format, ...)
{
    if (!err) return status;
    /* Formatted aside: the arguments may point into err->text itself. */
    char text[TL_ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0) text[0] = '\0';
    err->status = status;
    memcpy(err->text, text, sizeof text);
    return status;
}

tl_status tl_fail_at(tl_error *err, const char *path, long long line, long long column,
                     const char *text)
{
    if (line <= 0) return tl_fail(err, TL_ERR_PARSE, "%s: %s", path, text);
    if (column <= 0) return tl_fail(err, TL_ERR_PARSE, "%s:%lld: %s", path, line, text);
    return tl_fail(err, TL_ERR_PARSE, "%s:%lld:%lld: %s", path, line, column, text);
}

void tl_error_prefix(tl_error *err, const char *format, ...)
{
    if (!err) return;
    char text[TL_ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0) return;
    const char *const pieces[] = {": ", err->text};
    size_t used = strlen(text);
    for (size_t i = 0; i < 2; i++) {
        size_t piece = strlen(pieces[i]), room = sizeof text - 1 - used;
        if (piece > room) piece = room;
        memcpy(text + used, pieces[i], piece);
        used += piece;
    }
    text[used] = '\0';
    memcpy(err->text, text, sizeof text);
}
