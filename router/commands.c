#include "router/commands.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "decider/identity.h"
#include "event/codec.h"
#include "event/topics.h"
#include "router/router_private.h"
#include "users/half.h"

enum { USER_KEY_SIZE = 8 };

static const struct topic *const COMMANDS[] = {&TOPIC_FRIEND_COMMANDS, &TOPIC_LINK_COMMANDS};
static const struct decider_state STATES[] = {{&TOPIC_FRIENDSHIPS, HALF_KEY_SIZE, sizeof(struct friendship)},
                                              {&TOPIC_LINKS, USER_KEY_SIZE, sizeof(struct link_row)}};

union router_command {
    struct friend_command friend;
    struct link_command link;
};

/* The user whose half decides a command. Commands of one user stand together in a slice, in order of offsets, and users as
 * they stand in the store. */
struct friend_decision {
    int64_t lower;
    const struct decider_command *command;
};

struct commands {
    const struct router *router;
    struct decider *decider;
    struct overlay *overlay; /* lower user, higher user -> the lower user's half; its group is the lower user */
    struct overlay *links;   /* user -> struct link_row */
    struct codec *codec;
    struct buffer value;
    struct friend_decision *slice;
    size_t slice_capacity;
    struct id_list lists[GRAPH_MANY]; /* of the users whose commands are being decided */
};

/* ---- reading ---- */

/* NULL: a command that can be handled here; else why it cannot. */
static const char *complaint(const struct commands *commands, int32_t partition, const struct friend_command *command) {
    if (!friendship_command_valid(command)) return "from and to must be two users";
    if (command->time <= 0 || command->since < 0) return "the time is out of range";
    int64_t lower = friendship_lower(command->from, command->to);
    if (hash_user_partition(lower, commands->router->partitions) != partition)
        return "not in the partition of the lower user of the pair";
    return NULL;
}

static int read_link_command(struct commands *commands, const struct kafka_record *record, struct link_command *item,
                             struct error *error) {
    int code = event_decode_link_command(commands->codec, record->value, record->value_size, item, error);
    if (code) return code;
    const char *reason = link_command_complaint(item);
    if (!reason && hash_user_partition(item->user, commands->router->partitions) != record->partition)
        reason = "not in the partition of its user";
    return reason ? error_set(error, -EINVAL, "%s", reason) : 0;
}

static int read_command(void *context, const struct kafka_record *record, void *item, struct error *error) {
    struct commands *commands = context;
    if (record->topic == &TOPIC_LINK_COMMANDS) return read_link_command(commands, record, item, error);
    int code = event_decode_friend_command(commands->codec, record->value, record->value_size, item, error);
    const char *reason = code ? NULL : complaint(commands, record->partition, item);
    return reason ? error_set(error, -EINVAL, "%s", reason) : code;
}

/* ---- deciding ---- */

static const struct friendship *newest_half(const struct commands *commands, int64_t lower, int64_t other) {
    uint8_t pair[HALF_KEY_SIZE];
    half_key_put(pair, lower, other);
    return overlay_find(commands->overlay, pair, sizeof pair, NULL);
}

int commands_half(struct commands *commands, int32_t partition, int64_t lower, int64_t other, struct friendship *half,
                  struct error *error) {
    const struct friendship *newest = newest_half(commands, lower, other);
    if (!newest) return graph_half(commands->router->graph, partition, lower, other, half, NULL, error);
    *half = *newest;
    return 0;
}

static int send_half(struct commands *commands, int64_t user, int64_t other, const struct friendship *half) {
    uint8_t pair[HALF_KEY_SIZE];
    half_key_put(pair, user, other);
    buffer_clear(&commands->value);
    bool tombstone = friendship_empty(half);
    if (!tombstone) half_encode(&commands->value, half);
    commands->router->metrics.halves->value++;
    return decider_write(commands->decider, &TOPIC_FRIENDSHIPS, hash_user_partition(user, commands->router->partitions),
                         pair, sizeof pair, tombstone ? NULL : commands->value.data, commands->value.size);
}

