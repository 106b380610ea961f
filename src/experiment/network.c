/* Cells that are images of a network: a proven radius, and attacks: the group `network`. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "experiment/modes.h"
#include "tightlip/livit.h"

struct tl_network_cell {
    tl_livit *net;    /* owned */
    tl_images images; /* up to the one of the cell */
    size_t image;
};

/* Settings of the file that are about attention. */
static tl_status refuse_others(const tl_experiment *ex, tl_error *err)
{
    static const char *const keys[] = {"attention", "tokens", "n",          "domain",  "search",
                                       "norm",      "bounds", "conjecture", "certify", "exact",
                                       "compare",   "invert", "attack"};
    const config_setting_t *root = config_root_setting(&ex->tree);

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const config_setting_t *at = config_setting_get_member(root, keys[i]);
        if (at)
            return tl_config_fail(ex, at, err, TL_ERR_ARGUMENT,
                                  "expected no such setting beside network");
    }
    return TL_OK;
}

static tl_status read_epsilons(tl_experiment *ex, const config_setting_t *group, tl_error *err)
{
    tl_network_wish *wish = &ex->network;
    const config_setting_t *at = NULL;
    tl_status s = tl_config_require(ex, group, "epsilons", &at, err);

    if (s) return s;
    const int count = config_setting_is_aggregate(at) ? config_setting_length(at) : 0;
    if (config_setting_is_group(at) || count < 1 || count >= TL_NETWORK_EPSILONS_MAX)
        return tl_config_fail(ex, at, err, TL_ERR_PARSE, "expected a list of 1 to %d numbers",
                              TL_NETWORK_EPSILONS_MAX - 1);
    wish->epsilons = 1;
    for (int i = 0; !s && i < count; i++) {
        double *epsilon = &wish->epsilon[wish->epsilons++];
        s = tl_config_real(ex, config_setting_get_elem(at, (unsigned)i), epsilon, err);
        if (!s && !(*epsilon > epsilon[-1] && isfinite(*epsilon)))
            s = tl_config_fail(ex, at, err, TL_ERR_DOMAIN,
                               "expected rising numbers above 0, found %g after %g", *epsilon,
                               epsilon[-1]);
    }
    return s;
}

static tl_status read_attack(tl_experiment *ex, const config_setting_t *at, tl_error *err)
{
    static const char *const keys[] = {"restarts", "steps"};
    tl_livit_attack usual;
    tl_status s;

    tl_livit_attack_defaults(&usual);
    ex->network.attacked = at != NULL;
    ex->network.restarts = usual.restarts;
    ex->network.steps = usual.steps;
    if (!at) return TL_OK;
    s = tl_config_keys(ex, at, keys, 2, err);
    if (!s) s = tl_config_count(ex, at, keys[0], 1, 100000, &ex->network.restarts, err);
    return s ? s : tl_config_count(ex, at, keys[1], 1, 100000, &ex->network.steps, err);
}

tl_status tl_network_read(tl_experiment *ex, const config_setting_t *at, tl_error *err)
{
    static const char *const keys[] = {"model", "images", "labels", "image", "epsilons", "pgd"};
    tl_status s;

    ex->network.on = at != NULL;
    ex->network.group = at;
    if (!at) return TL_OK;
    s = tl_config_keys(ex, at, keys, sizeof keys / sizeof *keys, err);
    for (size_t i = 0; !s && i < ex->variables; i++)
        if (strcmp(ex->variable[i].name, "epsilon") == 0)
            s = tl_config_fail(ex, at, err, TL_ERR_ARGUMENT,
                               "a sweep variable \"epsilon\" hides the list epsilons");
    if (!s) s = refuse_others(ex, err);
    if (!s) s = read_epsilons(ex, at, err);
    return s ? s : read_attack(ex, config_setting_get_member(at, "pgd"), err);
}

/* A path of the group, from the directory of the file; NULL where optional and absent. */
static tl_status path_of(const tl_bindings *b, const char *key, bool optional, char **out,
                         tl_error *err)
{
    const tl_experiment *ex = b->experiment;
    char *text = NULL;
    tl_status s = tl_bindings_text(b, ex->network.group, key, key, &text, err);

    *out = NULL;
    if (!s && !text && !optional)
        s = tl_config_fail(ex, ex->network.group, err, TL_ERR_PARSE, "expected %s, a file", key);
    if (!s && text) *out = tl_bindings_path(b, text);
    if (!s && text && !*out) s = tl_fail(err, TL_ERR_MEMORY, "out of memory");
    free(text);
    return s;
}

static tl_status check_images(const tl_experiment *ex, const struct tl_network_cell *cell,
                              const char *path, tl_error *err)
{
    const tl_livit_shape shape = tl_livit_shape_of(cell->net);
    const tl_images *images = &cell->images;

    if (cell->image >= images->count)
        return tl_config_fail(ex, ex->network.group, err, TL_ERR_ARGUMENT,
                              "expected an image below %zu, as many as %s holds, found %zu",
                              images->count, path, cell->image);
    if (images->channels == shape.channels && images->height == shape.height &&
        images->width == shape.width)
        return TL_OK;
    return tl_config_fail(ex, ex->network.group, err, TL_ERR_SHAPE,
                          "%s: expected images of %zu x %zu x %zu as in the network, found %zu x "
                          "%zu x %zu",
                          path, shape.channels, shape.height, shape.width, images->channels,
                          images->height, images->width);
}

