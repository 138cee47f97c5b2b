/* Numbers of users whom a provider knows by texts: each text has one, for good, also where two have the same hash; on disk, too. */
#include "feed/directory.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3 };

/* Texts with the same hash, as the rules see them: their places count, whatever they are. */
static int64_t place_of(const struct directory_row *row, const char *external) {
    int64_t number = directory_number(row, external);
    return number < 0 ? -1 : number - external_id_number(external);
}

TEST(each_text_has_a_place_of_its_own_for_good) {
    struct directory_row row = {.count = 0};
    assert_int_equal(place_of(&row, "a"), -1);
    assert_true(directory_sign_in(&row, "a") && directory_sign_in(&row, "b"));
    assert_false(directory_sign_in(&row, "a") || directory_sign_in(&row, "b"));
    assert_int_equal(place_of(&row, "a"), 0);
    assert_int_equal(place_of(&row, "b"), 1);
    assert_true(directory_sign_in(&row, "c") && directory_sign_in(&row, "d"));
    assert_false(directory_sign_in(&row, "e")); /* there is no fifth */
    assert_int_equal(place_of(&row, "e"), -1);
    assert_int_equal(place_of(&row, "d"), 3);
}

TEST(a_place_that_is_given_up_is_nobodys_else) {
    struct directory_row row = {.count = 0};
    int64_t base = external_id_number("a");
    directory_sign_in(&row, "a");
    directory_sign_in(&row, "b");
    assert_true(directory_forget(&row, base));
    assert_false(directory_forget(&row, base) || directory_forget(&row, base + 3));
    assert_string_equal(row.externals[0], "");
    assert_int_equal(place_of(&row, "b"), 1);
    assert_true(directory_sign_in(&row, "a"));
    assert_int_equal(place_of(&row, "a"), 2);
}

static struct directory_command command(const char *external, int64_t user) {
    return (struct directory_command){
        .kind = DIRECTORY_COMMAND_SIGN_IN, .user = user, .external = {external, strlen(external)}};
}

TEST(commands_are_of_their_number) {
    struct directory_command good = command("auth0|a", external_id_number("auth0|a")),
                             other = command("auth0|a", external_id_number("auth0|b")), none = command("", 5),
                             blank = command("a b", external_id_number("a b"));
    assert_null(directory_complaint(&good));
    assert_non_null(directory_complaint(&other));
    assert_non_null(directory_complaint(&none));
    assert_non_null(directory_complaint(&blank));
}

static void put(struct directory_store *directory, int64_t user, int64_t offset, const struct event_text *texts,
                size_t count) {
    FREED_BUFFER value = {.size = 0};
    uint8_t key[DIRECTORY_KEY_SIZE];
    bytes_put_be64(key, (uint64_t)user);
    event_encode_directory_entry(&value, &(struct directory_entry){.externals = {texts, count}});
    table_store_put(directory_table(directory), hash_user_partition(user, PARTITIONS), offset, key, sizeof key,
                    value.data, value.size);
    assert_int_equal(table_store_write(directory_table(directory), &failure), 0);
}

TEST(rows_are_read_back_from_disk) {
    char *folder = kit_folder();
    struct store *store;
    struct directory_row row;
    int64_t user = external_id_number("a");
    int32_t partition = hash_user_partition(user, PARTITIONS);
    const struct event_text texts[] = {{"a", 1}, {"", 0}, {"b", 1}, {"c", 1}, {"d", 1}};
    assert_int_equal(store_open(folder, &(struct store_options){.memory_bytes = 0}, &store, &failure), 0);
    struct directory_store *directory = directory_store_new(store, PARTITIONS);
    for (int32_t p = 0; p < PARTITIONS; p++)
        assert_int_equal(table_store_open(directory_table(directory), p, 0, 0, &failure), 0);
    assert_int_equal(directory_row_of(directory, partition, user, &row, &failure), 0);
    assert_int_equal(row.count, 0);
    put(directory, user, 1, texts, 3);
    assert_int_equal(directory_row_of(directory, partition, user + 2, &row, &failure), 0);
    assert_int_equal(row.count, 3);
    for (size_t i = 0; i < 3; i++) assert_string_equal(row.externals[i], texts[i].data);
    put(directory, user, 2, texts, 5);
    assert_int_equal(directory_row_of(directory, partition, user, &row, &failure), -EBADMSG);
    directory_store_free(directory);
    store_close(store);
}
