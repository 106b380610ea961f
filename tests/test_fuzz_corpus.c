/* Every input that a fuzzer kept, and every input of the command-line tests, once more. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fuzz_targets.h"

static size_t replay(const char *directory, const char *suffix,
                     void (*target)(const uint8_t *, size_t))
{
    DIR *list = opendir(directory);
    const struct dirent *entry;
    size_t count = 0;

    cr_assert(list, "%s", directory);
    while ((entry = readdir(list)) != NULL) {
        char path[1024];
        const size_t length = strlen(entry->d_name), end = strlen(suffix);
        if (entry->d_name[0] == '.' || length < end ||
            strcmp(entry->d_name + length - end, suffix) != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", directory, entry->d_name);
        FILE *file = fopen(path, "rb");
        uint8_t *data = malloc(1 << 20);
        cr_assert(file && data);
        const size_t size = fread(data, 1, 1 << 20, file);
        target(data, size);
        free(data);
        (void)fclose(file);
        count++;
    }
    (void)closedir(list);
    return count;
}

Test(fuzz_corpus, problems)
{
    cr_expect(replay("tests/fuzz/corpus/problem", "", fuzz_problem) > 0);
    cr_expect(replay("tests/cli/data", ".json", fuzz_problem) > 40);
}

Test(fuzz_corpus, configs)
{
    cr_expect(replay("tests/fuzz/corpus/config", "", fuzz_config) > 0);
    cr_expect(replay("tests/cli/data", ".cfg", fuzz_config) > 5);
}

Test(fuzz_corpus, weights)
{
    cr_expect(replay("tests/fuzz/corpus/safetensors", "", fuzz_weights) > 0);
    cr_expect(replay("tests/fuzz/corpus/npy", "", fuzz_weights) > 10);
    cr_expect(replay("tests/fuzz/corpus/onnx", "", fuzz_weights) > 3);
    cr_expect(replay("tests/fuzz/corpus/npz", "", fuzz_weights) > 1);
}

Test(fuzz_corpus, tokenizers)
{
    cr_expect(replay("tests/fuzz/corpus/tokenizer", "", fuzz_tokenizer) > 3);
    cr_expect(replay("tests/fuzz/corpus/ids", "", fuzz_ids) > 1);
}

Test(fuzz_corpus, images)
{
    cr_expect(replay("tests/fuzz/corpus/images", "", fuzz_images) > 0);
}
