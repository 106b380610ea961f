/* What the files of runs share. */
#ifndef ATTENTION_RUNS_STATE_H
#define ATTENTION_RUNS_STATE_H

#include "attention/internal.h"
#include "attention/runs.h"

typedef struct {
    double *P;     /* n x r: attention of token i to all copies of a run that it sees */
    double *slope; /* n x r, kind sigmoid */
    size_t *ref;   /* n */
} tl_runs_rows;

struct tl_runs {
    size_t n, r;
    size_t *first; /* r + 1: where runs begin */
    tl_measure *atoms;
    tl_jacobian *J; /* images at the atoms; its rows are those of the tokens */
    tl_runs_rows *rows;
    double *F, *G;         /* n x r */
    double *side[3];       /* n x max(k_max, v_max, d) */
    double *mean, *mean_v; /* r x the same */
    double *cat;           /* n x values */
};

#endif
