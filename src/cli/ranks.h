/* Processes started together by mpirun or srun. */
#ifndef TIGHTLIP_CLI_RANKS_H
#define TIGHTLIP_CLI_RANKS_H

#include "cli/cli.h"
#include "tightlip/experiment.h"

/* "Open MPI 4.1"; NULL: built without. */
const char *tl_cli_mpi(void);

/* Joins the processes that an MPI launcher started beside this one; else one rank. Errors:
 * TL_ERR_UNSUPPORTED (several were started, and this program is built without MPI, or with one that
 * threads may not call). */
TL_MUST_USE tl_status tl_cli_ranks_begin(tl_team *team, tl_error *err);
/* Every rank tells whether it is ready. Error on rank 0: the first other one that is not. */
TL_MUST_USE tl_status tl_cli_ranks_agree(const tl_team *team, tl_status own, tl_error *err);
void tl_cli_ranks_end(const tl_team *team);

#endif
