/* A small vision transformer whose answer can be proven stable: its forward pass, an l2 radius
 * within which no perturbation of the image changes the answer, and attacks beside it.
 *
 * Network, one image at a time, X an n x d array of tokens:
 *   patches    X_i = W p_i + b + position_i, p_i the pixels of patch i, channel by channel
 *   blocks     X -> min(1, r/|X|_F) X (nearest point of a Frobenius ball), or
 *              x_i -> gain (x_i - mean of its entries)
 *              X -> X + scale attention(X), several heads
 *              X -> x_i - 2 W T^-1 relu(W'x_i + b) for each token, T diagonal with
 *              T_j = sum_k |W'W|_jk q_k/q_j: 1-Lipschitz
 *   head       logits = W mean_i(x_i) + b, or of all tokens side by side
 * Proofs: src/robust/README.md. Source: Havens, Araujo, Zhang, Hu 2024; the residual blocks are
 * the SDP-based layers of Araujo, Havens, Delattre, Allauzen, Hu 2023. */
#ifndef TIGHTLIP_LIVIT_H
#define TIGHTLIP_LIVIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tightlip/images.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tl_livit tl_livit;

/* Reads a safetensors file and refuses what it does not know. Tensors, i and j from 0 on:
 *   image.shape                     channels, height, width
 *   patch.weight, patch.bias        d x (channels side side), d; the sides divide the image's
 *   positions                       n x d
 *   block{i}.ball                   r, or block{i}.centre: gain
 *   block{i}.attn.{q,k,v}.weight    rows that divide by the heads, x d; .bias optional
 *   block{i}.attn.out.weight        d x rows of v
 *   block{i}.attn.heads, .scale     one number each; logits are over sqrt(rows of q / heads)
 *   block{i}.sll{j}.weight, .bias, .q    d x m, m, m > 0; any number of them
 *   head.weight, head.bias          classes x d (mean of the tokens) or classes x n d, classes
 * The stored numbers define the network, with scale times out.weight and 1/T as rounded here (1/T
 * so that the block stays 1-Lipschitz). Errors: those of tl_weights_open and _read;
 * TL_ERR_ARGUMENT (a tensor is missing, or is no part of the network; it is named), TL_ERR_SHAPE,
 * TL_ERR_DOMAIN (a number out of its range), TL_ERR_MEMORY. Cost: O(hidden^2 d) for each block. */
TL_MUST_USE tl_status tl_livit_open(tl_livit **out, const char *path, tl_error *err);
void tl_livit_free(tl_livit *net);

typedef struct {
    size_t channels, height, width; /* of an image */
    size_t tokens, d, blocks, classes;
} tl_livit_shape;

tl_livit_shape tl_livit_shape_of(const tl_livit *net);

/* One image on its way through the network. Borrows net. Not shared between threads. */
typedef struct tl_livit_pass tl_livit_pass;

TL_MUST_USE tl_status tl_livit_pass_alloc(tl_livit_pass **out, const tl_livit *net, tl_error *err);
void tl_livit_pass_free(tl_livit_pass *pass);

/* Forward. Shapes: pixels channels x height x width, finite. Errors: TL_ERR_NUMERIC (attention
 * logits overflow). Cost: O(n d hidden + n^2 d) for each block. */
TL_MUST_USE tl_status tl_livit_forward(tl_livit_pass *pass, const double *pixels, tl_error *err);
/* Of the last forward: classes of them, and the class of the largest (the first of equals). */
const double *tl_livit_logits(const tl_livit_pass *pass);
size_t tl_livit_predicted(const tl_livit_pass *pass);
/* gradient (channels x height x width) of the sum of cotangent_c logit_c at the last forward. */
void tl_livit_gradient(tl_livit_pass *pass, const double *cotangent, double *gradient);

/* Prepares the three functions below at the image of the last forward: one curve of the LoFAST
 * bound for each block. Errors: those of tl_lofast_curve_at. Cost: an SVD of n d x n d a block. */
