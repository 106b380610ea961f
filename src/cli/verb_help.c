#include "cli/cli.h"

#include <omp.h>

#include <gsl/gsl_version.h>

#include "tightlip/linalg.h"
#include "tightlip/version.h"

static json_t *options_json(const tl_cli_verb *verb)
{
    json_t *array = json_array();
    const tl_cli_option *option;

    for (size_t i = 0; (option = tl_cli_option_at(verb, i)) != NULL; i++)
        tl_cli_json_append(&array, json_pack("{s:s,s:s?,s:s?,s:s}", "name", option->name,
                                             "argument", option->argument, "default",
                                             option->fallback, "text", option->text));
    return array;
}

static json_t *verbs_json(const tl_cli_verb *only)
{
    json_t *array = json_array();

    for (size_t i = 0; i < tl_cli_verb_count(); i++) {
        const tl_cli_verb *verb = tl_cli_verb_at(i);
        if (only != NULL && verb != only) continue;
        tl_cli_json_append(&array, json_pack("{s:s,s:s,s:s,s:o}", "name", verb->name, "operands",
                                             verb->operands, "summary", verb->summary, "options",
                                             options_json(verb)));
    }
    return array;
}

static tl_status run_help(tl_cli_call *call, tl_error *err)
{
    const tl_cli_verb *verb = NULL;
    tl_status status = TL_OK;

    if (call->operands > 0) status = tl_cli_verb_find(call->operand[0], &verb, err);
    if (status != TL_OK) return status;
    if (call->json) return tl_cli_json_print(verbs_json(verb));
    if (verb != NULL)
        tl_cli_print_help(stdout, verb);
    else
        tl_cli_print_usage(stdout);
    return TL_OK;
}

const tl_cli_verb tl_cli_verb_help = {
    .name = "help",
    .operands = "[VERB]",
    .summary = "explain a verb",
    .details = "Lists the verbs, or explains one of them.",
    .most = 1,
    .run = run_help,
};

static tl_status run_version(tl_cli_call *call, tl_error *err)
{
    (void)err;
    if (call->json)
        return tl_cli_json_print(json_pack(
            "{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:i}", "version", tl_version(), "git", tl_git_id(),
            "compiler", tl_compiler(), "flags", tl_build_flags(), "blas", tl_blas_provider(), "gsl",
            gsl_version, "jansson", jansson_version_str(), "threads", omp_get_max_threads()));
    printf("tightlip %s (%s)\n", tl_version(), tl_git_id());
    printf("compiler  %s\nflags     %s\n", tl_compiler(), tl_build_flags());
    printf("BLAS      %s\nGSL       %s\nJansson   %s\n", tl_blas_provider(), gsl_version,
           jansson_version_str());
    printf("OpenMP    %d threads\n", omp_get_max_threads());
    return TL_OK;
}

const tl_cli_verb tl_cli_verb_version = {
    .name = "version",
    .operands = "",
    .summary = "what this build is (also --version)",
    .details = "Prints the version, the git id, the compiler and its flags, and the libraries in "
               "use.",
    .run = run_version,
};
