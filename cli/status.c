/* `starling status` shows the groups, their members, how far they have read and how fast; or with --live, the daemons. */
#include "cli/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/daemon_poll.h"
#include "cli/reader.h"
#include "cli/status_live.h"
#include "cli/status_verdict.h"
#include "cli/terminal.h"
#include "event/topics.h"

enum { ASK_MS = 8000, PAUSE_MS = 1000, EVERY_S = 2, EVERY_MAX_S = 3600 };

static void topic_start(struct status_topic *topic, const struct topic *which, const struct topics_shape *shape) {
    int partitions = shape->partitions[which->space];
    struct status_sample *samples[] = {&topic->first, &topic->last};
    *topic = (struct status_topic){.topic = which, .partitions = partitions};
    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        samples[i]->committed = mem_zero((size_t)partitions, sizeof *samples[i]->committed);
        samples[i]->end = mem_zero((size_t)partitions, sizeof *samples[i]->end);
    }
}

static void topic_clear(struct status_topic *topic) {
    free(topic->first.committed);
    free(topic->first.end);
    free(topic->last.committed);
    free(topic->last.end);
}

static void status_start(struct status *status, const struct cli *cli, const struct topics_shape *shape) {
    *status = (struct status){
        .settings = &cli->kafka,
        .topics = mem_zero(TOPICS_ALL.count, sizeof *status->topics),
        .topic_count = TOPICS_ALL.count,
        .groups =
            {
                {.name = cli->settings.router_group, .what = "routers", .topic_count = 3, .commits = true},
                {.name = cli->settings.fanout_group, .what = "edges", .topic_count = 1, .commits = false},
                {.name = cli->settings.history_group, .what = "history sinks", .topic_count = 1, .commits = true},
                {.name = cli->settings.feed_group, .what = "feed processes", .topic_count = 7, .commits = true},
                {.name = cli->settings.comments_group, .what = "comments processes", .topic_count = 1, .commits = true},
                {.name = cli->settings.places_group, .what = "places processes", .topic_count = 1, .commits = true},
                {.name = cli->settings.moderation_group,
                 .what = "moderation processes",
                 .topic_count = 1,
                 .commits = true},
            },
    };
    for (size_t i = 0; i < status->topic_count; i++) topic_start(&status->topics[i], TOPICS_ALL.items[i], shape);
    topic_start(&status->groups[0].topics[0], &TOPIC_LOCATIONS, shape);
    topic_start(&status->groups[0].topics[1], &TOPIC_FRIEND_COMMANDS, shape);
    topic_start(&status->groups[0].topics[2], &TOPIC_LINK_COMMANDS, shape);
    topic_start(&status->groups[1].topics[0], &TOPIC_DELIVERIES, shape);
    topic_start(&status->groups[2].topics[0], &TOPIC_LOCATIONS, shape);
    topic_start(&status->groups[3].topics[0], &TOPIC_FOLLOW_COMMANDS, shape);
    topic_start(&status->groups[3].topics[1], &TOPIC_POST_COMMANDS, shape);
    topic_start(&status->groups[3].topics[2], &TOPIC_TIMELINE_REQUESTS, shape);
    topic_start(&status->groups[3].topics[3], &TOPIC_NAME_COMMANDS, shape);
    topic_start(&status->groups[3].topics[4], &TOPIC_FOLLOWER_COMMANDS, shape);
    topic_start(&status->groups[3].topics[5], &TOPIC_NOTICE_COMMANDS, shape);
    topic_start(&status->groups[3].topics[6], &TOPIC_DIRECTORY_COMMANDS, shape);
    topic_start(&status->groups[4].topics[0], &TOPIC_COMMENT_COMMANDS, shape);
    topic_start(&status->groups[5].topics[0], &TOPIC_PLACE_COMMANDS, shape);
    topic_start(&status->groups[6].topics[0], &TOPIC_COMMENTS_WIDE, shape);
}

static void status_clear(struct status *status) {
    for (size_t i = 0; i < status->topic_count; i++) topic_clear(&status->topics[i]);
    free(status->topics);
    for (int i = 0; i < STATUS_GROUPS; i++) {
        kafka_group_clear(&status->groups[i].group);
        for (size_t t = 0; t < status->groups[i].topic_count; t++) topic_clear(&status->groups[i].topics[t]);
    }
}

