/* `starling replay`: a topic as lines of JSON or as Avro, or topics copied into others. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/reader.h"
#include "cli/record_container.h"
#include "cli/record_text.h"
#include "cli/replay_into.h"
#include "cli/when.h"
#include "event/topics.h"
#include "ids/ids.h"

enum { EVERYBODY = -1 };

struct replay {
    struct cli cli;
    struct reader_options reader;
    struct kafka_settings topics; /* dead letter queues, if one is asked for */
    int64_t user;                 /* or EVERYBODY */
    struct codec *codec;
    struct record_container *container; /* NULL: lines of JSON */
    struct buffer line;
    bool unwritable;
    struct progress progress;
    int64_t written;
};

static void take(void *context, const struct kafka_record *record) {
    struct replay *replay = context;
    if (replay->user != EVERYBODY && !record_concerns(replay->codec, record, replay->user)) return;
    replay->written++;
    if (replay->container) {
        record_container_put(replay->container, record);
        return;
    }
    buffer_clear(&replay->line);
    record_text(&replay->line, &replay->topics, replay->codec, record);
    buffer_byte(&replay->line, '\n');
    if (fwrite(replay->line.data, 1, replay->line.size, stdout) != replay->line.size) replay->unwritable = true;
}

static void drained(void *context) {
    struct replay *replay = context;
    if (replay->reader.follow && fflush(stdout)) replay->unwritable = true;
}

/* On a terminal that the records themselves do not go to. */
static void show(void *context, int64_t done, int64_t total) {
    struct replay *replay = context;
    if (progress_due(&replay->progress))
        progress_bar(&replay->progress, total ? (double)done / (double)total : 1, replay->written, "records written");
}

/* NAME or NAME.dlq, with the prefix or without; NULL: no such topic. */
static const struct topic *find_topic(const struct replay *replay, const char *name, bool *dead_letters) {
    size_t prefix = strlen(replay->cli.settings.prefix);
    if (!strncmp(name, replay->cli.settings.prefix, prefix)) name += prefix;
    for (size_t i = 0; i < TOPICS_ALL.count; i++) {
        const char *known = TOPICS_ALL.items[i]->name;
        if (strncmp(name, known, strlen(known)) != 0) continue;
        const char *rest = name + strlen(known);
        if (*rest && strcmp(rest, ".dlq") != 0) continue;
        *dead_letters = *rest;
        return TOPICS_ALL.items[i];
    }
    return NULL;
}

