/* SVHN, cropped digits: MATLAB 5 files with X (height x width x channels x count, bytes) and y
 * (count, 1 .. 10, where 10 is the digit 0). */
#include "model/images_formats.h"

#ifdef TL_WITH_MATIO
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <matio.h>

/* Compressed variables; deflate never makes more than 1032 bytes out of one. */
static uint64_t bytes_most(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 ? (uint64_t)info.st_size * 1032 : 0;
}

static tl_status check_pixels(tl_images *out, const matvar_t *x, const char *path, size_t most,
                              tl_error *err)
{
    if (!x || x->class_type != MAT_C_UINT8 || x->isComplex || x->rank != 4)
        return tl_fail(err, TL_ERR_PARSE,
                       "%s: expected a variable X of bytes, height x width x channels x count, "
                       "found %s",
                       path, x ? "another kind" : "none");
    out->height = x->dims[0];
    out->width = x->dims[1];
    out->channels = x->dims[2];
    return tl_images_alloc(out, path, x->dims[3], bytes_most(path), most, err);
}

/* Columns first in the file, rows first here. */
static void turn(tl_images *out, const unsigned char *data)
{
    const size_t h = out->height, w = out->width, c = out->channels;

    for (size_t i = 0; i < out->count; i++)
        for (size_t k = 0; k < c; k++)
            for (size_t r = 0; r < h; r++)
                for (size_t s = 0; s < w; s++)
                    out->pixels[((i * c + k) * h + r) * w + s] =
                        data[((i * c + k) * w + s) * h + r];
}

static tl_status read_pixels(tl_images *out, mat_t *mat, const char *path, size_t most,
                             size_t *claimed, tl_error *err)
{
    matvar_t *x = Mat_VarReadInfo(mat, "X");
    tl_status status = check_pixels(out, x, path, most, err);

    if (status == TL_OK) {
        *claimed = x->dims[3];
        const size_t size = out->count * out->channels * out->height * out->width;
        unsigned char *data = malloc(size);
        if (!data)
            status = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
        else if (Mat_VarReadDataLinear(mat, x, data, 0, 1, (int)size) != 0)
            status = tl_fail(err, TL_ERR_PARSE, "%s: X: expected %zu bytes of pixels, found fewer",
                             path, size);
        else
            turn(out, data);
        free(data);
    }
    Mat_VarFree(x);
    return status;
}

static tl_status label_at(const matvar_t *y, size_t i, double *label)
{
    switch (y->class_type) {
    case MAT_C_UINT8:
        *label = ((const unsigned char *)y->data)[i];
        return TL_OK;
    case MAT_C_DOUBLE:
        *label = ((const double *)y->data)[i];
        return TL_OK;
    default:
        return TL_ERR_PARSE;
    }
}

static tl_status read_labels(tl_images *out, mat_t *mat, const char *path, size_t claimed,
                             tl_error *err)
{
    matvar_t *y = Mat_VarReadInfo(mat, "y");
    tl_status status = TL_OK;

    if (!y || y->rank != 2 || y->isComplex || y->dims[0] != claimed || y->dims[1] != 1)
        status = tl_fail(err, TL_ERR_SHAPE, "%s: expected labels y, %zu x 1, found %s", path,
                         claimed, y ? "another shape" : "none");
    else if (Mat_VarReadDataAll(mat, y) != 0 || !y->data)
        status =
            tl_fail(err, TL_ERR_PARSE, "%s: y: expected %zu labels, found fewer", path, claimed);
    if (status == TL_OK) {
        out->labels = malloc(out->count);
        if (!out->labels) status = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", path);
    }
    for (size_t i = 0; status == TL_OK && i < out->count; i++) {
        double label = 0;
        if (label_at(y, i, &label) != TL_OK || !(label >= 1 && label <= 10) ||
            label != (double)(int)label)
            status = tl_fail(err, TL_ERR_PARSE, "%s: y[%zu]: expected 1 to 10, found %g", path, i,
                             label);
        else
            out->labels[i] = (unsigned char)((int)label % 10);
    }
    Mat_VarFree(y);
    return status;
}

tl_status tl_images_read_svhn(tl_images *out, const char *path, size_t most, tl_error *err)
{
    mat_t *mat = Mat_Open(path, MAT_ACC_RDONLY);
    size_t claimed = 0;

    if (!mat) return tl_fail(err, TL_ERR_PARSE, "%s: expected a MATLAB 5 file", path);
    tl_status status = read_pixels(out, mat, path, most, &claimed, err);
    if (status == TL_OK) status = read_labels(out, mat, path, claimed, err);
    (void)Mat_Close(mat);
    return status;
}
#else
tl_status tl_images_read_svhn(tl_images *out, const char *path, size_t most, tl_error *err)
{
    (void)out;
    (void)most;
    return tl_fail(err, TL_ERR_UNSUPPORTED,
                   "%s: expected IDX or CIFAR-10, found a MATLAB file, which this build leaves out "
                   "(libmatio-dev)",
                   path);
}
#endif
