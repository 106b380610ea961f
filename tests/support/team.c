#include "support/team.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of gcc's coverage runs: what a child has counted is lost with _exit. */
extern void __gcov_dump(void) __attribute__((weak));

static bool send_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t sent = send(fd, data, size, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        data += sent;
        size -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, char *data, size_t size)
{
    while (size > 0) {
        ssize_t got = read(fd, data, size);
        if (got <= 0) return false;
        data += got;
        size -= (size_t)got;
    }
    return true;
}

static bool send_message(int fd, const char *data, size_t size)
{
    return send_all(fd, (const char *)&size, sizeof size) && send_all(fd, data, size);
}

static bool receive_message(int fd, char **data, size_t *size)
{
    if (!receive_all(fd, (char *)size, sizeof *size)) return false;
    *data = malloc(*size + 1);
    if (*data && receive_all(fd, *data, *size)) return true;
    free(*data);
    *data = NULL;
    return false;
}

static tl_status receive(void *context, int *rank, char **data, size_t *size, tl_error *err)
{
    team_of_children *t = context;

    for (int r = 1; r < t->team.ranks; r++) {
        struct pollfd wait = {.fd = t->socket[r], .events = POLLIN};
        if (t->socket[r] < 0 || poll(&wait, 1, 0) != 1) continue;
        *rank = r;
        if (receive_message(t->socket[r], data, size)) return TL_OK;
        (void)close(t->socket[r]);
        t->socket[r] = -1;
        return tl_fail(err, TL_ERR_IO, "its socket is closed");
    }
    *rank = -1;
    return TL_OK;
}

static tl_status reply(void *context, int rank, const char *data, size_t size, tl_error *err)
{
    team_of_children *t = context;

    if (send_message(t->socket[rank], data, size)) return TL_OK;
    return tl_fail(err, TL_ERR_IO, "its socket is closed");
}

static tl_status ask(void *context, const char *out, size_t out_size, char **data, size_t *size,
                     tl_error *err)
{
    team_of_children *t = context;

    if (++t->asked == t->last) _exit(3);
    if (send_message(t->socket[0], out, out_size) && receive_message(t->socket[0], data, size))
        return TL_OK;
    return tl_fail(err, TL_ERR_IO, "rank 0: its socket is closed");
}

static void be_rank(team_of_children *t, int rank, int fd, const tl_experiment *ex, team_habits h)
{
    volatile int stop = h.stops;
    tl_error err = {0};
    const tl_run_options options = {.threads = 1 + rank % 2,
                                    .has_seed = h.seed != 0,
                                    .seed = h.seed,
                                    .stop = &stop,
                                    .team = &t->team};

    for (int r = 1; r < rank; r++) (void)close(t->socket[r]);
    t->team.rank = rank;
    t->socket[0] = fd;
    t->last = h.dies_at;
    const int code = tl_experiment_help(ex, &options, &err) ? 1 : 0;
    if (__gcov_dump) __gcov_dump();
    _exit(code);
}

bool team_start(team_of_children *t, int ranks, const tl_experiment *ex, team_habits habits)
{
    *t = (team_of_children){
        .team = {.ranks = ranks, .receive = receive, .reply = reply, .ask = ask}};
    t->team.context = t;
    for (int r = 1; r < ranks; r++) {
        int ends[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return false;
        t->process[r] = fork();
        if (t->process[r] < 0) return false;
        if (t->process[r] == 0) {
            (void)close(ends[0]);
            be_rank(t, r, ends[1], ex, r == 1 ? habits : (team_habits){0});
        }
        (void)close(ends[1]);
        t->socket[r] = ends[0];
    }
    return true;
}

bool team_end(team_of_children *t)
{
    bool good = true;

    for (int r = 1; r < t->team.ranks; r++) {
        int status = 0;
        if (t->socket[r] >= 0) (void)close(t->socket[r]);
        good = waitpid(t->process[r], &status, 0) == t->process[r] && status == 0 && good;
    }
    return good;
}
