/* The formats of images.h. Internal to the model module. */
#ifndef TIGHTLIP_MODEL_IMAGES_FORMATS_H
#define TIGHTLIP_MODEL_IMAGES_FORMATS_H

#include <stdint.h>

#include "tightlip/images.h"

enum { TL_IMAGES_SIDE_MOST = 4096 };

/* Checks out's sizes and takes its pixels. claimed: images in the file by its header; limit: bytes
 * it can hold; most: as in tl_images_read. */
TL_MUST_USE tl_status tl_images_alloc(tl_images *out, const char *path, uint64_t claimed,
                                      uint64_t limit, size_t most, tl_error *err);

TL_MUST_USE tl_status tl_images_read_idx(tl_images *out, const char *images, const char *labels,
                                         size_t most, tl_error *err);
TL_MUST_USE tl_status tl_images_read_cifar(tl_images *out, const char *path, size_t most,
                                           tl_error *err);
/* images_svhn.c */
TL_MUST_USE tl_status tl_images_read_svhn(tl_images *out, const char *path, size_t most,
                                          tl_error *err);

#endif