static int ask(struct kafka_admin *admin, const char *group, struct status_topic *topic, bool last,
               struct error *error) {
    struct status_sample *sample = last ? &topic->last : &topic->first;
    return kafka_group_offsets(admin, group, topic->topic, topic->partitions, sample->committed, sample->end, ASK_MS,
                               error);
}

static int take_samples(struct status *status, struct kafka_admin *admin, bool last, struct error *error) {
    int code = 0;
    // The groups first: what they have committed was then surely written before the ends were asked for.
    for (int i = 0; !code && i < STATUS_GROUPS; i++) {
        for (size_t t = 0; !code && t < status->groups[i].topic_count; t++)
            code = ask(admin, status->groups[i].name, &status->groups[i].topics[t], last, error);
    }
    for (size_t i = 0; !code && i < status->topic_count; i++)
        code = ask(admin, status->groups[0].name, &status->topics[i], last, error);
    return code;
}

/* Asks gateways and edges themselves. A wrong address is wrong usage. */
static int ask_front(struct status *status, const struct cli *cli, struct error *error) {
    struct daemon_poll *poll = NULL;
    const char *list = cli->settings.ops_addresses;
    size_t count;
    if (!list[strspn(list, ", ")]) return 0;
    int code = daemon_poll_once(list, &poll, error);
    if (code) return error_prefix(error, code, "ops.addresses");
    const struct daemon_view *const *views = daemon_poll_views(poll, &count);
    status->front = status_front_of(views, count, strcmp(list, CLI_OPS_ADDRESSES) != 0);
    for (size_t i = 0; i < count; i++)
        if (views[i]->numbers.refused_s > status->refused_s) status->refused_s = views[i]->numbers.refused_s;
    daemon_poll_free(poll);
    return 0;
}

static int gather(struct status *status, struct kafka_admin *admin, struct error *error) {
    int code = 0;
    for (int i = 0; !code && i < STATUS_GROUPS; i++)
        code = kafka_group_describe(admin, status->groups[i].name, &status->groups[i].group, ASK_MS, error);
    if (!code) code = take_samples(status, admin, false, error);
    if (code) return code;
    int64_t first_us = clock_monotonic_us();
    uv_sleep(PAUSE_MS);
    code = take_samples(status, admin, true, error);
    status->seconds = (double)(clock_monotonic_us() - first_us) / 1e6;
    status->time_ms = clock_wall_ms();
    return code;
}

/* Nothing of starling works without the broker or the topics. */
static int down(const struct error *error) {
    cli_fail(&STATUS_COMMAND, 1, "%s", error->text);
    return STATUS_DOWN;
}

static int print(const struct status *status, bool json, bool all_partitions) {
    struct buffer text = {.data = NULL};
    struct status_verdict verdict;
    status_judge(status, &verdict);
    if (json) {
        status_json(&text, status, &verdict);
        buffer_byte(&text, '\n');
    } else {
        status_text(&text, status, &verdict, all_partitions);
    }
    int code = (int)verdict.level;
    fwrite(text.data, 1, text.size, stdout);
    buffer_free(&text);
    status_verdict_clear(&verdict);
    if (fflush(stdout) || ferror(stdout)) return cli_fail(&STATUS_COMMAND, 1, "standard output cannot be written");
    return code;
}

static int show(const struct cli *cli, bool json, bool all_partitions) {
    struct error error = {.text = ""};
    struct topics_shape shape;
    struct kafka_admin *admin = NULL;
    int code = reader_shape(cli, &shape, &error);
    if (!code) code = kafka_admin_new(&cli->kafka, &admin, &error);
    if (code) return down(&error);
    struct status status;
    status_start(&status, cli, &shape);
    code = ask_front(&status, cli, &error);
    if (code == -EINVAL)
        code = CLI_WRONG(&STATUS_COMMAND, "%s", error.text);
    else if (code)
        code = cli_fail(&STATUS_COMMAND, 1, "%s", error.text);
    else
        code = gather(&status, admin, &error) ? down(&error) : print(&status, json, all_partitions);
    status_clear(&status);
    kafka_admin_free(admin);
    return code;
}

