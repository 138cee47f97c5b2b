/* Posts as a kind of store: records of the two topics are checked and gathered. */
#include "base/bytes.h"
#include "base/hash.h"
#include "feed/posts_private.h"
#include "ids/ids.h"

/* version: 0 but of a former text. */
static const char *read_key(const struct posts *posts, const struct kafka_record *record, bool texts, int64_t *author,
                            int64_t *id, int64_t *version) {
    bool former = texts && record->key && record->key_size == POST_FORMER_KEY_SIZE;
    *version = former ? (int64_t)bytes_get_be64((const uint8_t *)record->key + POST_KEY_SIZE) : 0;
    if (!post_key_read(record->key, former ? POST_KEY_SIZE : record->key_size, author, id) || *version < former)
        return "the key must be an author and an id";
    // A migration to more partitions puts a copy where the id says that the post is.
    bool here =
        hash_user_partition(*author, posts->partitions) == record->partition || ids_partition(*id) == record->partition;
    return here ? NULL : "neither in the partition of its author nor in that of its id";
}

static const char *take_index(struct posts *posts, const struct kafka_record *record, int64_t author, int64_t id,
                              struct error *error) {
    struct post post;
    if (record->value && event_decode_post(posts->codec, record->value, record->value_size, &post, error))
        return error->text;
    posts_take_index(posts, record->partition, record->offset, author, id, record->value ? &post : NULL);
    return NULL;
}

static const char *take_text(struct posts *posts, const struct kafka_record *record, int64_t author, int64_t id,
                             int64_t version, struct error *error) {
    struct post_text text;
    if (record->value && event_decode_post_text(posts->codec, record->value, record->value_size, &text, error))
        return error->text;
    posts_take_former(posts, record->partition, record->offset, author, id, version, record->value, record->value_size);
    return NULL;
}

static int take(void *store, size_t topic, const struct kafka_record *record, const char **reason,
                struct error *error) {
    int64_t author, id, version;
    const char *why = read_key(store, record, topic, &author, &id, &version);
    if (!why && topic)
        why = take_text(store, record, author, id, version, error);
    else if (!why)
        why = take_index(store, record, author, id, error);
    if (why) *reason = why;
    return 0;
}

const struct state_kind POSTS_KIND = {
    .open = posts_open,
    .close = posts_close,
    .take = take,
    .next = posts_next,
    .write = posts_write,
    .reset = posts_reset,
};
