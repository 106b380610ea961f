/* What this build is. Errors: none. Source: tightlip_version.h, which the Makefile writes. */
#ifndef TIGHTLIP_VERSION_H
#define TIGHTLIP_VERSION_H

#ifdef __cplusplus
extern "C" {
#endif

/* Static storage, never NULL. */
const char *tl_version(void);  /* "0.1.0" */
const char *tl_git_id(void);   /* "git describe --always --dirty" of the build, or "unknown" */
const char *tl_compiler(void); /* compiler and its version */
const char *tl_build_flags(void);

#ifdef __cplusplus
}
#endif

#endif
