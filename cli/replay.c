/* `starling replay`: a topic as lines of JSON or as Avro, or topics copied into others. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/instant.h"
#include "base/mem.h"
#include "cli/audit.h"
#include "cli/cli.h"
#include "cli/extent.h"
#include "cli/progress.h"
#include "cli/reader.h"
#include "cli/record_container.h"
#include "cli/record_text.h"
#include "cli/replay_into.h"
#include "cli/when.h"
#include "event/topics.h"
#include "ids/ids.h"

/* reader_run ends with it when --limit is reached. */
enum { ENOUGH = 1 };

struct replay {
    const struct cli *cli;
    struct reader_options reader;
    struct kafka_settings topics; /* dead letter queues, if one is asked for */
    int64_t *users;               /* user_count: whom the records are about; 0: all */
    size_t user_count;
    bool raw;
    int64_t limit; /* of records */
    int ended;     /* ENOUGH, or 0 */
    struct codec *codec;
    struct record_container *container; /* NULL: lines of JSON */
    struct buffer line;
    bool unwritable;
    struct progress_meter progress;
    int64_t written;
};

static bool is_wanted(const struct replay *replay, const struct kafka_record *record) {
    for (size_t i = 0; i < replay->user_count; i++)
        if (record_concerns(replay->codec, record, replay->users[i])) return true;
    return !replay->user_count;
}

static void take(void *context, const struct kafka_record *record) {
    struct replay *replay = context;
    if (!is_wanted(replay, record)) return;
    if (++replay->written == replay->limit) replay->ended = ENOUGH;
    if (replay->container) {
        record_container_put(replay->container, record);
        return;
    }
    buffer_clear(&replay->line);
    record_text(&replay->line, &replay->topics, replay->codec, record, replay->raw);
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
    size_t prefix = strlen(replay->cli->settings.prefix);
    if (!strncmp(name, replay->cli->settings.prefix, prefix)) name += prefix;
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

static int refuse_topic(const char *name) {
    struct buffer known = {.data = NULL};
    for (size_t i = 0; i < TOPICS_ALL.count; i++) buffer_format(&known, "%s, ", TOPICS_ALL.items[i]->name);
    int code = CLI_WRONG(&REPLAY_COMMAND, "no topic %s: there are %sand of each its dead letters: locations.dlq, ...",
                         name, buffer_cstring(&known));
    buffer_free(&known);
    return code;
}

static int choose_partition(struct replay *replay, const char *partition, struct error *error) {
    struct topics_shape shape;
    int code = reader_shape(replay->cli, &shape, error);
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
    }
    return 0;
}

/* Nothing was written: says so, and what there is. */
static int say_nothing(const struct replay *replay, struct error *error) {
    char first[INSTANT_TEXT_SIZE], last[INSTANT_TEXT_SIZE];
    struct extent extent;
    const struct topic *topic = replay->reader.topic;
    int code = extent_find(&replay->reader, &extent, error);
    if (code) return code;
    char *name = topic_full_name(&replay->topics, topic, replay->topics.dead_letters);
    bool one = replay->reader.partition != READER_ALL;
    if (extent.empty)
        cli_note(&REPLAY_COMMAND, "%s%s holds no records", one ? "that partition of " : "", name);
    else
        cli_note(&REPLAY_COMMAND, "no record is in this range%s; %s%s holds records from %s to %s",
                 replay->user_count ? " and about these users" : "", one ? "that partition of " : "", name,
                 instant_format(extent.first_ms, first), instant_format(extent.last_ms, last));
    free(name);
    return 0;
}

static int print_topic(struct replay *replay, const char *partition, bool avro) {
    struct error error = {.text = ""};
    replay->codec = codec_new();
    if (avro) replay->container = record_container_new(stdout);
    progress_start(&replay->progress, "replay");
    if (replay->progress.terminal && !replay->reader.follow && !isatty(STDOUT_FILENO)) replay->reader.progressed = show;
    int code = choose_partition(replay, partition, &error);
    if (!code) code = audit_read(replay->cli, replay->reader.topic->name, replay->users, replay->user_count, &error);
    if (!code) code = reader_run(&replay->reader, &error);
    if (code == ENOUGH) code = 0;
    if (replay->progress.open) progress_end(&replay->progress, replay->written, "records written");
    if (!code && avro && record_container_finish(replay->container, &error)) replay->unwritable = true;
    if (fflush(stdout) || replay->unwritable) code = error_set(&error, -EIO, "standard output cannot be written");
    if (!code && !replay->written && !replay->reader.follow) code = say_nothing(replay, &error);
    record_container_free(replay->container);
    buffer_free(&replay->line);
    codec_free(replay->codec);
    return code ? cli_fail(&REPLAY_COMMAND, 1, "%s", error.text) : 0;
}

/* The command line's options. */
struct wish {
    struct period period;
    const char *user, *limit, *partition, *into, *speed, *format;
    const char *partitions, *delivery_partitions, *placed_among; /* of a migration */
    bool follow, raw;
};

