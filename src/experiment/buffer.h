/* A text that grows. Failures are remembered, so that one check at the end is enough. */
#ifndef EXPERIMENT_BUFFER_H
#define EXPERIMENT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    char *text; /* owned; NULL while empty */
    size_t used, room;
    bool failed; /* memory ran out; text is incomplete */
} tl_buffer;

void tl_buffer_put(tl_buffer *b, const char *text, size_t size);
void tl_buffer_text(tl_buffer *b, const char *text);
/* Between quotes, as a cell of a table: a quote in it stands twice. */
void tl_buffer_quoted(tl_buffer *b, const char *text);
void tl_buffer_print(tl_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
