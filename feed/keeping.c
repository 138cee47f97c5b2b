/* Work in slices, between records: pushes and answers that take longer, inboxes that are written, texts that have become old, and
 * posts that are forgotten. */
#include "base/clock.h"
#include "feed/feed_private.h"
#include "feed/rules.h"
#include "ids/ids.h"

enum {
    EFFECTS_SLICE = 2000, /* readers that one turn pushes to, or moves within the store to answer requests */
    INBOX_SLICE = 5000,   /* readers whose inboxes one turn writes */
    KEEP_S = 60,
    FORGET_MANY = 1000, /* posts that one partition forgets in a minute */
    COOL_SLICE = 20,    /* texts that one turn moves */
    SWEEP = 5000        /* slots of readers that are looked at in a second */
};

void feed_turn_soon(struct feed *feed) {
    if (feed->keeping.turning) return;
    feed->keeping.turning = true;
    loop_timer_again(feed->keeping.turn, 0, 0);
}

void feed_go_on(struct feed *feed) {
    struct error error;
    int code = outbox_blocked(feed->outbox) ? 1 : effects_run(feed->effects, EFFECTS_SLICE, &error);
    if (code < 0) tasks_store_failed(feed->tasks, effects_failed(feed->effects), code, &error);
    if (code > 0) feed_turn_soon(feed);
}

void feed_stored(void *context) {
    struct feed *feed = context;
    for (size_t i = 0; i < FEED_TRIMMED; i++) feed->trimmed[i] = -1;
    if (inboxes_full(feed->inboxes)) feed->keeping.writing = true;
    if (feed->keeping.writing) feed_turn_soon(feed);
}

/* Moves some texts that have become old. The partition's index must be read to its end: only texts that it names are moved. */
static void cool(struct feed *feed) {
    int32_t partition = feed->keeping.cooling;
    int64_t below = ids_first_at(clock_wall_ms() - FEED_COLD_MS);
    struct error error;
    int code = 0;
    if (tasks_current(feed->tasks, partition)) code = posts_cool(feed->posts, partition, below, COOL_SLICE, &error);
    if (code < 0) tasks_store_failed(feed->tasks, partition, code, &error);
    if (code <= 0) feed->keeping.cooling = partition + 1 < feed->partitions ? partition + 1 : -1;
}

static void turn(void *context) {
    struct feed *feed = context;
    struct error error;
    feed->keeping.turning = false;
    int code = feed->keeping.writing ? inboxes_write(feed->inboxes, INBOX_SLICE, &error) : 0;
    if (code < 0) tasks_fail(feed->tasks, "the store failed", &error);
    feed->keeping.writing = code > 0;
    feed_go_on(feed);
    if (feed->keeping.cooling >= 0) cool(feed);
    if (feed->keeping.writing || feed->keeping.cooling >= 0) feed_turn_soon(feed);
}

/* Posts that were deleted a day ago are forgotten: by commands, as only they change state. One that gets lost is sent again. */
static void forget_posts(struct feed *feed, int32_t partition, int64_t now) {
    struct post_found posts[FORGET_MANY];
    struct error error;
    size_t count = 0;
    int code = posts_forgettable(feed->posts, partition, now - POST_KEPT_MS, posts, FORGET_MANY, &count, &error);
    if (code) tasks_store_failed(feed->tasks, partition, code, &error);
    for (size_t i = 0; !code && i < count; i++) {
        struct post_command command = {
            .kind = POST_COMMAND_FORGET, .user = posts[i].author, .id = posts[i].id, .time = now, .editor = -1};
        outbox_post_command(feed->outbox, &command);
    }
}

static void keep_devices(struct feed *feed, int32_t partition) {
    struct error error;
    int code = device_store_second(feed->devices, partition, &error);
    if (code) tasks_store_failed(feed->tasks, partition, code, &error);
}

void feed_keep(struct feed *feed) {
    int64_t now = clock_wall_ms();
    for (int32_t p = 0; p < feed->partitions; p++)
        if ((now / 1000 + p) % KEEP_S == 0 && owner_live(tasks_owner(feed->tasks), p) && tasks_current(feed->tasks, p))
            forget_posts(feed, p, now);
    for (int32_t p = 0; p < feed->partitions; p++)
        if (!tasks_serves(feed->tasks, p) && tasks_current(feed->tasks, p)) keep_devices(feed, p);
    if (feed->keeping.cooling < 0 && now / 1000 % KEEP_S == 0) feed->keeping.cooling = 0;
    inboxes_sweep(feed->inboxes, SWEEP);
    refusals_forget(feed->refusals, now);
    if (now / 1000 % feed->settings->inbox_write_s == 0 || inboxes_unwritten(feed->inboxes))
        feed->keeping.writing = true;
    feed_turn_soon(feed);
}

void feed_keep_start(struct feed *feed) {
    feed->keeping.cooling = -1;
    feed->keeping.turn = loop_timer_new(service_loop(feed->service), 0, 0, turn, feed);
    loop_timer_stop(feed->keeping.turn);
}
