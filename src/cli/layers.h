/* tightlip layers: what is measured of the attention layers of a model, and how it is shown. */
#ifndef TIGHTLIP_CLI_LAYERS_H
#define TIGHTLIP_CLI_LAYERS_H

#include "cli/cli.h"
#include "tightlip/transformer.h"
#include "tightlip/words.h"

enum { LAYERS_MOST = 256 };

typedef struct {
    size_t layer[LAYERS_MOST], layers;
    long head[LAYERS_MOST]; /* -1: all heads with the output matrix */
    size_t heads;
    size_t n[LAYERS_MOST], lengths; /* rising */
    tl_precision precision;
    bool bounds;
    size_t adversarial; /* tokens of the comparison below; 0: none */
    size_t restarts, evaluations;
    uint64_t seed;
    const volatile int *stop; /* set to nonzero by a signal handler */
} layers_plan;

typedef struct {
    size_t layer;
    long head;
    size_t n;
    double norm, residual, jt_f, mean_radius, max_radius;
    const char *bound; /* the least that is proven or published, NULL: none was asked for */
    double log_bound;
} layers_row;

/* One head, n tokens: values of ||J||, all found, none the supremum. */
typedef struct {
    size_t layer;
    long head;
    size_t n;
    double radius;                             /* of the ball: it holds the ellipsoid */
    double castin_ball, search_ball;           /* adversarial tokens at that radius; search */
    double castin_ellipsoid, search_ellipsoid; /* the same, on the outputs of the layer norm */
} layers_attack;

typedef struct {
    layers_row *row; /* owned */
    size_t rows;
    layers_attack *attack; /* owned */
    size_t attacks;
    bool interrupted; /* some are missing */
} layers_report;

/* layers_input.c: what the model is to see; owned. */
typedef struct {
    uint32_t *id;
    double *pixels;
    size_t count;
} layers_input;

/* Either a file of pixels, or a text; vocabulary: directory of a trained model, which has its own,
 * or NULL. */
TL_MUST_USE tl_status layers_input_read(layers_input *out, const tl_transformer_config *c,
                                        const char *pixels, const char *text,
                                        const char *vocabulary, tl_numbering how, tl_error *err);
void layers_input_clear(layers_input *input);

/* id: as many as the longest text of the plan; vit: pixels. Errors: those of what is measured;
 * TL_ERR_INTERRUPTED when the plan's stop was set before all was done: the report then has the rows
 * and comparisons that were. */
TL_MUST_USE tl_status layers_measure(layers_report *report, const tl_transformer *model,
                                     const layers_plan *plan, const tl_transformer_input *input,
                                     tl_error *err);
void layers_report_clear(layers_report *report);

void layers_print(const layers_report *report, const tl_transformer *model);
/* layers_files.c: the rows with the names of columns that data.csv of a run has; NULL when out of
 * memory, owned by the caller. */
char *layers_csv(const layers_report *report);
/* data.csv, manifest.json and the plots, in a directory that is made where there is none. subject:
 * what the model has seen. */
TL_MUST_USE tl_status layers_write(const layers_report *report, const tl_transformer *model,
                                   const char *subject, const char *directory, tl_error *err);
/* Rows of a call that was interrupted replace no earlier results in the directory: they go to a
 * file beside them, which the next whole call removes. */
#define LAYERS_PARTIAL "data.csv.partial"
bool layers_go_beside(const layers_report *report, const char *directory);
TL_MUST_USE tl_status layers_write_beside(const layers_report *report, const char *directory,
                                          tl_error *err);
/* "all" or the number. */
const char *layers_head_text(char *text, size_t size, long head);
json_t *layers_json(const layers_report *report, const tl_transformer *model);

#endif
