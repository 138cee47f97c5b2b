#include "feed/consequences.h"

#include "base/clock.h"
#include "base/hash.h"
#include "event/topics.h"
#include "feed/feed_private.h"
#include "feed/told.h"
#include "users/half.h"
#include "users/user_key.h"

static bool read_half(const struct feed *feed, const struct kafka_record *record, struct relation_half *half) {
    return relation_key_read(record->key, record->key_size, half) &&
           hash_user_partition(half->user, feed->partitions) == record->partition;
}

void feed_see_half(void *context, const struct kafka_record *record) {
    struct feed *feed = context;
    struct relation_half half;
    if (!read_half(feed, record, &half)) return;
    watches_half(feed->watches, &half);
    if (half.relation == RELATION_MUTED || half.relation == RELATION_REQUESTED)
        watches_notices(feed->watches, half.user);
}

int feed_half_is(void *context, const struct kafka_record *record, struct error *error) {
    struct feed *feed = context;
    struct relation_half half;
    if (!read_half(feed, record, &half)) return 0;
    return effects_half(feed->effects, record->partition, &half, record->value != NULL, error);
}

int feed_post_is(void *context, const struct kafka_record *record, struct error *error) {
    struct feed *feed = context;
    int64_t author, id;
    if (!record->value || !post_key_read(record->key, record->key_size, &author, &id)) return 0;
    return effects_post(feed->effects, record->partition, author, id, record->offset, error);
}

/* All feed processes hear of an edit, and that is all: whoever has kept the text learns of it by its version (feed/edited.h). */
int feed_text_is(void *context, const struct kafka_record *record, struct error *error) {
    struct feed *feed = context;
    struct post_text text;
    int64_t author, id;
    if (!record->value || !post_key_read(record->key, record->key_size, &author, &id) ||
        event_decode_post_text(feed->codec, record->value, record->value_size, &text, error) || text.version == 1)
        return 0;
    const struct timeline_item item = {.kind = TIMELINE_ITEM_EDITED, .edited = {.id = id, .version = text.version}};
    outbox_put(feed->outbox, &TOPIC_HOT_POSTS, record->partition, &author, 1, &item);
    return 0;
}

int64_t feed_posts_held(void *context, int32_t partition) {
    return effects_held(((struct feed *)context)->effects, partition);
}

/* A block ends the other's follow of the user, and a request; the other's own half ends the user's. */
int feed_friendship_is(void *context, const struct kafka_record *record, struct error *error) {
    struct feed *feed = context;
    struct half_record read;
    if (half_read(feed->codec, feed->partitions, record, &read, error)) return 0;
    watches_notices(feed->watches, read.user);
    if (!read.half.blocked_by_me && !read.half.blocked_by_them) return 0;
    outbox_follower_command(feed->outbox, &(struct follower_command){.kind = FOLLOWER_COMMAND_END,
                                                                     .author = read.user,
                                                                     .reader = read.other,
                                                                     .time = clock_wall_ms(),
                                                                     .blocked = record->timestamp});
    return 0;
}

static int tell_item(void *context, const struct kafka_record *record, const struct deliver_envelope *envelope,
                     const struct timeline_item *item, struct error *error) {
    struct feed *feed = context;
    if (item->kind != TIMELINE_ITEM_BEGIN) return 0;
    int code = 0;
    for (size_t i = 0; !code && i < envelope->recipient_count; i++)
        code = effects_begin(feed->effects, record->partition, envelope->recipients[i], record->offset,
                             item->begin.wanted.items, item->begin.wanted.count, error);
    return code;
}

int feed_timeline_is(void *context, const struct kafka_record *record, struct error *error) {
    struct feed *feed = context;
    const char *unread;
    return timeline_reader_each(feed->reader, record, tell_item, feed, &unread, error);
}

static void drop_notice(void *context, const uint8_t key[NOTICE_KEY_SIZE]) {
    outbox_notice_gone(((struct feed *)context)->outbox, key);
}

/* Deletes what of a user's notices is too much. All notices of the batch are stored, so one look for each user is enough, but for notices
 * that are not shown now: each of these goes before others. */
int feed_notice_is(void *context, const struct kafka_record *record, struct error *error) {
    struct feed *feed = context;
    struct notice_key key;
    struct notice notice;
    bool shown;
    if (!notice_key_read(record->key, record->key_size, &key)) return 0;
    if (pushing_notice(feed->pushing, record, &key)) return 0;
    watches_notices(feed->watches, key.user);
    if (!record->value || event_decode_notice(feed->codec, record->value, record->value_size, &notice, error)) return 0;
    int64_t *trimmed = &feed->trimmed[hash_fold((uint64_t)key.user) % FEED_TRIMMED];
    int code = notice_shown(feed->blocks, feed->relations, record->partition, key.user, notice.user, &shown, error);
    if (code || (*trimmed == key.user && shown)) return code;
    *trimmed = key.user;
    return notices_trim(feed->notices, record->partition, key.user, shown ? NULL : &key, drop_notice, feed, error);
}

int feed_notice_settings_are(void *context, const struct kafka_record *record, struct error *error) {
    struct feed *feed = context;
    int64_t user = 0;
    if (!user_key_read(record, &user, error)) watches_notices(feed->watches, user);
    return 0;
}

int feed_approach_is(void *context, const struct kafka_record *record, struct error *error) {
    struct feed *feed = context;
    struct notice_key key;
    struct notice notice;
    if (!told_read(feed->codec, record, &key, &notice, error)) outbox_notice(feed->outbox, &key, &notice);
    return 0;
}

int64_t feed_notices_held(void *context, int32_t partition) {
    return pushing_held(((struct feed *)context)->pushing, partition);
}
