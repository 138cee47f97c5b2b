#include "unit/comments/world.h"

#include "unit/comments/world_private.h"
#include "event/topics.h"
#include "unit/kit/kit.h"
#include "users/notice.h"

enum { SLICE = 12, APPLY = 25 };
static const int64_t BEGIN_MS = INT64_C(1780000000000);

uint64_t world_chance(struct comments_world *world, uint64_t below) {
    world->random += 0x9e3779b97f4a7c15u;
    return hash_u64(world->random) % below;
}

void world_wrong(struct comments_world *world, const char *format, ...) {
    va_list arguments;
    if (*world->history.wrong) return;
    va_start(arguments, format);
    vsnprintf(world->history.wrong, sizeof world->history.wrong, format, arguments);
    va_end(arguments);
}

static void must(int code, const struct error *error) {
    if (code >= 0) return;
    fprintf(stderr, "%s\n", error->text);
    abort();
}

/* ---- Kafka ---- */

static void log_add(struct world_log *log, struct world_record record) {
    if (log->count == log->capacity) {
        log->capacity = log->capacity ? 2 * log->capacity : 64;
        log->items = mem_resize(log->items, log->capacity, sizeof *log->items);
    }
    log->items[log->count++] = record;
}

static void log_clear(struct world_log *log, bool with_bytes) {
    for (size_t i = 0; with_bytes && i < log->count; i++) free(log->items[i].bytes);
    log->count = 0;
}

static int write_record(void *context, const struct topic *topic, int32_t partition, const void *key, size_t key_size,
                        const void *value, size_t value_size) {
    struct comments_world *world = ((struct world_process *)context)->world;
    struct world_record record = {.topic = topic,
                                  .bytes = mem_alloc(key_size + value_size + 1),
                                  .key_size = key_size,
                                  .value_size = value ? value_size : 0,
                                  .tombstone = !value,
                                  .time_ms = world->now_ms};
    memcpy(record.bytes, key, key_size);
    if (value) memcpy(record.bytes + key_size, value, value_size);
    world->open_partition[world->open.count] = partition;
    log_add(&world->open, record);
    return 0;
}

static int state_of(const struct topic *topic) {
    int state = 0;
    while (state < THREADS_STATES && THREADS_TOPICS[state] != topic) state++;
    return state;
}

struct world_wide *world_wide(struct comments_world *world, int64_t id) {
    for (size_t i = 0; i < world->wide_count; i++)
        if (world->wide[i].id == id) return &world->wide[i];
    return NULL;
}

/* Everybody has another name at each moment. */
static struct event_text name_of(void *context, int64_t user) {
    struct comments_world *world = ((struct world_process *)context)->world;
    int size = snprintf(world->name, sizeof world->name, "%lld at %lld", (long long)user, (long long)world->now_ms);
    return (struct event_text){world->name, (size_t)size};
}

static void take_wide(struct comments_world *world, const struct world_record *record) {
    struct comment_wide wide;
    struct error error;
    if (record->topic != &TOPIC_COMMENTS_WIDE) return;
    must(event_decode_comment_wide(world->codec, record->bytes + record->key_size, record->value_size, &wide, &error),
         &error);
    struct world_wide *place = world_wide(world, wide.id);
    if (!place) place = &world->wide[world->wide_count++];
    *place = (struct world_wide){
        .id = wide.id, .state = wide.state, .text_size = wide.text.size, .reports = wide.reports, .level = wide.level};
    struct event_text name =
        wide.state == COMMENT_WIDE_DELETED ? (struct event_text){"", 0} : name_of(&world->processes[0], wide.user);
    if (wide.name.size != name.size || memcmp(wide.name.data, name.data, name.size))
        world_wrong(world, "a wide record says \"%.*s\", not \"%.*s\"", (int)wide.name.size, wide.name.data,
                    (int)name.size, name.data);
}

static void take_notice(struct comments_world *world, int partition, const struct world_record *record) {
    struct notice_key key = {.user = -1};
    struct notice notice;
    struct error error;
    size_t at = 0;
    if (record->topic != &TOPIC_NOTICES) return;
    must(event_decode_notice(world->codec, record->bytes + record->key_size, record->value_size, &notice, &error),
         &error);
    if (!notice_key_read(record->bytes, record->key_size, &key) ||
        hash_user_partition(key.user, WORLD_PARTITIONS) != partition ||
        key.number != (key.kind == NOTICE_OF_LIKE ? notice.user : notice.comment) || key.time != notice.time ||
        (int)key.kind != (int)notice.what + 1)
        world_wrong(world, "a notice to %lld is in a wrong place", (long long)key.user);
    while (at < world->notice_count &&
           (world->notices[at].user != key.user || world->notices[at].time != key.time ||
            !world->notices[at].likes != !notice.likes ||
            (notice.likes ? world->notices[at].by : world->notices[at].comment) != key.number))
        at++; // what is told once more replaces itself
    if (at == world->notice_count) world->notice_count++;
    world->notices[at] = (struct model_notice){.user = key.user,
                                               .by = notice.user,
                                               .comment = notice.comment,
                                               .time = key.time,
                                               .likes = notice.likes,
                                               .mention = key.kind == NOTICE_OF_MENTION};
}

