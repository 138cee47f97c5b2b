/* The directory of owners. Kafka is this file's: it defines the functions of kafka/admin.h that the directory calls, and the
 * linker takes these. */
#include <pthread.h>

#include "event/topics.h"
#include "kafka/consumer.h"
#include "service/peers.h"
#include "unit/kit/kit.h"
#include "unit/lib/service/world.h"

enum { PARTITIONS = 8, USER = 42 };

/* The group as Kafka would tell it; the directory asks from a worker thread. */
static struct {
    pthread_mutex_t lock;
    int owner_port; // of all partitions; 0: the group is empty
    int code, delay_ms, looks;
} kafka = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void kafka_says(int code, int owner_port, int delay_ms) {
    pthread_mutex_lock(&kafka.lock);
    kafka.code = code;
    kafka.owner_port = owner_port;
    kafka.delay_ms = delay_ms;
    pthread_mutex_unlock(&kafka.lock);
}

static int kafka_looks(void) {
    pthread_mutex_lock(&kafka.lock);
    int looks = kafka.looks;
    pthread_mutex_unlock(&kafka.lock);
    return looks;
}

int kafka_admin_new(const struct kafka_settings *settings, struct kafka_admin **admin, struct error *error) {
    *admin = mem_alloc(1);
    return 0;
}

void kafka_admin_free(struct kafka_admin *admin) { free(admin); }

int kafka_group_describe(struct kafka_admin *admin, const char *group, struct kafka_group *out, int timeout_ms,
                         struct error *error) {
    assert_string_equal(group, "starling-router");
    pthread_mutex_lock(&kafka.lock);
    int code = kafka.code, port = kafka.owner_port, delay_ms = kafka.delay_ms;
    kafka.looks++;
    pthread_mutex_unlock(&kafka.lock);
    if (delay_ms) usleep((useconds_t)delay_ms * 1000);
    if (code) return code;
    // Two members: one that owns all partitions of another topic, and, if there is one, the owner.
    size_t count = port ? 2 : 1;
    struct kafka_member *members = mem_zero(count, sizeof *members);
    for (size_t i = 0; i < count; i++) {
        members[i].client_id = mem_format("starling-router@127.0.0.1:%d", i ? port : 1);
        members[i].owned = mem_zero(PARTITIONS, sizeof *members[i].owned);
        members[i].owned_count = PARTITIONS;
        for (int p = 0; p < PARTITIONS; p++)
            members[i].owned[p] =
                (struct kafka_position){.topic = i ? &TOPIC_LOCATIONS : &TOPIC_FRIEND_COMMANDS, .partition = p};
    }
    *out = (struct kafka_group){.members = members, .count = count};
    return 0;
}

void kafka_group_clear(struct kafka_group *group) {
    for (size_t i = 0; i < group->count; i++) {
        free(group->members[i].client_id);
        free(group->members[i].owned);
    }
    free(group->members);
    *group = (struct kafka_group){.count = 0};
}

/* A peer that answers everything with one status. */
struct peer {
    struct http_server *server;
    unsigned status;
    int asked;
};

static void peer_handle(void *context, struct http_request *request) {
    struct peer *peer = context;
    size_t size = 0;
    const char *token = http_bearer(request, &size);
    peer->asked++;
    assert_true(token && size == 6 && !memcmp(token, "secret", size));
    http_reply(request, peer->status, "text/plain", http_path(request), strlen(http_path(request)), NULL, 0);
}

struct bench {
    struct world *world; // for its loop
    struct peers *peers;
    struct peer right, wrong;
};

static void peer_start(struct bench *bench, struct peer *peer, unsigned status) {
    peer->status = status;
    struct http_server_options options = {
        .loop = &bench->world->loop, .listen = "127.0.0.1:0", .context = peer, .handle = peer_handle};
    assert_int_equal(http_server_new(&options, &peer->server, NULL), 0);
}

