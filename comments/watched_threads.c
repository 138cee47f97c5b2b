#include "comments/watched_threads.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "watch/watch.h"

struct watched_thread {
    struct watched_thread *same; /* of the same hash */
    struct watched_thread *before, *after, *next_due;
    uint64_t hash;
    int32_t partition;
    bool queued, dead;
    int64_t due_ms, told_ms; /* due_ms: not before that */

    bool anew;  /* `state` is not known */
    bool known; /* edges were told `version` */
    int64_t version,
        shown; /* shown: while it is sampled, the version of the totals and counters that edges were told */
    struct subject_state state; /* of the newest record */
    bool pages_differ;          /* in a way that no change tells: pages are to be read again */
    uint64_t named_at;          /* slices of the partition that had begun when the state was looked up */

    struct thread_change *changes;
    size_t count, capacity;
    struct map *places;    /* id -> index of changes */
    int64_t text_since_ms; /* a text is waited for since then; 0: none */

    double allowed; /* events that may be told now */
    int64_t allowed_ms;
    bool sampled;
    bool left_out, open_left_out; /* there was no room for some changes; open: of the next version */
    int64_t sampled_since_ms, sampled_until_ms, resynced_ms;
    size_t size;
    char subject[SUBJECT_MAX + 1];
};

struct watched_threads {
    int32_t partitions;
    int64_t events_per_s;
    struct map *by_hash;
    size_t count;
    struct watched_part {
        struct watched_thread *first;
        bool subject_last; /* the last record was a subject's */
        uint64_t slices;   /* that have begun: comments after a subject */
    } * parts;
    struct watched_thread *first_due, *last_due;
    size_t due_count;
    struct thread_change *items, *counters; /* of the last news */
    size_t item_room, counter_room;
};

struct watched_threads *watched_threads_new(int32_t partitions, int64_t events_per_s) {
    struct watched_threads *threads = mem_alloc(sizeof *threads);
    *threads = (struct watched_threads){.partitions = partitions,
                                        .events_per_s = events_per_s,
                                        .by_hash = map_new(),
                                        .parts = mem_zero((size_t)partitions, sizeof *threads->parts)};
    return threads;
}

size_t watched_threads_count(const struct watched_threads *threads) { return threads->count; }

/* ---- the table ---- */

struct watched_thread *watched_threads_find(const struct watched_threads *threads, const struct event_text *subject) {
    if (!threads->count) return NULL;
    struct watched_thread *thread = map_pointer(threads->by_hash, watch_hash(subject->data, subject->size));
    while (thread && (thread->size != subject->size || memcmp(thread->subject, subject->data, subject->size) != 0))
        thread = thread->same;
    return thread;
}

/* The thread is looked at when that time has come, or sooner. */
static void due_by(struct watched_threads *threads, struct watched_thread *thread, int64_t due_ms) {
    if (!thread->queued || due_ms < thread->due_ms) thread->due_ms = due_ms;
    if (thread->queued) return;
    thread->queued = true;
    thread->next_due = NULL;
    if (threads->last_due)
        threads->last_due->next_due = thread;
    else
        threads->first_due = thread;
    threads->last_due = thread;
    threads->due_count++;
}

struct watched_thread *watched_threads_put(struct watched_threads *threads, const struct event_text *subject,
                                           int32_t partition) {
    struct watched_thread *thread = watched_threads_find(threads, subject), **first = &threads->parts[partition].first;
    if (thread) return thread;
    thread = mem_alloc(sizeof *thread);
    *thread = (struct watched_thread){.hash = watch_hash(subject->data, subject->size),
                                      .partition = partition,
                                      .anew = true,
                                      .after = *first,
                                      .allowed = (double)threads->events_per_s,
                                      .size = subject->size,
                                      .places = map_new()};
    memcpy(thread->subject, subject->data, subject->size);
    uint64_t *slot = map_put(threads->by_hash, thread->hash, NULL);
    thread->same = (struct watched_thread *)(uintptr_t)*slot;
    *slot = (uintptr_t)thread;
    if (*first) (*first)->before = thread;
    *first = thread;
    threads->count++;
    due_by(threads, thread, 0);
    return thread;
}

