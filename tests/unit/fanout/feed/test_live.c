/* A phone that does what the frames of the feed say has the owner's page at each version, or was told to read it; and no id comes
 * twice. */
#include "fanout/feed/live.h"
#include "ids/ids.h"
#include "unit/kit/kit.h"
#include "unit/lib/posts/post_owners.h"
#include "unit/lib/users/some_profiles.h"

enum { LONG_MS = 600000, PAGE_MAX = 4000 };

struct world {
    uv_loop_t loop;
    struct some_profiles profiles;
    struct post_owners owners;
    struct texts *texts;
};

static void settled(void *context, struct text_wait *wait) {}
static void answered(void *context) {}

static void fetch(void *context, int32_t partition, const char *path, int timeout_ms,
                  void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                  void *done_context) {
    struct world *w = context;
    post_owners_fetch(&w->owners, partition, path, timeout_ms, done, done_context);
}

SET_UP_ONCE() {
    struct world *w = kit_zero(sizeof *w);
    kit_loop(&w->loop);
    some_profiles_open(&w->profiles);
    w->owners.at_once = true;
    w->texts = texts_new(&(struct texts_options){.loop = &w->loop,
                                                 .partitions = 1,
                                                 .kept_max = 100,
                                                 .kept_bytes = SIZE_MAX,
                                                 .kept_ms = LONG_MS,
                                                 .timeout_ms = LONG_MS,
                                                 .profiles = w->profiles.profiles,
                                                 .context = w,
                                                 .fetch = fetch,
                                                 .settled = settled,
                                                 .answered = answered});
    return w;
}

TEAR_DOWN(struct world *w) {
    post_owners_free(&w->owners);
    texts_free(w->texts);
    some_profiles_close(&w->profiles);
}

static int64_t id_of(int64_t number) { return ids_make((number + 1) << IDS_FRACTION_BITS, 0); }

static void until_answered(struct world *w, const struct live_feed *live) {
    while (live_unsettled(live)) uv_run(&w->loop, UV_RUN_NOWAIT);
}

/* ---- one rule after the other ---- */

static struct watch_version version(int64_t number) { return (struct watch_version){number, (uint64_t)number + 1}; }

/* The change from version n to n + 1 with one post, or one that is gone; 0: none. */
static void change(struct world *w, struct live_feed *live, int64_t n, int64_t post, int64_t gone) {
    struct added_post posts[] = {{.author = 7, .id = post}};
    int64_t ids[] = {gone};
    live_change(live, w->texts, version(n), version(n + 1),
                &(struct feed_change){.posts = {posts, post != 0}, .gone = {ids, gone != 0}});
}

static void tell(struct world *w, struct live_feed *live) {
    until_answered(w, live);
    live_told(live);
}

TEST(changes_that_follow_are_one, struct world *w) {
    struct live_feed live = {.pending = LIVE_NOTHING};
    change(w, &live, 1, id_of(1), 0);
    change(w, &live, 2, id_of(3), id_of(77));
    change(w, &live, 3, id_of(2), id_of(77));
    assert_int_equal(live.pending, LIVE_CHANGE);
    assert_true(watch_version_same(live.since, version(1)));
    assert_true(watch_version_same(live.version, version(4)));
    live_sort(&live);
    for (size_t i = 0; i < 3; i++) assert_int_equal(live.posts[i].id, id_of(3 - (int64_t)i));
    assert_int_equal(live.gone_count, 1);
    live_free(&live);
}

TEST(one_that_does_not_follow_is_stale, struct world *w) {
    struct live_feed live = {.pending = LIVE_NOTHING};
    change(w, &live, 1, id_of(1), 0);
    change(w, &live, 5, id_of(2), 0);
    assert_int_equal(live.pending, LIVE_STALE);
    assert_true(watch_version_same(live.version, version(6)));
    assert_int_equal(live.post_count, 0);
    /* Each change that comes before it is told moves its version on. */
    change(w, &live, 6, id_of(3), 0);
    assert_int_equal(live.pending, LIVE_STALE);
    assert_true(watch_version_same(live.version, version(7)));
    live_free(&live);
}

