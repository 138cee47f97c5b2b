/* `starling graph`: friendships in bulk, from a file to Kafka and back. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "cli/bulk.h"
#include "cli/cli.h"
#include "cli/half_records.h"
#include "cli/halves.h"
#include "cli/reader.h"
#include "event/topics.h"

/* `starling graph verify` checks that each half of a friendship and of a follow has its mirror. Blocking; one thread.
 *
 *     a's partition p: "a follows b"                 b's partition q: "b is followed by a"
 *          sums[p][q] += hash(a, b)     must be          sums[p][q] += hash(a, b)
 *
 * One reading of a topic compares all pairs of partitions, with the halves of one partition in memory. Only pairs of partitions
 * whose sums differ are compared half by half. */

enum {
    LOOKS = 3, /* at two partitions, before a half is said to be alone: the other one may just be written */
    LOOK_AGAIN_MS = 500
};

/* A topic of pairs a, b, each with an own half and a mirror. */
struct mirrored {
    const char *name;
    const struct topic *topic;
    half_reader *own, *mirror;
    const char *own_is, *own_lacks;       /* the words for an own half alone: "a OWN_IS b, OWN_LACKS" */
    const char *mirror_is, *mirror_lacks; /* the same for a mirror; NULL: it is the own half of the pair b, a */
};

static const struct mirrored MIRRORED[] = {
    {"friendships", &TOPIC_FRIENDSHIPS, own_half_of_friendship, mirror_of_friendship, "has the friend",
     "who has no such friend", NULL, NULL},
    {"follows", &TOPIC_FOLLOWS, half_of_follow, mirror_of_follow, "follows", "who has no such follower",
     "has the follower", "who follows no such user"},
};

struct pair {
    int64_t a, b;
};

struct pair_list { /* by a, then b */
    struct pair *items;
    size_t count, capacity;
};

/* The halves of one side, a partition at a time. */
struct half_side {
    half_reader *read;
    struct codec *codec;
    struct halves *halves;
    int partitions;
    uint64_t *sums; /* by the partitions of a and of b */
    int64_t count, broken;
    /* Of two partitions: */
    int of_a, of_b;
    struct pair_list list;
};

struct verify {
    const struct kafka_settings *settings;
    const struct mirrored *mirrored;
    int partitions;
    int64_t found;
    struct error *error;
};

/* ---- lists ---- */

static void list_add(struct pair_list *list, int64_t a, int64_t b) {
    MEM_ROOM(list->items, list->count, list->capacity);
    list->items[list->count++] = (struct pair){.a = a, .b = b};
}

static int compare(const struct pair *x, const struct pair *y) {
    if (x->a != y->a) return x->a < y->a ? -1 : 1;
    return (x->b > y->b) - (x->b < y->b);
}

/* Adds those of `from` that are in `other`, or with `present` false those that are not. */
static void list_choose(struct pair_list *out, const struct pair_list *from, const struct pair_list *other,
                        bool present) {
    size_t at = 0;
    for (size_t i = 0; i < from->count; i++) {
        while (at < other->count && compare(&other->items[at], &from->items[i]) < 0) at++;
        bool found = at < other->count && compare(&other->items[at], &from->items[i]) == 0;
        if (found == present) list_add(out, from->items[i].a, from->items[i].b);
    }
}

/* ---- reading a side ---- */

/* The sides that one reading fills. */
struct half_sides {
    struct half_side *own, *mirror; /* NULL: not wanted */
};

static void take_half(struct half_side *side, const struct kafka_record *record) {
    struct half_said said;
    int code = side ? side->read(side->codec, record, &said) : 0;
    if (code < 0) side->broken++;
    if (code > 0) halves_put(side->halves, said.a, said.b, said.is);
}

static void take(void *context, const struct kafka_record *record) {
    const struct half_sides *sides = context;
    take_half(sides->own, record);
    take_half(sides->mirror, record);
}

static void drained(void *context) {}

