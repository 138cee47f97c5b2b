/* The rules by which commands about comments are decided: a command and the state that it finds give new state, or a refusal. Pure; any
 * thread.
 *
 *     subject ---+
 *     root ------+     the thread as the command finds it, filled by the caller: what is not there has id 0
 *     answered --+---> thread_decide ---> the same, changed, each part with a flag that says so; or a refusal
 *     about -----+
 *     reaction --+
 *
 * Floors are dense: a new root gets the subject's next one, a new reply its root's next one, and neither is ever given again. `visible`
 * of the subject and `replies` of comments count visible comments only, whatever state the comments above them have.
 */
#pragma once

#include "edits/edits.h"
#include "event/codec.h"
#include "ids/ids.h"
#include "subjects/subject.h"

/* A CommentSubject of a fixed size. */
struct subject_state {
    int64_t owner;
    enum comment_subject_who who_may;
    enum comment_subject_review review;
    bool closed;
    int32_t level, roots;
    int64_t visible, held, likes /* of the subject itself */, structure, counters;
    int64_t command; /* the offset of the last command that has changed it: the caller's */
    size_t pins;
    int64_t pinned[COMMENT_PINS_MAX]; /* the newest pin first */
};

/* How fast a user may write under one subject: `burst` comments at once, and then one an interval. A user's state there is one time,
 * `rested_at`: when the whole burst is there again. A comment of a user moves it on by an interval, from now on if it is past; it is
 * refused, and moves nothing, if that were more than burst * interval from now. "Now" is when Kafka took the command. */
struct comment_rate {
    int64_t interval_ms, burst; /* interval_ms 0: there is no limit */
};

struct comment_place {
    int64_t id; /* 0: there is none */
    bool changed;
    struct comment comment;
};

struct thread {
    bool registered, subject_changed;
    struct subject_state subject;
    struct comment_place about; /* the comment that the command names */
    /* The comments that count it, or that will count its reply: */
    struct comment_place root;              /* of about; id 0: about is a root itself */
    struct comment_place answered;          /* the reply that about answers; id 0: about answers its root, or is one */
    struct comment_place made;              /* POST, REPLY: the id is the caller's */
    bool likes, reported, reaction_changed; /* the user's reaction to about, or the user's like of the subject */
    bool banned;                            /* the user */
    bool approved;                          /* about was held, and has become visible */
    bool repeats;                           /* EDIT: the newest text is the command's, and this user's edit */
    bool edited;                            /* about has a new version, and the command has its text */
    /* POST, REPLY, EDIT: */
    struct comment_rate rate;
    int64_t now_ms, rested_at; /* of the user; 0: has never written here */
    int64_t wait_ms;           /* THREAD_TOO_FAST: so long the user has to wait */
};

/* NULL: the command may be decided. Else why it is a dead letter: an invalid subject, a text or key out of range, invalid UTF-8 or a NUL,
 * a negative user, more than ten mentions, or a comment where there must be none, or none where there must be one. */
const char *comment_command_complaint(const struct comment_command *command);

/* Whether the command makes a comment. */
static inline bool comment_command_writes(enum comment_command_kind kind) {
    return kind == COMMENT_COMMAND_POST || kind == COMMENT_COMMAND_REPLY;
}

/* Whether the subject itself is liked, or no longer, or reported: a LIKE, UNLIKE or REPORT of no comment. */
static inline bool comment_command_of_subject(const struct comment_command *command) {
    enum comment_command_kind kind = command->kind;
    return !command->comment && !command->named_key.size &&
           (kind == COMMENT_COMMAND_LIKE || kind == COMMENT_COMMAND_UNLIKE || kind == COMMENT_COMMAND_REPORT);
}

/* Whether a service imports what was written elsewhere: then nobody's right to write is asked for, and the comment comes with its time
 * and state. */
static inline bool comment_command_imports(const struct comment_command *command) {
    return command->role == COMMENT_COMMAND_SERVICE && command->written > 0;
}

/* When a comment was written, ms since the epoch. */
static inline int64_t comment_time(int64_t id, const struct comment *comment) {
    return comment->time ? comment->time : ids_time_ms(id);
}

/* The outcome of a command: these, or an enum comment_refusal_reason. TOO_FAST and OLD_FACTS are refusals that nobody remembers: the same
 * command may be decided otherwise when it comes again. */
enum {
    THREAD_DONE = -1,
    THREAD_TOO_FAST = -2,
    THREAD_OLD_FACTS = -3 /* what the gateway found out is not about who may write now; see comment_command_asked */
};

/* A POST or REPLY says in `who_may` by what rule the gateway went when it asked for facts: FOLLOWERS: it has asked whether the user
 * follows the owner. Whether they are friends it has always asked. */
static inline bool comment_command_asked(const struct comment_command *command, enum comment_subject_who who) {
    return who != COMMENT_SUBJECT_FOLLOWERS || command->who_may == COMMENT_COMMAND_FOLLOWERS;
}

/* THREAD_DONE: the thread is changed, or was so already; else why not, and the thread is as it was, but for wait_ms. */
int thread_decide(const struct comment_command *command, struct thread *thread);

/* The name of a refusal in answers: "not_yours". */
const char *comment_refusal_name(int refused);
