/* Friend lists through random histories: topics of a few partitions with what random commands make of pairs, read in lots of any
 * size, live or restored, from where a store says that it is; stores that are closed, detached, built anew, built by a worker
 * meanwhile, or replaced by a checkpoint. After each lot every door to what is stored is compared with a table. And a process that
 * is killed whatever it is doing: what its store says that it reflects is what it reflects. */
#include <signal.h>
#include <sys/wait.h>

#include "router/graph_private.h"
#include "unit/kit/kit.h"

enum { PARTITIONS = 3, USERS = 45, CAP = 9, TOPIC_MAX = 4000, HISTORIES = 6, STEPS = 220, KILLS = 25 };
static const int64_t DAY_MS = 86400000;

struct record {
    int64_t user, other;
    struct friendship half;
};

struct part {
    struct record topic[TOPIC_MAX]; /* by offset; user -1: a marker of a transaction */
    int64_t size;
    int64_t position; /* read up to here; what is behind `applied` is queued */
    int64_t applied;
    struct adjacency_build *build; /* a worker has it; begun when so much was applied: */
    int64_t built;
    bool attached;
    bool written; /* it has been read from: it is not to be begun anew but by rebuild */
};

struct world {
    char *folder;
    struct graph *graph;
    uint64_t random;
    int64_t now, clock;
    struct part parts[PARTITIONS];
    struct friendship pairs[USERS][USERS];  /* the lower user's half, as the topics will have it */
    struct friendship stored[USERS][USERS]; /* as the records that were applied say */
    bool told[USERS][USERS];
    uint8_t told_rounded[USERS][USERS];
    bool live;
    bool killed; /* will be: nobody compares what it tells */
    size_t cap;
    int64_t hold[PARTITIONS];
    size_t checkpoints;
    int64_t checkpoint_at[PARTITIONS];
    bool checkpoint_written[PARTITIONS];
    struct friendship checkpoint[USERS][USERS];
};

static uint64_t chance(struct world *w, uint64_t of) { return hash_u64(w->random++) % of; }

static int32_t partition_of(int64_t user) { return (int32_t)(user % PARTITIONS); }

static void changed(void *context, const struct graph_change *change) {
    struct world *w = context;
    uint8_t *told = &w->told_rounded[change->user][change->other];
    assert_true(w->live);
    assert_true(change->made || !change->rounded);
    assert_true(change->made != change->was_made || change->rounded != change->rounded_before);
    if (!w->killed) {
        assert_int_equal(w->told[change->user][change->other], change->was_made);
        assert_int_equal(*told, change->rounded_before);
    }
    w->told[change->user][change->other] = change->made;
    *told = change->rounded;
}

static void exceeded(void *context, int32_t partition, int64_t user, int64_t other, int64_t since, int64_t offset) {
    struct world *w = context;
    const struct record *record = &w->parts[partition].topic[offset];
    assert_int_equal(record->user, user);
    assert_int_equal(record->other, other);
    assert_int_equal(record->half.since, since);
    assert_true(friendship_made(&record->half));
    if (offset < w->hold[partition]) w->hold[partition] = offset;
}

static void open_graph(struct world *w) {
    char path[96];
    snprintf(path, sizeof path, "%s/friends", w->folder);
    struct graph_options options = {.path = path,
                                    .partitions = PARTITIONS,
                                    .cap = w->cap,
                                    .max_age_ms = DAY_MS * 3,
                                    .memory_bytes = 4 << 20,
                                    .build_bytes = chance(w, 2), // on disk, or a share of memory
                                    .context = w,
                                    .on_change = changed,
                                    .on_excess = exceeded};
    if (graph_open(&options, &w->graph, &failure)) fail_msg("%s", failure.text);
}

/* ---- the topics ---- */

static void produce(struct world *w, int64_t user, int64_t other, const struct friendship *half) {
    struct part *part = &w->parts[partition_of(user)];
    assert_true(part->size + 2 < TOPIC_MAX);
    part->topic[part->size++] = (struct record){.user = user, .other = other, .half = *half};
    if (!chance(w, 8)) part->topic[part->size++] = (struct record){.user = -1};
}

