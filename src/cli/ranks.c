#include "cli/ranks.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Ranks that the launcher started, as its environment says; 0: no launcher. */
static int launched(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};

    for (size_t i = 0; i < CLI_COUNT_OF(names); i++) {
        const char *text = getenv(names[i]);
        if (text != NULL) return atoi(text);
    }
    /* Says which rank this is, not of how many. */
    return getenv("PMIX_RANK") != NULL ? atoi(getenv("PMIX_RANK")) + 1 : 0;
}

#ifdef TL_WITH_MPI
#include <limits.h>

#include <mpi.h>

enum { TAG = 1 };

const char *tl_cli_mpi(void)
{
#ifdef OMPI_MAJOR_VERSION
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
    return "Open MPI " TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION);
#else
    return "MPI";
#endif
}

static tl_status failed(int code, const char *step, tl_error *err)
{
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;

    (void)MPI_Error_string(code, text, &length);
    return tl_fail(err, TL_ERR_IO, "MPI: %s: %s", step, text);
}

/* The message that a probe has found. */
static tl_status take(MPI_Status *found, char **data, size_t *size, tl_error *err)
{
    int count = 0, code = MPI_Get_count(found, MPI_BYTE, &count);

    if (code != MPI_SUCCESS) return failed(code, "probing", err);
    *data = malloc((size_t)count + 1);
    if (*data == NULL) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    *size = (size_t)count;
    code =
        MPI_Recv(*data, count, MPI_BYTE, found->MPI_SOURCE, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) return TL_OK;
    free(*data);
    *data = NULL;
    return failed(code, "receiving", err);
}

static tl_status receive(void *context, int *rank, char **data, size_t *size, tl_error *err)
{
    MPI_Status found;
    int there = 0, code = MPI_Iprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &found);

    (void)context;
    *rank = there ? found.MPI_SOURCE : -1;
    if (code != MPI_SUCCESS) return failed(code, "probing", err);
    return there ? take(&found, data, size, err) : TL_OK;
}

static tl_status send(int rank, const char *data, size_t size, tl_error *err)
{
    int code;

    if (size > INT_MAX)
        return tl_fail(err, TL_ERR_LIMIT, "MPI: expected a message below 2 GiB, found %zu bytes",
                       size);
    code = MPI_Send(data, (int)size, MPI_BYTE, rank, TAG, MPI_COMM_WORLD);
    return code == MPI_SUCCESS ? TL_OK : failed(code, "sending", err);
}

static tl_status reply(void *context, int rank, const char *data, size_t size, tl_error *err)
{
    (void)context;
    return send(rank, data, size, err);
}

/* A blocking receive would keep a processor busy that rank 0 may need. */
static tl_status ask(void *context, const char *out, size_t out_size, char **data, size_t *size,
                     tl_error *err)
{
    static const struct timespec pause = {.tv_nsec = 50000};
    MPI_Status found;
    int there = 0, code;
    tl_status status = send(0, out, out_size, err);

    (void)context;
    while (status == TL_OK && !there) {
        code = MPI_Iprobe(0, TAG, MPI_COMM_WORLD, &there, &found);
        if (code != MPI_SUCCESS) status = failed(code, "probing", err);
        if (!there) (void)nanosleep(&pause, NULL);
    }
    return status == TL_OK ? take(&found, data, size, err) : status;
}

tl_status tl_cli_ranks_begin(tl_team *team, tl_error *err)
{
    int provided = MPI_THREAD_SINGLE, code;

    *team = (tl_team){.ranks = 1, .receive = receive, .reply = reply, .ask = ask};
    if (launched() == 0) return TL_OK;
    code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    if (code != MPI_SUCCESS) return failed(code, "starting", err);
    (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &team->rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &team->ranks);
    if (provided >= MPI_THREAD_SERIALIZED) return TL_OK;
    return tl_fail(err, TL_ERR_UNSUPPORTED,
                   "expected an MPI library that threads may call, found one that only a single "
                   "thread may");
}

tl_status tl_cli_ranks_agree(const tl_team *team, tl_status own, tl_error *err)
{
    int mine = own == TL_OK ? team->ranks : team->rank, first = mine;

    if (team->ranks == 1) return own;
    (void)MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == team->ranks || own != TL_OK) return own;
    return tl_fail(err, TL_ERR_IO, "rank %d cannot begin; it says why", first);
}

void tl_cli_ranks_end(const tl_team *team)
{
    (void)team;
    if (launched() != 0) (void)MPI_Finalize();
}

#else

const char *tl_cli_mpi(void)
{
    return NULL;
}

tl_status tl_cli_ranks_begin(tl_team *team, tl_error *err)
{
    *team = (tl_team){.ranks = 1};
    if (launched() < 2) return TL_OK;
    return tl_fail(err, TL_ERR_UNSUPPORTED,
                   "started as one of several ranks, but built without MPI: build with make MPI=1, "
                   "or use --shard (see experiments/cluster)");
}

tl_status tl_cli_ranks_agree(const tl_team *team, tl_status own, tl_error *err)
{
    (void)team;
    (void)err;
    return own;
}

void tl_cli_ranks_end(const tl_team *team)
{
    (void)team;
}

#endif
