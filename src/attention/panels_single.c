#include "attention/panels.h"

#define REAL float
#define GEMM tl_gemm_single
#define TANGENT tl_softmax_tangent_single
#define EXP tl_softmax_exp_single
#define NAME(x) tl_panels_single##x

#include "attention/panels_body.h"
