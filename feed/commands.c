#include "feed/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/topics.h"
#include "feed/notices.h"
#include "feed/rules.h"
#include "ids/ids.h"

/* The overlays hold state that is written and not read back yet, under the records' own keys and these:
 *
 *     follows     user 0            how many users the user follows now; halves: when they were written, 0: their end
 *     posts       0x81 author key   the post of the author's key
 *                 0x83 partition    the highest tick
 *     refusals    partition command why the follow command of that offset was refused
 */
enum {
    COUNT_KEY_SIZE = 9,
    REFUSAL_KEY_SIZE = 12,
    CLIENT_KEY_MAX = 9 + POST_CLIENT_KEY_MAX,
    TICK_KEY_SIZE = 5,
    BY_KEY = 0x81,
    TICK = 0x83
};

struct pending_post {
    int64_t id, deleted;
    size_t key_size;
    char key[POST_CLIENT_KEY_MAX]; /* the client's */
};

static const struct topic *const COMMANDS[] = {&TOPIC_FOLLOW_COMMANDS, &TOPIC_POST_COMMANDS, &TOPIC_NAME_COMMANDS};
static const struct decider_state STATES[] = {{&TOPIC_FOLLOWS, RELATION_KEY_SIZE, sizeof(int64_t)},
                                              {&TOPIC_POSTS, CLIENT_KEY_MAX, sizeof(struct pending_post)},
                                              {&TOPIC_POST_TEXTS, 1, 1},
                                              {&TOPIC_NAMES, NAME_KEY_MAX, sizeof(struct name_of_user)},
                                              {&TOPIC_FOLLOW_REFUSALS, REFUSAL_KEY_SIZE, sizeof(int64_t)}};

/* A decoded record: a post's texts are read again from the record's value when it is decided. */
struct item {
    union {
        struct follow_command follow;
        struct name_step name;
    };
    uint8_t *value; /* of a post: a copy */
    size_t size;
    int64_t arrived_ms;
};

struct feed_commands {
    struct feed_commands_options options;
    struct decider *decider;
    struct overlay *relations, *posts, *refusals;
    struct name_commands *names;
    struct codec *codec;
    struct buffer value;
};

/* ---- reading ---- */

static int read_follow(struct feed_commands *commands, const struct kafka_record *record, struct item *item,
                       struct error *error) {
    int code = event_decode_follow_command(commands->codec, record->value, record->value_size, &item->follow, error);
    if (code) return code;
    const char *reason = follow_command_complaint(&item->follow);
    if (!reason && hash_user_partition(item->follow.user, commands->options.partitions) != record->partition)
        reason = "not in the partition of the user";
    return reason ? error_set(error, -EINVAL, "%s", reason) : 0;
}

static int read_post(struct feed_commands *commands, const struct kafka_record *record, struct item *item,
                     struct error *error) {
    struct post_command command;
    int code = event_decode_post_command(commands->codec, record->value, record->value_size, &command, error);
    if (code) return code;
    const char *reason = post_command_complaint(&command);
    if (!reason && hash_user_partition(command.user, commands->options.partitions) != record->partition)
        reason = "not in the partition of the author";
    if (reason) return error_set(error, -EINVAL, "%s", reason);
    item->value = mem_alloc(record->value_size);
    item->size = record->value_size;
    memcpy(item->value, record->value, record->value_size);
    return 0;
}

static int read_command(void *context, const struct kafka_record *record, void *out, struct error *error) {
    struct feed_commands *commands = context;
    struct item *item = out;
    *item = (struct item){.arrived_ms = record->timestamp};
    if (!record->value) return error_set(error, -EBADMSG, "a command needs a value");
    if (record->topic == &TOPIC_NAME_COMMANDS) return name_commands_read(commands->names, record, &item->name, error);
    return (record->topic == &TOPIC_POST_COMMANDS ? read_post : read_follow)(commands, record, item, error);
}

static void release(void *item) { free(((struct item *)item)->value); }

static int failed_to_write(int code, struct error *error) {
    return error_set(error, code, "state could not be written: %s", strerror(-code));
}

/* ---- follows ---- */

static const int64_t *newest_relation(const struct feed_commands *commands, const struct relation_half *half) {
    uint8_t key[RELATION_KEY_SIZE];
    relation_key_write(key, half);
    return overlay_find(commands->relations, key, sizeof key, NULL);
}

