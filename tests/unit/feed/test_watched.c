/* Readers who are watched against plain tables: random histories of readers who come and go while jobs are under way. */
#include "feed/watched.h"
#include "unit/feed/items.h"
#include "unit/kit/kit.h"

enum { USERS = 30, PARTITIONS = 4, AUTHORS = 6, POSTS = 400, HISTORIES = 600, STEPS = 250 };

/* A reader who was there and registered when a post came must hear of it, unless the timeline is read anew afterwards. A reader who
 * registered later may hear of it, too. */
struct world {
    struct feed_chance chance;
    uint64_t seed;
    struct watched_table *table;
    bool there[USERS], follows[USERS][AUTHORS], registered[USERS][AUTHORS], anew[USERS];
    bool wanted[USERS][POSTS], wanted_gone[USERS][POSTS]; /* the reader must hear of it */
    int author_of[POSTS], posts;
    bool deleted[POSTS];
};

static size_t chance(struct world *w, uint64_t of) { return feed_chance(&w->chance, of); }
static int32_t home(size_t user) { return (int32_t)(user % PARTITIONS); }

static void forget(struct world *w, size_t user) {
    memset(w->wanted[user], 0, sizeof w->wanted[user]);
    memset(w->wanted_gone[user], 0, sizeof w->wanted_gone[user]);
}

static void come(struct world *w) {
    size_t user = chance(w, USERS);
    struct watched *watched = watched_put(w->table, (int64_t)user, home(user));
    CHECK(w, watched == watched_find(w->table, (int64_t)user) && watched->user == (int64_t)user);
    if (w->there[user]) return;
    w->there[user] = w->anew[user] = true;
    memset(w->registered[user], 0, sizeof w->registered[user]);
}

static void go(struct world *w, size_t user) {
    w->there[user] = false;
    forget(w, user);
}

static bool follows(void *context, const struct watched *watched, int64_t author) {
    struct world *w = context;
    CHECK(w, w->there[watched->user]);
    if (w->follows[watched->user][author]) w->registered[watched->user][author] = true;
    return w->follows[watched->user][author];
}

static void post(struct world *w) {
    if (w->posts == POSTS) return;
    int author = (int)chance(w, AUTHORS), id = w->posts++;
    bool fresh = true;
    for (int i = 0; i < id; i++) fresh = fresh && w->author_of[i] != author;
    w->author_of[id] = author;
    for (size_t user = 0; user < USERS; user++) {
        bool hears = fresh ? w->follows[user][author] : w->registered[user][author];
        if (w->there[user] && hears && !w->anew[user]) w->wanted[user][id] = true;
    }
    watched_job(w->table, fresh ? WATCHED_JOB_FRESH : WATCHED_JOB_POST, author, id);
}

static void delete_post(struct world *w) {
    if (!w->posts) return;
    int id = (int)chance(w, (uint64_t)w->posts);
    w->deleted[id] = true;
    for (size_t user = 0; user < USERS; user++)
        if (w->there[user] && w->registered[user][w->author_of[id]] && !w->anew[user]) w->wanted_gone[user][id] = true;
    watched_job(w->table, WATCHED_JOB_GONE, w->author_of[id], id);
}

/* As feed/watches.c does when it reads a timeline anew. */
static void read_anew(struct world *w, struct watched *watched) {
    watched_unregister_all(w->table, watched);
    for (int author = 0; author < AUTHORS; author++) {
        bool hot = false;
        for (int i = 0; i < w->posts; i++) hot = hot || w->author_of[i] == author;
        w->registered[watched->user][author] = hot && w->follows[watched->user][author];
        if (w->registered[watched->user][author]) watched_register(w->table, watched, author);
        if (!chance(w, 3) && w->registered[watched->user][author]) watched_register(w->table, watched, author);
    }
    forget(w, (size_t)watched->user);
    w->anew[watched->user] = false;
}

static void look(struct world *w, struct watched *watched) {
    size_t user = (size_t)watched->user;
    CHECK(w, w->there[user] && watched->partition == home(user));
    CHECK(w, watched->anew == w->anew[user]);
    if (watched->anew) read_anew(w, watched);
    for (size_t i = 0; i < watched->added_count; i++) {
        CHECK(w, watched->added[i].id < w->posts && watched->added[i].author == w->author_of[watched->added[i].id]);
        w->wanted[user][watched->added[i].id] = false;
    }
    for (size_t i = 0; i < watched->gone_count; i++) {
        CHECK(w, w->deleted[watched->gone[i]]);
        w->wanted_gone[user][watched->gone[i]] = false;
    }
    watched_settled(watched);
}

