/* The state of the partitions that this process owns or stands by for: takes the records of all state topics into the store, tells the
 * decider what is read back, and live threads what changes. Watches are kept in memory. The owner's callbacks about states lead here. Loop's thread. */
#ifndef COMMENTS_STATES_H
#define COMMENTS_STATES_H

#include "comments/thread_watches.h"
#include "decider/decider.h"
#include "owner/owner.h"

struct comment_states;

struct comment_states_options {
    uv_loop_t *loop;
    struct log *log;
    int32_t partitions;
    struct threads *threads;
    struct thread_watches *watches;
    struct decider *decider;
    struct kafka_producer *dead_letters; /* borrowed */
    int64_t max_age_ms;                  /* state that was last up to date longer ago is read anew */
    void *context;
    void (*failed)(void *context, const char *doing, const struct error *error); /* the process must end */
    void (*changed)(void *context); /* state of live partitions was written: who waits for it may look again */
};

struct comment_states *comment_states_new(const struct comment_states_options *options);
void comment_states_free(struct comment_states *states);                           /* NULL is fine */
void comment_states_set_owner(struct comment_states *states, struct owner *owner); /* before all that follow */

/* For the owner's callbacks of the same names (owner/owner.h). */
int comment_states_attach(struct comment_states *states, int32_t partition, int64_t *from, struct error *error);
void comment_states_detach(struct comment_states *states, int32_t partition);
void comment_states_silence(struct comment_states *states, int32_t partition);
void comment_states_take(struct comment_states *states, const struct kafka_record *records, size_t count);
bool comment_states_lost(struct comment_states *states, size_t state, int32_t partition);
bool comment_states_reached(struct comment_states *states, int32_t partition, const int64_t *ends);
void comment_states_live(struct comment_states *states, int32_t partition);

/* A value in the store is damaged: from the next turn of the loop on, all state of the partition is read anew. */
void comment_states_damaged(struct comment_states *states, int32_t partition, const struct error *error);

void comment_states_second(struct comment_states *states);

#endif
