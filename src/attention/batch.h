/* Norms of the joint block, and their gradients, at eight measures side by side: a measure in each
 * lane of a vector, so that no operation waits for a sum over lanes and eight chains run at once.
 * One head, no O, v = d, of kind dot in short form (head->K NULL) or of kind l2 with k = d, few
 * atoms. What a lane comes to depends on its measure alone, and on how many atoms the largest has;
 * above 16 columns whether it is known depends on the others too. */
#ifndef ATTENTION_BATCH_H
#define ATTENTION_BATCH_H

#include "tightlip/attention.h"

enum { TL_BATCH = 8 };

typedef struct tl_batch tl_batch;

/* The most atoms of a measure, 0 where the layer is not of that kind. */
size_t tl_batch_atoms(const tl_layer *layer);
/* Borrows the layer, whose kind, head and mask stay. NULL: out of memory. */
tl_batch *tl_batch_alloc(const tl_layer *layer, size_t m_max);
void tl_batch_free(tl_batch *b);

/* What lanes are asked, and where their answers go: rows of each. */
typedef struct {
    size_t count;                                   /* lanes in use, those from 0 on */
    size_t m[TL_BATCH];                             /* 0: the lane holds nothing */
    const double *x[TL_BATCH], *log_mass[TL_BATCH]; /* m x d, m */
    const double *A[TL_BATCH];                      /* d x d in place of the head's, where turned */
    double *v[TL_BATCH];                 /* m x d: a start for the right singular vector, zero for
                                            none, which becomes that vector, of no special length */
    double *gx[TL_BATCH], *ga[TL_BATCH]; /* gradient of log norm, where slopes: m x d, m .. */
    double *gA[TL_BATCH];                /* .. and, where slopes_A, d x d (kind dot) */
    bool turned, slopes, slopes_A;
} tl_batch_points;

/* Up to TL_BATCH measures, each in its lane; one alone in all of them. No answer is written of
 * lanes whose log norm is NAN. */
void tl_batch_norms(tl_batch *b, const tl_batch_points *points);
/* Of those measures: log of the norm, NAN where it has to be computed otherwise (far masses, logits
 * that are no numbers or too large, a top that was not told). */
const double *tl_batch_log_norms(const tl_batch *b);
/* Whether the norm of the split block of atom k may be larger: ||S||_2^2 is at most ||S'S||_F. And
 * a quick answer for all atoms of all those lanes at once; where none exceeds, the first is not
 * there. */
bool tl_batch_may_exceed(const tl_batch *b, size_t lane, size_t k);
bool tl_batch_none_exceeds(const tl_batch *b);

#endif
