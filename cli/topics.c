#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/acls.h"
#include "cli/cli.h"
#include "cli/reader.h"
#include "cli/topics_check.h"
#include "event/topics.h"
#include "kafka/admin.h"

enum { ASK_MS = 8000, CREATE_MS = 60000 };

static int create(const struct cli *cli, const struct topics_plan *plan) {
    struct error error = {.text = ""};
    struct kafka_admin *admin = NULL;
    struct topics_shape shape;
    int before = reader_shape(cli, &shape, &error);
    // Creating the topics cures everything else that is wrong with them, or says why not.
    int code = before == -EHOSTDOWN || before == -EACCES ? before : kafka_admin_new(&cli->kafka, &admin, &error);
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

struct numbers {
    const char *partitions, *delivery_partitions, *replication, *min_insync; /* the last two: NULL if not given */
};

static int create_as_asked(const struct cli *cli, const struct numbers *numbers) {
    int64_t count, delivery_count, copies = -1, insync = 0;
    if (cli_int_option(&TOPICS_COMMAND, "partitions", numbers->partitions, 1, 10000, &count) ||
        cli_int_option(&TOPICS_COMMAND, "delivery-partitions", numbers->delivery_partitions, 1, 10000,
                       &delivery_count) ||
        cli_int_option(&TOPICS_COMMAND, "replication", numbers->replication, 1, 1000, &copies))
        return CLI_WRONG_USAGE;
    if (numbers->min_insync && !cli_int(numbers->min_insync, 1, copies < 0 ? 1000 : copies, &insync))
        return cli_fail(&TOPICS_COMMAND, CLI_WRONG_USAGE, "--min-insync %s: must be from 1 to the number of copies",
                        numbers->min_insync);
    return create(
        cli, &(struct topics_plan){.topics = &TOPICS_ALL,
                                   .partitions = {[TOPIC_SPACE_USERS] = (int)count,
                                                  [TOPIC_SPACE_SUBJECTS] = (int)count,
                                                  [TOPIC_SPACE_ROUTES] = (int)delivery_count},
                                   .replication = (int)copies,
                                   .min_insync = (int)(insync ? insync : (copies < 0 ? 0 : topics_insync(copies)))});
}

static int run(int argc, char **argv) {
    struct numbers numbers = {.partitions = "16", .delivery_partitions = "64"};
    struct acls_form form = {.principal = "User:%", .command_config = ""};
    const char *format = "kafka-acls";
    const struct cli_option options[] = {
        {"partitions", "N", "create: of all topics but deliveries (16)", &numbers.partitions, NULL},
        {"delivery-partitions", "N", "create: of deliveries: routes to edges (64)", &numbers.delivery_partitions, NULL},
        {"replication", "N", "create: copies of each record (the broker's default)", &numbers.replication, NULL},
        {"min-insync", "N", "create: copies that must be written before a record counts (2 from 3 copies on)",
         &numbers.min_insync, NULL},
        {"principal", "NAME", "acls: whom they are for, with the program's name for a % (User:%)", &form.principal,
         NULL},
        {"format", "FORMAT", "acls: kafka-acls, for command lines, or json (kafka-acls)", &format, NULL},
        {"command-config", "FILE", "acls: properties that kafka-acls.sh is to connect with (none)",
         &form.command_config, NULL},
    };
    struct cli cli;
    bool done;
    int code = cli_open(&cli, &TOPICS_COMMAND, argc, argv, options, ARRAY_SIZE(options), &done);
    if (code || done) return code;
    const char *what = cli.argument_count ? cli.arguments[0] : "";
    bool json = !strcmp(format, "json");
    form.bootstrap = cli.settings.bootstrap;
    if (!strcmp(what, "create") && cli.argument_count == 1)
        code = create_as_asked(&cli, &numbers);
    else if (!strcmp(what, "check") && cli.argument_count == 1)
        code = topics_check(&cli);
    else if (strcmp(what, "acls"))
        code = cli_fail(&TOPICS_COMMAND, CLI_WRONG_USAGE, "what can be done with topics is: create, check, acls");
    else if (!json && strcmp(format, "kafka-acls"))
        code = cli_fail(&TOPICS_COMMAND, CLI_WRONG_USAGE, "--format %s: must be kafka-acls or json", format);
    else
        code = acls_show(&cli, cli.arguments + 1, cli.argument_count - 1, &form, json);
    cli_close(&cli);
    return code;
}

const struct cli_command TOPICS_COMMAND = {
    .name = "topics",
    .synopsis = "create [--partitions N] [--delivery-partitions N] [--replication N] [--min-insync N] | "
                "check | acls [PROGRAM...] [--principal NAME] [--format kafka-acls|json] [--command-config FILE]",
    .summary =
        "makes the topics with the right settings, safe to repeat; compares them with what this version needs; prints "
        "ACLs",
    .run = run,
};
