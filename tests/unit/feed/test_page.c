/* Pages against sorting everything: random inboxes, hot posts and follows. */
#include "feed/page.h"
#include "unit/feed/items.h"
#include "unit/kit/kit.h"

enum { AUTHORS = 30, IDS = 400, CASES = 20000, PAGES = 4 };

struct world {
    struct feed_chance chance;
    struct inbox inbox;
    struct hot *hot;
    bool is_hot[IDS], pushed[IDS], gone[IDS]; /* by the number of the post; its author is the number % AUTHORS */
    int64_t following[AUTHORS], muted[AUTHORS];
    size_t following_count, muted_count;
};

/* The id of a post: four lie within one second of hot_bound. */
static int64_t id_of(int64_t number) { return number << (HOT_BOUND_SHIFT - 2); }

static size_t choose(struct world *w, int64_t *users, uint64_t of) {
    size_t count = 0;
    for (int64_t user = 0; user < AUTHORS; user++)
        if (!feed_chance(&w->chance, of)) users[count++] = user;
    return count;
}

static bool among(const int64_t *users, size_t count, int64_t user) {
    for (size_t i = 0; i < count; i++)
        if (users[i] == user) return true;
    return false;
}

static void make(struct world *w, uint64_t seed) {
    *w = (struct world){.chance = {seed << 32}, .inbox = {.request = -1}, .hot = hot_new()};
    uint64_t pushed = feed_chance(&w->chance, 10), hot = feed_chance(&w->chance, 10), gone = feed_chance(&w->chance, 3);
    inbox_begin(&w->inbox, 1, 1, NULL, 0);
    for (int64_t id = 1; id < IDS; id++) {
        w->pushed[id] = feed_chance(&w->chance, 10) < pushed;
        w->is_hot[id] = feed_chance(&w->chance, 10) < hot;
        struct inbox_post post = {.id = id_of(id), .author = id % AUTHORS};
        if (w->pushed[id]) inbox_push_many(&w->inbox, &post, 1, IDS);
        if (w->is_hot[id]) hot_put(w->hot, id % AUTHORS, id_of(id));
        w->gone[id] = w->is_hot[id] && feed_chance(&w->chance, 10) < gone;
        if (w->gone[id]) hot_remove(w->hot, id % AUTHORS, id_of(id));
    }
    if (feed_chance(&w->chance, 2)) w->inbox.horizon = id_of((int64_t)feed_chance(&w->chance, IDS));
    if (feed_chance(&w->chance, 2)) hot_expire(w->hot, id_of((int64_t)feed_chance(&w->chance, IDS)), 10);
    w->following_count = choose(w, w->following, 1 + feed_chance(&w->chance, 4));
    w->muted_count = choose(w, w->muted, 3 + feed_chance(&w->chance, 20));
}

static void check(const struct world *w, uint64_t seed, const struct page *page, int64_t above, int64_t before,
                  size_t wanted) {
    int64_t horizon = w->inbox.horizon > hot_horizon(w->hot) ? w->inbox.horizon : hot_horizon(w->hot);
    size_t count = 0;
    for (int64_t id = IDS - 1; id_of(id) > horizon && id_of(id) > above && count < wanted; id--) {
        if (id_of(id) >= before) continue;
        if ((!w->pushed[id] && !w->is_hot[id]) || w->gone[id]) continue;
        if (!among(w->following, w->following_count, id % AUTHORS)) continue;
        if (among(w->muted, w->muted_count, id % AUTHORS)) continue;
        if (count == page->count || page->posts[count].id != id_of(id) || page->posts[count].author != id % AUTHORS)
            fail_msg("seed %llu: post %zu is not %d", (unsigned long long)seed, count, (int)id);
        count++;
    }
    if (count != page->count) fail_msg("seed %llu: too many posts", (unsigned long long)seed);
    if (page->horizon != (horizon > above ? horizon : 0)) fail_msg("seed %llu: horizon", (unsigned long long)seed);
}

TEST(test_pages) {
    FREED struct world *w = mem_alloc(sizeof *w);
    struct page_scratch *scratch = page_scratch_new();
    struct page page = {.posts = NULL};
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        make(w, seed);
        int64_t above = 0, before = INT64_MAX;
        for (int i = 0; i < PAGES; i++) {
            size_t wanted = feed_chance(&w->chance, 10) ? feed_chance(&w->chance, 30) : IDS;
            page_merge(scratch, &w->inbox, w->hot, w->following, w->following_count, w->muted, w->muted_count, above,
                       before, wanted, &page);
            check(w, seed, &page, above, before, wanted);
            if (page.count) before = page.posts[page.count - 1].id;
            if (!feed_chance(&w->chance, 3)) above = id_of((int64_t)feed_chance(&w->chance, IDS));
            if (!feed_chance(&w->chance, 5)) before = id_of((int64_t)feed_chance(&w->chance, IDS + 10));
        }
        hot_free(w->hot);
        inbox_free(&w->inbox);
    }
    page_free(&page);
    page_scratch_free(scratch);
}
