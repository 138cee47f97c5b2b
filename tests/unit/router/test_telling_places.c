/* Users are told of arrivals. The graph, the choices and the producer are played here; their functions are this file's own. */
#include "event/codec.h"
#include "event/topics.h"
#include "router/router_private.h"
#include "unit/kit/kit.h"
#include "users/place.h"

enum { USER = 1, PARTITION = 1, PARTITIONS = 2, MUTER = 13, ROUNDED = 14, TOLD_MAX = 30000, WITHOUT_END = -1 };

struct world {
    struct router router;
    int64_t friend_first;
    size_t friend_count;
    int graph_looks, failures, choice_reads, repeats;
    int64_t repeated;
    bool ready, unreadable;
    int room; /* of the outbox; WITHOUT_END */
    int64_t told[TOLD_MAX];
    size_t told_count;
    struct place_told last;
    uint64_t last_ticket;
};

static struct world *played;

struct metrics *service_metrics(const struct service *service) {
    return kit_metrics();
}

bool choices_ready(const struct choices *choices) { return played->ready; }

int choices_read(struct choices *choices, struct error *error) {
    played->choice_reads++;
    return played->unreadable ? error_set(error, -EIO, "no broker") : 0;
}

bool choices_sees(struct choices *choices, int64_t user, int64_t friend) {
    assert_int_equal(friend, USER);
    return user != MUTER;
}

int graph_friends(struct graph *graph, int32_t partition, int64_t user, struct id_list *list, struct error *error) {
    assert_true(partition == PARTITION && user == USER);
    played->graph_looks++;
    id_list_reserve(list, played->friend_count);
    list->count = played->friend_count;
    for (size_t i = 0; i < list->count; i++) list->items[i] = played->friend_first + (int64_t)i;
    return 0;
}

int graph_roundings(struct graph *graph, int32_t partition, int64_t user, const struct id_list *friends,
                    struct rounding_list *list, struct error *error) {
    list->count = 0;
    rounding_list_add(list, ROUNDED, ROUNDING_MINE);
    rounding_list_add(list, ROUNDED + 1, ROUNDING_THEIRS);
    return 0;
}

int record_collector_place_told(struct record_collector *collector, int64_t user, const struct place_told *told,
                                uint64_t ticket) {
    if (played->room == 0) return -EAGAIN;
    if (played->room > 0) played->room--;
    assert_true(played->told_count < TOLD_MAX);
    played->told[played->told_count++] = user;
    played->last = *told;
    played->last_ticket = ticket;
    return 0;
}

void tasks_repeat(struct tasks *tasks, const struct topic *topic, int32_t partition, int64_t offset) {
    assert_true(topic == &TOPIC_PLACE_EVENTS && partition == PARTITION);
    played->repeats++;
    played->repeated = offset;
}

static void failed(void *router, const char *doing, const struct error *error) { played->failures++; }

SET_UP() {
    struct world *w = played = kit_zero(sizeof *w);
    w->router.partitions = PARTITIONS;
    w->router.epochs = kit_epochs();
    w->router.places = telling_places_new(&w->router, failed);
    w->ready = true;
    w->room = WITHOUT_END;
    w->friend_first = 11; // to 15
    w->friend_count = 5;
    return w;
}

TEAR_DOWN(struct world *w) { telling_places_free(w->router.places); }

static int tell_record(struct world *w, const void *key, size_t key_size, const struct buffer *value, int64_t offset) {
    const struct kafka_record record = {.topic = &TOPIC_PLACE_EVENTS,
                                        .partition = PARTITION,
                                        .offset = offset,
                                        .key = key,
                                        .key_size = key_size,
                                        .value = value->data,
                                        .value_size = value->size};
    w->told_count = 0;
    return telling_places_tell(w->router.places, &record, &failure);
}

static int tell(struct world *w, const struct place_event *event, int64_t offset) {
    uint8_t key[PLACE_EVENT_KEY_SIZE];
    FREED_BUFFER value = {.size = 0};
    place_event_key_write(key, &(struct place_event_key){USER, 77});
    event_encode_place_event(&value, event);
    return tell_record(w, key, sizeof key, &value, offset);
}

static const struct place_event TO_FRIENDS = {
    .place = {"home", 4}, .name = {"Home", 4}, .what = PLACE_EVENT_LEFT, .time = 123, .friends = true};

static struct place_event to(const int64_t *users, size_t count) {
    struct place_event event = TO_FRIENDS;
    event.friends = false;
    event.users.items = users;
    event.users.count = count;
    return event;
}

static void expect_told(const struct world *w, const int64_t *users, size_t count) {
    assert_int_equal(w->told_count, count);
    assert_memory_equal(w->told, users, count * sizeof *users);
}

TEST(friends_are_told_who_may_see_the_exact_place, struct world *w) {
    assert_int_equal(tell(w, &TO_FRIENDS, 5), 0);
    expect_told(w, (int64_t[]){11, 12, 15}, 3);
    assert_true(w->last.user == USER && w->last.number == 77 && w->last.time == 123);
    assert_int_equal(w->last.what, PLACE_TOLD_LEFT);
    assert_int_equal(w->last.name.size, 4);
}

