/* Loads the data of `./dev bench feed` before it measures.
 *
 *     bench-feed-load WHAT [--NAME VALUE ...]
 *
 *     lists     everybody's lists of follows and of followers                 --path (data.dir of starling-feed, before it starts)
 *     begins    everybody's inbox begins, complete                            --bootstrap --prefix
 *     posts     posts and their texts                                         --bootstrap --prefix --from --count [--rate a second]
 *     hot       the same posts for hot-posts, as an outbox sends them         --bootstrap --prefix --from --count
 *     edit-commands   commands to edit posts of a file, each once                --bootstrap --prefix --from --count --path
 *     post-commands, follow-commands   commands to write posts, and to follow others than those of the lists; all can be accepted
 *                                                                             --bootstrap --prefix --from --count
 *     inboxes   prints the number of entries in the inboxes of a stopped process, and their bytes on disk    --path (its data.dir)
 *     sql       posts and follows for PostgreSQL's COPY                       --path (a folder) --count
 *
 * The world's numbers: --people --following --partitions --begin-ms --step-us. `posts` prints how many inbox entries they lead to.
 */
#include <inttypes.h>
#include <unistd.h>

#include "adjacency/private.h"
#include "base/bytes.h"
#include "base/mem.h"
#include "bench/arguments.h"
#include "bench/feed_world.h"
#include "bench/machine.h"
#include "bench/sender.h"
#include "deliver/deliver.h"
#include "edits/encode.h"
#include "event/codec.h"
#include "event/delivery.h"
#include "event/topics.h"
#include "feed/inboxes.h"
#include "feed/posts.h"
#include "feed/relations.h"

enum {
    LISTS_A_BATCH = 500,
    BATCH_BYTES = 65536,
    TEXT_BYTES = 140,
    CLIENT_KEY_BYTES = 32,
    INBOX_MAX = 800,
    PACE_US = 2000
};
#define MEMORY ((size_t)1 << 30)

struct options {
    struct feed_world world;
    const char *bootstrap, *prefix, *path;
    int64_t from, count, rate;
};

static void fail(const char *what, const struct error *error) { sender_fail(what, error->text); }

/* ---- follows ---- */

/* Everybody's followers, as lists one behind the other: those of person p are ids[ends[p - 1]] to ids[ends[p]], rising. */
struct followers {
    int64_t *ids;
    size_t *ends;
};

static struct followers followers_of_all(const struct feed_world *world) {
    size_t people = (size_t)world->people, total = 0;
    int64_t *ids = mem_alloc((size_t)world->following * sizeof *ids);
    struct followers all = {.ends = mem_zero(people + 1, sizeof *all.ends)};
    for (int64_t person = 0; person < world->people; person++) {
        size_t count = feed_world_following(world, person, world->following, ids);
        for (size_t i = 0; i < count; i++) all.ends[feed_world_person(ids[i]) + 1]++;
        total += count;
    }
    for (size_t i = 0; i < people; i++) all.ends[i + 1] += all.ends[i];
    all.ids = mem_alloc(total * sizeof *all.ids);
    for (int64_t person = 0; person < world->people; person++) {
        size_t count = feed_world_following(world, person, world->following, ids);
        for (size_t i = 0; i < count; i++) all.ids[all.ends[feed_world_person(ids[i])]++] = feed_world_id(person);
    }
    for (size_t i = 0, begin = 0; i < people; begin = all.ends[i++])
        qsort(all.ids + begin, all.ends[i] - begin, sizeof *all.ids, feed_world_rising);
    free(ids);
    return all;
}

static size_t begin_of(const struct followers *all, int64_t person) { return person ? all->ends[person - 1] : 0; }

static void followers_free(struct followers *all) {
    free(all->ids);
    free(all->ends);
}

