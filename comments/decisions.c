#include "comments/decisions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "comments/decisions_private.h"
#include "event/topics.h"
#include "ids/ids.h"

const struct decider_state DECISIONS_STATES[THREADS_STATES] = {
    [THREADS_COMMENTS] = {&TOPIC_COMMENTS, SUBJECT_KEY_MAX, sizeof(struct subject_state)},
    [THREADS_TEXTS] = {&TOPIC_COMMENT_TEXTS, DECISIONS_KEY_MAX, sizeof(int64_t)},
    [THREADS_REACTIONS] = {&TOPIC_REACTIONS, SUBJECT_KEY_MAX, sizeof(struct comment_reaction)},
    [THREADS_REFUSALS] = {&TOPIC_COMMENT_REFUSALS, DECISIONS_KEY_MAX, sizeof(enum comment_refusal_reason)},
};

enum { OWN = 1 /* the first byte of keys that no topic has */, AHEAD_LEAST = 8 /* commands */ };

/* ---- keys ---- */

void decisions_key(struct decisions_key *key, const struct event_text *subject, int numbers, int64_t comment,
                   int64_t second) {
    const struct subject_key parts = {
        .subject = subject->data, .size = subject->size, .numbers = numbers, .comment = comment, .second = second};
    key->size = subject_key_write(key->bytes, &parts);
}

void decisions_client_key(struct decisions_key *key, const struct event_text *subject, int64_t user,
                          const struct event_text *client) {
    uint8_t *at = key->bytes;
    *at++ = OWN;
    memcpy(at, subject->data, subject->size);
    at += subject->size;
    *at++ = 0;
    bytes_put_be64(at, (uint64_t)user);
    at += 8;
    memcpy(at, client->data, client->size);
    key->size = (size_t)(at - key->bytes) + client->size;
}

void decisions_tick_key(struct decisions_key *key, int32_t partition) {
    key->bytes[0] = OWN;
    bytes_put_be32(key->bytes + 1, (uint32_t)partition);
    key->size = 5;
}

static const void *pending(const struct decisions *decisions, enum threads_state state,
                           const struct decisions_key *key) {
    return overlay_find(decisions->options.overlays[state], key->bytes, key->size, NULL);
}

/* ---- the newest state ---- */

int decisions_subject(struct decisions *decisions, int32_t partition, const struct event_text *subject,
                      struct subject_state *state, struct error *error) {
    struct decisions_key key;
    decisions_key(&key, subject, 0, 0, 0);
    const struct subject_state *newest = pending(decisions, THREADS_COMMENTS, &key);
    if (!newest) return threads_subject(decisions->options.threads, partition, subject, state, error);
    *state = *newest;
    return 1;
}

int decisions_comment(struct decisions *decisions, int32_t partition, const struct event_text *subject, int64_t id,
                      struct comment *comment, struct error *error) {
    struct decisions_key key;
    decisions_key(&key, subject, 1, id, 0);
    const struct comment *newest = pending(decisions, THREADS_COMMENTS, &key);
    if (!newest) return threads_comment(decisions->options.threads, partition, subject, id, comment, error);
    *comment = *newest;
    return 1;
}

int decisions_made(struct decisions *decisions, int32_t partition, const struct event_text *subject, int64_t user,
                   const struct event_text *client, int64_t *id, struct error *error) {
    struct decisions_key key;
    decisions_client_key(&key, subject, user, client);
    const int64_t *newest = pending(decisions, THREADS_TEXTS, &key);
    if (!newest) return threads_key(decisions->options.threads, partition, subject, user, client, id, error);
    *id = *newest;
    return 1;
}

int decisions_refused(struct decisions *decisions, int32_t partition, const struct event_text *subject, int64_t user,
                      const struct event_text *client, int64_t now_ms, enum comment_refusal_reason *reason,
                      struct error *error) {
    struct decisions_key key;
    decisions_client_key(&key, subject, user, client);
    const enum comment_refusal_reason *newest = pending(decisions, THREADS_REFUSALS, &key);
    if (!newest)
        return threads_refusal(decisions->options.threads, partition, subject, user, client, now_ms, reason, error);
    *reason = *newest;
    return 1;
}