static tl_status open_files(const tl_bindings *b, struct tl_network_cell *cell, tl_error *err)
{
    char *model = NULL, *images = NULL, *labels = NULL;
    tl_status s = path_of(b, "model", false, &model, err);

    if (!s) s = path_of(b, "images", false, &images, err);
    if (!s) s = path_of(b, "labels", true, &labels, err);
    if (!s) s = tl_livit_open(&cell->net, model, err);
    if (!s) s = tl_images_read(&cell->images, images, labels, cell->image + 1, err);
    if (!s) s = check_images(b->experiment, cell, images, err);
    free(model);
    free(images);
    free(labels);
    return s;
}

tl_status tl_network_build(const tl_bindings *b, tl_cell *cell, tl_error *err)
{
    const config_setting_t *group = b->experiment->network.group;
    struct tl_network_cell *network = calloc(1, sizeof *network);
    long long image = 0;
    bool found = false;
    tl_status s;

    if (!network) return tl_fail(err, TL_ERR_MEMORY, "out of memory");
    cell->network = network;
    cell->settings = b->experiment->settings;
    s = tl_bindings_integer(b, group, "image", "image", 0, 1000000000, &image, &found, err);
    if (!s && !found)
        s = tl_config_fail(b->experiment, group, err, TL_ERR_PARSE,
                           "expected image, the number of one, or a sweep over it");
    network->image = (size_t)image;
    return s ? s : open_files(b, network, err);
}

void tl_network_free(struct tl_network_cell *network)
{
    if (!network) return;
    tl_livit_free(network->net);
    tl_images_clear(&network->images);
    free(network);
}

/* The image of the cell alone, borrowed from those read. */
static tl_status evaluate(const tl_experiment *ex, const tl_cell *cell, tl_livit_report *report,
                          tl_error *err)
{
    const struct tl_network_cell *network = cell->network;
    const tl_livit_attack attack = {.restarts = ex->network.restarts,
                                    .steps = ex->network.steps,
                                    .seed = cell->settings.seed,
                                    .first = network->image};
    tl_images one = network->images;
    const size_t size = one.channels * one.height * one.width;

    one.count = 1;
    one.pixels += network->image * size;
    if (one.labels) one.labels += network->image;
    return tl_livit_evaluate(report, network->net, &one, ex->network.epsilon, ex->network.epsilons,
                             ex->network.attacked ? &attack : NULL, err);
}

static json_t *image_json(const tl_experiment *ex, const struct tl_network_cell *network,
                          const tl_livit_report *report)
{
    const tl_livit_row *row = &report->row[0];
    const size_t epsilons = ex->network.attacked ? ex->network.epsilons : 0;
    size_t first = 0;

    while (first < epsilons && !row->attacked[first]) first++;
    json_t *attacked = first < epsilons ? json_real(ex->network.epsilon[first]) : json_null();
    return json_pack("{s:I, s:I, s:b, s:I, s:f, s:f, s:o}", "image", (json_int_t)network->image,
                     "label", (json_int_t)row->label, "labelled", (int)report->labelled,
                     "predicted", (json_int_t)row->predicted, "margin", row->margin, "radius",
                     row->radius, "attacked_from", attacked);
}

tl_status tl_network_record(const tl_experiment *ex, const tl_cell *cell, char **out, tl_error *err)
{
    tl_livit_report report;
    tl_status s = evaluate(ex, cell, &report, err);

    if (s) return s;
    json_t *record = json_pack("{s:I, s:o?, s:o?}", "cell", (json_int_t)cell->index, "variables",
                               tl_record_variables(ex, cell->index), "image",
                               image_json(ex, cell->network, &report));
    if (record && report.refuted && json_object_set_new(record, "violation", json_true())) {
        json_decref(record);
        record = NULL;
    }
    *out = record ? tl_json_line(record) : NULL;
    json_decref(record);
    tl_livit_report_clear(&report);
    return *out ? TL_OK : tl_fail(err, TL_ERR_MEMORY, "out of memory");
}

/* ---- data.csv ---- */

const char *const tl_network_columns = "epsilon,radius,clean,certified,standing\n";

void tl_network_row(tl_buffer *b, const tl_csv_shape *shape, const json_t *record, size_t e)
{
    const json_t *image = json_object_get(record, "image");
    const json_t *from = json_object_get(image, "attacked_from");
    const double epsilon = shape->epsilon[e];
    const double radius = json_number_value(json_object_get(image, "radius"));
    const long long label = json_integer_value(json_object_get(image, "label"));
    const long long predicted = json_integer_value(json_object_get(image, "predicted"));

    tl_buffer_print(b, "%.17g,", epsilon);
    if (!image) {
        tl_buffer_text(b, ",,,\n"); /* of a cell that failed */
        return;
    }
    tl_buffer_print(b, "%.17g,%d,%d,", radius, label == predicted, radius > 0 && radius >= epsilon);
    if (shape->attacked)
        tl_buffer_print(b, "%d", !json_is_number(from) || epsilon < json_number_value(from));
    tl_buffer_text(b, "\n");
}
