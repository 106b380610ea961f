/* What a reader does with any bytes: for fuzzers, and to replay their finds. */
#ifndef SUPPORT_FUZZ_TARGETS_H
#define SUPPORT_FUZZ_TARGETS_H

#include <stddef.h>
#include <stdint.h>

void fuzz_problem(const uint8_t *data, size_t size);
void fuzz_config(const uint8_t *data, size_t size);
void fuzz_weights(const uint8_t *data, size_t size);
/* "b", then vocab.json, 0, merges.txt, 0, a text; or "w", vocab.txt, 0, a text. */
void fuzz_tokenizer(const uint8_t *data, size_t size);
/* A text numbered in each way, as a list of ids too. */
void fuzz_ids(const uint8_t *data, size_t size);
void fuzz_images(const uint8_t *data, size_t size);

#endif