/* All that concerns a user is in one partition, where the user is the key. */
static bool keyed_by_user(const struct topic *topic) {
    static const struct topic *const KEYED[] = {&TOPIC_LOCATIONS,     &TOPIC_FRIENDSHIPS, &TOPIC_PROFILES,
                                                &TOPIC_SHARING,       &TOPIC_FOLLOWS,     &TOPIC_POSTS,
                                                &TOPIC_POST_COMMANDS, &TOPIC_POST_TEXTS,  &TOPIC_NEARBY_MUTES};
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

static int print_topic(struct replay *replay, const char *partition, bool avro) {
    struct error error = {.text = ""};
    replay->codec = codec_new();
    if (avro) replay->container = record_container_new(stdout);
    progress_start(&replay->progress, "replay");
    if (replay->progress.terminal && !replay->reader.follow && !isatty(STDOUT_FILENO)) replay->reader.progressed = show;
    int code = choose_partition(replay, partition, &error);
    if (!code) code = reader_run(&replay->reader, &error);
    if (replay->progress.open) progress_end(&replay->progress, replay->written, "records written");
    if (!code && avro && record_container_finish(replay->container, &error)) replay->unwritable = true;
    if (fflush(stdout) || replay->unwritable) {
        code = error_set(&error, -EIO, "standard output cannot be written");
    }
    record_container_free(replay->container);
    buffer_free(&replay->line);
    codec_free(replay->codec);
    return code ? cli_fail(&REPLAY_COMMAND, 1, "%s", error.text) : 0;
}

/* What the command line asks for. */
struct wish {
    const char *from, *to, *user, *partition, *into, *speed, *format;
    const char *partitions, *delivery_partitions, *placed_among; /* of a migration */
    bool follow;
};

/* A number of partitions; 0: none is given. */
static int partitions_of(const char *option, const char *text, int64_t max, int *partitions) {
    int64_t number = 0;
    if (text && !cli_int(text, 1, max, &number))
        return cli_fail(&REPLAY_COMMAND, 2, "--%s %s: must be a number from 1 to %d", option, text, (int)max);
    *partitions = (int)number;
    return 0;
}

static int copy_topics(struct replay *replay, const struct wish *wish, double speed) {
    struct error error = {.text = ""};
    size_t count = (size_t)replay->cli.argument_count;
    const struct topic **topics = mem_zero(count + 1, sizeof *topics);
    const char *wrong = NULL;
    for (size_t i = 0; i < count && !wrong; i++) {
        bool dead_letters = false;
        topics[i] = find_topic(replay, replay->cli.arguments[i], &dead_letters);
        if (!topics[i] || dead_letters) wrong = replay->cli.arguments[i];
        for (size_t other = 0; other < i; other++)
            if (topics[other] == topics[i]) wrong = replay->cli.arguments[i];
    }
    struct into_options options = {
        .cli = &replay->cli,
        .prefix = wish->into,
        .topics = topics,
        .count = count,
        .from_ms = replay->reader.from_ms,
        .to_ms = replay->reader.to_ms,
        .speed = speed,
    };
    int code = wrong ? cli_fail(&REPLAY_COMMAND, 2, "%s: not a topic that can be copied, or named twice", wrong) : 0;
    if (!code) code = partitions_of("partitions", wish->partitions, IDS_PARTITIONS_MAX, &options.partitions);
    if (!code)
        code = partitions_of("delivery-partitions", wish->delivery_partitions, 10000, &options.delivery_partitions);
    if (!code) code = partitions_of("placed-among", wish->placed_among, IDS_PARTITIONS_MAX, &options.placed_among);
    if (!code && into_run(&options, &error)) code = cli_fail(&REPLAY_COMMAND, 1, "%s", error.text);
    free(topics);
    return code;
}

static int refuse_wish(struct replay *replay, const struct wish *wish, double *speed) {
    const char *own = replay->cli.settings.prefix;
    if (wish->from && !when_parse(wish->from, &replay->reader.from_ms))
        return cli_fail(&REPLAY_COMMAND, 2, "--from %s: neither ISO 8601 nor milliseconds", wish->from);
    if (wish->to && !when_parse(wish->to, &replay->reader.to_ms))
        return cli_fail(&REPLAY_COMMAND, 2, "--to %s: neither ISO 8601 nor milliseconds", wish->to);
    if (wish->to && wish->follow) return cli_fail(&REPLAY_COMMAND, 2, "--follow has no end: it does not go with --to");
    if (wish->user && !cli_int(wish->user, 0, INT64_MAX, &replay->user))
        return cli_fail(&REPLAY_COMMAND, 2, "--user %s: must be a number from 0", wish->user);
    if (wish->format && strcmp(wish->format, "json") && strcmp(wish->format, "avro"))
        return cli_fail(&REPLAY_COMMAND, 2, "--format %s: must be json or avro", wish->format);
    if (wish->format && wish->follow && !strcmp(wish->format, "avro"))
        return cli_fail(&REPLAY_COMMAND, 2, "--format avro is a file with an end: it does not go with --follow");
    bool migrates = wish->partitions || wish->delivery_partitions || wish->placed_among;
    if (!wish->into)
        return wish->speed || migrates
                   ? cli_fail(&REPLAY_COMMAND, 2, "--speed and numbers of partitions go with --into")
                   : 0;
    if (migrates && (!wish->partitions || wish->to || wish->speed))
        return cli_fail(&REPLAY_COMMAND, 2, "other numbers of partitions need --partitions, and no --to or --speed");
    if (wish->user || wish->partition || wish->follow || wish->format)
        return cli_fail(&REPLAY_COMMAND, 2, "--into goes with --from, --to, --speed and numbers of partitions only");
    if (!into_prefix_good(wish->into) || !strcmp(wish->into, own))
        return cli_fail(&REPLAY_COMMAND, 2,
                        "--into %s: must be letters, digits, dots, dashes and underscores, and not %s", wish->into,
                        own);
    if (wish->speed && (!cli_real(wish->speed, 1e-3, 1e6, speed)))
        return cli_fail(&REPLAY_COMMAND, 2, "--speed %s: must be a number from 0.001 to 1000000", wish->speed);
    return 0;
}

static int run(int argc, char **argv) {
    struct wish wish = {.from = NULL};
    bool done;
    const struct cli_option options[] = {
        {"from", "TIME", "from then on: ISO 8601 (UTC unless it says otherwise), or ms since the epoch", &wish.from,
         NULL},
        {"to", "TIME", "before then", &wish.to, NULL},
        {"user", "ID", "only what is about this user", &wish.user, NULL},
        {"partition", "N", "only this partition", &wish.partition, NULL},
        {"follow", NULL, "goes on with what arrives, until interrupted", NULL, &wish.follow},
        {"format", "json|avro", "what is written (json)", &wish.format, NULL},
        {"into", "PREFIX", "copies the topics into those with this prefix, which it makes", &wish.into, NULL},
        {"partitions", "N", "with --into: a migration to topics with so many partitions", &wish.partitions, NULL},
        {"delivery-partitions", "N", "with --partitions: those of deliveries (as before)", &wish.delivery_partitions,
         NULL},
        {"placed-among", "N", "with --partitions: how many there were when the records were written (as now)",
         &wish.placed_among, NULL},
        {"speed", "X", "with --into: X seconds of the period a second (as fast as possible)", &wish.speed, NULL},
    };
    struct replay replay = {.user = EVERYBODY};
    int code = cli_open(&replay.cli, &REPLAY_COMMAND, argc, argv, options, ARRAY_SIZE(options), &done);
    if (code || done) return code;
    double speed = 0;
    replay.topics = replay.cli.kafka;
    replay.reader = (struct reader_options){
        .settings = &replay.topics,
        .partition = READER_ALL,
        .from_ms = 0,
        .to_ms = INT64_MAX,
        .follow = wish.follow,
        .context = &replay,
        .take = take,
        .drained = drained,
    };
    if (!wish.into && replay.cli.argument_count != 1) {
        code = cli_fail(&REPLAY_COMMAND, 2, "one topic must be given");
    } else if (!wish.into &&
               !(replay.reader.topic = find_topic(&replay, replay.cli.arguments[0], &replay.topics.dead_letters))) {
        code = refuse_topic(replay.cli.arguments[0]);
    } else {
        code = refuse_wish(&replay, &wish, &speed);
        if (!code && wish.into)
            code = copy_topics(&replay, &wish, speed);
        else if (!code)
            code = print_topic(&replay, wish.partition, wish.format && !strcmp(wish.format, "avro"));
    }
    cli_close(&replay.cli);
    return code;
}

const struct cli_command REPLAY_COMMAND = {
    .name = "replay",
    .synopsis =
        "TOPIC [--from TIME] [--to TIME] [--user ID] [--partition N] [--follow] [--format json|avro] | [TOPIC...] "
        "--into PREFIX [--from TIME] [--to TIME] [--speed X] | "
        "[TOPIC...] --into PREFIX --partitions N [--delivery-partitions N] [--placed-among N] [--from TIME]",
    .summary = "a topic as lines of JSON or as Avro, by Kafka's time; or topics copied into others",
    .run = run,
};
