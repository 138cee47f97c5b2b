/* `starling forget`: has a gateway forget a user, waits until nothing is left, and says by when Kafka's topics follow. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/api.h"
#include "cli/reader.h"
#include "cli/record_text.h"
#include "cli/sender.h"
#include "event/topics.h"
#include "json/json.h"
#include "kafka/admin.h"

enum { AGAIN_US = 500000, ADMIN_MS = 10000, QUEUE_PARTITIONS = 1 };

struct forgetting {
    const struct cli *cli;
    int64_t user;
    struct api *api;
    int64_t until_us, files_by; /* files_by: when history's files will lack the user, ms; 0: nobody has said so */
    struct error error;
};

/* ---- the gateway ---- */

static void print_removed(const json_t *report) {
    const char *name;
    json_t *count;
    json_object_foreach(json_object_get(report, "removed"), name, count)
        printf("%-12s %" JSON_INTEGER_FORMAT "\n", name, json_integer_value(count));
}

/* 1: ask again; 0: the user is forgotten. */
static int take_report(struct forgetting *forgetting, int code, unsigned status, const struct buffer *reply) {
    struct error *error = &forgetting->error;
    bool said = code == 0 && (status == 200 || status == 202);
    json_t *report = said ? json_parse(reply->data, reply->size, NULL) : NULL;
    const char *at = json_string_value(json_object_get(report, "at"));
    int result = 1;
    if (report && status == 200) {
        print_removed(report);
        forgetting->files_by = json_integer_value(json_object_get(json_object_get(report, "later"), "history_files"));
        result = 0;
    } else if (!said && !api_may_try_again(code, status)) {
        result = error_set(error, -EACCES, "the gateway answers %u: %.*s", status, (int)reply->size,
                           (const char *)reply->data);
    } else if (clock_monotonic_us() >= forgetting->until_us) {
        result = error_set(error, -ETIMEDOUT, "%s did not come to an end: %s. Repeat it", api_url(forgetting->api),
                           code ? strerror(-code)
                           : at ? at
                                : "it is busy, or an owner is away");
    } else if (at) {
        fprintf(stderr, "forgetting: at %s\n", at);
    }
    json_decref(report);
    return result;
}

static int forget(struct forgetting *forgetting, const struct api_options *options) {
    struct buffer reply = {0};
    unsigned status = 0;
    int code = api_new(options, &forgetting->api, &forgetting->error);
    if (code) return code;
    do {
        code = api_ask(forgetting->api, "DELETE", "/v1/me", NULL, &status, &reply);
        code = take_report(forgetting, code, status, &reply);
        if (code > 0) usleep(AGAIN_US);
    } while (code > 0);
    buffer_free(&reply);
    api_free(forgetting->api);
    return code;
}

/* ---- dead letters ---- */

/* A forgotten user's dead letters. Kafka deletes records only from the beginning of a queue, so a queue that has some of them is
 * rewritten: the letters of others that stand before the user's last one are copied to its end, with their times and headers, and when
 * Kafka has acknowledged these, everything up to the user's last one is deleted.
 *
 *     before  [ ada | ben | ada | eve ]        copied  [ ada | ben | ada | eve | ben ]        deleted  [ eve | ben ]
 *
 * A process that is killed in between leaves letters twice, and loses none. */
struct letters {
    struct kafka_settings queues; /* the topics' dead letter queues instead of themselves */
    int64_t user;
    struct codec *codec;
    struct kafka_admin *admin;
    struct sender *sender;
    int64_t end, found; /* of one queue: behind the user's last letter (0: the user has none), and how many there are */
    int code;           /* the first failure of a copy */
    struct error *error;
};

static void find_letter(void *context, const struct kafka_record *letter) {
    struct letters *letters = context;
    if (!record_concerns(letters->codec, letter, letters->user)) return;
    letters->end = letter->offset + 1;
    letters->found++;
}

static void copy_letter(void *context, const struct kafka_record *letter) {
    struct letters *letters = context;
    if (letter->offset >= letters->end || record_concerns(letters->codec, letter, letters->user)) return;
    letters->code = sender_put_whole(letters->sender, letter, letters->error);
}

static int read_queue(struct letters *letters, const struct topic *topic,
                      void (*take)(void *context, const struct kafka_record *letter)) {
    const struct reader_options options = {
        .settings = &letters->queues,
        .topic = topic,
        .partitions = QUEUE_PARTITIONS,
        .partition = READER_ALL,
        .to_ms = INT64_MAX,
        .context = letters,
        .take = take,
        .failure = &letters->code,
    };
    return reader_run(&options, letters->error);
}

static int forget_of(struct letters *letters, const struct topic *topic) {
    letters->end = letters->found = 0;
    int code = read_queue(letters, topic, find_letter);
    if (code || !letters->found) return code;
    code = read_queue(letters, topic, copy_letter);
    if (!code) code = sender_flush(letters->sender, letters->error);
    return code ? code : kafka_records_delete(letters->admin, topic, 0, letters->end, ADMIN_MS, letters->error);
}

