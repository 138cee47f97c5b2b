/* Links: what commands make of them, also beside a simple model, and what is read of the topic. */
#include "router/links.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "event/codec.h"
#include "event/topics.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3, STEPS = 20000, IDS = 30 };

static bool decide(struct link_row *row, enum link_command_kind kind, int64_t id, int64_t until, int64_t opted,
                   struct link_moment moment) {
    const struct link_command command = {.kind = kind, .user = 7, .id = id, .until = until, .opted = opted};
    return link_row_decide(row, &command, &moment);
}

TEST(a_link_is_made_by_who_shares_and_ends_once) {
    struct link_row row = {.count = 0};
    assert_false(decide(&row, LINK_COMMAND_MAKE, 1, 100, 5, (struct link_moment){10, -1})); // does not share
    assert_false(decide(&row, LINK_COMMAND_MAKE, 1, 10, 5, (struct link_moment){10, 5}));   // is over already
    assert_true(decide(&row, LINK_COMMAND_MAKE, 1, 100, 5, (struct link_moment){10, 6}));
    assert_false(decide(&row, LINK_COMMAND_MAKE, 1, 200, 5, (struct link_moment){11, 6})); // the same once more
    assert_true(row.links[0].until == 100 && row.links[0].made == 10 && row.links[0].opted == 6);
    assert_false(decide(&row, LINK_COMMAND_END, 2, 0, -1, (struct link_moment){12, -1}));
    assert_true(decide(&row, LINK_COMMAND_END, 1, 0, -1, (struct link_moment){12, -1}));
    assert_int_equal(row.count, 0);
    assert_null(link_row_find(&row, 1));
}

TEST(an_opt_out_ends_those_that_were_made_before) {
    struct link_row row = {.count = 0};
    for (int64_t id = 1; id <= 4; id++)
        assert_true(decide(&row, LINK_COMMAND_MAKE, id, 1000, -1, (struct link_moment){10, 10 * id}));
    assert_true(decide(&row, LINK_COMMAND_END_ALL, 0, 0, 20, (struct link_moment){11, 30}));
    assert_true(row.count == 2 && row.links[0].id == 3 && row.links[1].id == 4);
    assert_false(decide(&row, LINK_COMMAND_END_ALL, 0, 0, 20, (struct link_moment){12, 30}));  // told twice
    assert_true(decide(&row, LINK_COMMAND_END_ALL, 0, 0, -1, (struct link_moment){1000, 30})); // their time is over
    assert_int_equal(row.count, 0);
}

TEST(a_user_has_so_many) {
    struct link_row row = {.count = 0};
    for (int64_t id = 1; id <= LINKS_MAX; id++)
        assert_true(decide(&row, LINK_COMMAND_MAKE, id, 100 + id, -1, (struct link_moment){10, 0}));
    assert_false(decide(&row, LINK_COMMAND_MAKE, 50, 1000, -1, (struct link_moment){100, 0}));
    assert_int_equal(row.count, LINKS_MAX);
    assert_true(decide(&row, LINK_COMMAND_MAKE, 50, 1000, -1, (struct link_moment){101, 0})); // one is over
    assert_int_equal(row.count, LINKS_MAX);
}

TEST(commands_that_make_no_sense) {
    assert_null(link_command_complaint(&(struct link_command){.kind = LINK_COMMAND_MAKE, .id = 1, .until = 1}));
    assert_null(link_command_complaint(&(struct link_command){.kind = LINK_COMMAND_END, .id = 1}));
    assert_null(link_command_complaint(&(struct link_command){.kind = LINK_COMMAND_END_ALL}));
    assert_non_null(link_command_complaint(&(struct link_command){.kind = LINK_COMMAND_MAKE, .until = 1}));
    assert_non_null(link_command_complaint(&(struct link_command){.kind = LINK_COMMAND_MAKE, .id = 1}));
    assert_non_null(link_command_complaint(&(struct link_command){.kind = LINK_COMMAND_END}));
}

