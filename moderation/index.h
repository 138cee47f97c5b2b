/* The search index of all comments, posts and reported people: a SQLite database that one thread writes. It follows from topics, so that losing
 * it means reading them anew.
 *
 *     comments   the id of a comment -> the comment
 *     terms      FTS5 without contents: the same id -> the words of the text (moderation/words.h), and as further terms
 *                    u123         the author                    v0..v3   the state
 *                    sposTx3a123  the subject                   r        it was reported
 *                    tpost        the type of the subject
 *     posts, post_terms   the same of posts, which have no subject
 *     people     users who were reported: how often, when and why last
 *     marks      the next offset of each partition that is read, how many comments there are, when this was last up to date
 *
 * Subjects are encoded: a-w, y, z and digits stand for themselves, other bytes are x and two hexadecimal digits. Ids rise with time
 * (ids/ids.h). So any combination of conditions is one intersection of lists that are sorted by time.
 *
 * All change together with the offsets that they were read at, in a transaction: begin, put, remove, reached, commit. After a
 * failure of any of these the transaction is gone, and the next call is begin. Failures: -EBADMSG: the file is damaged (index_forget
 * helps); -ENOSPC: the disk is full; -EIO.
 */
#pragma once

#include <stdint.h>

#include "event/codec.h"

struct index;

enum index_kind { INDEX_COMMENTS, INDEX_POSTS, INDEX_KINDS };

/* A comment or a post as it is known; of a post, the members of comments are empty. media: a list of JSON. */
struct index_row {
    struct comment_wide comment;
    struct event_text media;
};
enum { INDEX_UNKNOWN = 9 /* the state of a post that is not known to be there: no search finds it */ };

/* Opens the file, and begins a new one where it is damaged, of another version or of another number of partitions, or so old that
 * Kafka may have dropped tombstones that it never saw. cache: bytes. -EBUSY: another process has it. */
int index_open(const char *path, int partitions, int64_t cache, struct index **index, struct error *error);
void index_close(struct index *index); /* NULL is fine */

int64_t index_next(const struct index *index,
                   int32_t partition);         /* offset to read next, as committed; -1: the beginning */
int64_t index_rows(const struct index *index); /* comments, as committed */

int index_begin(struct index *index, struct error *error);
int index_put(struct index *index, const struct comment_wide *comment, struct error *error);
int index_remove(struct index *index, int64_t id, struct error *error);
/* The same of a post: whether it is there, what it says (NULL: no more), that it is forgotten, or reported once more; in any order. */
int index_put_post(struct index *index, int64_t id, int64_t author, enum comment_wide_state state, struct error *error);
int index_put_post_text(struct index *index, int64_t id, int64_t author, const struct post_text *text,
                        struct error *error);
int index_remove_post(struct index *index, int64_t id, struct error *error);
int index_report_post(struct index *index, int64_t id, int64_t author, struct error *error);
/* A user is reported once more. */
int index_report_user(struct index *index, int64_t user, int64_t time, const struct event_text *reason,
                      struct error *error);
void index_reached(struct index *index, int32_t partition, int64_t next);
int index_commit(struct index *index, struct error *error);

/* Notes that the index was up to date now; the caller knows that. */
int index_current(struct index *index, struct error *error);
/* Begins a new file: everything is to be read anew. */
int index_forget(struct index *index, struct error *error);

/* Changes with each new file: a reader that has the former one open opens it anew. Any thread. */
unsigned index_generation(const struct index *index);
const char *index_path(const struct index *index);

/* Appends a subject as its term has it, without the kind. Pure. */
void index_put_encoded(struct buffer *out, const char *text, size_t size);
