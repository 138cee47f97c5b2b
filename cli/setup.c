#include "cli/setup.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/sender.h"
#include "edits/encode.h"
#include "event/codec.h"
#include "event/topics.h"
#include "kafka/admin.h"
#include "users/half.h"
#include "users/profiles.h"

enum { ASK_MS = 10000, ASK_AGAIN_MS = 200, SHOW_AGAIN_MS = 1000 };

struct setup {
    const struct kafka_settings *settings;
    struct sender *sender;
    struct buffer value;
};

int setup_new(const struct kafka_settings *settings, struct setup **out, struct error *error) {
    struct sender *sender;
    int code = sender_new(settings, &sender, error);
    if (code) return code;
    struct setup *setup = MEM_NEW(&(struct setup){.settings = settings, .sender = sender, .value = {.data = NULL}});
    *out = setup;
    return 0;
}

void setup_free(struct setup *setup) {
    if (!setup) return;
    sender_free(setup->sender);
    buffer_free(&setup->value);
    free(setup);
}

static int put(struct setup *setup, const struct topic *topic, int64_t user, struct error *error) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    return sender_put(setup->sender, topic, KAFKA_PARTITION_BY_KEY, key, sizeof key, setup->value.data,
                      setup->value.size, error);
}

int setup_befriend(struct setup *setup, int64_t a, int64_t b, struct error *error) {
    if (a < 0 || b < 0 || a == b)
        return error_set(error, -EINVAL, "%" PRId64 " and %" PRId64 " cannot be friends", a, b);
    int64_t lower = a < b ? a : b;
    const struct friend_command command = {
        .kind = FRIEND_COMMAND_BEFRIEND,
        .from = lower,
        .to = a < b ? b : a,
        .time = clock_wall_ms(),
    };
    buffer_clear(&setup->value);
    half_encode_command(&setup->value, &command);
    return put(setup, &TOPIC_FRIEND_COMMANDS, lower, error);
}

int setup_follow(struct setup *setup, int64_t a, int64_t b, struct error *error) {
    if (a < 0 || b < 0 || a == b) return error_set(error, -EINVAL, "%" PRId64 " cannot follow %" PRId64, a, b);
    const struct follower_command command = {
        .kind = FOLLOWER_COMMAND_ASK, .author = b, .reader = a, .time = clock_wall_ms()};
    buffer_clear(&setup->value);
    event_encode_follower_command(&setup->value, &command);
    return put(setup, &TOPIC_FOLLOWER_COMMANDS, b, error);
}

int setup_share(struct setup *setup, int64_t user, enum sharing_mode mode, struct error *error) {
    buffer_clear(&setup->value);
    event_encode_sharing(&setup->value, &(struct sharing){.mode = mode});
    return put(setup, &TOPIC_SHARING, user, error);
}

int setup_profile(struct setup *setup, int64_t user, const char *name, struct error *error) {
    const struct profile profile = {
        .name = {.data = name, .size = strlen(name)},
        .avatar_url = {.data = "", .size = 0},
    };
    buffer_clear(&setup->value);
    profile_encode(&setup->value, &profile);
    return put(setup, &TOPIC_PROFILES, user, error);
}

int setup_comment(struct setup *setup, const struct comment_command *command, struct error *error) {
    buffer_clear(&setup->value);
    edit_encode_comment_command(&setup->value, command);
    return sender_put(setup->sender, &TOPIC_COMMENT_COMMANDS, KAFKA_PARTITION_BY_KEY, command->subject.data,
                      command->subject.size, setup->value.data, setup->value.size, error);
}

int setup_flush(struct setup *setup, struct error *error) { return sender_flush(setup->sender, error); }

const struct setup_deciders SETUP_ROUTERS = {
    .who = "router",
    .commands = &TOPIC_FRIEND_COMMANDS,
    .results = &TOPIC_FRIENDSHIPS,
    .commands_left = "friend commands are not handled",
    .results_left = "halves are not on the friend lists",
};

const struct setup_deciders SETUP_FEEDS = {
    .who = "feed process",
    .commands = &TOPIC_FOLLOWER_COMMANDS,
    .commands_left = "follower commands are not decided",
};

const struct setup_deciders SETUP_COMMENTS = {
    .who = "comments process",
    .commands = &TOPIC_COMMENT_COMMANDS,
    .commands_left = "comment commands are not decided",
};

struct handled {
    struct kafka_admin *admin;
    const char *who, *group;
    int partitions;
    int64_t *committed, *end, *target;
    int64_t start_us, timeout_us, shown_us;
    void (*progress)(void *context, int64_t left, const char *what);
    void *context;
};

/* How many records in front of the targets are not handled. */
static int ask_left(struct handled *handled, const struct topic *topic, int64_t *left, struct error *error) {
    int code = kafka_group_offsets(handled->admin, handled->group, topic, handled->partitions, handled->committed,
                                   handled->end, ASK_MS, error);
    if (code) return code;
    *left = 0;
    for (int i = 0; i < handled->partitions; i++) {
        int64_t done = handled->committed[i] > 0 ? handled->committed[i] : 0;
        if (done < handled->target[i]) *left += handled->target[i] - done;
    }
    return 0;
}

/* Waits until the group has handled the records that the topic holds now, but not later ones. */
static int wait_topic(struct handled *handled, const struct topic *topic, const char *what, struct error *error) {
    int64_t left = 0;
    int code = kafka_group_offsets(handled->admin, handled->group, topic, handled->partitions, handled->committed,
                                   handled->target, ASK_MS, error);
    while (!code) {
        code = ask_left(handled, topic, &left, error);
        if (code) return code;
        int64_t now = clock_monotonic_us();
        if (handled->progress && (!left || now - handled->shown_us >= SHOW_AGAIN_MS * 1000LL)) {
            handled->progress(handled->context, left, what);
            handled->shown_us = now;
        }
        if (!left) return 0;
        if (now - handled->start_us >= handled->timeout_us) {
            return error_set(error, -ETIMEDOUT, "%" PRId64 " %s after %d s: does a %s of group %s run?", left, what,
                             (int)(handled->timeout_us / 1000000), handled->who, handled->group);
        }
        uv_sleep(ASK_AGAIN_MS);
    }
    return code;
}

int setup_wait_decided(struct setup *setup, const struct setup_deciders *deciders, const char *group, int timeout_s,
                       void (*progress)(void *context, int64_t left, const char *what), void *context,
                       struct error *error) {
    struct handled handled = {
        .who = deciders->who,
        .group = group,
        .start_us = clock_monotonic_us(),
        .timeout_us = timeout_s * 1000000LL,
        .progress = progress,
        .context = context,
    };
    struct topics_shape shape;
    int code = setup_flush(setup, error);
    if (!code) code = kafka_admin_new(setup->settings, &handled.admin, error);
    if (!code) code = kafka_topics_verify(handled.admin, &TOPICS_ALL, &shape, ASK_MS, error);
    if (code) goto finish;
    handled.partitions = shape.partitions[deciders->commands->space];
    handled.committed = mem_zero((size_t)handled.partitions, sizeof *handled.committed);
    handled.end = mem_zero((size_t)handled.partitions, sizeof *handled.end);
    handled.target = mem_zero((size_t)handled.partitions, sizeof *handled.target);
    code = wait_topic(&handled, deciders->commands, deciders->commands_left, error);
    if (!code && deciders->results) code = wait_topic(&handled, deciders->results, deciders->results_left, error);
finish:
    free(handled.committed);
    free(handled.end);
    free(handled.target);
    kafka_admin_free(handled.admin);
    return code;
}