int decisions_rested(struct decisions *decisions, int32_t partition, const struct event_text *subject, int64_t user,
                     int64_t *rested_at, struct error *error) {
    static const struct event_text NO_KEY = {"", 0};
    struct decisions_key key;
    decisions_client_key(&key, subject, user, &NO_KEY);
    const int64_t *newest = pending(decisions, THREADS_TEXTS, &key);
    *rested_at = newest ? *newest : 0;
    int code = newest ? 0 : threads_rested(decisions->options.threads, partition, subject, user, rested_at, error);
    return code < 0 ? code : 0;
}

int decisions_reaction(struct decisions *decisions, int32_t partition, const struct event_text *subject, int64_t id,
                       int64_t user, struct comment_reaction *reaction, struct error *error) {
    struct decisions_key key;
    decisions_key(&key, subject, 2, id, user);
    const struct comment_reaction *newest = pending(decisions, THREADS_REACTIONS, &key);
    if (newest) {
        *reaction = *newest;
        return 1;
    }
    return threads_reaction(decisions->options.threads, partition, subject, id, user, reaction, error);
}

/* A subject on fire always has something that is not read back yet, so its record says up to which command it is. */
static int subject_is_read(struct decisions *decisions, int32_t partition, const struct event_text *subject,
                           int64_t offset, struct error *error) {
    struct subject_state state;
    struct decisions_key key;
    decisions_key(&key, subject, 0, 0, 0);
    if (!pending(decisions, THREADS_COMMENTS, &key)) return 1;
    int code = threads_subject(decisions->options.threads, partition, subject, &state, error);
    return code == 1 ? state.command >= offset : code;
}

int decisions_is_read(struct decisions *decisions, int32_t partition, const struct event_text *subject, int64_t offset,
                      int64_t user, const struct event_text *client, int64_t comment, struct error *error) {
    struct decisions_key key;
    decisions_client_key(&key, subject, user, client);
    if (pending(decisions, THREADS_TEXTS, &key)) return 0;
    decisions_key(&key, subject, 2, comment, user);
    if (pending(decisions, THREADS_REACTIONS, &key)) return 0;
    decisions_key(&key, subject, 1, comment, 0);
    if (comment && pending(decisions, THREADS_TEXTS, &key)) return 0;
    return subject_is_read(decisions, partition, subject, offset, error);
}

/* ---- the thread that a command finds ---- */

static int find_place(struct decisions *decisions, const struct decision *decided, int64_t id,
                      struct comment_place *place, struct error *error) {
    if (!id) return 0;
    int code =
        decisions_comment(decisions, decided->slot->partition, &decided->command->subject, id, &place->comment, error);
    if (code == 1) place->id = id;
    return code < 0 ? code : 0;
}

/* The comments that count the one that the command is about. Likes, reports and pins change none of them. */
static int find_above(struct decisions *decisions, struct decision *decided, struct error *error) {
    struct thread *thread = &decided->thread;
    enum comment_command_kind kind = decided->command->kind;
    if (!thread->about.comment.root || kind == COMMENT_COMMAND_LIKE || kind == COMMENT_COMMAND_UNLIKE ||
        kind == COMMENT_COMMAND_REPORT || kind == COMMENT_COMMAND_PIN || kind == COMMENT_COMMAND_UNPIN)
        return 0;
    int code = find_place(decisions, decided, thread->about.comment.root, &thread->root, error);
    if (code || thread->about.comment.answers == thread->about.comment.root) return code;
    return find_place(decisions, decided, thread->about.comment.answers, &thread->answered, error);
}

static int64_t next_id(struct decisions *decisions, const struct decision *decided) {
    struct decisions_key key;
    decisions_tick_key(&key, decided->slot->partition);
    const int64_t *newest = pending(decisions, THREADS_COMMENTS, &key);
    int64_t last = newest ? *newest : threads_last_tick(decisions->options.threads, decided->slot->partition);
    return ids_make(ids_tick(decided->arrived_ms, decided->slot->offset, last), decided->slot->partition);
}

/* Whether the newest text is the command's, by the same user's edit. */
static int find_repeat(struct decisions *decisions, struct decision *decided, struct error *error) {
    const struct comment_command *command = decided->command;
    struct comment_text text;
    int code = decisions_text(decisions, decided, decided->thread.about.id, &text, error);
    decided->thread.repeats = !code && text.editor == command->user && text.text.size == command->text.size &&
                              memcmp(text.text.data, command->text.data, text.text.size) == 0;
    return code;
}

