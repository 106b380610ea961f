#include "attention/panels.h"

#define REAL double
#define GEMM tl_gemm
#define TANGENT tl_softmax_tangent
#define EXP tl_softmax_exp
#define NAME(x) tl_panels##x

#include "attention/panels_body.h"