static void command(struct world *w) {
    int64_t from = (int64_t)chance(w, USERS), to = (int64_t)chance(w, chance(w, 2) ? 6 : USERS);
    if (from == to) return;
    int64_t lower = friendship_lower(from, to), higher = friendship_higher(from, to);
    struct friend_command command = {
        .kind = (enum friend_command_kind)chance(w, 7), .from = from, .to = to, .time = w->now - w->clock++ % 50000};
    struct friendship next;
    if (chance(w, 2)) command.kind = chance(w, 2) ? FRIEND_COMMAND_BEFRIEND : FRIEND_COMMAND_REQUEST;
    if (!friendship_decide(&w->pairs[lower][higher], &command, false, &next)) return;
    w->pairs[lower][higher] = next;
    struct friendship mirror = friendship_mirror(&next);
    produce(w, lower, higher, &next);
    produce(w, higher, lower, &mirror);
}

/* ---- what was stored against the table ---- */

static void expect_page(struct world *w, int64_t user, unsigned views) {
    size_t limit = 1 + chance(w, 7), count;
    struct graph_entry entries[8];
    bool more = true;
    int64_t after = -1, other = 0;
    while (more) {
        int code =
            graph_page(w->graph, partition_of(user), user, views, after, entries, limit, &count, &more, &failure);
        if (code) fail_msg("%s", failure.text);
        assert_true(count == limit || !more);
        for (size_t i = 0; i < count; i++) {
            while (!(views & 1u << friendship_view(&w->stored[user][other]))) assert_true(++other < USERS);
            assert_int_equal(entries[i].other, other);
            assert_int_equal(entries[i].view, friendship_view(&w->stored[user][other]));
            assert_int_equal(entries[i].since, w->stored[user][other].since);
            assert_int_equal(entries[i].rounded, w->stored[user][other].rounded_by_me);
            after = other++;
        }
    }
    for (; other < USERS; other++) assert_false(views & 1u << friendship_view(&w->stored[user][other]));
}

static void expect_roundings(struct world *w, int64_t user, const struct id_list *list) {
    struct rounding_list roundings = {.items = NULL};
    size_t count = 0;
    int code = graph_roundings(w->graph, partition_of(user), user, list, &roundings, &failure);
    if (code) fail_msg("%s", failure.text);
    for (int64_t other = 0; other < USERS; other++) {
        const struct friendship *stored = &w->stored[user][other];
        if (!friendship_made(stored) || !friendship_rounding(stored)) continue;
        assert_true(count < roundings.count);
        assert_int_equal(roundings.items[count].friend, other);
        assert_int_equal(roundings.items[count++].bits, friendship_rounding(stored));
    }
    assert_int_equal(count, roundings.count);
    rounding_list_free(&roundings);
}

static void expect_user(struct world *w, int64_t user, const struct id_list *list) {
    const struct friendship *stored = w->stored[user];
    int32_t partition = partition_of(user);
    size_t count = 0, others = 0, friends;
    struct friendship half;
    for (int64_t other = 0; other < USERS; other++) {
        others += !friendship_made(&stored[other]) && !friendship_empty(&stored[other]);
        if (!friendship_made(&stored[other])) continue;
        assert_true(count < list->count);
        assert_int_equal(list->items[count++], other);
    }
    assert_int_equal(count, list->count);
    assert_int_equal(others, list->others);
    expect_roundings(w, user, list);
    for (int64_t other = 0; other < USERS; other++) {
        if (graph_half(w->graph, partition, user, other, &half, &friends, &failure)) fail_msg("%s", failure.text);
        assert_true(friendship_equal(&half, &stored[other]));
        assert_int_equal(friends, count);
        if (graph_half_beside(w->graph, partition, user, list, other, true, &half, &failure))
            fail_msg("%s", failure.text);
        assert_true(friendship_equal(&half, &stored[other]));
    }
    expect_page(w, user, ~(1u << FRIENDSHIP_VIEW_NONE));
    expect_page(w, user, 1u << (1 + chance(w, FRIENDSHIP_VIEWS - 1)));
}

