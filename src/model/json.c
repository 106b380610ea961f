#include "model/json.h"

tl_status tl_json_parse(const char *text, size_t length, const char *where, json_t **root,
                        tl_error *err)
{
    static const size_t most = 10000000;
    json_error_t error;
    size_t parts = 0;

    *root = NULL;
    for (size_t i = 0; i < length; i++) parts += text[i] == ',' || text[i] == '[' || text[i] == '{';
    if (parts > most)
        return tl_fail(err, TL_ERR_LIMIT, "%s: expected at most %zu values, found about %zu", where,
                       most, parts);
    *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    return *root ? TL_OK : tl_fail_at(err, where, error.line, error.column, error.text);
}
