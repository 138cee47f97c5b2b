#include "state/list_store.h"

#include <stdlib.h>

#include "adjacency/lots.h"
#include "base/clock.h"
#include "base/mem.h"

/* Of a part that is read from the beginning so many records are sorted at a time; together the parts' queues stay below the first. */
enum { BUILD_LOT = 262144, BUILD_LOT_MIN = 4096 };

struct list_part {
    int64_t taken; /* records before are queued or applied */
    bool open, live;
    bool touched; /* records were taken since the last write */
};

struct list_store {
    struct list_store_options options;
    struct list_part *parts;
    size_t open, live;
    struct lots *lots; /* of lists that can be read; NULL: all is applied as it comes */
    struct loop_timer *turn;
};

/* The lists are there, and not still being put together. */
static bool readable(const struct list_store *store, int32_t partition) {
    const struct adjacency *lists = store->options.lists;
    return adjacency_next(lists, partition) >= 0 && !adjacency_building(lists, partition) &&
           !adjacency_finishing(lists, partition);
}

static size_t queued(const struct list_store *store, int32_t partition) {
    return adjacency_queued(store->options.lists, partition);
}

int64_t list_store_held(const struct list_store *store, int32_t partition) {
    return queued(store, partition) ? adjacency_next(store->options.lists, partition) : INT64_MAX;
}

static void set_live(struct list_store *store, int32_t partition, bool live) {
    struct list_part *part = &store->parts[partition];
    if (part->live != live) store->live += live ? 1 : (size_t)-1;
    part->live = live;
}

static void tell_emptied(struct list_store *store, int32_t partition) {
    if (store->lots) lots_remove(store->lots, partition);
    if (store->options.emptied) store->options.emptied(store->options.context, partition);
}

/* ---- applying ---- */

int list_store_apply(struct list_store *store, int32_t partition, int64_t next, int64_t now_ms, bool restoring,
                     struct error *error) {
    const struct list_store_options *options = &store->options;
    size_t count = queued(store, partition);
    int64_t before = adjacency_next(options->lists, partition);
    if (adjacency_finishing(options->lists, partition)) return 0; // they wait for the worker
    if (store->lots) lots_remove(store->lots, partition);
    int code = adjacency_apply(options->lists, partition, next > before ? next : before, now_ms, restoring, error);
    if (!code) options->applied(options->context, partition, count, restoring);
    return code;
}

static int apply_queued(struct list_store *store, int32_t partition, struct error *error) {
    const struct list_part *part = &store->parts[partition];
    return list_store_apply(store, partition, part->taken, clock_wall_ms(), !part->live, error);
}

/* The one who knows which partition it is says so: a damaged list is no failure of others. */
static void apply_or_tell(struct list_store *store, int32_t partition) {
    struct error error;
    int code = apply_queued(store, partition, &error);
    if (code) store->options.failed(store->options.context, partition, code, &error);
}

/* Lots that are due: of bulk one at a time, as other work waits meanwhile. Nothing waits while no part is live. */
static void apply_due(struct list_store *store) {
    int32_t due;
    lots_set_full(store->lots, store->live ? LOTS_FULL : LOTS_MOST);
    do {
        due = lots_due(store->lots, clock_monotonic_us());
        if (due >= 0) apply_or_tell(store, due);
    } while (due >= 0 && !lots_may_wait(store->lots));
    int64_t wait_ms = lots_wait_ms(store->lots, clock_monotonic_us());
    if (wait_ms >= 0) loop_timer_again(store->turn, (uint64_t)wait_ms, 0);
}

static void next_turn(void *context) { apply_due(context); }

/* Records that are only sorted, to be built from, are sorted in large lots. */
static bool is_due(const struct list_store *store, int32_t partition) {
    size_t count = queued(store, partition), each = BUILD_LOT / (store->open ? store->open : 1);
    if (store->parts[partition].live || readable(store, partition)) return count && !store->lots;
    return count >= (each > BUILD_LOT_MIN ? each : BUILD_LOT_MIN);
}

static int write_due(void *context, struct error *error) {
    struct list_store *store = context;
    for (int32_t p = 0; p < store->options.partitions; p++) {
        struct list_part *part = &store->parts[p];
        if (part->touched && is_due(store, p)) apply_or_tell(store, p);
        part->touched = false;
    }
    if (!store->lots) return 0;
    lots_added(store->lots, clock_monotonic_us());
    apply_due(store);
    return 0;
}

/* ---- parts come and go ---- */

int list_store_open(void *context, int32_t partition, int64_t now_ms, int64_t since_ms, struct error *error) {
    struct list_store *store = context;
    struct list_part *part = &store->parts[partition];
    int64_t from;
    int code = adjacency_attach(store->options.lists, partition, now_ms, &from, error);
    if (code) return code;
    if (!queued(store, partition)) part->taken = from; // else a worker's, from before it was closed
    store->open += !part->open;
    part->open = true;
    tell_emptied(store, partition);
    return 0;
}