TEST(stale_takes_the_place_of_changes, struct world *w) {
    struct live_feed live = {.pending = LIVE_NOTHING};
    change(w, &live, 1, id_of(1), id_of(9));
    live_stale(&live, version(8), 30);
    assert_int_equal(live.pending, LIVE_STALE);
    assert_int_equal(live.after_ms, 30);
    assert_int_equal(live.post_count + live.gone_count, 0);
    live_free(&live);
}

TEST(gone_before_it_was_told, struct world *w) {
    struct live_feed live = {.pending = LIVE_NOTHING};
    change(w, &live, 1, id_of(1), 0);
    change(w, &live, 2, id_of(2), id_of(1));
    assert_int_equal(live.post_count, 1);
    assert_int_equal(live.posts[0].id, id_of(2));
    assert_int_equal(live.gone_count, 0);
    live_free(&live);
}

TEST(an_id_is_told_once, struct world *w) {
    struct live_feed live = {.pending = LIVE_NOTHING};
    change(w, &live, 1, id_of(1), 0);
    change(w, &live, 2, id_of(1), 0);
    assert_int_equal(live.post_count, 1);
    tell(w, &live);
    /* It goes and comes back. Before the phone hears that it is gone, nothing happens; afterwards, the phone has to read. */
    change(w, &live, 3, 0, id_of(1));
    change(w, &live, 4, id_of(1), 0);
    assert_int_equal(live.pending, LIVE_CHANGE);
    assert_int_equal(live.post_count + live.gone_count, 0);
    change(w, &live, 5, 0, id_of(1));
    tell(w, &live);
    change(w, &live, 6, id_of(1), 0);
    assert_int_equal(live.pending, LIVE_STALE);
    live_free(&live);
}

TEST(ids_that_are_forgotten_are_not_told_again, struct world *w) {
    struct live_feed live = {.pending = LIVE_NOTHING};
    for (int64_t i = 1; i <= LIVE_TOLD_MAX + 3; i++) {
        change(w, &live, i, id_of(i * 2), 0);
        if (i % 100 == 0) tell(w, &live);
    }
    tell(w, &live);
    assert_int_equal(live.told_count, LIVE_TOLD_MAX);
    change(w, &live, 5000, id_of(7), 0); /* was never told, but who knows */
    assert_int_equal(live.forgotten, id_of(6));
    assert_int_equal(live.pending, LIVE_CHANGE);
    change(w, &live, 5001, id_of(5), 0);
    assert_int_equal(live.pending, LIVE_STALE);
    live_free(&live);
}

TEST(too_much_is_stale, struct world *w) {
    struct live_feed live = {.pending = LIVE_NOTHING};
    for (int64_t i = 1; i <= LIVE_PENDING_MAX; i++) change(w, &live, i, id_of(i), id_of(100000 + i));
    assert_int_equal(live.pending, LIVE_CHANGE);
    change(w, &live, LIVE_PENDING_MAX + 1, 0, id_of(7777));
    assert_int_equal(live.pending, LIVE_STALE);
    live_drop(&live);
    for (int64_t i = 1; i <= LIVE_PENDING_MAX + 1; i++) change(w, &live, i, id_of(i), 0);
    assert_int_equal(live.pending, LIVE_STALE);
    live_free(&live);
}

/* ---- many histories ---- */

/* The newest page that the owner has, and the one on the phone: which numbers are on it. */
struct history {
    struct world *w;
    struct live_feed live;
    uint64_t random;
    int64_t numbers; /* of posts so far */
    bool owner[PAGE_MAX], phone[PAGE_MAX], was_told[PAGE_MAX];
    struct watch_version owners, edges, phones; /* edges: of the phone's page, as the edge knows it */
    int stales, frames;
};

static uint64_t draw(struct history *h, uint64_t below) { return hash_u64(h->random++) % below; }

