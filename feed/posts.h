/* The posts of attached partitions: which ones exist (`posts`) and what they say (`post-texts`), each with its own offset. One thread.
 *
 *     family "posts-P"    author (8) ~id (8)             LIVE, DELETED or MODERATED, a number, key     newest first
 *                         0x80 id (8)                    author                                        who wrote a post
 *                         0x81 author (8) key            id                                            the post of an idempotency key
 *                         0x82 deleted (8) id (8)        author                                        when a deleted one may be forgotten
 *                         0x83                           the highest tick that was ever used
 *                         0x84 author (8)                how many posts that are shown
 *                         0xff                           next offset of `posts`
 *     family "texts-P"    author (8) ~id (8)             PostText
 *                         author (8) ~id (8) version (8) PostText: a former one
 *                         0xfe                           texts of ids below this lie in
 *                         0xff                           next offset of `post-texts`
 *     family "cold-texts-P", compressed harder: author (8) ~id (8)   PostText
 *
 * All of a record's changes and the offset behind it are in one write. Functions return 0 or a negative errno code. -EBADMSG: the
 * store is damaged; posts_reset and reading both topics from their beginnings mend it. -ESTALE: the partition is not attached.
 */
#pragma once

#include "event/codec.h"
#include "state/kind.h"
#include "store/store.h"

enum {
    POST_KEY_SIZE = 16,
    POST_FORMER_KEY_SIZE = 24,
    POST_CLIENT_KEY_MAX = 64,
    POST_TEXT_POINTS_MAX = 2000,
    POST_MEDIA_MAX = 4,
    POST_MENTIONS_MAX = 10,
    POST_REASON_POINTS_MAX = 1000,
    POST_URL_MAX = 2048
};

/* The key of both topics: author and id; of a former text, the version behind them. */
void post_key_write(uint8_t key[POST_KEY_SIZE], int64_t author, int64_t id);
bool post_key_read(const void *key, size_t size, int64_t *author, int64_t *id);
void post_former_key_write(uint8_t key[POST_FORMER_KEY_SIZE], int64_t author, int64_t id, int64_t version);

struct posts;
extern const struct state_kind POSTS_KIND; /* of `posts` and `post-texts`; in posts_records.c */

/* The store is longer-lived. cold_after_ms: texts that are older when a partition is read from the beginning are cold at once. */
struct posts *posts_new(struct store *store, int32_t partitions, int64_t cold_after_ms);
void posts_free(struct posts *posts); /* NULL is fine; what is gathered is lost */

/* As the functions of a kind of store (state/kind.h). Opening is harmless when it is open. */
int posts_open(void *posts, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error);
void posts_close(void *posts, int32_t partition);
int posts_reset(void *posts, int32_t partition, int64_t now_ms, struct error *error);
int64_t posts_next(const void *posts, int32_t partition, size_t texts); /* as stored; -1: nothing */

/* Gather one record each of an attached partition: NULL is a tombstone. Records before an offset that was stored or gathered are passed
 * by. posts_write writes all that is gathered; if it fails, all of that is dropped, and is to be read again. */
void posts_take_index(struct posts *posts, int32_t partition, int64_t offset, int64_t author, int64_t id,
                      const struct post *post);
void posts_take_text(struct posts *posts, int32_t partition, int64_t offset, int64_t author, int64_t id,
                     const void *text, size_t size); /* a PostText with its header, as it came */
/* The same of a former version, from 1; 0: the newest text. */
void posts_take_former(struct posts *posts, int32_t partition, int64_t offset, int64_t author, int64_t id,
                       int64_t version, const void *text, size_t size);
int posts_write(void *posts, struct error *error);

int64_t posts_last_tick(const struct posts *posts,
                        int32_t partition); /* of records gathered, too; -1: none (ids/ids.h) */

/* A post as the store has it. found: false: never existed, or is forgotten. */
struct post_found {
    bool found, hidden;          /* hidden: by a moderator, also if it is deleted: so is its thread */
    bool held;                   /* it is hidden until a moderator approves it */
    int32_t moderated;           /* how often it was held, hidden, or shown again */
    int64_t author, id, deleted; /* deleted: 0: it is live */
};
static inline bool post_is_shown(const struct post_found *post) {
    return post->found && !post->deleted && !post->hidden;
}
int posts_find(struct posts *posts, int32_t partition, int64_t id, struct post_found *post, struct error *error);
int posts_find_key(struct posts *posts, int32_t partition, int64_t author, const void *key, size_t size,
                   struct post_found *post, struct error *error);
/* The idempotency key of a post. 1: found (key replaced; it may be empty), 0: there is no such post. */
int posts_client_key(struct posts *posts, int32_t partition, int64_t author, int64_t id, struct buffer *key,
                     struct error *error);
int posts_count(struct posts *posts, int32_t partition, int64_t author, int64_t *count, struct error *error);

/* An author's live posts, falling, above `above` and below `before`, at most `max`. hidden: also those. Passes over *pass others at most, and
 * counts them down. *more: 0: that is all; else there may be more of them below that id. */
int posts_of(struct posts *posts, int32_t partition, int64_t author, int64_t above, int64_t before, bool hidden,
             size_t *pass, int64_t *ids, size_t max, size_t *count, int64_t *more, struct error *error);

/* Walks authors' posts, newest first, with one cursor over what the store has when the walk begins. It begins and ends within one
 * call from the loop: meanwhile nothing may be reset or detached. */
struct posts_walk;
enum posts_walked { POSTS_WALK_LIVE, POSTS_WALK_HIDDEN, POSTS_WALK_DELETED, POSTS_WALK_END };
int posts_walk_new(struct posts *posts, int32_t partition, struct posts_walk **walk, struct error *error);
void posts_walk_free(struct posts_walk *walk); /* NULL is fine */
/* Goes to the author's newest post below `before`. */
void posts_walk_to(struct posts_walk *walk, int64_t author, int64_t before);
/* END: the author has no more posts, or posts_walk_error is not 0. */
enum posts_walked posts_walk_at(const struct posts_walk *walk, int64_t *id);
void posts_walk_next(struct posts_walk *walk);
int posts_walk_error(const struct posts_walk *walk, struct error *error);
uint64_t posts_moves(const struct posts *posts); /* moves of all walks ever */

/* Reads the text of a post, valid until the next call with the same buffer; it has the header of the topic. 1: found, 0: not. */
int posts_text(struct posts *posts, int32_t partition, int64_t author, int64_t id, struct buffer *text,
               struct error *error);

/* The same of a former version of it. */
int posts_former(struct posts *posts, int32_t partition, int64_t author, int64_t id, int64_t version,
                 struct buffer *text, struct error *error);

/* Moves the texts of ids below `below` to the cold ones, the oldest first, after at most `max` of them. 1: more are left; 0: none. */
int posts_cool(struct posts *posts, int32_t partition, int64_t below, size_t max, struct error *error);

/* Posts that were deleted before this time (ms), the first `max` of them. */
int posts_forgettable(struct posts *posts, int32_t partition, int64_t before_ms, struct post_found *found, size_t max,
                      size_t *count, struct error *error);
