/* Small text helpers for messages. Errors: none; nothing here allocates. */
#ifndef TIGHTLIP_TEXT_H
#define TIGHTLIP_TEXT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The name that `word` was probably meant to be: least edit distance (letters inserted, dropped,
 * replaced; upper and lower case count as equal), at most a third of the longer of the two; the
 * first of equals. NULL when nothing is that near, or for words above 127 bytes. Cost: product of
 * the lengths, per name. */
const char *tl_text_nearest(const char *word, const char *const *names, size_t count);

#ifdef __cplusplus
}
#endif

#endif
