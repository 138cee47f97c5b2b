/* Tests inbox.c and inbox_log.c. Inboxes against a plain one: random histories, applied directly, as bytes, joined, and again from
 * somewhere on; and their bytes. */
#include "feed/inbox_log.h"
#include "unit/feed/items.h"
#include "unit/kit/kit.h"

enum { HISTORIES = 4000, ITEMS_MAX = 120 };

static void apply(struct inbox *inbox, const struct feed_item *made, size_t max) {
    const struct timeline_item *item = &made->item;
    struct inbox_post posts[FEED_ITEM_LIST];
    switch (item->kind) {
    case TIMELINE_ITEM_PUSH:
        posts[0] = (struct inbox_post){.id = item->push.id, .author = item->push.author};
        inbox_push_many(inbox, posts, 1, max);
        break;
    case TIMELINE_ITEM_BACKLOG:
        inbox_backlog(inbox, item->backlog.author, item->backlog.ids.items, item->backlog.ids.count, item->backlog.cut,
                      max);
        break;
    case TIMELINE_ITEM_BEGIN:
        inbox_begin(inbox, made->offset, made->time_ms, item->begin.wanted.items, item->begin.wanted.count);
        break;
    case TIMELINE_ITEM_ANSWER:
        for (size_t i = 0; i < item->answer.posts.count; i++)
            posts[i] = (struct inbox_post){item->answer.posts.items[i].id, item->answer.posts.items[i].author};
        inbox_answer(inbox, item->answer.request, item->answer.partition, posts, item->answer.posts.count,
                     item->answer.cut, max);
        break;
    case TIMELINE_ITEM_GONE: inbox_remove(inbox, item->gone.id); break;
    default: break;
    }
}

struct history {
    struct feed_chance chance;
    struct feed_item items[ITEMS_MAX];
    size_t count, begin; /* begin: the newest Begin; SIZE_MAX: none */
    size_t max;
    int64_t ids;
};

static void make_history(struct history *h, uint64_t seed) {
    h->chance.state = seed << 32;
    h->max = 1 + feed_chance(&h->chance, 30);
    h->ids = feed_chance(&h->chance, 2) ? 60 : INT64_MAX - 1;
    h->count = feed_chance(&h->chance, ITEMS_MAX + 1);
    h->begin = SIZE_MAX;
    int64_t request = -1;
    for (size_t i = 0; i < h->count; i++) {
        feed_item_make(&h->chance, &h->items[i], 100 + (int64_t)i, 5000 + (int64_t)i, request, h->ids);
        if (h->items[i].item.kind != TIMELINE_ITEM_BEGIN) continue;
        request = h->items[i].offset;
        h->begin = i;
    }
}

static void check(uint64_t seed, const char *how, const struct plain_inbox *plain, const struct inbox *inbox) {
    const char *differs = plain_inbox_differs(plain, inbox);
    if (differs) fail_msg("seed %llu, %s: %s differs", (unsigned long long)seed, how, differs);
}

static void check_bytes(struct history *h, uint64_t seed, const struct plain_inbox *plain, const struct inbox *inbox) {
    FREED_BUFFER bytes = {.size = 0};
    struct inbox read = {.request = -1};
    inbox_write(inbox, &bytes);
    assert_int_equal(inbox_read(&read, bytes.data, bytes.size, SIZE_MAX), 0);
    check(seed, "read", plain, &read);
    size_t newest = feed_chance(&h->chance, h->max + 2);
    assert_int_equal(inbox_read(&read, bytes.data, bytes.size, newest), 0);
    if (newest >= inbox->count) {
        check(seed, "read in part", plain, &read);
    } else {
        int64_t passed = inbox->posts[newest].id;
        assert_int_equal(read.count, newest);
        if (newest) assert_memory_equal(read.posts, inbox->posts, newest * sizeof *read.posts);
        assert_int_equal(read.horizon, passed > inbox->horizon ? passed : inbox->horizon);
        assert_int_equal(inbox_complete(&read), inbox_complete(inbox));
    }
    // Each prefix is refused, and other bytes are read or refused.
    for (size_t size = 0; size < bytes.size; size++)
        assert_int_equal(inbox_read(&read, bytes.data, size, SIZE_MAX), -EBADMSG);
    assert_int_equal(read.request, -1);
    for (int i = 0; i < 20; i++) {
        bytes.data[feed_chance(&h->chance, bytes.size)] = (uint8_t)feed_chance(&h->chance, 256);
        inbox_read(&read, bytes.data, bytes.size, feed_chance(&h->chance, 2) ? SIZE_MAX : 3);
    }
    inbox_free(&read);
}

