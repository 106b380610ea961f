/* The network itself: what is read, forward, gradient. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robust/network.h"
#include "support/draws.h"
#include "support/random_livit.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

#define MODEL "experiments/livit/model.safetensors"
#define DATA "experiments/data/fashion_mnist/"

static size_t pixels_of(const tl_livit *net)
{
    return net->channels * net->height * net->width;
}

/* The lines of golden.py: logits, then every 37th entry of the gradient of logit 0 less logit 1. */
Test(livit, logits_and_gradients_are_those_of_torch)
{
    tl_livit *net = NULL;
    tl_images images;
    tl_livit_pass *pass = NULL;
    tl_error err = {0};
    double x[784], gradient[784], cotangent[10] = {1, -1};
    FILE *file = fopen("tests/support/livit_golden.csv", "r");

    cr_assert(file);
    cr_assert_eq(tl_livit_open(&net, MODEL, &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_images_read(&images, DATA "images.idx", NULL, 8, &err), TL_OK, "%s", err.text);
    cr_assert_eq(tl_livit_pass_alloc(&pass, net, &err), TL_OK);
    for (size_t i = 0; i < 8; i++) {
        for (size_t k = 0; k < 784; k++) x[k] = images.pixels[i * 784 + k] / 255.0;
        cr_assert_eq(tl_livit_forward(pass, x, &err), TL_OK, "%s", err.text);
        tl_livit_gradient(pass, cotangent, gradient);
        for (size_t c = 0; c < 10 + 22; c++) {
            double expected;
            cr_assert_eq(fscanf(file, c == 31 ? "%lf\n" : "%lf,", &expected), 1);
            const double found = c < 10 ? tl_livit_logits(pass)[c] : gradient[(c - 10) * 37];
            cr_expect(fabs(found - expected) < 1e-9, "image %zu, number %zu: %.17g, torch %.17g", i,
                      c, found, expected);
        }
    }
    fclose(file);
    tl_livit_pass_free(pass);
    tl_images_clear(&images);
    tl_livit_free(net);
}

/* Central differences: the error falls with the square of the step until rounding. */
Test(livit, gradient_is_the_slope_of_the_logits)
{
    gsl_rng *rng = draw_stream(7101);

    for (int round = 0; round < draw_count(60); round++) {
        const random_livit_shape shape = random_livit_shape_draw(rng);
        random_livit tensors;
        tl_livit_pass *pass = NULL;
        double x[64], moved[64], direction[64], gradient[64], cotangent[8] = {0};
        random_livit_draw(&tensors, rng, &shape);
        tl_livit *net = random_livit_open(&tensors);
        const size_t size = pixels_of(net);
        cr_assert_eq(tl_livit_pass_alloc(&pass, net, NULL), TL_OK);
        for (size_t i = 0; i < size; i++) {
            x[i] = gsl_rng_uniform(rng);
            direction[i] = random_normal(rng);
        }
        for (size_t c = 0; c < net->classes; c++) cotangent[c] = random_normal(rng);
        cr_assert_eq(tl_livit_forward(pass, x, NULL), TL_OK);
        tl_livit_gradient(pass, cotangent, gradient);
        const double slope = tl_dot(size, gradient, direction);
        double best = (double)INFINITY, scale = 1;
        for (double h = 1e-4; h > 1e-7; h /= 4) {
            double found = 0;
            for (int sign = -1; sign <= 1; sign += 2) {
                for (size_t i = 0; i < size; i++) moved[i] = x[i] + sign * h * direction[i];
                cr_assert_eq(tl_livit_forward(pass, moved, NULL), TL_OK);
                for (size_t c = 0; c < net->classes; c++) {
                    found += sign * cotangent[c] * pass->logits[c] / (2 * h);
                    scale = fmax(scale, fabs(cotangent[c] * pass->logits[c]));
                }
            }
            best = fmin(best, fabs(found - slope));
        }
        cr_expect(best < 1e-6 * (scale + fabs(slope)), "round %d: slope %.12g off by %.3g", round,
                  slope, best);
        tl_livit_pass_free(pass);
        tl_livit_free(net);
        random_livit_clear(&tensors);
    }
    gsl_rng_free(rng);
}

/* A tensor of a sound file left out, or with another shape or value. */
static const struct {
    const char *name;
    size_t rows, cols; /* 0, 0: left out */
    double value;
    tl_status status;
    const char *fragment;
} refused[] = {
    {"image.shape", 0, 0, 0, TL_ERR_ARGUMENT, "no tensor 'image.shape'"},
    {"image.shape", 0, 2, 1, TL_ERR_SHAPE, "'image.shape': expected 1 x 3, found 1 x 2"},
    {"image.shape", 0, 3, 0.5, TL_ERR_DOMAIN, "'image.shape': entry 0: expected a whole number"},
    {"image.shape", 0, 3, 3, TL_ERR_SHAPE, "'patch.weight': expected 3 side^2 columns"},
    {"patch.weight", 0, 0, 0, TL_ERR_ARGUMENT, "no tensor 'patch.weight'"},
    {"patch.bias", 0, 3, 1, TL_ERR_SHAPE, "'patch.bias': expected 1 x 4, found 1 x 3"},
    {"positions", 2, 4, 1, TL_ERR_SHAPE, "'positions': expected 4 x 4, found 2 x 4"},
    {"block0.ball", 0, 0, 0, TL_ERR_ARGUMENT,
     "expected one of 'block0.ball' and 'block0.centre', found none"},
    {"block0.centre", 0, 1, 1, TL_ERR_ARGUMENT, "found both"},
    {"block0.ball", 0, 1, -1, TL_ERR_DOMAIN, "'block0.ball': expected a number from 1e-06"},
    {"block0.attn.heads", 0, 0, 0, TL_ERR_ARGUMENT, "no tensor 'block0.attn.heads'"},
    {"block0.attn.heads", 0, 1, 1.5, TL_ERR_DOMAIN, "expected a whole number, found 1.5"},
    {"block0.attn.heads", 0, 1, 3, TL_ERR_SHAPE, "divide by 3 heads"},
    {"block0.attn.scale", 0, 2, 1, TL_ERR_SHAPE, "'block0.attn.scale': expected 1 x 1"},
    {"block0.attn.k.weight", 0, 0, 0, TL_ERR_ARGUMENT, "no tensor 'block0.attn.k.weight'"},
    {"block0.attn.out.weight", 3, 4, 1, TL_ERR_SHAPE, "expected width 4 in and out, found 4, 3"},
    {"block0.attn.out.bias", 0, 4, 1, TL_ERR_ARGUMENT,
     "'block0.attn.out.bias' is no part of the network"},
    {"block0.sll0.bias", 0, 0, 0, TL_ERR_ARGUMENT, "no tensor 'block0.sll0.bias'"},
    {"block0.sll0.q", 0, 5, 0, TL_ERR_DOMAIN, "entry 0: expected a number above 0, found 0"},
    {"block2.ball", 0, 1, 1, TL_ERR_ARGUMENT, "'block2.ball' is no part of the network"},
    {"head.weight", 3, 5, 1, TL_ERR_SHAPE, "expected 4 columns (mean of the tokens) or 16 (all"},
    {"head.weight", 1, 4, 1, TL_ERR_SHAPE, "expected two classes or more, found 1"},
    {"head.bias", 0, 2, 1, TL_ERR_SHAPE, "'head.bias': expected 1 x 3, found 1 x 2"},
};

Test(livit, what_is_wrong_with_a_model_is_named)
{
    const random_livit_shape shape = {.channels = 1,
                                      .side = 2,
                                      .rows = 2,
                                      .cols = 2,
                                      .d = 4,
                                      .blocks = 1,
                                      .heads = 2,
                                      .layers = 1,
                                      .hidden = 5,
                                      .classes = 3,
                                      .mean = true,
                                      .size = 1};

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        gsl_rng *rng = draw_stream(7102);
        random_livit tensors;
        weights_tensor list[RANDOM_LIVIT_TENSORS + 1];
        double values[64];
        scratch s;
        tl_livit *net = NULL;
        tl_error err = {0};
        size_t count = 0;
        random_livit_draw(&tensors, rng, &shape);
        for (size_t k = 0; k < tensors.count; k++)
            if (strcmp(tensors.name[k], refused[i].name) != 0) list[count++] = tensors.tensor[k];
        for (size_t k = 0; k < 64; k++) values[k] = refused[i].value;
        if (refused[i].cols)
            list[count++] =
                (weights_tensor){refused[i].name, refused[i].rows, refused[i].cols, values};
        cr_assert(scratch_init(&s) && weights_write(&s, "net.safetensors", list, count));
        cr_expect_eq(tl_livit_open(&net, s.path, &err), refused[i].status, "row %zu: %s", i,
                     err.text);
        cr_expect(strstr(err.text, refused[i].fragment), "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, "net.safetensors"), "row %zu: %s", i, err.text);
        cr_expect(!net);
        scratch_clear(&s);
        random_livit_clear(&tensors);
        gsl_rng_free(rng);
    }
}

/* A stop leaves the images before the first that is not done, and no image where it was there from
 * the start. */
Test(livit, a_stop_ends_a_set_between_images)
{
    static const char model[] = "experiments/livit/model.safetensors";
    static const char pictures[] = "experiments/data/fashion_mnist/images.idx";
    const volatile int asked = 1, unasked = 0;
    const double epsilon[] = {0, 0.25};
    tl_livit_attack attack = {.restarts = 1, .steps = 3, .seed = 1, .stop = &unasked};
    tl_livit *net = NULL;
    tl_images images;
    tl_livit_report report;
    tl_error err = {0};

    cr_assert_eq(tl_livit_open(&net, model, NULL), TL_OK);
    cr_assert_eq(tl_images_read(&images, pictures, NULL, 6, NULL), TL_OK);
    cr_assert_eq(tl_livit_evaluate(&report, net, &images, epsilon, 2, &attack, NULL), TL_OK);
    cr_expect_eq(report.rows, 6);
    tl_livit_report_clear(&report);
    attack.stop = &asked;
    cr_assert_eq(tl_livit_evaluate(&report, net, &images, epsilon, 2, &attack, &err),
                 TL_ERR_INTERRUPTED);
    cr_expect_eq(report.rows, 0);
    cr_expect_str_eq(err.text, "interrupted before the first of 6 images");
    tl_livit_report_clear(&report);
    tl_images_clear(&images);
    tl_livit_free(net);
}

/* Of no images every share is one of nothing, and is a number. */
Test(livit, shares_of_no_images)
{
    const tl_livit_report none = {.rows = 0};

    cr_expect_eq(tl_livit_share_clean(&none), 0);
    cr_expect_eq(tl_livit_share_certified(&none, 0.5), 0);
    cr_expect_eq(tl_livit_share_standing(&none, 0), 0);
}
