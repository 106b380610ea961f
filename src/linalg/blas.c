/* Known to the provider alone: absent symbols are null, so no provider is required. */
#include <stddef.h>

#include "tightlip/linalg.h"

extern char *openblas_get_config(void) __attribute__((weak));
extern void openblas_set_num_threads(int threads) __attribute__((weak));
extern char *bli_info_get_version_str(void) __attribute__((weak));
extern void bli_thread_set_num_threads(long threads) __attribute__((weak));

const char *tl_blas_provider(void)
{
    /* BLIS first: LAPACK may bring an OpenBLAS along that is not the one called here. */
    if (bli_info_get_version_str) return "BLIS";
    if (openblas_get_config) return openblas_get_config();
    return "reference BLAS";
}

void tl_blas_single_thread(void)
{
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    if (bli_thread_set_num_threads) bli_thread_set_num_threads(1);
}