TEST(who_is_named_is_told_as_a_friend_and_oneself_always, struct world *w) {
    const struct place_event named = to((int64_t[]){15, 10, ROUNDED, MUTER, USER, 12}, 6);
    assert_int_equal(tell(w, &named, 5), 0);
    expect_told(w, (int64_t[]){15, USER, 12}, 3);
}

TEST(oneself_is_told_without_a_look_at_others, struct world *w) {
    const struct place_event nobody = to(NULL, 0), oneself = to((int64_t[]){USER}, 1);
    w->ready = false;
    assert_int_equal(tell(w, &nobody, 5), 0);
    expect_told(w, (int64_t[]){USER}, 1);
    assert_int_equal(tell(w, &oneself, 6), 0);
    expect_told(w, (int64_t[]){USER}, 1);
    assert_true(!w->graph_looks && !w->choice_reads);
    assert_int_equal(telling_places_held(w->router.places, PARTITION), INT64_MAX);
}

TEST(events_wait_until_it_is_known_who_shares, struct world *w) {
    w->ready = false;
    assert_int_equal(tell(w, &TO_FRIENDS, 9), 0);
    assert_int_equal(tell(w, &TO_FRIENDS, 8), 0); // read again from there on
    assert_int_equal(tell(w, &TO_FRIENDS, 10), 0);
    assert_int_equal(w->told_count, 0);
    assert_true(w->choice_reads > 0 && !w->graph_looks && !w->failures);
    assert_int_equal(telling_places_held(w->router.places, PARTITION), 8);
    assert_int_equal(telling_places_held(w->router.places, 0), INT64_MAX);
    telling_places_tenth(w->router.places);
    assert_int_equal(w->repeats, 0);
    w->ready = true;
    telling_places_tenth(w->router.places);
    telling_places_tenth(w->router.places);
    assert_true(w->repeats == 1 && w->repeated == 8);
    assert_int_equal(telling_places_held(w->router.places, PARTITION), INT64_MAX);
}

TEST(a_partition_that_goes_takes_what_waits_along, struct world *w) {
    w->ready = false;
    assert_int_equal(tell(w, &TO_FRIENDS, 9), 0);
    PLACE_EVENTS_KIND.close(w->router.places, PARTITION);
    assert_int_equal(telling_places_held(w->router.places, PARTITION), INT64_MAX);
    assert_int_equal(tell(w, &TO_FRIENDS, 9), 0);
    assert_int_equal(PLACE_EVENTS_KIND.live(w->router.places, PARTITION, true, &failure), 0);
    assert_int_equal(telling_places_held(w->router.places, PARTITION), INT64_MAX);
    w->unreadable = true;
    assert_int_equal(tell(w, &TO_FRIENDS, 9), 0);
    assert_int_equal(w->failures, 1);
}

TEST(an_event_is_settled_when_all_are_stored, struct world *w) {
    assert_int_equal(tell(w, &TO_FRIENDS, 5), 0);
    uint64_t epoch = epochs_open(w->router.epochs);
    assert_int_equal(w->last_ticket, epoch);
    assert_true(epochs_close(w->router.epochs));
    for (size_t i = 0; i < w->told_count; i++) {
        assert_int_equal(epochs_settled(w->router.epochs), epoch);
        epochs_acknowledge(w->router.epochs, epoch);
    }
    assert_int_equal(epochs_settled(w->router.epochs), epoch + 1);
}

/* 20,000 people at once, and 20 a second. */
TEST(who_goes_to_and_fro_is_told_of_no_more, struct world *w) {
    const struct place_event oneself = to(NULL, 0);
    w->friend_first = 100;
    w->friend_count = TOLD_MAX;
    w->room = 5;
    assert_int_equal(tell(w, &TO_FRIENDS, 5), -EAGAIN); // and costs nothing
    w->room = WITHOUT_END;
    assert_int_equal(tell(w, &TO_FRIENDS, 5), 0);
    assert_int_equal(w->told_count, TOLD_MAX);
    int looks = w->graph_looks;
    assert_int_equal(tell(w, &TO_FRIENDS, 6), 0);
    assert_int_equal(w->told_count, 0);
    assert_int_equal(w->graph_looks, looks);
    assert_int_equal(tell(w, &oneself, 7), 0);
    assert_int_equal(w->told_count, 0);
}

TEST(what_cannot_be_read_is_told_to_nobody, struct world *w) {
    FREED_BUFFER value = {.size = 0};
    const char *reason = NULL;
    uint8_t key[PLACE_EVENT_KEY_SIZE];
    place_event_key_write(key, &(struct place_event_key){USER, 77});
    assert_int_equal(tell_record(w, key, sizeof key, &value, 1), 0); // a tombstone
    event_encode_place_event(&value, &TO_FRIENDS);
    assert_int_equal(tell_record(w, key, sizeof key - 1, &value, 2), 0);
    assert_int_equal(w->told_count, 0);
    const struct kafka_record record = {
        .key = key, .key_size = sizeof key - 1, .value = value.data, .value_size = value.size};
    assert_int_equal(PLACE_EVENTS_KIND.take(w->router.places, 0, &record, &reason, &failure), 0);
    assert_non_null(reason); // it goes to the dead letters
    assert_int_equal(tell_record(w, key, sizeof key, &value, 3), 0);
    assert_int_equal(w->told_count, 3);
}
