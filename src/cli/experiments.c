#include "cli/experiments.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <libconfig.h>

#include "cli/cli.h"
#include "tightlip/problem.h"

enum { TEXT_SIZE = 512, PLACE_SIZE = 4096 };

static int is_config(const struct dirent *entry)
{
    const char *end = strrchr(entry->d_name, '.');

    return end != NULL && end != entry->d_name && strcmp(end, ".cfg") == 0;
}

/* The first paragraph of the comment that opens the file. */
static void read_comment(const char *path, char question[TEXT_SIZE])
{
    FILE *file = fopen(path, "r");
    char line[TEXT_SIZE];
    size_t used = 0;

    if (file == NULL) return;
    while (fgets(line, sizeof line, file) != NULL && line[0] == '#' && used < TEXT_SIZE) {
        const char *text = line + strspn(line, "# \t");
        size_t length = strcspn(text, "\r\n");
        if (length == 0) break;
        used += (size_t)snprintf(question + used, TEXT_SIZE - used, "%s%.*s", used == 0 ? "" : " ",
                                 (int)length, text);
    }
    (void)fclose(file);
}

/* A file that does not parse is still listed, by its file name. The opening comment asks the
 * question in words; the setting `question`, which the plot shows, stands in for it. */
static void read_titles(const char *path, const char *file, char name[TEXT_SIZE],
                        char question[TEXT_SIZE])
{
    config_t config;
    const char *text = NULL;

    snprintf(name, TEXT_SIZE, "%.*s", (int)(strlen(file) - strlen(".cfg")), file);
    question[0] = '\0';
    read_comment(path, question);
    config_init(&config);
    if (config_read_file(&config, path) == CONFIG_TRUE) {
        if (config_lookup_string(&config, "name", &text) == CONFIG_TRUE)
            snprintf(name, TEXT_SIZE, "%s", text);
        if (question[0] == '\0' && config_lookup_string(&config, "question", &text) == CONFIG_TRUE)
            snprintf(question, TEXT_SIZE, "%s", text);
    }
    config_destroy(&config);
}

static json_t *list_one(const char *directory, const char *file, bool json)
{
    char path[PLACE_SIZE + TEXT_SIZE], name[TEXT_SIZE], question[TEXT_SIZE];

    snprintf(path, sizeof path, "%s/%s", directory, file);
    read_titles(path, file, name, question);
    if (!json) {
        printf("%s\n    ", path);
        tl_cli_print_wrapped(stdout, question, 4, 4);
    }
    return json_pack("{s:s,s:s,s:s}", "name", name, "file", path, "question", question);
}

static int list_directory(json_t **array, const char *directory, bool json)
{
    struct dirent **entries = NULL;
    const int count = scandir(directory, &entries, is_config, alphasort);

    for (int i = 0; i < count; i++) {
        tl_cli_json_append(array, list_one(directory, entries[i]->d_name, json));
        free(entries[i]);
    }
    free(entries);
    return count;
}

/* Where `make install` puts them, from where the program lies: PREFIX/share beside PREFIX/bin,
 * wherever the whole was moved. Empty where the system does not say. */
static void find_installed(char place[PLACE_SIZE])
{
    const ssize_t length = readlink("/proc/self/exe", place, PLACE_SIZE - 1);
    char *slash;

    place[length > 0 ? length : 0] = '\0';
    for (int up = 0; up < 2; up++) /* the program, then bin */
        if ((slash = strrchr(place, '/')) != NULL) *slash = '\0';
    if (length > 0) {
        const size_t used = strlen(place);
        snprintf(place + used, PLACE_SIZE - used, "/share/tightlip/experiments");
    }
}

/* Here, else where they are installed. Those in `pretrained` need weights that are not shipped. */
json_t *tl_cli_list_experiments(bool json)
{
    char installed[PLACE_SIZE], pretrained[PLACE_SIZE + TEXT_SIZE];
    const char *const directories[] = {"experiments", installed};
    json_t *array = json_array();

    find_installed(installed);
    for (size_t i = 0; i < CLI_COUNT_OF(directories); i++) {
        if (list_directory(&array, directories[i], json) <= 0) continue;
        snprintf(pretrained, sizeof pretrained, "%s/pretrained", directories[i]);
        (void)list_directory(&array, pretrained, json);
        return array;
    }
    fprintf(stderr, "tightlip list: no experiments in ./experiments or %s\n", installed);
    return array;
}

static void list_file(json_t **list, const char *path, bool json)
{
    if (access(path, F_OK) != 0) return;
    if (!json) puts(path);
    tl_cli_json_append(list, json_string(path));
}

json_t *tl_cli_list_plots(const char *directory, bool json)
{
    static const char *const ends[] = {".gp", ".svg", ".png"};
    json_t *list = json_array(), *manifest = NULL, *plot;
    char path[4400];
    const char *group;
    tl_error err = {0};

    (void)snprintf(path, sizeof path, "%s/manifest.json", directory);
    if (tl_problem_load_json(path, &manifest, &err) != TL_OK) return list;
    json_object_foreach(json_object_get(manifest, "config"), group, plot)
    {
        if (strncmp(group, "plot", 4) != 0) continue;
        for (size_t i = 0; i < CLI_COUNT_OF(ends); i++) {
            (void)snprintf(path, sizeof path, "%s/%.64s%s", directory, group, ends[i]);
            list_file(&list, path, json);
        }
        (void)snprintf(path, sizeof path, "%s/fit%.60s.csv", directory, group + 4);
        list_file(&list, path, json);
    }
    json_decref(manifest);
    return list;
}
