/* Certificates made by several threads at once say what one thread says. */
#include <stdio.h>
#include <string.h>

#include "tightlip/certify.h"

enum { DRAWS = 64 };

static const char *const files[] = {"tests/reference/rare.json", "tests/reference/heads.json",
                                    "tests/reference/l2.json", "tests/golden/split-wins-0.json"};

enum { FILES = sizeof files / sizeof files[0] };

static int one(const char *path, char text[TL_CERTIFIED_SIZE])
{
    const tl_certify_settings settings = {.enclose = true};
    tl_problem problem;
    tl_certificate c;

    if (tl_problem_read(path, &problem, NULL)) return 1;
    tl_status status = tl_certify_problem(&problem, &settings, &c, NULL);
    if (!status) strcpy(text, c.norm_at_x.low.text);
    if (!status) tl_certificate_clear(&c);
    tl_problem_clear(&problem);
    return status != TL_OK;
}

int main(void)
{
    char alone[FILES][TL_CERTIFIED_SIZE];
    int wrong = 0;

    for (int i = 0; i < FILES; i++) wrong += one(files[i], alone[i]);
#pragma omp parallel reduction(+ : wrong)
    {
#pragma omp for schedule(dynamic)
        for (int i = 0; i < DRAWS; i++) {
            char text[TL_CERTIFIED_SIZE] = "";
            wrong += one(files[i % FILES], text);
            wrong += strcmp(text, alone[i % FILES]) != 0;
        }
        tl_certify_cleanup();
    }
    if (wrong) fprintf(stderr, "%d certificates differ\n", wrong);
    return wrong != 0;
}
