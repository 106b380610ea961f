/* Pictures in three colours, from the files people have to a certified radius: the same pictures as
 * a CIFAR-10 batch and as an SVHN .mat are the same pictures. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TL_WITH_MATIO
#include <matio.h>
#endif

#include "support/draws.h"
#include "support/random_livit.h"
#include "support/scratch.h"

enum { SIDE = 32, AREA = SIDE * SIDE, CHANNELS = 3, SIZE = CHANNELS * AREA, COUNT = 4 };

typedef struct {
    unsigned char pixel[COUNT][CHANNELS][SIDE][SIDE], label[COUNT];
} pictures;

/* Smooth ones, so that the network tells them apart. */
static pictures *draw_pictures(gsl_rng *rng)
{
    pictures *p = calloc(1, sizeof *p);

    cr_assert(p);
    for (size_t i = 0; i < COUNT; i++) {
        p->label[i] = (unsigned char)draw_below(rng, 10);
        for (size_t c = 0; c < CHANNELS; c++) {
            const double tone = gsl_rng_uniform(rng), slope = gsl_rng_uniform(rng);
            for (size_t r = 0; r < SIDE; r++)
                for (size_t k = 0; k < SIDE; k++)
                    p->pixel[i][c][r][k] =
                        (unsigned char)(127 * tone + 2 * slope * (double)(r + k) + (double)(k % 3));
        }
    }
    return p;
}

static void write_cifar(const char *path, const pictures *p)
{
    FILE *file = fopen(path, "wb");

    cr_assert(file);
    for (size_t i = 0; i < COUNT; i++) {
        cr_assert_eq(fwrite(&p->label[i], 1, 1, file), 1);
        cr_assert_eq(fwrite(p->pixel[i], 1, SIZE, file), SIZE);
    }
    cr_assert_eq(fclose(file), 0);
}

static tl_livit_report certify(const tl_livit *net, const char *path, const pictures *p)
{
    const double epsilon[] = {0, 1e-3, 10};
    const tl_livit_attack attack = {.restarts = 2, .steps = 10, .seed = 1};
    tl_images images;
    tl_livit_report report;
    tl_error err = {0};

    cr_assert_eq(tl_images_read(&images, path, NULL, 0, &err), TL_OK, "%s", err.text);
    cr_assert(images.count == COUNT && images.channels == CHANNELS);
    cr_assert_eq(memcmp(images.pixels, p->pixel, sizeof p->pixel), 0);
    cr_assert_eq(memcmp(images.labels, p->label, COUNT), 0);
    cr_assert_eq(tl_livit_evaluate(&report, net, &images, epsilon, 3, &attack, &err), TL_OK, "%s",
                 err.text);
    tl_images_clear(&images);
    return report;
}

#ifdef TL_WITH_MATIO
/* Height x width x channels x count, columns first; 10 stands for the digit 0. */
static void write_svhn(const char *path, const pictures *p)
{
    static unsigned char x[COUNT * SIZE];
    unsigned char y[COUNT];
    size_t at = 0, x_dims[] = {SIDE, SIDE, CHANNELS, COUNT}, y_dims[] = {COUNT, 1};
    mat_t *mat = Mat_CreateVer(path, NULL, MAT_FT_MAT5);

    for (size_t i = 0; i < COUNT; i++) {
        y[i] = p->label[i] ? p->label[i] : 10;
        for (size_t c = 0; c < CHANNELS; c++)
            for (size_t k = 0; k < SIDE; k++)
                for (size_t r = 0; r < SIDE; r++) x[at++] = p->pixel[i][c][r][k];
    }
    matvar_t *vx = Mat_VarCreate("X", MAT_C_UINT8, MAT_T_UINT8, 4, x_dims, x, 0);
    matvar_t *vy = Mat_VarCreate("y", MAT_C_UINT8, MAT_T_UINT8, 2, y_dims, y, 0);
    cr_assert(mat && Mat_VarWrite(mat, vx, MAT_COMPRESSION_ZLIB) == 0);
    cr_assert_eq(Mat_VarWrite(mat, vy, MAT_COMPRESSION_ZLIB), 0);
    Mat_VarFree(vx);
    Mat_VarFree(vy);
    Mat_Close(mat);
}
#endif

Test(livit_formats, three_colours_from_file_to_radius)
{
    gsl_rng *rng = draw_stream(91);
    const random_livit_shape shape = {.channels = CHANNELS,
                                      .side = 8,
                                      .rows = SIDE / 8,
                                      .cols = SIDE / 8,
                                      .d = 6,
                                      .blocks = 1,
                                      .heads = 2,
                                      .layers = 1,
                                      .hidden = 8,
                                      .classes = 10,
                                      .size = 0.5};
    random_livit tensors;
    size_t right = 0;
    scratch dir;

    cr_assert(scratch_init(&dir));
    random_livit_draw(&tensors, rng, &shape);
    tl_livit *net = random_livit_open(&tensors);
    pictures *p = draw_pictures(rng);
    const char *path = scratch_path(&dir, "pictures");
    write_cifar(path, p);
    tl_livit_report first = certify(net, path, p);
    /* Labelled as they are answered, so that there is something to certify. */
    for (size_t i = 0; i < COUNT; i++) p->label[i] = (unsigned char)first.row[i].predicted;
    tl_livit_report_clear(&first);
    write_cifar(path, p);
    tl_livit_report cifar = certify(net, path, p);
    for (size_t i = 0; i < COUNT; i++) right += cifar.row[i].radius > 0;
    cr_expect(right == COUNT && cifar.labelled && !cifar.refuted);
#ifdef TL_WITH_MATIO
    path = scratch_path(&dir, "pictures.mat");
    write_svhn(path, p);
    tl_livit_report svhn = certify(net, path, p);
    for (size_t i = 0; i < COUNT; i++) {
        cr_expect_eq(svhn.row[i].radius, cifar.row[i].radius);
        cr_expect_eq(svhn.row[i].margin, cifar.row[i].margin);
        for (size_t e = 0; e < 3; e++)
            cr_expect_eq(svhn.row[i].attacked[e], cifar.row[i].attacked[e]);
    }
    tl_livit_report_clear(&svhn);
#endif
    tl_livit_report_clear(&cifar);
    free(p);
    tl_livit_free(net);
    random_livit_clear(&tensors);
    gsl_rng_free(rng);
    scratch_clear(&dir);
}
