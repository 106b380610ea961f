/* Texts of an experiment: its name, and what people read. */
#include <string.h>

#include "experiment/internal.h"

static tl_status read_name(tl_experiment *ex, const config_setting_t *root, tl_error *err)
{
    const config_setting_t *at;
    const config_setting_t *title = config_setting_get_member(root, "title");
    const config_setting_t *question = config_setting_get_member(root, "question");
    tl_status s = tl_config_require(ex, root, "name", &at, err);

    if (!s) s = tl_config_text(ex, at, &ex->name, err);
    if (!s && (!ex->name[0] || strlen(ex->name) > 100 ||
               ex->name[strspn(ex->name, "abcdefghijklmnopqrstuvwxyz"
                                         "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")]))
        s = tl_config_fail(ex, at, err, TL_ERR_ARGUMENT,
                           "expected letters, digits, _ and -, at most 100, found \"%.60s\"",
                           ex->name);
    if (!s && title) s = tl_config_text(ex, title, &ex->title, err);
    if (!s && question) s = tl_config_text(ex, question, &ex->question, err);
    return s;
}

/* Prose for results/README.md: what the paper shows, what was found. Nothing here depends on it. */
static tl_status check_prose(const tl_experiment *ex, const config_setting_t *root, tl_error *err)
{
    static const char *const keys[] = {"paper", "finding"};
    tl_status s = TL_OK;

    for (size_t i = 0; !s && i < sizeof keys / sizeof *keys; i++) {
        const config_setting_t *at = config_setting_get_member(root, keys[i]);
        const char *text;
        if (at) s = tl_config_text(ex, at, &text, err);
    }
    return s;
}

tl_status tl_prose_read(tl_experiment *ex, const config_setting_t *root, tl_error *err)
{
    tl_status s = read_name(ex, root, err);

    return s ? s : check_prose(ex, root, err);
}
