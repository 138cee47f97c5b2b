#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "comments/decisions_private.h"
#include "edits/encode.h"
#include "event/topics.h"
#include "ids/ids.h"

enum { SUBJECT_V1 = 33, SUBJECT_V1_LACKS = 1 /* byte at the end */ };

static int write_under(struct decisions *decisions, const struct topic *topic, int32_t partition, const void *key,
                       size_t key_size) {
    const struct decisions_options *options = &decisions->options;
    return options->write(options->context, topic, partition, key, key_size, decisions->value.data,
                          decisions->value.size);
}

static int write_value(struct decisions *decisions, const struct topic *topic, int32_t partition,
                       const struct decisions_key *key) {
    return write_under(decisions, topic, partition, key->bytes, key->size);
}

static void put(struct decisions *decisions, enum threads_state state, int32_t partition,
                const struct decisions_key *key, const void *value, size_t size) {
    overlay_put(decisions->options.overlays[state], partition, 0, key->bytes, key->size, value, size);
}

/* ---- subjects and comments ---- */

static void change(struct decisions *decisions, int32_t partition, const struct decisions_key *key, int64_t comment,
                   const void *value, size_t size) {
    put(decisions, THREADS_COMMENTS, partition, key, value, size);
    MEM_ROOM(decisions->changes, decisions->change_count, decisions->change_capacity);
    decisions->changes[decisions->change_count++] = (struct decisions_change){.comment = comment,
                                                                              .partition = partition,
                                                                              .key_size = (uint32_t)key->size,
                                                                              .key = decisions->change_keys.size};
    buffer_append(&decisions->change_keys, key->bytes, key->size);
}

static void change_comment(struct decisions *decisions, const struct decision *decided,
                           const struct comment_place *place) {
    struct decisions_key key;
    if (!place->changed) return;
    decisions_key(&key, &decided->command->subject, 1, place->id, 0);
    change(decisions, decided->slot->partition, &key, place->id, &place->comment, sizeof place->comment);
}

static void change_subject(struct decisions *decisions, const struct decision *decided) {
    struct subject_state state = decided->thread.subject;
    struct decisions_key key;
    if (!decided->thread.subject_changed) return;
    state.command = decided->slot->offset;
    decisions_key(&key, &decided->command->subject, 0, 0, 0);
    change(decisions, decided->slot->partition, &key, 0, &state, sizeof state);
}

/* Comments come before subjects: a page with a subject's version has all comments of that version. They come in the order of their ids, so
 * that those which are new are known by it (threads_take). */
static int by_key(const void *a, const void *b, void *keys) {
    const struct decisions_change *x = a, *y = b;
    if (!x->comment != !y->comment) return x->comment ? -1 : 1;
    if (x->partition != y->partition) return x->partition < y->partition ? -1 : 1;
    if (x->comment != y->comment) return x->comment < y->comment ? -1 : 1;
    if (x->comment) return 0;
    if (x->key_size != y->key_size) return x->key_size < y->key_size ? -1 : 1;
    return memcmp((const uint8_t *)keys + x->key, (const uint8_t *)keys + y->key, x->key_size);
}

/* Older comments processes cannot read version 2. Where nobody likes the subject, as before any gateway lets users do so, version 1 says all.
 */
static void encode_subject(struct buffer *out, const struct subject_state *state) {
    const struct comment_subject record = {
        .owner = state->owner,
        .who_may = state->who_may,
        .review = state->review,
        .closed = state->closed,
        .level = state->level,
        .roots = state->roots,
        .visible = state->visible,
        .held = state->held,
        .pinned = {state->pinned, state->pins},
        .structure = state->structure,
        .counters = state->counters,
        .command = state->command,
        .likes = state->likes,
    };
    size_t before = out->size;
    event_encode_comment_subject(out, &record);
    if (state->likes) return;
    event_become_older(out, before, SUBJECT_V1, SUBJECT_V1_LACKS);
}

