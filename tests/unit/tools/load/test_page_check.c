/* The simulation's check of home timelines: no false alarm while things are under way, and every fault is found. */
#include "tools/load/page_check.h"
#include "unit/kit/kit.h"

enum { READER = 1, ADA = 2, BEN = 3, STRANGER = 4, MARGIN = 100, END = 1000 };

struct fixture {
    struct page_check *check;
    struct buffer why;
};

/* Ada has posts 50, 60 and 80, Ben 70; the reader follows both. All of it is long done at END. */
SET_UP() {
    struct fixture *f = kit_zero(sizeof *f);
    f->check = page_check_new(MARGIN);
    page_check_follow_done(f->check, READER, ADA, true, 0);
    page_check_follow_done(f->check, READER, BEN, true, 0);
    page_check_post_done(f->check, ADA, 50, 10);
    page_check_post_done(f->check, ADA, 60, 20);
    page_check_post_done(f->check, BEN, 70, 30);
    page_check_post_done(f->check, ADA, 80, 40);
    return f;
}

TEAR_DOWN(struct fixture *f) {
    page_check_free(f->check);
    buffer_free(&f->why);
}

/* Checks a page of these ids, and returns the complaint. Ids that end with 00 are the stranger's, those that end with 70 Ben's, and
 * all others Ada's. */
static const char *said(struct fixture *f, int64_t asked_us, int64_t next, const int64_t *ids) {
    struct checked_item items[16];
    size_t count = 0;
    for (; ids[count]; count++) {
        items[count] = (struct checked_item){.id = ids[count],
                                             .author = ids[count] % 100 == 0    ? STRANGER
                                                       : ids[count] % 100 == 70 ? BEN
                                                                                : ADA};
    }
    const struct checked_page page = {
        .reader = READER, .asked_us = asked_us, .items = items, .count = count, .next = next};
    buffer_clear(&f->why);
    bool wrong = page_check_wrong(f->check, &page, &f->why);
    assert_int_equal(wrong, f->why.size > 0);
    return buffer_cstring(&f->why);
}

#define IDS(...) ((const int64_t[]){__VA_ARGS__, 0})
#define RIGHT(f, asked, next, ...) assert_string_equal(said(f, asked, next, IDS(__VA_ARGS__)), "")
#define WRONG(f, asked, next, words, ...) assert_non_null(strstr(said(f, asked, next, IDS(__VA_ARGS__)), words))

TEST(a_right_page_is_right, struct fixture *f) {
    RIGHT(f, END, 0, 80, 70, 60, 50);
    RIGHT(f, END, 70, 80, 70);
    RIGHT(f, INT64_MAX, 0, 80, 70, 60, 50);
    RIGHT(f, END, 0, 80, 70, 60, 50, 40, 9); // and posts of an earlier time
}

TEST(what_is_missing_is_found, struct fixture *f) {
    WRONG(f, END, 0, "  70 of 3: is missing\n", 80, 60, 50);
    WRONG(f, END, 70, "  70 of 3: is missing\n", 80);
    WRONG(f, END, 0, "  50 of 2: is missing\n", 80, 70, 60);
    WRONG(f, END, 0, "is missing", 0);
    RIGHT(f, END, 60, 80, 70, 60); // older ones are on the next page
}

TEST(what_is_too_many_is_found, struct fixture *f) {
    WRONG(f, END, 0, "  75 of 2: nobody has made this post\n", 80, 75, 70, 60, 50);
    WRONG(f, END, 0, "  100 of 4: the author was never followed\n", 100, 80, 70, 60, 50);
    WRONG(f, END, 0, "  70 of 3: twice\n", 80, 70, 70, 60, 50);
    WRONG(f, END, 0, "  70 of 3: out of order\n", 80, 60, 70, 50);
    const struct checked_item swapped[] = {{80, ADA, 0}, {70, ADA, 0}, {60, ADA, 0}, {50, ADA, 0}};
    const struct checked_page page = {.reader = READER, .asked_us = END, .items = swapped, .count = 4};
    assert_true(page_check_wrong(f->check, &page, &f->why));
    assert_non_null(strstr(buffer_cstring(&f->why), "  70 of 2: the author is another one\n"));
}

