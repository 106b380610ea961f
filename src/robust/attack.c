/* Projected gradient ascent in an l2 ball around an image. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <gsl/gsl_randist.h>

#include "robust/network.h"
#include "tightlip/linalg.h"
#include "tightlip/rng.h"

void tl_livit_attack_defaults(tl_livit_attack *settings)
{
    *settings = (tl_livit_attack){.restarts = 4, .steps = 40, .seed = 1};
}

typedef struct {
    tl_livit_pass *pass;
    const double *pixels;
    double *moved, *gradient, *cotangent;
    size_t size, label;
    double epsilon;
} ascent;

/* Back into the ball, and by more than rounding inside it. */
static void project(ascent *a)
{
    const double within = a->epsilon * (1 - (double)(a->size + 8) * DBL_EPSILON);
    double norm = 0;

    for (size_t i = 0; i < a->size; i++) a->gradient[i] = a->moved[i] - a->pixels[i];
    norm = tl_nrm2(a->size, a->gradient);
    if (norm <= within) return;
    for (size_t i = 0; i < a->size; i++)
        a->moved[i] = a->pixels[i] + a->gradient[i] * (within / norm);
}

/* The rounding of moved itself may leave the ball where the step is small beside the pixels. */
static bool inside(ascent *a)
{
    for (size_t i = 0; i < a->size; i++) a->gradient[i] = a->moved[i] - a->pixels[i];
    return tl_nrm2(a->size, a->gradient) <= a->epsilon;
}

static void start(ascent *a, size_t restart, gsl_rng *rng)
{
    memcpy(a->moved, a->pixels, a->size * sizeof *a->moved);
    if (restart == 0) return;
    for (size_t i = 0; i < a->size; i++) a->gradient[i] = gsl_ran_gaussian_ziggurat(rng, 1);
    const double norm = tl_nrm2(a->size, a->gradient);
    const double radius =
        a->epsilon * pow(gsl_rng_uniform(rng), 1 / (double)a->size) / (norm > 0 ? norm : 1);
    tl_axpy(a->size, radius, a->gradient, a->moved);
    project(a);
}

/* One step along the gradient of the largest other logit less that of the label. */
static bool step(ascent *a, double length)
{
    const tl_livit_pass *pass = a->pass;
    size_t rival = a->label == 0 ? 1 : 0;

    for (size_t c = 0; c < pass->net->classes; c++)
        if (c != a->label && pass->logits[c] > pass->logits[rival]) rival = c;
    memset(a->cotangent, 0, pass->net->classes * sizeof *a->cotangent);
    a->cotangent[rival] = 1;
    a->cotangent[a->label] = -1;
    tl_livit_gradient(a->pass, a->cotangent, a->gradient);
    const double norm = tl_nrm2(a->size, a->gradient);
    if (!(norm > 0) || !isfinite(norm)) return false;
    tl_axpy(a->size, length / norm, a->gradient, a->moved);
    project(a);
    return true;
}

static tl_status climb(ascent *a, size_t steps, const volatile int *stop, bool *found,
                       tl_error *err)
{
    /* Long enough to cross the ball, and to turn on its surface. */
    const double length = 2.5 * a->epsilon / (double)steps;

    for (size_t i = 0; i <= steps; i++) {
        if (stop && *stop) return TL_ERR_INTERRUPTED;
        const tl_status status = tl_livit_forward(a->pass, a->moved, err);
        if (status != TL_OK) return status;
        *found = tl_livit_predicted(a->pass) != a->label && inside(a);
        if (*found || i == steps || !step(a, length)) break;
    }
    return TL_OK;
}

tl_status tl_livit_attack_run(tl_livit_pass *pass, const double *pixels, size_t label,
                              double epsilon, const tl_livit_attack *settings, uint64_t stream,
                              double *moved, bool *found, tl_error *err)
{
    const tl_livit *net = pass->net;
    const size_t size = net->channels * net->height * net->width;
    ascent a = {.pass = pass,
                .pixels = pixels,
                .moved = moved,
                .gradient = malloc((size + net->classes) * sizeof(double)),
                .size = size,
                .label = label,
                .epsilon = epsilon};
    tl_status status = TL_OK;

    *found = false;
    if (!a.gradient) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    a.cotangent = a.gradient + size;
    for (size_t r = 0; r < settings->restarts && status == TL_OK && !*found; r++) {
        gsl_rng *rng = tl_rng_stream_alloc(settings->seed, stream, r);
        if (!rng) {
            status = tl_fail(err, TL_ERR_MEMORY, "out of memory");
            break;
        }
        start(&a, r, rng);
        gsl_rng_free(rng);
        status = climb(&a, settings->steps > 0 ? settings->steps : 1, settings->stop, found, err);
    }
    free(a.gradient);
    return status;
}
