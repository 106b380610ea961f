#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/plot.h"

/* Decades; below a factor of three the first digits 1 to 9 may leave less than two labels. */
#define NARROW 0.477

/* Relative; tics are written with ten digits. */
static const double SAME = 1e-8;

static void widen(tl_axis *axis, double x)
{
    if (isinf(x)) {
        axis->has_infinity = true;
        return;
    }
    axis->low = fmin(axis->low, x);
    axis->high = fmax(axis->high, x);
}

/* Number of different finite x. */
static size_t distinct(const tl_plot *p)
{
    size_t most = 0;

    for (size_t c = 0; c < p->curves; c++) {
        size_t count = 0;
        for (size_t i = 0; i < p->curve[c].count; i++)
            count +=
                !isinf(p->curve[c].x[i]) && (i == 0 || p->curve[c].x[i] > p->curve[c].x[i - 1]);
        if (count > most) most = count;
    }
    return most;
}

static void user_limits(const tl_plot *p, tl_axis *axis)
{
    double low = tl_record_number(p->plot, "ymin"), high = tl_record_number(p->plot, "ymax");

    if (!isnan(low)) axis->low = p->ylog ? log10(low) : low;
    if (!isnan(high)) axis->high = p->ylog ? log10(high) : high;
}

bool tl_axis_flat(double low, double high, bool log)
{
    return !(high - low > SAME * (log ? 1 : fmax(fabs(low), fabs(high))));
}

tl_axis tl_axis_find(const tl_plot *p, bool x)
{
    tl_axis axis = {.low = (double)INFINITY, .high = -(double)INFINITY};
    const bool log = x ? p->xlog : p->ylog;
    size_t steps = distinct(p);
    double span;

    for (size_t c = 0; c < p->curves; c++)
        for (size_t i = 0; i < p->curve[c].count; i++)
            widen(&axis, x ? p->curve[c].x[i] : p->curve[c].y[i]);
    if (!(axis.low <= axis.high)) axis.low = axis.high = 0;
    if (!x && !p->ylog) axis.low = fmin(axis.low, 0);
    span = axis.high - axis.low;
    axis.last = axis.high;
    if (tl_axis_flat(axis.low, axis.high, log))
        span = fmax(fabs(axis.high), 1) * (x && !p->xlog ? 0.5 : 0.25);
    /* Infinity stands one step beyond the last finite point, and never crowds it. */
    axis.at_infinity = axis.high + fmax(span / (double)(steps > 1 ? steps - 1 : 1), 0.07 * span);
    if (axis.has_infinity) axis.high = axis.at_infinity;
    axis.low -= !x && !p->ylog && !(axis.low < 0) ? 0 : 0.04 * span;
    axis.high += 0.04 * span;
    if (!x) user_limits(p, &axis);
    return axis;
}

/* "1", "20", "0.5" on an axis whose labels are all short; "10^{k}" on the others. */
static void log_label(char *text, size_t size, int mantissa, int k, bool plain)
{
    if (plain || (mantissa == 1 && (k == 0 || k == 1)))
        (void)snprintf(text, size, "%g", mantissa * pow(10, k));
    else if (mantissa == 1)
        (void)snprintf(text, size, "10^{%d}", k);
    else
        (void)snprintf(text, size, "%d×10^{%d}", mantissa, k);
}