SET_UP() {
    struct bench *bench = kit_zero(sizeof *bench);
    bench->world = world_new((struct http_server_options){.max_body = 0});
    peer_start(bench, &bench->right, 200);
    peer_start(bench, &bench->wrong, 421);
    kafka.looks = 0;
    kafka_says(0, http_server_port(bench->right.server), 0);
    return bench;
}

TEAR_DOWN(struct bench *bench) {
    peers_free(bench->peers);
    http_server_free(bench->right.server);
    http_server_free(bench->wrong.server);
}

static void start(struct bench *bench) {
    struct kafka_settings settings = {.topics = &TOPICS_ALL, .bootstrap = "nowhere"};
    struct peers_options options = {
        .loop = &bench->world->loop,
        .settings = &settings,
        .group = "starling-router",
        .topic = &TOPIC_LOCATIONS,
        .partitions = PARTITIONS,
        .token = "secret",
    };
    assert_int_equal(peers_new(&options, &bench->peers, NULL), 0);
}

static struct answer ask_of(struct bench *bench, int32_t partition, int timeout_ms) {
    struct answer answer = {.count = 0};
    peers_fetch(bench->peers, partition, "/peer/x", timeout_ms, answer_take, &answer);
    world_until(bench->world, answer.count);
    assert_int_equal(answer.count, 1);
    return answer;
}

static struct answer ask(struct bench *bench, int timeout_ms) {
    return ask_of(bench, peers_of_user(bench->peers, USER), timeout_ms);
}

static void assert_right(struct answer answer) {
    assert_int_equal(answer.code, 0);
    assert_int_equal(answer.status, 200);
    assert_string_equal(answer.text, "/peer/x");
}

TEST(owner_is_found_and_asked, struct bench *bench) {
    start(bench);
    assert_right(ask(bench, 5000));
    int looks = kafka_looks();
    assert_int_equal(looks, 1);
    for (int i = 0; i < 20; i++) assert_right(ask(bench, 5000));
    assert_int_equal(kafka_looks(), looks);
}

TEST(moved_partition_is_followed, struct bench *bench) {
    kafka_says(0, http_server_port(bench->wrong.server), 0);
    start(bench);
    world_until(bench->world, kafka_looks() == 1);
    kafka_says(0, http_server_port(bench->right.server), 0);
    assert_right(ask(bench, 5000));
    assert_int_equal(bench->right.asked, 1);
}

TEST(dead_owner_is_replaced, struct bench *bench) {
    kafka_says(0, 1, 0); // nobody listens on port 1
    start(bench);
    for (int i = 0; i < 20; i++) world_turn(bench->world);
    world_until(bench->world, kafka_looks() == 1);
    kafka_says(0, http_server_port(bench->right.server), 0);
    assert_right(ask(bench, 5000));
}

TEST(nobody_is_the_owner, struct bench *bench) {
    kafka_says(0, http_server_port(bench->wrong.server), 0);
    start(bench);
    assert_int_equal(ask(bench, 5000).code, -EHOSTUNREACH);
    assert_true(bench->wrong.asked <= 2);
    kafka_says(0, 0, 0);
    assert_int_equal(ask(bench, 5000).code, -EHOSTUNREACH);
    kafka_says(-EHOSTDOWN, 0, 0);
    assert_int_equal(ask(bench, 5000).code, -EHOSTUNREACH);
}

TEST(nobody_has_a_partition_that_is_none, struct bench *bench) {
    static const int32_t NONE[] = {PARTITIONS, PARTITIONS + 1, INT32_MAX, -1};
    start(bench);
    assert_right(ask(bench, 5000));
    for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++)
        assert_int_equal(ask_of(bench, NONE[i], 5000).code, -EHOSTUNREACH);
    assert_int_equal(bench->right.asked, 1);
}

