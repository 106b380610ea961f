/* Images certified and attacked by several threads at once: what one thread says. */
#include <omp.h>
#include <stdio.h>

#include "tightlip/linalg.h"
#include "tightlip/livit.h"

#define DATA "experiments/data/fashion_mnist/"

enum { IMAGES = 12 };

int main(void)
{
    const double epsilon[] = {0.1, 0.5};
    const tl_livit_attack attack = {.restarts = 2, .steps = 4, .seed = 1};
    tl_livit *net = NULL;
    tl_images images;
    tl_livit_report report[2];
    tl_error err = {0};
    int wrong = 0;

    tl_blas_single_thread();
    if (tl_livit_open(&net, "experiments/livit/model.safetensors", &err) ||
        tl_images_read(&images, DATA "images.idx", DATA "labels.idx", IMAGES, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (int i = 0; i < 2; i++) {
        omp_set_num_threads(i == 0 ? 1 : 4);
        if (tl_livit_evaluate(&report[i], net, &images, epsilon, 2, &attack, &err)) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
    }
    for (size_t i = 0; i < IMAGES; i++) {
        const tl_livit_row *a = &report[0].row[i], *b = &report[1].row[i];
        wrong += a->radius != b->radius || a->margin != b->margin;
        for (size_t e = 0; e < 2; e++) wrong += a->attacked[e] != b->attacked[e];
    }
    for (int i = 0; i < 2; i++) tl_livit_report_clear(&report[i]);
    tl_images_clear(&images);
    tl_livit_free(net);
    if (wrong) fprintf(stderr, "%d numbers differ\n", wrong);
    return wrong != 0;
}
