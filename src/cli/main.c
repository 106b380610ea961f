#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "tightlip/linalg.h"

/* The spellings of a verb that every program has. */
static const char *verb_name(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) return "help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) return "version";
    return word;
}

int main(int argc, char **argv)
{
    tl_error err = {TL_OK, ""};
    const tl_cli_verb *verb = NULL;
    tl_cli_call call;
    tl_status status;

    tl_blas_start_wider(argv);
    tl_cli_setup();
    if (argc < 2) {
        tl_cli_print_usage(stderr);
        return tl_cli_exit_code(TL_ERR_ARGUMENT, false);
    }
    status = tl_cli_verb_find(verb_name(argv[1]), &verb, &err);
    if (status != TL_OK) return tl_cli_finish(NULL, status, false, &err);

    status = tl_cli_parse(verb, argc - 1, argv + 1, &call, &err);
    if (status == TL_OK && call.help) {
        tl_cli_print_help(stdout, verb);
    } else if (status == TL_OK) {
        status = verb->run(&call, &err);
    }
    return tl_cli_finish(verb->name, status, status == TL_OK && call.refuted, &err);
}
