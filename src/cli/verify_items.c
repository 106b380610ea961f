#include "cli/verify.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tightlip/certify.h"
#include "tightlip/experiment.h"
#include "tightlip/problem.h"

static char *format(const char *pattern, ...) __attribute__((format(printf, 1, 2)));

/* Owned text, or NULL when out of memory. */
static char *format(const char *pattern, ...)
{
    va_list args, again;

    va_start(args, pattern);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, pattern, args);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (text) (void)vsnprintf(text, (size_t)length + 1, pattern, again);
    va_end(again);
    va_end(args);
    return text;
}

static tl_status out_of_memory(tl_error *err)
{
    return tl_fail(err, TL_ERR_MEMORY, "out of memory for the list of witnesses");
}

/* Room for one more item. */
static bool make_room(tl_cli_items *items)
{
    const size_t capacity = 2 * items->capacity + 16;

    if (items->count < items->capacity) return true;
    tl_cli_item *grown = realloc(items->item, capacity * sizeof *grown);
    if (grown == NULL) return false;
    items->item = grown;
    items->capacity = capacity;
    return true;
}

/* Takes over label, certificate, document and record, also when it fails. NULL texts: out of
 * memory. */
static tl_status append(tl_cli_items *items, char *label, char *certificate, const char *data,
                        json_t *document, json_t *record, const tl_error *why, tl_error *err)
{
    char *directory = strdup(data);

    if (label != NULL && certificate != NULL && directory != NULL && make_room(items)) {
        tl_cli_item item = {.label = label,
                            .certificate = certificate,
                            .data = directory,
                            .document = document,
                            .record = record,
                            .error = {TL_OK, ""}};
        if (why != NULL) item.error = *why;
        items->item[items->count++] = item;
        return TL_OK;
    }
    free(label);
    free(certificate);
    free(directory);
    json_decref(document);
    json_decref(record);
    return out_of_memory(err);
}

/* A witness file. among_others: files that are no problem documents are passed over. */
static tl_status add_file(tl_cli_items *items, const char *path, bool among_others, tl_error *err)
{
    tl_error why = {TL_OK, ""};
    json_t *document = NULL;
    tl_status status = tl_problem_load_json(path, &document, &why);

    if (status == TL_ERR_MEMORY) return out_of_memory(err);
    if (status != TL_OK) document = NULL;
    if (status == TL_OK && among_others) {
        const char *schema = json_string_value(json_object_get(document, "schema"));
        const bool problem = schema != NULL && strncmp(schema, "tightlip/problem/", 17) == 0;
        if (!problem && !tl_certified_star_is(document)) {
            /* every run has a manifest: no word about it */
            if (!schema || strncmp(schema, "tightlip/manifest/", 18) != 0) items->bare++;
            json_decref(document);
            return TL_OK;
        }
    }
    const char *slash = strrchr(path, '/');
    char *directory = slash ? format("%.*s", (int)(slash - path + 1), path) : format(".");
    if (directory == NULL) {
        json_decref(document);
        return out_of_memory(err);
    }
    status = append(items, format("%s", path), format("%s.certificate.json", path), directory,
                    document, NULL, status == TL_OK ? NULL : &why, err);
    free(directory);
    return status;
}

/* The records of a results directory. */
typedef struct {
    const char *dir, *path; /* path: of cells.ndjson */
    json_t *manifest;       /* NULL: none that can be read */
    char *data;             /* where references of the records point */
} results;

/* Only a search finds an A, and that of one head. */
static tl_cli_a a_of(const json_t *manifest, const json_t *record)
{
    if (!json_object_get(json_object_get(record, "lower"), "evaluations")) return CLI_A_GIVEN;
    if (!manifest) return CLI_A_UNKNOWN;
    return tl_record_searched_a(manifest, record) ? CLI_A_SEARCHED : CLI_A_GIVEN;
}

/* One line of cells.ndjson. */
static tl_status add_record(tl_cli_items *items, const results *from, const char *line,
                            size_t length, size_t number, tl_error *err)
{
    tl_error why = {TL_OK, ""};
    json_error_t error;
    json_t *record = json_loadb(line, length, JSON_REJECT_DUPLICATES, &error);
    json_t *witness = json_object_get(record, "witness");

    if (record == NULL) {
        (void)tl_fail_at(&why, from->path, (long long)number, error.column, error.text);
    } else if (!json_is_object(witness)) {
        items->bare++;
        json_decref(record);
        return TL_OK;
    }
    const tl_cli_a a = a_of(from->manifest, record);
    const tl_status status =
        append(items, format("%s:%zu", from->path, number),
               format("%s/cells.%zu.certificate.json", from->dir, number), from->data,
               json_incref(witness), record, record ? NULL : &why, err);
    if (status != TL_OK) return status;
    items->item[items->count - 1].a = a;
    items->item[items->count - 1].conjectures =
        json_incref(json_object_get(json_object_get(from->manifest, "config"), "conjecture"));
    return TL_OK;
}