static void thread_free(struct watched_thread *thread) {
    map_free(thread->places);
    free(thread->changes);
    free(thread);
}

static void remove_hashed(struct watched_threads *threads, const struct watched_thread *thread) {
    struct watched_thread *other = map_pointer(threads->by_hash, thread->hash);
    if (other != thread) {
        while (other->same != thread) other = other->same;
        other->same = thread->same;
    } else if (thread->same) {
        *map_find(threads->by_hash, thread->hash) = (uintptr_t)thread->same;
    } else {
        map_remove(threads->by_hash, thread->hash, NULL);
    }
}

void watched_threads_remove(struct watched_threads *threads, struct watched_thread *thread) {
    remove_hashed(threads, thread);
    if (thread->before)
        thread->before->after = thread->after;
    else
        threads->parts[thread->partition].first = thread->after;
    if (thread->after) thread->after->before = thread->before;
    threads->count--;
    thread->dead = true;
    if (!thread->queued) thread_free(thread); // else when its turn has come
}

void watched_threads_remove_all(struct watched_threads *threads, int32_t partition) {
    while (threads->parts[partition].first) watched_threads_remove(threads, threads->parts[partition].first);
}

void watched_threads_begin(struct watched_threads *threads, int32_t partition, bool first) {
    watched_threads_remove_all(threads, partition);
    threads->parts[partition].subject_last = first;
}

void watched_threads_free(struct watched_threads *threads) {
    if (!threads) return;
    for (int32_t p = 0; p < threads->partitions; p++) watched_threads_remove_all(threads, p);
    watched_threads_due(threads, INT64_MAX); // frees those that were due
    map_free(threads->by_hash);
    free(threads->parts);
    free(threads->items);
    free(threads->counters);
    free(threads);
}

const char *watched_thread_subject(const struct watched_thread *thread) { return thread->subject; }

int32_t watched_thread_partition(const struct watched_thread *thread) { return thread->partition; }

bool watched_thread_version(const struct watched_thread *thread, int64_t *version) {
    if (thread->known) *version = thread->version;
    return thread->known;
}

/* ---- changes ---- */

static void drop_changes(struct watched_thread *thread) {
    thread->count = 0;
    map_free(thread->places);
    thread->places = map_new();
}

void watched_threads_anew(struct watched_threads *threads, struct watched_thread *thread) {
    drop_changes(thread);
    thread->anew = true;
    thread->known = thread->left_out = thread->open_left_out = false;
    thread->text_since_ms = 0;
    due_by(threads, thread, 0);
}

void watched_threads_passed(struct watched_threads *threads, int32_t partition, bool subject) {
    struct watched_part *part = &threads->parts[partition];
    if (part->subject_last && !subject) part->slices++;
    part->subject_last = subject;
}

bool watched_thread_has(const struct watched_thread *thread, int64_t id) {
    return thread->anew || map_find(thread->places, (uint64_t)id);
}

static bool same_to_apps(const struct comment *a, const struct comment *b) {
    return a->state == b->state && a->likes == b->likes && a->replies == b->replies;
}

static struct thread_change *add_change(struct watched_thread *thread, int64_t id) {
    if (thread->count == thread->capacity) {
        thread->capacity = thread->capacity ? 2 * thread->capacity : 8;
        thread->changes = mem_resize(thread->changes, thread->capacity, sizeof *thread->changes);
    }
    *map_put(thread->places, (uint64_t)id, NULL) = thread->count;
    thread->changes[thread->count] = (struct thread_change){.id = id};
    return &thread->changes[thread->count++];
}

static bool is_gone(const struct comment *comment) {
    return comment->state == COMMENT_HIDDEN || comment->state == COMMENT_DELETED;
}

void watched_threads_comment(struct watched_threads *threads, struct watched_thread *thread, int64_t id,
                             const struct comment *was, const struct comment *now) {
    if (thread->anew) return; // the state is looked up after this record
    const uint64_t *place = map_find(thread->places, (uint64_t)id);
    struct thread_change *change = place ? &thread->changes[*place] : NULL;
    if (change) was = &change->now;
    bool state = !was || was->state != now->state;
    if (was && same_to_apps(was, now)) return;
    if (!change && thread->count >= WATCHED_THREAD_CHANGES && !(state && is_gone(now))) {
        thread->open_left_out = true;
        return;
    }
    if (!change && thread->count >= 2 * (size_t)WATCHED_THREAD_CHANGES) {
        watched_threads_anew(threads, thread);
        return;
    }
    if (!change) change = add_change(thread, id);
    change->now = *now;
    change->state = change->state || state;
    change->open = true;
}