/* As Kafka's partitioner chooses for the keys: a user is eight bytes, a subject its text. */
TEST(keys_have_partitions, struct bench *bench) {
    start(bench);
    static const char *const SUBJECTS[] = {"post:123", "post:124", "", "page:https://example.org/"};
    for (int64_t user = 0; user < 100; user++)
        assert_int_equal(peers_of_user(bench->peers, user), hash_user_partition(user, PARTITIONS));
    for (size_t i = 0; i < sizeof SUBJECTS / sizeof *SUBJECTS; i++)
        assert_int_equal(peers_of_subject(bench->peers, SUBJECTS[i]),
                         hash_partition(SUBJECTS[i], strlen(SUBJECTS[i]), PARTITIONS));
    struct answer answer = {.count = 0};
    peers_fetch(bench->peers, peers_of_subject(bench->peers, "post:123"), "/peer/x", 5000, answer_take, &answer);
    world_until(bench->world, answer.count);
    assert_right(answer);
}

/* Everybody who finds no owner waits for the same look. */
TEST(broker_is_not_stormed, struct bench *bench) {
    kafka_says(0, 0, 0);
    start(bench);
    enum { COUNT = 100 };
    FREED struct answer *answers = mem_zero(COUNT, sizeof *answers);
    for (int i = 0; i < COUNT; i++)
        peers_fetch(bench->peers, peers_of_user(bench->peers, i), "/peer/x", 5000, answer_take, &answers[i]);
    for (int i = 0; i < COUNT; i++) {
        world_until(bench->world, answers[i].count);
        assert_int_equal(answers[i].code, -EHOSTUNREACH);
    }
    assert_true(kafka_looks() <= 3);
}

TEST(known_owners_outlive_the_broker, struct bench *bench) {
    start(bench);
    assert_right(ask(bench, 5000));
    kafka_says(-EHOSTDOWN, 0, 0);
    // Old enough to be looked for anew, in the background.
    usleep(3100 * 1000);
    assert_right(ask(bench, 5000));
    world_until(bench->world, kafka_looks() == 2);
    assert_right(ask(bench, 5000));
}

/* The first look found nobody; a question is to come, and will find its owner known. */
TEST(a_question_is_prepared, struct bench *bench) {
    kafka_says(0, 0, 0);
    start(bench);
    world_until(bench->world, kafka_looks() == 1);
    kafka_says(0, http_server_port(bench->right.server), 0);
    peers_prepare(bench->peers); // Too soon.
    for (int i = 0; i < 20; i++) world_turn(bench->world);
    assert_int_equal(kafka_looks(), 1);
    usleep(3100 * 1000);
    peers_prepare(bench->peers);
    peers_prepare(bench->peers);
    world_until(bench->world, kafka_looks() == 2);
    for (int i = 0; i < 20; i++) world_turn(bench->world);
    assert_right(ask(bench, 5000));
    assert_int_equal(kafka_looks(), 2);
}

/* A look that began before the owner said 421 knows no better than the directory did. */
TEST(stale_look_is_not_believed, struct bench *bench) {
    kafka_says(0, http_server_port(bench->wrong.server), 0);
    start(bench);
    assert_int_equal(ask(bench, 5000).code, -EHOSTUNREACH); // the directory knows the wrong one now
    usleep(3100 * 1000);
    kafka_says(0, http_server_port(bench->wrong.server), 200);
    int looks = kafka_looks();
    struct answer answer = {.count = 0};
    peers_fetch(bench->peers, peers_of_user(bench->peers, USER), "/peer/x", 5000, answer_take,
                &answer); // begins a slow look in the background
    world_until(bench->world, kafka_looks() == looks + 1);
    kafka_says(0, http_server_port(bench->right.server), 0);
    world_until(bench->world, answer.count);
    assert_right(answer);
}

TEST(owner_that_does_not_answer_times_out, struct bench *bench) {
    bench->right.status = 200;
    kafka_says(0, http_server_port(bench->world->server), 0);
    start(bench);
    struct answer answer = {.count = 0};
    peers_fetch(bench->peers, peers_of_user(bench->peers, USER), "/hold", 200, answer_take, &answer);
    world_until(bench->world, answer.count);
    assert_int_equal(answer.code, -ETIMEDOUT);
    http_reply(bench->world->held[0], 200, NULL, NULL, 0, NULL, 0);
}