static void count_key(uint8_t key[COUNT_KEY_SIZE], int64_t user) {
    bytes_put_be64(key, (uint64_t)user);
    key[8] = 0;
}

/* The user's relation as the next command finds it. */
static int relation_now(struct feed_commands *commands, int32_t partition, const struct relation_half *half,
                        struct relation_now *now, struct error *error) {
    const struct feed_commands_options *options = &commands->options;
    uint8_t key[COUNT_KEY_SIZE];
    *now = (struct relation_now){.set = false};
    int code = relation_lists_since(options->relations, partition, half, &now->set, &now->since, error);
    if (!code)
        code =
            relation_lists_count(options->relations, partition, half->user, RELATION_FOLLOWING, &now->following, error);
    if (!code) code = blocks_has(options->blocks, partition, half->user, half->other, &now->blocked, error);
    if (code) return code;
    const int64_t *since = newest_relation(commands, half);
    if (since) {
        now->set = *since != 0;
        now->since = *since;
    }
    count_key(key, half->user);
    const int64_t *count = overlay_find(commands->relations, key, sizeof key, NULL);
    if (count) now->following = (size_t)*count;
    return 0;
}

/* since 0: a tombstone. */
static int write_half(struct feed_commands *commands, const struct relation_half *half, int64_t since) {
    uint8_t key[RELATION_KEY_SIZE];
    relation_key_write(key, half);
    buffer_clear(&commands->value);
    if (since) event_encode_follow(&commands->value, &(struct follow){.since = since});
    return decider_write(commands->decider, &TOPIC_FOLLOWS,
                         hash_user_partition(half->user, commands->options.partitions), key, sizeof key,
                         since ? commands->value.data : NULL, commands->value.size);
}

static void note_half(struct feed_commands *commands, int32_t partition, const struct relation_half *half, bool set,
                      size_t following) {
    uint8_t key[RELATION_KEY_SIZE], counted[COUNT_KEY_SIZE];
    int64_t since = set ? clock_wall_ms() : 0, count = (int64_t)following;
    relation_key_write(key, half);
    overlay_put(commands->relations, partition, 0, key, sizeof key, &since, sizeof since);
    if (half->relation != RELATION_FOLLOWING) return;
    count_key(counted, half->user);
    overlay_put(commands->relations, partition, 0, counted, sizeof counted, &count, sizeof count);
}

static void refusal_key(uint8_t key[REFUSAL_KEY_SIZE], int32_t partition, int64_t command) {
    bytes_put_be32(key, (uint32_t)partition);
    bytes_put_be64(key + 4, (uint64_t)command);
}

static int refuse(struct feed_commands *commands, const struct decider_command *slot,
                  enum follow_refusal_reason reason) {
    const struct follow_refusal refusal = {.command = slot->offset, .reason = reason};
    uint8_t key[REFUSAL_KEY_SIZE], user[8];
    int64_t noted = reason;
    refusal_key(key, slot->partition, slot->offset);
    overlay_put(commands->refusals, slot->partition, 0, key, sizeof key, &noted, sizeof noted);
    bytes_put_be64(user, (uint64_t)((const struct item *)slot->item)->follow.user);
    buffer_clear(&commands->value);
    event_encode_follow_refusal(&commands->value, &refusal);
    return decider_write(commands->decider, &TOPIC_FOLLOW_REFUSALS, slot->partition, user, sizeof user,
                         commands->value.data, commands->value.size);
}

static int change_relation(struct feed_commands *commands, const struct decider_command *slot,
                           const struct relation_now *now, bool set) {
    const struct follow_command *command = &((const struct item *)slot->item)->follow;
    struct relation_half half = {command->user, command->other, follow_relation(command->kind)};
    struct relation_half mirror = {command->other, command->user, RELATION_FOLLOWER};
    int64_t since = set ? command->time : 0;
    note_half(commands, slot->partition, &half, set, set ? now->following + 1 : now->following - 1);
    int code = write_half(commands, &half, since);
    if (!code && half.relation == RELATION_FOLLOWING) code = write_half(commands, &mirror, since);
    if (!code && set && half.relation == RELATION_FOLLOWING)
        code =
            notices_write_follow(commands->decider, commands->options.partitions, command->other, command->user, since);
    return code;
}

