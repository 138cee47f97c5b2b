/* A user sees a friend by the choices of both. The reader of the topics is played here: its functions are this file's own. */
#include "base/bytes.h"
#include "copies/copies.h"
#include "event/codec.h"
#include "event/topics.h"
#include "router/router_private.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3, ADA = 7, BOB = 8, NOON = 1000000 };

struct world {
    struct router router;
    struct choices *choices;
    struct copy_definition definitions[2];
    int began;
    bool ready, refused;
};

static struct world *played;

uv_loop_t *service_loop(const struct service *service) { return NULL; }
const struct kafka_settings *service_kafka(const struct service *service) { return NULL; }
struct log *service_log(const struct service *service) {
    return NULL;
}

int copies_new(const struct copies_options *options, struct copies **copies, struct error *error) {
    if (played->refused) return error_set(error, -EIO, "no broker");
    assert_true(options->count == 2 && options->partitions == PARTITIONS);
    memcpy(played->definitions, options->definitions, sizeof played->definitions);
    played->began++;
    *copies = (struct copies *)(void *)played;
    return 0;
}

bool copies_ready(const struct copies *copies) { return played->ready; }
void copies_free(struct copies *copies) {}

SET_UP() {
    struct world *w = played = kit_zero(sizeof *w);
    w->router.partitions = PARTITIONS;
    w->router.clock = report_clock_new(true, 1, 0, INT64_MAX / 2);
    w->choices = choices_new(&w->router);
    return w;
}

TEAR_DOWN(struct world *w) {
    choices_free(w->choices);
    report_clock_free(w->router.clock);
}

static void at(const struct world *w, int64_t time) {
    struct location report = {.user = 1, .time = time, .kind = LOCATION_REPORT, .route = -1, .opted = -1};
    assert_true(report_clock_accept(w->router.clock, 0, &report));
}

static void read_all(struct world *w) {
    at(w, NOON);
    assert_int_equal(choices_read(w->choices, &failure), 0);
    w->ready = true;
}

static void apply(const struct world *w, const struct topic *topic, const void *key, size_t key_size,
                  const struct buffer *value) {
    const struct copy_definition *copy = &w->definitions[w->definitions[0].topic != topic];
    assert_true(copy->topic == topic);
    const struct kafka_record record = {.topic = topic,
                                        .partition = hash_user_partition((int64_t)bytes_get_be64(key), PARTITIONS),
                                        .key = key,
                                        .key_size = key_size,
                                        .value = value->data,
                                        .value_size = value->size};
    assert_int_equal(copy->apply(copy->context, &record, &failure), 0);
}

static void share(const struct world *w, int64_t user, enum sharing_mode mode, int64_t until) {
    uint8_t key[8];
    FREED_BUFFER value = {.size = 0};
    bytes_put_be64(key, (uint64_t)user);
    event_encode_sharing(&value, &(struct sharing){.mode = mode, .until = until});
    apply(w, &TOPIC_SHARING, key, sizeof key, &value);
}

static void mute(const struct world *w, int64_t user, int64_t other, bool muted) {
    uint8_t key[16];
    FREED_BUFFER value = {.size = 0};
    bytes_put_be64(key, (uint64_t)user);
    bytes_put_be64(key + 8, (uint64_t)other);
    if (muted) event_encode_nearby_mute(&value, &(struct nearby_mute){.since = 1});
    apply(w, &TOPIC_NEARBY_MUTES, key, sizeof key, &value);
}

TEST(they_are_read_once_somebody_needs_them, struct world *w) {
    w->ready = true;
    assert_false(choices_ready(w->choices));
    w->refused = true;
    assert_fails(choices_read(w->choices, &failure), -EIO, "no broker");
    w->refused = w->ready = false;
    assert_int_equal(choices_read(w->choices, &failure), 0);
    assert_int_equal(choices_read(w->choices, &failure), 0);
    assert_int_equal(w->began, 1);
    assert_false(choices_ready(w->choices));
    w->ready = true;
    assert_true(choices_ready(w->choices));
}

TEST(both_must_share, struct world *w) {
    read_all(w);
    assert_false(choices_sees(w->choices, ADA, BOB));
    share(w, ADA, SHARING_FRIENDS, 0);
    assert_false(choices_sees(w->choices, ADA, BOB));
    assert_false(choices_sees(w->choices, BOB, ADA));
    share(w, BOB, SHARING_PUBLIC, 0);
    assert_true(choices_sees(w->choices, ADA, BOB));
    assert_true(choices_sees(w->choices, BOB, ADA));
    share(w, ADA, SHARING_OFF, 0);
    assert_false(choices_sees(w->choices, BOB, ADA));
}

TEST(sharing_ends_by_the_clock_of_reports, struct world *w) {
    read_all(w);
    share(w, ADA, SHARING_FRIENDS, 0);
    share(w, BOB, SHARING_FRIENDS, NOON + 10);
    assert_true(choices_sees(w->choices, ADA, BOB));
    at(w, NOON + 10);
    assert_false(choices_sees(w->choices, ADA, BOB));
}

TEST(who_is_muted_is_not_seen_and_sees, struct world *w) {
    read_all(w);
    share(w, ADA, SHARING_FRIENDS, 0);
    share(w, BOB, SHARING_FRIENDS, 0);
    mute(w, ADA, BOB, true);
    assert_false(choices_sees(w->choices, ADA, BOB));
    assert_true(choices_sees(w->choices, BOB, ADA));
    mute(w, ADA, BOB, false);
    assert_true(choices_sees(w->choices, ADA, BOB));
}

TEST(what_cannot_be_read_changes_nothing_and_what_is_read_anew_begins_empty, struct world *w) {
    FREED_BUFFER torn = {.size = 0};
    uint8_t key[8];
    read_all(w);
    share(w, ADA, SHARING_FRIENDS, 0);
    share(w, BOB, SHARING_FRIENDS, 0);
    bytes_put_be64(key, ADA);
    buffer_byte(&torn, 0xff);
    apply(w, &TOPIC_SHARING, key, sizeof key, &torn);
    assert_true(choices_sees(w->choices, ADA, BOB));
    for (size_t i = 0; i < ARRAY_SIZE(w->definitions); i++) w->definitions[i].forget(w->definitions[i].context);
    assert_false(choices_sees(w->choices, ADA, BOB));
}