static void expect_partition(struct world *w, int32_t partition) {
    static struct id_list lists[GRAPH_MANY];
    int64_t users[GRAPH_MANY] = {0};
    size_t count = 0;
    for (int64_t user = partition; user < USERS; user += PARTITIONS)
        if (chance(w, 3)) users[count++] = user;
    if (graph_friends_many(w->graph, partition, users, count, lists, &failure)) fail_msg("%s", failure.text);
    for (size_t i = 0; i < count; i++) expect_user(w, users[i], &lists[i]);
    for (size_t i = 0; i < GRAPH_MANY; i++) id_list_free(&lists[i]);
    // What the topic says, if the store is where it was before, or further.
    const struct part *part = &w->parts[partition];
    if (part->applied != part->size) return;
    for (int64_t user = partition; user < USERS; user += PARTITIONS) {
        for (int64_t other = 0; other < USERS; other++) {
            struct friendship half = w->pairs[friendship_lower(user, other)][friendship_higher(user, other)];
            if (user > other) half = friendship_mirror(&half);
            assert_true(friendship_equal(&half, &w->stored[user][other]));
        }
    }
}

/* ---- what happens to a partition ---- */

static void read_some(struct world *w, struct part *part) {
    int32_t partition = (int32_t)(part - w->parts);
    for (uint64_t count = chance(w, 3) ? chance(w, 20) : chance(w, 300); count && part->position < part->size;
         count--) {
        const struct record *record = &part->topic[part->position];
        if (record->user >= 0)
            graph_add(w->graph, partition, part->position, record->user, record->other, &record->half);
        part->position++;
    }
}

static void forget(struct world *w, int32_t partition) {
    for (int64_t user = partition; user < USERS; user += PARTITIONS) memset(w->stored[user], 0, sizeof w->stored[user]);
}

static void apply(struct world *w, struct part *part, bool live) {
    int32_t partition = (int32_t)(part - w->parts);
    if (part->build) return; // nothing would happen
    for (; part->applied < part->position; part->applied++) {
        const struct record *record = &part->topic[part->applied];
        if (record->user >= 0) w->stored[record->user][record->other] = record->half;
    }
    w->live = live;
    if (live && adjacency_finish(graph_lists(w->graph), partition, w->now, &failure)) fail_msg("%s", failure.text);
    for (int64_t user = partition; live && user < USERS;
         user += PARTITIONS) // as of before: what was restored in silence
        for (int64_t other = 0; other < USERS; other++) {
            struct friendship half;
            if (graph_half(w->graph, partition, user, other, &half, NULL, &failure)) fail_msg("%s", failure.text);
            w->told[user][other] = friendship_made(&half);
            w->told_rounded[user][other] = friendship_made(&half) ? friendship_rounding(&half) : ROUNDING_NONE;
        }
    if (adjacency_apply(graph_lists(w->graph), partition, part->position, w->now, !live, &failure))
        fail_msg("%s", failure.text);
    w->live = false;
    assert_int_equal(adjacency_queued(graph_lists(w->graph), partition), 0);
    assert_int_equal(adjacency_next(graph_lists(w->graph), partition), part->position);
    if (!live && adjacency_building(graph_lists(w->graph), partition) && chance(w, 4)) return;
    expect_partition(w, partition);
    part->written = true;
    for (int64_t user = partition; live && user < USERS; user += PARTITIONS)
        for (int64_t other = 0; other < USERS; other++) {
            const struct friendship *stored = &w->stored[user][other];
            assert_int_equal(w->told[user][other], friendship_made(stored));
            if (friendship_made(stored)) assert_int_equal(w->told_rounded[user][other], friendship_rounding(stored));
        }
}

static void attach(struct world *w, int32_t partition) {
    struct part *part = &w->parts[partition];
    int64_t from;
    if (adjacency_attach(graph_lists(w->graph), partition, w->now, &from, &failure)) fail_msg("%s", failure.text);
    part->attached = true;
    if (from == GRAPH_FROM_BEGINNING) {
        assert_false(part->written);
        from = 0;
        forget(w, partition);
    }
    // Nothing that was applied is skipped; what is read again is what an excess has held back.
    assert_true(from <= part->applied);
    assert_true(from == part->applied || from == 0 || from >= w->hold[partition]);
    part->position = part->applied = from;
    w->hold[partition] = INT64_MAX;
    if (from && !part->build) expect_partition(w, partition);
}