static void put_list(struct store_batch *batch, const struct adjacency *lists, int32_t partition, int64_t user,
                     enum relation relation, int64_t *ids, size_t count) {
    struct buffer bytes = {.data = NULL};
    struct adjacency_key key = adjacency_root_key(user, (uint8_t)(relation - RELATION_FOLLOWING));
    adjacency_root_encode(&bytes, &(struct id_list){.items = ids, .count = count});
    store_batch_put(batch, lists->parts[partition].family, key.bytes, key.size, bytes.data, bytes.size);
    buffer_free(&bytes);
}

/* Writes whole lists at once, without list_store_add, which sorts halves that come in no order. The store is the same. */
static void load_lists(const struct options *options) {
    const struct feed_world *world = &options->world;
    struct error error = {.text = ""};
    char *folder = mem_format("%s/follows", options->path);
    struct relation_lists_options how = {
        .path = folder, .partitions = world->partitions, .memory_bytes = MEMORY, .max_age_ms = ADJACENCY_DAY_MS};
    struct relation_lists *relations;
    if (relation_lists_open(&how, &relations, &error)) fail(folder, &error);
    struct adjacency *lists = relation_lists_adjacency(relations);
    for (int32_t p = 0; p < world->partitions; p++) { // all of nothing is read
        int64_t from, now = clock_wall_ms();
        if (adjacency_attach(lists, p, now, &from, &error) || adjacency_apply(lists, p, 0, now, true, &error) ||
            adjacency_finish(lists, p, now, &error))
            fail(folder, &error);
    }
    struct followers followers = followers_of_all(world);
    struct store_batch *batch = store_batch_new();
    int64_t *following = mem_alloc((size_t)world->following * sizeof *following);
    for (int64_t person = 0; person < world->people; person++) {
        int64_t user = feed_world_id(person);
        int32_t partition = feed_world_partition(world, user);
        size_t begin = begin_of(&followers, person), count = followers.ends[person] - begin;
        put_list(batch, lists, partition, user, RELATION_FOLLOWER, followers.ids + begin, count);
        count = feed_world_following(world, person, world->following, following);
        put_list(batch, lists, partition, user, RELATION_FOLLOWING, following, count);
        if (store_batch_count(batch) < LISTS_A_BATCH && person < world->people - 1) continue;
        if (store_write(lists->store, batch, false, &error)) fail(folder, &error);
        store_batch_clear(batch);
    }
    for (int32_t p = 0; p < world->partitions; p++) {
        if (store_compact(lists->store, lists->parts[p].family)) fail(folder, &error);
    }
    free(following);
    followers_free(&followers);
    store_batch_free(batch);
    relation_lists_close(relations);
    free(folder);
}

/* ---- batches of items ---- */

struct items {
    struct sender *sender;
    struct epochs *epochs;
    struct deliver *deliver;
    const struct topic *topic;
};

static int send_batch(void *context, int32_t partition, const void *bytes, size_t size, uint64_t epoch) {
    struct items *items = context;
    buffer_append(&items->sender->value, bytes, size);
    sender_send(items->sender, items->topic, partition, NULL, 0);
    epochs_acknowledge(items->epochs, epoch);
    return 0;
}

static void items_open(struct items *items, struct sender *sender, int32_t partitions, const struct topic *topic) {
    *items = (struct items){.sender = sender, .epochs = epochs_new(), .topic = topic};
    items->deliver = deliver_new(&(struct deliver_options){.destinations = partitions,
                                                           .flush_bytes = BATCH_BYTES,
                                                           .flush_us = INT64_MAX / 2,
                                                           .epochs = items->epochs,
                                                           .context = items,
                                                           .send = send_batch});
}

static void items_put(struct items *items, int32_t partition, int64_t user, const struct timeline_item *item) {
    uint8_t *payload = deliver_payload(items->deliver, timeline_item_size_max(item));
    struct deliver_envelope envelope = {.kind = DELIVERY_TIMELINE,
                                        .recipients = &user,
                                        .recipient_count = 1,
                                        .payload = payload,
                                        .payload_size = (size_t)(timeline_item_write(payload, item) - payload)};
    deliver_put(items->deliver, partition, &envelope, 0, 0);
}

