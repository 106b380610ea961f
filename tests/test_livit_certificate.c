/* Reach and radius against exact numbers, movements and attacks. */
#include <criterion/criterion.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "robust/network.h"
#include "support/draws.h"
#include "support/random_livit.h"
#include "support/random_problem.h"
#include "tightlip/linalg.h"

#define MODEL "experiments/livit/model.safetensors"
#define DATA "experiments/data/fashion_mnist/"
#define PACKAGE "/usr/share/datasets/fashion-mnist/t10k-"

static tl_livit *shipped(void)
{
    tl_livit *net = NULL;
    tl_error err = {0};

    cr_assert_eq(tl_livit_open(&net, MODEL, &err), TL_OK, "%s", err.text);
    return net;
}

/* Two tokens of width 1, logits a x_i x_j, X + c P X, logits of the mean: every norm by hand. */
Test(livit_certificate, one_attention_block_by_hand)
{
    const double shape[] = {1, 1, 2}, one[] = {1}, zero[] = {0, 0}, a[] = {1.5}, c[] = {0.4};
    const double ball[] = {100}, head[] = {2, -1};
    const weights_tensor tensor[] = {
        {"image.shape", 0, 3, shape},
        {"patch.weight", 1, 1, one},
        {"patch.bias", 0, 1, zero},
        {"positions", 2, 1, zero},
        {"block0.ball", 0, 1, ball},
        {"block0.attn.heads", 0, 1, one},
        {"block0.attn.scale", 0, 1, c},
        {"block0.attn.q.weight", 1, 1, a},
        {"block0.attn.k.weight", 1, 1, one},
        {"block0.attn.v.weight", 1, 1, one},
        {"block0.attn.out.weight", 1, 1, one},
        {"head.weight", 2, 1, head},
        {"head.bias", 0, 2, zero},
    };
    const double x[] = {0.9, 0.2};
    scratch s;
    tl_livit *net = NULL;
    tl_livit_pass *pass = NULL;

    cr_assert(scratch_init(&s));
    cr_assert(weights_write(&s, "net.safetensors", tensor, sizeof tensor / sizeof *tensor));
    cr_assert_eq(tl_livit_open(&net, s.path, NULL), TL_OK);
    cr_assert_eq(tl_livit_pass_alloc(&pass, net, NULL), TL_OK);
    cr_assert_eq(tl_livit_forward(pass, x, NULL), TL_OK);
    cr_assert_eq(tl_livit_bound(pass, NULL), TL_OK);
    /* I + c P, its norm from trace and determinant of its square. */
    const double p = 1 / (1 + exp(1.5 * x[0] * (x[1] - x[0])));
    const double r = 1 / (1 + exp(1.5 * x[1] * (x[0] - x[1])));
    const double m[] = {1 + 0.4 * p, 0.4 * (1 - p), 0.4 * (1 - r), 1 + 0.4 * r};
    const double trace = m[0] * m[0] + m[1] * m[1] + m[2] * m[2] + m[3] * m[3];
    const double det = m[0] * m[3] - m[1] * m[2];
    const double zeta = sqrt((trace + sqrt(trace * trace - 4 * det * det)) / 2);
    const double size = hypot(x[0], x[1]), spread = (x[0] - x[1]) / sqrt(2);
    for (double e = 1e-3; e < 30; e *= 3) {
        const double change = fmin((2 * 1.5 * size * e + 1.5 * e * e) / 2, 2);
        const double by_hand = (zeta * e + change * 0.4 * (spread + e)) / sqrt(2);
        const double found = tl_livit_reach(pass, e);
        cr_expect(found >= by_hand && found <= by_hand * (1 + 1e-12) + 1e-12,
                  "epsilon %g: %.17g, by hand %.17g", e, found, by_hand);
        /* Margin 3 mean, weights 3 apart. */
        const double mean = (m[0] * x[0] + m[1] * x[1] + m[2] * x[0] + m[3] * x[1]) / 2;
        cr_expect_eq(tl_livit_certified(pass, 0, e), mean > found);
    }
    tl_livit_pass_free(pass);
    tl_livit_free(net);
    scratch_clear(&s);
}

