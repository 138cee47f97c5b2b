#include "ingest/feed/comment_counts.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "ingest/gather.h"

enum { FRESH_MS = 1000, SHOWN_MS = 5000, AGAIN_MS = 2000 };
enum { GATHER_MS = 1, LIMIT_MS = 40, TIMEOUT_MS = 1000, QUESTION_POSTS = 200 /* 9 KB of a URL */ };
enum { SETS = 65536, WAYS = 4 };

/* Posts lie in the set of their hash, with each of their readers, and without one. */
struct post_count {
    int64_t post;   /* 0: the place is free */
    int64_t reader; /* -1: nobody in particular */
    int64_t total, likes, heard_ms, asked_ms;
    bool liked; /* by the reader */
};

/* The process that owns the partition, and the partitions with the same lowest one. */
struct counts_owner {
    bool silent;      /* it did not answer in time */
    bool alone;       /* another process was asked for this partition, and does not own it: its own owner is asked */
    int64_t again_ms; /* silent: not before that it is asked again */
};

struct wanted_post {
    int64_t post, reader;
    int32_t partition; /* whose owner is asked */
};

struct counts_waiter {
    struct counts_waiter *next;
    void *context;
    void (*done)(void *context);
};

/* Posts that are asked for at the same time, and the pages that wait for them. */
struct counts_round {
    struct comment_counts *counts;
    struct counts_round *next; /* among those that pages wait for */
    struct wanted_post *posts;
    size_t count, capacity;
    int64_t deadline_ms;
    struct counts_waiter *waiters;
};

struct comment_counts {
    struct peers *owners;
    int32_t partitions;
    struct counts_owner *states;                 /* by partition */
    struct counts_round *gathered;               /* not asked yet; NULL: nothing is gathered */
    struct counts_round *waited_for, **last_end; /* oldest first */
    struct loop_timer *gather, *limit;
    bool stopped;
    struct post_count *table;
};

/* ---- the table ---- */

static struct post_count *set_of(const struct comment_counts *counts, int64_t post, int64_t reader) {
    return &counts->table[WAYS * (hash_fold((uint64_t)post ^ hash_fold((uint64_t)reader)) % SETS)];
}

static struct post_count *find(const struct comment_counts *counts, int64_t post, int64_t reader) {
    struct post_count *set = set_of(counts, post, reader);
    for (int i = 0; i < WAYS; i++)
        if (set[i].post == post && set[i].reader == reader) return &set[i];
    return NULL;
}

static void put(struct comment_counts *counts, const struct post_count *heard) {
    struct post_count *set = set_of(counts, heard->post, heard->reader);
    struct post_count *place = find(counts, heard->post, heard->reader);
    if (!place) {
        place = set;
        for (int i = 1; i < WAYS; i++)
            if (set[i].heard_ms < place->heard_ms) place = &set[i];
    }
    *place = *heard;
}

static const struct post_count *find_shown(const struct comment_counts *counts, int64_t post, int64_t reader) {
    const struct post_count *known = find(counts, post, reader);
    return known && clock_coarse_ms() - known->heard_ms <= SHOWN_MS + LIMIT_MS ? known : NULL;
}

void comment_counts_put(const struct comment_counts *counts, int64_t post, int64_t reader, struct buffer *body) {
    const struct post_count *liked = reader >= 0 ? find_shown(counts, post, reader) : NULL;
    const struct post_count *known = liked ? liked : find_shown(counts, post, -1);
    if (!known) return;
    body->size--; // the brace
    buffer_format(body, ",\"comments\":%" PRId64 ",\"likes\":%" PRId64, known->total, known->likes);
    if (liked) buffer_format(body, ",\"liked\":%s", liked->liked ? "true" : "false");
    buffer_byte(body, '}');
}

/* ---- rounds ---- */

static void tell(struct counts_round *round) {
    struct counts_waiter *waiters = round->waiters;
    round->waiters = NULL;
    while (waiters) {
        struct counts_waiter *waiter = waiters;
        waiters = waiter->next;
        waiter->done(waiter->context);
        free(waiter);
    }
}

static void round_free(struct counts_round *round) {
    free(round->posts);
    free(round);
}

static void wait_no_more(struct counts_round *round) {
    struct comment_counts *counts = round->counts;
    struct counts_round **at = &counts->waited_for;
    while (*at && *at != round) at = &(*at)->next;
    if (!*at) return;
    *at = round->next;
    if (counts->last_end == &round->next) counts->last_end = at;
    tell(round);
}

