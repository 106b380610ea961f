#include "support/witness_text.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>

void read_text(tl_problem *problem, const char *format, ...)
{
    char text[1 << 14];
    json_error_t error;
    tl_error err = {.text = ""};
    va_list args;

    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    cr_assert(length > 0 && (size_t)length < sizeof text);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\'') *c = '"';
    json_t *root = json_loads(text, 0, &error);
    cr_assert(root != NULL, "%s: %s", error.text, text);
    cr_assert_eq(tl_problem_from_json_anywhere(root, "text", problem, &err), TL_OK, "%s", err.text);
    json_decref(root);
}

tl_certificate certify(const tl_problem *problem, const tl_certify_settings *settings)
{
    tl_certificate c;
    tl_error err = {.text = ""};

    cr_assert_eq(tl_certify_problem(problem, settings, &c, &err), TL_OK, "%s", err.text);
    return c;
}

tl_verdict verdict(const tl_problem *problem)
{
    tl_certificate c = certify(problem, NULL);
    tl_verdict found = c.verdict;

    cr_expect_eq(tl_certificate_contradicts(&c), found == TL_VERDICT_BELOW ||
                                                     found == TL_VERDICT_REFUTES ||
                                                     found == TL_VERDICT_OUTSIDE);
    tl_certificate_clear(&c);
    return found;
}
