/* The title of a plot. */
#include <stdio.h>
#include <string.h>

#include "experiment/plot.h"

/* Bytes of a line. */
#define TITLE_WIDTH 88

const char *tl_plot_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

/* Bytes of the first line where none is longer than `width`, cut at a blank. */
static size_t first_line(const char *text, size_t width)
{
    size_t cut = strlen(text);

    if (cut <= width) return cut;
    for (cut = width; cut > 0 && text[cut] != ' ';) cut--;
    return cut > 0 ? cut : strcspn(text, " ");
}

static const char *next_line(const char *text, size_t width)
{
    text += first_line(text, width);
    return text + strspn(text, " ");
}

static size_t lines_of(const char *text, size_t width)
{
    size_t lines = 0;

    for (; *text; lines++) text = next_line(text, width);
    return lines;
}

/* Lines of about equal length, as few as `TITLE_WIDTH` needs, as one gnuplot expression. */
static void put_wrapped(tl_buffer *b, const char *text)
{
    const size_t lines = lines_of(text, TITLE_WIDTH);
    size_t width = TITLE_WIDTH;

    while (width > 1 && lines_of(text, width - 1) == lines) width--;
    while (*text) {
        const size_t length = first_line(text, width);
        char line[512];
        (void)snprintf(line, sizeof line, "%.*s", (int)length, text);
        tl_plot_quote(b, line);
        text = next_line(text, width);
        if (*text) tl_buffer_text(b, " . \"\\n\" . ");
    }
}

void tl_plot_title(tl_buffer *b, const json_t *plot, const json_t *manifest)
{
    const char *title = tl_plot_text(plot, "title"), *question = tl_plot_text(manifest, "question");

    if (!title[0]) title = tl_plot_text(manifest, "name");
    put_wrapped(b, title);
    if (question[0] && strcmp(question, title) != 0) {
        tl_buffer_text(b, " . \"\\n\" . ");
        put_wrapped(b, question);
    }
}
