/* How commands about comments are decided against the newest state, and what is written. Knows no Kafka: commands.h connects it with a
 * decider, and tests with a world of their own.
 *
 *     commands of a slice --> state: overlays first, then the store --> rules.h --> overlays, and records:
 *
 *         comments            subjects and comments: once a slice each, however many commands changed them; comments first
 *         comment-texts       of a new comment, and of an edit with the former text beside it; when it is deleted, without its text, and
 *                             tombstones of the former ones
 *         reactions           of each like and report; comment 0: of a like of the subject itself
 *         comment-refusals    why a command was refused
 *         comments-wide       a comment that was made, edited or reported, or has changed its state, with its text and its author's name
 *         notices             to the users whom a comment answers or mentions, and to the subject's owner, once it is visible
 *         moderation-log      reports, and what moderators and subjects' owners did to comments
 *
 * Loop's thread.
 */
#pragma once

#include "comments/threads.h"
#include "decider/decider.h"

/* A record of comment-commands; what value points to is the item's. */
struct comment_item {
    uint8_t *value;
    size_t size;
    int64_t arrived_ms;
    /* The parts that decide which rows it looks up: */
    enum comment_command_kind kind;
    int64_t user, comment;             /* comment 0: none, or one that is named by its key */
    bool of_subject;                   /* comment_command_of_subject */
    struct event_text subject, client; /* in the value; size 0: they lie elsewhere */
};

/* The overlays hold state that is written and not read back yet, under the records' own keys and these:
 *
 *     comments     subject -> struct subject_state, comment -> struct comment, 1 partition -> the highest tick
 *     texts        comment -> id, 1 subject NUL user key -> id, 1 subject NUL user -> when the user has rested
 *     reactions    -> struct comment_reaction: neither likes nor reported: a tombstone
 *     refusals     1 subject NUL user key -> enum comment_refusal_reason
 */
enum { DECISIONS_KEY_MAX = 1 + SUBJECT_KEY_MAX + COMMENT_CLIENT_KEY_MAX };
extern const struct decider_state DECISIONS_STATES[THREADS_STATES]; /* in the order of THREADS_TOPICS */

struct decisions_options {
    struct threads *threads;
    struct overlay *overlays[THREADS_STATES];
    int32_t partitions, user_partitions;
    struct comment_rate rate;
    void *context;
    int (*write)(void *context, const struct topic *topic, int32_t partition, const void *key, size_t key_size,
                 const void *value, size_t value_size); /* as decider_write */
    bool (*banned)(void *context, int64_t user, int64_t now_ms);
    struct event_text (*name_of)(void *context, int64_t user); /* valid until the next call; empty: none is known */
};

struct decisions;

struct decisions *decisions_new(const struct decisions_options *options);
void decisions_free(struct decisions *decisions); /* NULL is fine */

/* For the decider: reads a record into a struct comment_item, or says why it is no command; frees what an item holds. */
int decisions_read(struct decisions *decisions, const struct kafka_record *record, struct comment_item *item,
                   struct error *error);
void decisions_release(void *item);

/* Decides commands in their order. *partition: where the store failed. */
int decisions_run(struct decisions *decisions, const struct decider_command *slice, size_t count, int32_t *partition,
                  struct error *error);

/* ---- the newest state, as the next command finds it ---- */

/* 1: found; 0: there is none; or a negative code. */
int decisions_subject(struct decisions *decisions, int32_t partition, const struct event_text *subject,
                      struct subject_state *state, struct error *error);
int decisions_comment(struct decisions *decisions, int32_t partition, const struct event_text *subject, int64_t id,
                      struct comment *comment, struct error *error);
/* The outcome under the user's key: the comment that it made, */
int decisions_made(struct decisions *decisions, int32_t partition, const struct event_text *subject, int64_t user,
                   const struct event_text *key, int64_t *id, struct error *error);
/* or why it was refused. */
int decisions_refused(struct decisions *decisions, int32_t partition, const struct event_text *subject, int64_t user,
                      const struct event_text *key, int64_t now_ms, enum comment_refusal_reason *reason,
                      struct error *error);

/* Whether the user likes or has reported the comment. id 0: whether the user likes the subject. */
int decisions_reaction(struct decisions *decisions, int32_t partition, const struct event_text *subject, int64_t id,
                       int64_t user, struct comment_reaction *reaction, struct error *error);

/* The command at the offset was refused a while ago, and nobody is to remember it: THREAD_TOO_FAST with the time to wait, THREAD_OLD_FACTS.
 * Else, or if it is forgotten already: THREAD_DONE. */
int decisions_passing(const struct decisions *decisions, int32_t partition, int64_t offset, int64_t *wait_ms);

/* Whether the store has what this command has changed: the subject and its comments, the comment of the key, the text of `comment`, and the
 * user's reaction to it (0: to the subject). offset: the command's; -1: not known, and any change will do. 1, 0 or a negative code. */
int decisions_is_read(struct decisions *decisions, int32_t partition, const struct event_text *subject, int64_t offset,
                      int64_t user, const struct event_text *key, int64_t comment, struct error *error);
