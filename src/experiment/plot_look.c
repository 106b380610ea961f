/* Colours, points and dashes: never two entries of the same look. */
#include <stdio.h>
#include <string.h>

#include "experiment/plot.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define PICK(list, i) (list)[(i) % COUNT(list)]

/* Okabe and Ito 2008, told apart by colour-blind readers; yellow left out, it fades on white. */
static const char *const found_colour[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                           "#E69F00", "#56B4E9", "#000000"};
static const char *const bound_colour[] = {"#D55E00", "#009E73", "#CC79A7", "#E69F00",
                                           "#0072B2", "#56B4E9", "#777777"};
static const char *const grey[] = {"#000000", "#5A5A5A", "#8C8C8C", "#303030", "#737373"};
static const int found_point[] = {7, 5, 9, 13, 11, 15, 6, 4, 8, 12, 10, 14};
static const char *const dash[] = {"solid", "'-'", "'-.'", "'.'", "'--..'", "'_-'", "'_.'", "'_ '"};

static tl_colour colour_of(const char *text)
{
    tl_colour colour;

    (void)snprintf(colour.text, sizeof colour.text, "%s", text);
    return colour;
}

/* From dark violet to light green (viridis without its yellow end), for what exceeds the list. */
static tl_colour ramp(size_t index, size_t count)
{
    static const int stop[][3] = {{0x44, 0x01, 0x54},
                                  {0x3B, 0x52, 0x8B},
                                  {0x21, 0x91, 0x8C},
                                  {0x5E, 0xC9, 0x62},
                                  {0xA5, 0xDB, 0x36}};
    const double at = (double)(index * (COUNT(stop) - 1)) / (double)(count - 1);
    const size_t from = at < COUNT(stop) - 2 ? (size_t)at : COUNT(stop) - 2;
    tl_colour colour;
    int part[3];

    for (int i = 0; i < 3; i++)
        part[i] = stop[from][i] +
                  (int)((at - (double)from) * (double)(stop[from + 1][i] - stop[from][i]));
    (void)snprintf(colour.text, sizeof colour.text, "#%02X%02X%02X", (unsigned)part[0] & 255,
                   (unsigned)part[1] & 255, (unsigned)part[2] & 255);
    return colour;
}

static tl_colour listed(size_t index, size_t count)
{
    return count > COUNT(found_colour) ? ramp(index, count) : colour_of(found_colour[index]);
}

tl_colour tl_plot_colour(const tl_plot *p, const tl_curve *curve)
{
    const size_t quantities = json_array_size(json_object_get(p->plot, "y"));

    if (curve->bound && !curve->series[0])
        return colour_of(p->series > 1 || p->several_y ? PICK(grey, curve->bound_index)
                                                       : PICK(bound_colour, curve->bound_index));
    if (p->series > 1) return listed(curve->series_index, p->series);
    if (p->several_y && !curve->bound) return listed(curve->y_index, quantities);
    return colour_of(curve->bound ? found_colour[0] : "#000000");
}

/* Beside series, whose colour it has, a bound is not solid, and nor is a second quantity. */
const char *tl_plot_dash(const tl_plot *p, const tl_curve *curve)
{
    if (curve->bound) return PICK(dash, curve->bound_index + (curve->series[0] ? 1 : 0));
    return p->series > 1 ? PICK(dash, curve->y_index) : dash[0];
}

static int point_of(const tl_plot *p, const tl_curve *curve)
{
    return PICK(found_point, p->several_y ? curve->y_index : curve->series_index);
}

void tl_plot_look(tl_buffer *b, const tl_plot *p, const tl_curve *curve)
{
    const tl_colour colour = tl_plot_colour(p, curve);

    if (curve->bound)
        tl_buffer_print(b, "with lines lw 2 dt %s lc rgb '%s' ", tl_plot_dash(p, curve),
                        colour.text);
    else if (strcmp(tl_plot_text(p->plot, "style"), "lines") == 0)
        tl_buffer_print(b, "with lines lw 2.2 dt %s lc rgb '%s' ", tl_plot_dash(p, curve),
                        colour.text);
    else
        tl_buffer_print(b, "with points pt %d ps 0.9 lc rgb '%s' ", point_of(p, curve),
                        colour.text);
}
