/* SIGINT and SIGTERM. During a run what is in hand may end within a second, then it is dropped:
 * records are whole lines behind one another, so the program can end anywhere. A search, an
 * enclosure or a table is shown at its end only, and is given the time. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/cli.h"

/* Written by the signal handlers alone; the library reads it between two pieces of work. */
static volatile int stop_requested;
/* Set before the handlers are. */
static char farewell[CLI_FAREWELL_SIZE];
static struct itimerval patience;

static void drop(int number)
{
    (void)number;
    if (write(STDERR_FILENO, farewell, strlen(farewell)) < 0) _exit(1);
    _exit(1);
}

static void request_stop(int number)
{
    (void)number;
    stop_requested = 1;
    (void)setitimer(ITIMER_REAL, &patience, NULL);
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    /* A second signal finds the default action and ends the program at once. */
    action.sa_flags = (int)SA_RESETHAND;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

const volatile int *tl_cli_interrupts_catch(const char *text, long milliseconds)
{
    (void)snprintf(farewell, sizeof farewell, "%s", text);
    patience.it_value.tv_sec = milliseconds / 1000;
    patience.it_value.tv_usec = 1000 * (milliseconds % 1000);
    handle(SIGALRM, drop);
    handle(SIGINT, request_stop);
    handle(SIGTERM, request_stop);
    return &stop_requested;
}