/* The page of the daemons themselves. */
static int show_live(const struct cli *cli, int every_s) {
    struct error error = {.text = ""};
    const struct status_live_options options = {
        .lists = cli->argument_count ? (const char *const *)cli->arguments : &cli->settings.ops_addresses,
        .list_count = cli->argument_count ? (size_t)cli->argument_count : 1,
        .every_s = every_s,
    };
    int code = status_live(&options, &error);
    return code ? cli_fail(&STATUS_COMMAND, code == -EINVAL ? STATUS_UNUSABLE : 1, "%s", error.text) : 0;
}

/* Again and again, until it is interrupted or standard output is gone. */
static int watch(const struct cli *cli, bool all_partitions, int64_t every_s) {
    for (;;) {
        if (terminal_is_there()) fputs("\033[H\033[2J", stdout);
        int code = show(cli, false, all_partitions);
        if (ferror(stdout)) return code;
        uv_sleep((unsigned)(every_s * 1000 - PAUSE_MS));
    }
}

static int run(struct cli *cli, int argc, char **argv) {
    bool json = false, all_partitions = false, live = false, watches = false;
    const char *every = NULL;
    const struct cli_option options[] = {
        {"json", NULL, "one line of JSON, with every partition", NULL, &json},
        {"partitions", NULL, "every partition, not only those where much waits", NULL, &all_partitions},
        {"live", NULL, "the daemons themselves, as a page that goes on until q; printed once if output is no terminal",
         NULL, &live},
        {"watch", NULL, "again and again", NULL, &watches},
        {"every", "SECONDS", "between two readings of --live or --watch (2)", &every, NULL},
    };
    int code = cli_open(cli, &STATUS_COMMAND, argc, argv, options, ARRAY_SIZE(options));
    if (code) return code;
    int64_t every_s = EVERY_S;
    if (live && (json || all_partitions || watches))
        return CLI_WRONG(&STATUS_COMMAND, "--live goes with none of --json, --partitions and --watch");
    if (json && watches) return CLI_WRONG(&STATUS_COMMAND, "--watch does not go with --json");
    if (!live && cli->argument_count) return CLI_WRONG(&STATUS_COMMAND, "takes addresses only with --live");
    if (every && !live && !watches) return CLI_WRONG(&STATUS_COMMAND, "takes --every only with --live or --watch");
    if (cli_int_option(&STATUS_COMMAND, "every", every, 1, EVERY_MAX_S, &every_s)) return STATUS_UNUSABLE;
    if (live) return show_live(cli, (int)every_s);
    return watches ? watch(cli, all_partitions, every_s) : show(cli, json, all_partitions);
}

const struct cli_command STATUS_COMMAND = {
    .name = "status",
    .synopsis = "[--json] [--partitions] | --watch [--every SECONDS] | --live [--every SECONDS] [HOST:PORT...]",
    .summary = "healthy, degraded or down, and why; groups, members, lag and rates; or the daemons, live",
    .notes = "The first line is the verdict.\n\n"
             "degraded (exit code 1): nobody owns a partition, a group is rebalancing, more records wait than the\n"
             "group handles in half a minute, a gateway or an edge is not ready, no daemon answers at one of\n"
             "ops.addresses, or none of them is a gateway's.\n\n"
             "down (2): no broker answers, no daemon runs, a group has no member although its topics hold records,\n"
             "or no gateway or no edge is ready.\n\n"
             "healthy (0): else.\n\n"
             "Exit code 3 is wrong usage: nothing is known, and a typing error reports no deployment as down.\n\n"
             "Set ops.addresses to the addresses of all daemons. With its default, only gateways and edges that\n"
             "answer are judged. Edges commit no offsets, so their group has no lag; --live shows how late each\n"
             "one's loop is. A partition has a line of its own where much waits, or nobody owns it, or nothing was\n"
             "ever committed.\n\n"
             "--live needs no broker: it asks the daemons themselves. One that does not answer within two seconds\n"
             "is away.\n\n"
             "PARTS: partitions that it owns, + those that it stands by for.\n\n"
             "LAG: age of the oldest input that waits (router, feed); records that wait (comments, places,\n"
             "history-sink, moderation); how late the event loop is (fanout).\n\n"
             "REC/S: requests (ingest), reports of owned users (router), items of deliveries (fanout), commands\n"
             "(feed, comments), reports of users with places, and changes (places), rows (history-sink), records\n"
             "(moderation).",
    .run = run,
    .refused_code = STATUS_DOWN,
    .usage_code = STATUS_UNUSABLE,
};