/* As chunks do: random runs of items, joined. */
static void check_log(struct history *h, uint64_t seed, const struct plain_inbox *plain) {
    FREED_BUFFER log = {.data = NULL}, event = {.data = NULL};
    struct inbox inbox = {.request = -1};
    struct inbox_gathered joined = {.posts = NULL}, gathered = {.posts = NULL};
    for (size_t i = 0; i < h->count; i++) {
        buffer_clear(&event);
        inbox_log_item(&event, &h->items[i].item, h->items[i].offset, h->items[i].time_ms);
        assert_int_equal(inbox_event_resets(inbox_log_first(event.data)), h->items[i].item.kind == TIMELINE_ITEM_BEGIN);
        inbox_log_join(&log, event.data, event.size, &joined);
        if (i + 1 < h->count && feed_chance(&h->chance, 8)) continue;
        inbox_log_end(&log, &joined);
        assert_int_equal(inbox_log_apply(&inbox, log.data, log.size, h->max, &gathered), 0);
        // Else it is applied again: before the newest Begin that does no harm.
        if (h->begin <= i || feed_chance(&h->chance, 2)) buffer_clear(&log);
    }
    inbox_log_settle(&inbox, h->max, &gathered);
    check(seed, "as bytes", plain, &inbox);
    for (int i = 0; log.size && i < 20; i++) {
        log.data[feed_chance(&h->chance, log.size)] = (uint8_t)feed_chance(&h->chance, 256);
        inbox_log_apply(&inbox, log.data, log.size, h->max, &gathered);
    }
    buffer_clear(&log);
    inbox_log_none(&log);
    assert_true(inbox_event_resets(inbox_log_first(log.data)));
    assert_int_equal(inbox_log_apply(&inbox, log.data, log.size, h->max, &gathered), 0);
    assert_int_equal(inbox.request, -1);
    inbox_gathered_free(&joined);
    inbox_gathered_free(&gathered);
    inbox_free(&inbox);
}

static bool has_gone(const struct history *h) {
    bool has = false;
    for (size_t i = 0; i < h->count; i++) has = has || h->items[i].item.kind == TIMELINE_ITEM_GONE;
    return has;
}

TEST(test_histories) {
    FREED struct history *h = mem_alloc(sizeof *h);
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        struct plain_inbox plain = {.open = false};
        struct inbox inbox = {.request = -1};
        make_history(h, seed);
        for (size_t i = 0; i < h->count; i++) {
            plain_inbox_take(&plain, &h->items[i], h->max);
            apply(&inbox, &h->items[i], h->max);
            check(seed, "applied", &plain, &inbox);
        }
        check_bytes(h, seed, &plain, &inbox);
        check_log(h, seed, &plain);
        // Again from any item on that comes after the newest Begin: nothing changes, but for the horizon.
        if (h->begin != SIZE_MAX) {
            size_t from = h->begin + 1 + feed_chance(&h->chance, h->count - h->begin);
            size_t to = from + feed_chance(&h->chance, h->count - from + 1);
            if (has_gone(h)) to = h->count; // else what is gone may be there again until then
            for (size_t i = from; i < to; i++) apply(&inbox, &h->items[i], h->max);
            const char *differs =
                has_gone(h) ? plain_inbox_differs_above(&plain, &inbox) : plain_inbox_differs(&plain, &inbox);
            if (differs) fail_msg("seed %llu, applied again: %s differs", (unsigned long long)seed, differs);
        }
        inbox_free(&inbox);
    }
}

/* Posts over a day, of authors with ids up to ten millions. */
TEST(test_a_post_takes_twelve_bytes_at_most) {
    struct feed_chance chance = {.state = 7};
    struct inbox inbox = {.request = -1};
    FREED_BUFFER bytes = {.size = 0};
    inbox_begin(&inbox, 1000000, INT64_C(1770000000000), NULL, 0);
    for (int i = 0; i < 800; i++)
        inbox_push_many(&inbox,
                        &(struct inbox_post){
                            .author = (int64_t)feed_chance(&chance, 10000000),
                            .id = (INT64_C(50000000000) + (int64_t)feed_chance(&chance, 86400000)) << 22,
                        },
                        1, 800);
    inbox_write(&inbox, &bytes);
    assert_int_equal(inbox.count, 800);
    assert_true(bytes.size <= 800 * 11);
    inbox_free(&inbox);
}

/* Rising, nearly rising, falling or in no order: each post is there once, newest first. */
TEST(test_many_posts_come_in_any_order) {
    enum { POSTS = 500, ROUNDS = 200 };
    struct feed_chance chance = {.state = 5};
    for (uint64_t round = 0; round < ROUNDS; round++) {
        struct inbox inbox = {.request = -1};
        struct inbox_post posts[POSTS];
        bool there[2 * POSTS + 1] = {false};
        size_t count = 1 + feed_chance(&chance, POSTS), swaps = feed_chance(&chance, 1 + round * 3), at = 0;
        for (size_t i = 0; i < count; i++)
            posts[i] = (struct inbox_post){.id = (int64_t)(round % 2 ? 2 * i + 1 : 2 * (count - i)), .author = 3};
        for (; swaps; swaps--) {
            struct inbox_post *a = &posts[feed_chance(&chance, count)], *b = &posts[feed_chance(&chance, count)],
                              c = *a;
            *a = *b;
            *b = c;
        }
        if (feed_chance(&chance, 2)) posts[0] = posts[count - 1]; // one came twice, and another one did not
        for (size_t i = 0; i < count; i++) there[posts[i].id] = true;
        inbox_begin(&inbox, 1, 1, NULL, 0);
        inbox_push_many(&inbox, posts, count, SIZE_MAX);
        for (int64_t id = 2 * POSTS; id > 0; id--) {
            if (!there[id]) continue;
            assert_true(at < inbox.count && inbox.posts[at].id == id);
            at++;
        }
        assert_int_equal(at, inbox.count);
        inbox_free(&inbox);
    }
}
