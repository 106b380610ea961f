#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef TL_WITH_ZLIB
#include <zlib.h>
#endif
#ifdef TL_WITH_MATIO
#include <matio.h>
#endif

#include "support/scratch.h"
#include "tightlip/images.h"

/* 3 images of 2 x 4. */
static const char idx3[] = "\0\0\x08\x03\0\0\0\x03\0\0\0\x02\0\0\0\x04"
                           "abcdefghijklmnopqrstuvwx";
static const char idx1[] = "\0\0\x08\x01\0\0\0\x03\x07\x02\x09";
enum { IDX3 = sizeof idx3 - 1, IDX1 = sizeof idx1 - 1 };

typedef struct {
    scratch s;
    char images[SCRATCH_PATH_SIZE], labels[SCRATCH_PATH_SIZE];
} files;

static void write_pair(files *f, const void *images, size_t size, const void *labels,
                       size_t label_size)
{
    cr_assert(scratch_init(&f->s));
    cr_assert(scratch_write(&f->s, "images", images, size));
    strcpy(f->images, f->s.path);
    cr_assert(scratch_write(&f->s, "labels", labels, label_size));
    strcpy(f->labels, f->s.path);
}

static void check_idx(const tl_images *x, size_t count, bool labels)
{
    cr_assert_eq(x->count, count);
    cr_expect(x->channels == 1 && x->height == 2 && x->width == 4);
    cr_expect_arr_eq(x->pixels, "abcdefghijklmnopqrstuvwx", 8 * count);
    cr_assert_eq(x->labels != NULL, labels);
    if (labels) cr_expect_arr_eq(x->labels, "\x07\x02\x09", count);
}

Test(images, idx_with_and_without_labels)
{
    files f;
    tl_images x;

    write_pair(&f, idx3, IDX3, idx1, IDX1);
    for (size_t most = 0; most < 5; most++)
        for (int labels = 0; labels < 2; labels++) {
            tl_error err = {0};
            cr_assert_eq(tl_images_read(&x, f.images, labels ? f.labels : NULL, most, &err), TL_OK,
                         "%s", err.text);
            check_idx(&x, most == 0 || most > 3 ? 3 : most, labels);
            tl_images_clear(&x);
            cr_expect(!x.pixels && !x.labels && x.count == 0);
        }
    scratch_clear(&f.s);
}

static const struct {
    const char *images, *labels;
    size_t size, label_size;
    tl_status status;
    const char *fragment;
} refused[] = {
    {idx3, idx1, IDX3 - 1, IDX1, TL_ERR_PARSE, "do not fit the file: expected at most 2"},
    {idx3, idx1, 15, IDX1, TL_ERR_PARSE, "expected 12 more bytes, found 11"},
    {idx3, idx1, IDX3 + 1, IDX1, TL_ERR_PARSE, "images: expected the end of the file"},
    {idx3, idx1, IDX3, IDX1 - 1, TL_ERR_PARSE, "labels: expected 3 more bytes, found 2"},
    {idx3, idx1, IDX3, IDX1 + 1, TL_ERR_PARSE, "labels: expected the end of the file"},
    {idx3, idx3, IDX3, IDX3, TL_ERR_PARSE, "in 1 dimensions (0x00000801), found 0x00000803"},
    {idx1, idx1, IDX1, IDX1, TL_ERR_PARSE, "in 3 dimensions (0x00000803), found"},
    {idx3, "\0\0\x08\x01\0\0\0\x02\x07\x02", IDX3, 10, TL_ERR_SHAPE,
     "expected as many labels as images, 3, found 2"},
    {"\0\0\x08\x03\xff\xff\xff\xff\0\0\x10\0\0\0\x10\0", idx1, 16, IDX1, TL_ERR_PARSE,
     "header: 4294967295 images of 16777216 bytes do not fit the file: expected at most 0"},
    {"\0\0\x08\x03\0\0\0\x01\0\x01\0\0\0\0\0\x01", idx1, 16, IDX1, TL_ERR_LIMIT,
     "at most 4 x 4096 x 4096, found 1 x 65536 x 1"},
    {"\0\0\x08\x03\0\0\0\0\0\0\0\x01\0\0\0\x01", idx1, 16, IDX1, TL_ERR_PARSE,
     "expected images, found 0 of 1 x 1 x 1"},
    {"\0\0\x08\x03\0\0\0\x01\0\0\0\0\0\0\0\x01", idx1, 16, IDX1, TL_ERR_PARSE,
     "expected images, found 1 of 1 x 0 x 1"},
    {"PNG", idx1, 3, IDX1, TL_ERR_ARGUMENT, "found another format, which holds its own"},
    {"PNG", NULL, 3, 0, TL_ERR_PARSE, "expected a label of 0 to 9, found 80; is it an IDX"},
    {"\x01ngs", NULL, 4, 0, TL_ERR_PARSE, "expected 3072 more bytes, found 3"},
    {"", NULL, 0, 0, TL_ERR_PARSE, "found an empty file"},
    {"MATLAB 5.0 MAT-file, cut", NULL, 24, 0,
#ifdef TL_WITH_MATIO
     TL_ERR_PARSE, "expected a MATLAB 5 file"
#else
     TL_ERR_UNSUPPORTED, "(libmatio-dev)"
#endif
    },
    {"\x1f\x8b\x08\0nothing", NULL, 11, 0,
#ifdef TL_WITH_ZLIB
     TL_ERR_PARSE, "compressed data"
#else
     TL_ERR_UNSUPPORTED, "(zlib)"
#endif
    },
};

