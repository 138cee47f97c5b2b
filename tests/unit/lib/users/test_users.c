/* Tests profiles.c, sharing_modes.c and user_json.c. The copies of sharing and profiles, as the table entries that lib/copies calls. */
#include "base/bytes.h"
#include "event/topics.h"
#include "store/store.h"
#include "unit/kit/kit.h"
#include "users/profiles.h"
#include "users/report.h"
#include "users/sharing_modes.h"
#include "users/user_json.h"

struct told {
    int count;
    int64_t user, offset;
    enum sharing_mode mode;
};

static void on_change(void *context, int64_t user, enum sharing_mode mode, int64_t offset) {
    struct told *told = context;
    *told = (struct told){.count = told->count + 1, .user = user, .offset = offset, .mode = mode};
}

/* A record of that user; `key` and `value` are the caller's. */
static struct kafka_record record_of(const struct topic *topic, uint8_t key[8], int64_t user, int64_t offset,
                                     const struct buffer *value) {
    bytes_put_be64(key, (uint64_t)user);
    return (struct kafka_record){.topic = topic,
                                 .offset = offset,
                                 .key = key,
                                 .key_size = 8,
                                 .value = value ? (const uint8_t *)value->data : NULL,
                                 .value_size = value ? value->size : 0};
}

TEST(test_sharing) {
    struct told told = {.count = 0};
    struct metrics *metrics = kit_metrics();
    struct sharing_modes *modes = sharing_modes_new(
        &(struct sharing_modes_options){.metrics = metrics, .context = &told, .on_change = on_change});
    const struct copy_definition copy = sharing_modes_copy(modes);
    const struct metric *users = metrics_gauge(metrics, "starling_copies_sharing_users", "", NULL);
    FREED_BUFFER value = {.size = 0};
    uint8_t key[8], key2[8];
    int64_t offset;
    assert_ptr_equal(copy.topic, &TOPIC_SHARING);
    assert_null(copy.disk);
    event_encode_sharing(&value, &(struct sharing){.mode = SHARING_FRIENDS});
    struct kafka_record first = record_of(&TOPIC_SHARING, key, 7, 10, &value);
    assert_int_equal(copy.apply(copy.context, &first, NULL), 0);
    assert_int_equal(sharing_modes_find(modes, 7, &offset), SHARING_FRIENDS);
    assert_int_equal(offset, 10);
    copy.changed(copy.context, &first);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.user, 7);
    assert_int_equal(told.mode, SHARING_FRIENDS);
    // A tombstone in the same batch: only it is told.
    struct kafka_record gone = record_of(&TOPIC_SHARING, key2, 7, 11, NULL);
    assert_int_equal(copy.apply(copy.context, &gone, NULL), 0);
    copy.changed(copy.context, &first);
    assert_int_equal(told.count, 1);
    copy.changed(copy.context, &gone);
    assert_int_equal(told.count, 2);
    assert_int_equal(told.offset, 11);
    assert_int_equal(told.mode, SHARING_OFF);
    // Refused: a value that is none, and a key that is no user.
    struct error error = {.text = ""};
    value.size--;
    struct kafka_record bad = record_of(&TOPIC_SHARING, key, 7, 12, &value);
    assert_true(copy.apply(copy.context, &bad, &error) < 0);
    assert_true(*error.text);
    struct kafka_record nobody = record_of(&TOPIC_SHARING, key, -5, 13, NULL);
    assert_int_equal(copy.apply(copy.context, &nobody, &error), -EBADMSG);
    sharing_modes_find(modes, 7, &offset);
    assert_int_equal(offset, 11);
    assert_int_equal((int)users->value, 1);
    // The topic is read anew: what it does not say any more is gone.
    copy.forget(copy.context);
    assert_int_equal(sharing_modes_find(modes, 7, &offset), SHARING_OFF);
    assert_int_equal(offset, -1);
    assert_int_equal((int)users->value, 0);
    sharing_modes_free(modes);
}

