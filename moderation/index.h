/* The search index of all comments: a SQLite database that one thread writes. It follows from the topic of wide comments, so that losing
 * it means reading the topic anew.
 *
 *     comments   the id of a comment -> the comment
 *     terms      FTS5 without contents: the same id -> the words of the text (moderation/words.h), and as further terms
 *                    u123         the author                    v0..v3   the state
 *                    sposTx3a123  the subject                   r        it was reported
 *                    tpost        the type of the subject
 *     marks      the next offset of each partition of the topic, how many comments there are, when this was last up to date
 *
 * Subjects are encoded: a-w, y, z and digits stand for themselves, other bytes are x and two hexadecimal digits. Ids rise with time
 * (ids/ids.h). So any combination of conditions is one intersection of lists that are sorted by time.
 *
 * Comments change together with the offsets that they were read at, in a transaction: begin, put, remove, reached, commit. After a
 * failure of any of these the transaction is gone, and the next call is begin. Failures: -EBADMSG: the file is damaged (index_forget
 * helps); -ENOSPC: the disk is full; -EIO.
 */
#pragma once

#include <stdint.h>

#include "event/codec.h"

struct index;

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
