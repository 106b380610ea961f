/* What the files of a restart share. A restart is a row of plans, each of which is ascents from
 * starts of one kind; several restarts go side by side, an evaluation of each at a time. */
#ifndef SEARCH_RESTART_H
#define SEARCH_RESTART_H

#include "search/internal.h"

typedef struct tl_restart tl_restart;

/* Ascents, up to so many at a time, until all evaluations of the restart are `end`. next: makes the
 * start of one in trial, or says that there is none now; NULL: nor will there be. Over when none
 * runs and there is none. */
typedef struct {
    tl_status (*next)(tl_restart *s, uint64_t *evaluations, bool *more);
    size_t lanes;
    uint64_t end;
} tl_ascents;

/* The plan it is at, or what follows. */
typedef enum {
    TL_STAGE_BEGIN,
    TL_STAGE_EXPLORE,
    TL_STAGE_ROUND,    /* from relaxed masses to whole multiplicities */
    TL_STAGE_EXCHANGE, /* of copies between atoms, in rounds */
    TL_STAGE_LAST,
    TL_STAGE_ENDED
} tl_stage;

/* So many failures: stationary. */
enum { TL_FAILURES = 40 };

struct tl_restart {
    const tl_search_problem *problem;
    const tl_search_settings *settings;
    const tl_search_witness *witness; /* the start, or NULL: a construction */
    uint64_t r;
    tl_start start;
    gsl_rng *rng;
    tl_evaluator ev;
    size_t lanes; /* ascents it may run at a time */
    tl_ascent *ascent[TL_BATCH];
    tl_point best, trial;
    tl_stage stage;
    tl_ascents plan;
    uint64_t made, racers;         /* starts made so far; beginnings that race with the first */
    uint64_t slice, until;         /* an exploration's evaluations for one change, and in all */
    int variant;                   /* of a witness, the next one */
    bool usable;                   /* there is a start */
    int rounds;                    /* of exchanges */
    bool stationary, late, halved; /* halved: stopped, since others were ahead or level */
    bool interrupted;
    int failures;            /* ascents in turn that did not improve best */
    double started, seconds; /* the limit, 0: none */
    tl_status status;
};

/* Restarts take the starts in turn. Where A is searched too, kappa comes back every third time: its
 * basin is narrow and holds the best known values from n = 3 on. */
tl_start tl_restart_start(const tl_search_problem *problem, unsigned starts, uint64_t r);
/* Now, and whether the seconds of the restarts that go side by side are over. */
double tl_restart_seconds(void);
bool tl_restart_late(tl_restart *s);
/* Rounds of successive halving among so many restarts (Jamieson and Talwalkar 2016): the better
 * half goes on after 2^-rounds, .., a quarter, half of the budget, which is such that together they
 * use `evaluations` each. */
unsigned tl_restart_rounds(size_t count);
uint64_t tl_restart_budget(size_t count, uint64_t evaluations);
/* All ascents of `count` restarts, their evaluations in the lanes of the first. Ends with every
 * restart at TL_STAGE_ENDED or its status set. */
void tl_restarts_run(size_t count, tl_restart *s);

/* Plans. From the start of the restart and others that race with it: restarts with a budget to
 * spare go on with the best of several beginnings, since most basins are told apart by a short
 * ascent. */
void tl_restart_plan_begin(tl_restart *s);
/* Random changes of best, each followed by a short ascent, until the share of the budget is used or
 * nothing helps. */
void tl_restart_plan_explore(tl_restart *s, uint64_t until);
/* One ascent from best, of at most so many evaluations. */
void tl_restart_plan_one(tl_restart *s, uint64_t evaluations);
/* The plan is over: the next one, what is to be done before it, or TL_STAGE_ENDED. */
TL_MUST_USE tl_status tl_restart_go_on(tl_restart *s);

#endif