TEST(silent_kafka_holds_nobody_up, struct bench *bench) {
    kafka_says(0, http_server_port(bench->right.server), 1500);
    start(bench);
    struct answer early = {.count = 0}, late = {.count = 0};
    int32_t partition = peers_of_user(bench->peers, USER);
    int64_t began_us = clock_monotonic_us();
    peers_fetch(bench->peers, partition, "/peer/x", 5000, answer_take, &late);
    peers_fetch(bench->peers, partition, "/peer/x", 100, answer_take, &early);
    world_until(bench->world, early.count);
    assert_int_equal(early.code, -ETIMEDOUT);
    assert_true(clock_monotonic_us() - began_us < 1000000);
    assert_int_equal(late.count, 0);
    world_until(bench->world, late.count);
    assert_right(late);
}

TEST(freed_directory_cancels, struct bench *bench) {
    kafka_says(0, http_server_port(bench->world->server), 0);
    start(bench);
    struct answer asked = {.count = 0}, waiting = {.count = 0};
    peers_fetch(bench->peers, peers_of_user(bench->peers, USER), "/hold", 5000, answer_take, &asked);
    world_until(bench->world, bench->world->held_count == 1);
    peers_free(bench->peers);
    assert_int_equal(asked.code, -ECANCELED);
    http_reply(bench->world->held[0], 200, NULL, NULL, 0, NULL, 0);

    kafka_says(0, http_server_port(bench->world->server), 100);
    int looks = kafka_looks(); // the first one may begin before start is back
    start(bench);
    peers_fetch(bench->peers, peers_of_user(bench->peers, USER), "/hold", 5000, answer_take, &waiting);
    world_until(bench->world, kafka_looks() > looks);
    peers_free(bench->peers); // while the worker is at it
    bench->peers = NULL;
    assert_int_equal(waiting.count, 1);
    assert_int_equal(waiting.code, -ECANCELED);
}

static void free_within(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct bench *bench = context;
    peers_free(bench->peers);
    bench->peers = NULL;
}

TEST(callback_may_free_the_directory, struct bench *bench) {
    struct answer answer = {.count = 0};
    // From the answer of a look ...
    kafka_says(0, 0, 0);
    start(bench);
    peers_fetch(bench->peers, peers_of_user(bench->peers, USER), "/peer/x", 5000, answer_take, &answer);
    peers_fetch(bench->peers, peers_of_user(bench->peers, USER), "/peer/x", 5000, free_within, bench);
    world_until(bench->world, !bench->peers && answer.count);
    // ... from a time-out, while another has timed out too and a third still waits ...
    struct answer still = {.count = 0};
    answer.count = 0;
    kafka_says(0, 0, 300);
    start(bench);
    peers_fetch(bench->peers, peers_of_user(bench->peers, USER), "/peer/x", 5000, answer_take, &still);
    peers_fetch(bench->peers, peers_of_user(bench->peers, USER), "/peer/x", 20, free_within, bench);
    peers_fetch(bench->peers, peers_of_user(bench->peers, USER), "/peer/x", 20, answer_take, &answer);
    world_until(bench->world, !bench->peers && answer.count && still.count);
    assert_int_equal(still.code, -ECANCELED);
    // ... and from the answer of a peer, while another is still asked.
    kafka_says(0, http_server_port(bench->world->server), 0);
    answer.count = 0;
    start(bench);
    peers_fetch(bench->peers, peers_of_user(bench->peers, USER), "/hold", 5000, answer_take, &answer);
    world_until(bench->world, bench->world->held_count == 1);
    peers_fetch(bench->peers, peers_of_user(bench->peers, USER), "/peer/x", 5000, free_within, bench);
    world_until(bench->world, !bench->peers && answer.count);
    assert_int_equal(answer.code, -ECANCELED);
    http_reply(bench->world->held[0], 200, NULL, NULL, 0, NULL, 0);
}