static void commit(struct comments_world *world) {
    for (size_t i = 0; i < world->open.count; i++) {
        int state = state_of(world->open.items[i].topic);
        if (state < THREADS_STATES) log_add(&world->logs[state][world->open_partition[i]], world->open.items[i]);
        if (state == THREADS_STATES) {
            take_wide(world, &world->open.items[i]);
            take_notice(world, world->open_partition[i], &world->open.items[i]);
            free(world->open.items[i].bytes);
        }
    }
    log_clear(&world->open, false);
}

/* ---- processes ---- */

static bool banned(void *context, int64_t user, int64_t now_ms) { return user == MODEL_BANNED; }

static void parts_free(struct world_process *process) {
    decisions_free(process->decisions);
    for (int s = 0; s < THREADS_STATES; s++) overlay_free(process->overlays[s]);
    threads_free(process->threads);
}

/* Everything but the disk is new. */
static void start(struct comments_world *world, struct world_process *process, bool empty) {
    struct error error;
    process->threads = threads_new(process->store, WORLD_PARTITIONS);
    for (int s = 0; s < THREADS_STATES; s++)
        process->overlays[s] = overlay_new(DECISIONS_STATES[s].key_max, DECISIONS_STATES[s].value_max);
    struct decisions_options options = {.threads = process->threads,
                                        .partitions = WORLD_PARTITIONS,
                                        .user_partitions = WORLD_PARTITIONS,
                                        .rate = {MODEL_INTERVAL_MS, MODEL_BURST},
                                        .context = process,
                                        .write = write_record,
                                        .banned = banned,
                                        .name_of = name_of};
    memcpy(options.overlays, process->overlays, sizeof options.overlays);
    process->decisions = decisions_new(&options);
    for (int32_t p = 0; p < WORLD_PARTITIONS; p++) {
        must(threads_open(process->threads, p, world->now_ms, 0, &error), &error);
        if (empty) must(threads_reset(process->threads, p, world->now_ms, &error), &error);
        process->generation[p] = -1;
    }
}

static void crash(struct comments_world *world, struct world_process *process, bool disk) {
    parts_free(process);
    start(world, process, disk);
}

/* As the decider does it after an aborted transaction, and the owner at a take-over. */
static void begin(struct comments_world *world, struct world_process *process, int32_t partition) {
    process->next[partition] = world->committed[partition];
    for (int s = 0; s < THREADS_STATES; s++)
        process->restore[partition][s] = world->without == COMMENTS_RULE_RESTORE ? 0 : world->logs[s][partition].count;
}

static void drop_pending(struct comments_world *world, struct world_process *process) {
    log_clear(&world->open, true);
    for (int s = 0; s < THREADS_STATES; s++) overlay_clear(process->overlays[s]);
    for (int32_t p = 0; p < WORLD_PARTITIONS; p++)
        if (process->generation[p] >= 0) begin(world, process, p);
}

static void own(struct comments_world *world, int32_t partition, int who) {
    world->owner[partition] = who;
    world->processes[who].generation[partition] = ++world->generation[partition];
    begin(world, &world->processes[who], partition);
}

static size_t position(const struct world_process *process, int32_t partition, int state) {
    int64_t next = threads_next(process->threads, partition, (enum threads_state)state);
    return next < 0 ? 0 : (size_t)next;
}

static bool restored(const struct world_process *process, int32_t partition) {
    for (int s = 0; s < THREADS_STATES; s++)
        if (position(process, partition, s) < process->restore[partition][s]) return false;
    return true;
}

static void apply(struct comments_world *world, struct world_process *process, int32_t partition, int state,
                  size_t count) {
    const struct world_log *log = &world->logs[state][partition];
    size_t at = position(process, partition, state);
    struct error error;
    const char *reason;
    if (at && world_chance(world, 4) == 0) at -= world_chance(world, at + 1); // records are read once more
    for (; at < log->count && count > 0; at++, count--) {
        const struct world_record *item = &log->items[at];
        struct kafka_record record = {.topic = THREADS_TOPICS[state],
                                      .partition = partition,
                                      .offset = (int64_t)at,
                                      .timestamp = item->time_ms,
                                      .key = item->bytes,
                                      .key_size = item->key_size,
                                      .value = item->tombstone ? NULL : item->bytes + item->key_size,
                                      .value_size = item->value_size};
        must(threads_take(process->threads, (enum threads_state)state, &record, &reason, &error), &error);
        if (reason) world_wrong(world, "a record of %s: %s", record.topic->name, reason);
    }
    must(threads_write(process->threads, &error), &error);
    if (world_chance(world, 8) == 0) world_read_pages(world, process, partition);
    overlay_read_back(process->overlays[state], partition, (int64_t)position(process, partition, state));
}

