/* `starling dlq`: the dead letter queues. A daemon puts a record there that it cannot use, as it was, with the reason. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "cli/audit.h"
#include "cli/cli.h"
#include "cli/reader.h"
#include "cli/record_text.h"
#include "cli/sender.h"
#include "event/topics.h"
#include "users/user_key.h"

enum { QUEUE_PARTITIONS = 1 };

/* A user who was forgotten within the last four weeks, as the topic erasures says. */
struct past_erasure {
    int64_t user, time_ms;
};

struct dlq {
    const struct cli *cli;
    struct topics_shape shape;
    struct kafka_settings queues; /* the topics' dead letter queues instead of themselves */
    int64_t from, to;             /* offsets in the queue: from <= offset < to */
    const char *reason;           /* only those whose reason holds this; NULL: all */
    bool dry_run;
    struct codec *codec;
    struct buffer line;
    struct sender *sender;
    struct past_erasure *erasures;
    size_t erasure_count, erasure_capacity;
    int64_t records, bytes;    /* chosen; of their values */
    int64_t cut, of_forgotten; /* of the chosen ones, those that are not sent */
    int64_t newest_ms;
    char newest_reason[120];
    int code; /* the first failure of what is done with a record */
    struct error *error;
};

static void drained(void *context) {}

static const char *reason_of(const struct kafka_record *record) {
    const char *reason = kafka_record_header(record, "__connect.errors.exception.message");
    return reason ? reason : "";
}

static bool is_chosen(const struct dlq *dlq, const struct kafka_record *record) {
    if (record->offset < dlq->from || record->offset >= dlq->to) return false;
    return !dlq->reason || strstr(reason_of(record), dlq->reason);
}

static int read_queue(struct dlq *dlq, const struct topic *topic,
                      void (*take)(void *context, const struct kafka_record *record)) {
    const struct reader_options options = {
        .settings = &dlq->queues,
        .topic = topic,
        .partitions = QUEUE_PARTITIONS,
        .partition = READER_ALL,
        .to_ms = INT64_MAX,
        .context = dlq,
        .take = take,
        .drained = drained,
    };
    int code = reader_run(&options, dlq->error);
    return code ? code : dlq->code;
}

/* ---- list ---- */

static void count(void *context, const struct kafka_record *record) {
    struct dlq *dlq = context;
    dlq->records++;
    dlq->bytes += (int64_t)record->value_size;
    if (record->timestamp < dlq->newest_ms) return;
    dlq->newest_ms = record->timestamp;
    snprintf(dlq->newest_reason, sizeof dlq->newest_reason, "%s", reason_of(record));
}