static int decide_follow(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    const struct follow_command *command = &((const struct item *)slot->item)->follow;
    struct relation_half half = {command->user, command->other, follow_relation(command->kind)};
    struct relation_now now;
    int code = relation_now(commands, slot->partition, &half, &now, error);
    if (code) return code;
    switch (follow_decide(command, &now, commands->options.following_max)) {
    case FOLLOW_NOTHING: return 0;
    case FOLLOW_SET: code = change_relation(commands, slot, &now, true); break;
    case FOLLOW_CLEAR: code = change_relation(commands, slot, &now, false); break;
    case FOLLOW_BLOCKED: code = refuse(commands, slot, FOLLOW_REFUSAL_BLOCKED); break;
    case FOLLOW_FULL: code = refuse(commands, slot, FOLLOW_REFUSAL_FULL); break;
    }
    return code ? failed_to_write(code, error) : 0;
}

/* ---- posts ---- */

static size_t client_key(uint8_t key[CLIENT_KEY_MAX], int64_t author, const void *client, size_t size) {
    key[0] = BY_KEY;
    bytes_put_be64(key + 1, (uint64_t)author);
    memcpy(key + 9, client, size);
    return 9 + size;
}

static void tick_key(uint8_t key[TICK_KEY_SIZE], int32_t partition) {
    key[0] = TICK;
    bytes_put_be32(key + 1, (uint32_t)partition);
}

static const struct pending_post *newest_of_key(const struct feed_commands *commands, int64_t author,
                                                const void *client, size_t size) {
    uint8_t key[CLIENT_KEY_MAX];
    return overlay_find(commands->posts, key, client_key(key, author, client, size), NULL);
}

static const struct pending_post *newest_of_id(const struct feed_commands *commands, int64_t author, int64_t id) {
    uint8_t key[POST_KEY_SIZE];
    post_key_write(key, author, id);
    return overlay_find(commands->posts, key, sizeof key, NULL);
}

/* Looks the command's post up among those that are written and not read back; NULL: it is none of them. */
static const struct pending_post *newest_post(const struct feed_commands *commands,
                                              const struct post_command *command) {
    if (command->kind != POST_COMMAND_POST) return newest_of_id(commands, command->user, command->id);
    return command->key.size ? newest_of_key(commands, command->user, command->key.data, command->key.size) : NULL;
}

/* The post that a command is about, as the next command finds it. */
static int post_now(struct feed_commands *commands, int32_t partition, const struct post_command *command,
                    struct post_found *found, struct error *error) {
    struct posts *posts = commands->options.posts;
    const struct pending_post *newest = newest_post(commands, command);
    *found = (struct post_found){.found = newest != NULL, .author = command->user};
    if (newest) {
        found->id = newest->id;
        found->deleted = newest->deleted;
        return 0;
    }
    if (command->kind == POST_COMMAND_POST) {
        if (!command->key.size) return 0;
        return posts_find_key(posts, partition, command->user, command->key.data, command->key.size, found, error);
    }
    int code = posts_find(posts, partition, command->id, found, error);
    if (!code && found->author != command->user) found->found = false; // somebody else's
    return code;
}

static int64_t next_id(struct feed_commands *commands, const struct decider_command *slot) {
    uint8_t key[TICK_KEY_SIZE];
    tick_key(key, slot->partition);
    const int64_t *newest = overlay_find(commands->posts, key, sizeof key, NULL);
    int64_t last = newest ? *newest : posts_last_tick(commands->options.posts, slot->partition);
    return ids_make(ids_tick(((const struct item *)slot->item)->arrived_ms, slot->offset, last), slot->partition);
}

static void pending_key(struct pending_post *post, const void *client, size_t size) {
    post->key_size = size;
    if (size) memcpy(post->key, client, size);
}

static void note_post(struct feed_commands *commands, int32_t partition, int64_t author,
                      const struct pending_post *post) {
    uint8_t key[POST_KEY_SIZE], keyed[CLIENT_KEY_MAX], counted[TICK_KEY_SIZE];
    post_key_write(key, author, post->id);
    overlay_put(commands->posts, partition, 0, key, sizeof key, post, sizeof *post);
    if (post->key_size)
        overlay_put(commands->posts, partition, 0, keyed, client_key(keyed, author, post->key, post->key_size), post,
                    sizeof *post);
    if (post->deleted) return;
    int64_t tick = ids_tick_of(post->id);
    tick_key(counted, partition);
    overlay_put(commands->posts, partition, 0, counted, sizeof counted, &tick, sizeof tick);
}

