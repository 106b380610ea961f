#include "cli/cli.h"

#include <inttypes.h>
#include <math.h>

enum { ATOMS_SHOWN = 16, COORDINATES_SHOWN = 6 };

static void print_domain(FILE *out, const tl_domain *domain, const char *from)
{
    const char *name = tl_domain_name(domain->kind);
    const char *centre = domain->centre != NULL ? "a centre of its own" : "the origin";

    if (domain->kind == TL_DOMAIN_BALL || domain->kind == TL_DOMAIN_SPHERE)
        fprintf(out, "domain     %s of radius %.10g about %s (%s)\n", name, domain->radius, centre,
                from);
    else if (domain->kind == TL_DOMAIN_SPACE)
        fprintf(out, "domain     %s, first steps of length %.10g (%s)\n", name, domain->scale,
                from);
    else if (domain->kind == TL_DOMAIN_FROBENIUS)
        fprintf(out, "domain     %s of radius %.10g about %zu atoms (%s)\n", name, domain->epsilon,
                domain->around->m, from);
    else
        fprintf(out, "domain     %s in the ball of radius %.10g about %s (%s)\n", name,
                domain->radius, centre, from);
}

void tl_cli_print_setting(FILE *out, const tl_layer *layer, const tl_measure *measure,
                          const tl_domain *domain, const char *from)
{
    char n[CLI_NUMBER_SIZE];

    fprintf(out, "attention  %s, mask %s, %zu head%s, width %zu to %zu\n",
            tl_kind_name(layer->kind), tl_mask_name(layer->mask), layer->heads,
            layer->heads == 1 ? "" : "s", layer->d, layer->out);
    fprintf(out, "tokens     n = %s on %zu atom%s\n", tl_cli_format_tokens(n, measure->n),
            measure->m, measure->m == 1 ? "" : "s");
    print_domain(out, domain, from);
}

void tl_cli_print_atoms(FILE *out, const tl_measure *measure)
{
    size_t shown = measure->m < ATOMS_SHOWN ? measure->m : ATOMS_SHOWN;
    size_t width = measure->d < COORDINATES_SHOWN ? measure->d : COORDINATES_SHOWN;
    char mass[CLI_NUMBER_SIZE];

    fprintf(out, "%-6s %16s  %s\n", "atom", measure->count != NULL ? "copies" : "mass", "position");
    for (size_t k = 0; k < shown; k++) {
        const double *x = measure->x + k * measure->d;
        if (measure->count != NULL)
            fprintf(out, "%-6zu %16" PRIu64 " ", k, measure->count[k]);
        else
            fprintf(out, "%-6zu %16s ", k, tl_cli_format_log(mass, measure->log_mass[k]));
        for (size_t j = 0; j < width; j++) fprintf(out, " %12.8g", x[j]);
        fprintf(out, "%s\n", width < measure->d ? " .." : "");
    }
    if (shown < measure->m) fprintf(out, ".. and %zu more atoms\n", measure->m - shown);
}

json_t *tl_cli_json_atoms(const tl_measure *measure)
{
    json_t *array = json_array();

    for (size_t k = 0; k < measure->m; k++) {
        json_t *copies =
            measure->count != NULL ? tl_cli_json_tokens(measure->count[k]) : json_null();
        tl_cli_json_append(&array,
                           json_pack("{s:o,s:o,s:o,s:o}", "copies", copies, "mass",
                                     tl_cli_json_value(measure->log_mass[k]), "log_mass",
                                     tl_cli_json_real(measure->log_mass[k]), "position",
                                     tl_cli_json_reals(measure->x + k * measure->d, measure->d)));
    }
    return array;
}
