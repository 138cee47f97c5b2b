#include "comments/watched_threads_private.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

struct watched_threads *watched_threads_new(int32_t partitions, int64_t events_per_s) {
    struct watched_threads *threads =
        MEM_NEW(&(struct watched_threads){.partitions = partitions,
                                          .events_per_s = events_per_s,
                                          .by_hash = map_new(),
                                          .parts = mem_zero((size_t)partitions, sizeof *threads->parts)});
    return threads;
}

size_t watched_threads_count(const struct watched_threads *threads) { return threads->count; }

/* ---- the table ---- */

struct watched_thread *watched_threads_find(const struct watched_threads *threads, const struct event_text *subject) {
    if (!threads->count) return NULL;
    struct watched_thread *thread = map_pointer(threads->by_hash, hash_bytes(subject->data, subject->size));
    while (thread && (thread->size != subject->size || memcmp(thread->subject, subject->data, subject->size) != 0))
        thread = thread->same;
    return thread;
}

void watched_threads_due_by(struct watched_threads *threads, struct watched_thread *thread, int64_t due_ms) {
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
    thread = MEM_NEW(&(struct watched_thread){.hash = hash_bytes(subject->data, subject->size),
                                              .partition = partition,
                                              .anew = true,
                                              .after = *first,
                                              .allowed = (double)threads->events_per_s,
                                              .size = subject->size,
                                              .places = map_new()});
    memcpy(thread->subject, subject->data, subject->size);
    uint64_t *slot = map_put(threads->by_hash, thread->hash, NULL);
    thread->same = (struct watched_thread *)(uintptr_t)*slot;
    *slot = (uintptr_t)thread;
    if (*first) (*first)->before = thread;
    *first = thread;
    threads->count++;
    watched_threads_due_by(threads, thread, 0);
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
    watched_threads_due_by(threads, thread, 0);
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
    return a->state == b->state && a->version == b->version && a->likes == b->likes && a->replies == b->replies;
}

struct thread_change *watched_thread_add(struct watched_thread *thread, int64_t id) {
    MEM_ROOM(thread->changes, thread->count, thread->capacity);
    *map_put(thread->places, (uint64_t)id, NULL) = thread->count;
    thread->changes[thread->count] = (struct thread_change){.id = id};
    return &thread->changes[thread->count++];
}

void watched_threads_comment(struct watched_threads *threads, struct watched_thread *thread, int64_t id,
                             const struct comment *was, const struct comment *now) {
    if (thread->anew) return; // the state is looked up after this record
    const uint64_t *place = map_find(thread->places, (uint64_t)id);
    struct thread_change *change = place ? &thread->changes[*place] : NULL;
    if (change) was = &change->now;
    bool edited = was && was->version != now->version, state = !was || edited || was->state != now->state;
    if (was && same_to_apps(was, now)) return;
    if (!change && thread->count >= WATCHED_THREAD_CHANGES && !(state && (edited || watched_comment_gone(now)))) {
        thread->open_left_out = true;
        return;
    }
    if (!change && thread->count >= 2 * (size_t)WATCHED_THREAD_CHANGES) {
        watched_threads_anew(threads, thread);
        return;
    }
    if (!change) change = watched_thread_add(thread, id);
    change->now = *now;
    change->state = change->state || state;
    change->edited = change->edited || edited;
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
        else if (!place || !watched_comment_gone(&thread->changes[*place].now))
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
    watched_threads_due_by(threads, thread, thread->told_ms + WATCHED_THREAD_GATHER_MS);
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
            watched_threads_due_by(threads, thread, thread->due_ms);
        else
            return thread;
    }
    return NULL;
}

bool watched_thread_is_anew(const struct watched_thread *thread) { return thread->anew; }