/* *removed: how many letters went, in all queues. */
static int forget_letters(const struct kafka_settings *settings, int64_t user, int64_t *removed, struct error *error) {
    struct letters letters = {.queues = *settings, .user = user, .codec = codec_new(), .error = error};
    int64_t count = 0;
    letters.queues.dead_letters = true;
    int code = kafka_admin_new(&letters.queues, &letters.admin, error);
    if (!code) code = sender_new(&letters.queues, &letters.sender, error);
    for (size_t i = 0; !code && i < TOPICS_ALL.count; i++) {
        code = forget_of(&letters, TOPICS_ALL.items[i]);
        if (!code) count += letters.found;
    }
    if (!code) *removed = count;
    sender_free(letters.sender);
    kafka_admin_free(letters.admin);
    codec_free(letters.codec);
    return code;
}

/* ---- the topics ---- */

static int remove_letters(struct forgetting *forgetting) {
    int64_t removed;
    int code = forget_letters(&forgetting->cli->kafka, forgetting->user, &removed, &forgetting->error);
    if (!code) printf("%-12s %" PRId64 "\n", "dead letters", removed);
    return code ? error_prefix(&forgetting->error, code, "the user is forgotten, but dead letters may be left") : 0;
}

static void print_time(int64_t ms) {
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    char text[32];
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
    printf("%s", text);
}

/* When the last old value is gone from a topic that got its newest record now. */
static void print_topic(const struct kafka_topic_keeping *kept, int64_t now_ms) {
    printf("%-36s ", kept->name);
    if (kept->kept_ms < 0) {
        printf("no bound: %s\n", kept->compacted ? "max.compaction.lag.ms is not set" : "retention.ms is not set");
        return;
    }
    print_time(now_ms + kept->kept_ms);
    printf("  %s\n", kept->compacted ? "compacted" : "deleted");
}

static int print_topics(struct forgetting *forgetting) {
    struct kafka_admin *admin = NULL;
    struct kafka_topic_keeping *kept = mem_zero(2 * TOPICS_ALL.count, sizeof *kept);
    size_t count = 0;
    cli_say_broker(forgetting->cli);
    int code = kafka_admin_new(&forgetting->cli->kafka, &admin, &forgetting->error);
    if (!code) code = kafka_topics_keeping(admin, &TOPICS_ALL, kept, &count, ADMIN_MS, &forgetting->error);
    int64_t now_ms = clock_wall_ms();
    if (!code) printf("\nWhat history's files and the topics still have of before is gone by:\n");
    if (!code && forgetting->files_by) {
        printf("%-36s ", "history.dir");
        print_time(forgetting->files_by);
        printf("  rewritten\n");
    }
    for (size_t i = 0; i < count; i++) {
        if (!code) print_topic(&kept[i], now_ms);
        free(kept[i].name);
    }
    free(kept);
    kafka_admin_free(admin);
    return code;
}

static int run(struct cli *cli, int argc, char **argv) {
    struct forgetting forgetting = {.cli = cli};
    struct api_options api = {.cli = cli};
    const char *seconds = NULL;
    int64_t wait_s = 600;
    const struct cli_option options[] = {
        {"http", "URL", "a gateway (api.url)", &api.url, NULL},
        {"token", "TOKEN", "the user's token (signed with auth.hs256.key.file)", &api.token, NULL},
        {"wait", "SECONDS", "so long at most (600)", &seconds, NULL},
    };
    int code = cli_open(cli, &FORGET_COMMAND, argc, argv, options, ARRAY_SIZE(options));
    if (code) return code;
    if (cli_one_user(cli, &forgetting.user) || cli_int_option(&FORGET_COMMAND, "wait", seconds, 1, 86400, &wait_s))
        return CLI_WRONG_USAGE;
    forgetting.until_us = clock_monotonic_us() + wait_s * 1000000;
    api.user = forgetting.user;
    code = forget(&forgetting, &api);
    if (!code) code = remove_letters(&forgetting);
    if (!code) code = print_topics(&forgetting);
    if (!code && fflush(stdout)) code = error_set(&forgetting.error, -EIO, "standard output cannot be written");
    return code ? cli_fail(&FORGET_COMMAND, 1, "%s", forgetting.error.text) : 0;
}

const struct cli_command FORGET_COMMAND = {
    .name = "forget",
    .synopsis = "USER [--http URL] [--token TOKEN] [--wait SECONDS]",
    .summary = "removes everything that is kept of a user",
    .notes = "Asks a gateway until nothing is left of the user, and prints how many items it found, and when the\n"
             "rest is gone. It may be repeated. It also removes the user's dead letters. In such a queue it copies\n"
             "others' letters to the end, which gives them new offsets, and then deletes what was before. If it is\n"
             "killed, letters may be there twice.",
    .run = run,
};