TEST(test_details_are_told_while_the_user_shares) {
    struct metrics *metrics = kit_metrics();
    struct sharing_modes *modes = sharing_modes_new(&(struct sharing_modes_options){.metrics = metrics});
    const struct copy_definition copy = sharing_modes_copy(modes);
    const struct sharing records[] = {{.mode = SHARING_FRIENDS, .details = true},
                                      {.mode = SHARING_OFF, .details = true},
                                      {.mode = SHARING_PUBLIC, .details = true},
                                      {.mode = SHARING_FRIENDS}};
    uint8_t key[8];
    assert_false(sharing_modes_details(modes, 7));
    for (int i = 0; i < 4; i++) {
        FREED_BUFFER value = {.size = 0};
        int64_t offset;
        sharing_encode(&value, &records[i]);
        assert_int_equal(bytes_get_be32(value.data + 1), records[i].details ? SHARING_SCHEMA_ID : 57);
        struct kafka_record record = record_of(&TOPIC_SHARING, key, 7, INT64_C(1) << 40 | i, &value);
        assert_int_equal(copy.apply(copy.context, &record, NULL), 0);
        assert_int_equal(sharing_modes_find(modes, 7, &offset), records[i].mode);
        assert_int_equal(offset, INT64_C(1) << 40 | i);
        assert_int_equal(sharing_modes_details(modes, 7), records[i].mode != SHARING_OFF && records[i].details);
    }
    sharing_modes_free(modes);
}

struct timed {
    struct told told;
    int64_t now;
};

static int64_t now_of(void *context) { return ((struct timed *)context)->now; }

TEST(test_sharing_that_ends) {
    struct timed timed = {.now = 1000};
    struct metrics *metrics = kit_metrics();
    struct sharing_modes *modes = sharing_modes_new(&(struct sharing_modes_options){
        .metrics = metrics, .context = &timed, .now = now_of, .on_change = on_change}); // told comes first in timed
    const struct copy_definition copy = sharing_modes_copy(modes);
    const struct {
        int64_t user, offset, until;
    } records[] = {{7, 10, 2000}, {8, 11, 3000}, {8, 12, 0}, {9, 13, 1000}, {9, 14, 2500}, {5, 15, 1000}};
    uint8_t key[8];
    int64_t offset;
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        FREED_BUFFER value = {.size = 0};
        event_encode_sharing(&value, &(struct sharing){.mode = SHARING_PUBLIC, .until = records[i].until});
        struct kafka_record record = record_of(&TOPIC_SHARING, key, records[i].user, records[i].offset, &value);
        assert_int_equal(copy.apply(copy.context, &record, NULL), 0);
    }
    assert_int_equal(sharing_modes_find(modes, 5, NULL), SHARING_OFF); // had ended when it was read
    assert_int_equal(sharing_modes_until(modes, 7), 2000);
    assert_int_equal(sharing_modes_until(modes, 8), 0);
    assert_int_equal(sharing_modes_until(modes, 5), 0);
    sharing_modes_tick(modes);
    assert_int_equal(timed.told.count, 0);
    timed.now = 2000;
    sharing_modes_tick(modes);
    assert_int_equal(timed.told.count, 1);
    assert_int_equal(timed.told.user, 7);
    assert_int_equal(timed.told.mode, SHARING_OFF);
    assert_int_equal(timed.told.offset, 10);
    assert_int_equal(sharing_modes_find(modes, 7, &offset), SHARING_OFF);
    assert_int_equal(offset, 10);
    timed.now = INT64_MAX;
    sharing_modes_tick(modes);
    assert_int_equal(timed.told.count, 2);
    assert_int_equal(timed.told.user, 9);
    assert_int_equal(sharing_modes_find(modes, 8, NULL), SHARING_PUBLIC);
    sharing_modes_free(modes);
}

/* Many who share until tonight: all are OFF at once, and told a number at a time. */
TEST(test_sharing_of_many_ends_together) {
    enum { USERS = 2 * SHARING_MODES_A_TICK + 500, END = 2000 };
    struct timed timed = {.now = 1000};
    struct metrics *metrics = kit_metrics();
    struct sharing_modes *modes = sharing_modes_new(
        &(struct sharing_modes_options){.metrics = metrics, .context = &timed, .now = now_of, .on_change = on_change});
    const struct copy_definition copy = sharing_modes_copy(modes);
    FREED_BUFFER value = {.size = 0};
    uint8_t key[8];
    event_encode_sharing(&value, &(struct sharing){.mode = SHARING_FRIENDS, .until = END});
    for (int64_t user = 0; user < USERS; user++) {
        struct kafka_record record = record_of(&TOPIC_SHARING, key, user, user, &value);
        assert_int_equal(copy.apply(copy.context, &record, NULL), 0);
    }
    timed.now = END;
    for (int tick = 1; timed.told.count < USERS; tick++) {
        sharing_modes_tick(modes);
        int most = tick * SHARING_MODES_A_TICK;
        assert_int_equal(timed.told.count, most < USERS ? most : USERS);
        for (int64_t user = 0; user < USERS; user++) {
            assert_int_equal(sharing_modes_find(modes, user, NULL), SHARING_OFF);
            assert_int_equal(sharing_modes_until(modes, user), 0);
        }
    }
    sharing_modes_free(modes);
}

