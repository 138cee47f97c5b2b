#include "cli/topics_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "cli/reader.h"
#include "event/codec.h"
#include "event/topics.h"

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

int topics_check(const struct cli *cli) {
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
