#include <criterion/criterion.h>
#include <string.h>

#include "tightlip/text.h"

static const char *const names[] = {"radius", "centre", "kind", "multiplicity", "Q", "norm"};

static const struct {
    const char *word, *nearest;
} rows[] = {
    {"radius", "radius"},
    {"raduis", "radius"},
    {"RADIUS", "radius"},
    {"q", "Q"},
    {"multiplicties", "multiplicity"},
    {"nor", "norm"},
    {"X", NULL},
    {"temperature", NULL},
    {"", NULL},
    {"center", "centre"},
    {"nozz", NULL},
};

Test(text, nearest_name)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *found = tl_text_nearest(rows[i].word, names, sizeof names / sizeof names[0]);
        const char *want = rows[i].nearest;
        cr_expect(want ? found && strcmp(found, want) == 0 : !found, "'%s': wanted %s, found %s",
                  rows[i].word, want ? want : "nothing", found ? found : "nothing");
    }
}

Test(text, first_of_equals_and_no_names)
{
    static const char *const twins[] = {"block1.q", "block2.q"};

    cr_expect_eq(tl_text_nearest("block3.q", twins, 2), twins[0]);
    cr_expect_null(tl_text_nearest("block3.q", twins, 0));
}

Test(text, long_words_are_left_alone)
{
    char word[129];
    const char *list[] = {word};

    memset(word, 'a', sizeof word);
    word[127] = 0;
    cr_expect_eq(tl_text_nearest(word, list, 1), word);
    word[127] = 'a';
    word[128] = 0;
    cr_expect_null(tl_text_nearest(word, list, 1));
}
