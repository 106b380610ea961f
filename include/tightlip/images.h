/* Labelled test images in the formats that data sets come in. */
#ifndef TIGHTLIP_IMAGES_H
#define TIGHTLIP_IMAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "tightlip/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    size_t count, channels, height, width;
    unsigned char *pixels; /* count x channels x height x width, owned */
    unsigned char *labels; /* count, owned, or NULL: none given */
} tl_images;

/* Reads the first `most` images of a file (0: all), told apart by its first bytes:
 *   IDX (MNIST, Fashion-MNIST)  labels from a second IDX file, `labels` (NULL: none)
 *   CIFAR-10 binary batch       records of label, red, green, blue; labels must be NULL
 *   MATLAB 5 (SVHN)             X height x width x channels x count and y with 10 for the digit 0;
 *                               labels must be NULL; needs a build with matio
 * The first two may be compressed by gzip, in a build with zlib. Everything a header claims is
 * checked against the size of the file before memory is taken. Errors, with the file, what was
 * expected and what was found: TL_ERR_IO, TL_ERR_PARSE (malformed, cut short, trailing bytes),
 * TL_ERR_SHAPE (as many labels as images), TL_ERR_LIMIT (a side above 4096, 2^31 bytes or more of
 * pixels), TL_ERR_UNSUPPORTED (a part left out of this build), TL_ERR_ARGUMENT, TL_ERR_MEMORY. On
 * failure *out is empty. */
TL_MUST_USE tl_status tl_images_read(tl_images *out, const char *images, const char *labels,
                                     size_t most, tl_error *err);
void tl_images_clear(tl_images *images);

/* What this build reads besides plain IDX and CIFAR-10 files. */
bool tl_images_reads_gzip(void);
bool tl_images_reads_matlab(void);

#ifdef __cplusplus
}
#endif

#endif