static void look_at_some(struct world *w, size_t most) {
    struct watched *watched;
    while (most-- && (watched = watched_due(w->table))) look(w, watched);
}

static void change_follow(struct world *w) {
    size_t user = chance(w, USERS), author = chance(w, AUTHORS);
    w->follows[user][author] = !w->follows[user][author];
    struct watched *watched = watched_find(w->table, (int64_t)user);
    CHECK(w, (watched != NULL) == w->there[user]);
    if (!watched) return;
    watched_anew(w->table, watched);
    w->anew[user] = true;
    forget(w, user);
}

static void go_some(struct world *w) {
    int32_t partition = (int32_t)chance(w, PARTITIONS);
    size_t user = chance(w, USERS);
    if (!chance(w, 4)) {
        for (size_t u = 0; u < USERS; u++)
            if (home(u) == partition) go(w, u);
        watched_remove_all(w->table, partition);
    } else if (w->there[user]) {
        watched_remove(w->table, watched_find(w->table, (int64_t)user));
        go(w, user);
    }
}

/* All readers who are there all the time are walked by. */
static void walk_all(struct world *w) {
    size_t seen = 0;
    const struct watched *watched;
    while (watched_walk(w->table))
        ;
    while ((watched = watched_walk(w->table))) {
        CHECK(w, w->there[watched->user]);
        seen++;
    }
    CHECK(w, seen == watched_count(w->table));
}

TEST(test_histories) {
    struct world *w = mem_alloc(sizeof *w);
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        *w = (struct world){.chance = {seed << 32}, .seed = seed, .table = watched_table_new(PARTITIONS)};
        for (int i = 0; i < STEPS; i++) {
            switch (chance(w, 9)) {
            case 0:
            case 1: come(w); break;
            case 2: go_some(w); break;
            case 3:
            case 4: post(w); break;
            case 5: delete_post(w); break;
            case 6: change_follow(w); break;
            case 7: watched_work(w->table, chance(w, 12), follows, w); break;
            default: look_at_some(w, chance(w, 6)); watched_walk(w->table);
            }
        }
        CHECK(w, watched_work(w->table, SIZE_MAX, follows, w) > 0);
        look_at_some(w, SIZE_MAX);
        walk_all(w);
        for (size_t user = 0; user < USERS; user++)
            for (int id = 0; id < w->posts; id++) {
                CHECK(w, !w->wanted[user][id]);
                CHECK(w, !w->wanted_gone[user][id]);
            }
        watched_table_free(w->table);
    }
    free(w);
    watched_table_free(NULL);
}

/* ---- edits ---- */

static bool follows_nobody(void *context, const struct watched *watched, int64_t author) { return false; }

TEST(test_those_who_have_an_edited_post_are_told_anew) {
    struct watched_table *table = watched_table_new(PARTITIONS);
    struct watched *has = watched_put(table, 1, 0), *other = watched_put(table, 2, 1);
    while (watched_due(table)) {}
    watched_settled(has);
    watched_settled(other);
    has->known = other->known = true;
    watched_insert(has, &(struct inbox_post){.id = 7, .author = 3});
    watched_insert(other, &(struct inbox_post){.id = 8, .author = 3});
    watched_job(table, WATCHED_JOB_EDITED, 0, 7);
    assert_true(watched_work(table, 100, follows_nobody, NULL) > 0);
    assert_ptr_equal(watched_due(table), has);
    assert_null(watched_due(table));
    assert_true(has->anew && !has->known && other->known);
    watched_table_free(table);
}

static bool follows_three(void *context, const struct watched *watched, int64_t author) {
    return author == 3 && watched->user == 1;
}