/* post or text NULL: a tombstone. */
static int write_post(struct feed_commands *commands, int32_t partition, int64_t author, int64_t id,
                      const struct post *post, const struct post_text *text) {
    uint8_t key[POST_KEY_SIZE];
    post_key_write(key, author, id);
    buffer_clear(&commands->value);
    if (post) event_encode_post(&commands->value, post);
    int code = decider_write(commands->decider, &TOPIC_POSTS, partition, key, sizeof key,
                             post ? commands->value.data : NULL, commands->value.size);
    buffer_clear(&commands->value);
    if (text) event_encode_post_text(&commands->value, text);
    if (!code)
        code = decider_write(commands->decider, &TOPIC_POST_TEXTS, partition, key, sizeof key,
                             text ? commands->value.data : NULL, commands->value.size);
    return code;
}

static int make_post(struct feed_commands *commands, const struct decider_command *slot,
                     const struct post_command *command) {
    struct pending_post made = {.id = next_id(commands, slot)};
    struct post post = {.state = POST_LIVE, .key = command->key};
    struct post_text text = {.text = command->text, .media = command->media};
    pending_key(&made, command->key.data, command->key.size);
    note_post(commands, slot->partition, command->user, &made);
    int code = write_post(commands, slot->partition, command->user, made.id, &post, &text);
    return code ? code
                : notices_write_mentions(commands->decider, commands->options.partitions, command->user, made.id,
                                         &command->mentions);
}

/* The key of a post that is deleted stays with it, so that a repeated POST does not make the post anew. */
static int key_of(struct feed_commands *commands, int32_t partition, struct pending_post *post, int64_t author,
                  struct error *error) {
    const struct pending_post *newest = newest_of_id(commands, author, post->id);
    if (newest) {
        pending_key(post, newest->key, newest->key_size);
        return 0;
    }
    buffer_clear(&commands->value);
    int code = posts_client_key(commands->options.posts, partition, author, post->id, &commands->value, error);
    if (code < 0) return code;
    if (commands->value.size > sizeof post->key) return error_set(error, -EBADMSG, "a post's key is too long");
    pending_key(post, commands->value.data, code ? commands->value.size : 0);
    return 0;
}

static int remove_post(struct feed_commands *commands, const struct decider_command *slot,
                       const struct post_command *command, struct error *error) {
    struct pending_post gone = {.id = command->id, .deleted = clock_wall_ms()};
    int code = key_of(commands, slot->partition, &gone, command->user, error);
    if (code) return code;
    struct post post = {
        .state = POST_DELETED, .key = {.data = gone.key, .size = gone.key_size}, .deleted = gone.deleted};
    note_post(commands, slot->partition, command->user, &gone);
    return write_post(commands, slot->partition, command->user, command->id, &post, NULL);
}

static int decide_post(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    const struct item *item = slot->item;
    struct post_command command;
    struct post_found found;
    int code = event_decode_post_command(commands->codec, item->value, item->size, &command, error);
    if (!code) code = post_now(commands, slot->partition, &command, &found, error);
    if (code) return code;
    struct post_now now = {.exists = found.found, .deleted = found.deleted};
    switch (post_decide(command.kind, &now, clock_wall_ms())) {
    case POST_NOTHING: return 0;
    case POST_MAKE: code = make_post(commands, slot, &command); break;
    case POST_REMOVE: code = remove_post(commands, slot, &command, error); break;
    case POST_FORGET: code = write_post(commands, slot->partition, command.user, command.id, NULL, NULL); break;
    }
    return code ? failed_to_write(code, error) : 0;
}

static int decide_name(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    return name_commands_decide(commands->names, slot->partition, &((const struct item *)slot->item)->name, error);
}

static int decide_one(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    if (slot->topic == &TOPIC_POST_COMMANDS) return decide_post(commands, slot, error);
    return (slot->topic == &TOPIC_NAME_COMMANDS ? decide_name : decide_follow)(commands, slot, error);
}

