/* A reader's inbox: the newest posts that were pushed to the reader, and from where on it knows all of them. Pure; one thread.
 *
 *     posts       id falling   | 907 by 3 | 905 by 8 | 871 by 3 | ...            `max` at most
 *     horizon     an id: posts above it are all here, posts at or below it may be missing
 *     waiting     partitions of authors that have not answered the newest Begin yet; the inbox is complete when none is left
 *
 * An inbox is a function of its partition's records in `timelines`, in their order, and of nothing else: whoever reads the same
 * records has the same inbox.
 *
 *     Begin       empties it, and forgets the horizon. Its offset is the request's number, to which answers refer
 *     Push        adds a post
 *     Backlog     adds an author's newest posts; what the author left out moves the horizon
 *     Answer      the same for the authors of one partition, if it belongs to the newest request; other answers are ignored
 *     Gone        removes a post that was deleted
 *
 * Posts that no longer fit are evicted by id alone, and move the horizon. Why each of these rules is needed is in docs/FEED.md.
 *
 * Records may be applied again, in their order, from any of them on that is not before the newest Begin: that changes nothing, except that
 * after a Gone the horizon may come out higher, and other posts may stand at or below it, where nobody looks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

struct inbox_post {
    int64_t id, author;
};

struct inbox {
    int64_t request;   /* offset of the newest Begin; -1: there was none, and then there is no inbox */
    int64_t horizon;   /* 0: nothing was ever evicted or left out */
    int64_t rebuilt;   /* the horizon since the newest Begin; it becomes the horizon when the inbox is complete */
    int64_t opened_ms; /* the time of the newest Begin */
    struct inbox_post *posts; /* falling ids, each once */
    size_t count, capacity;
    int16_t *waiting; /* rising */
    size_t waiting_count, waiting_capacity;
    bool cut; /* inbox_read or inbox_cut has left out posts, as there were too many */
};

void inbox_free(struct inbox *inbox);  /* what it points to; {.request = -1} is an empty one */
void inbox_clear(struct inbox *inbox); /* there is no inbox; the memory is kept */

static inline bool inbox_complete(const struct inbox *inbox) { return inbox->request >= 0 && !inbox->waiting_count; }

/* Is a reader away whose newest Begin was at `opened_ms`? To the second, so that four bytes hold a time. */
static inline uint32_t inbox_second(int64_t time_ms) { return (uint32_t)((uint64_t)time_ms >> 10); }
static inline bool inbox_away(uint32_t opened, int64_t time_ms, int64_t away_ms) {
    return (int64_t)inbox_second(time_ms) - opened > away_ms >> 10;
}

/* Each does nothing to an inbox without a Begin, but inbox_begin. max: INBOX_MAX, or fewer for tests. */
void inbox_begin(struct inbox *inbox, int64_t request, int64_t time_ms, const int64_t *wanted, size_t count);
void inbox_push_many(struct inbox *inbox, struct inbox_post *posts, size_t count, size_t max); /* sorts `posts` */
void inbox_remove(struct inbox *inbox, int64_t id); /* an id that is not there is fine */
void inbox_backlog(struct inbox *inbox, int64_t author, const int64_t *ids, size_t count, int64_t cut, size_t max);
void inbox_answer(struct inbox *inbox, int64_t request, int32_t partition, const struct inbox_post *posts, size_t count,
                  int64_t cut, size_t max);

/* Leaves out all but the newest posts, as inbox_read does. */
void inbox_cut(struct inbox *inbox, size_t newest);

/* As bytes: some 11 a post. Reading fails with -EBADMSG; the inbox is then empty. newest: reads at most so many posts: the horizon is
 * then the highest id that was passed by, if that is above the inbox's own. */
void inbox_write(const struct inbox *inbox, struct buffer *out);
int inbox_read(struct inbox *inbox, const void *bytes, size_t size, size_t newest);
