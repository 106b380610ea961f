#include "tightlip/version.h"

#include "tightlip_version.h" /* written by the Makefile */

const char *tl_version(void)
{
    return TL_BUILD_VERSION;
}

const char *tl_git_id(void)
{
    return TL_BUILD_GIT;
}

const char *tl_compiler(void)
{
    return TL_BUILD_COMPILER;
}

const char *tl_build_flags(void)
{
    return TL_BUILD_FLAGS;
}
