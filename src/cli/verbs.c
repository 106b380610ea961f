#include "cli/cli.h"

#include <string.h>

static const tl_cli_verb *const verbs[] = {
    &tl_cli_verb_run,     &tl_cli_verb_merge,   &tl_cli_verb_search, &tl_cli_verb_norm,
    &tl_cli_verb_bound,   &tl_cli_verb_verify,  &tl_cli_verb_exact,  &tl_cli_verb_attack,
    &tl_cli_verb_certify, &tl_cli_verb_plot,    &tl_cli_verb_report, &tl_cli_verb_list,
    &tl_cli_verb_help,    &tl_cli_verb_version, &tl_cli_verb_doctor, &tl_cli_verb_weights,
    &tl_cli_verb_layers,
};

size_t tl_cli_verb_count(void)
{
    return CLI_COUNT_OF(verbs);
}

const tl_cli_verb *tl_cli_verb_at(size_t i)
{
    return verbs[i];
}

tl_status tl_cli_verb_find(const char *name, const tl_cli_verb **verb, tl_error *err)
{
    static const char *const dashed[] = {"--help", "--version"};
    const char *names[CLI_COUNT_OF(verbs)];

    for (size_t i = 0; i < CLI_COUNT_OF(verbs); i++) {
        names[i] = verbs[i]->name;
        if (strcmp(name, verbs[i]->name) == 0) {
            *verb = verbs[i];
            return TL_OK;
        }
    }
    if (name[0] == '-') return tl_cli_unknown(err, "option", name, dashed, CLI_COUNT_OF(dashed));
    return tl_cli_unknown(err, "verb", name, names, CLI_COUNT_OF(verbs));
}