/* How much the halves that wait to be read back change the number of friends on the lower user's list. */
static int64_t growth(const struct commands *commands, int64_t lower, const struct id_list *list) {
    int64_t sum = 0;
    size_t at;
    for (struct overlay_entry e = overlay_first(commands->overlay, (uint64_t)lower); e.key; overlay_next(&e)) {
        int64_t other = half_key_other(e.key);
        sum += friendship_made(e.value) - id_list_find(list, other, &at);
    }
    return sum;
}

/* Whether the lower user's list is at its cap, those included that wait to be read back. */
static bool is_full(const struct commands *commands, int64_t lower, const struct id_list *list) {
    size_t cap = (size_t)commands->router->settings->friends_cap;
    if (list->count + overlay_waiting(commands->overlay, (uint64_t)lower) < cap) return false;
    return (int64_t)list->count + growth(commands, lower, list) >= (int64_t)cap;
}

static int decide_one(struct commands *commands, const struct friend_decision *decision, const struct id_list *list,
                      struct error *error) {
    const struct friend_command *command = decision->command->item;
    int32_t partition = decision->command->partition;
    int64_t lower = decision->lower, higher = friendship_higher(command->from, command->to);
    const struct friendship *newest = newest_half(commands, lower, higher);
    // A REMOVE may ask for it, and who rounds keeps it; for all else it does not matter.
    bool with_since = (command->kind == FRIEND_COMMAND_REMOVE && command->since) ||
                      command->kind == FRIEND_COMMAND_ROUND || command->kind == FRIEND_COMMAND_EXACT;
    struct friendship half, next;
    int code = 0;
    if (newest)
        half = *newest;
    else
        code = graph_half_beside(commands->router->graph, partition, lower, list, higher, with_since, &half, error);
    if (code || !friendship_decide(&half, command, is_full(commands, lower, list), &next)) return code;

    struct friendship mirror = friendship_mirror(&next);
    uint8_t pair[HALF_KEY_SIZE];
    half_key_put(pair, lower, higher);
    overlay_put(commands->overlay, partition, (uint64_t)lower, pair, sizeof pair, &next, sizeof next);
    code = send_half(commands, lower, higher, &next);
    if (!code) code = send_half(commands, higher, lower, &mirror);
    return code ? error_set(error, code, "a half could not be written: %s", strerror(-code)) : 0;
}

static int by_user(const void *a, const void *b) {
    const struct friend_decision *x = a, *y = b;
    if (x->command->partition != y->command->partition) return x->command->partition < y->command->partition ? -1 : 1;
    if (x->lower != y->lower) return x->lower < y->lower ? -1 : 1;
    return (x->command > y->command) - (x->command < y->command); // as they came: they stand in one array
}

/* Those of the first users of a partition, whose lists are read at once; *from: behind them. */
static int decide_some(struct commands *commands, size_t *from, size_t count, struct error *error) {
    const struct friend_decision *slice = commands->slice;
    int32_t partition = slice[*from].command->partition;
    int64_t users[GRAPH_MANY];
    size_t user_count = 0, to = *from;
    for (; to < count && slice[to].command->partition == partition; to++) {
        if (user_count && users[user_count - 1] == slice[to].lower) continue;
        if (user_count == GRAPH_MANY) break;
        users[user_count++] = slice[to].lower;
    }
    int code = graph_friends_many(commands->router->graph, partition, users, user_count, commands->lists, error);
    for (size_t user = 0; !code && *from < to; (*from)++) {
        while (users[user] != slice[*from].lower) user++;
        code = decide_one(commands, &slice[*from], &commands->lists[user], error);
    }
    return code;
}

static int send_links(struct commands *commands, int32_t partition, int64_t user, const struct link_row *row) {
    uint8_t key[USER_KEY_SIZE];
    bytes_put_be64(key, (uint64_t)user);
    buffer_clear(&commands->value);
    event_encode_user_links(&commands->value,
                            &(struct user_links){.links = {.items = row->links, .count = row->count}});
    overlay_put(commands->links, partition, 0, key, sizeof key, row, sizeof *row);
    return decider_write(commands->decider, &TOPIC_LINKS, partition, key, sizeof key,
                         row->count ? commands->value.data : NULL, row->count ? commands->value.size : 0);
}

