/* Ranks of a run as processes on one machine: children joined to the test by sockets. */
#ifndef SUPPORT_TEAM_H
#define SUPPORT_TEAM_H

#include <sys/types.h>

#include "tightlip/experiment.h"

enum { TEAM_MOST = 8 };

typedef struct {
    tl_team team;
    int socket[TEAM_MOST]; /* to each rank; on another rank: to rank 0, in place 0 */
    pid_t process[TEAM_MOST];
    unsigned asked, last; /* rank: dies instead of asking for the time `last`, counted from 1 */
} team_of_children;

/* How one of them departs from what it should be. */
typedef struct {
    unsigned dies_at; /* 0: it does not */
    bool stops;       /* it has been asked to end */
    uint64_t seed;    /* 0: that of the file */
} team_habits;

/* Rank 1 has the habits, the others none. Call it before anything has run in parallel. */
bool team_start(team_of_children *t, int ranks, const tl_experiment *ex, team_habits habits);
/* Waits for all of them; true when each ended well. */
bool team_end(team_of_children *t);

#endif
