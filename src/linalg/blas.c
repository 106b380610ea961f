/* Known to the provider alone: absent symbols are null, so no provider is required. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "linalg/blas_kernels.h"
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

const char *tl_blas_wider(const char *config, int bits)
{
    /* What a processor that is in no table gets, by its maker and how much was looked at. */
    static const struct {
        const char *name;
        int bits;
    } kernels[] = {{" Prescott ", 128},    {" Nehalem ", 128}, {" Barcelona ", 128},
                   {" Sandybridge ", 256}, {" Haswell ", 256}, {" Zen ", 256}};
    if (!strstr(config, " DYNAMIC_ARCH ")) return NULL;
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        if (strstr(config, kernels[k].name))
            return bits <= kernels[k].bits ? NULL : bits < 512 ? "HASWELL" : "SKYLAKEX";
    return NULL;
}

/* Vectors that kernels can have here: those of Haswell use fused products too. */
static int vector_bits(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return 512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 256;
#endif
    return 128;
}

/* Asked for kernels that it was built without it would take the narrowest. Each has a table of that
 * name. */
static bool are_there(const char *kernels)
{
    char table[40];
    void *all = dlopen(NULL, RTLD_LAZY);
    (void)snprintf(table, sizeof table, "gotoblas_%s", kernels);
    const bool there = all && dlsym(all, table);
    if (all) (void)dlclose(all);
    return there;
}

void tl_blas_start_wider(char **argv)
{
    static const char variable[] = "OPENBLAS_CORETYPE";
    if (!openblas_get_config || getenv(variable)) return;
    const char *wider = tl_blas_wider(openblas_get_config(), vector_bits());
    if (!wider || !are_there(wider) || setenv(variable, wider, 1) != 0) return;
    (void)execv("/proc/self/exe", argv);
    (void)unsetenv(variable); /* still here */
}