static int read_partition(struct verify *v, const struct half_sides *wanted, int partition, int64_t to_ms,
                          int (*each)(void *context, int64_t a, int64_t b)) {
    struct half_sides sides = *wanted;
    const struct reader_options reader = {
        .settings = v->settings,
        .topic = v->mirrored->topic,
        .partitions = v->partitions,
        .partition = partition,
        .to_ms = to_ms,
        .context = &sides,
        .take = take,
        .drained = drained,
    };
    if (sides.own) halves_clear(sides.own->halves);
    if (sides.mirror) halves_clear(sides.mirror->halves);
    int code = reader_run(&reader, v->error);
    if (!code && sides.own) code = halves_each(sides.own->halves, each, sides.own);
    if (!code && sides.mirror) code = halves_each(sides.mirror->halves, each, sides.mirror);
    return code;
}

static int add_up(void *context, int64_t a, int64_t b) {
    struct half_side *side = context;
    size_t p = (size_t)hash_user_partition(a, side->partitions), q = (size_t)hash_user_partition(b, side->partitions);
    side->sums[p * (size_t)side->partitions + q] += hash_u64(hash_u64((uint64_t)a) + (uint64_t)b);
    side->count++;
    return 0;
}

static int keep(void *context, int64_t a, int64_t b) {
    struct half_side *side = context;
    if (hash_user_partition(a, side->partitions) == side->of_a &&
        hash_user_partition(b, side->partitions) == side->of_b)
        list_add(&side->list, a, b);
    return 0;
}

static void side_open(struct half_side *side, const struct verify *v, half_reader *read) {
    *side = (struct half_side){
        .read = read,
        .codec = codec_new(),
        .halves = halves_new(),
        .partitions = v->partitions,
        .sums = mem_zero((size_t)v->partitions * (size_t)v->partitions, sizeof(uint64_t)),
    };
}

static void side_close(struct half_side *side) {
    codec_free(side->codec);
    halves_free(side->halves);
    free(side->sums);
    free(side->list.items);
}

/* ---- two partitions, half by half ---- */

static void say(struct verify *v, const struct pair_list *own, const struct pair_list *mirror) {
    const struct mirrored *m = v->mirrored;
    for (size_t i = 0; i < own->count; i++) {
        printf("%s: %" PRId64 " %s %" PRId64 ", %s\n", m->name, own->items[i].a, m->own_is, own->items[i].b,
               m->own_lacks);
        v->found++;
    }
    for (size_t i = 0; m->mirror_is && i < mirror->count; i++) {
        printf("%s: %" PRId64 " %s %" PRId64 ", %s\n", m->name, mirror->items[i].b, m->mirror_is, mirror->items[i].a,
               m->mirror_lacks);
        v->found++;
    }
}

/* Keeps in `alone` the halves that are still alone; at the first look, takes all that are. */
static void still_alone(struct pair_list *alone, const struct pair_list *side, const struct pair_list *other,
                        bool first) {
    struct pair_list now = {.items = NULL}, both = {.items = NULL};
    list_choose(&now, side, other, false);
    if (first)
        both = now;
    else
        list_choose(&both, alone, &now, true);
    if (!first) free(now.items);
    free(alone->items);
    *alone = both;
}

/* The pairs with a in partition p and b in q. */
static int compare_halves(struct verify *v, struct half_side *own, struct half_side *mirror, int p, int q) {
    struct pair_list own_alone = {.items = NULL}, mirror_alone = {.items = NULL};
    int code = 0;
    own->of_a = mirror->of_a = p;
    own->of_b = mirror->of_b = q;
    for (int look = 0; !code && look < LOOKS && (!look || own_alone.count || mirror_alone.count); look++) {
        // Both partitions are read up to one moment, a while after it: by then what was written until then is committed.
        int64_t moment = clock_wall_ms();
        uv_sleep(LOOK_AGAIN_MS);
        own->list.count = mirror->list.count = 0;
        code = read_partition(v, &(struct half_sides){.own = own, .mirror = p == q ? mirror : NULL}, p, moment, keep);
        if (!code && p != q) code = read_partition(v, &(struct half_sides){.mirror = mirror}, q, moment, keep);
        still_alone(&own_alone, &own->list, &mirror->list, !look);
        still_alone(&mirror_alone, &mirror->list, &own->list, !look);
    }
    if (!code) say(v, &own_alone, &mirror_alone);
    free(own_alone.items);
    free(mirror_alone.items);
    return code;
}

