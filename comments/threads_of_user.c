/* The comments that a user has written, liked and reported. There is no index of them, so all comments and reactions of a partition are walked
 * over. */

#include "comments/threads_private.h"

/* Whether the row is the user's: 1, 0 or a negative code. */
static int is_of(struct threads *threads, const struct subject_key *key, uint8_t kind, const uint8_t *value,
                 size_t size, int64_t user, bool reports, struct error *error) {
    struct comment comment;
    struct comment_reaction reaction;
    if (kind == KIND_COMMENT) {
        if (event_decode_comment(threads->codec, value, size, &comment, error))
            return threads_damaged(error, "a comment");
        return comment.user == user && comment.state != COMMENT_DELETED;
    }
    if (key->second != user) return 0;
    if (event_decode_comment_reaction(threads->codec, value, size, &reaction, error))
        return threads_damaged(error, "a reaction");
    return reports ? reaction.reported : reaction.likes;
}

static int walk_kind(struct threads *threads, struct store_cursor *cursor, uint8_t kind, int64_t user, bool reports,
                     size_t *work, threads_of_user_one *each, void *context, struct error *error) {
    for (bool wanted = true; *work && store_cursor_valid(cursor);
         store_cursor_next(cursor), *work -= wanted ? 1 : *work) {
        struct subject_key parts;
        size_t size, value_size;
        const uint8_t *key = store_cursor_key(cursor, &size), *value = store_cursor_value(cursor, &value_size);
        if (key[0] != kind) return 0;
        if (!subject_key_read(key + 1, size - 1, &parts) || parts.numbers != (kind == KIND_COMMENT ? 1 : 2))
            return threads_damaged(error, "a key");
        int code = is_of(threads, &parts, kind, value, value_size, user, reports, error);
        if (code < 0) return code;
        if (code == 1)
            wanted =
                each(context, &(struct event_text){parts.subject, parts.size}, parts.comment, kind != KIND_COMMENT);
    }
    return 0;
}

/* The place of the cursor, for the next call; empty: all was walked over. */
static void note_place(const struct store_cursor *cursor, struct buffer *place) {
    buffer_clear(place);
    if (!store_cursor_valid(cursor)) return;
    size_t size;
    const uint8_t *key = store_cursor_key(cursor, &size);
    if (key[0] <= KIND_REACTION) buffer_append(place, key, size);
}

int threads_of_user(struct threads *threads, int32_t partition, int64_t user, bool reports, struct buffer *place,
                    size_t work, threads_of_user_one *each, void *context, struct error *error) {
    static const uint8_t COMMENTS[] = {KIND_COMMENT}, REACTIONS[] = {KIND_REACTION};
    struct store_cursor *cursor = store_cursor_new(threads->store, threads->parts[partition].index);
    bool begun = place->size > 0, reactions = begun && place->data[0] == KIND_REACTION;
    int code = 0;
    if (begun)
        store_cursor_seek(cursor, place->data, place->size);
    else
        store_cursor_seek(cursor, COMMENTS, sizeof COMMENTS);
    if (!reactions) {
        code = walk_kind(threads, cursor, KIND_COMMENT, user, reports, &work, each, context, error);
        if (!code && work) store_cursor_seek(cursor, REACTIONS, sizeof REACTIONS);
    }
    if (!code && work) code = walk_kind(threads, cursor, KIND_REACTION, user, reports, &work, each, context, error);
    if (!code) code = store_cursor_error(cursor, error);
    if (!code) note_place(cursor, place);
    store_cursor_free(cursor);
    return code;
}

void threads_reactions(struct buffer *place) {
    buffer_clear(place);
    buffer_byte(place, KIND_REACTION);
}
