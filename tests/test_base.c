#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tightlip/status.h"
#include "tightlip/version.h"

Test(base, every_status_has_its_own_text)
{
    static const tl_status all[] = {
#define X(name, text) name,
        TL_STATUS_LIST(X)
#undef X
    };
    size_t count = sizeof all / sizeof all[0];
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq((size_t)all[i], i, "the order is ABI");
        cr_assert_str_neq(tl_status_text(all[i]), "unknown status");
        for (size_t j = 0; j < i; j++)
            cr_assert_str_neq(tl_status_text(all[i]), tl_status_text(all[j]));
    }
    cr_assert_str_eq(tl_status_text((tl_status)count), "unknown status");
}

Test(base, fail_fills_and_returns)
{
    tl_error err = {TL_OK, ""};
    cr_assert_eq(tl_fail(&err, TL_ERR_SHAPE, "%s: row %d: expected %zu, found %s", "a.json", 3,
                         (size_t)4, "5"),
                 TL_ERR_SHAPE);
    cr_assert_eq(err.status, TL_ERR_SHAPE);
    cr_assert_str_eq(err.text, "a.json: row 3: expected 4, found 5");
    cr_assert_eq(tl_fail(NULL, TL_ERR_IO, "%d", 1), TL_ERR_IO);
    cr_assert_eq(tl_fail_at(&err, "a.json", 3, 7, "no %s"), TL_ERR_PARSE);
    cr_expect_str_eq(err.text, "a.json:3:7: no %s");
    (void)tl_fail_at(&err, "a.json", 3, -1, "b");
    cr_expect_str_eq(err.text, "a.json:3: b");
    (void)tl_fail_at(&err, "a.json", -1, -1, "b");
    cr_expect_str_eq(err.text, "a.json: b");
}

Test(base, fail_may_quote_the_text_it_replaces)
{
    tl_error err = {TL_OK, ""};
    (void)tl_fail(&err, TL_ERR_PARSE, "inner");
    (void)tl_fail(&err, TL_ERR_IO, "outer (%s)", err.text);
    cr_assert_str_eq(err.text, "outer (inner)");
}

Test(base, long_texts_are_cut)
{
    char longer[2 * TL_ERROR_TEXT_SIZE];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    tl_error err = {TL_OK, ""};
    (void)tl_fail(&err, TL_ERR_PARSE, "%s", longer);
    cr_assert_eq(strlen(err.text), TL_ERROR_TEXT_SIZE - 1);
    tl_error_prefix(&err, "file");
    cr_assert_eq(strlen(err.text), TL_ERROR_TEXT_SIZE - 1);
    cr_assert_eq(strncmp(err.text, "file: xxx", 9), 0);
    tl_error_prefix(&err, "%s", longer);
    cr_assert_eq(strlen(err.text), TL_ERROR_TEXT_SIZE - 1);
    cr_assert_eq(err.status, TL_ERR_PARSE);
}

Test(base, prefix_goes_before_the_text)
{
    tl_error err = {TL_OK, ""};
    (void)tl_fail(&err, TL_ERR_DOMAIN, "radius: expected > 0, found %d", -1);
    tl_error_prefix(&err, "%s:%d", "x.cfg", 7);
    cr_assert_str_eq(err.text, "x.cfg:7: radius: expected > 0, found -1");
    cr_assert_eq(err.status, TL_ERR_DOMAIN);
    tl_error_prefix(NULL, "nothing");
}

Test(base, version_is_compiled_in)
{
    int major = -1, minor = -1, patch = -1;
    cr_assert_eq(sscanf(tl_version(), "%d.%d.%d", &major, &minor, &patch), 3);
    cr_assert(major >= 0 && minor >= 0 && patch >= 0);
    cr_assert_gt(strlen(tl_git_id()), 0);
    cr_assert_gt(strlen(tl_compiler()), 0);
    cr_assert_not_null(strstr(tl_build_flags(), "-std=c11"));
}