/* ---- deciding ---- */

static bool may_commit(const struct comments_world *world, const struct world_process *process, int32_t partition) {
    return world->without == COMMENTS_RULE_FENCING || process->generation[partition] == world->generation[partition];
}

static void committed(struct comments_world *world, struct world_process *process, int32_t partition, size_t count) {
    int64_t ends[THREADS_STATES][WORLD_PARTITIONS];
    commit(world);
    for (int s = 0; s < THREADS_STATES; s++) {
        for (int32_t p = 0; p < WORLD_PARTITIONS; p++) ends[s][p] = (int64_t)world->logs[s][p].count;
        overlay_commit(process->overlays[s], ends[s]);
    }
    process->next[partition] += (int64_t)count;
    bool lost = world->without == COMMENTS_RULE_OFFSET && world_chance(world, 3) > 0;
    if (!lost) world->committed[partition] = process->next[partition];
    if (world->without == COMMENTS_RULE_OVERLAY)
        for (int s = 0; s < THREADS_STATES; s++) overlay_clear(process->overlays[s]);
}

static size_t fill_slice(struct comments_world *world, const struct world_process *process, int32_t partition,
                         struct decider_command *slice) {
    size_t left = world->partition_count[partition] - (size_t)process->next[partition];
    size_t count = 1 + world_chance(world, SLICE);
    if (count > left) count = left;
    for (size_t i = 0; i < count; i++) {
        int64_t offset = process->next[partition] + (int64_t)i;
        slice[i] = (struct decider_command){.topic = &TOPIC_COMMENT_COMMANDS,
                                            .partition = partition,
                                            .offset = offset,
                                            .item = &world->items[world->of_partition[partition][offset]]};
    }
    return count;
}

/* Kafka takes nothing from a former owner. */
static void fence(struct comments_world *world, struct world_process *process, int32_t partition) {
    world->history.fenced++;
    process->generation[partition] = -1;
    drop_pending(world, process);
}

static void decide(struct comments_world *world, struct world_process *process, int32_t partition, bool calm) {
    struct decider_command slice[SLICE];
    struct error error;
    int32_t failed;
    if (process->generation[partition] < 0 || !restored(process, partition)) return;
    if (process->next[partition] >= (int64_t)world->partition_count[partition]) return;
    size_t count = fill_slice(world, process, partition, slice);
    int code = decisions_run(process->decisions, slice, count, &failed, &error);
    uint64_t fate = calm || code ? 99 : world_chance(world, 100);
    if (fate < 8) { // nobody hears of the transaction again
        world->history.crashes++;
        log_clear(&world->open, true);
        crash(world, process, false);
    } else if (!may_commit(world, process, partition)) {
        // It may even have failed: a former owner reads its successor's records one topic ahead of the other, a comment without its text.
        fence(world, process, partition);
    } else if (code) {
        world_wrong(world, "commands cannot be decided: %s", error.text);
        log_clear(&world->open, true);
        process->next[partition] = (int64_t)world->partition_count[partition];
    } else if (fate < 16) {
        world->history.aborts++;
        drop_pending(world, process);
    } else {
        committed(world, process, partition, count);
    }
}

/* ---- histories ---- */

static void trouble(struct comments_world *world, struct world_process *process) {
    uint64_t what = world_chance(world, 100);
    if (what < 45) {
        own(world, (int32_t)world_chance(world, WORLD_PARTITIONS), (int)(process - world->processes));
    } else if (what < 90) {
        world->history.crashes++;
        crash(world, process, false);
    } else {
        world->history.disks++;
        crash(world, process, true);
    }
}

/* The group notices that a partition has no owner any more. */
static void rebalance(struct comments_world *world, int32_t partition) {
    const struct world_process *owner = &world->processes[world->owner[partition]];
    if (owner->generation[partition] != world->generation[partition] && world_chance(world, 4) == 0)
        own(world, partition, (int)world_chance(world, WORLD_PROCESSES));
}