static json_t *load_manifest(const char *dir)
{
    char *path = format("%s/manifest.json", dir);
    json_t *manifest = NULL;

    if (path != NULL && tl_problem_load_json(path, &manifest, NULL) != TL_OK) manifest = NULL;
    free(path);
    return manifest;
}

static tl_status add_records(tl_cli_items *items, const char *dir, const char *path, tl_error *err)
{
    FILE *in = fopen(path, "rb");
    char *line = NULL;
    size_t size = 0;
    tl_status status = TL_OK;

    if (in == NULL && errno == ENOENT) return TL_OK;
    if (in == NULL)
        return tl_fail(err, TL_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    results from = {.dir = dir, .path = path, .manifest = load_manifest(dir)};
    const char *data = json_string_value(json_object_get(from.manifest, "data"));
    from.data = data != NULL ? format("%s/%s", dir, data) : format("%s", dir);
    if (from.data == NULL) status = out_of_memory(err);
    for (size_t number = 1; status == TL_OK; number++) {
        ssize_t length = getline(&line, &size, in);
        if (length < 0) break;
        status = add_record(items, &from, line, (size_t)length, number, err);
    }
    if (status == TL_OK && ferror(in)) status = tl_fail(err, TL_ERR_IO, "%s: reading failed", path);
    free(line);
    free(from.data);
    json_decref(from.manifest);
    (void)fclose(in);
    return status;
}

static int is_json(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);

    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

/* A table without its manifest, or of a run that is not whole, is none of these. */
static tl_status add_table(tl_cli_items *items, const char *base, tl_error *err)
{
    static const char *const names[] = {"manifest.json", "cells.ndjson", "data.csv"};
    char **grown;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = format("%s/%s", base, names[i]);
        const bool there = path != NULL && access(path, F_OK) == 0;
        if (path == NULL) return out_of_memory(err);
        free(path);
        if (!there) return TL_OK;
    }
    grown = realloc(items->table, (items->tables + 1) * sizeof *grown);
    if (grown == NULL) return out_of_memory(err);
    items->table = grown;
    items->table[items->tables] = strdup(base);
    return items->table[items->tables++] != NULL ? TL_OK : out_of_memory(err);
}

static tl_status add_directory(tl_cli_items *items, const char *dir, tl_error *err)
{
    struct dirent **names = NULL;
    int count = scandir(dir, &names, is_json, alphasort);
    size_t end = strlen(dir);

    if (count < 0) return tl_fail(err, TL_ERR_IO, "%s: cannot be listed: %s", dir, strerror(errno));
    while (end > 1 && dir[end - 1] == '/') end--;
    char *base = format("%.*s", (int)end, dir);
    tl_status status = base != NULL ? TL_OK : out_of_memory(err);
    for (int i = 0; i < count; i++) {
        char *path = status == TL_OK ? format("%s/%s", base, names[i]->d_name) : NULL;
        if (path != NULL)
            status = add_file(items, path, true, err);
        else if (status == TL_OK)
            status = out_of_memory(err);
        free(path);
        free(names[i]);
    }
    free(names);
    char *cells = status == TL_OK ? format("%s/cells.ndjson", base) : NULL;
    if (cells != NULL)
        status = add_records(items, base, cells, err);
    else if (status == TL_OK)
        status = out_of_memory(err);
    if (status == TL_OK) status = add_table(items, base, err);
    free(cells);
    free(base);
    return status;
}

tl_status tl_cli_items_add(tl_cli_items *items, const char *path, tl_error *err)
{
    struct stat at;

    if (stat(path, &at) != 0)
        return tl_fail(err, TL_ERR_IO, "%s: cannot be opened: %s", path, strerror(errno));
    return S_ISDIR(at.st_mode) ? add_directory(items, path, err)
                               : add_file(items, path, false, err);
}

void tl_cli_item_release(tl_cli_item *item)
{
    json_decref(item->document);
    json_decref(item->record);
    json_decref(item->conjectures);
    item->document = item->record = item->conjectures = NULL;
}

void tl_cli_items_clear(tl_cli_items *items)
{
    for (size_t i = 0; i < items->count; i++) {
        free(items->item[i].label);
        free(items->item[i].certificate);
        free(items->item[i].data);
        tl_cli_item_release(&items->item[i]);
    }
    for (size_t i = 0; i < items->tables; i++) free(items->table[i]);
    free(items->table);
    free(items->item);
    *items = (tl_cli_items){0};
}