/* Pins that are lost with a comment that is not visible any more follow from that comment. */
static bool pins_follow(const struct watched_thread *thread, const struct subject_state *now) {
    const struct subject_state *was = &thread->state;
    size_t at = 0;
    for (size_t i = 0; i < was->pins; i++) {
        const uint64_t *place = map_find(thread->places, (uint64_t)was->pinned[i]);
        if (at < now->pins && now->pinned[at] == was->pinned[i])
            at++;
        else if (!place || !is_gone(&thread->changes[*place].now))
            return false;
    }
    return at == now->pins;
}

void watched_threads_subject(struct watched_threads *threads, struct watched_thread *thread,
                             const struct subject_state *now) {
    if (thread->anew) return;
    if (thread->state.closed != now->closed || thread->state.owner != now->owner || !pins_follow(thread, now) ||
        thread->named_at == threads->parts[thread->partition].slices) // the slice's comments came before the look-up
        thread->pages_differ = true;
    thread->state = *now;
    for (size_t i = 0; i < thread->count; i++) {
        struct thread_change *change = &thread->changes[i];
        change->closed = change->closed || change->open;
        change->open = false;
    }
    thread->left_out = thread->left_out || thread->open_left_out;
    thread->open_left_out = false;
    due_by(threads, thread, thread->told_ms + WATCHED_THREAD_GATHER_MS);
}

/* ---- those that are due ---- */

struct watched_thread *watched_threads_due(struct watched_threads *threads, int64_t now_ms) {
    for (size_t left = threads->due_count; left > 0; left--) {
        struct watched_thread *thread = threads->first_due;
        threads->first_due = thread->next_due;
        if (!threads->first_due) threads->last_due = NULL;
        threads->due_count--;
        thread->queued = false;
        if (thread->dead)
            thread_free(thread);
        else if (thread->due_ms > now_ms)
            due_by(threads, thread, thread->due_ms);
        else
            return thread;
    }
    return NULL;
}

bool watched_threads_waiting(const struct watched_threads *threads) { return threads->due_count > 0; }

bool watched_thread_is_anew(const struct watched_thread *thread) { return thread->anew; }

/* ---- what is told ---- */

static void make_room(struct thread_change **list, size_t *room, size_t count) {
    if (*room >= count) return;
    *room = count;
    *list = mem_resize(*list, count, sizeof **list);
}

static int by_id(const void *a, const void *b) {
    const struct thread_change *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Sorts the closed changes into items and counters. Held comments are not told, and not too many that are gone at once. */
static void choose(struct watched_threads *threads, struct watched_thread *thread, struct thread_news *news) {
    size_t gone = 0;
    make_room(&threads->items, &threads->item_room, thread->count);
    make_room(&threads->counters, &threads->counter_room, thread->count);
    news->items = threads->items;
    news->counters = threads->counters;
    for (size_t i = 0; i < thread->count; i++) {
        struct thread_change *change = &thread->changes[i];
        change->later = false;
        if (!change->closed || change->now.state == COMMENT_HELD) continue;
        if (change->state && is_gone(&change->now) && ++gone > WATCHED_THREAD_GONE) {
            change->later = thread->left_out = true;
            continue;
        }
        if (change->state)
            threads->items[news->item_count++] = *change;
        else
            threads->counters[news->counter_count++] = *change;
    }
    if (news->item_count) qsort(threads->items, news->item_count, sizeof *threads->items, by_id);
    if (news->counter_count) qsort(threads->counters, news->counter_count, sizeof *threads->counters, by_id);
}

/* Drops the closed changes. A part that belongs to the next version stays whole: a page of this version may have been built before it. */
static void settle(struct watched_thread *thread) {
    size_t kept = 0;
    for (size_t i = 0; i < thread->count; i++) {
        if (!thread->changes[i].open && !thread->changes[i].later) continue;
        thread->changes[kept] = thread->changes[i];
        thread->changes[kept].closed = thread->changes[kept].later;
        kept++;
    }
    map_free(thread->places);
    thread->places = map_new();
    thread->count = kept;
    for (size_t i = 0; i < kept; i++) *map_put(thread->places, (uint64_t)thread->changes[i].id, NULL) = i;
}

/* Counters for which there was no room wait on. */
static void keep_counters(struct watched_thread *thread, const struct thread_change *counters, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint64_t *place = map_find(thread->places, (uint64_t)counters[i].id);
        struct thread_change *change = place ? &thread->changes[*place] : add_change(thread, counters[i].id);
        if (!place) change->now = counters[i].now;
        change->closed = true;
    }
}

