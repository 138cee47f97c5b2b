#include "comments/states.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"

enum { KEEP_S = 60, STATE_WATCHES = THREADS_STATES /* the owner's number of comment-watches */ };

struct states_part {
    bool attached, live;
    bool damaged; /* all of its state must be read anew */
};

struct comment_states {
    struct comment_states_options options;
    struct owner *owner;
    struct states_part *parts;
    struct loop_timer *turn; /* reads damaged partitions anew */
    bool failed;
};

static void fail(struct comment_states *states, const char *doing, const struct error *error) {
    if (states->failed) return;
    states->failed = true;
    states->options.failed(states->options.context, doing, error);
}

/* ---- partitions come and go ---- */

int comment_states_attach(struct comment_states *states, int32_t partition, int64_t *from, struct error *error) {
    int64_t next[THREADS_STATES], now = clock_wall_ms();
    int code = threads_attach(states->options.threads, partition, now, now - states->options.max_age_ms, next, error);
    if (code) return code;
    for (int s = 0; s < THREADS_STATES; s++) from[s] = next[s] < 0 ? KAFKA_OFFSET_BEGINNING : next[s];
    from[STATE_WATCHES] = KAFKA_OFFSET_BEGINNING; // they are kept in memory
    thread_watches_attach(states->options.watches, partition);
    states->parts[partition] = (struct states_part){.attached = true};
    return 0;
}

void comment_states_detach(struct comment_states *states, int32_t partition) {
    states->parts[partition] = (struct states_part){.attached = false};
    thread_watches_detach(states->options.watches, partition);
}

/* A partition that is silent forgets who watches: watches are read anew before it is live again. */
static void quieten(struct comment_states *states, int32_t partition) {
    struct error error;
    if (!states->parts[partition].live) return;
    states->parts[partition].live = false;
    thread_watches_detach(states->options.watches, partition);
    thread_watches_attach(states->options.watches, partition);
    if (owner_read_again(states->owner, STATE_WATCHES, partition, KAFKA_OFFSET_BEGINNING, &error))
        fail(states, "watches cannot be read anew", &error);
}

void comment_states_silence(struct comment_states *states, int32_t partition) { quieten(states, partition); }

void comment_states_live(struct comment_states *states, int32_t partition) {
    states->parts[partition].live = true;
    thread_watches_live(states->options.watches, partition);
}

bool comment_states_reached(struct comment_states *states, int32_t partition, const int64_t *ends) {
    bool all = owner_reached(states->owner, STATE_WATCHES, partition, ends[STATE_WATCHES]);
    for (int s = 0; all && s < THREADS_STATES; s++)
        all = threads_next(states->options.threads, partition, (enum threads_state)s) >= ends[s] ||
              owner_reached(states->owner, (size_t)s, partition, ends[s]);
    return all;
}

/* Forgets everything of the partition, and reads it from the beginning. but: this state is read anew already; -1: none is. */
static int begin_anew(struct comment_states *states, int32_t partition, int but, struct error *error) {
    quieten(states, partition);
    states->parts[partition].damaged = false;
    int code = threads_reset(states->options.threads, partition, clock_wall_ms(), error);
    for (int s = 0; !code && s < THREADS_STATES; s++)
        if (s != but) code = owner_read_again(states->owner, (size_t)s, partition, KAFKA_OFFSET_BEGINNING, error);
    return code;
}

bool comment_states_lost(struct comment_states *states, size_t state, int32_t partition) {
    struct error error;
    if (state == STATE_WATCHES) return false; // roll calls find missing watches
    if (state == THREADS_REFUSALS) {          // those that are gone are too old to be of use
        threads_lost(states->options.threads, partition, THREADS_REFUSALS);
        return false;
    }
    if (begin_anew(states, partition, (int)state, &error)) fail(states, "a partition cannot be read anew", &error);
    return true;
}

static void mend(void *context) {
    struct comment_states *states = context;
    struct error error;
    for (int32_t p = 0; p < states->options.partitions; p++) {
        if (!states->parts[p].damaged || !states->parts[p].attached) continue;
        owner_restore_again(states->owner, p);
        if (begin_anew(states, p, -1, &error)) fail(states, "a damaged partition cannot be read anew", &error);
    }
}

