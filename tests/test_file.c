#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/scratch.h"
#include "tightlip/file.h"

static bool holds(const char *path, const char *text)
{
    char found[64] = "";
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(found, 1, sizeof found - 1, file) : 0;

    if (file) fclose(file);
    return size == strlen(text) && memcmp(found, text, size) == 0;
}

Test(file, writes_and_replaces)
{
    scratch s;

    cr_assert(scratch_init(&s));
    cr_expect_eq(tl_file_write(scratch_path(&s, "a"), "first", 5, NULL), TL_OK);
    cr_expect(holds(s.path, "first"));
    cr_expect_eq(tl_file_write(s.path, "2nd", 3, NULL), TL_OK);
    cr_expect(holds(s.path, "2nd"));
    cr_expect_eq(tl_file_write(s.path, "", 0, NULL), TL_OK);
    cr_expect(holds(s.path, ""));
    cr_expect_eq(scratch_count(&s), 1, "a temporary file was left behind");
    scratch_clear(&s);
}

Test(file, reads_all_bytes_or_refuses)
{
    static const char bytes[] = {'a', 0, '\n', 'b'};
    char *text = NULL;
    size_t size = 0;
    tl_error err;
    scratch s;

    cr_assert(scratch_init(&s));
    cr_assert_eq(tl_file_read(scratch_write(&s, "a", bytes, 4), &text, &size, &err), TL_OK);
    cr_assert_eq(size, 4);
    cr_expect(memcmp(text, bytes, 4) == 0 && text[4] == 0);
    free(text);
    cr_expect_eq(tl_file_read(s.directory, &text, &size, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "expected a file, found a directory"), "%s", err.text);
    cr_expect_eq(tl_file_read(scratch_path(&s, "absent"), &text, &size, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "absent: cannot be opened: No such file"), "%s", err.text);
    scratch_clear(&s);
}

Test(file, link_keeps_pointing)
{
    struct stat info;
    char target[SCRATCH_PATH_SIZE];
    scratch s;

    cr_assert(scratch_init(&s));
    cr_assert_not_null(scratch_write(&s, "target", "old", 3));
    strcpy(target, s.path);
    cr_assert_eq(symlink("target", scratch_path(&s, "link")), 0);
    cr_expect_eq(tl_file_write(s.path, "new", 3, NULL), TL_OK);
    cr_expect(holds(target, "new"));
    cr_expect(lstat(s.path, &info) == 0 && S_ISLNK(info.st_mode));
    scratch_clear(&s);
}

Test(file, full_device_is_an_error)
{
    tl_error err;
    struct stat info;

    if (stat("/dev/full", &info) != 0) cr_skip_test("no /dev/full here");
    cr_expect_eq(tl_file_write("/dev/full", "x", 1, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "/dev/full: writing failed: No space"), "%s", err.text);
}

/* A file size limit stands in for a full disk: the write stops part of the way. */
Test(file, failed_write_leaves_the_old_file)
{
    static char big[1 << 16];
    struct rlimit limit = {4096, 4096};
    tl_error err;
    scratch s;

    cr_assert(scratch_init(&s));
    cr_assert_not_null(scratch_write(&s, "a", "old", 3));
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    cr_expect_eq(tl_file_write(s.path, big, sizeof big, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "writing failed"), "%s", err.text);
    cr_expect(holds(s.path, "old"));
    cr_expect_eq(scratch_count(&s), 1, "a temporary file was left behind");
    scratch_clear(&s);
}

Test(file, unwritable_places)
{
    tl_error err;
    scratch s;

    cr_assert(scratch_init(&s));
    cr_expect_eq(tl_file_write(s.directory, "x", 1, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "found a directory"), "%s", err.text);
    cr_expect_eq(tl_file_write(scratch_path(&s, "none/a"), "x", 1, &err), TL_ERR_IO);
    cr_expect(strstr(err.text, "cannot be created"), "%s", err.text);
    cr_expect_eq(scratch_count(&s), 0);
    scratch_clear(&s);
}
