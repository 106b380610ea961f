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

/* No lane holds anything. */
void tl_batch_clear(tl_batch *b);
/* m atoms x (m x d) with their log-masses; A (d x d) in place of the head's, or NULL; v (m x d), a
 * start for the right singular vector, or NULL. */
void tl_batch_put(tl_batch *b, size_t lane, size_t m, const double *x, const double *log_mass,
                  const double *A, const double *v);
/* The norms, and with `gradient` the gradients of their logarithms. */
void tl_batch_norms(tl_batch *b, bool gradient);

/* Of a lane: the norm, NAN where it has to be computed otherwise (far masses, logits that are no
 * numbers or too large, a top that was not told). */
double tl_batch_norm(const tl_batch *b, size_t lane);
/* Whether the norm of the split block of atom k may be larger: ||S||_2^2 is at most ||S'S||_F. And
 * a quick answer for all atoms at once. */
bool tl_batch_may_exceed(const tl_batch *b, size_t lane, size_t k);
bool tl_batch_none_exceeds(const tl_batch *b, size_t lane);
/* The right singular vector (m x d), and the gradient of log norm: gx m x d, ga m, gA d x d or
 * NULL (kind dot). */
void tl_batch_vector(const tl_batch *b, size_t lane, double *v);
void tl_batch_gradient(const tl_batch *b, size_t lane, double *gx, double *ga, double *gA);

#endif