TEST(a_post_may_be_there_from_its_beginning_and_must_be_after_the_margin, struct fixture *f) {
    page_check_post_begun(f->check, ADA);
    RIGHT(f, END, 0, 90, 80, 70, 60, 50);
    RIGHT(f, END, 0, 80, 70, 60, 50);
    page_check_post_done(f->check, ADA, 90, END);
    RIGHT(f, END + MARGIN - 1, 0, 90, 80, 70, 60, 50);
    RIGHT(f, END + MARGIN - 1, 0, 80, 70, 60, 50);
    WRONG(f, END + MARGIN, 0, "  90 of 2: is missing\n", 80, 70, 60, 50);
    WRONG(f, INT64_MAX, 0, "  90 of 2: is missing\n", 80, 70, 60, 50);
    WRONG(f, END, 0, "  95 of 2: nobody has made this post\n", 95, 80, 70, 60, 50);
    page_check_post_begun(f->check, ADA);
    page_check_post_done(f->check, ADA, 0, END); // was refused
    WRONG(f, END, 0, "  95 of 2: nobody has made this post\n", 95, 80, 70, 60, 50);
}

TEST(a_deletion_too, struct fixture *f) {
    page_check_delete_begun(f->check, 60);
    RIGHT(f, END, 0, 80, 70, 60, 50);
    RIGHT(f, END, 0, 80, 70, 50);
    page_check_delete_done(f->check, 60, END);
    RIGHT(f, END, 0, 80, 70, 60, 50);
    RIGHT(f, END + MARGIN, 0, 80, 70, 50);
    WRONG(f, END + MARGIN, 0, "  60 of 2: it was deleted\n", 80, 70, 60, 50);
}

TEST(a_follow_and_its_end_too, struct fixture *f) {
    page_check_follow_begun(f->check, READER, BEN);
    RIGHT(f, END, 0, 80, 60, 50);
    RIGHT(f, END, 0, 80, 70, 60, 50);
    page_check_follow_done(f->check, READER, BEN, false, END);
    assert_false(page_check_follows(f->check, READER, BEN));
    RIGHT(f, END, 0, 80, 70, 60, 50);
    RIGHT(f, END + MARGIN, 0, 80, 60, 50);
    WRONG(f, END + MARGIN, 0, "  70 of 3: the author is not followed any more\n", 80, 70, 60, 50);
    page_check_follow_done(f->check, READER, BEN, true, END + 500);
    assert_true(page_check_follows(f->check, READER, BEN));
    RIGHT(f, END + 500, 0, 80, 60, 50);
    WRONG(f, END + 600, 0, "  70 of 3: is missing\n", 80, 60, 50);
}

TEST(a_text_must_be_there_in_the_end, struct fixture *f) {
    const struct checked_item items[] = {
        {80, ADA, 0}, {70, BEN, CHECKED_UNAVAILABLE}, {60, ADA, 0}, {50, ADA, 0}, {40, ADA, CHECKED_UNAVAILABLE}};
    struct checked_page page = {.reader = READER, .asked_us = END, .items = items, .count = 5};
    assert_false(page_check_wrong(f->check, &page, &f->why));
    page.asked_us = INT64_MAX;
    assert_true(page_check_wrong(f->check, &page, &f->why));
    assert_non_null(strstr(buffer_cstring(&f->why), "  70 of 3: its text is not there\n"));
    assert_null(strstr(buffer_cstring(&f->why), "  40 of 2:"));
}

TEST(who_follows_nobody_has_an_empty_page, struct fixture *f) {
    const struct checked_item item = {80, ADA, 0};
    struct checked_page page = {.reader = STRANGER, .asked_us = END, .items = &item, .count = 0};
    assert_false(page_check_wrong(f->check, &page, &f->why));
    page.count = 1;
    assert_true(page_check_wrong(f->check, &page, &f->why));
}

/* ---- random histories: a page that is right at any moment between question and answer is right; one changed by one item is not ---- */

enum { PEOPLE = 6, POSTS = 60, STEPS = 300, HISTORIES = 300 };

