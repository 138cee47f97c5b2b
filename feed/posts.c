#include "feed/posts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "feed/posts_private.h"
#include "ids/ids.h"

static const uint8_t NEXT[] = {POSTS_NEXT_KEY}, TICK[] = {POSTS_TICK_KEY}, COLD[] = {POSTS_COLD_KEY};

struct posts *posts_new(struct store *store, int32_t partitions, int64_t cold_after_ms) {
    struct posts *posts = MEM_NEW(&(struct posts){
        .store = store,
        .batch = store_batch_new(),
        .parts = mem_zero((size_t)partitions, sizeof *posts->parts),
        .partitions = partitions,
        .cold_after_ms = cold_after_ms,
        .codec = codec_new(),
    });
    return posts;
}

void posts_free(struct posts *posts) {
    if (!posts) return;
    store_batch_free(posts->batch);
    free(posts->parts);
    free(posts->index.items);
    free(posts->texts.items);
    codec_free(posts->codec);
    buffer_free(&posts->bytes);
    buffer_free(&posts->key);
    buffer_free(&posts->value);
    free(posts);
}

/* ---- partitions ---- */

static int open_topic(struct posts *posts, const char *name, int32_t partition, struct posts_topic *topic,
                      struct error *error) {
    char family[24];
    int64_t next = -1;
    snprintf(family, sizeof family, "%s-%d", name, (int)partition);
    struct posts_topic opened = {.family = NULL};
    int code = store_family(posts->store, family, &opened.family, error);
    if (!code) code = posts_get_long(posts, opened.family, NEXT, sizeof NEXT, &next, error);
    if (code < 0) return code;
    opened.next = opened.taken = next;
    *topic = opened;
    return 0;
}

/* A partition without texts begins with all that are old in the cold family: they come from the topic's beginning. */
static int open_cold(struct posts *posts, int32_t partition, struct posts_part *part, struct error *error) {
    char family[24];
    int64_t below = part->texts.next < 0 ? ids_first_at(clock_wall_ms() - posts->cold_after_ms) : 0;
    snprintf(family, sizeof family, STORE_COLD "texts-%d", (int)partition);
    int code = store_family(posts->store, family, &part->cold, error);
    part->stored_cold = -1;
    part->cold_below = below;
    if (!code) code = posts_get_long(posts, part->texts.family, COLD, sizeof COLD, &part->cold_below, error);
    if (code > 0) part->stored_cold = part->cold_below;
    return code < 0 ? code : 0;
}

int posts_open(void *store, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error) {
    struct posts *posts = store;
    struct posts_part opened;
    int64_t tick = -1;
    if (posts->parts[partition].index.family) return 0;
    int code = open_topic(posts, "texts", partition, &opened.texts, error);
    if (!code) code = open_cold(posts, partition, &opened, error);
    if (!code) code = open_topic(posts, "posts", partition, &opened.index, error);
    if (!code) code = posts_get_long(posts, opened.index.family, TICK, sizeof TICK, &tick, error);
    if (code < 0) return code;
    opened.tick = opened.stored_tick = tick;
    posts->parts[partition] = opened;
    return 0;
}

static void drop_records(struct posts_records *records, int32_t partition) {
    size_t kept = 0;
    for (size_t i = 0; i < records->count; i++)
        if (records->items[i].partition != partition) records->items[kept++] = records->items[i];
    records->count = kept;
}

void posts_close(void *store, int32_t partition) {
    struct posts *posts = store;
    drop_records(&posts->index, partition);
    drop_records(&posts->texts, partition);
    posts->parts[partition] = (struct posts_part){.index = {.family = NULL}};
}

int posts_reset(void *store, int32_t partition, int64_t now_ms, struct error *error) {
    struct posts *posts = store;
    static const char *const NAMES[] = {"texts", STORE_COLD "texts", "posts"};
    char name[24];
    posts_close(posts, partition);
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        snprintf(name, sizeof name, "%s-%d", NAMES[i], (int)partition);
        int code = store_family_drop(posts->store, name, error);
        if (code) return code;
    }
    return posts_open(posts, partition, now_ms, 0, error);
}

