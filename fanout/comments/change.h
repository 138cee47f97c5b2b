/* A change of a thread, read once for all sessions that are told of it. Its items are kept as apps see them. The loop's thread. */
#pragma once

#include "base/buffer.h"
#include "event/codec.h"
#include "users/profiles.h"

struct thread_item {
    int64_t id;
    bool gone;       /* its text must no longer be shown */
    bool edited;     /* nor must a former one */
    size_t at, size; /* of its JSON, in the change's bytes */
};

struct thread_counters {
    int64_t id, likes;
    int32_t replies;
};

struct thread_told { /* read by all; its references are counted */
    bool sampled;
    int64_t since, version, total, likes; /* likes: of the subject itself */
    struct thread_item *items;            /* by rising id */
    struct thread_counters *counters;
    size_t item_count, counter_count;
    struct buffer json;
    unsigned references;
};

/* Reads the content of a delivery (CommentChange). The caller has a reference. NULL: it is malformed. */
struct thread_told *thread_told_new(struct codec *codec, const void *content, size_t size, struct profiles *profiles);
struct thread_told *thread_told_take(struct thread_told *told); /* one more reference */
void thread_told_give(struct thread_told *told);                /* one less; NULL is fine */
