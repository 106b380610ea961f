/* What the files of a restart share: its state, and ascents that run side by side. */
#ifndef SEARCH_RESTART_H
#define SEARCH_RESTART_H

#include "search/internal.h"

typedef struct {
    const tl_search_problem *problem;
    const tl_search_settings *settings;
    gsl_rng *rng;
    tl_evaluator ev;
    tl_ascent *ascent[TL_BATCH]; /* as many as the evaluator takes at once */
    tl_point best, trial;
    bool stationary, late;
    int failures; /* ascents in turn that did not improve best */
    double started;
} tl_restart;

/* Ascents side by side: `next` makes the start of one in trial, or says that there is none. */
typedef struct {
    tl_status (*next)(tl_restart *s, void *plan, uint64_t *evaluations, bool *more);
    void *plan;
    size_t lanes; /* ascents at a time, at most */
    uint64_t end; /* of all evaluations: ascents that run then stop */
} tl_ascents;

/* Restarts take the starts in turn. Where A is searched too, kappa comes back every third time: its
 * basin is narrow and holds the best known values from n = 3 on. */
tl_start tl_restart_start(const tl_search_problem *problem, unsigned starts, uint64_t r);
/* Now, and whether the seconds of this restart are over. */
double tl_restart_seconds(void);
bool tl_restart_late(tl_restart *s);
/* Ascends from trial and keeps it when it ends above best. */
TL_MUST_USE tl_status tl_restart_ascend(tl_restart *s, uint64_t evaluations, bool *improved);
/* Runs a plan to its end and keeps the best of its ascents. */
TL_MUST_USE tl_status tl_restart_run(tl_restart *s, const tl_ascents *plan);

/* From the start of restart r and others that race with it: restarts with a budget to spare go on
 * with the best of several beginnings, since most basins are told apart by a short ascent. */
TL_MUST_USE tl_status tl_restart_begin(tl_restart *s, tl_start start, uint64_t r);
/* From every way to carry a witness over; *usable: at least one there is. */
TL_MUST_USE tl_status tl_restart_carry(tl_restart *s, const tl_search_witness *witness,
                                       bool *usable);
/* Random changes of best, each followed by a short ascent, until the share of the budget is used or
 * nothing helps. */
TL_MUST_USE tl_status tl_restart_explore(tl_restart *s, uint64_t until);

#endif