int decisions_write_slice(struct decisions *decisions) {
    struct decisions_change *changes = decisions->changes;
    uint8_t *keys = decisions->change_keys.data;
    int code = 0;
    if (decisions->change_count) qsort_r(changes, decisions->change_count, sizeof *changes, by_key, keys);
    for (size_t i = 0; !code && i < decisions->change_count; i++) {
        const struct decisions_change *changed = &changes[i];
        const uint8_t *key = keys + changed->key;
        if (i && !by_key(changed, changed - 1, keys)) continue;
        const void *newest = overlay_find(decisions->options.overlays[THREADS_COMMENTS], key, changed->key_size, NULL);
        buffer_clear(&decisions->value);
        if (changed->comment)
            edit_encode_comment(&decisions->value, newest);
        else
            encode_subject(&decisions->value, newest);
        code = write_under(decisions, &TOPIC_COMMENTS, changed->partition, key, changed->key_size);
    }
    decisions_forget_changes(decisions);
    return code;
}

void decisions_forget_changes(struct decisions *decisions) {
    decisions->change_count = 0;
    buffer_clear(&decisions->change_keys);
}

/* ---- texts ---- */

static int write_text(struct decisions *decisions, const struct decision *decided, int64_t id,
                      const struct comment_text *record) {
    static const struct event_text NO_KEY = {"", 0};
    const struct event_text *subject = &decided->command->subject;
    struct decisions_key key, keyed, rested;
    int32_t partition = decided->slot->partition;
    decisions_key(&key, subject, 1, id, 0);
    decisions_client_key(&keyed, subject, record->user, &record->key);
    decisions_client_key(&rested, subject, record->user, &NO_KEY);
    put(decisions, THREADS_TEXTS, partition, &key, &id, sizeof id);
    put(decisions, THREADS_TEXTS, partition, &keyed, &id, sizeof id);
    if (record->rested_at)
        put(decisions, THREADS_TEXTS, partition, &rested, &record->rested_at, sizeof record->rested_at);
    decisions_keep_text(decisions, &key, id, record);
    buffer_clear(&decisions->value);
    edit_encode_comment_text(&decisions->value, record);
    return write_value(decisions, &TOPIC_COMMENT_TEXTS, partition, &key);
}

static int write_made(struct decisions *decisions, const struct decision *decided) {
    const struct comment_command *command = decided->command;
    const struct comment_place *made = &decided->thread.made;
    int64_t id = made->id, tick = ids_tick_of(id);
    struct decisions_key key;
    decisions_tick_key(&key, decided->slot->partition);
    put(decisions, THREADS_COMMENTS, decided->slot->partition, &key, &tick, sizeof tick);
    return write_text(decisions, decided, id,
                      &(struct comment_text){.text = command->text,
                                             .user = command->user,
                                             .key = command->key,
                                             .mentions = command->mentions,
                                             .rested_at = decided->thread.rested_at,
                                             .version = 1,
                                             .editor = -1,
                                             // one that is imported as deleted has nothing of its author
                                             .level = made->comment.state == COMMENT_DELETED ? 0 : command->level});
}

/* The newest text of the comment that the command is about is to be replaced: its key stays, so that a command that is repeated does not make
 * the comment anew. So does when the author has rested, as this may be the author's newest record. client: room for the key. */
static int begin_text(struct decisions *decisions, const struct decision *decided, const struct comment_text *was,
                      struct comment_text *text, char client[COMMENT_CLIENT_KEY_MAX], struct error *error) {
    const struct comment_place *about = &decided->thread.about;
    *text = (struct comment_text){.text = {"", 0},
                                  .user = about->comment.user,
                                  .key = {client, was->key.size},
                                  .version = about->comment.version,
                                  .edited = about->comment.edited,
                                  .editor = was->editor};
    memcpy(client, was->key.data, was->key.size);
    return decisions_rested(decisions, decided->slot->partition, &decided->command->subject, text->user,
                            &text->rested_at, error);
}