/* How far the features move, for any network and any movement. */
Test(livit_certificate, nothing_moves_farther_than_its_reach)
{
    gsl_rng *rng = draw_stream(7201);
    double closest = 0;

    for (int round = 0; round < draw_count(150); round++) {
        const random_livit_shape shape = random_livit_shape_draw(rng);
        random_livit tensors;
        tl_livit_pass *pass = NULL, *other = NULL;
        double x[64], moved[64], last = 0;
        random_livit_draw(&tensors, rng, &shape);
        tl_livit *net = random_livit_open(&tensors);
        const size_t size = net->channels * net->height * net->width;
        cr_assert_eq(tl_livit_pass_alloc(&pass, net, NULL), TL_OK);
        cr_assert_eq(tl_livit_pass_alloc(&other, net, NULL), TL_OK);
        for (size_t i = 0; i < size; i++) x[i] = gsl_rng_uniform(rng);
        cr_assert_eq(tl_livit_forward(pass, x, NULL), TL_OK);
        cr_assert_eq(tl_livit_bound(pass, NULL), TL_OK);
        /* Rounding alone, which blocks magnify as they do a movement: worth less than 1e-9 of one.
         */
        const double still = tl_livit_reach(pass, 0), near = tl_livit_reach(pass, 1e-6);
        cr_expect(still > 0 && still < 1e-3 * near, "round %d: %g at 0, %g near", round, still,
                  near);
        for (double e = 1e-4; e < 20; e *= 2) {
            const double reach = tl_livit_reach(pass, e);
            cr_expect(reach > last, "round %d: reach %.17g at %g, %.17g before", round, reach, e,
                      last);
            last = reach;
            for (int draw = 0; draw < 4; draw++) {
                double difference = 0;
                for (size_t i = 0; i < size; i++) moved[i] = random_normal(rng);
                const double norm = tl_nrm2(size, moved);
                for (size_t i = 0; i < size; i++)
                    moved[i] = x[i] + e * (1 - 1e-12) * moved[i] / norm;
                cr_assert_eq(tl_livit_forward(other, moved, NULL), TL_OK);
                for (size_t i = 0; i < net->features; i++)
                    difference = hypot(difference, other->features[i] - pass->features[i]);
                cr_expect(difference <= reach, "round %d: moved %.17g, reach %.17g at %g", round,
                          difference, reach, e);
                closest = fmax(closest, difference / reach);
            }
        }
        tl_livit_pass_free(pass);
        tl_livit_pass_free(other);
        tl_livit_free(net);
        random_livit_clear(&tensors);
    }
    /* Otherwise nothing was tested. */
    cr_expect(closest > 0.9, "closest %g", closest);
    gsl_rng_free(rng);
}

/* Between any two tokens, and attained: for one column w the block reflects w where it is on. */
Test(livit_certificate, residual_blocks_never_stretch)
{
    gsl_rng *rng = draw_stream(7202);

    for (int round = 0; round < draw_count(200); round++) {
        random_livit_shape shape = random_livit_shape_draw(rng);
        random_livit tensors;
        tl_livit_pass *pass = NULL;
        shape.blocks = shape.layers = 1;
        random_livit_draw(&tensors, rng, &shape);
        tl_livit *net = random_livit_open(&tensors);
        const size_t size = net->n * net->d, s = 2;
        double *first = malloc(size * sizeof *first);
        cr_assert_eq(net->stage[s].kind, TL_STAGE_SLL);
        cr_assert_eq(tl_livit_pass_alloc(&pass, net, NULL), TL_OK);
        double before = 0, after = 0;
        double *x = pass->x + s * size, *y = x + size;
        for (size_t i = 0; i < size; i++) x[i] = random_normal(rng);
        cr_assert_eq(tl_stage_forward(pass, s, NULL), TL_OK);
        memcpy(first, y, size * sizeof *first);
        for (size_t i = 0; i < size; i++) {
            const double step = random_normal(rng) * 0.5;
            before = hypot(before, step);
            x[i] += step;
        }
        cr_assert_eq(tl_stage_forward(pass, s, NULL), TL_OK);
        for (size_t i = 0; i < size; i++) after = hypot(after, y[i] - first[i]);
        cr_expect(after <= before * (1 + 1e-13), "round %d: %.17g to %.17g", round, before, after);
        if (shape.hidden == 1) {
            double square = 0;
            for (size_t i = 0; i < net->d; i++)
                square += net->stage[s].weight[i] * net->stage[s].weight[i];
            cr_expect(fabs(square * net->stage[s].inverse[0] - 1) < 1e-12);
        }
        free(first);
        tl_livit_pass_free(pass);
        tl_livit_free(net);
        random_livit_clear(&tensors);
    }
    gsl_rng_free(rng);
}

/* Attacked at its own radius no image falls; and attacks do fell images farther out. */
static void attack_within_radius(const tl_livit *net, const tl_images *images)
{
    tl_livit_pass *pass = NULL;
    const size_t size = net->channels * net->height * net->width;
    double *x = malloc(2 * size * sizeof *x);
    tl_livit_attack attack;
    size_t fell = 0, right = 0;

    tl_livit_attack_defaults(&attack);
    attack.restarts = 2;
    attack.steps = 20;
    cr_assert_eq(tl_livit_pass_alloc(&pass, net, NULL), TL_OK);
    for (size_t i = 0; i < images->count; i++) {
        bool found;
        for (size_t k = 0; k < size; k++) x[k] = images->pixels[i * size + k] / 255.0;
        cr_assert_eq(tl_livit_forward(pass, x, NULL), TL_OK);
        const size_t label = tl_livit_predicted(pass);
        cr_assert_eq(tl_livit_bound(pass, NULL), TL_OK);
        const double radius = tl_livit_radius(pass, label);
        cr_expect(radius == 0 || (tl_livit_certified(pass, label, radius) &&
                                  !tl_livit_certified(pass, label, radius * (1 + 4e-6))));
        if (radius == 0) continue;
        right++;
        cr_assert_eq(
            tl_livit_attack_run(pass, x, label, radius, &attack, i, x + size, &found, NULL), TL_OK);
        cr_expect(!found, "image %zu falls within %.17g", i, radius);
        cr_assert_eq(
            tl_livit_attack_run(pass, x, label, 4 * radius, &attack, i, x + size, &found, NULL),
            TL_OK);
        if (!found) continue;
        double distance = 0;
        for (size_t k = 0; k < size; k++) distance = hypot(distance, x[size + k] - x[k]);
        cr_expect(distance <= 4 * radius * (1 + 1e-13));
        cr_assert_eq(tl_livit_forward(pass, x + size, NULL), TL_OK);
        cr_expect_neq(tl_livit_predicted(pass), label);
        fell++;
    }
    cr_expect(2 * fell > right && right > 0, "%zu of %zu", fell, right);
    free(x);
    tl_livit_pass_free(pass);
}

