/* What tightlip layers leaves in a directory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/experiments.h"
#include "cli/layers.h"
#include "tightlip/experiment.h"
#include "tightlip/file.h"
#include "tightlip/linalg.h"
#include "tightlip/version.h"

/* Curves that one plot can tell apart. */
enum { CURVES_MOST = 12 };

const char *layers_head_text(char *text, size_t size, long head)
{
    if (head < 0)
        (void)snprintf(text, size, "all");
    else
        (void)snprintf(text, size, "%ld", head);
    return text;
}

static void print_number(FILE *out, double x)
{
    if (isfinite(x)) fprintf(out, "%.17g", x);
    putc(',', out);
}

char *layers_csv(const layers_report *report)
{
    char *text = NULL, head[24];
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    bool good = out != NULL;

    if (!out) return NULL;
    fprintf(out, "layer,head,n,lower,lower_log10,residual,norm:jt-f,mean_radius,max_radius,"
                 "best_bound,bound_log10\n");
    for (size_t i = 0; i < report->rows; i++) {
        const layers_row *r = &report->row[i];
        fprintf(out, "%zu,%s,%zu,", r->layer, layers_head_text(head, sizeof head, r->head), r->n);
        print_number(out, r->norm);
        print_number(out, log10(r->norm));
        fprintf(out, "%.3g,", r->residual);
        print_number(out, log10(r->jt_f));
        print_number(out, r->mean_radius);
        print_number(out, r->max_radius);
        fprintf(out, "%s,", r->bound ? r->bound : "");
        if (r->bound) fprintf(out, "%.17g", r->log_bound / log(10));
        putc('\n', out);
    }
    good = !ferror(out);
    if (fclose(out) != 0 || !good) {
        free(text);
        return NULL;
    }
    return text;
}

/* The different layers and the different single heads of the rows. */
typedef struct {
    bool whole;
    size_t layers, heads;
    bool layer[LAYERS_MOST], head[LAYERS_MOST];
} contents;

static contents find_contents(const layers_report *report)
{
    contents c = {0};

    for (size_t i = 0; i < report->rows; i++) {
        const layers_row *r = &report->row[i];
        const size_t layer = r->layer % LAYERS_MOST;
        c.layers += !c.layer[layer];
        c.layer[layer] = true;
        if (r->head < 0) {
            c.whole = true;
            continue;
        }
        const size_t head = (size_t)r->head % LAYERS_MOST;
        c.heads += !c.head[head];
        c.head[head] = true;
    }
    return c;
}

static json_t *heads_shown(const contents *c, bool whole)
{
    json_t *list = whole ? json_pack("[s]", "all") : json_array();

    for (size_t h = 0; !whole && h < LAYERS_MOST; h++)
        if (c->head[h]) tl_cli_json_append(&list, json_integer((json_int_t)h));
    return list;
}

/* Heads are points of their own where the curves are few, else points of their layer. jt-f beside
 * the norm over n, where both fit in. */
static json_t *plot_json(const contents *c, bool whole, bool over_radius, const char *family)
{
    const bool apart = !whole && c->layers * c->heads <= CURVES_MOST;
    const size_t curves = c->layers * (apart ? c->heads : 1);
    const bool jt_f = !over_radius && 2 * curves <= CURVES_MOST;
    char title[160];

    (void)snprintf(title, sizeof title, "%s: local norm of attention %s at a real input, over %s",
                   family, whole ? "layers" : "heads",
                   over_radius ? "the mean length of its tokens" : "its length");
    return json_pack(
        "{s:s, s:s, s:s, s:o, s:{s:o}, s:[], s:o, s:s, s:s, s:s, s:s, s:b, s:b, s:b}", "x",
        over_radius ? "mean_radius" : "n", "log", "xy", "xlabel",
        over_radius ? "mean vector length of the tokens" : "sequence length n (tokens)", "series",
        apart ? json_pack("[s, s]", "layer", "head") : json_pack("[s]", "layer"), "only", "head",
        heads_shown(c, whole), "bounds", "y",
        jt_f ? json_pack("[s, s]", "lower", "jt-f") : json_pack("[s]", "lower"), "ylabel",
        jt_f ? "local Lipschitz constant  ‖J‖₂, and √|J′f|" : "local Lipschitz constant  ‖J‖₂",
        "title", title, "legend", "below", "style",
        over_radius || !(whole || apart) ? "points" : "linespoints", "fit", 1, "interval", 1,
        "searched", 0);
}