struct world {
    struct page_check *check;
    uint64_t chance;
    bool follows[PEOPLE][PEOPLE];
    int64_t author[POSTS]; /* by id - 1; -1: there is none */
    bool there[POSTS];
    int made;
    int64_t now;
};

static uint64_t draw(struct world *world, uint64_t below) { return hash_u64(world->chance++) % below; }

static void something_happens(struct world *world) {
    int64_t user = (int64_t)draw(world, PEOPLE), other = (int64_t)draw(world, PEOPLE);
    uint64_t kind = draw(world, 10);
    world->now += (int64_t)draw(world, MARGIN);
    if (kind < 5 && world->made < POSTS) {
        page_check_post_begun(world->check, user);
        world->author[world->made] = user;
        world->there[world->made++] = true;
        page_check_post_done(world->check, user, world->made, world->now);
    } else if (kind < 7 && world->made) {
        int64_t post = (int64_t)draw(world, (uint64_t)world->made);
        if (!world->there[post]) return;
        page_check_delete_begun(world->check, post + 1);
        world->there[post] = false;
        page_check_delete_done(world->check, post + 1, world->now);
    } else if (user != other) {
        page_check_follow_begun(world->check, user, other);
        world->follows[user][other] = !world->follows[user][other];
        page_check_follow_done(world->check, user, other, world->follows[user][other], world->now);
    }
}

static size_t brute_force(const struct world *world, int64_t reader, size_t limit, struct checked_item *items,
                          int64_t *next) {
    size_t count = 0;
    *next = 0;
    for (int64_t post = world->made; post > 0; post--) {
        int64_t author = world->author[post - 1];
        if (!world->there[post - 1] || !world->follows[reader][author]) continue;
        if (count == limit) {
            *next = items[count - 1].id;
            break;
        }
        items[count++] = (struct checked_item){.id = post, .author = author};
    }
    return count;
}

/* Leaves out one item, or adds one that is not to be there. False: there is none to leave out or to add. */
static bool spoil(struct world *world, struct checked_page *page, struct checked_item *items) {
    size_t at = draw(world, page->count + 1);
    if (at < page->count) {
        memmove(&items[at], &items[at + 1], (page->count - at - 1) * sizeof *items);
        page->count--;
        return true;
    }
    for (int64_t post = world->made; post > 0; post--) {
        if (post < page->next || (world->there[post - 1] && world->follows[page->reader][world->author[post - 1]]))
            continue;
        for (at = 0; at < page->count && items[at].id > post;) at++;
        memmove(&items[at + 1], &items[at], (page->count - at) * sizeof *items);
        items[at] = (struct checked_item){.id = post, .author = world->author[post - 1]};
        page->count++;
        return true;
    }
    return false;
}

TEST(pages_are_judged_as_brute_force_does) {
    FREED_BUFFER why = {.size = 0};
    int spoilt = 0;
    for (uint64_t history = 0; history < HISTORIES; history++) {
        struct world world = {.check = page_check_new(MARGIN), .chance = hash_u64(history)};
        for (int step = 0; step < STEPS; step++) {
            struct checked_item items[POSTS + 1];
            struct checked_page page = {.reader = (int64_t)draw(&world, PEOPLE), .asked_us = world.now, .items = items};
            size_t before = draw(&world, 3), after = draw(&world, 3);
            while (before--) something_happens(&world);
            page.count = brute_force(&world, page.reader, 1 + draw(&world, POSTS), items, &page.next);
            while (after--) something_happens(&world);
            bool wrong = page_check_wrong(world.check, &page, &why);
            if (wrong) fail_msg("history %d: %s", (int)history, buffer_cstring(&why));
            page.asked_us = INT64_MAX;
            page.count = brute_force(&world, page.reader, 1 + draw(&world, POSTS), items, &page.next);
            assert_false(page_check_wrong(world.check, &page, &why));
            if (!spoil(&world, &page, items)) continue;
            assert_true(page_check_wrong(world.check, &page, &why));
            buffer_clear(&why);
            spoilt++;
        }
        page_check_free(world.check);
    }
    assert_true(spoilt > HISTORIES * STEPS / 2);
}
