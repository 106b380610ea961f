/* tightlip certify: within which l2 distance no perturbation of an image changes the answer. */
#include <gsl/gsl_statistics_double.h>
#include <omp.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "tightlip/livit.h"

#define CERTIFY_OPTIONS(X)                                                                        \
    X(IMAGES, "images", 'i', TEXT, "FILE", NULL, 0, 0, NULL,                                      \
      "IDX (also .gz), CIFAR-10 binary batch, or SVHN .mat; pixels count as byte / 255")          \
    X(LABELS, "labels", 'l', TEXT, "FILE", NULL, 0, 0, NULL,                                      \
      "IDX labels of IDX images; without labels an image counts as what it is answered by")       \
    X(COUNT, "count", 'n', COUNT, "N", NULL, 1, 1000000000, NULL, "the first N images (all)")     \
    X(EPSILON, "epsilon", 'e', TEXT, "E[,E2,..]", "0.1,0.25,0.5,1", 0, 0, NULL,                   \
      "l2 distances, rising, for the table")                                                      \
    X(PGD, "pgd", 0, FLAG, NULL, NULL, 0, 0, NULL, "attack the images too, at each epsilon")      \
    X(RESTARTS, "restarts", 0, COUNT, "K", "4", 1, 100000, NULL, "--pgd: starts for each image")  \
    X(STEPS, "steps", 0, COUNT, "K", "40", 1, 100000, NULL, "--pgd: gradient steps of a start")   \
    X(SEED, "seed", 's', COUNT, "S", "1", 0, 9007199254740992, NULL, "--pgd: seed of the starts") \
    X(EACH, "each", 0, FLAG, NULL, NULL, 0, 0, NULL, "a line for each image too")                 \
    X(THREADS, "threads", 'j', COUNT, "T", NULL, 1, 1024, NULL,                                   \
      "OpenMP threads; results do not depend on them")

enum {
#define X(id, ...) CERTIFY_##id,
    CERTIFY_OPTIONS(X) CERTIFY_COUNT_OF
#undef X
};

static const tl_cli_option options[CERTIFY_COUNT_OF] = {CERTIFY_OPTIONS(CLI_OPTION_ROW)};

enum { MOST_EPSILONS = 64 };

typedef struct {
    tl_livit_shape shape;
    tl_livit_report report;
    size_t count;
    double epsilon[MOST_EPSILONS + 1]; /* 0 first */
    bool attacked;
    double median; /* of the radii */
    bool interrupted;
} certify_report;

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static tl_status find_median(certify_report *c, tl_error *err)
{
    const size_t rows = c->report.rows;
    double *radius = malloc(rows * sizeof *radius);

    if (!radius) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < rows; i++) radius[i] = c->report.row[i].radius;
    qsort(radius, rows, sizeof *radius, by_size);
    c->median = gsl_stats_median_from_sorted_data(radius, 1, rows);
    free(radius);
    return TL_OK;
}

static tl_status evaluate(const tl_cli_call *call, certify_report *c, tl_error *err)
{
    const tl_cli_value *value = call->value;
    tl_livit *net = NULL;
    tl_images images = {0};
    const tl_livit_attack attack = {.stop = tl_cli_interrupts_catch("", 0),
                                    .restarts =
                                        c->attacked ? (size_t)value[CERTIFY_RESTARTS].count : 0,
                                    .steps = (size_t)value[CERTIFY_STEPS].count,
                                    .seed = value[CERTIFY_SEED].count};
    const size_t most = value[CERTIFY_COUNT].given ? (size_t)value[CERTIFY_COUNT].count : 0;
    tl_status status = tl_livit_open(&net, call->operand[0], err);

    if (status == TL_OK)
        status = tl_images_read(&images, value[CERTIFY_IMAGES].text, value[CERTIFY_LABELS].text,
                                most, err);
    if (status == TL_OK) {
        c->shape = tl_livit_shape_of(net);
        status = tl_livit_evaluate(&c->report, net, &images, c->epsilon, c->count, &attack, err);
        c->interrupted = status == TL_ERR_INTERRUPTED;
        if (status != TL_OK && !c->interrupted)
            tl_error_prefix(err, "%s", value[CERTIFY_IMAGES].text);
    }
    tl_images_clear(&images);
    tl_livit_free(net);
    return status;
}

static void print_rows(const certify_report *c)
{
    printf("%-8s %-6s %-10s %-14s %s\n", "image", "label", "predicted", "margin", "radius");
    for (size_t i = 0; i < c->report.rows; i++) {
        const tl_livit_row *row = &c->report.row[i];
        printf("%-8zu %-6zu %-10zu %-14.6g %.6g\n", i, row->label, row->predicted, row->margin,
               row->radius);
    }
    printf("\n");
}

