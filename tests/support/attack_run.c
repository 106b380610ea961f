#include "support/attack_run.h"

#include <criterion/criterion.h>

tl_attack_result attack_run(const tl_attack_problem *problem, size_t restarts, size_t steps)
{
    tl_attack_settings settings;
    tl_attack_result result;
    tl_error err = {0};

    tl_attack_defaults(&settings);
    settings.restarts = restarts;
    settings.steps = steps;
    cr_assert_eq(tl_attack_run(problem, &settings, &result, &err), TL_OK, "%s", err.text);
    return result;
}
