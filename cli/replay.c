/* `starling replay`: a topic as lines of JSON. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "cli/cli.h"
#include "cli/reader.h"
#include "cli/record_text.h"
#include "cli/when.h"
#include "event/topics.h"

enum { EVERYBODY = -1 };

struct replay {
    struct cli cli;
    struct reader_options reader;
    struct kafka_settings topics; /* dead letter queues, if one is asked for */
    int64_t user;                 /* or EVERYBODY */
    struct codec *codec;
    struct buffer line;
    bool unwritable;
};

static void take(void *context, const struct kafka_record *record) {
    struct replay *replay = context;
    if (replay->user != EVERYBODY && !record_concerns(replay->codec, record, replay->user)) return;
    buffer_clear(&replay->line);
    record_text(&replay->line, &replay->topics, replay->codec, record);
    buffer_byte(&replay->line, '\n');
    if (fwrite(replay->line.data, 1, replay->line.size, stdout) != replay->line.size) replay->unwritable = true;
}

static void drained(void *context) {
    struct replay *replay = context;
    if (replay->reader.follow && fflush(stdout)) replay->unwritable = true;
}

/* NAME or NAME.dlq, with the prefix or without. */
static bool find_topic(struct replay *replay, const char *name) {
    size_t prefix = strlen(replay->cli.settings.prefix);
    if (!strncmp(name, replay->cli.settings.prefix, prefix)) name += prefix;
    for (size_t i = 0; i < TOPICS_ALL.count; i++) {
        const char *known = TOPICS_ALL.items[i]->name;
        if (strncmp(name, known, strlen(known)) != 0) continue;
        const char *rest = name + strlen(known);
        if (*rest && strcmp(rest, ".dlq") != 0) continue;
        replay->reader.topic = TOPICS_ALL.items[i];
        replay->topics.dead_letters = *rest;
        return true;
    }
    return false;
}

/* All that concerns a user is in one partition, where the user is the key. */
static bool keyed_by_user(const struct topic *topic) {
    static const struct topic *const KEYED[] = {&TOPIC_LOCATIONS,     &TOPIC_FRIENDSHIPS, &TOPIC_PROFILES,
                                                &TOPIC_SHARING,       &TOPIC_FOLLOWS,     &TOPIC_POSTS,
                                                &TOPIC_POST_COMMANDS, &TOPIC_POST_TEXTS};
    for (size_t i = 0; i < ARRAY_SIZE(KEYED); i++) {
        if (topic == KEYED[i]) return true;
    }
    return false;
}

static int refuse_topic(const char *name) {
    struct buffer known = {.data = NULL};
    for (size_t i = 0; i < TOPICS_ALL.count; i++) buffer_format(&known, "%s, ", TOPICS_ALL.items[i]->name);
    int code = cli_fail(&REPLAY_COMMAND, 2, "no topic %s: there are %sand of each its dead letters: locations.dlq, ...",
                        name, buffer_cstring(&known));
    buffer_free(&known);
    return code;
}

static int choose_partition(struct replay *replay, const char *partition, struct error *error) {
    struct topics_shape shape;
    int code = reader_shape(&replay->cli.kafka, &shape, error);
    if (code) return code;
    struct reader_options *reader = &replay->reader;
    reader->partitions = replay->topics.dead_letters ? 1 : shape.partitions[reader->topic->space];
    int64_t chosen;
    if (partition) {
        if (!cli_int(partition, 0, reader->partitions - 1, &chosen)) {
            return error_set(error, -EINVAL, "--partition %s: %s%s has the partitions 0 to %d", partition,
                             reader->topic->name, replay->topics.dead_letters ? ".dlq" : "",
                             (int)reader->partitions - 1);
        }
        reader->partition = (int32_t)chosen;
    } else if (replay->user != EVERYBODY && keyed_by_user(reader->topic) && !replay->topics.dead_letters) {
        reader->partition = hash_user_partition(replay->user, reader->partitions);
    }
    return 0;
}

static int replay_run(struct replay *replay, const char *partition) {
    struct error error = {.text = ""};
    replay->codec = codec_new();
    int code = choose_partition(replay, partition, &error);
    if (!code) code = reader_run(&replay->reader, &error);
    if (fflush(stdout) || replay->unwritable) {
        code = error_set(&error, -EIO, "standard output cannot be written");
    }
    buffer_free(&replay->line);
    codec_free(replay->codec);
    return code ? cli_fail(&REPLAY_COMMAND, 1, "%s", error.text) : 0;
}

static int run(int argc, char **argv) {
    const char *from = NULL, *to = NULL, *user = NULL, *partition = NULL;
    bool follow = false, done;
    const struct cli_option options[] = {
        {"from", "TIME", "from then on: ISO 8601 (UTC unless it says otherwise), or ms since the epoch", &from, NULL},
        {"to", "TIME", "before then", &to, NULL},
        {"user", "ID", "only what is about this user", &user, NULL},
        {"partition", "N", "only this partition", &partition, NULL},
        {"follow", NULL, "goes on with what arrives, until interrupted", NULL, &follow},
    };
    struct replay replay = {.user = EVERYBODY};
    int code = cli_open(&replay.cli, &REPLAY_COMMAND, argc, argv, options, ARRAY_SIZE(options), &done);
    if (code || done) return code;
    replay.topics = replay.cli.kafka;
    replay.reader = (struct reader_options){
        .settings = &replay.topics,
        .partition = READER_ALL,
        .from_ms = 0,
        .to_ms = INT64_MAX,
        .follow = follow,
        .context = &replay,
        .take = take,
        .drained = drained,
    };
    if (replay.cli.argument_count != 1) {
        code = cli_fail(&REPLAY_COMMAND, 2, "one topic must be given");
    } else if (!find_topic(&replay, replay.cli.arguments[0])) {
        code = refuse_topic(replay.cli.arguments[0]);
    } else if (from && !when_parse(from, &replay.reader.from_ms)) {
        code = cli_fail(&REPLAY_COMMAND, 2, "--from %s: neither ISO 8601 nor milliseconds", from);
    } else if (to && !when_parse(to, &replay.reader.to_ms)) {
        code = cli_fail(&REPLAY_COMMAND, 2, "--to %s: neither ISO 8601 nor milliseconds", to);
    } else if (to && follow) {
        code = cli_fail(&REPLAY_COMMAND, 2, "--follow has no end: it does not go with --to");
    } else if (user && !cli_int(user, 0, INT64_MAX, &replay.user)) {
        code = cli_fail(&REPLAY_COMMAND, 2, "--user %s: must be a number from 0", user);
    } else {
        code = replay_run(&replay, partition);
    }
    cli_close(&replay.cli);
    return code;
}

const struct cli_command REPLAY_COMMAND = {
    .name = "replay",
    .synopsis = "TOPIC [--from TIME] [--to TIME] [--user ID] [--partition N] [--follow]",
    .summary = "a topic as lines of JSON, by Kafka's time",
    .run = run,
};
