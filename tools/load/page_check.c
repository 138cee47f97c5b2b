#include "tools/load/page_check.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"

/* A fact that is true or false since some time. */
struct fact {
    bool is, changing;
    int64_t since_us; /* when the last change was done */
};

struct known_relation {
    int64_t other;
    struct fact follows;
};

struct made_post {
    int64_t id, author;
    struct fact there;
};

struct known_person {
    struct known_relation *relations; /* in no order: who is followed, or was */
    size_t relation_count;
    struct made_post **posts; /* by rising id, as one author's posts are made one after the other */
    size_t post_count;
    bool posting; /* a post of which the id is not known */
};

struct page_check {
    int64_t margin_us, first;
    struct map *people; /* user -> person */
    struct map *posts;  /* id -> post */
};

struct page_check *page_check_new(int64_t margin_us) {
    return MEM_NEW(
        &(struct page_check){.margin_us = margin_us, .first = INT64_MAX, .people = map_new(), .posts = map_new()});
}

void page_check_free(struct page_check *check) {
    if (!check) return;
    size_t cursor = 0;
    uint64_t key, value;
    while (map_next(check->posts, &cursor, &key, &value)) free((struct made_post *)(uintptr_t)value);
    cursor = 0;
    while (map_next(check->people, &cursor, &key, &value)) {
        struct known_person *person = (struct known_person *)(uintptr_t)value;
        free(person->relations);
        free(person->posts);
        free(person);
    }
    map_free(check->people);
    map_free(check->posts);
    free(check);
}

static struct known_person *person_of(struct page_check *check, int64_t user) {
    bool created;
    uint64_t *slot = map_put(check->people, (uint64_t)user, &created);
    if (created) *slot = (uintptr_t)mem_zero(1, sizeof(struct known_person));
    return (struct known_person *)(uintptr_t)*slot;
}

/* Makes room for one more at the end of an array whose capacity is the next power of two. */
static void *grown(void *items, size_t count, size_t size) {
    if (count & (count - 1)) return items;
    return mem_resize(items, count ? count * 2 : 1, size);
}

static struct known_relation *find_relation(const struct known_person *person, int64_t other) {
    for (size_t i = 0; person && i < person->relation_count; i++)
        if (person->relations[i].other == other) return &person->relations[i];
    return NULL;
}

static struct known_relation *relation_of(struct page_check *check, int64_t user, int64_t other) {
    struct known_person *person = person_of(check, user);
    struct known_relation *found = find_relation(person, other);
    if (found) return found;
    person->relations = grown(person->relations, person->relation_count, sizeof *person->relations);
    found = &person->relations[person->relation_count++];
    *found = (struct known_relation){.other = other, .follows = {.since_us = INT64_MIN}};
    return found;
}

/* ---- posts, deletions and follows ---- */

void page_check_follow_begun(struct page_check *check, int64_t user, int64_t other) {
    relation_of(check, user, other)->follows.changing = true;
}

void page_check_follow_done(struct page_check *check, int64_t user, int64_t other, bool follows, int64_t now_us) {
    relation_of(check, user, other)->follows = (struct fact){.is = follows, .since_us = now_us};
}

bool page_check_follows(const struct page_check *check, int64_t user, int64_t other) {
    const struct known_relation *relation = find_relation(map_pointer(check->people, (uint64_t)user), other);
    return relation && relation->follows.is;
}

bool page_check_pick(const struct page_check *check, int64_t user, bool follows, uint64_t number, int64_t *other) {
    const struct known_person *person = map_pointer(check->people, (uint64_t)user);
    for (size_t i = 0; person && i < person->relation_count; i++) {
        const struct known_relation *relation = &person->relations[(number + i) % person->relation_count];
        if (relation->follows.is != follows) continue;
        *other = relation->other;
        return !relation->follows.changing;
    }
    return false;
}

void page_check_post_begun(struct page_check *check, int64_t author) { person_of(check, author)->posting = true; }

void page_check_post_done(struct page_check *check, int64_t author, int64_t id, int64_t now_us) {
    struct known_person *person = person_of(check, author);
    bool created;
    person->posting = false;
    if (!id) return;
    uint64_t *slot = map_put(check->posts, (uint64_t)id, &created);
    if (!created) return; // the same key once more
    struct made_post *post =
        MEM_NEW(&(struct made_post){.id = id, .author = author, .there = {.is = true, .since_us = now_us}});
    *slot = (uintptr_t)post;
    person->posts = grown(person->posts, person->post_count, sizeof(struct made_post *));
    person->posts[person->post_count++] = post;
    if (id < check->first) check->first = id;
}

