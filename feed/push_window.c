#include "feed/push_window.h"

#include <stdlib.h>

#include "base/mem.h"

static const uint64_t NONE = UINT64_MAX;

struct push_course {
    uint64_t first, last; /* in the window; NONE */
    int64_t seen;         /* records before have come */
    int64_t behind;       /* INT64_MAX: it is not */
    int64_t behind_since; /* the time of that record */
    size_t passed;        /* records that were passed by */
};

struct push_window {
    struct push_item *items; /* by place modulo capacity */
    size_t capacity, courses;
    uint64_t begin, end; /* places */
    struct push_course *course;
};

static void begin(struct push_course *course) {
    *course = (struct push_course){.first = NONE, .last = NONE, .behind = INT64_MAX};
}

struct push_window *push_window_new(size_t capacity, size_t courses) {
    struct push_window *window = MEM_NEW(&(struct push_window){
        .capacity = capacity,
        .courses = courses,
        .items = mem_zero(capacity, sizeof *window->items),
        .course = mem_zero(courses, sizeof *window->course),
    });
    for (size_t c = 0; c < courses; c++) begin(&window->course[c]);
    return window;
}

void push_window_free(struct push_window *window) {
    if (!window) return;
    free(window->items);
    free(window->course);
    free(window);
}

static struct push_item *item_at(const struct push_window *window, uint64_t place) {
    return &window->items[place % window->capacity];
}

/* ---- what comes ---- */

bool push_window_see(struct push_window *window, size_t course, int64_t offset) {
    struct push_course *of = &window->course[course];
    if (offset < of->seen) return true;
    of->seen = offset + 1;
    return false;
}

static void put_last(struct push_window *window, size_t course, const struct push_item *item) {
    struct push_course *of = &window->course[course];
    uint64_t place = window->end++;
    *item_at(window, place) = *item;
    if (of->last == NONE)
        of->first = place;
    else
        item_at(window, of->last)->next = place;
    of->last = place;
}

void push_window_put(struct push_window *window, size_t course, int64_t offset, const struct notice_key *key) {
    struct push_course *of = &window->course[course];
    if (of->behind != INT64_MAX) {
        of->passed++;
        return;
    }
    if (window->end - window->begin == window->capacity) {
        of->behind = offset;
        of->behind_since = key->time;
        of->passed = 1;
        return;
    }
    put_last(window, course, &(struct push_item){.course = course, .offset = offset, .key = *key, .next = NONE});
}

/* ---- what waits ---- */

int64_t push_window_held(const struct push_window *window, size_t course) {
    const struct push_course *of = &window->course[course];
    return of->first != NONE ? item_at(window, of->first)->offset : of->behind;
}

void push_window_drop(struct push_window *window, size_t course) {
    struct push_course *of = &window->course[course];
    for (uint64_t place = of->first; place != NONE; place = item_at(window, place)->next)
        item_at(window, place)->dropped = true;
    begin(of);
}

size_t push_window_count(const struct push_window *window) { return (size_t)(window->end - window->begin); }

const struct push_item *push_window_at(const struct push_window *window, size_t i) {
    return item_at(window, window->begin + i);
}

void push_window_pop(struct push_window *window, size_t count) {
    for (; count; count--, window->begin++) {
        const struct push_item *item = item_at(window, window->begin);
        struct push_course *of = &window->course[item->course];
        if (item->dropped) continue;
        of->first = item->next;
        if (of->first == NONE) of->last = NONE;
    }
}

bool push_window_again(struct push_window *window, push_window_position *position, void *context, size_t *course,
                       int64_t *offset) {
    struct push_course *found = NULL;
    if (push_window_count(window) > window->capacity / 2) return false;
    for (size_t c = 0; c < window->courses; c++) {
        struct push_course *of = &window->course[c];
        if (of->behind == INT64_MAX || (found && found->behind_since <= of->behind_since)) continue;
        if (position(context, c) < of->seen) continue;
        found = of;
        *course = c;
    }
    if (!found) return false;
    *offset = found->behind;
    found->behind = INT64_MAX;
    found->passed = 0;
    return true;
}

size_t push_window_waiting(const struct push_window *window, int64_t *oldest) {
    size_t count = 0;
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < push_window_count(window); i++) {
        const struct push_item *item = push_window_at(window, i);
        count += !item->dropped;
        if (!item->dropped && item->key.time < first) first = item->key.time;
    }
    for (size_t c = 0; c < window->courses; c++) {
        const struct push_course *of = &window->course[c];
        if (of->behind == INT64_MAX) continue;
        count += of->passed;
        if (of->behind_since < first) first = of->behind_since;
    }
    *oldest = first == INT64_MAX ? 0 : first;
    return count;
}
