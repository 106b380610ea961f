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

/* Places where a text may break: offset behind a word, and that of the next word. */
enum { BREAKS_MOST = 256 };
typedef struct {
    size_t count;
    struct {
        size_t end, next;
        double cost;
    } at[BREAKS_MOST];
} breaks;

static bool is_word(const char *text, size_t size, const char *characters)
{
    return size > 0 && strspn(text, characters) >= size;
}

/* In squares of bytes beside the ideal length. Formulas and numbers with their nouns stay whole
 * where they can; the best place is behind a mark that ends a part. */
static double break_cost(const char *before, size_t size, const char *after, int depth)
{
    static const char operators[] = "=<>+-*/^|&", digits[] = "0123456789.,%";
    const size_t next = strcspn(after, " ");
    const char last = size > 0 ? before[size - 1] : ' ';

    if (is_word(before, size, operators) || is_word(after, next, operators)) return 2000;
    if (depth > 0) return 900;
    if (last == ';' || (last == ':' && size > 2)) return 0;
    if (last == ',') return 120;
    if (is_word(before, size, digits) || size == 1) return 600;
    return is_word(after, next, digits) ? 450 : 300;
}

static void find_breaks(breaks *out, const char *text)
{
    int depth = 0;
    size_t word = 0;

    out->count = 0;
    for (size_t i = 0; text[i]; i++) {
        depth += (text[i] == '(' || text[i] == '[') - (text[i] == ')' || text[i] == ']');
        if (text[i] != ' ' || i == word || out->count == BREAKS_MOST) continue;
        const size_t next = i + strspn(text + i, " ");
        if (!text[next]) break;
        out->at[out->count].end = i;
        out->at[out->count].next = next;
        out->at[out->count++].cost = break_cost(text + word, i - word, text + next, depth);
        word = next;
        i = next - 1;
    }
}

static double line_cost(size_t length, double ideal)
{
    const double off = (double)length - ideal;

    return off * off + (length > TITLE_WIDTH ? 1e6 : 0);
}

/* next[i]: where the line behind break i - 1 ends (0: the start) at the least cost of all that
 * follows; b->count: at the end of the text. */
static void find_lines(const char *text, const breaks *b, size_t next[BREAKS_MOST + 1])
{
    const size_t size = strlen(text), lines = (size + TITLE_WIDTH - 1) / TITLE_WIDTH;
    const double ideal = (double)size / (double)(lines > 0 ? lines : 1);
    double rest[BREAKS_MOST + 1];

    for (size_t k = b->count + 1; k-- > 0;) {
        const size_t start = k == 0 ? 0 : b->at[k - 1].next;
        next[k] = b->count;
        rest[k] = line_cost(size - start, ideal);
        for (size_t i = k; i < b->count; i++) {
            const double cost =
                line_cost(b->at[i].end - start, ideal) + b->at[i].cost + rest[i + 1];
            if (cost >= rest[k]) continue;
            rest[k] = cost;
            next[k] = i;
        }
    }
}

static void put_line(tl_buffer *b, const char *text, size_t length)
{
    char line[512];

    (void)snprintf(line, sizeof line, "%.*s", (int)length, text);
    tl_plot_quote(b, line);
}

/* Lines of about equal length, as one gnuplot expression. */
static void put_wrapped(tl_buffer *b, const char *text)
{
    breaks places;
    size_t next[BREAKS_MOST + 1], start = 0;

    find_breaks(&places, text);
    find_lines(text, &places, next);
    for (size_t i = next[0]; i < places.count; i = next[i + 1]) {
        put_line(b, text + start, places.at[i].end - start);
        tl_buffer_text(b, " . \"\\n\" . ");
        start = places.at[i].next;
    }
    put_line(b, text + start, strlen(text + start));
}

void tl_plot_title(tl_buffer *b, const json_t *plot, const json_t *manifest, const char *note)
{
    const char *title = tl_plot_text(plot, "title"), *question = tl_plot_text(manifest, "question");

    if (!title[0]) title = tl_plot_text(manifest, "name");
    put_wrapped(b, title);
    if (question[0] && strcmp(question, title) != 0) {
        tl_buffer_text(b, " . \"\\n\" . ");
        put_wrapped(b, question);
    }
    if (note[0]) {
        tl_buffer_text(b, " . \"\\n\" . ");
        put_wrapped(b, note);
    }
}
