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

/* What a lane is asked, and where its answers go. */
typedef struct {
    size_t m;                       /* 0: the lane holds nothing */
    const double *x, *log_mass, *A; /* m x d, m; d x d in place of the head's, or NULL */
    bool warm;                      /* v is a start for the right singular vector .. */
    double *v;                      /* .. and becomes it, m x d; or NULL */
    double *gx, *ga;                /* gradient of log norm: m x d, m; or both NULL, and gA */
    double *gA;                     /* d x d (kind dot); or NULL */
} tl_batch_point;

/* Up to TL_BATCH measures, each in its lane. */
void tl_batch_norms(tl_batch *b, size_t count, const tl_batch_point *points);
/* Of those measures: log of the norm, NAN where it has to be computed otherwise, and no answer is
 * written (far masses, logits that are no numbers or too large, a top that was not told). */
double tl_batch_log_norm(const tl_batch *b, size_t lane);
/* Whether the norm of the split block of atom k may be larger: ||S||_2^2 is at most ||S'S||_F. And
 * a quick answer for all atoms at once. */
bool tl_batch_may_exceed(const tl_batch *b, size_t lane, size_t k);
bool tl_batch_none_exceeds(const tl_batch *b, size_t lane);

#endif