void page_check_delete_begun(struct page_check *check, int64_t id) {
    struct made_post *post = map_pointer(check->posts, (uint64_t)id);
    if (post) post->there.changing = true;
}

void page_check_delete_done(struct page_check *check, int64_t id, int64_t now_us) {
    struct made_post *post = map_pointer(check->posts, (uint64_t)id);
    if (post) post->there = (struct fact){.is = false, .since_us = now_us};
}

int64_t page_check_first(const struct page_check *check) { return check->first; }

/* ---- pages ---- */

struct page_reading {
    const struct page_check *check;
    const struct checked_page *page;
    const struct known_person *reader; /* NULL: follows nobody */
    struct map *shown;                 /* ids */
    size_t wrong;
    struct buffer *why;
};

/* Every page that was asked for at that time must agree with the fact. */
static bool certain(const struct page_reading *reading, const struct fact *fact) {
    if (fact->changing) return false;
    if (reading->page->asked_us == INT64_MAX || fact->since_us == INT64_MIN) return true;
    return fact->since_us <= reading->page->asked_us - reading->check->margin_us;
}

static bool certainly(const struct page_reading *reading, const struct fact *fact, bool is) {
    return fact->is == is && certain(reading, fact);
}

/* Returns the reason why a post must not be on the page; NULL: it may be there. */
static const char *too_many(const struct page_reading *reading, const struct checked_item *item) {
    const struct known_relation *relation = find_relation(reading->reader, item->author);
    const struct made_post *post = map_pointer(reading->check->posts, (uint64_t)item->id);
    if (!relation) return "the author was never followed";
    if (certainly(reading, &relation->follows, false)) return "the author is not followed any more";
    if (!post) {
        const struct known_person *author = map_pointer(reading->check->people, (uint64_t)item->author);
        return author && author->posting ? NULL : "nobody has made this post";
    }
    if (post->author != item->author) return "the author is another one";
    return certainly(reading, &post->there, false) ? "it was deleted" : NULL;
}

static const char *item_fault(const struct page_reading *reading, size_t at) {
    const struct checked_item *item = &reading->page->items[at];
    bool created;
    uint64_t *slot = map_put(reading->shown, (uint64_t)item->id, &created);
    *slot = 1;
    if (!created) return "twice";
    if (at && item->id > reading->page->items[at - 1].id) return "out of order";
    if (item->id < reading->check->first) return NULL; // of an earlier time
    if (reading->page->asked_us == INT64_MAX && item->flags & CHECKED_UNAVAILABLE) return "its text is not there";
    return too_many(reading, item);
}

static void put_line(struct page_reading *reading, int64_t id, int64_t author, const char *fault) {
    buffer_format(reading->why, "  %" PRId64 " of %" PRId64 "%s%s\n", id, author, fault ? ": " : "",
                  fault ? fault : "");
    if (fault) reading->wrong++;
}

/* The author's posts that must be on the page and are not. */
static void put_missing(struct page_reading *reading, int64_t author) {
    const struct known_person *person = map_pointer(reading->check->people, (uint64_t)author);
    for (size_t i = person ? person->post_count : 0; i-- > 0 && person->posts[i]->id >= reading->page->next;) {
        const struct made_post *post = person->posts[i];
        if (certainly(reading, &post->there, true) && !map_find(reading->shown, (uint64_t)post->id))
            put_line(reading, post->id, author, "is missing");
    }
}

bool page_check_wrong(struct page_check *check, const struct checked_page *page, struct buffer *why) {
    struct page_reading reading = {
        .check = check,
        .page = page,
        .reader = map_pointer(check->people, (uint64_t)page->reader),
        .shown = map_new(),
        .why = why,
    };
    size_t before = why->size;
    for (size_t i = 0; i < page->count; i++)
        put_line(&reading, page->items[i].id, page->items[i].author, item_fault(&reading, i));
    for (size_t i = 0; reading.reader && i < reading.reader->relation_count; i++) {
        const struct known_relation *relation = &reading.reader->relations[i];
        if (certainly(&reading, &relation->follows, true)) put_missing(&reading, relation->other);
    }
    map_free(reading.shown);
    if (!reading.wrong) why->size = before;
    return reading.wrong > 0;
}
