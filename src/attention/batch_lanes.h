/* Measures as lanes: what the files of batch.h share. Every matrix is one of vectors, a number of
 * each measure in each. */
#ifndef ATTENTION_BATCH_LANES_H
#define ATTENTION_BATCH_LANES_H

#include "attention/batch.h"
#include "linalg/lanes.h"
#include "tightlip/linalg.h"

#pragma STDC FP_CONTRACT ON

enum { BATCH_WIDTH = 8, BATCH_COORDINATES = TL_TOP_SMALL, BATCH_ATOMS = BATCH_COORDINATES };

struct tl_batch {
    const tl_layer *layer;
    size_t stride;      /* of the rows of M, in vectors */
    size_t m_max, d, m; /* m: the largest number of atoms */
    double largest_v;   /* entry of V */
    wide8l good;        /* lanes whose norm is known */
    wide8 *x;           /* m x d */
    wide8 *alpha;       /* m: log-masses, those of atom 0 behind the last */
    wide8 *present;     /* m: 1, and 0 behind the last */
    wide8 *A, *V;       /* d x d: map of the queries, scale included; of the values */
    wide8 *q;
    wide8 *off;     /* m x d: x - x_0 */
    wide8 *key;     /* m x d: off itself, K off for kind l2 */
    wide8 *centred; /* m x m x d: off less its mean in row i, where kept */
    wide8 *cross;   /* m x d x d: mean of V off key' in row i, both less their means */
    bool l2;        /* kind l2, Q, K of width d: logits -|query - shift|^2 / (2 twice), where */
    bool tied;      /* K = Q */
    double twice;   /* 2 / sqrt k */
    wide8 *K;       /* d x d; A = twice Q */
    wide8 *query;   /* m x d: twice (Q x - K x_0) */
    wide8 *shift;   /* m x d: twice key */
    wide8 *against; /* m x d: K' shift, as q = K' query: d logit_il / d x_l = q_i - against_l */
    wide8 *moved;   /* m x d: K v */
    wide8 *pull;    /* m x d: slopes in keys */
    wide8 *P, *R;   /* m x m, as in tl_head_state */
    wide8l *first;  /* m x m: all bits where l is the ref of row i */
    wide8 *split;   /* m: fourth powers */
    wide8 *M, *S;   /* joint block, m split blocks */
    wide8 *u, *v;   /* m x d */
    wide8 weight;   /* times u it is M v / |M v|^2 */
    wide8 limit;    /* fourth power of the norm, less what is lost by rounding */
    bool below;     /* in no known lane that of a split block comes near */
    wide8 top, log_norm; /* square of the norm; NAN: not known */
    wide8 *gx, *ga, *gA;
    bool turned;  /* A is not the head's */
    bool even;    /* all lanes have m atoms */
    bool written; /* the answers are where they are to go */
    wide8 *pad;   /* rows of lanes with fewer atoms, and of what is not asked */
    wide8 *work;  /* of tl_top_batch */
    void *buffer; /* owns all of them */
};

/* Rows of m atoms for every lane: those of the points, or in room. */
const tl_batch_points *tl_batch_rows(tl_batch *b, const tl_batch_points *points,
                                     tl_batch_points *room);
/* All but the answers of unknown lanes to where the points want them. */
void tl_batch_write(const tl_batch *b, const tl_batch_points *points);
/* All lanes to where `to` has rows for them. */
void tl_batch_write_all(const tl_batch *b, const tl_batch_points *to);
/* From rows to norms and gradients in lanes. The same in one piece, and the answers too where all
 * lanes are known; false where that is not made for the size. */
void tl_batch_steps(tl_batch *b, const tl_batch_points *rows);
bool tl_batch_whole(tl_batch *b, const tl_batch_points *rows);

/* Less its value at the ref, then less the mean under p: exact however saturated the row is. The
 * first d of `stride` numbers of every atom, to the same places of out. */
WIDE_BODY void batch_centre(size_t m, size_t d, size_t stride, const wide8 *p, const wide8l *first,
                            const wide8 *x, wide8 *out)
{
    wide8l at_ref[BATCH_WIDTH];
    wide8 mean[BATCH_WIDTH];
    for (size_t r = 0; r < d; r++) {
        at_ref[r] = (wide8l){0};
        mean[r] = (wide8){0};
    }
    for (size_t l = 0; l < m; l++) {
        const wide8l here = first[l];
        for (size_t r = 0; r < d; r++) at_ref[r] |= (wide8l)x[l * stride + r] & here;
    }
    for (size_t l = 0; l < m; l++) {
        const wide8 weight = p[l];
        for (size_t r = 0; r < d; r++) {
            const wide8 off = x[l * stride + r] - (wide8)at_ref[r];
            out[l * stride + r] = off;
            mean[r] += weight * off;
        }
    }
    for (size_t l = 0; l < m; l++)
        for (size_t r = 0; r < d; r++) out[l * stride + r] -= mean[r];
}

/* out = W x, d known to the compiler here and below */
WIDE_BODY void batch_image(size_t d, const wide8 *W, const wide8 *x, wide8 *out)
{
    for (size_t r = 0; r < d; r++) {
        wide8 sum = W[r * d] * x[0];
        for (size_t c = 1; c < d; c++) sum += W[r * d + c] * x[c];
        out[r] = sum;
    }
}

/* out += W' x */
WIDE_BODY void batch_add_image_t(size_t d, const wide8 *W, const wide8 *x, wide8 *out)
{
    for (size_t c = 0; c < d; c++) {
        wide8 sum = W[c] * x[0];
        for (size_t r = 1; r < d; r++) sum += W[r * d + c] * x[r];
        out[c] += sum;
    }
}

/* y += a x */
WIDE_BODY void batch_add(size_t d, const wide8 *a, const wide8 *x, wide8 *y)
{
    for (size_t r = 0; r < d; r++) y[r] += *a * x[r];
}

/* Whether centred is kept for the gradient: where that costs less than its products are centred
 * for.
 */
enum { BATCH_KEPT = 64 };
WIDE_BODY bool batch_keeps(size_t m, size_t d, bool l2)
{
    return !l2 && m * m * d <= BATCH_KEPT;
}

/* d logit_il / d x_l, d apart for kind l2, else the same for all l. */
WIDE_BODY const wide8 *batch_slopes(const tl_batch *b, size_t m, size_t d, bool l2, size_t i,
                                    wide8 *room)
{
    const wide8 *q = b->q + i * d;
    if (!l2) return q;
    for (size_t l = 0; l < m; l++)
        for (size_t r = 0; r < d; r++) room[l * d + r] = q[r] - b->against[l * d + r];
    return room;
}

#pragma STDC FP_CONTRACT DEFAULT

#endif