Test(images, what_is_wrong_is_said)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        files f;
        tl_images x;
        tl_error err = {0};
        write_pair(&f, refused[i].images, refused[i].size,
                   refused[i].labels ? refused[i].labels : "", refused[i].label_size);
        const tl_status status =
            tl_images_read(&x, f.images, refused[i].labels ? f.labels : NULL, 0, &err);
        cr_expect_eq(status, refused[i].status, "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, refused[i].fragment), "row %zu: %s", i, err.text);
        cr_expect(strstr(err.text, f.s.directory), "row %zu names no file: %s", i, err.text);
        cr_expect(!x.pixels && !x.labels);
        scratch_clear(&f.s);
    }
}

Test(images, a_missing_file_and_a_directory_are_refused)
{
    tl_images x;
    tl_error err = {0};

    cr_expect_eq(tl_images_read(&x, "/nonexistent", NULL, 0, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "/nonexistent: cannot be read"));
    cr_expect_eq(tl_images_read(&x, "/tmp", NULL, 0, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "expected a regular file"));
}

Test(images, cifar_records)
{
    enum { PIXELS = 3072, RECORDS = 3 };
    static unsigned char bytes[RECORDS * (PIXELS + 1)];
    files f;
    tl_images x;

    for (size_t i = 0; i < RECORDS; i++) {
        bytes[i * (PIXELS + 1)] = (unsigned char)(9 - i);
        for (size_t k = 0; k < PIXELS; k++)
            bytes[i * (PIXELS + 1) + 1 + k] = (unsigned char)(7 * i + k / 9);
    }
    write_pair(&f, bytes, sizeof bytes, "", 0);
    for (size_t most = 0; most < 5; most++) {
        const size_t count = most == 0 || most > RECORDS ? RECORDS : most;
        cr_assert_eq(tl_images_read(&x, f.images, NULL, most, NULL), TL_OK);
        cr_assert(x.count == count && x.channels == 3 && x.height == 32 && x.width == 32);
        for (size_t i = 0; i < count; i++) {
            cr_expect_eq(x.labels[i], 9 - i);
            cr_expect_arr_eq(x.pixels + i * PIXELS, bytes + i * (PIXELS + 1) + 1, PIXELS);
        }
        tl_images_clear(&x);
    }
    scratch_clear(&f.s);
}

#ifdef TL_WITH_ZLIB
Test(images, gzip_is_read_like_the_plain_file)
{
    files f;
    tl_images x;
    tl_error err = {0};

    write_pair(&f, "", 0, idx1, IDX1);
    gzFile z = gzopen(f.images, "wb");
    cr_assert(z && gzwrite(z, idx3, IDX3) == IDX3 && gzclose(z) == Z_OK);
    cr_assert_eq(tl_images_read(&x, f.images, f.labels, 0, &err), TL_OK, "%s", err.text);
    check_idx(&x, 3, true);
    tl_images_clear(&x);
    scratch_clear(&f.s);
}
#endif

#ifdef TL_WITH_MATIO
enum { SIDE_H = 2, SIDE_W = 3, DIGITS = 4 };

