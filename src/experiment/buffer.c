#include "experiment/buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void tl_buffer_put(tl_buffer *b, const char *text, size_t size)
{
    if (b->used + size + 1 > b->room) {
        size_t room = 2 * b->room + size + 4096;
        char *longer = b->failed ? NULL : realloc(b->text, room);
        if (!longer) {
            b->failed = true;
            return;
        }
        b->text = longer;
        b->room = room;
    }
    memcpy(b->text + b->used, text, size);
    b->used += size;
    b->text[b->used] = '\0';
}

void tl_buffer_text(tl_buffer *b, const char *text)
{
    tl_buffer_put(b, text, strlen(text));
}

void tl_buffer_quoted(tl_buffer *b, const char *text)
{
    tl_buffer_text(b, "\"");
    for (; *text; text++) {
        if (*text == '"') tl_buffer_text(b, "\"");
        tl_buffer_put(b, text, 1);
    }
    tl_buffer_text(b, "\"");
}

void tl_buffer_print(tl_buffer *b, const char *format, ...)
{
    char text[2048];
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= sizeof text)
        b->failed = true;
    else
        tl_buffer_put(b, text, (size_t)length);
}
