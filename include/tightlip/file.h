/* Files written whole or not at all. */
#ifndef TIGHTLIP_FILE_H
#define TIGHTLIP_FILE_H

#include <stddef.h>

#include "tightlip/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Writes size bytes to path: into `path.tmp-<pid>` in the same directory, synced to disk, then
 * renamed, so that path holds either its old contents or all of the new ones. A symbolic link keeps
 * pointing to the file, which is replaced; a device or pipe (which cannot be renamed onto) is
 * written to directly. On failure the temporary file is removed. Two threads of one process must
 * not write the same path at once. Errors: TL_ERR_IO (with path, step and reason),
 * TL_ERR_MEMORY. */
TL_MUST_USE tl_status tl_file_write(const char *path, const void *data, size_t size, tl_error *err);

#ifdef __cplusplus
}
#endif
#endif