/* A number of partitions; 0: none is given. */
static int partitions_of(const char *option, const char *text, int64_t max, int *partitions) {
    int64_t number = 0;
    if (cli_int_option(&REPLAY_COMMAND, option, text, 1, max, &number)) return CLI_WRONG_USAGE;
    *partitions = (int)number;
    return 0;
}

static int copy_topics(struct replay *replay, const struct wish *wish, double speed) {
    struct error error = {.text = ""};
    size_t count = (size_t)replay->cli->argument_count;
    const struct topic **topics = mem_zero(count + 1, sizeof *topics);
    const char *wrong = NULL;
    for (size_t i = 0; i < count && !wrong; i++) {
        bool dead_letters = false;
        topics[i] = find_topic(replay, replay->cli->arguments[i], &dead_letters);
        if (!topics[i] || dead_letters) wrong = replay->cli->arguments[i];
        for (size_t other = 0; other < i; other++)
            if (topics[other] == topics[i]) wrong = replay->cli->arguments[i];
    }
    struct into_options options = {
        .cli = replay->cli,
        .prefix = wish->into,
        .topics = topics,
        .count = count,
        .from_ms = replay->reader.from_ms,
        .to_ms = replay->reader.to_ms,
        .speed = speed,
    };
    int code = wrong ? CLI_WRONG(&REPLAY_COMMAND, "%s: not a topic that can be copied, or named twice", wrong) : 0;
    if (!code) code = partitions_of("partitions", wish->partitions, IDS_PARTITIONS_MAX, &options.partitions);
    if (!code)
        code = partitions_of("delivery-partitions", wish->delivery_partitions, 10000, &options.delivery_partitions);
    if (!code) code = partitions_of("placed-among", wish->placed_among, IDS_PARTITIONS_MAX, &options.placed_among);
    if (!code && into_run(&options, &error)) code = cli_fail(&REPLAY_COMMAND, 1, "%s", error.text);
    free(topics);
    return code;
}

/* "7" or "7,8,9". */
static int read_users(struct replay *replay, const char *text) {
    char *copy = mem_string(text);
    int code = 0;
    for (char *save, *part = strtok_r(copy, ",", &save); part && !code; part = strtok_r(NULL, ",", &save)) {
        replay->users = mem_resize(replay->users, replay->user_count + 1, sizeof *replay->users);
        code = cli_user(&REPLAY_COMMAND, part, &replay->users[replay->user_count++]);
    }
    free(copy);
    if (!code && !replay->user_count)
        code = CLI_WRONG(&REPLAY_COMMAND, "--user %s: must be users, separated by commas", text);
    return code;
}

static int refuse_wish(struct replay *replay, struct wish *wish, double *speed) {
    const char *own = replay->cli->settings.prefix;
    if (period_read(&wish->period, &REPLAY_COMMAND, clock_wall_ms())) return CLI_WRONG_USAGE;
    replay->reader.from_ms = wish->period.from_ms;
    replay->reader.to_ms = wish->period.to_ms;
    if (wish->period.to && wish->follow)
        return CLI_WRONG(&REPLAY_COMMAND, "--follow has no end: it does not go with --to");
    if (wish->user && read_users(replay, wish->user)) return CLI_WRONG_USAGE;
    if (cli_int_option(&REPLAY_COMMAND, "limit", wish->limit, 1, INT64_MAX, &replay->limit)) return CLI_WRONG_USAGE;
    if (wish->format && strcmp(wish->format, "json") && strcmp(wish->format, "avro"))
        return CLI_WRONG(&REPLAY_COMMAND, "--format %s: must be json or avro", wish->format);
    if (wish->format && wish->follow && !strcmp(wish->format, "avro"))
        return CLI_WRONG(&REPLAY_COMMAND, "--format avro is a file with an end: it does not go with --follow");
    if (wish->format && wish->raw && !strcmp(wish->format, "avro"))
        return CLI_WRONG(&REPLAY_COMMAND, "--format avro is raw by itself: it does not go with --raw");
    bool migrates = wish->partitions || wish->delivery_partitions || wish->placed_among;
    if (!wish->into)
        return wish->speed || migrates ? CLI_WRONG(&REPLAY_COMMAND, "--speed and numbers of partitions go with --into")
                                       : 0;
    if (migrates && (!wish->partitions || wish->period.to || wish->speed))
        return CLI_WRONG(&REPLAY_COMMAND, "other numbers of partitions need --partitions, and no --to or --speed");
    if (wish->user || wish->limit || wish->partition || wish->follow || wish->raw || wish->format)
        return CLI_WRONG(&REPLAY_COMMAND,
                         "--into goes with --from, --last, --to, --speed and numbers of partitions only");
    if (!into_prefix_good(wish->into) || !strcmp(wish->into, own))
        return CLI_WRONG(&REPLAY_COMMAND,
                         "--into %s: must be letters, digits, dots, dashes and underscores, and not %s", wish->into,
                         own);
    return cli_real_option(&REPLAY_COMMAND, "speed", wish->speed, 1e-3, 1e6, speed);
}

