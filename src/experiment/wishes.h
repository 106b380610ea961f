/* What an experiment asks for beside search and evaluation. */
#ifndef EXPERIMENT_WISHES_H
#define EXPERIMENT_WISHES_H

#include <libconfig.h>
#include <stdbool.h>
#include <stddef.h>

#include "tightlip/bounds.h"

typedef struct {
    bool on; /* the suprema of cells are enclosed */
    double tolerance;
    size_t boxes;
} tl_exact_wish;

enum { TL_INVERT_ITERATIONS_MAX = 100000 };

typedef struct {
    bool on; /* residual layers of cells are inverted */
    const tl_bound *bound;
    size_t iterations;
} tl_invert_wish;

typedef struct {
    bool on; /* tokens or measures of cells are attacked */
    size_t restarts, steps, parts;
    bool worst; /* not at the tokens: at the measure where splitting pays most */
    size_t worst_restarts, worst_evaluations;
    double worst_least_mass; /* 0: any */
} tl_attack_wish;

enum { TL_NETWORK_EPSILONS_MAX = 65 };

typedef struct {
    bool on; /* cells are images of a network */
    const config_setting_t *group;
    size_t epsilons;
    double epsilon[TL_NETWORK_EPSILONS_MAX]; /* rising; 0 first */
    bool attacked;
    size_t restarts, steps;
} tl_network_wish;

#endif
