/* Status codes and error texts shared by every module. Errors: every fallible function returns a
 * tl_status, may fill a tl_error, and never prints, exits or aborts. */
#ifndef TIGHTLIP_STATUS_H
#define TIGHTLIP_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* One list: enumerator, short text. Order is ABI. */
#define TL_STATUS_LIST(X)                                                   \
    X(TL_OK, "success")                                                     \
    X(TL_ERR_MEMORY, "out of memory")                                       \
    X(TL_ERR_ARGUMENT, "invalid argument")                                  \
    X(TL_ERR_SHAPE, "shapes do not fit together")                           \
    X(TL_ERR_DOMAIN, "a value lies outside its domain")                     \
    X(TL_ERR_PARSE, "malformed input")                                      \
    X(TL_ERR_IO, "input or output failed")                                  \
    X(TL_ERR_UNSUPPORTED, "not supported for this attention, mask or norm") \
    X(TL_ERR_NUMERIC, "a numerical kernel failed")                          \
    X(TL_ERR_LIMIT, "a stated limit would be exceeded")                     \
    X(TL_ERR_INTERRUPTED, "interrupted")

typedef enum {
#define X(name, text) name,
    TL_STATUS_LIST(X)
#undef X
} tl_status;

#define TL_MUST_USE __attribute__((warn_unused_result))

enum { TL_ERROR_TEXT_SIZE = 1024 };

/* Where a failure is described for a person: file, place, expected, found. Filled by the callee
 * when it fails; untouched on success. Every function that takes one accepts NULL. */
typedef struct {
    tl_status status;
    char text[TL_ERROR_TEXT_SIZE];
} tl_error;

/* Short text of a status; never NULL, static storage. */
const char *tl_status_text(tl_status status);

/* Fills err (if not NULL) with status and the formatted text, and returns status:
 * `return tl_fail(err, TL_ERR_SHAPE, "%s: ...", path);`
 * A text longer than the buffer is cut. */
tl_status tl_fail(tl_error *err, tl_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* TL_ERR_PARSE at a place of a text, as "path:line:column: text"; what is not above 0 is left out.
 */
tl_status tl_fail_at(tl_error *err, const char *path, long long line, long long column,
                     const char *text);

/* Puts "prefix: " before the text already in err, for callers that know the file or the place. */
void tl_error_prefix(tl_error *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __cplusplus
}
#endif
#endif