/* plot is over n, of whole layers where they were asked for. */
static json_t *config_json(const layers_report *report, const char *family)
{
    const contents c = find_contents(report);
    json_t *config = json_object();

    for (int heads = c.whole ? 0 : 1; heads < (c.heads > 0 ? 2 : 1); heads++)
        for (int radius = 0; radius < 2; radius++) {
            char key[32];
            (void)snprintf(key, sizeof key, "plot%s%s", heads && c.whole ? "_heads" : "",
                           radius ? "_radius" : "");
            (void)json_object_set_new(config, key, plot_json(&c, !heads, radius == 1, family));
        }
    return config;
}

static json_t *manifest_json(const layers_report *report, const tl_transformer *model,
                             const char *subject)
{
    const tl_transformer_config *c = tl_transformer_about(model);
    char question[400];

    (void)snprintf(question, sizeof question,
                   "%.200s; width %zu, %zu layers of %zu heads, %s; exponents with 95 %% intervals",
                   subject, c->d, c->layers, c->heads, c->causal ? "causal" : "no mask");
    return json_pack("{s:s, s:s, s:s, s:I, s:o, s:{s:s, s:s, s:s, s:s, s:s}}", "schema",
                     "tightlip/manifest/1", "name", "layers", "question", question, "rows",
                     (json_int_t)report->rows, "config",
                     config_json(report, tl_family_name(c->family)), "build", "version",
                     tl_version(), "git", tl_git_id(), "compiler", tl_compiler(), "flags",
                     tl_build_flags(), "blas", tl_blas_provider());
}

static tl_status write_text(const char *directory, const char *name, char *text, tl_error *err)
{
    char path[4400];
    tl_status s = TL_OK;

    if (!text)
        s = tl_fail(err, TL_ERR_MEMORY, "%s: out of memory", name);
    else if ((size_t)snprintf(path, sizeof path, "%s/%s", directory, name) >= sizeof path)
        s = tl_fail(err, TL_ERR_ARGUMENT, "--output: the path is longer than %zu bytes",
                    sizeof path - 1);
    if (!s) s = tl_file_write(path, text, strlen(text), err);
    free(text);
    return s;
}

static bool stands_in(const char *directory, const char *name)
{
    char path[4400];

    return (size_t)snprintf(path, sizeof path, "%s/%s", directory, name) < sizeof path &&
           access(path, F_OK) == 0;
}

bool layers_go_beside(const layers_report *report, const char *directory)
{
    return report->interrupted && directory &&
           (stands_in(directory, "data.csv") || stands_in(directory, "manifest.json"));
}

tl_status layers_write_beside(const layers_report *report, const char *directory, tl_error *err)
{
    return write_text(directory, LAYERS_PARTIAL, layers_csv(report), err);
}

/* Rows of an earlier call that was interrupted: these take their place. */
static void drop_partial(const char *directory)
{
    char path[4400];

    if ((size_t)snprintf(path, sizeof path, "%s/" LAYERS_PARTIAL, directory) < sizeof path)
        (void)unlink(path);
}

tl_status layers_write(const layers_report *report, const tl_transformer *model,
                       const char *subject, const char *directory, tl_error *err)
{
    json_t *manifest = manifest_json(report, model, subject);
    tl_status s = tl_file_make_directory(directory, err);

    if (!s) s = write_text(directory, "data.csv", layers_csv(report), err);
    if (!s)
        s = write_text(directory, "manifest.json",
                       manifest ? json_dumps(manifest, JSON_INDENT(1)) : NULL, err);
    if (!s) s = tl_experiment_drop_plots(directory, err);
    if (!s) s = tl_experiment_plot(directory, err);
    if (!s) drop_partial(directory);
    json_decref(manifest);
    return s;
}