static void print_queue(const struct dlq *dlq, const struct topic *topic) {
    char *name = topic_full_name(&dlq->cli->kafka, topic, true), newest[32] = "";
    time_t seconds = (time_t)(dlq->newest_ms / 1000);
    struct tm utc;
    if (dlq->records) strftime(newest, sizeof newest, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
    printf("%-36s %9" PRId64 " %12" PRId64 "  %-20s  %s\n", name, dlq->records, dlq->bytes, newest, dlq->newest_reason);
    free(name);
}

static int list(struct dlq *dlq, const struct topic *topic) {
    int code = 0;
    printf("%-36s %9s %12s  %-20s  %s\n", "QUEUE", "RECORDS", "BYTES", "NEWEST", "ITS REASON");
    for (size_t i = 0; !code && i < TOPICS_ALL.count; i++) {
        dlq->records = dlq->bytes = dlq->newest_ms = 0;
        dlq->newest_reason[0] = '\0';
        code = read_queue(dlq, TOPICS_ALL.items[i], count);
        if (!code) print_queue(dlq, TOPICS_ALL.items[i]);
    }
    return code;
}

/* ---- show ---- */

static void print(void *context, const struct kafka_record *record) {
    struct dlq *dlq = context;
    if (!is_chosen(dlq, record)) return;
    buffer_clear(&dlq->line);
    record_text(&dlq->line, &dlq->queues, dlq->codec, record, false);
    buffer_byte(&dlq->line, '\n');
    if (fwrite(dlq->line.data, 1, dlq->line.size, stdout) != dlq->line.size)
        dlq->code = error_set(dlq->error, -EIO, "standard output cannot be written");
}

static int show(struct dlq *dlq, const struct topic *topic) {
    int code = audit_read(dlq->cli, topic->name, NULL, 0, dlq->error);
    return code ? code : read_queue(dlq, topic, print);
}

/* ---- replay ---- */

static void take_erasure(void *context, const struct kafka_record *record) {
    struct dlq *dlq = context;
    struct error ignored; // sinks bury a record of no user
    int64_t user = -1;
    if (user_key_read(record, &user, &ignored)) return;
    MEM_ROOM(dlq->erasures, dlq->erasure_count, dlq->erasure_capacity);
    dlq->erasures[dlq->erasure_count++] = (struct past_erasure){.user = user, .time_ms = record->timestamp};
}

static int read_erasures(struct dlq *dlq) {
    const struct reader_options options = {
        .settings = &dlq->cli->kafka,
        .topic = &TOPIC_ERASURES,
        .partitions = dlq->shape.partitions[TOPIC_ERASURES.space],
        .partition = READER_ALL,
        .to_ms = INT64_MAX,
        .context = dlq,
        .take = take_erasure,
    };
    return reader_run(&options, dlq->error);
}

/* The letter was written before its user was forgotten: the same number may be somebody new's later. */
static bool is_of_forgotten(const struct dlq *dlq, const struct kafka_record *letter) {
    for (size_t i = 0; i < dlq->erasure_count; i++) {
        const struct past_erasure *erasure = &dlq->erasures[i];
        if (letter->timestamp <= erasure->time_ms && record_concerns(dlq->codec, letter, erasure->user)) return true;
    }
    return false;
}

/* The record's partition; by its key if the letter does not say. */
static int32_t partition_of(const struct kafka_record *record) {
    const char *text = kafka_record_header(record, "__connect.errors.partition");
    int64_t partition;
    return text && cli_int(text, 0, INT32_MAX, &partition) ? (int32_t)partition : KAFKA_PARTITION_BY_KEY;
}

static void send_again(void *context, const struct kafka_record *record) {
    struct dlq *dlq = context;
    if (dlq->code || !is_chosen(dlq, record)) return;
    if (kafka_record_header(record, RECORD_CUT_HEADER)) {
        dlq->cut++;
        return;
    }
    if (is_of_forgotten(dlq, record)) {
        dlq->of_forgotten++;
        return;
    }
    if (!dlq->dry_run)
        dlq->code = sender_put(dlq->sender, record->topic, partition_of(record), record->key, record->key_size,
                               record->value, record->value_size, dlq->error);
    if (!dlq->code) dlq->records++;
}

static int replay(struct dlq *dlq, const struct topic *topic) {
    int code = read_erasures(dlq);
    if (!code) code = sender_new(&dlq->cli->kafka, &dlq->sender, dlq->error);
    if (!code) code = read_queue(dlq, topic, send_again);
    if (!code) code = sender_flush(dlq->sender, dlq->error);
    char *name = topic_full_name(&dlq->cli->kafka, topic, false);
    if (!code)
        printf("%" PRId64 " records of %s.dlq %s to %s.\n", dlq->records, name,
               dlq->dry_run ? "would be sent again" : "were sent again", name);
    if (!code && dlq->cut)
        printf("%" PRId64 " others were cut when they were put there, as they were too large, and cannot be.\n",
               dlq->cut);
    if (!code && dlq->of_forgotten)
        printf("%" PRId64 " others are of users who were forgotten since, and are not.\n", dlq->of_forgotten);
    free(name);
    sender_free(dlq->sender);
    free(dlq->erasures);
    return code;
}

/* ---- the command ---- */

/* NAME or NAME.dlq, with the prefix or without. */
static const struct topic *find_queue(const struct dlq *dlq, const char *name) {
    size_t prefix = strlen(dlq->cli->settings.prefix);
    if (!strncmp(name, dlq->cli->settings.prefix, prefix)) name += prefix;
    size_t size = strlen(name);
    if (size > 4 && !strcmp(name + size - 4, ".dlq")) size -= 4;
    return topic_find(&TOPICS_ALL, name, size);
}

/* "N" or "N-M", both ends included. */
static bool parse_offsets(struct dlq *dlq, const char *text) {
    char *copy = mem_string(text), *dash = strchr(copy, '-');
    if (dash) *dash = '\0';
    bool good = cli_int(copy, 0, INT64_MAX - 1, &dlq->from) &&
                cli_int(dash ? dash + 1 : copy, dlq->from, INT64_MAX - 1, &dlq->to);
    dlq->to++;
    free(copy);
    return good;
}

static const struct action {
    const char *name;
    int (*run)(struct dlq *dlq, const struct topic *topic); /* topic NULL: of no one */
    bool of_one;
} ACTIONS[] = {{"list", list, false}, {"show", show, true}, {"replay", replay, true}};

static const struct action *find_action(const char *name) {
    for (size_t i = 0; i < ARRAY_SIZE(ACTIONS); i++)
        if (!strcmp(name, ACTIONS[i].name)) return &ACTIONS[i];
    return NULL;
}

static int act(struct dlq *dlq, const struct action *action, const struct topic *topic) {
    dlq->codec = codec_new();
    int code = reader_shape(dlq->cli, &dlq->shape, dlq->error); // says quickly, and well, what is wrong
    if (!code) code = action->run(dlq, topic);
    if (fflush(stdout)) code = error_set(dlq->error, -EIO, "standard output cannot be written");
    codec_free(dlq->codec);
    buffer_free(&dlq->line);
    return code ? cli_fail(&DLQ_COMMAND, 1, "%s", dlq->error->text) : 0;
}

static int run(struct cli *cli, int argc, char **argv) {
    const char *offsets = NULL;
    bool all = false;
    struct error error = {.text = ""};
    struct dlq dlq = {.cli = cli, .from = 0, .to = INT64_MAX, .error = &error};
    const struct cli_option options[] = {
        {"offsets", "N[-M]", "only these, by their offset in the queue", &offsets, NULL},
        {"reason", "TEXT", "only those whose reason holds TEXT", &dlq.reason, NULL},
        {"all", NULL, "replay: all of them", NULL, &all},
        {"dry-run", NULL, "replay: says what would be sent", NULL, &dlq.dry_run},
    };
    int code = cli_open(cli, &DLQ_COMMAND, argc, argv, options, ARRAY_SIZE(options));
    if (code) return code;
    dlq.queues = cli->kafka;
    dlq.queues.dead_letters = true;
    const struct action *action = cli->argument_count ? find_action(cli->arguments[0]) : NULL;
    const struct topic *topic = cli->argument_count > 1 ? find_queue(&dlq, cli->arguments[1]) : NULL;
    if (!action) return CLI_WRONG(&DLQ_COMMAND, "list, show or replay must be given");
    if (cli->argument_count != (action->of_one ? 2 : 1))
        return CLI_WRONG(&DLQ_COMMAND, action->of_one ? "one topic must be given" : "list takes no topic");
    if (action->of_one && !topic)
        return CLI_WRONG(&DLQ_COMMAND, "no topic %s: starling dlq list names them", cli->arguments[1]);
    if (offsets && !parse_offsets(&dlq, offsets))
        return CLI_WRONG(&DLQ_COMMAND, "--offsets %s: must be an offset, or two with a dash, the lower one first",
                         offsets);
    if (action->run == replay && !all && !offsets && !dlq.reason)
        return CLI_WRONG(&DLQ_COMMAND, "which ones: --all, --offsets or --reason");
    return act(&dlq, action, topic);
}

const struct cli_command DLQ_COMMAND = {
    .name = "dlq",
    .synopsis =
        "list | show TOPIC [--offsets N[-M]] [--reason TEXT] | replay TOPIC (--all | --offsets N[-M] | --reason TEXT) "
        "[--dry-run]",
    .summary = "dead letters: counts, records, sending them again",
    .notes = "A daemon that cannot use a record puts it unchanged into the topic's dead letter queue.\n"
             "command-offsets, feed-offsets, comment-offsets, moderation-log and audit have none. Each daemon that\n"
             "reads a topic writes its own letter.\n\n"
             "show prints records as starling replay does, also with the daemon that refused it (by), and the size\n"
             "before it was cut (whole_size). replay sends records to their original partition again. It leaves\n"
             "out, and counts, records that were cut, and those of users who were forgotten since. Sent records\n"
             "stay in the queue, so they can be sent twice.",
    .run = run,
};
