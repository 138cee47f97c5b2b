/* Folders are made with those above them. */
#include <sys/stat.h>

#include "base/folders.h"
#include "unit/kit/kit.h"

static bool is_folder(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

TEST(all_folders_of_a_path_are_made_for_the_user_alone) {
    struct stat info;
    FREED char *path = mem_format("%s/a/b/c", kit_folder());
    for (int i = 0; i < 2; i++) assert_int_equal(folders_make(path, &failure), 0); // also if they are there
    assert_int_equal(stat(path, &info), 0);
    assert_true(S_ISDIR(info.st_mode));
    assert_int_equal(info.st_mode & 0777, 0700);
}

TEST(those_above_a_file_are_made_alone) {
    FREED char *above = mem_format("%s/a/b", kit_folder()), *path = mem_format("%s/c", above);
    assert_int_equal(folders_make_above(path, &failure), 0);
    assert_true(is_folder(above));
    assert_false(is_folder(path));
    assert_int_equal(folders_make_above("/c", &failure), 0);
    assert_int_equal(folders_make_above("c", &failure), 0);
}

TEST(a_file_in_the_way_is_named) {
    FREED char *file = mem_format("%s/file", kit_folder()), *path = mem_format("%s/below/it", file);
    kit_write(file, "");
    assert_fails(folders_make(path, &failure), -ENOTDIR, file);
    assert_fails(folders_make_above(path, &failure), -ENOTDIR, file);
}
