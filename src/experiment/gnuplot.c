#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "experiment/plot.h"

extern char **environ;

/* Reads all of fd; keeps what fits into text, blanks for line ends. */
static void drain(int fd, char *text, size_t size)
{
    char block[512];
    size_t used = 0;

    for (;;) {
        ssize_t step = read(fd, block, sizeof block);
        if (step < 0 && errno == EINTR) continue;
        if (step <= 0) break;
        for (ssize_t i = 0; i < step && used + 1 < size; i++)
            text[used++] = block[i] == '\n' || block[i] == '\r' ? ' ' : block[i];
    }
    while (used > 0 && text[used - 1] == ' ') used--;
    text[used] = '\0';
}

static tl_status wait_for(pid_t child, const char *script, const char *said, tl_error *err)
{
    int code = 0;

    while (waitpid(child, &code, 0) < 0)
        if (errno != EINTR)
            return tl_fail(err, TL_ERR_IO, "gnuplot: waiting failed: %s", strerror(errno));
    if (WIFEXITED(code) && WEXITSTATUS(code) == 0) return TL_OK;
    if (WIFSIGNALED(code))
        return tl_fail(err, TL_ERR_IO, "gnuplot %s: ended by signal %d: %s", script, WTERMSIG(code),
                       said);
    return tl_fail(err, TL_ERR_IO, "gnuplot %s: exit code %d: %s", script,
                   WIFEXITED(code) ? WEXITSTATUS(code) : -1, said[0] ? said : "(no message)");
}

static int spawn(pid_t *child, char *const *arguments, int errors)
{
    posix_spawn_file_actions_t actions;
    int code = posix_spawn_file_actions_init(&actions);

    if (code) return code;
    code = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!code) code = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (!code) code = posix_spawn_file_actions_adddup2(&actions, errors, 2);
    if (!code) code = posix_spawnp(child, "gnuplot", &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    return code;
}

static tl_status run(const char *script, char *set, tl_error *err)
{
    char *arguments[] = {"gnuplot", "-d", "-e", set, (char *)(uintptr_t)script, NULL};
    char said[700] = "";
    pid_t child;
    int pipe_ends[2], code;

    if (pipe(pipe_ends) != 0)
        return tl_fail(err, TL_ERR_IO, "gnuplot: no pipe: %s", strerror(errno));
    (void)fcntl(pipe_ends[0], F_SETFD, FD_CLOEXEC);
    (void)fcntl(pipe_ends[1], F_SETFD, FD_CLOEXEC);
    code = spawn(&child, arguments, pipe_ends[1]);
    (void)close(pipe_ends[1]);
    if (code == 0) drain(pipe_ends[0], said, sizeof said);
    (void)close(pipe_ends[0]);
    if (code)
        return tl_fail(err, TL_ERR_IO,
                       "gnuplot: cannot be started: %s (install gnuplot-nox, or run without a "
                       "plot)",
                       strerror(code));
    return wait_for(child, script, said, err);
}

/* As a string of gnuplot: every byte that could mean something to it, a line end or a backquote
 * among them, by its octal number. A name that starts with | would be a command. */
static void put_path(tl_buffer *b, const char *name, const char *path)
{
    tl_buffer_print(b, "%s = \"%s", name, path[0] == '/' ? "" : "./");
    for (; *path; path++) {
        const unsigned char c = (unsigned char)*path;
        if (c < 128 && (isalnum(c) || strchr("/._-", c)))
            tl_buffer_put(b, path, 1);
        else
            tl_buffer_print(b, "\\%03o", (unsigned)c);
    }
    tl_buffer_text(b, "\"; ");
}

/* gnuplot ends with 0 on a full disk, too: a drawing is whole when its last bytes are there, and on
 * the disk. */
static tl_status check_whole(const char *path, const char *end, size_t length, tl_error *err)
{
    char last[16] = "";
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    bool whole = size >= (off_t)sizeof last && fsync(fd) == 0 &&
                 pread(fd, last, sizeof last, size - (off_t)sizeof last) == (ssize_t)sizeof last;
    bool found = false;

    for (size_t i = 0; whole && i + length <= sizeof last; i++)
        found = found || memcmp(last + i, end, length) == 0;
    if (fd >= 0) (void)close(fd);
    if (found) return TL_OK;
    return tl_fail(err, TL_ERR_IO, "%s: gnuplot left it cut short: no space left on the device?",
                   path);
}

tl_status tl_gnuplot_run(const char *script, const char *svg, const char *png, tl_error *err)
{
    tl_buffer b = {0};
    tl_status s;

    put_path(&b, "svg", svg);
    put_path(&b, "png", png);
    s = b.failed ? tl_fail(err, TL_ERR_MEMORY, "gnuplot: out of memory") : run(script, b.text, err);
    free(b.text);
    if (!s) s = check_whole(svg, "</svg>", 6, err);
    return s ? s : check_whole(png, "IEND", 4, err);
}