static void detach(struct world *w, int32_t partition) {
    struct part *part = &w->parts[partition];
    adjacency_detach(graph_lists(w->graph), partition);
    part->attached = false;
    if (!part->build) return;
    part->applied = part->built;
    w->hold[partition] = 0; // of what the worker finds too many nobody is told
}

static void worker_begin(struct world *w, struct part *part) {
    part->build = adjacency_finish_begin(graph_lists(w->graph), (int32_t)(part - w->parts), w->now);
    part->built = part->applied;
}

static void worker_end(struct world *w, struct part *part) {
    int code = adjacency_finish_run(part->build, &failure);
    if (code) fail_msg("%s", failure.text);
    if (adjacency_finish_end(part->build, 0, &failure)) fail_msg("%s", failure.text);
    part->build = NULL;
    if (part->attached) apply(w, part, chance(w, 2));
}

static void rebuild(struct world *w, struct part *part) {
    int32_t partition = (int32_t)(part - w->parts);
    if (adjacency_rebuild(graph_lists(w->graph), partition, &failure)) fail_msg("%s", failure.text);
    forget(w, partition);
    part->position = part->applied = part->built = 0;
    part->written = false;
    w->hold[partition] = INT64_MAX;
}

static void end_workers(struct world *w) {
    for (int32_t p = 0; p < PARTITIONS; p++)
        if (w->parts[p].build) worker_end(w, &w->parts[p]);
}

static void reopen(struct world *w) {
    end_workers(w);
    for (int32_t p = 0; p < PARTITIONS; p++) w->parts[p].attached = false;
    graph_close(w->graph);
    open_graph(w);
}

static void checkpoint(struct world *w) {
    char path[96];
    snprintf(path, sizeof path, "%s/checkpoint-%zu", w->folder, ++w->checkpoints);
    end_workers(w);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        w->checkpoint_at[p] = w->parts[p].applied;
        w->checkpoint_written[p] = w->parts[p].written;
    }
    memcpy(w->checkpoint, w->stored, sizeof w->stored);
    if (adjacency_checkpoint(graph_lists(w->graph), path, &failure)) fail_msg("%s", failure.text);
}

static void go_back_to_checkpoint(struct world *w) {
    char path[96], store[96];
    if (!w->checkpoints) return;
    snprintf(path, sizeof path, "%s/checkpoint-%zu", w->folder, w->checkpoints);
    snprintf(store, sizeof store, "%s/friends", w->folder);
    end_workers(w);
    graph_close(w->graph);
    if (store_remove(store, &failure) || store_clone(path, store, NULL, &failure)) fail_msg("%s", failure.text);
    open_graph(w);
    memcpy(w->stored, w->checkpoint, sizeof w->stored);
    for (int32_t p = 0; p < PARTITIONS; p++) {
        w->parts[p].attached = false;
        w->parts[p].applied = w->checkpoint_at[p];
        w->parts[p].written = w->checkpoint_written[p];
        w->hold[p] = 0; // it may have held one back that was released since
    }
}

static void step(struct world *w) {
    int32_t partition = (int32_t)chance(w, PARTITIONS);
    struct part *part = &w->parts[partition];
    for (uint64_t count = chance(w, 12); count; count--) command(w);
    if (!part->attached) {
        attach(w, partition);
        return;
    }
    switch (chance(w, 20)) {
    case 0: detach(w, partition); break;
    case 1: rebuild(w, part); break;
    case 2: reopen(w); break;
    case 3:
        if (adjacency_touch(graph_lists(w->graph), partition, w->now, &failure)) fail_msg("%s", failure.text);
        break;
    case 4:
        adjacency_release(graph_lists(w->graph), partition, INT64_MAX); // the store says so when it is written next
        break;
    case 5:
    case 6:
        if (part->build)
            worker_end(w, part);
        else
            worker_begin(w, part);
        break;
    case 7: checkpoint(w); break;
    case 8: chance(w, 3) ? reopen(w) : go_back_to_checkpoint(w); break;
    case 9: read_some(w, part); break; // waits
    default: read_some(w, part); apply(w, part, chance(w, 3));
    }
}

