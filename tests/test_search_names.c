/* Every word of the tables of a search leads back to what it names, and no other word does. */
#include <criterion/criterion.h>
#include <string.h>

#include "tightlip/search.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* One `?` would be two rows of the same name, too. */
static void expect_distinct(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        cr_expect(strlen(names[i]) > 1, "%s", names[i]);
        for (size_t k = 0; k < i; k++) cr_expect_str_neq(names[i], names[k]);
    }
}

Test(search_names, objectives)
{
#define X(id, name, text) id,
    static const tl_objective all[] = {TL_OBJECTIVE_LIST(X)};
#undef X
    const char *names[COUNT(all)];
    tl_objective found = all[0];

    for (size_t i = 0; i < COUNT(all); i++) {
        names[i] = tl_objective_name(all[i]);
        cr_expect_eq(tl_objective_from_name(names[i], &found), TL_OK);
        cr_expect_eq(found, all[i]);
    }
    expect_distinct(names, COUNT(all));
    cr_expect_eq(tl_objective_from_name("nor", &found), TL_ERR_ARGUMENT);
    cr_expect_str_eq(tl_objective_name((tl_objective)COUNT(all)), "unknown");
}

Test(search_names, starts)
{
    const char *names[TL_START_COUNT + 1], *texts[TL_START_COUNT];
    tl_start found = TL_START_COUNT;

    for (int i = 0; i < TL_START_COUNT; i++) {
        names[i] = tl_start_name((tl_start)i);
        texts[i] = tl_start_text((tl_start)i);
        cr_expect_eq(tl_start_from_name(names[i], &found), TL_OK);
        cr_expect_eq(found, (tl_start)i);
    }
    names[TL_START_COUNT] = tl_start_name(TL_START_NEIGHBOUR);
    expect_distinct(names, COUNT(names));
    expect_distinct(texts, COUNT(texts));
    /* A neighbour is recorded, and cannot be asked for. */
    cr_expect_eq(tl_start_from_name("neighbour", &found), TL_ERR_ARGUMENT);
    cr_expect_str_eq(tl_start_text(TL_START_NEIGHBOUR), "unknown");
    cr_expect_str_eq(tl_start_name((tl_start)(TL_START_COUNT + 1)), "unknown");
}

Test(search_names, reasons_to_stop)
{
#define X(id, name) id,
    static const tl_stop all[] = {TL_STOP_LIST(X)};
#undef X
    const char *names[COUNT(all)];

    for (size_t i = 0; i < COUNT(all); i++) names[i] = tl_stop_name(all[i]);
    expect_distinct(names, COUNT(all));
    cr_expect_str_eq(tl_stop_name((tl_stop)COUNT(all)), "unknown");
}
