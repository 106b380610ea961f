/* Files written whole or not at all, and read whole. */
#ifndef TIGHTLIP_FILE_H
#define TIGHTLIP_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "tightlip/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes size bytes to path: into `path.tmp-<pid>` in the same directory, synced to disk, then
 * renamed, so that path holds either its old contents or all of the new ones. A symbolic link keeps
 * pointing to the file, which is replaced (one that leads nowhere is replaced itself); a device or
 * pipe (which cannot be renamed onto) is written to directly. On failure the temporary file is
 * removed. Two threads of one process must not write the same path at once. Errors: TL_ERR_IO (with
 * path, step and reason), TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_file_write(const char *path, const void *data, size_t size, tl_error *err);

/* Makes the directory where there is none; its parents must exist. Errors: TL_ERR_IO. */
TL_MUST_USE tl_status tl_file_make_directory(const char *path, tl_error *err);

/* All bytes of the regular file at path, *size of them and a 0 behind them, owned by the caller
 * (free); directories, pipes and devices are refused. Errors: TL_ERR_IO, TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_file_read(const char *path, char **out, size_t *size, tl_error *err);

/* 64-bit FNV-1a hash and length of the file at path, read once from front to back: tells whether it
 * is still the same, not who made it. Errors: TL_ERR_IO. */
TL_MUST_USE tl_status tl_file_hash(const char *path, uint64_t *hash, uint64_t *bytes,
                                   tl_error *err);
/* The same of bytes in memory: that of what `hash` is of, or of nothing (TL_FILE_HASH_BEGIN), and
 * then of data. */
#define TL_FILE_HASH_BEGIN UINT64_C(14695981039346656037)
uint64_t tl_file_hash_on(uint64_t hash, const void *data, size_t size);
/* The existing directory `to` as seen from the existing directory `from` ("../../experiments", "."
 * for itself), links followed; owned by the caller. NULL: one is not there, or out of memory. */
char *tl_file_relative(const char *from, const char *to);

#ifdef __cplusplus
}
#endif
#endif
