/* The owners of posts, as a fake of peers_fetch: keeps the questions until the test answers them. The test's thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct post_question {
    int32_t partition;
    char *path;
    bool open;
    void (*done)(void *context, int code, unsigned status, const char *reply, size_t size);
    void *context;
};

struct post_owners { /* zero-initialised: nothing was asked */
    struct post_question *questions;
    size_t count, open;
    bool at_once;        /* questions are answered before fetch returns */
    int64_t deleted[64]; /* ids that owners answer null for */
    size_t deleted_count;
    int32_t elsewhere; /* a partition that is false unless it is asked by itself; 0: none */
    size_t most;       /* items of an answer; 0: no bound */
};

/* context: struct post_owners. */
void post_owners_fetch(void *context, int32_t partition, const char *path, int timeout_ms,
                       void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                       void *done_context);

/* Answers the question as an owner does: each post is by user 7, its text is "text of ID". */
void post_owners_answer(struct post_owners *owners, size_t question);
void post_owners_answer_all(struct post_owners *owners); /* those that are open */
void post_owners_say(struct post_owners *owners, size_t question, int code, unsigned status, const char *reply);
size_t post_owners_asked(const struct post_owners *owners, int64_t id); /* in how many questions */
void post_owners_free(struct post_owners *owners);                      /* open questions are cancelled */