void commands_links(const struct commands *commands, int32_t partition, int64_t user, struct link_row *row) {
    uint8_t key[USER_KEY_SIZE];
    bytes_put_be64(key, (uint64_t)user);
    const struct link_row *newest = overlay_find(commands->links, key, sizeof key, NULL);
    if (newest)
        *row = *newest;
    else
        links_read(commands->router->links, partition, user, row);
}

static int decide_link(struct commands *commands, int32_t partition, const struct link_command *command,
                       struct error *error) {
    const struct router *router = commands->router;
    struct link_moment moment = {.now = report_clock_now(router->clock)};
    if (opting_refuses(router->opting, partition, command->user, command->opted, &moment.opted))
        moment.opted = -1;
    else if (command->opted > moment.opted) // sharing is read a moment later
        moment.opted = command->opted;
    struct link_row row;
    commands_links(commands, partition, command->user, &row);
    if (!link_row_decide(&row, command, &moment)) return 0;
    int code = send_links(commands, partition, command->user, &row);
    return code ? error_set(error, code, "links could not be written: %s", strerror(-code)) : 0;
}

/* Users do not depend on each other, so that each one's friends are read once for all commands of a slice. */
static int decide(void *context, struct decider_command *slice, size_t count, struct error *error) {
    struct commands *commands = context;
    size_t friends = 0;
    int code = 0;
    report_clock_tick(commands->router->clock);
    MEM_FIT(commands->slice, count, commands->slice_capacity);
    for (size_t i = 0; !code && i < count; i++) {
        const union router_command *item = slice[i].item;
        if (slice[i].topic == &TOPIC_LINK_COMMANDS)
            code = decide_link(commands, slice[i].partition, &item->link, error);
        else
            commands->slice[friends++] = (struct friend_decision){
                .lower = friendship_lower(item->friend.from, item->friend.to), .command = &slice[i]};
    }
    qsort(commands->slice, friends, sizeof *commands->slice, by_user);
    for (size_t at = 0; !code && at < friends;) code = decide_some(commands, &at, friends, error);
    return code;
}

/* ---- beginning and end ---- */

static void handled(void *context) { tasks_decided(((struct commands *)context)->router->tasks); }
static void reset(void *context) { tasks_commands_lost(((struct commands *)context)->router->tasks); }

int commands_new(const struct router *router, struct commands **out, struct error *error) {
    const struct router_metrics *metrics = &router->metrics;
    char *id;
    int code = identity_transactional(service_kafka(router->service)->prefix, router->settings->group_id,
                                      router->common->group_instance_id, router->common->data_dir, &id, error);
    if (code) return code;
    struct commands *commands = MEM_NEW(&(struct commands){.router = router, .codec = codec_new()});
    commands->decider = decider_new(&(struct decider_options){
        .loop = service_loop(router->service),
        .settings = service_kafka(router->service),
        .log = service_log(router->service),
        .registry = service_metrics(router->service),
        .metrics = {.commands = metrics->commands,
                    .queued = metrics->commands_queued,
                    .overlay = metrics->overlay,
                    .transactions = metrics->transactions,
                    .failed = metrics->transactions_failed,
                    .dead = metrics->undecodable},
        .transactional_id = id,
        .partitions = router->partitions,
        .commands = COMMANDS,
        .command_count = sizeof COMMANDS / sizeof *COMMANDS,
        .states = STATES,
        .state_count = sizeof STATES / sizeof *STATES,
        .offsets = &TOPIC_COMMAND_OFFSETS,
        .batch = (size_t)router->settings->commands_batch,
        .item_size = sizeof(union router_command),
        .context = commands,
        .read = read_command,
        .decide = decide,
        .on_handled = handled,
        .on_reset = reset,
    });
    commands->overlay = decider_overlay(commands->decider, &TOPIC_FRIENDSHIPS);
    commands->links = decider_overlay(commands->decider, &TOPIC_LINKS);
    free(id);
    *out = commands;
    return 0;
}

void commands_free(struct commands *commands) {
    if (!commands) return;
    decider_free(commands->decider);
    codec_free(commands->codec);
    buffer_free(&commands->value);
    for (size_t i = 0; i < GRAPH_MANY; i++) id_list_free(&commands->lists[i]);
    free(commands->slice);
    free(commands);
}

struct decider *commands_decider(struct commands *commands) {
    return commands->decider;
}