static void limit_reached(void *context) {
    struct comment_counts *counts = context;
    int64_t now_ms = clock_coarse_ms();
    while (counts->waited_for && counts->waited_for->deadline_ms <= now_ms) wait_no_more(counts->waited_for);
    if (counts->waited_for && !counts->stopped)
        loop_timer_again(counts->limit, (uint64_t)(counts->waited_for->deadline_ms - now_ms), 0);
}

static void wait_for(struct counts_round *round) {
    struct comment_counts *counts = round->counts;
    if (!round->waiters) return;
    round->deadline_ms = clock_coarse_ms() + LIMIT_MS;
    if (!counts->waited_for) loop_timer_again(counts->limit, LIMIT_MS, 0);
    *counts->last_end = round;
    counts->last_end = &round->next;
}

/* ---- answers ---- */

/* How many posts, from this one on, one question is about. */
static size_t run_of(const struct counts_round *round, size_t from) {
    size_t end = from;
    while (end < round->count && end - from < QUESTION_POSTS &&
           round->posts[end].partition == round->posts[from].partition)
        end++;
    return end - from;
}

static int32_t partition_of(const struct comment_counts *counts, int64_t post) {
    char subject[32];
    int size = snprintf(subject, sizeof subject, "post:%" PRId64, post);
    return hash_partition(subject, (size_t)size, counts->partitions);
}

/* {"total": so many, "version", "likes": so many, "liked": of a reader}. */
static bool read_counts(struct json_scan members, struct post_count *heard) {
    struct json_bytes key;
    bool total = false, likes = false, liked = false;
    json_scan_object(&members);
    while (json_scan_member(&members, &key)) {
        if (json_bytes_are(&key, "total"))
            total = json_scan_int(&members, &heard->total);
        else if (json_bytes_are(&key, "likes"))
            likes = json_scan_int(&members, &heard->likes);
        else if (json_bytes_are(&key, "liked"))
            liked = json_scan_bool(&members, &heard->liked);
        else
            json_scan_value(&members, NULL);
    }
    return !members.bad && total && likes && liked == (heard->reader >= 0);
}

/* null: nobody has ever commented or liked; false: the process does not own the subject. */
static bool read_item(struct comment_counts *counts, const struct wanted_post *wanted, struct json_scan *scan) {
    struct post_count heard = {.post = wanted->post, .reader = wanted->reader, .heard_ms = clock_coarse_ms()};
    struct json_bytes item;
    if (!json_scan_value(scan, &item)) return false;
    struct counts_owner *state = &counts->states[partition_of(counts, wanted->post)];
    state->alone = json_bytes_are(&item, "false");
    if (state->alone) return true;
    if (!json_bytes_are(&item, "null") && !read_counts(json_scan_of(item.data, item.size), &heard)) return false;
    put(counts, &heard);
    if (heard.reader < 0) return true;
    heard.reader = -1; // the counts serve others, too
    heard.liked = false;
    put(counts, &heard);
    return true;
}

static bool read_items(struct comment_counts *counts, const struct wanted_post *posts, size_t count,
                       struct json_bytes reply) {
    struct json_scan scan = json_scan_of(reply.data, reply.size);
    struct json_bytes key;
    bool good = json_scan_object(&scan) && json_scan_member(&scan, &key) && json_bytes_are(&key, "items") &&
                json_scan_array(&scan);
    for (size_t i = 0; good && i < count; i++) good = json_scan_element(&scan) && read_item(counts, &posts[i], &scan);
    return good;
}

static void answered(void *context, size_t from, struct json_bytes reply) {
    const struct counts_round *round = context;
    struct comment_counts *counts = round->counts;
    struct counts_owner *state = &counts->states[round->posts[from].partition];
    bool good = reply.size && read_items(counts, &round->posts[from], run_of(round, from), reply);
    state->silent = !good;
    if (!good) state->again_ms = clock_coarse_ms() + AGAIN_MS;
}

static void all_answered(void *context, bool stopping) {
    struct counts_round *round = context;
    (void)stopping;
    wait_no_more(round);
    round_free(round);
}

/* ---- questions ---- */

static int by_partition(const void *a, const void *b) {
    const struct wanted_post *x = a, *y = b;
    if (x->partition != y->partition) return x->partition < y->partition ? -1 : 1;
    if (x->post != y->post) return x->post < y->post ? -1 : 1;
    return (x->reader > y->reader) - (x->reader < y->reader);
}

/* Each post once for each reader, those of a process behind each other. */
static void sort(struct counts_round *round) {
    size_t kept = 0;
    qsort(round->posts, round->count, sizeof *round->posts, by_partition);
    for (size_t i = 0; i < round->count; i++)
        if (!kept || by_partition(&round->posts[i], &round->posts[kept - 1])) round->posts[kept++] = round->posts[i];
    round->count = kept;
}

