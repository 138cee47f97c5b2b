/* The comments of the partitions that this process has: the content of the topics `comments`, `comment-texts`, `reactions` and
 * `comment-refusals`, in RocksDB, with indexes. Two families a partition, so that texts do not lie between what pages walk over:
 *
 *     threads-P   's' subject                        CommentSubject, as in the topic
 *                 'c' subject NUL id                 Comment, as in the topic
 *                 'f' subject NUL root floor         id: roots by floor (root 0), replies of a root by number
 *                 'a' subject NUL reply floor    id: the answers to a reply, by their numbers
 *                 'h' subject NUL ~heat ~id          roots, the hottest first (comments/heat.h)
 *                 'r' subject NUL id user            CommentReaction, as in the topic; id 0: a like of the subject itself
 *                 'k' subject NUL user key           id: the comment of an idempotency key
 *                 'u' subject NUL user               time: when the user has rested (struct comment_rate)
 *                 'o' subject NUL user key           time, reason: the refusal of a key; 'p' time, that key: when it is forgotten
 *                 'm'                                the numbers of a table store: the highest tick is the mark, the formula the version
 *     texts-P     subject NUL id                     CommentText, as in the topic
 *                 subject NUL id version             CommentText: a former one
 *
 * Numbers in keys are big-endian. Tasks own it (state/kind.h): a part whose index is of another formula is emptied, too. One thread.
 */
#pragma once

#include "comments/rules.h"
#include "comments/threads_rows.h"
#include "kafka/consumer.h"
#include "state/kind.h"
#include "store/store.h"

/* The states, in the order of the owner's topics. */
enum threads_state { THREADS_COMMENTS, THREADS_TEXTS, THREADS_REACTIONS, THREADS_REFUSALS, THREADS_STATES };
extern const struct topic *const THREADS_TOPICS[THREADS_STATES];

enum { THREADS_REFUSAL_MS = 3600000 /* so long a refusal is remembered */ };

/* A place in a sorted list of comments. */
enum threads_sort { THREADS_FLOOR, THREADS_NEWEST, THREADS_HEAT, THREADS_ANSWERS /* to a reply, by floor */ };
struct threads_place {
    enum threads_sort sort;
    bool begun;     /* false: the beginning of the list */
    int64_t at, id; /* the last one before the place: its floor, or its heat and id */
};

struct threads;

struct threads *threads_new(struct store *store, int32_t partitions); /* the store is longer-lived */
void threads_free(struct threads *threads);                           /* NULL is fine */

extern const struct state_kind THREADS_KIND; /* of these functions */
int threads_open(void *threads, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error);
int threads_take(void *threads, size_t topic, const struct kafka_record *record, const char **reason,
                 struct error *error);
int64_t threads_next(const void *threads, int32_t partition, size_t topic);
int threads_write(void *threads, struct error *error);
int threads_reset(void *threads, int32_t partition, int64_t now_ms, struct error *error);
bool threads_lost(void *threads, int32_t partition, size_t topic); /* refusals that are gone are too old to be of use */
int threads_touch(void *threads, int32_t partition, int64_t now_ms, struct error *error);
/* Forgets refusals that are older than an hour, at most a thousand at a time. */
int threads_forget(void *threads, int32_t partition, int64_t now_ms, struct error *error);

/* ---- reading ahead ---- */

/* Says what will be looked up soon. threads_read_ahead then finds all of it together, which is cheaper than one by one; look-ups take it
 * from there until it is forgotten or something is written. 0 or a negative code. */
void threads_want_comment(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t id);
void threads_want_reaction(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t id,
                           int64_t user);
void threads_want_key(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t user,
                      const struct event_text *key);
void threads_want_rested(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t user);
int threads_read_ahead(struct threads *threads, struct error *error);
void threads_forget_ahead(struct threads *threads);

/* ---- what is written ---- */

bool threads_subject_of(const struct comment_subject *record, struct subject_state *state); /* false: too many pins */

/* Each: 1: found; 0: there is none; or a negative code. */
int threads_subject(struct threads *threads, int32_t partition, const struct event_text *subject,
                    struct subject_state *state, struct error *error);
int threads_comment(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t id,
                    struct comment *comment, struct error *error);
int threads_reaction(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t id,
                     int64_t user, struct comment_reaction *reaction, struct error *error);
/* text: valid until the next call. */
int threads_text(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t id,
                 struct comment_text *text, struct error *error);
/* The same of a former version. */
int threads_former(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t id,
                   int64_t version, struct comment_text *text, struct error *error);
int threads_key(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t user,
                const struct event_text *key, int64_t *id, struct error *error);
/* When the user has rested from writing under the subject. */
int threads_rested(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t user,
                   int64_t *rested_at, struct error *error);
int threads_refusal(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t user,
                    const struct event_text *key, int64_t now_ms, enum comment_refusal_reason *reason,
                    struct error *error);
int64_t threads_last_tick(const struct threads *threads, int32_t partition); /* -1: none */

/* Reads up to `limit` ids behind the place (under 0: of the subject's roots; under a root: of its replies, which are sorted by floor only; under
 * a reply: of its answers, THREADS_ANSWERS), and moves the place behind them. *more: others follow. */
int threads_list(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t under,
                 struct threads_place *place, size_t limit, int64_t *ids, size_t *count, bool *more,
                 struct error *error);

/* Looks at so many comments and reactions of the partition (work), from the place on, for those of a user: comments that are not
 * deleted, and likes; or, behind all comments, reports instead of likes. Moves the place behind them; empty: at the beginning, and then: all were looked at. A text that `each` gets is
 * valid during the call; false: it wants no more. 0 or a negative code. */
typedef bool threads_of_user_one(void *context, const struct event_text *subject, int64_t comment, bool reaction);
int threads_of_user(struct threads *threads, int32_t partition, int64_t user, bool reports, struct buffer *place,
                    size_t work, threads_of_user_one *each, void *context, struct error *error);
void threads_reactions(struct buffer *place); /* the place behind all comments: only reactions follow */

/* The users who like the subject, by rising id, among the next `limit` reactions to it behind that of the user `*after` (-1: the first ones).
 * Moves *after; *more: others follow. */
int threads_likers(struct threads *threads, int32_t partition, const struct event_text *subject, int64_t *after,
                   size_t limit, int64_t *users, size_t *count, bool *more, struct error *error);

/* ---- many at once ---- */

/* A comment that is wanted with others. */
struct threads_row {
    int64_t id; /* the caller's */
    bool there;
    struct comment comment;
    struct event_text text;      /* of a visible one; size 0: it is not there */
    struct kept_row *kept;       /* holds the text */
    size_t replies, reply_count; /* of a root: where its first replies are among all */
};

/* Finds the comments of all ids, and their texts: valid until they are released. 0, or a negative code with nothing to release. */
int threads_many(struct threads *threads, int32_t partition, const struct event_text *subject, struct threads_row *rows,
                 size_t count, struct error *error);
void threads_many_release(struct threads_row *rows, size_t count);

/* Finds the ids of up to `first` replies of each root, by number. replies: room for count * first. 0 or a negative code. */
int threads_first_replies(struct threads *threads, int32_t partition, const struct event_text *subject,
                          struct threads_row *roots, size_t count, size_t first, struct threads_row *replies,
                          size_t *found, struct error *error);