void comment_states_damaged(struct comment_states *states, int32_t partition, const struct error *error) {
    struct states_part *part = &states->parts[partition];
    if (!part->attached || part->damaged) return;
    log_error(states->options.log, "state is read anew: a value is damaged on the disk",
              LOG_INT("partition", partition), LOG_TEXT("reason", error->text));
    part->damaged = true;
    loop_timer_again(states->turn, 0, 0);
}

static void store_failed(struct comment_states *states, int32_t partition, int code, const struct error *error) {
    if (code == -EBADMSG)
        comment_states_damaged(states, partition, error);
    else
        fail(states, "the store failed", error);
}

/* ---- records ---- */

static enum threads_state state_of(const struct topic *topic) {
    int state = 0;
    while (THREADS_TOPICS[state] != topic) state++;
    return (enum threads_state)state;
}

static void take(struct comment_states *states, const struct kafka_record *record) {
    enum threads_state state = state_of(record->topic);
    const char *reason;
    struct error error;
    bool news = record->offset >= threads_next(states->options.threads, record->partition, state);
    if (state == THREADS_COMMENTS && news) thread_watches_comments(states->options.watches, record);
    int code = threads_take(states->options.threads, state, record, &reason, &error);
    if (code)
        store_failed(states, record->partition, code, &error);
    else if (reason)
        kafka_producer_send_dead(states->options.dead_letters, record, reason);
}

static void take_watch(struct comment_states *states, const struct kafka_record *record) {
    if (thread_watches_read(states->options.watches, record))
        kafka_producer_send_dead(states->options.dead_letters, record, "it is no watch");
}

static bool is_watch(const struct kafka_record *record) { return record->topic == &TOPIC_COMMENT_WATCHES; }

static void read_back(struct comment_states *states, const struct kafka_record *record) {
    enum threads_state state = state_of(record->topic);
    decider_read_back(states->options.decider, record->topic, record->partition,
                      threads_next(states->options.threads, record->partition, state));
}

void comment_states_take(struct comment_states *states, const struct kafka_record *records, size_t count) {
    bool any_live = false;
    struct error error;
    for (size_t i = 0; i < count && !states->failed; i++) {
        if (is_watch(&records[i]))
            take_watch(states, &records[i]);
        else if (!states->parts[records[i].partition].damaged)
            take(states, &records[i]);
    }
    if (!states->failed && threads_write(states->options.threads, &error)) fail(states, "the store failed", &error);
    if (states->failed) return;
    for (size_t i = 0; i < count; i++) {
        const struct states_part *part = &states->parts[records[i].partition];
        if (part->damaged || is_watch(&records[i])) continue;
        any_live = any_live || part->live;
        bool last = i + 1 == count || records[i + 1].partition != records[i].partition ||
                    records[i + 1].topic != records[i].topic;
        if (last) read_back(states, &records[i]);
    }
    if (any_live) states->options.changed(states->options.context);
}

/* ---- once a second ---- */

static bool is_current(const struct comment_states *states, int32_t partition) {
    const struct states_part *part = &states->parts[partition];
    bool all = part->attached && !part->damaged;
    for (int s = 0; all && !part->live && s < THREADS_STATES; s++)
        all = owner_state_lag(states->owner, (size_t)s, partition) == 0;
    return all;
}

void comment_states_second(struct comment_states *states) {
    int64_t now = clock_wall_ms();
    struct error error;
    for (int32_t p = 0; p < states->options.partitions; p++) {
        if (states->failed || !is_current(states, p)) continue;
        int code = threads_forget(states->options.threads, p, now, &error);
        if (!code && (now / 1000 + p) % KEEP_S == 0) code = threads_touch(states->options.threads, p, now, &error);
        if (code) store_failed(states, p, code, &error);
    }
}

struct comment_states *comment_states_new(const struct comment_states_options *options) {
    struct comment_states *states = mem_alloc(sizeof *states);
    *states = (struct comment_states){
        .options = *options,
        .parts = mem_zero((size_t)options->partitions, sizeof *states->parts),
        .turn = loop_timer_new(options->loop, 0, 0, mend, states),
    };
    loop_timer_stop(states->turn);
    return states;
}

void comment_states_set_owner(struct comment_states *states, struct owner *owner) { states->owner = owner; }

void comment_states_free(struct comment_states *states) {
    if (!states) return;
    loop_timer_free(states->turn);
    free(states->parts);
    free(states);
}