/* former NULL: a tombstone. */
static int write_former(struct decisions *decisions, const struct decision *decided, int64_t version,
                        const struct comment_text *former) {
    const struct decisions_options *options = &decisions->options;
    struct decisions_key key;
    decisions_key(&key, &decided->command->subject, 2, decided->thread.about.id, version);
    buffer_clear(&decisions->value);
    if (former) edit_encode_comment_text(&decisions->value, former);
    return options->write(options->context, &TOPIC_COMMENT_TEXTS, decided->slot->partition, key.bytes, key.size,
                          former ? decisions->value.data : NULL, decisions->value.size);
}

static int text_written(int code, struct error *error) {
    return code ? error_set(error, code, "a text could not be written: %s", strerror(-code)) : 0;
}

static int erase_text(struct decisions *decisions, const struct decision *decided, struct error *error) {
    const struct comment_place *about = &decided->thread.about;
    char client[COMMENT_CLIENT_KEY_MAX];
    struct comment_text was, erased;
    int code = decisions_text(decisions, decided, about->id, &was, error);
    if (!code) code = begin_text(decisions, decided, &was, &erased, client, error);
    if (code) return code;
    for (int64_t version = 1; !code && version < about->comment.version; version++)
        code = write_former(decisions, decided, version, NULL);
    if (!code) code = write_text(decisions, decided, about->id, &erased);
    return text_written(code, error);
}

/* A held comment tells nobody before it is approved, so only the newest text of it counts. */
static int write_edit(struct decisions *decisions, const struct decision *decided, struct error *error) {
    static const struct event_longs NOBODY = {.count = 0};
    const struct comment_command *command = decided->command;
    const struct comment_place *about = &decided->thread.about;
    char client[COMMENT_CLIENT_KEY_MAX];
    struct edit_mentions mentions;
    struct comment_text was, text;
    int code = decisions_text(decisions, decided, about->id, &was, error);
    if (code) return code;
    struct comment_text former = {.text = was.text,
                                  .user = was.user,
                                  .key = {"", 0},
                                  .version = was.version,
                                  .edited = was.edited,
                                  .editor = was.editor};
    code = text_written(write_former(decisions, decided, was.version, &former), error);
    if (code) return code;
    edit_mentions_of(&mentions, about->comment.state == COMMENT_HELD ? &NOBODY : &was.mentions, &command->mentions);
    code = begin_text(decisions, decided, &was, &text, client, error);
    if (code) return code;
    text.text = command->text;
    text.mentions = (struct event_longs){.items = mentions.users, .count = mentions.count};
    text.editor = command->user;
    text.level = command->user == text.user ? command->level : was.level;
    if (command->user == text.user && decided->thread.rested_at) text.rested_at = decided->thread.rested_at;
    return text_written(write_text(decisions, decided, about->id, &text), error);
}

/* ---- reactions, refusals, the log ---- */

static int write_reaction(struct decisions *decisions, const struct decision *decided) {
    const struct comment_reaction reaction = {.likes = decided->thread.likes, .reported = decided->thread.reported};
    const struct comment_command *command = decided->command;
    const struct decisions_options *options = &decisions->options;
    struct decisions_key key;
    decisions_key(&key, &command->subject, 2, command->comment, command->user);
    put(decisions, THREADS_REACTIONS, decided->slot->partition, &key, &reaction, sizeof reaction);
    buffer_clear(&decisions->value);
    if (!reaction.likes && !reaction.reported)
        return options->write(options->context, &TOPIC_REACTIONS, decided->slot->partition, key.bytes, key.size, NULL,
                              0);
    event_encode_comment_reaction(&decisions->value, &reaction);
    return write_value(decisions, &TOPIC_REACTIONS, decided->slot->partition, &key);
}

