#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "event/topics.h"
#include "feed/commands_private.h"
#include "feed/notices.h"

enum { COUNT_KEY_SIZE = 9 };

static const struct follower_command *command_of(const struct decider_command *slot) {
    return &((const struct command_item *)slot->item)->follower;
}

/* ---- what the next command finds ---- */

static void count_key(uint8_t key[COUNT_KEY_SIZE], int64_t author) {
    bytes_put_be64(key, (uint64_t)author);
    key[8] = 0;
}

/* since: the time of its record in Kafka; 0: not known. */
static int read_half_now(const struct feed_commands *commands, int32_t partition, const struct relation_half *half,
                         bool *set, int64_t *since, struct error *error) {
    const int64_t *newest = commands_newest_relation(commands, half);
    if (!newest) return relation_lists_since(commands->options.relations, partition, half, set, since, error);
    *set = *newest != 0;
    *since = *newest;
    return 0;
}

static int is_for_followers_now(const struct feed_commands *commands, int32_t partition, int64_t author,
                                bool *for_followers, struct error *error) {
    uint8_t key[VISIBILITY_KEY_SIZE];
    bytes_put_be64(key, (uint64_t)author);
    const int64_t *newest = overlay_find(commands->visibility, key, sizeof key, NULL);
    if (!newest)
        return visibility_is_for_followers(commands->options.visibility, partition, author, for_followers, error);
    *for_followers = *newest != 0;
    return 0;
}

static int count_requests_now(const struct feed_commands *commands, int32_t partition, int64_t author, size_t *count,
                              struct error *error) {
    uint8_t key[COUNT_KEY_SIZE];
    count_key(key, author);
    const int64_t *newest = overlay_find(commands->relations, key, sizeof key, NULL);
    if (!newest)
        return relation_lists_count(commands->options.relations, partition, author, RELATION_REQUESTED, count, error);
    *count = (size_t)*newest;
    return 0;
}

static int read_follower_now(const struct feed_commands *commands, int32_t partition,
                             const struct follower_command *command, struct follower_now *now, struct error *error) {
    const struct relation_half follow = {command->author, command->reader, RELATION_FOLLOWER},
                               request = {command->author, command->reader, RELATION_REQUESTED};
    int64_t followed = 0, requested = 0;
    *now = (struct follower_now){.follows = false};
    int code = read_half_now(commands, partition, &follow, &now->follows, &followed, error);
    if (!code) code = read_half_now(commands, partition, &request, &now->requested, &requested, error);
    if (!code)
        code = blocks_has(commands->options.blocks, partition, command->author, command->reader, &now->blocked, error);
    if (!code) code = is_for_followers_now(commands, partition, command->author, &now->for_followers, error);
    if (!code) code = count_requests_now(commands, partition, command->author, &now->requests, error);
    now->since = now->follows ? followed : requested;
    return code;
}

/* ---- what it makes ---- */

/* Both halves of a follow or of a request. since 0: tombstones. */
static int write_both(struct feed_commands *commands, int32_t partition, int64_t author, int64_t reader, bool request,
                      int64_t since) {
    const struct relation_half half = {author, reader, request ? RELATION_REQUESTED : RELATION_FOLLOWER},
                               mirror = {reader, author, request ? RELATION_REQUESTING : RELATION_FOLLOWING};
    commands_note_half(commands, partition, &half, since != 0);
    int code = commands_write_half(commands, &half, since);
    return code ? code : commands_write_half(commands, &mirror, since);
}

static void note_requests(struct feed_commands *commands, int32_t partition, int64_t author, size_t requests) {
    uint8_t key[COUNT_KEY_SIZE];
    int64_t count = (int64_t)requests;
    count_key(key, author);
    overlay_put(commands->relations, partition, 0, key, sizeof key, &count, sizeof count);
}

static int tell(struct feed_commands *commands, enum notice_kind kind, int64_t user, int64_t other, int64_t time) {
    return notices_write_relation(commands->decider, commands->options.partitions, kind, user, other, time);
}