static void items_close(struct items *items) {
    deliver_flush(items->deliver);
    deliver_free(items->deliver);
    epochs_free(items->epochs);
}

static void load_begins(const struct options *options, struct sender *sender) {
    const struct timeline_item begin = {.kind = TIMELINE_ITEM_BEGIN};
    struct items items;
    items_open(&items, sender, options->world.partitions, &TOPIC_TIMELINES);
    for (int64_t person = 0; person < options->world.people; person++) {
        int64_t user = feed_world_id(person);
        items_put(&items, feed_world_partition(&options->world, user), user, &begin);
    }
    items_close(&items);
}

static void load_hot(const struct options *options, struct sender *sender) {
    const struct feed_world *world = &options->world;
    struct items items;
    items_open(&items, sender, world->partitions, &TOPIC_HOT_POSTS);
    for (int64_t i = options->from; i < options->from + options->count; i++) {
        const struct timeline_item hot = {.kind = TIMELINE_ITEM_HOT, .hot = {.id = feed_world_post_id(world, i)}};
        int64_t author = feed_world_author(world, i);
        items_put(&items, feed_world_partition(world, author), author, &hot);
    }
    items_close(&items);
}

/* ---- posts ---- */

static void text_of(int64_t post, char text[TEXT_BYTES + 1]) {
    snprintf(text, TEXT_BYTES + 1, "post %" PRId64 " ", post);
    for (size_t i = strlen(text); i < TEXT_BYTES; i++)
        text[i] = i % 7 == 6 ? ' ' : (char)('a' + hash_u64((uint64_t)post << 8 | i) % 26);
    text[TEXT_BYTES] = '\0';
}

static void load_posts(const struct options *options, struct sender *sender) {
    const struct feed_world *world = &options->world;
    struct followers followers = followers_of_all(world);
    const struct post live = {.state = POST_LIVE};
    uint64_t entries = 0;
    int64_t begin_us = clock_monotonic_us();
    for (int64_t i = options->from; i < options->from + options->count; i++) {
        while (options->rate && clock_monotonic_us() < begin_us + (i - options->from) * 1000000 / options->rate) {
            uv_run(&sender->loop, UV_RUN_NOWAIT);
            usleep(PACE_US);
        }
        uint8_t key[POST_KEY_SIZE];
        char words[TEXT_BYTES + 1];
        int64_t author = feed_world_author(world, i), person = feed_world_person(author);
        int32_t partition = feed_world_partition(world, author);
        post_key_write(key, author, feed_world_post_id(world, i));
        text_of(i, words);
        const struct post_text text = {.text = {.data = words, .size = TEXT_BYTES}, .version = 1, .editor = -1};
        edit_encode_post_text(&sender->value, &text);
        sender_send(sender, &TOPIC_POST_TEXTS, partition, key, sizeof key);
        event_encode_post(&sender->value, &live);
        sender_send(sender, &TOPIC_POSTS, partition, key, sizeof key);
        entries += followers.ends[person] - begin_of(&followers, person);
    }
    printf("%" PRIu64 "\n", entries);
    followers_free(&followers);
}

/* ---- commands, as a gateway writes them ---- */

static void send_command(struct sender *sender, const struct topic *topic, int64_t user) {
    uint8_t key[8];
    bytes_put_be64(key, (uint64_t)user);
    sender_send(sender, topic, KAFKA_PARTITION_BY_KEY, key, sizeof key);
}

