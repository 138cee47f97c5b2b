#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/reader.h"
#include "event/topics.h"
#include "kafka/admin.h"

enum { ASK_MS = 8000, CREATE_MS = 60000 };

static int create(const struct cli *cli, const struct topics_plan *plan) {
    struct error error = {.text = ""};
    struct kafka_admin *admin = NULL;
    struct topics_shape shape;
    int before = reader_shape(&cli->kafka, &shape, &error);
    // Whatever else is wrong with the topics, creating them cures it or says why not.
    int code = before == -EHOSTDOWN ? before : kafka_admin_new(&cli->kafka, &admin, &error);
    if (!code) code = kafka_topics_create(admin, plan, CREATE_MS, &error);
    if (!code) code = kafka_topics_verify(admin, &TOPICS_ALL, &shape, ASK_MS, &error);
    if (code) goto finish;
    for (size_t i = 0; i < TOPICS_ALL.count; i++) {
        const struct topic *topic = TOPICS_ALL.items[i];
        char *name = topic_full_name(&cli->kafka, topic, false);
        printf("%-32s %3d partitions\n", name, shape.partitions[topic->space]);
        free(name);
    }
    printf("%s\n", before ? "Created, each with its dead letter queue (.dlq)."
                          : "They were there already; their settings and dead letter queues are as they should be.");
finish:
    kafka_admin_free(admin);
    return code ? cli_fail(&TOPICS_COMMAND, 1, "%s", error.text) : 0;
}

/* With three copies, one may be lost while records go on being written and none that was acknowledged is lost. */
static int64_t default_insync(int64_t copies) { return copies < 0 ? 0 : copies >= 3 ? 2 : 1; }

static int run(int argc, char **argv) {
    const char *partitions = "16", *delivery_partitions = "64", *replication = NULL, *min_insync = NULL;
    const struct cli_option options[] = {
        {"partitions", "N", "of all topics but deliveries (16)", &partitions, NULL},
        {"delivery-partitions", "N", "of deliveries: routes to edges (64)", &delivery_partitions, NULL},
        {"replication", "N", "copies of each record (the broker's default)", &replication, NULL},
        {"min-insync", "N", "copies that must be written before a record counts (2 from 3 copies on)", &min_insync,
         NULL},
    };
    struct cli cli;
    bool done;
    int code = cli_open(&cli, &TOPICS_COMMAND, argc, argv, options, ARRAY_SIZE(options), &done);
    if (code || done) return code;
    int64_t count, delivery_count, copies = -1, insync = 0;
    if (cli.argument_count != 1 || strcmp(cli.arguments[0], "create")) {
        code = cli_fail(&TOPICS_COMMAND, 2, "the one thing to do with topics is: create");
    } else if (!cli_int(partitions, 1, 10000, &count)) {
        code = cli_fail(&TOPICS_COMMAND, 2, "--partitions %s: must be a number from 1 to 10000", partitions);
    } else if (!cli_int(delivery_partitions, 1, 10000, &delivery_count)) {
        code = cli_fail(&TOPICS_COMMAND, 2, "--delivery-partitions %s: must be a number from 1 to 10000",
                        delivery_partitions);
    } else if (replication && !cli_int(replication, 1, 1000, &copies)) {
        code = cli_fail(&TOPICS_COMMAND, 2, "--replication %s: must be a number from 1 to 1000", replication);
    } else if (min_insync && !cli_int(min_insync, 1, copies < 0 ? 1000 : copies, &insync)) {
        code = cli_fail(&TOPICS_COMMAND, 2, "--min-insync %s: must be from 1 to the number of copies", min_insync);
    } else {
        code = create(&cli, &(struct topics_plan){.topics = &TOPICS_ALL,
                                                  .partitions = {[TOPIC_SPACE_USERS] = (int)count,
                                                                 [TOPIC_SPACE_SUBJECTS] = (int)count,
                                                                 [TOPIC_SPACE_ROUTES] = (int)delivery_count},
                                                  .replication = (int)copies,
                                                  .min_insync = (int)(insync ? insync : default_insync(copies))});
    }
    cli_close(&cli);
    return code;
}

const struct cli_command TOPICS_COMMAND = {
    .name = "topics",
    .synopsis = "create [--partitions N] [--delivery-partitions N] [--replication N] [--min-insync N]",
    .summary = "makes the topics with the right settings; safe to repeat",
    .run = run,
};