static void on_profile(void *context, int64_t user) { *(int64_t *)context = user; }

/* Of user 3, who has a name, and of 4, who has none. */
static void check_members(struct profiles *profiles) {
    FREED_BUFFER body = {.size = 0};
    user_json_find(&body, 3, profiles);
    assert_string_equal(buffer_cstring(&body), "\"user\":3,\"name\":\"Ada\",\"avatar_url\":\"\"");
    buffer_clear(&body);
    user_json_find(&body, 4, profiles);
    assert_string_equal(buffer_cstring(&body), "\"user\":4,\"name\":null,\"avatar_url\":null");
    buffer_clear(&body);
    user_json_find_whole(&body, 4, profiles);
    assert_string_equal(buffer_cstring(&body),
                        "\"user\":4,\"name\":null,\"avatar_url\":null,\"bio\":null,\"url\":null");
    buffer_clear(&body);
    user_json_find_texts(&body, 3, profiles);
    user_json_find_texts(&body, 4, profiles);
    assert_string_equal(buffer_cstring(&body), "\"user\":3,\"name\":\"Ada\",\"avatar_url\":\"\""
                                               "\"user\":4,\"name\":\"\",\"avatar_url\":\"\"");
}

/* Until a user has a bio or a URL, the last release reads the record. */
TEST(test_versions_of_profiles) {
    static const struct {
        struct profile profile;
        uint8_t id;
        const char *members;
    } CASES[] = {
        {{.name = {"Ada", 3}, .avatar_url = {"https://a", 9}},
         4,
         "\"avatar_url\":\"https://a\",\"bio\":\"\",\"url\":\"\""},
        {{.name = {"Ada", 3}, .bio = {"Hi", 2}}, 96, "\"avatar_url\":\"\",\"bio\":\"Hi\",\"url\":\"\""},
        {{.name = {"Ada", 3}, .url = {"http://b", 8}}, 96, "\"avatar_url\":\"\",\"bio\":\"\",\"url\":\"http://b\""},
    };
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        FREED_BUFFER value = {.size = 0};
        FREED_BUFFER body = {.size = 0};
        struct profile read;
        FREED char *wanted = mem_format("\"user\":3,\"name\":\"Ada\",%s", CASES[i].members);
        buffer_byte(&value, 'x'); // what is there stays
        profile_encode(&value, &CASES[i].profile);
        assert_int_equal(value.data[0], 'x');
        assert_int_equal(value.data[5], CASES[i].id);
        assert_int_equal(event_decode_profile(kit_codec(), value.data + 1, value.size - 1, &read, NULL), 0);
        user_json_put_whole(&body, 3, &read);
        assert_string_equal(buffer_cstring(&body), wanted);
    }
}

TEST(test_profiles) {
    char *folder = kit_folder();
    int64_t told = -1;
    struct profiles *profiles = NULL;
    const struct profiles_options options = {
        .data_dir = folder, .partitions = 2, .context = &told, .on_change = on_profile};
    assert_int_equal(profiles_open(&options, &profiles, NULL), 0);
    const struct copy_definition copy = profiles_copy(profiles);
    FREED_BUFFER value = {.size = 0};
    struct profile found, ada = {.name = {"Ada", 3}, .avatar_url = {"", 0}};
    uint8_t key[8];
    profile_encode(&value, &ada);
    struct kafka_record record = record_of(&TOPIC_PROFILES, key, 3, 0, &value);
    assert_int_equal(copy.apply(copy.context, &record, NULL), 0);
    copy_disk_put(copy.disk, record.key, record.key_size, record.value, record.value_size); // as lib/copies does
    assert_int_equal(copy_disk_write(copy.disk, NULL), 0);
    copy.changed(copy.context, &record);
    assert_int_equal(told, 3);
    assert_true(profiles_find(profiles, 3, &found));
    assert_int_equal(found.name.size, 3);
    assert_memory_equal(found.name.data, "Ada", 3);
    assert_false(profiles_find(profiles, 4, &found));
    check_members(profiles);
    value.size--;
    struct kafka_record bad = record_of(&TOPIC_PROFILES, key, 3, 1, &value);
    assert_true(copy.apply(copy.context, &bad, NULL) < 0);
    struct kafka_record gone = record_of(&TOPIC_PROFILES, key, 3, 2, NULL);
    assert_int_equal(copy.apply(copy.context, &gone, NULL), 0);
    profiles_close(profiles);
    FREED char *path = mem_format("%s/profiles", folder);
    assert_int_equal(store_remove(path, NULL), 0);
    assert_int_equal(remove(folder), 0);
}