static int find_thread(struct decisions *decisions, struct decision *decided, struct error *error) {
    const struct comment_command *command = decided->command;
    const struct decisions_options *options = &decisions->options;
    struct thread *thread = &decided->thread;
    struct comment_reaction reaction = {.likes = false};
    int32_t partition = decided->slot->partition;
    int code = decisions_subject(decisions, partition, &command->subject, &thread->subject, error);
    if (code < 0) return code;
    thread->registered = code;
    code = find_place(decisions, decided, command->comment, &thread->about, error);
    if (!code && thread->about.id) code = find_above(decisions, decided, error);
    bool writes = comment_command_writes(command->kind), edits = command->kind == COMMENT_COMMAND_EDIT;
    bool there = thread->about.id || comment_command_of_subject(command);
    if (!code && there && edits)
        code = find_repeat(decisions, decided, error);
    else if (!code && there && !writes)
        code = decisions_reaction(decisions, partition, &command->subject, command->comment, command->user, &reaction,
                                  error);
    if (code < 0) return code;
    thread->likes = reaction.likes;
    thread->reported = reaction.reported;
    if (writes || edits || command->kind == COMMENT_COMMAND_LIKE)
        thread->banned = options->banned(options->context, command->user, decided->arrived_ms);
    if (writes) thread->made.id = next_id(decisions, decided);
    if (writes || edits) {
        thread->now_ms = decided->arrived_ms;
        thread->rate = options->rate;
        if (options->rate.interval_ms)
            return decisions_rested(decisions, partition, &command->subject, command->user, &thread->rested_at, error);
    }
    return 0;
}

/* ---- commands ---- */

/* The same text in a copy of the value, if it lies in the value. */
static struct event_text text_in(const struct event_text *text, const struct kafka_record *record,
                                 const uint8_t *copy) {
    const uint8_t *data = (const uint8_t *)text->data, *value = record->value;
    bool within = data >= value && data + text->size <= value + record->value_size;
    return within ? (struct event_text){(const char *)copy + (data - value), text->size} : (struct event_text){"", 0};
}

int decisions_read(struct decisions *decisions, const struct kafka_record *record, struct comment_item *item,
                   struct error *error) {
    struct comment_command command;
    *item = (struct comment_item){.arrived_ms = record->timestamp};
    if (!record->value) return error_set(error, -EBADMSG, "a command needs a value");
    int code = event_decode_comment_command(decisions->codec, record->value, record->value_size, &command, error);
    if (code) return code;
    const char *reason = comment_command_complaint(&command);
    if (!reason &&
        hash_partition(command.subject.data, command.subject.size, decisions->options.partitions) != record->partition)
        reason = "not in the partition of its subject";
    if (reason) return error_set(error, -EINVAL, "%s", reason);
    item->value = mem_alloc(record->value_size);
    item->size = record->value_size;
    memcpy(item->value, record->value, record->value_size);
    item->kind = command.kind;
    item->user = command.user;
    item->comment = command.comment;
    item->of_subject = comment_command_of_subject(&command);
    item->subject = text_in(&command.subject, record, item->value);
    item->client = text_in(&command.key, record, item->value);
    return 0;
}

void decisions_release(void *item) { free(((struct comment_item *)item)->value); }

/* 1: the key has its outcome already. */
static int is_repeated(struct decisions *decisions, const struct decision *decided, struct error *error) {
    const struct comment_command *command = decided->command;
    enum comment_refusal_reason reason;
    int64_t id;
    int code = 0;
    if (comment_command_writes(command->kind))
        code = decisions_made(decisions, decided->slot->partition, &command->subject, command->user, &command->key, &id,
                              error);
    if (!code)
        code = decisions_refused(decisions, decided->slot->partition, &command->subject, command->user, &command->key,
                                 decided->arrived_ms, &reason, error);
    return code;
}

/* ---- refusals that are no state ---- */

static void note_passing(struct decisions *decisions, const struct decider_command *slot, int refused,
                         int64_t wait_ms) {
    decisions->passing[slot->offset % DECISIONS_PASSING] = (struct passing_refusal){
        .partition = slot->partition, .refused = refused, .offset = slot->offset, .wait_ms = wait_ms};
}

int decisions_passing(const struct decisions *decisions, int32_t partition, int64_t offset, int64_t *wait_ms) {
    const struct passing_refusal *passing = &decisions->passing[offset % DECISIONS_PASSING];
    if (!passing->refused || passing->partition != partition || passing->offset != offset) return THREAD_DONE;
    *wait_ms = passing->wait_ms;
    return passing->refused;
}

