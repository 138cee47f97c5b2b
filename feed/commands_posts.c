#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/config.h"
#include "base/hash.h"
#include "edits/edits.h"
#include "edits/encode.h"
#include "event/topics.h"
#include "feed/commands_private.h"
#include "feed/notices.h"
#include "ids/ids.h"
#include "subjects/subject.h"

enum { TICK_KEY_SIZE = 5, BY_KEY = 0x81, TICK = 0x83 };

static size_t client_key(uint8_t key[COMMANDS_CLIENT_KEY_MAX], int64_t author, const void *client, size_t size) {
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
    uint8_t key[COMMANDS_CLIENT_KEY_MAX];
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
static int read_post_now(struct feed_commands *commands, int32_t partition, const struct post_command *command,
                         struct post_found *found, struct error *error) {
    struct posts *posts = commands->options.posts;
    const struct pending_post *newest = newest_post(commands, command);
    *found = (struct post_found){.found = newest != NULL, .author = command->user};
    if (newest) {
        found->id = newest->id;
        found->deleted = newest->deleted;
        found->hidden = newest->hidden;
        found->held = newest->held;
        found->moderated = newest->moderated;
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
    return ids_make(ids_tick(((const struct command_item *)slot->item)->arrived_ms, slot->offset, last),
                    slot->partition);
}

static void pending_key(struct pending_post *post, const void *client, size_t size) {
    post->key_size = size;
    if (size) memcpy(post->key, client, size);
}

static void note_post(struct feed_commands *commands, int32_t partition, int64_t author,
                      const struct pending_post *post) {
    uint8_t key[POST_KEY_SIZE], keyed[COMMANDS_CLIENT_KEY_MAX], counted[TICK_KEY_SIZE];
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

static const struct post_text UNCHANGED;

static int write_records(struct feed_commands *commands, int32_t partition, int64_t author, int64_t id,
                         const struct post *post, const struct post_text *text) {
    uint8_t key[POST_KEY_SIZE];
    post_key_write(key, author, id);
    buffer_clear(&commands->value);
    if (post) edit_encode_post(&commands->value, post);
    int code = decider_write(commands->decider, &TOPIC_POSTS, partition, key, sizeof key,
                             post ? commands->value.data : NULL, commands->value.size);
    if (text == &UNCHANGED) return code;
    buffer_clear(&commands->value);
    if (text) edit_encode_post_text(&commands->value, text);
    if (!code)
        code = decider_write(commands->decider, &TOPIC_POST_TEXTS, partition, key, sizeof key,
                             text ? commands->value.data : NULL, commands->value.size);
    return code;
}

/* post or text NULL: a tombstone; text UNCHANGED: it stays. Since a migration to more partitions, the author of an older post may have moved away from the partition
 * that the post's id names. There lies a second copy, for those who know nothing but the id; the two change together. */
static int write_post(struct feed_commands *commands, int32_t partition, int64_t author, int64_t id,
                      const struct post *post, const struct post_text *text) {
    int32_t named = ids_partition(id);
    int code = write_records(commands, partition, author, id, post, text);
    if (!code && named != partition && named < commands->options.partitions)
        code = write_records(commands, named, author, id, post, text);
    return code;
}

/* The same of a text alone. version: of a former one; 0: it is the newest. */
static int write_text(struct feed_commands *commands, int32_t partition, int64_t author, int64_t id, int64_t version,
                      const struct post_text *text) {
    const int32_t places[] = {partition, ids_partition(id)};
    uint8_t key[POST_FORMER_KEY_SIZE];
    int code = 0;
    post_former_key_write(key, author, id, version);
    buffer_clear(&commands->value);
    if (text) edit_encode_post_text(&commands->value, text);
    for (size_t i = 0; !code && i < ARRAY_SIZE(places); i++) {
        if (i && (places[i] == partition || places[i] >= commands->options.partitions)) break;
        code = decider_write(commands->decider, &TOPIC_POST_TEXTS, places[i], key,
                             version ? POST_FORMER_KEY_SIZE : POST_KEY_SIZE, text ? commands->value.data : NULL,
                             commands->value.size);
    }
    return code;
}

static int make_post(struct feed_commands *commands, const struct decider_command *slot,
                     const struct post_command *command) {
    bool held = command->held;
    struct pending_post made = {.id = next_id(commands, slot), .moderated = held, .hidden = held, .held = held};
    struct post post = {.state = held ? POST_HELD : POST_LIVE, .key = command->key, .moderated = held};
    struct post_text text = {
        .text = command->text, .media = command->media, .version = 1, .editor = -1, .mentions = command->mentions};
    pending_key(&made, command->key.data, command->key.size);
    note_post(commands, slot->partition, command->user, &made);
    int code = write_post(commands, slot->partition, command->user, made.id, &post, &text);
    if (code || held) return code;
    return notices_write_mentions(commands->decider, commands->options.partitions, command->user, made.id,
                                  ids_time_ms(made.id), &command->mentions);
}

/* ---- edits ---- */

/* The text as the store has it, in `bytes`. 1: found; 0: there is none, or a newer one is written and not read back. */
static int read_text(struct feed_commands *commands, int32_t partition, int64_t author, int64_t id,
                     struct buffer *bytes, struct post_text *text, struct error *error) {
    if (!feed_commands_text_read(commands, author, id)) return 0;
    int code = posts_text(commands->options.posts, partition, author, id, bytes, error);
    if (code > 0 && event_decode_post_text(commands->text_codec, bytes->data, bytes->size, text, error))
        return -EBADMSG;
    return code;
}

/* The log has what a moderator does to somebody else's post, as it has that of comments. */
static int write_entry(struct feed_commands *commands, const struct decider_command *slot,
                       const struct post_command *command, const struct post_found *was) {
    static const enum moderation_entry_what WHAT[] = {
        [POST_COMMAND_EDIT] = MODERATION_ENTRY_EDIT,
        [POST_COMMAND_DELETE] = MODERATION_ENTRY_DELETE,
        [POST_COMMAND_HIDE] = MODERATION_ENTRY_HIDE,
        [POST_COMMAND_RESTORE] = MODERATION_ENTRY_RESTORE,
    };
    const struct moderation_entry entry = {
        .what = command->kind == POST_COMMAND_RESTORE && was->held ? MODERATION_ENTRY_APPROVE : WHAT[command->kind],
        .user = command->editor,
        .role = MODERATION_ENTRY_MODERATOR,
        .author = command->user,
        .reason = command->reason,
        .time = ((const struct command_item *)slot->item)->arrived_ms,
    };
    uint8_t key[SUBJECT_KEY_MAX];
    char subject[SUBJECT_MAX + 1];
    int size = snprintf(subject, sizeof subject, "post:%" PRId64, command->id);
    const struct subject_key parts = {
        .subject = subject, .size = (size_t)size, .numbers = 2, .comment = 0, .second = slot->offset};
    buffer_clear(&commands->value);
    edit_encode_moderation_entry(&commands->value, &entry);
    return decider_write(commands->decider, &TOPIC_MODERATION_LOG,
                         hash_partition(subject, (size_t)size, commands->options.subject_partitions), key,
                         subject_key_write(key, &parts), commands->value.data, commands->value.size);
}

static int write_edit(struct feed_commands *commands, const struct decider_command *slot,
                      const struct post_command *command, const struct post_found *post, const struct post_text *was) {
    int64_t now_ms = ((const struct command_item *)slot->item)->arrived_ms, version = was->version + 1;
    const struct post_text former = {
        .text = was->text, .media = was->media, .version = was->version, .edited = was->edited, .editor = was->editor};
    struct edit_mentions all;
    uint8_t key[POST_KEY_SIZE];
    edit_mentions_of(&all, &was->mentions, &command->mentions);
    const struct event_longs told = {.items = all.users + all.told, .count = all.count - all.told};
    const struct post_text text = {.text = command->text,
                                   .media = was->media,
                                   .version = version,
                                   .edited = now_ms,
                                   .editor = command->editor,
                                   .mentions = {.items = all.users, .count = all.count}};
    post_key_write(key, command->user, command->id);
    overlay_put(commands->texts, slot->partition, 0, key, sizeof key, &version, sizeof version);
    int code = write_text(commands, slot->partition, command->user, command->id, was->version, &former);
    if (!code) code = write_text(commands, slot->partition, command->user, command->id, 0, &text);
    if (!code && command->editor >= 0) code = write_entry(commands, slot, command, post);
    if (code || post->held) return code; // whom its text mentions hear of it when it is approved
    return notices_write_mentions(commands->decider, commands->options.partitions, command->user, command->id, now_ms,
                                  &told);
}

/* A deletion takes the former texts along. */
static int forget_former(struct feed_commands *commands, int32_t partition, int64_t author, int64_t id,
                         struct error *error) {
    uint8_t key[POST_KEY_SIZE];
    struct post_text text = {.version = 1};
    struct buffer bytes = {.data = NULL};
    post_key_write(key, author, id);
    const int64_t *newest = overlay_find(commands->texts, key, sizeof key, NULL);
    int code = newest ? 0 : read_text(commands, partition, author, id, &bytes, &text, error);
    int64_t versions = newest ? *newest : text.version;
    buffer_free(&bytes);
    if (code < 0) return code;
    code = 0;
    for (int64_t version = 1; !code && version < versions; version++)
        code = write_text(commands, partition, author, id, version, NULL);
    return code ? commands_not_written(code, error) : 0;
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
                       const struct post_command *command, const struct post_found *was, struct error *error) {
    struct pending_post gone = {
        .id = command->id, .deleted = clock_wall_ms(), .hidden = was->hidden || command->editor >= 0};
    int code = key_of(commands, slot->partition, &gone, command->user, error);
    if (!code) code = forget_former(commands, slot->partition, command->user, command->id, error);
    if (code) return code;
    struct post post = {.state = POST_DELETED,
                        .key = {.data = gone.key, .size = gone.key_size},
                        .deleted = gone.deleted,
                        .moderated = gone.hidden ? was->moderated + 1 : 0};
    note_post(commands, slot->partition, command->user, &gone);
    code = write_post(commands, slot->partition, command->user, command->id, &post, NULL);
    return !code && command->editor >= 0 ? write_entry(commands, slot, command, was) : code;
}

/* A post that was held is there now, for those too whom it mentions. */
static int tell_mentioned(struct feed_commands *commands, const struct decider_command *slot,
                          const struct post_command *command, struct error *error) {
    struct buffer bytes = {.data = NULL};
    struct post_text text;
    int code = read_text(commands, slot->partition, command->user, command->id, &bytes, &text, error);
    if (code > 0)
        code = notices_write_mentions(commands->decider, commands->options.partitions, command->user, command->id,
                                      ((const struct command_item *)slot->item)->arrived_ms, &text.mentions);
    buffer_free(&bytes);
    return code;
}

/* Hides a post, or shows it again. Its text stays. */
static int moderate_post(struct feed_commands *commands, const struct decider_command *slot,
                         const struct post_command *command, const struct post_found *was, struct error *error) {
    struct pending_post made = {
        .id = command->id, .moderated = was->moderated + 1, .hidden = command->kind == POST_COMMAND_HIDE};
    int code = key_of(commands, slot->partition, &made, command->user, error);
    if (code) return code;
    const struct post post = {.state = made.hidden ? POST_HIDDEN : POST_LIVE,
                              .key = {.data = made.key, .size = made.key_size},
                              .moderated = made.moderated};
    note_post(commands, slot->partition, command->user, &made);
    code = write_post(commands, slot->partition, command->user, command->id, &post, &UNCHANGED);
    if (!code) code = write_entry(commands, slot, command, was);
    return !code && was->held && !made.hidden ? tell_mentioned(commands, slot, command, error) : code;
}

int commands_decide_post(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    const struct command_item *item = slot->item;
    struct post_command command;
    struct post_found found;
    struct buffer bytes = {.data = NULL};
    struct post_text was = {.version = 0};
    int code = event_decode_post_command(commands->codec, item->value, item->size, &command, error);
    if (!code) code = read_post_now(commands, slot->partition, &command, &found, error);
    if (!code && command.kind == POST_COMMAND_EDIT && found.found && !found.deleted)
        code = read_text(commands, slot->partition, command.user, command.id, &bytes, &was, error);
    if (code < 0) goto finish;
    int64_t now_ms = clock_wall_ms();
    struct post_now now = {.exists = found.found,
                           .banned = command.editor < 0 && bans_has(commands->options.bans, command.user, now_ms),
                           .deleted = found.deleted,
                           .hidden = found.hidden,
                           .held = found.held,
                           .moderator = command.editor >= 0,
                           .version = was.version,
                           .read = command.version};
    code = 0;
    switch (post_decide(command.kind, &now, now_ms)) {
    case POST_NOTHING: break;
    case POST_EDIT: code = write_edit(commands, slot, &command, &found, &was); break;
    case POST_MAKE: code = make_post(commands, slot, &command); break;
    case POST_REMOVE: code = remove_post(commands, slot, &command, &found, error); break;
    case POST_HIDE:
    case POST_SHOW: code = moderate_post(commands, slot, &command, &found, error); break;
    case POST_FORGET: code = write_post(commands, slot->partition, command.user, command.id, NULL, NULL); break;
    }
    if (code) commands_not_written(code, error);
finish:
    buffer_free(&bytes);
    return code;
}

/* ---- records that are read back ---- */

bool feed_commands_key_read(const struct feed_commands *commands, int64_t author, const void *key, size_t size) {
    return !newest_of_key(commands, author, key, size);
}

bool feed_commands_post_read(const struct feed_commands *commands, int64_t author, int64_t id) {
    return !newest_of_id(commands, author, id);
}

bool feed_commands_text_read(const struct feed_commands *commands, int64_t author, int64_t id) {
    uint8_t key[POST_KEY_SIZE];
    post_key_write(key, author, id);
    return !overlay_find(commands->texts, key, sizeof key, NULL);
}
