/* Makes the news of a thread that was due: the whole change, as much of it as fits, or that pages must be read again. */
#include "comments/watched_threads_private.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sorted.h"

/* Sorts the closed changes into items and counters. Held comments are not told, and not too many that are gone at once. */
static void choose(struct watched_threads *threads, struct watched_thread *thread, struct thread_news *news) {
    size_t gone = 0;
    MEM_FIT(threads->items, thread->count, threads->item_room);
    MEM_FIT(threads->counters, thread->count, threads->counter_room);
    news->items = threads->items;
    news->counters = threads->counters;
    for (size_t i = 0; i < thread->count; i++) {
        struct thread_change *change = &thread->changes[i];
        change->later = false;
        if (!change->closed || change->now.state == COMMENT_HELD) continue;
        if (change->state && watched_comment_gone(&change->now) && ++gone > WATCHED_THREAD_GONE) {
            change->later = thread->left_out = true;
            continue;
        }
        if (change->state)
            threads->items[news->item_count++] = *change;
        else
            threads->counters[news->counter_count++] = *change;
    }
    if (news->item_count) qsort(threads->items, news->item_count, sizeof *threads->items, sorted_order);
    if (news->counter_count) qsort(threads->counters, news->counter_count, sizeof *threads->counters, sorted_order);
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
        struct thread_change *change = place ? &thread->changes[*place] : watched_thread_add(thread, counters[i].id);
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

/* Screens show it already, and must not go on doing so. */
static bool must_be_told(const struct thread_change *change) {
    return watched_comment_gone(&change->now) || change->edited;
}

/* The number of items from the newest on that fit, gone and edited ones always; those are first in the list afterwards. sizes: 0 of gone
 * ones. */
static size_t fit_items(struct thread_change *items, size_t count, size_t most, int64_t bytes, int64_t *sizes) {
    size_t fit = 0, visible = 0;
    for (size_t i = 0; i < count; i++)
        if (must_be_told(&items[i])) bytes -= sizes[i];
    for (size_t i = count; i-- > 0;) {
        if (must_be_told(&items[i])) continue;
        if (visible == most || sizes[i] > bytes) {
            sizes[i] = -1;
            continue;
        }
        visible++;
        bytes -= sizes[i];
    }
    for (size_t i = 0; i < count; i++)
        if (sizes[i] >= 0) items[fit++] = items[i];
    return fit;
}

/* Those that count against what is allowed. */
static size_t new_of(const struct thread_news *news) {
    size_t count = 0;
    for (size_t i = 0; i < news->item_count; i++) count += !must_be_told(&news->items[i]);
    return count;
}

/* Leaves out what does not fit, and uses up what is allowed. sizes: of the items' texts. */
static void fit(struct watched_threads *threads, struct watched_thread *thread, struct thread_news *news,
                int64_t *sizes, size_t *counters) {
    size_t allowed = (size_t)thread->allowed, items = new_of(news);
    size_t for_items = news->counter_count < allowed / 2 ? allowed - news->counter_count : allowed - allowed / 2;
    size_t fitting = fit_items(threads->items, news->item_count, for_items, WATCHED_THREAD_TEXTS, sizes);
    if (fitting < news->item_count) thread->left_out = true;
    news->item_count = fitting;
    items = new_of(news);
    *counters = news->counter_count;
    if (news->counter_count > allowed - items) {
        news->counter_count = allowed - items;
        thread->left_out = true;
    }
    thread->allowed -= (double)(items + news->counter_count);
}

/* False: a text is not read yet. */
static bool read_sizes(const struct watched_thread *thread, const struct thread_news *news, int64_t *sizes,
                       watched_text_size *text, void *context) {
    for (size_t i = 0; i < news->item_count; i++) {
        bool gone = watched_comment_gone(&news->items[i].now);
        sizes[i] = gone ? 0 : text(context, thread, &news->items[i]);
        if (sizes[i] < 0) return false;
    }
    return true;
}

/* Pages are to be read again. Comments that are gone go at once, as pages may wait some seconds. */
static void name(struct watched_threads *threads, struct watched_thread *thread, struct thread_news *news) {
    size_t gone = 0;
    for (size_t i = 0; i < news->item_count; i++)
        if (watched_comment_gone(&news->items[i].now)) threads->items[gone++] = threads->items[i];
    news->item_count = gone;
    news->counter_count = 0;
    thread->text_since_ms = 0;
    settle(thread);
    if (gone) {
        news->is = THREAD_NEWS_SHOW;
        thread->pages_differ = true;
        watched_threads_due_by(threads, thread, 0);
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
    watched_threads_due_by(threads, thread,
                           thread->left_out ? now_ms + WATCHED_THREAD_GATHER_MS : thread->sampled_until_ms);
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
    bool fire = thread->left_out || (thread->sampled && now_ms < thread->sampled_until_ms);
    bool long_enough = thread->sampled && now_ms >= thread->sampled_since_ms + WATCHED_THREAD_SAMPLED_MS;
    if (fire && !long_enough) {
        sample(threads, thread, news, now_ms);
    } else if (thread->sampled) {
        resync(threads, thread, news, now_ms);
    } else {
        news->is = THREAD_NEWS_CHANGE;
        thread->version = news->version;
    }
    thread->shown = news->version;
}

static int64_t edits_size(const struct thread_news *news, const int64_t *sizes) {
    int64_t size = 0;
    for (size_t i = 0; i < news->item_count; i++) size += news->items[i].edited ? sizes[i] : 0;
    return size;
}

/* Takes the news as soon as all texts of new comments are read: topics are read one ahead of the other. */
static void take_read(struct watched_threads *threads, struct watched_thread *thread, struct thread_news *news,
                      int64_t now_ms, watched_text_size *text, void *context) {
    int64_t *sizes = mem_zero(news->item_count + 1, sizeof *sizes);
    bool all = read_sizes(thread, news, sizes, text, context);
    if (all && edits_size(news, sizes) > WATCHED_THREAD_TEXTS) {
        name(threads, thread, news);
    } else if (all) {
        thread->text_since_ms = 0;
        take(threads, thread, news, sizes, now_ms);
    } else if (!thread->text_since_ms || now_ms < thread->text_since_ms + WATCHED_THREAD_TEXT_MS) {
        if (!thread->text_since_ms) thread->text_since_ms = now_ms;
        watched_threads_due_by(threads, thread, now_ms + WATCHED_THREAD_GATHER_MS / 10);
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
                                       watched_text_size *text, void *context) {
    struct thread_news news = {.since = thread->sampled ? thread->shown : thread->version,
                               .version = thread_version(&thread->state),
                               .total = thread->state.visible,
                               .likes = thread->state.likes};
    if (!thread->known) thread->named_at = threads->parts[thread->partition].slices;
    choose(threads, thread, &news);
    bool quiet = !news.item_count && !news.counter_count && news.version == thread->shown && !thread->left_out;
    if (thread->pages_differ) {
        name(threads, thread, &news);
        thread->shown = news.version;
    } else if (quiet && thread->sampled && now_ms < thread->sampled_until_ms) {
        watched_threads_due_by(threads, thread, thread->sampled_until_ms);
    } else if (quiet && thread->sampled) {
        resync(threads, thread, &news, now_ms);
    } else if (!quiet) {
        take_read(threads, thread, &news, now_ms, text, context);
    }
    return news;
}