int64_t posts_next(const void *store, int32_t partition, size_t texts) {
    const struct posts_part *part = &((const struct posts *)store)->parts[partition];
    const struct posts_topic *topic = texts ? &part->texts : &part->index;
    return topic->family ? topic->next : -1;
}

int64_t posts_last_tick(const struct posts *posts, int32_t partition) {
    const struct posts_part *part = &posts->parts[partition];
    return part->index.family ? part->tick : -1;
}

/* ---- gathering ---- */

/* Room for one more record; NULL: it is not wanted. */
static struct posts_record *gather(struct posts_topic *topic, struct posts_records *records, int64_t offset) {
    if (!topic->family || offset < topic->taken) return NULL;
    topic->taken = offset + 1;
    MEM_ROOM(records->items, records->count, records->capacity);
    return &records->items[records->count++];
}

void posts_take_index(struct posts *posts, int32_t partition, int64_t offset, int64_t author, int64_t id,
                      const struct post *post) {
    struct posts_part *part = &posts->parts[partition];
    struct posts_record *record = gather(&part->index, &posts->index, offset);
    if (!record) return;
    *record = (struct posts_record){.author = author,
                                    .id = id,
                                    .offset = offset,
                                    .at = posts->bytes.size,
                                    .partition = partition,
                                    .tombstone = !post};
    if (ids_tick_of(id) > part->tick) part->tick = ids_tick_of(id);
    if (!post) return;
    if (post->state == POST_DELETED) record->deleted = post->deleted > 0 ? post->deleted : 1;
    record->held = post->state == POST_HELD;
    record->hidden = post->state == POST_HIDDEN || record->held || (post->state == POST_DELETED && post->moderated);
    record->moderated = post->moderated;
    record->size = post->key.size;
    if (post->key.size) buffer_append(&posts->bytes, post->key.data, post->key.size);
}

void posts_take_text(struct posts *posts, int32_t partition, int64_t offset, int64_t author, int64_t id,
                     const void *text, size_t size) {
    posts_take_former(posts, partition, offset, author, id, 0, text, size);
}

void posts_take_former(struct posts *posts, int32_t partition, int64_t offset, int64_t author, int64_t id,
                       int64_t version, const void *text, size_t size) {
    struct posts_record *record = gather(&posts->parts[partition].texts, &posts->texts, offset);
    if (!record) return;
    *record = (struct posts_record){.author = author,
                                    .id = id,
                                    .offset = offset,
                                    .at = posts->bytes.size,
                                    .version = version,
                                    .size = text ? size : 0,
                                    .partition = partition,
                                    .tombstone = !text};
    if (record->size) buffer_append(&posts->bytes, text, size);
}

/* ---- writing ---- */