static struct world *world_new(uint64_t seed, size_t cap) {
    struct world *w = mem_zero(1, sizeof *w);
    w->folder = kit_folder();
    w->random = seed << 32;
    w->now = clock_wall_ms();
    w->cap = cap;
    for (int32_t p = 0; p < PARTITIONS; p++) w->hold[p] = INT64_MAX;
    return w;
}

static void world_free(struct world *w) {
    graph_close(w->graph);
    kit_remove(w->folder);
    free(w);
}

TEST(test_histories) {
    for (uint64_t seed = 0; seed < kit_histories(HISTORIES); seed++) {
        struct world *w = world_new(seed, CAP);
        open_graph(w);
        for (int i = 0; i < STEPS; i++) step(w);
        end_workers(w);
        for (int32_t p = 0; p < PARTITIONS; p++) { // and to the end
            struct part *part = &w->parts[p];
            if (!part->attached) attach(w, p);
            while (part->position < part->size) read_some(w, part);
            apply(w, part, p % 2);
            expect_partition(w, p);
        }
        world_free(w);
    }
}

/* Reads on from where the store is, until it is killed. */
static void go_on(struct world *w, uint64_t seed) {
    w->random = seed << 32;
    w->live = w->killed = true;
    open_graph(w);
    for (;;) {
        int32_t partition = (int32_t)chance(w, PARTITIONS);
        struct part *part = &w->parts[partition];
        int64_t from;
        if (!part->attached) {
            if (adjacency_attach(graph_lists(w->graph), partition, w->now, &from, &failure)) abort();
            part->position = from == GRAPH_FROM_BEGINNING ? 0 : from;
            part->attached = true;
        }
        read_some(w, part);
        if (adjacency_apply(graph_lists(w->graph), partition, part->position, w->now, chance(w, 2), &failure)) abort();
        switch (chance(w, 12)) {
        case 0:
            adjacency_detach(graph_lists(w->graph), partition);
            part->attached = false;
            break;
        case 1:
            if (chance(w, 8)) break;
            if (adjacency_rebuild(graph_lists(w->graph), partition, &failure)) abort();
            part->position = 0;
            break;
        case 2:
            if (adjacency_touch(graph_lists(w->graph), partition, w->now, &failure)) abort();
        }
    }
}

TEST(test_kills) {
    struct world *w = world_new(99, USERS);
    while (w->parts[0].size < TOPIC_MAX - 100 && w->parts[1].size < TOPIC_MAX - 100 &&
           w->parts[2].size < TOPIC_MAX - 100)
        command(w);
    int readable = 0;
    for (uint64_t kill_at = 0; kill_at < kit_histories(KILLS) || !readable;
         kill_at++) { // the longer the slower the machine is
        uint64_t after_us = chance(w, 200000 * (1 + kill_at / KILLS));
        pid_t child = fork();
        if (child == 0) go_on(w, kill_at);
        usleep((useconds_t)after_us);
        kill(child, SIGKILL);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        open_graph(w);
        memset(w->stored, 0, sizeof w->stored);
        for (int32_t p = 0; p < PARTITIONS; p++) {
            struct part *part = &w->parts[p];
            int64_t from;
            if (adjacency_attach(graph_lists(w->graph), p, w->now, &from, &failure)) fail_msg("%s", failure.text);
            if (from == GRAPH_FROM_BEGINNING) continue;
            for (int64_t at = 0; at < from; at++)
                if (part->topic[at].user >= 0)
                    w->stored[part->topic[at].user][part->topic[at].other] = part->topic[at].half;
            part->applied = from;
            expect_partition(w, p);
            readable++;
        }
        graph_close(w->graph);
    }
    assert_true(readable > 0);
    open_graph(w);
    world_free(w);
}