/* Their authors stand behind the world's people: nobody follows them. The keys look like those that a gateway chooses. */
static void load_post_commands(const struct options *options, struct sender *sender) {
    const struct feed_world *world = &options->world;
    for (int64_t i = options->from; i < options->from + options->count; i++) {
        char words[TEXT_BYTES + 1], client[CLIENT_KEY_BYTES + 1];
        text_of(i, words);
        snprintf(client, sizeof client, "%016" PRIx64 "%016" PRIx64, hash_u64((uint64_t)i), hash_u64(~(uint64_t)i));
        const struct post_command command = {
            .kind = POST_COMMAND_POST,
            .user = feed_world_id(world->people + feed_world_person(feed_world_author(world, i))),
            .key = {.data = client, .size = CLIENT_KEY_BYTES},
            .text = {.data = words, .size = TEXT_BYTES},
            .time = clock_wall_ms(),
        };
        edit_encode_post_command(&sender->value, &command);
        send_command(sender, &TOPIC_POST_COMMANDS, command.user);
    }
}

/* A file of posts has an author and an id for each, as they lie in memory. */
static void load_edit_commands(const struct options *options, struct sender *sender) {
    FILE *file = fopen(options->path, "r");
    int64_t post[2];
    if (!file || fseek(file, options->from * (int64_t)sizeof post, SEEK_SET))
        sender_fail(options->path, strerror(errno));
    for (int64_t i = options->from; i < options->from + options->count; i++) {
        char words[TEXT_BYTES + 1];
        if (fread(post, sizeof post, 1, file) != 1) sender_fail(options->path, "it holds too few posts");
        text_of(i + 1, words);
        const struct post_command command = {
            .kind = POST_COMMAND_EDIT,
            .user = post[0],
            .id = post[1],
            .text = {.data = words, .size = TEXT_BYTES},
            .time = clock_wall_ms(),
            .version = 1,
            .editor = -1,
        };
        edit_encode_post_command(&sender->value, &command);
        send_command(sender, &TOPIC_POST_COMMANDS, command.user);
    }
    fclose(file);
}

static void load_follow_commands(const struct options *options, struct sender *sender) {
    const struct feed_world *world = &options->world;
    int64_t end = options->from + options->count;
    if (world->following + end / world->people >= world->people / 2) sender_fail("follows", "there are too few people");
    for (int64_t i = options->from; i < end; i++) {
        const struct follow_command command = {
            .kind = FOLLOW_COMMAND_FOLLOW,
            .user = feed_world_id(i % world->people),
            .other = feed_world_followed_next(world, i % world->people, i / world->people),
            .time = clock_wall_ms(),
        };
        event_encode_follow_command(&sender->value, &command);
        send_command(sender, &TOPIC_FOLLOW_COMMANDS, command.user);
    }
}

/* ---- inboxes as they lie on the disk ---- */

static void count_inboxes(const struct options *options) {
    const struct feed_world *world = &options->world;
    struct error error = {.text = ""};
    char *folder = mem_format("%s/posts", options->path);
    struct store_options how = {.memory_bytes = MEMORY, .point_lookups = true};
    struct store *store;
    struct inbox inbox = {.request = -1};
    uint64_t entries = 0;
    if (store_open(folder, &how, &store, &error)) fail(folder, &error);
    struct inboxes *inboxes = inboxes_new(&(struct inboxes_options){.store = store,
                                                                    .partitions = world->partitions,
                                                                    .max = INBOX_MAX,
                                                                    .memory_bytes = MEMORY,
                                                                    .away_ms = ADJACENCY_DAY_MS});
    for (int32_t p = 0; p < world->partitions; p++) {
        char *name = mem_format("inbox-%d", p);
        struct store_family *family = NULL;
        if (inboxes_open(inboxes, p, 0, 0, &error) || store_family(store, name, &family, &error)) fail(folder, &error);
        store_compact(store, family);
        free(name);
    }
    uint64_t all = store_usage(store).sst_files, others;
    for (int64_t person = 0; person < world->people; person++) {
        int64_t user = feed_world_id(person);
        if (inboxes_find(inboxes, feed_world_partition(world, user), user, SIZE_MAX, &inbox, &error))
            fail(folder, &error);
        entries += inbox.count;
    }
    for (int32_t p = 0; p < world->partitions; p++) {
        char *name = mem_format("inbox-%d", p);
        inboxes_close(inboxes, p);
        if (store_family_drop(store, name, &error)) fail(folder, &error);
        free(name);
    }
    others = store_usage(store).sst_files;
    printf("{\"entries\":%" PRIu64 ",\"bytes\":%" PRIu64 "}\n", entries, all - others);
    inbox_free(&inbox);
    inboxes_free(inboxes);
    store_close(store);
    free(folder);
}

