/* Between comments/decisions*.c. */
#pragma once

#include "base/map.h"
#include "comments/decisions.h"

struct decisions_key {
    uint8_t bytes[DECISIONS_KEY_MAX];
    size_t size;
};

/* A record of `comments` that the slice has changed. */
struct decisions_change {
    int64_t comment; /* 0: the key is that of a subject */
    int32_t partition;
    uint32_t key_size;
    size_t key; /* where it begins in the keys */
};

/* A text that is written and perhaps not read back: comments-wide repeats it when its comment changes. The overlay says how long. */
struct pending_text {
    struct pending_text *next;
    struct decisions_key key;
    struct comment_text text; /* what it points to follows */
    int64_t mentions[EDIT_TOLD_MAX];
    char client[COMMENT_CLIENT_KEY_MAX], bytes[];
};

/* A refusal that is no state. */
struct passing_refusal {
    int32_t partition;
    int refused; /* 0: there is none */
    int64_t offset, wait_ms;
};
enum { DECISIONS_PASSING = 4096 };

struct decisions {
    struct decisions_options options;
    struct map *texts;                /* comment -> struct pending_text */
    struct pending_text *newest_text; /* all of them */
    size_t text_count, text_limit;    /* with so many, those that are read back are forgotten */
    struct codec *codec;
    struct buffer value;
    struct decisions_change *changes;
    struct buffer change_keys;
    size_t change_count, change_capacity;
    struct passing_refusal passing[DECISIONS_PASSING]; /* by offset */
};

/* One command with the thread that it finds. */
struct decision {
    const struct decider_command *slot;
    int64_t arrived_ms;
    const struct comment_command *command;
    struct thread thread;
};

/* The key of a subject (numbers 0), a comment (1) or a reaction (2), as in the topics. */
void decisions_key(struct decisions_key *key, const struct event_text *subject, int numbers, int64_t comment,
                   int64_t second);
void decisions_client_key(struct decisions_key *key, const struct event_text *subject, int64_t user,
                          const struct event_text *client);
void decisions_tick_key(struct decisions_key *key, int32_t partition);

/* Writes what the command has changed; at the end of a slice, all subjects and comments. Negative: a code of `write` or of the store. */
int decisions_write_changes(struct decisions *decisions, const struct decision *decided, struct error *error);
int decisions_write_refusal(struct decisions *decisions, const struct decision *decided,
                            enum comment_refusal_reason reason);
int decisions_write_slice(struct decisions *decisions);
void decisions_forget_changes(struct decisions *decisions); /* of a slice that was given up */

/* When a user has rested; 0: has never written under the subject. */
int decisions_rested(struct decisions *decisions, int32_t partition, const struct event_text *subject, int64_t user,
                     int64_t *rested_at, struct error *error);
/* comments/decisions_notices.c */
int decisions_write_notices(struct decisions *decisions, const struct decision *decided, struct error *error);

/* comments/decisions_wide.c */
void decisions_keep_text(struct decisions *decisions, const struct decisions_key *key, int64_t id,
                         const struct comment_text *text);
/* The text of a comment, as the next command finds it. Valid until the store is read again. */
int decisions_text(struct decisions *decisions, const struct decision *decided, int64_t id, struct comment_text *text,
                   struct error *error);
void decisions_forget_texts(struct decisions *decisions, bool all); /* else those that are read back */
int decisions_write_wide(struct decisions *decisions, const struct decision *decided, struct error *error);