static void allow(const struct watched_threads *threads, struct watched_thread *thread, int64_t now_ms) {
    double most = (double)threads->events_per_s;
    if (thread->allowed_ms) thread->allowed += most * (double)(now_ms - thread->allowed_ms) / 1000;
    if (thread->allowed > most) thread->allowed = most;
    thread->allowed_ms = now_ms;
}

/* The number of items from the newest on that fit, gone ones always; those are first in the list afterwards. */
static size_t fit_items(struct thread_change *items, size_t count, size_t most, int64_t bytes, int64_t *sizes) {
    size_t fit = 0, visible = 0;
    for (size_t i = count; i-- > 0;) {
        bool gone = is_gone(&items[i].now);
        if (!gone && (visible == most || sizes[i] > bytes)) {
            sizes[i] = -1;
            continue;
        }
        if (!gone) {
            visible++;
            bytes -= sizes[i];
        }
    }
    for (size_t i = 0; i < count; i++)
        if (sizes[i] >= 0) items[fit++] = items[i];
    return fit;
}

static size_t visible_of(const struct thread_news *news) {
    size_t visible = 0;
    for (size_t i = 0; i < news->item_count; i++) visible += !is_gone(&news->items[i].now);
    return visible;
}

/* Leaves out what does not fit, and uses up what is allowed. sizes: of the items' texts. */
static void fit(struct watched_threads *threads, struct watched_thread *thread, struct thread_news *news,
                int64_t *sizes, size_t *counters) {
    size_t allowed = (size_t)thread->allowed, items = visible_of(news);
    size_t for_items = news->counter_count < allowed / 2 ? allowed - news->counter_count : allowed - allowed / 2;
    size_t fitting = fit_items(threads->items, news->item_count, for_items, WATCHED_THREAD_TEXTS, sizes);
    if (fitting < news->item_count) thread->left_out = true;
    news->item_count = fitting;
    items = visible_of(news);
    *counters = news->counter_count;
    if (news->counter_count > allowed - items) {
        news->counter_count = allowed - items;
        thread->left_out = true;
    }
    thread->allowed -= (double)(items + news->counter_count);
}

/* False: a text is not read yet. */
static bool read_sizes(const struct watched_thread *thread, const struct thread_news *news, int64_t *sizes,
                       int64_t (*text)(void *context, const struct watched_thread *thread, int64_t id), void *context) {
    for (size_t i = 0; i < news->item_count; i++) {
        bool gone = is_gone(&news->items[i].now);
        sizes[i] = gone ? 0 : text(context, thread, news->items[i].id);
        if (sizes[i] < 0) return false;
    }
    return true;
}

/* Pages are to be read again. Comments that are gone go at once, as pages may wait some seconds. */
static void name(struct watched_threads *threads, struct watched_thread *thread, struct thread_news *news) {
    size_t gone = 0;
    for (size_t i = 0; i < news->item_count; i++)
        if (is_gone(&news->items[i].now)) threads->items[gone++] = threads->items[i];
    news->item_count = gone;
    news->counter_count = 0;
    thread->text_since_ms = 0;
    settle(thread);
    if (gone) {
        news->is = THREAD_NEWS_SHOW;
        thread->pages_differ = true;
        due_by(threads, thread, 0);
        return;
    }
    news->is = THREAD_NEWS_NAME;
    thread->pages_differ = thread->sampled = thread->left_out = false;
    thread->known = true;
    thread->version = news->version;
}