int decisions_write_refusal(struct decisions *decisions, const struct decision *decided,
                            enum comment_refusal_reason reason) {
    const struct comment_command *command = decided->command;
    const struct comment_refusal record = {
        .command = decided->slot->offset, .user = command->user, .key = command->key, .reason = reason};
    struct decisions_key key, keyed;
    decisions_key(&key, &command->subject, 0, 0, 0);
    decisions_client_key(&keyed, &command->subject, command->user, &command->key);
    put(decisions, THREADS_REFUSALS, decided->slot->partition, &keyed, &reason, sizeof reason);
    buffer_clear(&decisions->value);
    edit_encode_comment_refusal(&decisions->value, &record);
    return write_value(decisions, &TOPIC_COMMENT_REFUSALS, decided->slot->partition, &key);
}

/* Whether the log tells of it: everything that somebody did to a comment of somebody else, and reports of subjects. */
static bool is_logged(const struct decision *decided, enum moderation_entry_what *what) {
    const struct comment_command *command = decided->command;
    switch (command->kind) {
    case COMMENT_COMMAND_REPORT: *what = MODERATION_ENTRY_REPORT; return true;
    case COMMENT_COMMAND_HIDE: *what = MODERATION_ENTRY_HIDE; return true;
    case COMMENT_COMMAND_RESTORE: *what = MODERATION_ENTRY_RESTORE; return true;
    case COMMENT_COMMAND_APPROVE: *what = MODERATION_ENTRY_APPROVE; return true;
    case COMMENT_COMMAND_DELETE:
        *what = MODERATION_ENTRY_DELETE;
        return command->user != decided->thread.about.comment.user;
    case COMMENT_COMMAND_EDIT:
        *what = MODERATION_ENTRY_EDIT;
        return command->user != decided->thread.about.comment.user;
    default: return false;
    }
}

static int write_entry(struct decisions *decisions, const struct decision *decided) {
    const struct comment_command *command = decided->command;
    bool of_subject = comment_command_of_subject(command);
    bool changed = of_subject ? decided->thread.reaction_changed : decided->thread.about.changed;
    struct moderation_entry entry = {
        .user = command->user,
        .role = (enum moderation_entry_role)command->role,
        .author = of_subject ? command->owner : decided->thread.about.comment.user,
        .reason = command->kind == COMMENT_COMMAND_EDIT ? command->reason : command->text,
        .time = decided->arrived_ms,
    };
    struct decisions_key key;
    if (!changed || !is_logged(decided, &entry.what)) return 0;
    decisions_key(&key, &command->subject, 2, command->comment, decided->slot->offset);
    buffer_clear(&decisions->value);
    edit_encode_moderation_entry(&decisions->value, &entry);
    return write_value(decisions, &TOPIC_MODERATION_LOG, decided->slot->partition, &key);
}

/* ---- all of it ---- */

int decisions_write_changes(struct decisions *decisions, const struct decision *decided, struct error *error) {
    const struct thread *thread = &decided->thread;
    bool erased = thread->about.changed && decided->command->kind == COMMENT_COMMAND_DELETE;
    int code = erased ? erase_text(decisions, decided, error) : 0;
    if (!code) code = decisions_write_notices(decisions, decided, error);
    if (!code && thread->edited) code = write_edit(decisions, decided, error);
    if (code) return code;
    if (thread->made.changed) code = write_made(decisions, decided);
    if (!code && thread->reaction_changed) code = write_reaction(decisions, decided);
    if (!code) code = write_entry(decisions, decided);
    if (code) return error_set(error, code, "state could not be written: %s", strerror(-code));
    code = decisions_write_wide(decisions, decided, error);
    if (code) return code;
    change_comment(decisions, decided, &thread->made);
    change_comment(decisions, decided, &thread->about);
    change_comment(decisions, decided, &thread->root);
    change_comment(decisions, decided, &thread->answered);
    change_subject(decisions, decided);
    return 0;
}