/* The version is a function of the page, as that of a feed is. */
static struct watch_version version_of(const bool page[PAGE_MAX]) {
    struct watch_version found = {.number = 0};
    for (int64_t i = 0; i < PAGE_MAX; i++) {
        if (!page[i]) continue;
        found.number = id_of(i);
        found.hash += hash_u64((uint64_t)i);
    }
    return found;
}

static void owner_changes(struct history *h, bool lost) {
    struct added_post posts[4];
    int64_t gone[4];
    struct feed_change content = {.posts = {posts, 0}, .gone = {gone, 0}};
    struct watch_version since = h->owners;
    for (uint64_t n = 1 + draw(h, 3); n > 0; n--) {
        int64_t number = draw(h, 3) || !h->numbers ? h->numbers : (int64_t)draw(h, (uint64_t)h->numbers);
        if (number == h->numbers && h->numbers < PAGE_MAX - 1) h->numbers++;
        bool twice = false; /* in one change */
        for (size_t i = 0; i < content.posts.count; i++) twice |= posts[i].id == id_of(number);
        for (size_t i = 0; i < content.gone.count; i++) twice |= gone[i] == id_of(number);
        if (twice) continue;
        if (!h->owner[number])
            posts[content.posts.count++] = (struct added_post){.author = 7, .id = id_of(number)};
        else
            gone[content.gone.count++] = id_of(number);
        h->owner[number] = !h->owner[number];
    }
    h->owners = version_of(h->owner);
    if (lost) return;
    if (watch_version_same(h->edges, since))
        live_change(&h->live, h->w->texts, since, h->owners, &content);
    else if (!watch_version_same(h->edges, h->owners))
        live_stale(&h->live, h->owners, 0);
    h->edges = h->owners;
}

static int64_t number_of(int64_t id) { return (ids_tick_of(id) >> IDS_FRACTION_BITS) - 1; }

static void phone_reads(struct history *h) {
    memcpy(h->phone, h->owner, sizeof h->phone);
    h->phones = h->edges = h->owners;
    live_drop(&h->live); /* as a repeated watch does */
}

static void phone_is_told(struct history *h) {
    if (h->live.pending == LIVE_NOTHING) return;
    until_answered(h->w, &h->live);
    live_sort(&h->live);
    if (h->live.pending == LIVE_STALE) {
        h->stales++;
        live_told(&h->live);
        phone_reads(h);
        return;
    }
    assert_true(watch_version_same(h->live.since, h->phones));
    for (size_t i = 0; i < h->live.post_count; i++) {
        int64_t number = number_of(h->live.posts[i].id);
        assert_true(!i || h->live.posts[i - 1].id > h->live.posts[i].id);
        assert_false(h->was_told[number]);
        assert_int_equal(text_state_of(h->live.posts[i].text), TEXT_THERE);
        h->was_told[number] = h->phone[number] = true;
    }
    for (size_t i = 0; i < h->live.gone_count; i++) h->phone[number_of(h->live.gone[i])] = false;
    h->phones = h->live.version;
    assert_true(watch_version_same(version_of(h->phone), h->phones));
    live_told(&h->live);
    h->frames++;
}

TEST(phones_have_the_owners_page, struct world *w) {
    enum { HISTORIES = 300, STEPS = 60 };
    int stales = 0, frames = 0;
    for (uint64_t seed = 0; seed < HISTORIES; seed++) {
        FREED struct history *h = mem_zero(1, sizeof *h);
        h->w = w;
        h->random = seed << 32;
        for (int step = 0; step < STEPS; step++) {
            uint64_t what = draw(h, 100);
            if (what < 65)
                owner_changes(h, what == 0);
            else if (what < 98)
                phone_is_told(h);
            else
                phone_reads(h);
        }
        phone_is_told(h);
        if (watch_version_same(h->edges, h->owners)) assert_memory_equal(h->phone, h->owner, sizeof h->phone);
        stales += h->stales;
        frames += h->frames;
        live_free(&h->live);
    }
    assert_true(stales > HISTORIES / 10 && frames > HISTORIES * 5);
}