TL_MUST_USE tl_status tl_livit_bound(tl_livit_pass *pass, tl_error *err);
/* How far, in l2, the features in front of the head can lie from those computed for the clean image
 * when its pixels move by at most epsilon: exact arithmetic on the moved image against the numbers
 * of the last forward, so that it covers their rounding; rounded up; increasing in epsilon. The
 * features are the tokens together; their mean moves by 1/sqrt(n) of it. */
double tl_livit_reach(const tl_livit_pass *pass, double epsilon);
/* Whether the network, in exact arithmetic, answers `label` for every image within epsilon:
 * logit_label - logit_j > |w_label - w_j| reach(epsilon) for every other j, rounding included. */
bool tl_livit_certified(const tl_livit_pass *pass, size_t label, double epsilon);
/* An epsilon that is certified, to a relative 1e-6 below the largest one; 0 where epsilon = 0 is
 * not certified, at most 1e6. Cost: some 60 evaluations of the curves. */
double tl_livit_radius(const tl_livit_pass *pass, size_t label);

typedef struct {
    size_t restarts; /* the first from the image itself, the others from the ball; 0: no attack */
    size_t steps;
    uint64_t seed;
    uint64_t first; /* number of the first image of a set: its part is attacked as the whole is */
    const volatile int *stop; /* set to nonzero by a signal handler: ends after the step in hand;
                                 NULL: never */
} tl_livit_attack;

/* 4 restarts of 40 steps. */
void tl_livit_attack_defaults(tl_livit_attack *settings);

/* Projected gradient ascent on the largest other logit less that of label, in the l2 ball about
 * pixels (values may leave [0, 1], as the certificate allows). stream: a number of this image, so
 * that results do not depend on the order. *found: whether moved (channels x height x width) is
 * within epsilon and not answered by label. Overwrites the forward of pass. Errors: those of
 * tl_livit_forward, TL_ERR_MEMORY, TL_ERR_INTERRUPTED (stop was set before a step, without a word
 * in err). Cost: restarts x steps forward and backward passes at most. */
TL_MUST_USE tl_status tl_livit_attack_run(tl_livit_pass *pass, const double *pixels, size_t label,
                                          double epsilon, const tl_livit_attack *settings,
                                          uint64_t stream, double *moved, bool *found,
                                          tl_error *err);

/* One image of a set. */
typedef struct {
    size_t label;     /* given, or the prediction where there are no labels */
    size_t predicted; /* of the clean image */
    double margin;    /* logit of the label less the largest other one */
    double radius;    /* tl_livit_radius for the label: 0 where it is not predicted */
    /* Per epsilon: an attack within it changed the answer from the label (true from the start where
     * the label is not predicted). In one block with those of other images. */
    bool *attacked;
} tl_livit_row;

typedef struct {
    size_t rows, epsilons;
    tl_livit_row *row;
    bool *block;
    bool labelled, refuted; /* an attack succeeded within a certified radius */
} tl_livit_report;

/* Every image; epsilon[] rising. Pixels are bytes / 255. An attack at one epsilon counts at larger
 * ones. Parallel over images (OpenMP); results do not depend on the threads. Errors: TL_ERR_SHAPE
 * (images of another size), TL_ERR_DOMAIN (a label no class has), and those above;
 * TL_ERR_INTERRUPTED when attack->stop was set before all was done: *report then has the images
 * before the first that is not, perhaps none, as if the set had no others; `refuted` is about every
 * image that was done. */
TL_MUST_USE tl_status tl_livit_evaluate(tl_livit_report *report, const tl_livit *net,
                                        const tl_images *images, const double *epsilon,
                                        size_t epsilons, const tl_livit_attack *attack,
                                        tl_error *err);
void tl_livit_report_clear(tl_livit_report *report);
/* Shares of the images, 0 where there are none: radius >= epsilon; no attack found at epsilon[i];
 * the label predicted. */
double tl_livit_share_certified(const tl_livit_report *report, double epsilon);
double tl_livit_share_standing(const tl_livit_report *report, size_t i);
double tl_livit_share_clean(const tl_livit_report *report);

#ifdef __cplusplus
}
#endif

#endif