static void print_report(const certify_report *c, bool each)
{
    const tl_livit_report *r = &c->report;

    printf("network    %zu tokens of width %zu, %zu block%s, %zu classes\n", c->shape.tokens,
           c->shape.d, c->shape.blocks, c->shape.blocks == 1 ? "" : "s", c->shape.classes);
    printf("images     %zu, %s\n", r->rows, r->labelled ? "labelled" : "no labels: see --labels");
    printf("radius     median %.6g (proven; 0 for wrong answers)\n\n", c->median);
    if (each) print_rows(c);
    printf("%-10s %-12s %s\n", "epsilon", "certified", c->attacked ? "under attack" : "");
    for (size_t e = 0; e < c->count; e++) {
        printf("%-10.6g %-12.4f ", c->epsilon[e], tl_livit_share_certified(r, c->epsilon[e]));
        if (c->attacked) printf("%.4f", tl_livit_share_standing(r, e));
        printf("\n");
    }
    const char *between = c->attacked ? "lies between certified and under attack" : NULL;
    if (r->labelled)
        printf("\nclean accuracy %.4f%s%s\n", tl_livit_share_clean(r),
               between ? "; the robust accuracy " : "", between ? between : "");
    else if (between)
        printf("\nthe share that keeps its answer %s\n", between);
}

static json_t *rows_json(const certify_report *c)
{
    json_t *rows = json_array();

    for (size_t i = 0; i < c->report.rows; i++) {
        const tl_livit_row *row = &c->report.row[i];
        tl_cli_json_append(&rows, json_pack("{s:I,s:I,s:o,s:o}", "label", (json_int_t)row->label,
                                            "predicted", (json_int_t)row->predicted, "margin",
                                            tl_cli_json_real(row->margin), "radius",
                                            tl_cli_json_real(row->radius)));
    }
    return rows;
}

static json_t *report_json(const certify_report *c)
{
    const tl_livit_report *r = &c->report;
    json_t *table = json_array();

    for (size_t e = 0; e < c->count; e++)
        tl_cli_json_append(
            &table,
            json_pack("{s:o,s:o,s:o}", "epsilon", tl_cli_json_real(c->epsilon[e]), "certified",
                      tl_cli_json_real(tl_livit_share_certified(r, c->epsilon[e])), "attacked",
                      c->attacked ? tl_cli_json_real(tl_livit_share_standing(r, e)) : json_null()));
    return json_pack("{s:I,s:b,s:b,s:o,s:o,s:b,s:o,s:o}", "count", (json_int_t)r->rows,
                     "interrupted", (int)c->interrupted, "labelled", (int)r->labelled, "clean",
                     r->labelled ? tl_cli_json_real(tl_livit_share_clean(r)) : json_null(),
                     "median_radius", tl_cli_json_real(c->median), "refuted", (int)r->refuted,
                     "table", table, "images", rows_json(c));
}

static tl_status show(tl_cli_call *call, certify_report *c, tl_error *err)
{
    const tl_status status = find_median(c, err);

    if (status != TL_OK) return status;
    if (call->json) return tl_cli_json_print(report_json(c));
    print_report(c, call->value[CERTIFY_EACH].given);
    return TL_OK;
}

static tl_status run_certify(tl_cli_call *call, tl_error *err)
{
    const tl_cli_value *value = call->value;
    certify_report c = {.attacked = value[CERTIFY_PGD].given};
    size_t count = 0;

    if (!value[CERTIFY_IMAGES].given)
        return tl_fail(err, TL_ERR_ARGUMENT, "expected --images FILE, found none");
    tl_status status = tl_cli_parse_rising("--epsilon", value[CERTIFY_EPSILON].text, c.epsilon + 1,
                                           MOST_EPSILONS, &count, err);
    c.count = count + 1;
    if (value[CERTIFY_THREADS].given) omp_set_num_threads((int)value[CERTIFY_THREADS].count);
    if (status == TL_OK) status = evaluate(call, &c, err);
    if (c.report.refuted) {
        fprintf(stderr, "tightlip: an attack changed an answer within its certified radius\n");
        call->refuted = true;
    }
    if (status == TL_OK || (c.interrupted && c.report.rows > 0)) {
        const tl_status shown = show(call, &c, status == TL_OK ? err : NULL);
        if (shown != TL_OK) status = shown;
    }
    tl_livit_report_clear(&c.report);
    return status;
}

const tl_cli_verb tl_cli_verb_certify = {
    .name = "certify",
    .operands = "--images FILE MODEL",
    .summary = "an l2 radius within which a small vision transformer's answer is proven to stand",
    .details =
        "Reads a network (safetensors; the names of its tensors are in livit.h) and images, and "
        "proves for each image a radius within which its answer is the label, from the LoFAST "
        "bound at its own activations; rounding is covered. With --pgd it attacks the images as "
        "well: the share that a perturbation of size epsilon leaves right lies between the two "
        "columns. Exit code 3 where an attack succeeds within a certified radius. Interrupted, it "
        "reports the images before the first that is not done, as --count does, with exit code 1.",
    .option = options,
    .options = CERTIFY_COUNT_OF,
    .least = 1,
    .most = 1,
    .run = run_certify,
};