static int decide(void *context, struct decider_command *slice, size_t count, struct error *error) {
    const struct feed_commands_options *options = &((struct feed_commands *)context)->options;
    int code = 0;
    for (size_t i = 0; !code && i < count; i++) {
        code = decide_one(context, &slice[i], error);
        if (code == -EBADMSG) options->damaged(options->context, slice[i].partition, error);
    }
    return code;
}

/* ---- what is read back ---- */

bool feed_commands_relation_read(const struct feed_commands *commands, const struct relation_half *half) {
    return !newest_relation(commands, half);
}

bool feed_commands_refused(const struct feed_commands *commands, int32_t partition, int64_t command,
                           enum follow_refusal_reason *reason) {
    uint8_t key[REFUSAL_KEY_SIZE];
    refusal_key(key, partition, command);
    const int64_t *noted = overlay_find(commands->refusals, key, sizeof key, NULL);
    if (noted) *reason = (enum follow_refusal_reason) * noted;
    return noted;
}

bool feed_commands_key_read(const struct feed_commands *commands, int64_t author, const void *key, size_t size) {
    return !newest_of_key(commands, author, key, size);
}

bool feed_commands_post_read(const struct feed_commands *commands, int64_t author, int64_t id) {
    return !newest_of_id(commands, author, id);
}

/* ---- beginning and end ---- */

static void handled(void *context) {
    const struct feed_commands_options *options = &((struct feed_commands *)context)->options;
    options->on_handled(options->context);
}

static void reset(void *context) {
    const struct feed_commands_options *options = &((struct feed_commands *)context)->options;
    options->on_reset(options->context);
}

static struct decider_metrics metrics_of(struct metrics *m) {
    return (struct decider_metrics){
        .commands =
            metrics_counter(m, "starling_feed_commands_total", "Commands decided, dead letters included.", NULL),
        .queued = metrics_gauge(m, "starling_feed_commands_queued", "Commands read and not decided yet.", NULL),
        .overlay =
            metrics_gauge(m, "starling_feed_overlay_entries", "State that was written and is not read back.", NULL),
        .transactions = metrics_counter(m, "starling_feed_transactions_total", "Transactions committed.", NULL),
        .failed = metrics_counter(m, "starling_feed_transactions_failed_total", "Transactions not committed.", NULL),
        .dead = metrics_counter(m, "starling_feed_commands_dead_total", "Records that were no command.", NULL),
    };
}

struct feed_commands *feed_commands_new(const struct feed_commands_options *options) {
    struct feed_commands *commands = mem_alloc(sizeof *commands);
    *commands = (struct feed_commands){.options = *options, .codec = codec_new()};
    commands->decider = decider_new(&(struct decider_options){
        .loop = options->loop,
        .settings = options->kafka,
        .log = options->log,
        .registry = options->metrics,
        .metrics = metrics_of(options->metrics),
        .transactional_id = options->transactional_id,
        .partitions = options->partitions,
        .commands = COMMANDS,
        .command_count = ARRAY_SIZE(COMMANDS),
        .states = STATES,
        .state_count = ARRAY_SIZE(STATES),
        .offsets = &TOPIC_FEED_OFFSETS,
        .batch = options->batch,
        .item_size = sizeof(struct item),
        .release = release,
        .context = commands,
        .read = read_command,
        .decide = decide,
        .on_handled = handled,
        .on_reset = reset,
    });
    commands->relations = decider_overlay(commands->decider, &TOPIC_FOLLOWS);
    commands->refusals = decider_overlay(commands->decider, &TOPIC_FOLLOW_REFUSALS);
    commands->posts = decider_overlay(commands->decider, &TOPIC_POSTS);
    commands->names = name_commands_new(commands->decider, options->names, options->partitions);
    return commands;
}

void feed_commands_free(struct feed_commands *commands) {
    if (!commands) return;
    decider_free(commands->decider);
    name_commands_free(commands->names);
    codec_free(commands->codec);
    buffer_free(&commands->value);
    free(commands);
}

struct decider *feed_commands_decider(struct feed_commands *commands) {
    return commands->decider;
}

struct name_commands *feed_commands_names(struct feed_commands *commands) {
    return commands->names;
}
