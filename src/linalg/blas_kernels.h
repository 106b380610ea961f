/* Kernels of OpenBLAS. Internal to src/linalg. */
#ifndef TIGHTLIP_LINALG_BLAS_KERNELS_H
#define TIGHTLIP_LINALG_BLAS_KERNELS_H

/* By what openblas_get_config() says: a value of OPENBLAS_CORETYPE whose vectors, of at most `bits`
 * bits (128, 256, 512), are wider than those of the kernels it picked; NULL: none. */
const char *tl_blas_wider(const char *config, int bits);

#endif