/* ---- for PostgreSQL ---- */

static void dump_sql(const struct options *options) {
    const struct feed_world *world = &options->world;
    FILE *follows = bench_file(options->path, "follows"), *posts = bench_file(options->path, "posts");
    int64_t *ids = mem_alloc((size_t)world->following * sizeof *ids);
    for (int64_t person = 0; person < world->people; person++) {
        size_t count = feed_world_following(world, person, world->following, ids);
        for (size_t i = 0; i < count; i++)
            fprintf(follows, "%" PRId64 "\t%" PRId64 "\n", feed_world_id(person), ids[i]);
    }
    for (int64_t i = 0; i < options->count; i++) {
        char words[TEXT_BYTES + 1];
        text_of(i, words);
        fprintf(posts, "%" PRId64 "\t%" PRId64 "\t%s\n", feed_world_author(world, i), feed_world_post_id(world, i),
                words);
    }
    free(ids);
    if (fclose(follows) || fclose(posts)) sender_fail(options->path, strerror(errno));
}

/* ---- arguments ---- */

static void arguments(int argc, char **argv, struct options *options) {
    int64_t partitions = 0;
    const struct argument known[] = {{"--people", &options->world.people, NULL},
                                     {"--following", &options->world.following, NULL},
                                     {"--partitions", &partitions, NULL},
                                     {"--begin-ms", &options->world.begin_ms, NULL},
                                     {"--step-us", &options->world.step_us, NULL},
                                     {"--from", &options->from, NULL},
                                     {"--count", &options->count, NULL},
                                     {"--rate", &options->rate, NULL},
                                     {"--bootstrap", NULL, &options->bootstrap},
                                     {"--prefix", NULL, &options->prefix},
                                     {"--path", NULL, &options->path}};
    arguments_read(argc, argv, known, ARRAY_SIZE(known));
    options->world.partitions = (int32_t)partitions;
}

int main(int argc, char **argv) {
    struct options options = {.from = 0};
    struct sender sender;
    if (argc < 2) sender_fail("feed-load", "its head says which arguments there are");
    arguments(argc, argv, &options);
    const char *what = argv[1];
    if (strcmp(what, "lists") == 0) {
        load_lists(&options);
        return 0;
    }
    if (strcmp(what, "inboxes") == 0) {
        count_inboxes(&options);
        return 0;
    }
    if (strcmp(what, "sql") == 0) {
        dump_sql(&options);
        return 0;
    }
    const struct kafka_settings settings = {
        .topics = &TOPICS_ALL, .bootstrap = options.bootstrap, .prefix = options.prefix, .client_id = "bench-feed"};
    sender_open(&sender, &settings);
    if (strcmp(what, "begins") == 0) load_begins(&options, &sender);
    if (strcmp(what, "posts") == 0) load_posts(&options, &sender);
    if (strcmp(what, "hot") == 0) load_hot(&options, &sender);
    if (strcmp(what, "post-commands") == 0) load_post_commands(&options, &sender);
    if (strcmp(what, "edit-commands") == 0) load_edit_commands(&options, &sender);
    if (strcmp(what, "follow-commands") == 0) load_follow_commands(&options, &sender);
    sender_close(&sender);
    return 0;
}