static void ask_gathered(void *context) {
    struct comment_counts *counts = context;
    struct counts_round *round = counts->gathered;
    counts->gathered = NULL;
    sort(round);
    wait_for(round);
    struct gather *gather = gather_new(&(struct gather_options){.owners = counts->owners,
                                                                .timeout_ms = TIMEOUT_MS,
                                                                .context = round,
                                                                .answer = answered,
                                                                .done = all_answered});
    for (size_t from = 0, run; from < round->count; from += run) {
        struct buffer subjects = {0};
        run = run_of(round, from);
        for (size_t i = 0; i < run; i++) {
            const struct wanted_post *wanted = &round->posts[from + i];
            buffer_format(&subjects, "%spost:%" PRId64, i ? "," : "", wanted->post);
            if (wanted->reader >= 0) buffer_format(&subjects, ":%" PRId64, wanted->reader);
        }
        gather_ask(
            gather, &ASK_COUNTS,
            RPC_VALUES(RPC_INT(PARTITION, round->posts[from].partition), RPC_TEXT(SUBJECTS, buffer_cstring(&subjects))),
            from);
        buffer_free(&subjects);
    }
    gather_end(gather);
}

static struct counts_round *gathered(struct comment_counts *counts) {
    if (counts->gathered) return counts->gathered;
    counts->gathered = mem_alloc(sizeof *counts->gathered);
    *counts->gathered = (struct counts_round){.counts = counts};
    loop_timer_again(counts->gather, GATHER_MS, 0);
    return counts->gathered;
}

static void add(struct comment_counts *counts, int64_t post, int64_t reader, int32_t partition) {
    struct counts_round *round = gathered(counts);
    MEM_ROOM(round->posts, round->count, round->capacity);
    round->posts[round->count++] = (struct wanted_post){post, reader, partition};
}

/* True: the page waits for the post's counts, which are asked for if need be. */
static bool want(struct comment_counts *counts, int64_t post, int64_t reader) {
    int64_t now_ms = clock_coarse_ms();
    if (!post) return false;
    struct post_count *known = reader < 0 ? find(counts, post, -1) : NULL;
    bool shown = known && now_ms - known->heard_ms <= SHOWN_MS;
    if (known && (now_ms - known->heard_ms < FRESH_MS || now_ms - known->asked_ms < FRESH_MS)) return false;
    int32_t own = partition_of(counts, post);
    int32_t partition = counts->states[own].alone ? own : peers_lowest(counts->owners)[own];
    struct counts_owner *state = &counts->states[partition];
    bool silent = state->silent;
    if (silent && now_ms < state->again_ms) return false;
    if (silent) state->again_ms = now_ms + AGAIN_MS;
    if (shown) known->asked_ms = now_ms;
    add(counts, post, reader, partition);
    return !shown && !silent;
}

void comment_counts_ask(struct comment_counts *counts, const int64_t *posts, size_t count, int64_t reader,
                        void *context, void (*done)(void *context)) {
    bool waits = false;
    for (size_t i = 0; i < count && !counts->stopped; i++) waits = want(counts, posts[i], reader) || waits;
    if (!waits) {
        done(context);
        return;
    }
    struct counts_waiter *waiter =
        MEM_NEW(&(struct counts_waiter){.next = counts->gathered->waiters, .context = context, .done = done});
    counts->gathered->waiters = waiter;
}

/* ---- beginning and end ---- */

struct comment_counts *comment_counts_new(uv_loop_t *loop, struct peers *owners, int32_t partitions) {
    struct comment_counts *counts = mem_alloc(sizeof *counts);
    *counts = (struct comment_counts){
        .owners = owners,
        .partitions = partitions,
        .states = mem_zero((size_t)partitions, sizeof *counts->states),
        .gather = loop_timer_new(loop, 1, 0, ask_gathered, counts),
        .limit = loop_timer_new(loop, 1, 0, limit_reached, counts),
        .table = mem_zero((size_t)SETS * WAYS, sizeof *counts->table),
    };
    counts->last_end = &counts->waited_for;
    loop_timer_stop(counts->gather);
    loop_timer_stop(counts->limit);
    return counts;
}

void comment_counts_stop(struct comment_counts *counts) {
    if (!counts) return;
    counts->stopped = true;
    loop_timer_stop(counts->gather);
    loop_timer_stop(counts->limit);
    while (counts->waited_for) wait_no_more(counts->waited_for);
    if (!counts->gathered) return;
    tell(counts->gathered);
    round_free(counts->gathered);
    counts->gathered = NULL;
}

void comment_counts_free(struct comment_counts *counts) {
    if (!counts) return;
    loop_timer_free(counts->gather);
    loop_timer_free(counts->limit);
    free(counts->states);
    free(counts->table);
    free(counts);
}
