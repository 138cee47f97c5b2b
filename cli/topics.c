#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "cli/acls.h"
#include "cli/cli.h"
#include "cli/reader.h"
#include "event/codec.h"
#include "event/topics.h"
#include "kafka/admin.h"

/* `starling topics check`: what this version needs of the topics, and what the cluster has. */

/* How many copies must be written before a record counts, of so many: with three copies, one may be lost while records go on being written
 * and none that was acknowledged is lost. */
static int64_t topics_insync(int64_t copies) { return copies >= 3 ? 2 : 1; }

enum { ASK_MS = 8000, PLACED_MS = 30000, NEWEST = 200, PARTITIONS_DEFAULT = 16, ROUTES_DEFAULT = 64 };

struct check {
    const struct cli *cli;
    struct kafka_topic_found *found;
    size_t count;
    int most[TOPIC_SPACES]; /* partitions of the space's topics */
    bool differ;            /* topics of one space have different numbers */
    bool creates;           /* `topics create` does something about it */
    int copies;             /* of most topics that are there */
    size_t problems;
    uint32_t unknown; /* a schema that this version does not know; 0: none so far */
    int64_t unknown_count, misplaced_count;
    int partitions; /* of the topic that is read */
};

static bool is_there(const struct kafka_topic_found *found) { return found->partitions > 0; }

/* ---- what the cluster says ---- */

static void look_for_missing(struct check *check) {
    for (size_t i = 0; i < check->count; i++) {
        if (is_there(&check->found[i])) continue;
        printf("%s: is missing\n", check->found[i].name);
        check->problems++;
        check->creates = true;
    }
}

static void count_partitions(struct check *check) {
    for (size_t i = 0; i < check->count; i++) {
        const struct kafka_topic_found *found = &check->found[i];
        int *most = &check->most[found->topic->space];
        if (!found->dead_letters && found->partitions > *most) *most = found->partitions;
    }
    for (size_t i = 0; i < check->count; i++) {
        const struct kafka_topic_found *found = &check->found[i];
        int most = check->most[found->topic->space];
        if (found->dead_letters || !is_there(found) || found->partitions == most) continue;
        printf("%s: has %d partitions, and other topics of %s have %d\n", found->name, found->partitions,
               topic_space_name(found->topic->space), most);
        check->problems++;
        check->differ = true;
    }
}

static void compare_settings(struct check *check) {
    for (size_t i = 0; i < check->count; i++) {
        struct kafka_topic_found *found = &check->found[i];
        if (!found->differs.size) continue;
        printf("%s: %s\n", found->name, buffer_cstring(&found->differs));
        check->problems++;
        check->creates = true;
    }
}

static void compare_copies(struct check *check) {
    for (size_t i = 0; i < check->count; i++)
        if (check->found[i].copies > check->copies) check->copies = check->found[i].copies;
    for (size_t i = 0; i < check->count; i++) {
        const struct kafka_topic_found *found = &check->found[i];
        if (!is_there(found)) continue;
        if (found->copies < check->copies) {
            printf("%s: has %d copies, and other topics have %d (kafka-reassign-partitions.sh adds copies)\n",
                   found->name, found->copies, check->copies);
            check->problems++;
        }
        if (found->min_insync > found->copies) {
            printf("%s: min.insync.replicas is %d, and there are %d copies: nothing can be written\n", found->name,
                   found->min_insync, found->copies);
            check->problems++;
        } else if (found->min_insync < topics_insync(found->copies)) {
            printf("%s: min.insync.replicas is %d; with %d copies it should be %d (topics create --min-insync)\n",
                   found->name, found->min_insync, found->copies, (int)topics_insync(found->copies));
            check->problems++;
        }
    }
}

/* ---- what the records say ---- */

static void take(void *context, const struct kafka_record *record) {
    struct check *check = context;
    int32_t wanted = record->topic->scattered
                         ? -1
                         : topic_partition(record->topic, record->key, record->key_size, check->partitions);
    if (wanted >= 0 && wanted != record->partition) check->misplaced_count++;
    if (record->value_size < EVENT_HEADER_SIZE || record->value[0]) return; // the daemons' dead letters tell of it
    uint32_t id = bytes_get_be32(record->value + 1);
    if (event_schema_find(id)) return;
    check->unknown = id;
    check->unknown_count++;
}

static int read_newest(struct check *check, const struct kafka_topic_found *found, struct error *error) {
    const struct reader_options options = {
        .settings = &check->cli->kafka,
        .topic = found->topic,
        .partitions = found->partitions,
        .partition = READER_ALL,
        .to_ms = INT64_MAX,
        .newest = NEWEST,
        .context = check,
        .take = take,
    };
    check->unknown_count = check->misplaced_count = 0;
    check->partitions = found->partitions;
    int code = reader_run(&options, error);
    if (!code && check->misplaced_count) {
        printf("%s: %" PRId64
               " of the newest records lie in another partition than their key's. No daemon takes these; its dead "
               "letters have them. Stop the program that writes them\n",
               found->name, check->misplaced_count);
        check->problems++;
    }
    if (code || !check->unknown_count) return code;
    printf("%s: %" PRId64 " of the newest records have a schema that this version does not know (the last one: %" PRIu32
           "). If a newer version has written them, start no daemon of this version\n",
           found->name, check->unknown_count, check->unknown);
    check->problems++;
    return 0;
}

