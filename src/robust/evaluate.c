/* A set of images: radius, clean answer and attacks of each. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "robust/network.h"

typedef struct {
    const tl_livit *net;
    const tl_images *images;
    const double *epsilon;
    size_t epsilons, size;
    const tl_livit_attack *attack;
    bool *done; /* of each image */
} task;

static double margin_of(const tl_livit_pass *pass, size_t label)
{
    double rival = -(double)INFINITY;

    for (size_t c = 0; c < pass->net->classes; c++)
        if (c != label && pass->logits[c] > rival) rival = pass->logits[c];
    return pass->logits[label] - rival;
}

/* pixels: 2 size, the image and what an attack makes of it. */
static tl_status evaluate(const task *t, size_t i, tl_livit_pass *pass, double *pixels,
                          tl_livit_row *row, tl_error *err)
{
    tl_status status;

    for (size_t k = 0; k < t->size; k++)
        pixels[k] = (double)t->images->pixels[i * t->size + k] / 255;
    status = tl_livit_forward(pass, pixels, err);
    if (status != TL_OK) return status;
    row->predicted = tl_livit_predicted(pass);
    row->label = t->images->labels ? t->images->labels[i] : row->predicted;
    row->margin = margin_of(pass, row->label);
    bool attacked = row->predicted != row->label;
    if (!attacked) {
        status = tl_livit_bound(pass, err);
        if (status == TL_OK) row->radius = tl_livit_radius(pass, row->label);
    }
    for (size_t e = 0; e < t->epsilons && status == TL_OK; e++) {
        if (!attacked && t->attack && t->attack->restarts > 0 && t->epsilon[e] > 0)
            status = tl_livit_attack_run(pass, pixels, row->label, t->epsilon[e], t->attack,
                                         t->attack->first + i, pixels + t->size, &attacked, err);
        row->attacked[e] = attacked;
    }
    return status;
}

static tl_status check(const tl_livit *net, const tl_images *images, tl_error *err)
{
    if (images->channels != net->channels || images->height != net->height ||
        images->width != net->width)
        return tl_fail(err, TL_ERR_SHAPE,
                       "images: expected %zu x %zu x %zu as in the network, found %zu x %zu x %zu",
                       net->channels, net->height, net->width, images->channels, images->height,
                       images->width);
    for (size_t i = 0; images->labels && i < images->count; i++)
        if (images->labels[i] >= net->classes)
            return tl_fail(err, TL_ERR_DOMAIN, "labels[%zu]: expected a class below %zu, found %u",
                           i, net->classes, images->labels[i]);
    return TL_OK;
}

static tl_status alloc_report(tl_livit_report *report, const task *t, tl_error *err)
{
    const size_t rows = t->images->count;

    *report = (tl_livit_report){.rows = rows,
                                .epsilons = t->epsilons,
                                .row = calloc(rows, sizeof *report->row),
                                .block = calloc(rows * t->epsilons + 1, sizeof *report->block),
                                .labelled = t->images->labels != NULL};
    if (!report->row || !report->block) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < rows; i++) report->row[i].attacked = report->block + i * t->epsilons;
    return TL_OK;
}

static bool stopped(const task *t)
{
    return t->attack && t->attack->stop && *t->attack->stop;
}

/* The first failure of any image; later ones are skipped, as are those behind a stop. */
static tl_status run_all(tl_livit_report *report, const task *t, tl_error *err)
{
    const int most = omp_get_max_threads();
    const int threads = report->rows < (size_t)most ? (int)report->rows : most;
    tl_status first = TL_OK;

#pragma omp parallel num_threads(threads)
    {
        tl_livit_pass *pass = NULL;
        tl_error why = {0};
        double *pixels = malloc(2 * t->size * sizeof *pixels);
        tl_status status = pixels ? tl_livit_pass_alloc(&pass, t->net, &why)
                                  : tl_fail(&why, TL_ERR_MEMORY, "out of memory");
#pragma omp for schedule(dynamic, 1)
        for (size_t i = 0; i < report->rows; i++) {
            if (status != TL_OK || stopped(t)) continue;
            status = evaluate(t, i, pass, pixels, &report->row[i], &why);
            t->done[i] = status == TL_OK;
            if (status == TL_ERR_INTERRUPTED)
                status = TL_OK;
            else if (status != TL_OK)
                tl_error_prefix(&why, "image %zu", i);
        }
#pragma omp critical
        if (status != TL_OK && first == TL_OK) {
            first = status;
            if (err) *err = why;
        }
        tl_livit_pass_free(pass);
        free(pixels);
    }
    return first;
}

/* An attack within a certified radius that changed the answer. */
static bool is_refuted(const task *t, const tl_livit_row *row)
{
    for (size_t e = 0; e < t->epsilons; e++)
        if (row->attacked[e] && t->epsilon[e] <= row->radius && row->radius > 0) return true;
    return false;
}

/* Leaves the images before the first that is not done. */
static tl_status take_done(tl_livit_report *report, const task *t, tl_error *err)
{
    const size_t all = report->rows;
    size_t first = 0;

    for (size_t i = 0; i < all; i++)
        report->refuted = report->refuted || (t->done[i] && is_refuted(t, &report->row[i]));
    while (first < all && t->done[first]) first++;
    report->rows = first;
    if (first == all) return TL_OK;
    if (first == 0)
        return tl_fail(err, TL_ERR_INTERRUPTED, "interrupted before the first of %zu images", all);
    return tl_fail(err, TL_ERR_INTERRUPTED, "interrupted: the first %zu of %zu images", first, all);
}

tl_status tl_livit_evaluate(tl_livit_report *report, const tl_livit *net, const tl_images *images,
                            const double *epsilon, size_t epsilons, const tl_livit_attack *attack,
                            tl_error *err)
{
    const task t = {.net = net,
                    .images = images,
                    .epsilon = epsilon,
                    .epsilons = epsilons,
                    .size = net->channels * net->height * net->width,
                    .attack = attack,
                    .done = calloc(images->count + 1, sizeof *t.done)};
    *report = (tl_livit_report){0};
    tl_status status =
        t.done ? check(net, images, err) : tl_fail(err, TL_ERR_MEMORY, "out of memory");

    if (status == TL_OK) status = alloc_report(report, &t, err);
    if (status == TL_OK) status = run_all(report, &t, err);
    if (status == TL_OK) status = take_done(report, &t, err);
    free(t.done);
    if (status != TL_OK && status != TL_ERR_INTERRUPTED) tl_livit_report_clear(report);
    return status;
}

void tl_livit_report_clear(tl_livit_report *report)
{
    free(report->row);
    free(report->block);
    *report = (tl_livit_report){0};
}

static double share(const tl_livit_report *report, size_t count)
{
    return report->rows > 0 ? (double)count / (double)report->rows : 0;
}

double tl_livit_share_clean(const tl_livit_report *report)
{
    size_t count = 0;

    for (size_t i = 0; i < report->rows; i++)
        count += report->row[i].predicted == report->row[i].label;
    return share(report, count);
}

double tl_livit_share_certified(const tl_livit_report *report, double epsilon)
{
    size_t count = 0;

    for (size_t i = 0; i < report->rows; i++) {
        const tl_livit_row *row = &report->row[i];
        count += row->radius > 0 && row->radius >= epsilon;
    }
    return share(report, count);
}

double tl_livit_share_standing(const tl_livit_report *report, size_t i)
{
    size_t count = 0;

    for (size_t k = 0; k < report->rows; k++) count += !report->row[k].attacked[i];
    return share(report, count);
}