/* A reader who has asked hears that the author accepts. */
static int follow(struct feed_commands *commands, int32_t partition, int64_t author, int64_t reader, bool requested,
                  int64_t time) {
    int code = write_both(commands, partition, author, reader, false, time);
    if (!code && requested) code = write_both(commands, partition, author, reader, true, 0);
    if (!code && requested) code = tell(commands, NOTICE_OF_ACCEPTED, reader, author, time);
    return code;
}

static int change(struct feed_commands *commands, const struct decider_command *slot, const struct follower_now *now,
                  enum follower_verdict verdict) {
    const struct follower_command *command = command_of(slot);
    int64_t author = command->author, reader = command->reader;
    int32_t partition = slot->partition;
    size_t requests = now->requests - now->requested + (verdict == FOLLOWER_REQUESTS);
    int code = 0;
    if (requests != now->requests) note_requests(commands, partition, author, requests);
    if (verdict == FOLLOWER_REQUESTS) {
        code = write_both(commands, partition, author, reader, true, command->time);
        return code ? code : tell(commands, NOTICE_OF_REQUEST, author, reader, command->time);
    }
    if (verdict == FOLLOWER_FOLLOWS) {
        code = follow(commands, partition, author, reader, now->requested, command->time);
        // the author knows whom he accepts
        if (!code && command->kind == FOLLOWER_COMMAND_ASK)
            code = tell(commands, NOTICE_OF_FOLLOW, author, reader, command->time);
        return code;
    }
    if (now->follows) code = write_both(commands, partition, author, reader, false, 0);
    if (!code && now->requested) code = write_both(commands, partition, author, reader, true, 0);
    return code;
}

static int refuse(struct feed_commands *commands, const struct decider_command *slot,
                  enum follow_refusal_reason reason) {
    const struct follow_refusal refusal = {
        .command = slot->offset, .reason = reason, .author = command_of(slot)->author};
    uint8_t key[COMMANDS_REFUSAL_KEY_SIZE], author[8];
    int64_t noted = reason;
    commands_refusal_key(key, slot->partition, slot->offset);
    overlay_put(commands->refusals, slot->partition, 0, key, sizeof key, &noted, sizeof noted);
    bytes_put_be64(author, (uint64_t)refusal.author);
    buffer_clear(&commands->value);
    event_encode_follow_refusal(&commands->value, &refusal);
    return decider_write(commands->decider, &TOPIC_FOLLOW_REFUSALS, slot->partition, author, sizeof author,
                         commands->value.data, commands->value.size);
}

static int decide_pair(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    const struct follower_command *command = command_of(slot);
    struct follower_now now;
    int code = read_follower_now(commands, slot->partition, command, &now, error);
    if (code) return code;
    enum follower_verdict verdict = follower_decide(command, &now, commands->options.following_max);
    switch (verdict) {
    case FOLLOWER_NOTHING: return 0;
    case FOLLOWER_FOLLOWS:
    case FOLLOWER_REQUESTS:
    case FOLLOWER_ENDS: code = change(commands, slot, &now, verdict); break;
    case FOLLOWER_BLOCKED: code = refuse(commands, slot, FOLLOW_REFUSAL_BLOCKED); break;
    case FOLLOWER_FULL: code = refuse(commands, slot, FOLLOW_REFUSAL_FULL); break;
    case FOLLOWER_CROWDED: code = refuse(commands, slot, FOLLOW_REFUSAL_REQUESTS); break;
    }
    return code ? commands_not_written(code, error) : 0;
}

/* ---- who sees the posts ---- */

static int write_visibility(struct feed_commands *commands, int32_t partition, int64_t author, int64_t since) {
    const struct visibility record = {.posts = VISIBILITY_FOLLOWERS, .since = since};
    uint8_t key[VISIBILITY_KEY_SIZE];
    bytes_put_be64(key, (uint64_t)author);
    overlay_put(commands->visibility, partition, 0, key, sizeof key, &since, sizeof since);
    buffer_clear(&commands->value);
    if (since) event_encode_visibility(&commands->value, &record);
    return decider_write(commands->decider, &TOPIC_VISIBILITY, partition, key, sizeof key,
                         since ? commands->value.data : NULL, commands->value.size);
}

