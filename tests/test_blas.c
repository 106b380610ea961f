#include <criterion/criterion.h>
#include <string.h>

#include "linalg/blas_kernels.h"
#include "tightlip/linalg.h"

Test(blas, provider_is_named)
{
    cr_assert_gt(strlen(tl_blas_provider()), 0);
}

Test(blas, kernels_wider_than_those_of_an_unknown_processor)
{
    static const struct {
        const char *config, *wider[3]; /* of 128, 256, 512 bits */
    } cases[] = {
        {"OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH NO_AFFINITY Prescott MAX_THREADS=64",
         {NULL, "HASWELL", "SKYLAKEX"}},
        {"OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY Barcelona MAX_THREADS=64",
         {NULL, "HASWELL", "SKYLAKEX"}},
        {"OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY Haswell MAX_THREADS=64",
         {NULL, NULL, "SKYLAKEX"}},
        {"OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY Zen MAX_THREADS=64", {NULL, NULL, "SKYLAKEX"}},
        {"OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY SkylakeX MAX_THREADS=64", {NULL, NULL, NULL}},
        {"OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY Cooperlake MAX_THREADS=64", {NULL, NULL, NULL}},
        {"OpenBLAS 0.3.21 DYNAMIC_ARCH NO_AFFINITY neoversen1 MAX_THREADS=64", {NULL, NULL, NULL}},
        {"OpenBLAS 0.3.21 NO_AFFINITY Prescott MAX_THREADS=64", {NULL, NULL, NULL}}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int k = 0; k < 3; k++) {
            const char *wider = tl_blas_wider(cases[i].config, 128 << k);
            const char *expected = cases[i].wider[k];
            cr_expect(!wider == !expected && (!wider || strcmp(wider, expected) == 0),
                      "%s, %d bits: %s", cases[i].config, 128 << k, wider ? wider : "none");
        }
}