Test(livit_certificate, attacks_stay_outside_the_radius)
{
    tl_livit *net = shipped();
    tl_images images;
    tl_error err = {0};

    /* A network whose attention does nothing would test nothing. */
    for (size_t h = 0; h < 2; h++) {
        cr_expect_float_eq(net->stage[1].facts[h].norm_ov, 0.3, 1e-6);
        cr_expect_float_eq(net->stage[1].facts[h].norm_a, 2, 1e-6);
    }
    cr_assert_eq(tl_images_read(&images, DATA "images.idx", DATA "labels.idx", 16, &err), TL_OK,
                 "%s", err.text);
    attack_within_radius(net, &images);
    tl_images_clear(&images);
    if (getenv("TIGHTLIP_SOAK") && access(PACKAGE "images-idx3-ubyte.gz", R_OK) == 0) {
        cr_assert_eq(tl_images_read(&images, PACKAGE "images-idx3-ubyte.gz", NULL, 1000, &err),
                     TL_OK, "%s", err.text);
        attack_within_radius(net, &images);
        tl_images_clear(&images);
    }
    tl_livit_free(net);
}

Test(livit_certificate, reports_do_not_depend_on_threads)
{
    tl_livit *net = shipped();
    tl_images images;
    tl_livit_report report[2];
    const double epsilon[] = {0, 0.25, 1};
    tl_livit_attack attack = {.restarts = 2, .steps = 5, .seed = 3};

    cr_assert_eq(tl_images_read(&images, DATA "images.idx", DATA "labels.idx", 12, NULL), TL_OK);
    for (int i = 0; i < 2; i++) {
        omp_set_num_threads(i + 1);
        cr_assert_eq(tl_livit_evaluate(&report[i], net, &images, epsilon, 3, &attack, NULL), TL_OK);
    }
    cr_expect(report[0].rows == 12 && report[0].labelled && !report[0].refuted);
    for (size_t i = 0; i < 12; i++) {
        const tl_livit_row *a = &report[0].row[i], *b = &report[1].row[i];
        cr_expect(a->label == images.labels[i] && a->label == b->label);
        cr_expect(a->predicted == b->predicted && a->margin == b->margin && a->radius == b->radius);
        cr_expect((a->margin > 0) == (a->predicted == a->label));
        cr_expect(a->margin > 0 || a->radius == 0);
        cr_expect_arr_eq(a->attacked, b->attacked, 3);
        cr_expect_eq(a->attacked[0], a->predicted != a->label);
    }
    for (size_t e = 0; e < 3; e++)
        cr_expect(tl_livit_share_certified(&report[0], epsilon[e]) <=
                  tl_livit_share_standing(&report[0], e));
    cr_expect_eq(tl_livit_share_standing(&report[0], 0), tl_livit_share_clean(&report[0]));
    for (int i = 0; i < 2; i++) tl_livit_report_clear(&report[i]);
    tl_images_clear(&images);
    tl_livit_free(net);
}

Test(livit_certificate, without_labels_an_image_counts_as_its_answer)
{
    tl_livit *net = shipped();
    tl_images images;
    tl_livit_report report;
    tl_error err = {0};

    cr_assert_eq(tl_images_read(&images, DATA "images.idx", NULL, 5, NULL), TL_OK);
    cr_assert_eq(tl_livit_evaluate(&report, net, &images, NULL, 0, NULL, NULL), TL_OK);
    cr_expect(!report.labelled && tl_livit_share_clean(&report) == 1);
    for (size_t i = 0; i < 5; i++) cr_expect(report.row[i].radius > 0);
    tl_livit_report_clear(&report);
    images.labels = calloc(5, 1);
    images.labels[3] = 10;
    cr_expect_eq(tl_livit_evaluate(&report, net, &images, NULL, 0, NULL, &err), TL_ERR_DOMAIN);
    cr_expect(strstr(err.text, "labels[3]: expected a class below 10, found 10"), "%s", err.text);
    images.height = 14;
    cr_expect_eq(tl_livit_evaluate(&report, net, &images, NULL, 0, NULL, &err), TL_ERR_SHAPE);
    cr_expect(strstr(err.text, "expected 1 x 28 x 28 as in the network, found 1 x 14 x 28"));
    tl_images_clear(&images);
    tl_livit_free(net);
}