/* ---- a topic ---- */

static int verify_topic(struct verify *v) {
    struct half_side own, mirror;
    int code = 0;
    // All partitions are read up to one moment: else records that are written meanwhile would make their sums differ.
    int64_t moment = clock_wall_ms();
    side_open(&own, v, v->mirrored->own);
    side_open(&mirror, v, v->mirrored->mirror);
    for (int p = 0; !code && p < v->partitions; p++)
        code = read_partition(v, &(struct half_sides){.own = &own, .mirror = &mirror}, p, moment, add_up);
    int64_t count = own.count, broken = own.broken;
    for (int p = 0; !code && p < v->partitions; p++) {
        for (int q = 0; !code && q < v->partitions; q++) {
            size_t at = (size_t)p * (size_t)v->partitions + (size_t)q;
            if (own.sums[at] != mirror.sums[at]) code = compare_halves(v, &own, &mirror, p, q);
        }
    }
    if (!code) fprintf(stderr, "starling graph: %s: %" PRId64 " halves looked at\n", v->mirrored->name, count);
    if (broken) fprintf(stderr, "starling graph: %" PRId64 " records cannot be read\n", broken);
    side_close(&own);
    side_close(&mirror);
    return code;
}

/* Prints a line for each half that has no mirror. The exit code: 1, after the reason was said, when there is one. */
static int verify_run(const struct cli_command *command, const struct cli *cli, struct error *error) {
    struct topics_shape shape;
    struct verify v = {.settings = &cli->kafka, .error = error};
    int code = reader_shape(cli, &shape, error);
    v.partitions = code ? 0 : shape.partitions[TOPIC_SPACE_USERS];
    for (size_t i = 0; !code && i < ARRAY_SIZE(MIRRORED); i++) {
        v.mirrored = &MIRRORED[i];
        code = verify_topic(&v);
    }
    if (code) return cli_fail(command, 1, "%s", error->text);
    return v.found ? cli_fail(command, 1, "%" PRId64 " halves have no mirror", v.found) : 0;
}

static const char *group(const struct cli_settings *settings) { return settings->router_group; }

static const struct bulk FRIENDSHIPS = {
    .command = &GRAPH_COMMAND,
    .pairs = "friendships",
    .deciders = &SETUP_ROUTERS,
    .group = group,
    .send = setup_befriend,
    .halves = &TOPIC_FRIENDSHIPS,
    .read_half = half_of_friendship,
    .wait_help = "import: waits so long at most until it is all on the routers' friend lists",
    .verify = verify_run,
};

static int run(struct cli *cli, int argc, char **argv) { return bulk_run(&FRIENDSHIPS, cli, argc, argv); }

const struct cli_command GRAPH_COMMAND = {
    .name = "graph",
    .synopsis = "import FILE [--resume STATE] [--wait SECONDS] | export [FILE] | verify",
    .summary = "friendships in bulk: two user ids a line, .gz too",
    .notes = "A line is two user ids, with blanks or a comma between; # begins a comment. import sets both\n"
             "consents at once: use it for graphs that come from elsewhere. It stays at most 100,000 commands\n"
             "ahead of the daemons; if no router runs, it sends everything. It may be repeated: existing\n"
             "friendships keep their date. The file of --resume is for one FILE only, and is removed at the end.\n\n"
             "export writes each friendship once, \"a b\" with a < b, sorted within a partition. verify looks\n"
             "several times for halves of friendships and follows without their mirror. It prints a line for each,\n"
             "and exits with 1 if there is one.",
    .run = run,
};