/* Column-major X and labels y of the given class; count_y may differ from DIGITS. */
static void write_mat(const char *path, enum matio_compression compression,
                      enum matio_classes y_class, size_t count_y, double first_label)
{
    unsigned char x[SIDE_H * SIDE_W * 3 * DIGITS], bytes[DIGITS + 1];
    double reals[DIGITS + 1];
    size_t x_dims[] = {SIDE_H, SIDE_W, 3, DIGITS}, y_dims[] = {count_y, 1};
    mat_t *mat = Mat_CreateVer(path, NULL, MAT_FT_MAT5);

    for (size_t i = 0; i < sizeof x; i++) x[i] = (unsigned char)i;
    for (size_t i = 0; i <= DIGITS; i++) {
        reals[i] = i == 0 ? first_label : (double)i;
        bytes[i] = (unsigned char)reals[i];
    }
    matvar_t *vx = Mat_VarCreate("X", MAT_C_UINT8, MAT_T_UINT8, 4, x_dims, x, 0);
    matvar_t *vy = y_class == MAT_C_UINT8
                       ? Mat_VarCreate("y", MAT_C_UINT8, MAT_T_UINT8, 2, y_dims, bytes, 0)
                       : Mat_VarCreate("y", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, y_dims, reals, 0);
    cr_assert(mat && Mat_VarWrite(mat, vx, compression) == 0);
    cr_assert_eq(Mat_VarWrite(mat, vy, compression), 0);
    Mat_VarFree(vx);
    Mat_VarFree(vy);
    Mat_Close(mat);
}

Test(images, svhn_columns_become_rows_and_ten_the_digit_zero)
{
    files f;
    tl_images x;
    tl_error err = {0};

    write_pair(&f, "", 0, "", 0);
    for (int variant = 0; variant < 4; variant++) {
        write_mat(f.images, variant & 1 ? MAT_COMPRESSION_ZLIB : MAT_COMPRESSION_NONE,
                  variant & 2 ? MAT_C_UINT8 : MAT_C_DOUBLE, DIGITS, 10);
        const size_t most = variant == 3 ? 2 : 0, count = most ? most : DIGITS;
        cr_assert_eq(tl_images_read(&x, f.images, NULL, most, &err), TL_OK, "%s", err.text);
        cr_assert(x.count == count && x.channels == 3 && x.height == SIDE_H && x.width == SIDE_W);
        for (size_t i = 0; i < count; i++) {
            cr_expect_eq(x.labels[i], i);
            for (size_t c = 0; c < 3; c++)
                for (size_t r = 0; r < SIDE_H; r++)
                    for (size_t s = 0; s < SIDE_W; s++)
                        cr_expect_eq(x.pixels[((i * 3 + c) * SIDE_H + r) * SIDE_W + s],
                                     r + SIDE_H * (s + SIDE_W * (c + 3 * i)));
        }
        tl_images_clear(&x);
    }
    scratch_clear(&f.s);
}

Test(images, svhn_labels_that_do_not_fit_are_refused)
{
    files f;
    tl_images x;
    tl_error err = {0};

    write_pair(&f, "", 0, "", 0);
    write_mat(f.images, MAT_COMPRESSION_NONE, MAT_C_DOUBLE, DIGITS + 1, 10);
    cr_expect_eq(tl_images_read(&x, f.images, NULL, 0, &err), TL_ERR_SHAPE);
    cr_expect(strstr(err.text, "expected labels y, 4 x 1, found another shape"), "%s", err.text);
    write_mat(f.images, MAT_COMPRESSION_NONE, MAT_C_DOUBLE, DIGITS, 2.5);
    cr_expect_eq(tl_images_read(&x, f.images, NULL, 0, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "y[0]: expected 1 to 10, found 2.5"), "%s", err.text);
    /* The fourth size of X, behind the file header and the tags of X, its flags and its sizes. */
    FILE *file = fopen(f.images, "r+b");
    cr_assert(file && fseek(file, 128 + 8 + 16 + 8 + 12, SEEK_SET) == 0);
    cr_assert_eq(fwrite("\xff\xff\xff\x7f", 1, 4, file), 4);
    fclose(file);
    cr_expect_eq(tl_images_read(&x, f.images, NULL, 0, &err), TL_ERR_PARSE);
    cr_expect(strstr(err.text, "2147483647 images of 18 bytes do not fit the file"), "%s",
              err.text);
    cr_expect(!x.pixels && !x.labels);
    scratch_clear(&f.s);
}
#endif