/* Each id beside its link, or nothing. */
TEST(commands_of_all_kinds_beside_a_model) {
    struct link_row row = {.count = 0};
    struct share_link model[IDS] = {{.id = 0}};
    unsigned random = 1;
    for (int64_t now = 1; now < STEPS; now++) {
        random = random * 1103515245 + 12345;
        unsigned roll = random >> 16;
        int64_t id = roll % IDS, opted = (int64_t)(roll / IDS % 50);
        enum link_command_kind kind = roll % 7 < 4   ? LINK_COMMAND_MAKE
                                      : roll % 7 < 6 ? LINK_COMMAND_END
                                                     : LINK_COMMAND_END_ALL;
        struct link_moment moment = {now, roll % 5 ? opted : -1};
        size_t there = 0;
        decide(&row, kind, id + 1, now + roll % 90, opted, moment);
        for (int64_t i = 0; i < IDS; i++) {
            bool all = kind == LINK_COMMAND_END_ALL && model[i].opted <= opted;
            if (model[i].until <= now || all || (kind == LINK_COMMAND_END && i == id)) model[i].id = 0;
            there += model[i].id != 0;
        }
        if (kind == LINK_COMMAND_MAKE && !model[id].id && there < LINKS_MAX && roll % 90 && moment.opted >= 0) {
            model[id] = (struct share_link){.id = id + 1, .until = now + roll % 90, .made = now, .opted = opted};
            there++;
        }
        assert_int_equal(row.count, there);
        for (int64_t i = 0; i < IDS; i++) {
            const struct share_link *link = link_row_find(&row, i + 1);
            assert_int_equal(link != NULL, model[i].id != 0);
            if (link) assert_true(link->until == model[i].until && link->opted == model[i].opted);
        }
    }
}

/* ---- the store ---- */

static const char *take(struct links *links, int64_t user, const struct share_link *items, size_t count,
                        int64_t offset) {
    uint8_t key[8];
    struct buffer value = {.data = NULL};
    const char *reason = NULL;
    bytes_put_be64(key, (uint64_t)user);
    if (items) event_encode_user_links(&value, &(struct user_links){.links = {.items = items, .count = count}});
    const struct kafka_record record = {.topic = &TOPIC_LINKS,
                                        .partition = hash_user_partition(user, PARTITIONS),
                                        .offset = offset,
                                        .key = key,
                                        .key_size = sizeof key,
                                        .value = value.data,
                                        .value_size = value.size};
    assert_int_equal(LINKS_KIND.take(links, 0, &record, &reason, &failure), 0);
    buffer_free(&value);
    return reason;
}

static void count(void *context, int64_t user) { *(int64_t *)context = *(int64_t *)context * 100 + user; }

TEST(the_topic_is_what_is_there) {
    struct links *links = links_new(PARTITIONS);
    const struct share_link made[] = {{.id = 1, .until = 50}, {.id = 2, .until = 90}};
    struct share_link many[LINKS_MAX + 1] = {{.id = 1}};
    int32_t partition = hash_user_partition(7, PARTITIONS);
    struct link_row row;
    int64_t looked = 0;
    assert_null(take(links, 7, made, 2, 3)); // it is not open yet
    assert_false(links_read(links, partition, 7, &row));
    for (int32_t p = 0; p < PARTITIONS; p++) assert_int_equal(LINKS_KIND.open(links, p, 0, 0, &failure), 0);
    assert_int_equal(LINKS_KIND.next(links, partition, 0), -1);
    assert_null(take(links, 7, made, 2, 4));
    assert_true(links_read(links, partition, 7, &row) && row.count == 2 && link_row_find(&row, 2)->until == 90);
    assert_int_equal(LINKS_KIND.next(links, partition, 0), 5);
    links_untidy(links, partition, 49, 9, &looked, count);
    assert_int_equal(looked, 0);
    links_untidy(links, partition, 50, 9, &looked, count);
    assert_int_equal(looked, 7);
    assert_null(take(links, 7, made + 1, 1, 6));
    assert_true(links_read(links, partition, 7, &row) && row.count == 1);
    assert_non_null(take(links, 7, many, LINKS_MAX + 1, 7));
    assert_non_null(take(links, -7, made, 2, 8));
    assert_true(links_read(links, partition, 7, &row) && row.count == 1);
    assert_null(take(links, 7, NULL, 0, 9)); // a tombstone
    assert_false(links_read(links, partition, 7, &row));
    assert_int_equal(row.count, 0);
    assert_null(take(links, 7, made, 2, 10));
    assert_true(LINKS_KIND.lost(links, partition, 0));
    assert_false(links_read(links, partition, 7, &row));
    assert_null(take(links, 7, made, 2, 1));
    LINKS_KIND.close(links, partition);
    assert_false(links_read(links, partition, 7, &row));
    links_free(links);
}