/* Requests of the author that the store has, and those that are not read back yet; some of both may have ended. */
static int gather_requests(struct feed_commands *commands, int32_t partition, int64_t author, struct id_list *readers,
                           struct error *error) {
    struct relation_half half;
    int code = relation_lists_all(commands->options.relations, partition, author, RELATION_REQUESTED, readers, error);
    struct overlay_entry entry = overlay_first(commands->relations, (uint64_t)author);
    for (; !code && entry.key; overlay_next(&entry)) {
        size_t at;
        if (!relation_key_read(entry.key, entry.key_size, &half) || half.relation != RELATION_REQUESTED ||
            half.user != author || id_list_find(readers, half.other, &at))
            continue;
        id_list_reserve(readers, readers->count + 1);
        for (size_t i = readers->count++; i > at; i--) readers->items[i] = readers->items[i - 1];
        readers->items[at] = half.other;
    }
    return code;
}

/* A reader across a block keeps nothing: the block's own command has not come yet. */
static int accept_all(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    const struct follower_command *command = command_of(slot);
    int32_t partition = slot->partition;
    struct id_list *readers = &commands->readers;
    int code = gather_requests(commands, partition, command->author, readers, error);
    for (size_t i = 0; !code && i < readers->count; i++) {
        const struct follower_command accept = {.kind = FOLLOWER_COMMAND_ACCEPT,
                                                .author = command->author,
                                                .reader = readers->items[i],
                                                .time = command->time};
        struct follower_now now;
        code = read_follower_now(commands, partition, &accept, &now, error);
        if (code || !now.requested) continue;
        if (now.blocked)
            code = write_both(commands, partition, accept.author, accept.reader, true, 0);
        else
            code = follow(commands, partition, accept.author, accept.reader, true, command->time);
        if (code) return commands_not_written(code, error);
    }
    if (!code) note_requests(commands, partition, command->author, 0);
    return code;
}

static int decide_visibility(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    const struct follower_command *command = command_of(slot);
    bool wanted = command->kind == FOLLOWER_COMMAND_FOLLOWERS, is;
    int code = is_for_followers_now(commands, slot->partition, command->author, &is, error);
    if (code || is == wanted) return code;
    if (!wanted) code = accept_all(commands, slot, error);
    if (code) return code;
    code = write_visibility(commands, slot->partition, command->author, wanted ? command->time : 0);
    return code ? commands_not_written(code, error) : 0;
}

int commands_decide_follower(struct feed_commands *commands, const struct decider_command *slot, struct error *error) {
    return (command_of(slot)->reader < 0 ? decide_visibility : decide_pair)(commands, slot, error);
}

/* ---- records that are read back ---- */

bool feed_commands_refused(const struct feed_commands *commands, int32_t partition, int64_t command,
                           enum follow_refusal_reason *reason) {
    uint8_t key[COMMANDS_REFUSAL_KEY_SIZE];
    commands_refusal_key(key, partition, command);
    const int64_t *noted = overlay_find(commands->refusals, key, sizeof key, NULL);
    if (noted) *reason = (enum follow_refusal_reason) * noted;
    return noted;
}

bool feed_commands_follower_read(const struct feed_commands *commands, int64_t author, int64_t reader) {
    const struct relation_half follow = {author, reader, RELATION_FOLLOWER},
                               request = {author, reader, RELATION_REQUESTED};
    return !commands_newest_relation(commands, &follow) && !commands_newest_relation(commands, &request);
}

bool feed_commands_visibility_read(const struct feed_commands *commands, int64_t author) {
    uint8_t key[VISIBILITY_KEY_SIZE];
    bytes_put_be64(key, (uint64_t)author);
    return !overlay_find(commands->visibility, key, sizeof key, NULL);
}