/* In the order of the store's keys; of one post the oldest record first. */
static int in_order(const void *a, const void *b) {
    const struct posts_record *x = a, *y = b;
    if (x->partition != y->partition) return x->partition < y->partition ? -1 : 1;
    if (x->author != y->author) return x->author < y->author ? -1 : 1;
    if (x->id != y->id) return x->id > y->id ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

/* Of each post only the newest record counts. */
static void tidy(struct posts_records *records) {
    size_t kept = 0;
    if (records->count) qsort(records->items, records->count, sizeof *records->items, in_order);
    for (size_t i = 0; i < records->count; i++) {
        const struct posts_record *record = &records->items[i], *next = record + 1;
        bool last = i + 1 == records->count || next->partition != record->partition || next->author != record->author ||
                    next->id != record->id;
        if (last) records->items[kept++] = *record;
    }
    records->count = kept;
}

static bool same_key(const struct posts *posts, const struct posts_record *record, const struct posts_value *value) {
    return record->size == value->key_size &&
           (!record->size || !memcmp(posts->bytes.data + record->at, value->key, record->size));
}

/* Deletes what the store has of a post beside the post itself, as far as the record does not say the same again. */
static void delete_old(struct posts *posts, struct store_family *family, const struct posts_record *record,
                       const struct posts_value *old) {
    if (old->key_size && (record->tombstone || !same_key(posts, record, old))) {
        posts_keyed_key(&posts->key, record->author, old->key, old->key_size);
        store_batch_delete(posts->batch, family, posts->key.data, posts->key.size);
    }
    if (old->deleted && (record->tombstone || record->deleted != old->deleted)) {
        uint8_t key[POSTS_DELETED_SIZE];
        posts_deleted_key(key, old->deleted, record->id);
        store_batch_delete(posts->batch, family, key, sizeof key);
    }
    if (record->tombstone) {
        uint8_t key[POST_KEY_SIZE], id_key[POSTS_ID_SIZE];
        posts_store_key(key, record->author, record->id);
        posts_id_key(id_key, record->id);
        store_batch_delete(posts->batch, family, key, sizeof key);
        store_batch_delete(posts->batch, family, id_key, sizeof id_key);
    }
}

static void put_new(struct posts *posts, const struct posts_record *record) {
    struct store_family *family = posts->parts[record->partition].index.family;
    uint8_t key[POST_KEY_SIZE], id_key[POSTS_ID_SIZE], deleted_key[POSTS_DELETED_SIZE], number[POSTS_LONG];
    struct posts_value value = {.deleted = record->deleted,
                                .moderated = record->moderated,
                                .hidden = record->hidden,
                                .held = record->held,
                                .key = posts->bytes.data + record->at,
                                .key_size = record->size};
    if (!record->size) value.key = NULL;
    posts_value_write(&posts->value, &value);
    posts_store_key(key, record->author, record->id);
    store_batch_put(posts->batch, family, key, sizeof key, posts->value.data, posts->value.size);
    posts_id_key(id_key, record->id);
    bytes_put_be64(number, (uint64_t)record->author);
    store_batch_put(posts->batch, family, id_key, sizeof id_key, number, sizeof number);
    if (record->deleted) {
        posts_deleted_key(deleted_key, record->deleted, record->id);
        store_batch_put(posts->batch, family, deleted_key, sizeof deleted_key, number, sizeof number);
    }
    if (record->size) {
        posts_keyed_key(&posts->key, record->author, value.key, value.key_size);
        bytes_put_be64(number, (uint64_t)record->id);
        store_batch_put(posts->batch, family, posts->key.data, posts->key.size, number, sizeof number);
    }
}

/* The records of one author change the number of posts that are shown by this. */
struct tally {
    int32_t partition; /* -1: of nobody yet */
    int64_t author, change;
};

static int put_count(struct posts *posts, const struct tally *tally, struct error *error) {
    if (tally->partition < 0 || !tally->change) return 0;
    struct store_family *family = posts->parts[tally->partition].index.family;
    uint8_t key[POSTS_COUNT_SIZE], value[POSTS_LONG];
    int64_t count = 0;
    posts_count_key(key, tally->author);
    int code = posts_get_long(posts, family, key, sizeof key, &count, error);
    if (code < 0) return code;
    count += tally->change;
    if (count < 0) return posts_damaged(error);
    bytes_put_be64(value, (uint64_t)count);
    if (count)
        store_batch_put(posts->batch, family, key, sizeof key, value, sizeof value);
    else
        store_batch_delete(posts->batch, family, key, sizeof key);
    return 0;
}

/* One record against what the store has of the post. */
static int change_post(struct posts *posts, const struct posts_record *record, const struct store_pin *pin,
                       struct tally *tally, struct error *error) {
    struct posts_value old = {.deleted = 0};
    bool was_shown = false;
    if (tally->partition != record->partition || tally->author != record->author) {
        int code = put_count(posts, tally, error);
        if (code) return code;
        *tally = (struct tally){.partition = record->partition, .author = record->author};
    }
    if (pin->handle) {
        int code = posts_value_read(pin->data, pin->size, &old, error);
        if (code) return code;
        was_shown = !old.deleted && !old.hidden;
        delete_old(posts, posts->parts[record->partition].index.family, record, &old);
    }
    tally->change += (!record->tombstone && !record->deleted && !record->hidden) - was_shown;
    return 0;
}

/* The next records, of one partition, whose posts are read at once; *from: behind them. */
static int change_posts(struct posts *posts, size_t *from, struct tally *tally, struct error *error) {
    const struct posts_record *records = posts->index.items + *from;
    size_t left = posts->index.count - *from, count = 0;
    uint8_t keys[STORE_MANY * POST_KEY_SIZE];
    struct store_pin pins[STORE_MANY];
    do {
        posts_store_key(keys + count * POST_KEY_SIZE, records[count].author, records[count].id);
        count++;
    } while (count < left && count < STORE_MANY && records[count].partition == records->partition);
    int code = store_get_many(posts->store, posts->parts[records->partition].index.family, keys, POST_KEY_SIZE, count,
                              pins, error);
    if (code) return code;
    for (size_t i = 0; i < count; i++) {
        if (!code) code = change_post(posts, &records[i], &pins[i], tally, error);
        store_pin_release(&pins[i]);
    }
    *from += count;
    return code;
}

/* All deletions stand before all that is new in the batch: a client's key may go over from a post that is forgotten to a new one. */
static int put_index(struct posts *posts, struct error *error) {
    struct tally tally = {.partition = -1};
    int code = 0;
    tidy(&posts->index);
    for (size_t from = 0; !code && from < posts->index.count;) code = change_posts(posts, &from, &tally, error);
    if (!code) code = put_count(posts, &tally, error);
    for (size_t i = 0; !code && i < posts->index.count; i++)
        if (!posts->index.items[i].tombstone) put_new(posts, &posts->index.items[i]);
    return code;
}

void posts_put_long(struct store_batch *batch, struct store_family *family, uint8_t key, int64_t value) {
    uint8_t bytes[POSTS_LONG];
    bytes_put_be64(bytes, (uint64_t)value);
    store_batch_put(batch, family, &key, 1, bytes, sizeof bytes);
}

static void put_offsets(struct posts *posts) {
    for (int32_t p = 0; p < posts->partitions; p++) {
        const struct posts_part *part = &posts->parts[p];
        if (!part->index.family) continue;
        if (part->index.taken != part->index.next)
            posts_put_long(posts->batch, part->index.family, POSTS_NEXT_KEY, part->index.taken);
        if (part->texts.taken != part->texts.next)
            posts_put_long(posts->batch, part->texts.family, POSTS_NEXT_KEY, part->texts.taken);
        if (part->tick != part->stored_tick)
            posts_put_long(posts->batch, part->index.family, POSTS_TICK_KEY, part->tick);
        if (part->cold_below != part->stored_cold)
            posts_put_long(posts->batch, part->texts.family, POSTS_COLD_KEY, part->cold_below);
    }
}

/* A tick that was once used stays so, even if its record could not be written. */
static void settle(struct posts *posts, bool written) {
    for (int32_t p = 0; p < posts->partitions; p++) {
        struct posts_part *part = &posts->parts[p];
        if (!part->index.family) continue;
        struct posts_topic *topics[] = {&part->index, &part->texts};
        for (size_t i = 0; i < sizeof topics / sizeof *topics; i++)
            *(written ? &topics[i]->next : &topics[i]->taken) = written ? topics[i]->taken : topics[i]->next;
        if (!written) continue;
        part->stored_tick = part->tick;
        part->stored_cold = part->cold_below;
    }
    posts->index.count = posts->texts.count = 0;
    buffer_clear(&posts->bytes);
    store_batch_clear(posts->batch);
}

int posts_write(void *store, struct error *error) {
    struct posts *posts = store;
    if (!posts->index.count && !posts->texts.count) return 0;
    int code = put_index(posts, error);
    if (!code) {
        posts_put_texts(posts);
        put_offsets(posts);
        code = store_write(posts->store, posts->batch, false, error);
    }
    settle(posts, !code);
    return code;
}
