/* A plain model of comments: a list of comments a subject, and everything else counted anew each time. Written from the rules' text, with
 * nothing of comments/rules.c in it. */
#pragma once

#include "event/codec.h"

enum { MODEL_SUBJECTS = 4, MODEL_COMMENTS_MAX = 400, MODEL_USERS = 6, MODEL_BANNED = 5, MODEL_KEYS_MAX = 2000 };
enum { MODEL_INTERVAL_MS = 3000, MODEL_BURST = 2, MODEL_NOTICES_MAX = 4096 };

enum { MODEL_VERSIONS_MAX = 40 };

struct model_version {
    struct event_text text;
    int64_t editor, edited; /* editor: -1: the author; edited: 0: with the comment */
};

struct model_comment {
    int64_t id, user, root, answers, written; /* written: 0: when its id says */
    int floor, key, level;                    /* level: the author's */
    enum comment_state state;
    struct model_version versions[MODEL_VERSIONS_MAX]; /* of its text, the newest last */
    size_t version_count;
    bool mentioned[MODEL_USERS]; /* by any version; while it is held, by the newest */
    bool likes[MODEL_USERS], reported[MODEL_USERS];
};

struct model_subject {
    bool registered, closed;
    int64_t owner, structure, counters;
    int level, who_may, review; /* as comment_subject_who and comment_subject_review */
    struct model_comment comments[MODEL_COMMENTS_MAX];
    size_t count;
    int64_t pinned[16];
    size_t pins;
    int64_t rested_at[MODEL_USERS];
    bool likes[MODEL_USERS]; /* of the subject itself */
};

/* A notice that was told. */
struct model_notice {
    int64_t user, by, comment, time, likes; /* likes: how many; 0: it is none */
    bool mention;                           /* else: a like, an answer, or a comment under the user's subject */
};

/* What became of a key of a user under a subject. */
struct model_outcome {
    int subject, key;
    int64_t user, made; /* made: the comment's id; 0: refused */
    int refused;
};

struct model {
    struct model_subject subjects[MODEL_SUBJECTS];
    struct model_outcome outcomes[MODEL_KEYS_MAX];
    size_t outcome_count;
    int64_t ticks[8]; /* by partition; -1: none */
    struct model_notice notices[MODEL_NOTICES_MAX];
    size_t notice_count;
    unsigned edits, passing; /* passing: refusals that nobody remembers */
};

/* A command as the history draws it; fields as in CommentCommand. */
struct model_command {
    struct comment_command command;
    int subject, key, named; /* numbers for the model; the command has their texts */
    int32_t partition;
    int64_t offset, time_ms;
};

void model_decide(struct model *model, const struct model_command *drawn);

struct model_comment *model_find(struct model_subject *subject, int64_t id); /* NULL: none */
int model_likes(const bool likes[MODEL_USERS]);
int model_reports(const struct model_comment *comment);
int model_replies(const struct model_subject *subject, const struct model_comment *comment); /* visible */
int model_count(const struct model_subject *subject, enum comment_state state);
int model_floors(const struct model_subject *subject, int64_t root); /* 0: of roots */