static void step(struct comments_world *world) {
    struct world_process *process = &world->processes[world_chance(world, WORLD_PROCESSES)];
    int32_t partition = (int32_t)world_chance(world, WORLD_PARTITIONS);
    uint64_t what = world_chance(world, 100);
    world->now_ms += (int64_t)world_chance(world, 50);
    rebalance(world, partition);
    if (what < 30)
        world_draw(world);
    else if (what < 55)
        decide(world, &world->processes[world->owner[partition]], partition, false);
    else if (what < 70)
        decide(world, process, partition, false); // perhaps a former owner
    else if (what < 97)
        apply(world, world_chance(world, 2) ? process : &world->processes[world->owner[partition]], partition,
              (int)world_chance(world, THREADS_STATES), 1 + world_chance(world, APPLY));
    else
        trouble(world, process);
}

static void calm(struct comments_world *world) {
    for (int32_t p = 0; p < WORLD_PARTITIONS; p++) {
        struct world_process *process = &world->processes[world_chance(world, WORLD_PROCESSES)];
        own(world, p, (int)(process - world->processes));
        while (process->next[p] < (int64_t)world->partition_count[p]) {
            for (int s = 0; s < THREADS_STATES; s++) apply(world, process, p, s, SIZE_MAX);
            decide(world, process, p, true);
        }
    }
    for (int i = 0; i < WORLD_PROCESSES; i++)
        for (int32_t p = 0; p < WORLD_PARTITIONS; p++)
            for (int s = 0; s < THREADS_STATES; s++)
                while (position(&world->processes[i], p, s) < world->logs[s][p].count)
                    apply(world, &world->processes[i], p, s, SIZE_MAX);
}

static void reset(struct comments_world *world, uint64_t seed, enum comments_rule without) {
    for (size_t i = 0; i < world->command_count; i++) free(world->items[i].value);
    for (int s = 0; s < THREADS_STATES; s++)
        for (int p = 0; p < WORLD_PARTITIONS; p++) log_clear(&world->logs[s][p], true);
    world->random = seed;
    world->without = without;
    world->now_ms = BEGIN_MS;
    world->command_count = world->wide_count = world->notice_count = 0;
    memset(world->partition_count, 0, sizeof world->partition_count);
    memset(world->committed, 0, sizeof world->committed);
    memset(world->generation, 0, sizeof world->generation);
    memset(&world->model, 0, sizeof world->model);
    memset(&world->history, 0, sizeof world->history);
    for (int p = 0; p < 8; p++) world->model.ticks[p] = -1;
    for (int i = 0; i < WORLD_PROCESSES; i++) crash(world, &world->processes[i], true);
    for (int32_t p = 0; p < WORLD_PARTITIONS; p++) own(world, p, p);
}

struct comments_history comments_history_run(struct comments_world *world, uint64_t seed, enum comments_rule without) {
    reset(world, seed, without);
    size_t steps = 100 + world_chance(world, 900);
    for (size_t i = 0; i < steps && world->command_count < WORLD_COMMANDS_MAX; i++) step(world);
    calm(world);
    for (size_t i = 0; i < world->command_count; i++) model_decide(&world->model, &world->commands[i]);
    for (int i = 0; i < WORLD_PROCESSES; i++)
        for (int32_t p = 0; p < WORLD_PARTITIONS; p++) world_compare(world, &world->processes[i], p);
    world_compare_notices(world);
    world->history.commands = (unsigned)world->command_count;
    world->history.passing = world->model.passing;
    world->history.edits = world->model.edits;
    world->history.notices = (unsigned)world->model.notice_count;
    for (size_t s = 0; s < MODEL_SUBJECTS; s++) world->history.comments += (unsigned)world->model.subjects[s].count;
    for (size_t i = 0; i < world->model.outcome_count; i++) world->history.refusals += !world->model.outcomes[i].made;
    return world->history;
}

struct comments_world *comments_world_new(void) {
    struct comments_world *world = mem_zero(1, sizeof *world);
    struct store_options options = {
        .cache_bytes = 4 << 20, .memtable_bytes = 4 << 20, .point_lookups = true, .sorted_batches = true};
    struct error error;
    world->codec = codec_new();
    world->folder = kit_folder();
    for (int i = 0; i < WORLD_PROCESSES; i++) {
        char *path = mem_format("%s/%d", world->folder, i);
        world->processes[i].world = world;
        must(store_open(path, &options, &world->processes[i].store, &error), &error);
        free(path);
        start(world, &world->processes[i], false);
    }
    return world;
}

void comments_world_free(struct comments_world *world) {
    for (size_t i = 0; i < world->command_count; i++) free(world->items[i].value);
    for (int i = 0; i < WORLD_PROCESSES; i++) {
        parts_free(&world->processes[i]);
        store_close(world->processes[i].store);
    }
    for (int s = 0; s < THREADS_STATES; s++)
        for (int p = 0; p < WORLD_PARTITIONS; p++) {
            log_clear(&world->logs[s][p], true);
            free(world->logs[s][p].items);
        }
    free(world->open.items);
    codec_free(world->codec);
    free(world);
}