static void sample(struct watched_threads *threads, struct watched_thread *thread, struct thread_news *news,
                   int64_t now_ms) {
    if (thread->left_out || !thread->sampled) thread->sampled_until_ms = now_ms + WATCHED_THREAD_REST_MS;
    if (thread->sampled_until_ms < thread->resynced_ms + WATCHED_THREAD_RESYNC_MS)
        thread->sampled_until_ms = thread->resynced_ms + WATCHED_THREAD_RESYNC_MS;
    news->is = THREAD_NEWS_SHOW;
    due_by(threads, thread, thread->left_out ? now_ms + WATCHED_THREAD_GATHER_MS : thread->sampled_until_ms);
    if (!thread->sampled) thread->sampled_since_ms = now_ms;
    thread->sampled = true;
    thread->left_out = false;
}

/* Everything has fitted for a while, or the fire goes on and on: then what was left out or lost is repaired now and then. */
static void resync(struct watched_threads *threads, struct watched_thread *thread, struct thread_news *news,
                   int64_t now_ms) {
    thread->resynced_ms = now_ms;
    name(threads, thread, news);
}

static void take(struct watched_threads *threads, struct watched_thread *thread, struct thread_news *news,
                 int64_t *sizes, int64_t now_ms) {
    size_t counters;
    allow(threads, thread, now_ms);
    fit(threads, thread, news, sizes, &counters);
    settle(thread);
    keep_counters(thread, threads->counters + news->counter_count, counters - news->counter_count);
    thread->told_ms = now_ms;
    if (thread->sampled && now_ms >= thread->sampled_since_ms + WATCHED_THREAD_SAMPLED_MS) {
        resync(threads, thread, news, now_ms);
    } else if (thread->left_out || (thread->sampled && now_ms < thread->sampled_until_ms)) {
        sample(threads, thread, news, now_ms);
    } else if (thread->sampled) {
        resync(threads, thread, news, now_ms);
    } else {
        news->is = THREAD_NEWS_CHANGE;
        thread->version = news->version;
    }
    thread->shown = news->version;
}

/* Takes the news as soon as all texts of new comments are read: topics are read one ahead of the other. */
static void take_read(struct watched_threads *threads, struct watched_thread *thread, struct thread_news *news,
                      int64_t now_ms, int64_t (*text)(void *context, const struct watched_thread *thread, int64_t id),
                      void *context) {
    int64_t *sizes = mem_zero(news->item_count + 1, sizeof *sizes);
    bool all = read_sizes(thread, news, sizes, text, context);
    if (all) {
        thread->text_since_ms = 0;
        take(threads, thread, news, sizes, now_ms);
    } else if (!thread->text_since_ms || now_ms < thread->text_since_ms + WATCHED_THREAD_TEXT_MS) {
        if (!thread->text_since_ms) thread->text_since_ms = now_ms;
        due_by(threads, thread, now_ms + WATCHED_THREAD_GATHER_MS / 10);
    } else {
        name(threads, thread, news);
    }
    free(sizes);
}

void watched_thread_known(struct watched_thread *thread, const struct subject_state *state) {
    thread->anew = false;
    thread->state = *state;
    thread->pages_differ = true;
}

struct thread_news watched_thread_news(struct watched_threads *threads, struct watched_thread *thread, int64_t now_ms,
                                       int64_t (*text)(void *context, const struct watched_thread *thread, int64_t id),
                                       void *context) {
    struct thread_news news = {.since = thread->sampled ? thread->shown : thread->version,
                               .version = thread_version(&thread->state),
                               .total = thread->state.visible};
    if (!thread->known) thread->named_at = threads->parts[thread->partition].slices;
    choose(threads, thread, &news);
    bool quiet = !news.item_count && !news.counter_count && news.version == thread->shown && !thread->left_out;
    if (thread->pages_differ) {
        name(threads, thread, &news);
        thread->shown = news.version;
    } else if (quiet && thread->sampled && now_ms < thread->sampled_until_ms) {
        due_by(threads, thread, thread->sampled_until_ms);
    } else if (quiet && thread->sampled) {
        resync(threads, thread, &news, now_ms);
    } else if (!quiet) {
        take_read(threads, thread, &news, now_ms, text, context);
    }
    return news;
}
