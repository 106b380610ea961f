/* An attack that must succeed. */
#ifndef SUPPORT_ATTACK_RUN_H
#define SUPPORT_ATTACK_RUN_H

#include "tightlip/attack.h"

/* Aborts the test on an error; the result is owned by the caller. */
tl_attack_result attack_run(const tl_attack_problem *problem, size_t restarts, size_t steps);

#endif