TEST(test_followers_are_told_of_what_moderators_decide) {
    struct watched_table *table = watched_table_new(PARTITIONS);
    struct watched *follower = watched_put(table, 1, 0), *other = watched_put(table, 2, 1);
    while (watched_due(table)) {}
    watched_settled(follower);
    watched_settled(other);
    follower->known = other->known = true;
    watched_job(table, WATCHED_JOB_HIDDEN, 3, 7);
    assert_true(watched_work(table, 100, follows_three, NULL) > 0);
    assert_ptr_equal(watched_due(table), follower);
    assert_null(watched_due(table));
    assert_true(follower->gone_count == 1 && follower->gone[0] == 7 && !follower->anew && follower->known);
    watched_settled(follower);
    watched_job(table, WATCHED_JOB_SHOWN, 3, 7);
    assert_true(watched_work(table, 100, follows_three, NULL) > 0);
    assert_ptr_equal(watched_due(table), follower);
    assert_null(watched_due(table));
    assert_true(follower->anew && !follower->known && other->known);
    watched_table_free(table);
}

/* ---- screens ---- */

/* A timeline, and a screen that has all of its posts. Messages about posts that are further down than the newest ones get lost at
 * times, as nothing tells that they do. */
struct screen_world {
    struct feed_chance chance;
    bool timeline[POSTS], screen[POSTS];
    struct watched watched;
};

static size_t newest_of(const bool posts[POSTS], int64_t ids[WATCHED_NEWEST]) {
    size_t count = 0;
    for (int64_t id = POSTS - 1; id > 0 && count < WATCHED_NEWEST; id--)
        if (posts[id]) ids[count++] = id;
    return count;
}

static void read_newest(struct screen_world *w) {
    int64_t ids[WATCHED_NEWEST];
    w->watched.count = newest_of(w->timeline, ids);
    for (size_t i = 0; i < w->watched.count; i++) w->watched.newest[i] = (struct inbox_post){.id = ids[i]};
}

/* As feed/watches.c does with a post that came, or is gone. */
static void change(struct screen_world *w, int64_t id, bool there) {
    int64_t before[WATCHED_NEWEST], after[WATCHED_NEWEST];
    size_t count = newest_of(w->timeline, before);
    w->timeline[id] = there;
    bool same = newest_of(w->timeline, after) == count && !memcmp(before, after, count * sizeof *before);
    if (there) {
        watched_insert(&w->watched, &(struct inbox_post){.id = id});
    } else {
        watched_below(&w->watched, id);
        read_newest(w);
    }
    if (!same || feed_chance(&w->chance, 2)) w->screen[id] = there;
    if (!watched_doubtful(&w->watched)) return;
    memcpy(w->screen, w->timeline, sizeof w->screen);
    watched_trust(&w->watched);
}

TEST(test_the_newest_posts_are_right_on_screens) {
    FREED struct screen_world *w = mem_alloc(sizeof *w);
    size_t rereads = 0, changes = 0;
    for (uint64_t seed = 1; seed <= HISTORIES; seed++) {
        *w = (struct screen_world){.chance = {seed << 32}};
        uint64_t most = 10 + feed_chance(&w->chance, POSTS - 10), deletions = feed_chance(&w->chance, 10);
        for (size_t id = 1; id < most; id++) w->timeline[id] = feed_chance(&w->chance, 2);
        memcpy(w->screen, w->timeline, sizeof w->screen);
        read_newest(w);
        uint64_t below = w->watched.count == WATCHED_NEWEST ? (uint64_t)w->watched.newest[WATCHED_NEWEST - 1].id : 0;
        for (size_t i = feed_chance(&w->chance, 5); i-- && below > 1;) // changes that the owner missed
            w->screen[1 + feed_chance(&w->chance, below - 1)] ^= true;
        watched_trust(&w->watched);
        for (size_t i = 0; i < 100; i++) {
            int64_t shown[WATCHED_NEWEST], is[WATCHED_NEWEST], id = 1 + (int64_t)feed_chance(&w->chance, POSTS - 1);
            bool there = feed_chance(&w->chance, 10) >= deletions;
            if (w->timeline[id] == there) continue;
            bool before = !memcmp(w->screen, w->timeline, sizeof w->screen);
            change(w, id, there);
            rereads += !before && !memcmp(w->screen, w->timeline, sizeof w->screen);
            changes++;
            size_t count = newest_of(w->timeline, is);
            if (newest_of(w->screen, shown) != count || memcmp(shown, is, count * sizeof *is) != 0)
                fail_msg("seed %llu: another screen after %zu changes", (unsigned long long)seed, i);
        }
    }
    assert_true(rereads > 100 && rereads < changes / 5); // they are seldom read for it
}