/* An import names comments by their keys: their ids are given by the commands before it. */
static int resolve(struct decisions *decisions, const struct decision *decided, struct comment_command *command,
                   struct error *error) {
    if (!command->named_key.size) return 0;
    int code = decisions_made(decisions, decided->slot->partition, &command->subject, command->named_user,
                              &command->named_key, &command->comment, error);
    return code < 0 ? code : 0;
}

static int decide_one(struct decisions *decisions, const struct decider_command *slot, struct error *error) {
    const struct comment_item *item = slot->item;
    struct comment_command command;
    struct decision decided = {.slot = slot, .arrived_ms = item->arrived_ms, .command = &command};
    int code = event_decode_comment_command(decisions->codec, item->value, item->size, &command, error);
    if (!code) code = is_repeated(decisions, &decided, error);
    if (code) return code < 0 ? code : 0;
    code = resolve(decisions, &decided, &command, error);
    if (!code) code = find_thread(decisions, &decided, error);
    if (code) return code;
    int refused = thread_decide(&command, &decided.thread);
    if (refused == THREAD_DONE) return decisions_write_changes(decisions, &decided, error);
    if (refused == THREAD_TOO_FAST || refused == THREAD_OLD_FACTS) {
        note_passing(decisions, slot, refused, decided.thread.wait_ms);
        return 0;
    }
    code = decisions_write_refusal(decisions, &decided, (enum comment_refusal_reason)refused);
    return code ? error_set(error, code, "a refusal could not be written: %s", strerror(-code)) : 0;
}

/* Says what the command will look up, but for what is not read back yet, and for what many commands share. */
static void want(struct decisions *decisions, const struct decider_command *slot) {
    struct threads *threads = decisions->options.threads;
    const struct comment_item *item = slot->item;
    bool writes = comment_command_writes(item->kind);
    struct decisions_key key;
    if (!item->subject.size) return;
    decisions_key(&key, &item->subject, 1, item->comment, 0);
    if (item->comment && !pending(decisions, THREADS_COMMENTS, &key))
        threads_want_comment(threads, slot->partition, &item->subject, item->comment);
    decisions_key(&key, &item->subject, 2, item->comment, item->user);
    if ((item->comment || item->of_subject) && !writes && !pending(decisions, THREADS_REACTIONS, &key))
        threads_want_reaction(threads, slot->partition, &item->subject, item->comment, item->user);
    if (!writes) return;
    threads_want_key(threads, slot->partition, &item->subject, item->user, &item->client);
    if (decisions->options.rate.interval_ms) threads_want_rested(threads, slot->partition, &item->subject, item->user);
}

/* A few commands find their rows as fast without it. If it fails, so will a look-up that says for which partition. */
static void read_ahead(struct decisions *decisions, const struct decider_command *slice, size_t count) {
    if (count < AHEAD_LEAST) return;
    for (size_t i = 0; i < count; i++) want(decisions, &slice[i]);
    if (threads_read_ahead(decisions->options.threads, NULL)) threads_forget_ahead(decisions->options.threads);
}

int decisions_run(struct decisions *decisions, const struct decider_command *slice, size_t count, int32_t *partition,
                  struct error *error) {
    int code = 0;
    decisions_forget_changes(decisions);
    if (decisions->text_count > decisions->text_limit) decisions_forget_texts(decisions, false);
    read_ahead(decisions, slice, count);
    for (size_t i = 0; !code && i < count; i++) {
        *partition = slice[i].partition;
        code = decide_one(decisions, &slice[i], error);
    }
    threads_forget_ahead(decisions->options.threads);
    if (code) return code;
    code = decisions_write_slice(decisions);
    return code ? error_set(error, code, "state could not be written: %s", strerror(-code)) : 0;
}

struct decisions *decisions_new(const struct decisions_options *options) {
    struct decisions *decisions = mem_alloc(sizeof *decisions);
    *decisions = (struct decisions){.options = *options, .codec = codec_new(), .texts = map_new()};
    return decisions;
}

void decisions_free(struct decisions *decisions) {
    if (!decisions) return;
    decisions_forget_texts(decisions, true);
    map_free(decisions->texts);
    codec_free(decisions->codec);
    buffer_free(&decisions->value);
    free(decisions->changes);
    buffer_free(&decisions->change_keys);
    free(decisions);
}