static void log_tics(tl_buffer *b, const tl_axis *axis)
{
    static const int fine[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    double top = axis->has_infinity ? axis->high - (axis->high - axis->low) * 0.03 : axis->high;
    double span = axis->high - axis->low;
    int step = span <= 9 ? 1 : (int)ceil(span / 9);
    bool plain = axis->low > -3.1 && axis->high < 4.3;
    bool first = true;

    for (int k = (int)floor(axis->low); k <= (int)ceil(top); k++) {
        for (size_t i = 0; i < 9; i++) {
            double at = k + log10(fine[i]);
            char text[40] = "";
            bool major = i == 0 ? k % step == 0
                                : span <= 0.9 || (span <= 2.6 && (fine[i] == 2 || fine[i] == 5));
            if (at < axis->low || at > top || (!major && span > 7)) continue;
            if (major) log_label(text, sizeof text, fine[i], k, plain);
            tl_buffer_print(b, "%s'%s' %.10g%s", first ? "" : ", ", text, at, major ? "" : " 1");
            first = false;
        }
    }
    if (axis->has_infinity) tl_buffer_print(b, "%s'∞' %.10g", first ? "" : ", ", axis->at_infinity);
}

static void category_tics(tl_buffer *b, const tl_plot *p)
{
    for (size_t i = 0; i < p->labels; i++) {
        tl_buffer_text(b, i ? ", " : "");
        tl_plot_quote(b, p->label[i]);
        tl_buffer_print(b, " %zu", i);
    }
}

/* The values themselves when they are few, short and not crowded. False otherwise. */
static bool value_tics(tl_buffer *b, const tl_plot *p, const tl_axis *axis)
{
    const tl_curve *widest = NULL;
    tl_buffer text = {0};
    double last = -(double)INFINITY;
    bool good = true;

    for (size_t c = 0; c < p->curves; c++)
        if (!widest || p->curve[c].count > widest->count) widest = &p->curve[c];
    for (size_t i = 0; widest && good && i < widest->count; i++) {
        double x = widest->x[i], value = p->xlog ? rint(pow(10, x) * 1e6) / 1e6 : x;
        char label[40];
        if (isinf(x) || !(x > last)) continue;
        (void)snprintf(label, sizeof label, "%g", value);
        good = value > 0 && strlen(label) <= 5 &&
               x - last > (0.02 + 0.015 * (double)strlen(label)) * (axis->high - axis->low);
        tl_buffer_print(&text, "%s'%s' %.10g", text.used ? ", " : "", label, x);
        last = x;
    }
    if (axis->has_infinity && good) tl_buffer_print(&text, ", '∞' %.10g", axis->at_infinity);
    if (good && text.text && !text.failed) tl_buffer_text(b, text.text);
    good = good && text.used > 0;
    free(text.text);
    return good;
}

/* A round step for about eight tics. */
static void linear_tics(tl_buffer *b, const tl_axis *axis)
{
    double top = axis->has_infinity ? axis->high - (axis->high - axis->low) * 0.06 : axis->high;
    double raw = (axis->high - axis->low) / 8, unit = pow(10, floor(log10(raw))), step;
    bool first = true;

    step = raw <= unit ? unit : raw <= 2 * unit ? 2 * unit : raw <= 5 * unit ? 5 * unit : 10 * unit;
    for (double k = ceil(axis->low / step); k * step <= top; k++) {
        const double at = k * step + 0.0; /* 0.0: no minus in front of zero */
        tl_buffer_print(b, "%s'%g' %.10g", first ? "" : ", ", at, at);
        first = false;
    }
    if (axis->has_infinity) tl_buffer_print(b, "%s'∞' %.10g", first ? "" : ", ", axis->at_infinity);
}

/* Numbers at their logarithms, where a range within a factor of three has no decades to show. */
static void narrow_log_tics(tl_buffer *b, const tl_axis *axis)
{
    double low = pow(10, axis->low), high = pow(10, axis->high), raw = (high - low) / 5;
    double unit = pow(10, floor(log10(raw))), step;
    bool first = true;

    step = raw <= unit ? unit : raw <= 2 * unit ? 2 * unit : raw <= 5 * unit ? 5 * unit : 10 * unit;
    for (double k = ceil(low / step - 1e-9); k * step <= high * (1 + 1e-12); k++) {
        tl_buffer_print(b, "%s'%g' %.10g", first ? "" : ", ", k * step, log10(k * step));
        first = false;
    }
}

void tl_axis_colour_tics(tl_buffer *b, const tl_axis *axis, bool log)
{
    if (!log)
        linear_tics(b, axis);
    else if (axis->high - axis->low < NARROW)
        narrow_log_tics(b, axis);
    else
        log_tics(b, axis);
}

void tl_axis_tics(tl_buffer *b, const tl_plot *p, const tl_axis *axis, bool x)
{
    tl_buffer_print(b, "set %ctics (", x ? 'x' : 'y');
    if (x && p->categories)
        category_tics(b, p);
    else if (x && value_tics(b, p, axis))
        ; /* written */
    else if ((x ? p->xlog : p->ylog) && axis->high - axis->low < NARROW && !axis->has_infinity)
        narrow_log_tics(b, axis);
    else if (x ? p->xlog : p->ylog)
        log_tics(b, axis);
    else
        linear_tics(b, axis);
    tl_buffer_text(b, x && p->categories ? ") noenhanced\n" : ")\n");
}