static int look_at_places(struct check *check, struct kafka_admin *admin, struct error *error) {
    const struct topic **there = mem_zero(check->count, sizeof *there);
    struct topic_list list = {.items = there};
    struct topics_shape shape = {.partitions = {0}};
    for (size_t i = 0; i < check->count; i++)
        if (!check->found[i].dead_letters && is_there(&check->found[i])) there[list.count++] = check->found[i].topic;
    for (int space = 0; space < TOPIC_SPACES; space++) shape.partitions[space] = check->most[space];
    int code = kafka_topics_placed(admin, &list, &shape, PLACED_MS, error);
    free(there);
    if (code != -EINVAL) return code;
    printf("%s\n", error->text);
    check->problems++;
    return 0;
}

static int read_records(struct check *check, struct kafka_admin *admin, struct error *error) {
    int code = check->differ ? 0 : look_at_places(check, admin, error);
    for (size_t i = 0; !code && i < check->count; i++)
        if (!check->found[i].dead_letters && is_there(&check->found[i]))
            code = read_newest(check, &check->found[i], error);
    return code;
}

/* ---- what to do ---- */

static int or_default(int partitions, int otherwise) { return partitions ? partitions : otherwise; }

static void advise(const struct check *check) {
    if (check->differ) {
        printf(
            "\nA topic's partitions cannot be taken away again: docs/OPERATIONS.md, \"More partitions\", has the way out.\n");
    } else if (check->creates) {
        int users = or_default(check->most[TOPIC_SPACE_USERS], check->most[TOPIC_SPACE_SUBJECTS]);
        printf("\nThis adds what is missing and corrects settings:\n"
               "    starling topics create --partitions %d --delivery-partitions %d",
               or_default(users, PARTITIONS_DEFAULT), or_default(check->most[TOPIC_SPACE_ROUTES], ROUTES_DEFAULT));
        if (check->copies > 1) printf(" --replication %d", check->copies);
        printf("\n");
    }
}

/* Prints what differs, with what to do about it. The exit code: 0 nothing to do, 1 something is to be done, or the cluster cannot be asked. */
static int topics_check(const struct cli *cli) {
    struct check check = {.cli = cli, .count = 2 * TOPICS_ALL.count};
    struct kafka_admin *admin = NULL;
    struct error error = {.text = ""};
    check.found = mem_zero(check.count, sizeof *check.found);
    int code = kafka_admin_new(&cli->kafka, &admin, &error);
    if (!code) code = kafka_topics_inspect(admin, &TOPICS_ALL, check.found, ASK_MS, &error);
    if (!code) {
        look_for_missing(&check);
        count_partitions(&check);
        compare_settings(&check);
        compare_copies(&check);
        code = read_records(&check, admin, &error);
    }
    if (!code) advise(&check);
    if (!code && !check.problems)
        printf("Nothing to do: %zu topics and their dead letter queues are as this version needs them.\n",
               TOPICS_ALL.count);
    kafka_topics_found_clear(check.found, check.count);
    free(check.found);
    kafka_admin_free(admin);
    if (code) return cli_fail(cli->command, 1, "%s", error.text);
    return check.problems ? 1 : 0;
}

enum { CREATE_MS = 60000 };

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
        return CLI_WRONG(&TOPICS_COMMAND, "--min-insync %s: must be from 1 to the number of copies",
                         numbers->min_insync);
    return create(
        cli, &(struct topics_plan){.topics = &TOPICS_ALL,
                                   .partitions = {[TOPIC_SPACE_USERS] = (int)count,
                                                  [TOPIC_SPACE_SUBJECTS] = (int)count,
                                                  [TOPIC_SPACE_ROUTES] = (int)delivery_count},
                                   .replication = (int)copies,
                                   .min_insync = (int)(insync ? insync : (copies < 0 ? 0 : topics_insync(copies)))});
}

static int run(struct cli *cli, int argc, char **argv) {
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
    int code = cli_open(cli, &TOPICS_COMMAND, argc, argv, options, ARRAY_SIZE(options));
    if (code) return code;
    const char *what = cli->argument_count ? cli->arguments[0] : "";
    bool json = !strcmp(format, "json");
    form.bootstrap = cli->settings.bootstrap;
    if (!strcmp(what, "create") && cli->argument_count == 1) return create_as_asked(cli, &numbers);
    if (!strcmp(what, "check") && cli->argument_count == 1) return topics_check(cli);
    if (strcmp(what, "acls")) return CLI_WRONG(&TOPICS_COMMAND, "what can be done with topics is: create, check, acls");
    if (!json && strcmp(format, "kafka-acls"))
        return CLI_WRONG(&TOPICS_COMMAND, "--format %s: must be kafka-acls or json", format);
    return acls_show(cli, cli->arguments + 1, cli->argument_count - 1, &form, json);
}

const struct cli_command TOPICS_COMMAND = {
    .name = "topics",
    .synopsis = "create [--partitions N] [--delivery-partitions N] [--replication N] [--min-insync N] | "
                "check | acls [PROGRAM...] [--principal NAME] [--format kafka-acls|json] [--command-config FILE]",
    .summary =
        "makes the topics with the right settings, safe to repeat; compares them with what this version needs; prints "
        "ACLs",
    .notes = "create makes missing topics and dead letter queues, and corrects settings. It never changes a number\n"
             "of partitions.\n\n"
             "check says what to do: run it before an upgrade. It changes nothing, and exits with 1 if something\n"
             "is to be done. It also finds records in wrong partitions, and unknown schemas among the newest 200\n"
             "offsets of each.\n\n"
             "acls prints commands that may be repeated. The ACLs of starling, this command, are wide: leave them\n"
             "out where nobody needs it.",
    .run = run,
};