static int run(struct cli *cli, int argc, char **argv) {
    struct wish wish = {.period = {.from_ms = 0, .to_ms = INT64_MAX}};
    const struct cli_option options[] = {
        PERIOD_OPTIONS(&wish.period),
        {"user", "ID[,ID...]", "only what is about this user, or one of these", &wish.user, NULL},
        {"limit", "N", "so many records at most", &wish.limit, NULL},
        {"partition", "N", "only this partition", &wish.partition, NULL},
        {"follow", NULL, "goes on with what arrives, until interrupted", NULL, &wish.follow},
        {"format", "json|avro", "what is written (json)", &wish.format, NULL},
        {"raw", NULL, "values with Kafka's own units: places in 1e-7 degrees, -1 for what is not known", NULL,
         &wish.raw},
        {"into", "PREFIX", "copies the topics into those with this prefix, which it makes", &wish.into, NULL},
        {"partitions", "N", "with --into: a migration to topics with so many partitions", &wish.partitions, NULL},
        {"delivery-partitions", "N", "with --partitions: those of deliveries (as before)", &wish.delivery_partitions,
         NULL},
        {"placed-among", "N", "with --partitions: how many there were when the records were written (as now)",
         &wish.placed_among, NULL},
        {"speed", "X", "with --into: X seconds of the period a second (as fast as possible)", &wish.speed, NULL},
    };
    struct replay replay = {.cli = cli, .limit = INT64_MAX};
    int code = cli_open(cli, &REPLAY_COMMAND, argc, argv, options, ARRAY_SIZE(options));
    if (code) return code;
    double speed = 0;
    replay.topics = cli->kafka;
    replay.reader = (struct reader_options){
        .settings = &replay.topics,
        .partition = READER_ALL,
        .to_ms = INT64_MAX,
        .follow = wish.follow,
        .context = &replay,
        .take = take,
        .drained = drained,
        .failure = &replay.ended,
    };
    replay.raw = wish.raw;
    if (!wish.into && cli->argument_count != 1) {
        code = CLI_WRONG(&REPLAY_COMMAND, "one topic must be given");
    } else if (!wish.into &&
               !(replay.reader.topic = find_topic(&replay, cli->arguments[0], &replay.topics.dead_letters))) {
        code = refuse_topic(cli->arguments[0]);
    } else {
        code = refuse_wish(&replay, &wish, &speed);
        if (!code && wish.into)
            code = copy_topics(&replay, &wish, speed);
        else if (!code)
            code = print_topic(&replay, wish.partition, wish.format && !strcmp(wish.format, "avro"));
    }
    free(replay.users);
    return code;
}

const struct cli_command REPLAY_COMMAND = {
    .name = "replay",
    .synopsis = "TOPIC " PERIOD_SYNOPSIS
                " [--user ID[,ID...]] [--limit N] [--partition N] [--follow] [--format json|avro | --raw] | "
                "[TOPIC...] --into PREFIX " PERIOD_SYNOPSIS " [--speed X] | "
                "[TOPIC...] --into PREFIX --partitions N [--delivery-partitions N] [--placed-among N] [--from TIME]",
    .summary = "a topic as lines of JSON or as Avro, by Kafka's time; or topics copied into others",
    .notes = "Prints the committed records, in order within a partition; the range is of Kafka's timestamps.\n\n"
             "A line has topic, partition, offset, timestamp (ms), key and value.\n\n"
             "key is a user, a name such as \"@handle\" or \"post:1\", or a list of such parts: [user, friend],\n"
             "[\"post:1\", \"id\"].\n\n"
             "value is Avro's JSON, in the version that was written; null for a tombstone. A value that cannot be\n"
             "read is null, with the reason in error and the bytes in bytes (hexadecimal). A delivery batch has\n"
             "items, each {kind, recipients, payload}; payloads of kinds 1 and 3 (nearby; between feed processes)\n"
             "are JSON, others hexadecimal.\n\n"
             "--format avro writes one Avro container; a value that cannot be decoded is bytes there.\n\n"
             "--user also finds commands, deliveries, timelines and records about comments that name the user.\n\n"
             "Dead letters (locations.dlq and so on) also have the reason and their origin (from_partition,\n"
             "from_offset, as texts). If one was cut, the headers starling.cut.key.size and\n"
             "starling.cut.value.size hold the original sizes.\n\n"
             "--into copies sharing, profiles, friendships and locations, of which lists and history are made, if\n"
             "no topic is named; with --partitions, all topics but those of commands, offsets, refusals, watches,\n"
             "deliveries, timelines and hot posts. The others are made empty. Keys, values, order and Kafka's\n"
             "times are the same, and without --partitions the partitions, too; headers are not copied. Of\n"
             "compacted topics, everything before --to is copied. Copies delete nothing by age, but those of a\n"
             "migration do. A target that has a record is refused, so an interrupted run cannot be continued: it\n"
             "says how to delete what it has copied.",
    .run = run,
};
