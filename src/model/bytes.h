/* The bytes of a file, decompressed on the way where it is a gzip file. */
#ifndef TIGHTLIP_MODEL_BYTES_H
#define TIGHTLIP_MODEL_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "tightlip/status.h"

/* Deflate never makes more bytes than this out of one. */
enum { TL_DEFLATE_MOST = 1032 };

typedef struct {
    const char *path; /* borrowed */
    void *stream;
    uint64_t limit; /* no more bytes than this can come out: the size, or what deflate can reach */
} tl_bytes;

/* Errors: TL_ERR_IO (not there, not a regular file), TL_ERR_UNSUPPORTED (gzip without zlib). */
TL_MUST_USE tl_status tl_bytes_open(tl_bytes *out, const char *path, tl_error *err);
/* Up to size bytes; *found below size only at the end. Errors: TL_ERR_IO, TL_ERR_PARSE (broken
 * compression). */
TL_MUST_USE tl_status tl_bytes_some(tl_bytes *in, void *buffer, size_t size, size_t *found,
                                    tl_error *err);
/* Exactly size bytes. Errors: TL_ERR_PARSE at the end of the file. */
TL_MUST_USE tl_status tl_bytes_read(tl_bytes *in, void *buffer, size_t size, tl_error *err);
/* Nothing left. Errors: TL_ERR_PARSE. */
TL_MUST_USE tl_status tl_bytes_end(tl_bytes *in, tl_error *err);
void tl_bytes_close(tl_bytes *in);

#endif
