#include "support/random_livit.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/draws.h"
#include "support/random_problem.h"

random_livit_shape random_livit_shape_draw(gsl_rng *rng)
{
    random_livit_shape s = {.channels = 1 + draw_below(rng, 2),
                            .side = 1 + draw_below(rng, 2),
                            .rows = 1 + draw_below(rng, 2),
                            .cols = 1 + draw_below(rng, 3),
                            .heads = 1 + draw_below(rng, 2),
                            .blocks = draw_below(rng, 3),
                            .layers = draw_below(rng, 3),
                            .hidden = 1 + draw_below(rng, 5),
                            .classes = 2 + draw_below(rng, 3),
                            .centre = draw_below(rng, 3) == 0,
                            .mean = draw_below(rng, 2) == 0,
                            .biases = draw_below(rng, 2) == 0,
                            .size = draw_below(rng, 3) == 0 ? 3 : 0.7};

    s.d = s.heads * (1 + draw_below(rng, 3));
    return s;
}

static double *add(random_livit *out, size_t rows, size_t cols, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static double *add(random_livit *out, size_t rows, size_t cols, const char *format, ...)
{
    const size_t i = out->count++;
    va_list arguments;

    cr_assert_lt(i, RANDOM_LIVIT_TENSORS);
    va_start(arguments, format);
    (void)vsnprintf(out->name[i], sizeof out->name[i], format, arguments);
    va_end(arguments);
    out->data[i] = calloc((rows ? rows : 1) * cols, sizeof(double));
    cr_assert(out->data[i]);
    out->tensor[i] = (weights_tensor){out->name[i], rows, cols, out->data[i]};
    return out->data[i];
}

static void normal(gsl_rng *rng, double *x, size_t count, double size)
{
    for (size_t i = 0; i < count; i++) x[i] = size * random_normal(rng);
}

static void draw_block(random_livit *out, gsl_rng *rng, const random_livit_shape *s, size_t b)
{
    static const char *const part[] = {"q", "k", "v", "out"};
    const size_t d = s->d;

    *add(out, 0, 1, s->centre ? "block%zu.centre" : "block%zu.ball", b) =
        gsl_rng_uniform(rng) * 2 + 0.1;
    *add(out, 0, 1, "block%zu.attn.heads", b) = (double)s->heads;
    *add(out, 0, 1, "block%zu.attn.scale", b) = gsl_rng_uniform(rng) - 0.3;
    for (size_t p = 0; p < 4; p++) {
        normal(rng, add(out, d, d, "block%zu.attn.%s.weight", b, part[p]), d * d, s->size);
        if (s->biases && p < 3)
            normal(rng, add(out, 0, d, "block%zu.attn.%s.bias", b, part[p]), d, 0.5);
    }
    for (size_t j = 0; j < s->layers; j++) {
        const size_t m = s->hidden;
        normal(rng, add(out, d, m, "block%zu.sll%zu.weight", b, j), d * m, s->size);
        normal(rng, add(out, 0, m, "block%zu.sll%zu.bias", b, j), m, 0.3);
        double *q = add(out, 0, m, "block%zu.sll%zu.q", b, j);
        for (size_t i = 0; i < m; i++) q[i] = exp(random_normal(rng));
    }
}

void random_livit_draw(random_livit *out, gsl_rng *rng, const random_livit_shape *s)
{
    const size_t n = s->rows * s->cols, k = s->channels * s->side * s->side;
    const size_t features = s->mean ? s->d : n * s->d;

    out->count = 0;
    double *shape = add(out, 0, 3, "image.shape");
    shape[0] = (double)s->channels;
    shape[1] = (double)(s->rows * s->side);
    shape[2] = (double)(s->cols * s->side);
    normal(rng, add(out, s->d, k, "patch.weight"), s->d * k, s->size);
    normal(rng, add(out, 0, s->d, "patch.bias"), s->d, 0.3);
    normal(rng, add(out, n, s->d, "positions"), n * s->d, 0.3);
    for (size_t b = 0; b < s->blocks; b++) draw_block(out, rng, s, b);
    normal(rng, add(out, s->classes, features, "head.weight"), s->classes * features, 1);
    normal(rng, add(out, 0, s->classes, "head.bias"), s->classes, 0.3);
}

void random_livit_clear(random_livit *tensors)
{
    for (size_t i = 0; i < tensors->count; i++) free(tensors->data[i]);
    tensors->count = 0;
}

tl_livit *random_livit_open(const random_livit *tensors)
{
    scratch s;
    tl_livit *net = NULL;
    tl_error err = {0};

    cr_assert(scratch_init(&s));
    const char *path = weights_write(&s, "net.safetensors", tensors->tensor, tensors->count);
    cr_assert(path);
    cr_assert_eq(tl_livit_open(&net, path, &err), TL_OK, "%s", err.text);
    scratch_clear(&s);
    return net;
}