/* Changes that were read while the part was live are told before it is closed, and before another process owns it. */
static void end_live(struct list_store *store, int32_t partition) {
    if (store->parts[partition].live && queued(store, partition)) apply_or_tell(store, partition);
    set_live(store, partition, false);
}

void list_store_close(void *context, int32_t partition) {
    struct list_store *store = context;
    struct list_part *part = &store->parts[partition];
    end_live(store, partition);
    store->open -= part->open;
    part->open = part->touched = false;
    adjacency_detach(store->options.lists, partition);
    tell_emptied(store, partition);
}

int list_store_reset(void *context, int32_t partition, int64_t now_ms, struct error *error) {
    struct list_store *store = context;
    int code = adjacency_rebuild(store->options.lists, partition, error);
    if (!code) store->parts[partition].taken = ADJACENCY_FROM_BEGINNING;
    tell_emptied(store, partition);
    return code;
}

static int live(void *context, int32_t partition, bool now, struct error *error) {
    struct list_store *store = context;
    bool before = store->parts[partition].live;
    int code = 0;
    if (now && !before) {
        apply_or_tell(store, partition);
        // Of those that were built there is nothing left but what an end without records has begun.
        code = adjacency_finish(store->options.lists, partition, clock_wall_ms(), error);
        set_live(store, partition, true);
    } else if (!now) {
        end_live(store, partition);
    }
    if (!code && now != before && store->options.lives) store->options.lives(store->options.context, partition, now);
    return code;
}

/* ---- records ---- */

void list_store_add(struct list_store *store, int64_t offset, const struct list_entry *entry) {
    struct list_part *part = &store->parts[entry->list.partition];
    if (offset < part->taken) return;
    part->taken = offset + 1;
    adjacency_add(store->options.lists, entry->list, entry->id, entry->tag, entry->stamp, offset);
}

static int take(void *context, size_t topic, const struct kafka_record *record, const char **reason,
                struct error *error) {
    struct list_store *store = context;
    struct list_part *part = &store->parts[record->partition];
    struct list_entry entry;
    if (record->offset < part->taken) return 0;
    const char *complaint = store->options.read(store->options.context, record, &entry, error);
    if (complaint)
        *reason = complaint;
    else
        list_store_add(store, record->offset, &entry);
    part->taken = record->offset + 1;
    part->touched = true;
    if (!complaint && store->lots && (part->live || readable(store, record->partition)))
        lots_add(store->lots, record->partition, clock_monotonic_us());
    return 0;
}

static int64_t next(const void *store, int32_t partition, size_t topic) {
    return adjacency_next(((const struct list_store *)store)->options.lists, partition);
}

/* ---- kept and built ---- */

static int touch(void *store, int32_t partition, int64_t now_ms, struct error *error) {
    return adjacency_touch(((struct list_store *)store)->options.lists, partition, now_ms, error);
}

static int keep(void *context, int32_t partition, int64_t now_ms, struct error *error) {
    struct list_store *store = context;
    const struct list_store_options *options = &store->options;
    bool kept = options->keep && readable(store, partition);
    return kept ? options->keep(options->context, partition, store->parts[partition].live, error) : 0;
}

/* Records that are queued beside lists that can be read are applied before the task runs. */
static int64_t unbuilt(const void *context, int32_t partition) {
    const struct list_store *store = context;
    const struct adjacency *lists = store->options.lists;
    bool waits = store->parts[partition].live || adjacency_next(lists, partition) < 0;
    return adjacency_building(lists, partition) || (waits && queued(store, partition));
}

static int build_begin(void *context, int32_t partition, int64_t now_ms, void **build, struct error *error) {
    struct list_store *store = context;
    int code = apply_queued(store, partition, error);
    if (!code) *build = adjacency_finish_begin(store->options.lists, partition, now_ms);
    return code;
}

static int build_run(void *build, struct error *error) { return adjacency_finish_run(build, error); }

static int build_end(void *store, int32_t partition, void *build, int code, int64_t now_ms, struct error *error) {
    int failed = adjacency_finish_end(build, code, error);
    return failed ? failed : apply_queued(store, partition, error); // what has come in the meantime
}

/* ---- beginning and end ---- */

struct list_store *list_store_new(const struct list_store_options *options) {
    struct list_store *store = MEM_NEW(&(struct list_store){
        .options = *options, .parts = mem_zero((size_t)options->partitions, sizeof *store->parts)});
    if (!options->loop) return store;
    store->lots = lots_new(options->partitions);
    store->turn = loop_timer_new(options->loop, 1, 0, next_turn, store);
    return store;
}

void list_store_free(struct list_store *store) {
    if (!store) return;
    loop_timer_free(store->turn);
    lots_free(store->lots);
    free(store->parts);
    free(store);
}

const struct state_kind LIST_STORE_KIND = {
    .open = list_store_open,
    .close = list_store_close,
    .live = live,
    .take = take,
    .next = next,
    .write = write_due,
    .reset = list_store_reset,
    .touch = touch,
    .keep = keep,
    .unbuilt = unbuilt,
    .build_begin = build_begin,
    .build_run = build_run,
    .build_end = build_end,
};
