#include "router/graph.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "router/graph_private.h"

enum { CHUNK_MIN = 2048 };

/* ---- halves as tags ---- */

enum { BLOCKS_SHIFT = 2, ROUNDING_SHIFT = 4 };

/* Where both block each other, neither can be asked, nor choose anything: no aside's tag is as high as a mark. */
static uint8_t tag_of(const struct friendship *half) {
    uint8_t rounding = friendship_rounding(half), blocks = (uint8_t)(half->blocked_by_me | half->blocked_by_them << 1);
    if (friendship_made(half)) return (uint8_t)(rounding ? ADJACENCY_MARKED + rounding - 1 : ADJACENCY_MEMBER);
    if (half->state == FRIENDSHIP_NONE || blocks == 3) rounding = ROUNDING_NONE;
    return (uint8_t)(half->state | blocks << BLOCKS_SHIFT | rounding << ROUNDING_SHIFT);
}

/* Of a member's tag. */
static uint8_t rounding_of(uint8_t tag) {
    return adjacency_is_member(tag) && tag != ADJACENCY_MEMBER ? (uint8_t)(tag - ADJACENCY_MARKED + 1) : ROUNDING_NONE;
}

static struct friendship half_of(uint8_t tag, int64_t since) {
    bool made = adjacency_is_member(tag);
    uint8_t blocks = made ? 0 : tag >> BLOCKS_SHIFT & 3, rounding = made ? rounding_of(tag) : tag >> ROUNDING_SHIFT & 3;
    return (struct friendship){
        .state = made ? FRIENDSHIP_FRIENDS : (enum friendship_state)(tag & 3),
        .blocked_by_me = blocks & 1,
        .blocked_by_them = blocks & 2,
        .since = since,
        .rounded_by_me = rounding & ROUNDING_MINE,
        .rounded_by_them = rounding & ROUNDING_THEIRS,
    };
}

static void make_views(struct graph *graph) {
    struct friendship friends = half_of(ADJACENCY_MEMBER, 0);
    graph->views[friendship_view(&friends)] |= UINT64_C(1) << ADJACENCY_MEMBER;
    for (unsigned tag = 1; tag < ADJACENCY_MARKED; tag++) {
        struct friendship half = half_of((uint8_t)tag, 0);
        graph->views[friendship_view(&half)] |= UINT64_C(1) << tag;
    }
}

/* ---- opening ---- */

static void changed(void *context, struct adjacency_list list, int64_t id, uint8_t before, uint8_t now) {
    const struct graph_options *options = &((struct graph *)context)->options;
    options->on_change(options->context, &(struct graph_change){.user = list.owner,
                                                                .other = id,
                                                                .was_made = adjacency_is_member(before),
                                                                .made = adjacency_is_member(now),
                                                                .rounded_before = rounding_of(before),
                                                                .rounded = rounding_of(now)});
}

static void exceeded(void *context, struct adjacency_list list, int64_t id, int64_t stamp, int64_t offset) {
    const struct graph_options *options = &((struct graph *)context)->options;
    options->on_excess(options->context, list.partition, list.owner, id, stamp, offset);
}

int graph_open(const struct graph_options *options, struct graph **out, struct error *error) {
    struct graph *graph = MEM_NEW(&(struct graph){.options = *options, .lists = NULL});
    graph->options.path = NULL; // the caller's
    make_views(graph);
    struct adjacency_options lists = {
        .path = options->path,
        .name = "friends",
        .stamps = "since",
        .partitions = options->partitions,
        .kinds = 1,
        .limits = {options->cap},
        // The join reads each list whole: what the cap allows is one value, and what is briefly too many as well.
        .chunk = options->cap > CHUNK_MIN ? options->cap : CHUNK_MIN,
        .max_age_ms = options->max_age_ms,
        .memory_bytes = options->memory_bytes,
        .build_bytes = options->build_bytes,
        .context = graph,
        .on_change = changed,
        .on_excess = exceeded,
    };
    int code = adjacency_open(&lists, &graph->lists, error);
    if (code) {
        graph_close(graph);
        return code;
    }
    *out = graph;
    return 0;
}

void graph_close(struct graph *graph) {
    if (!graph) return;
    adjacency_close(graph->lists);
    adjacency_entries_free(&graph->marked);
    free(graph);
}

/* Passes a code on; tells of a damaged list. */
static int checked(struct graph *graph, int32_t partition, int code, const struct error *error) {
    const struct graph_options *options = &graph->options;
    if (code == -EBADMSG && options->on_damaged) options->on_damaged(options->context, partition, error);
    return code;
}

/* ---- records ---- */

static struct adjacency_list list_of(int32_t partition, int64_t user) {
    return (struct adjacency_list){.owner = user, .partition = partition};
}

struct list_entry graph_entry(int32_t partition, int64_t user, int64_t other, const struct friendship *half) {
    return (struct list_entry){
        .list = list_of(partition, user), .id = other, .stamp = half->since, .tag = tag_of(half)};
}

struct adjacency *graph_lists(struct graph *graph) {
    return graph->lists;
}

/* ---- reading ---- */

int graph_friends(struct graph *graph, int32_t partition, int64_t user, struct id_list *list, struct error *error) {
    int code = adjacency_members(graph->lists, list_of(partition, user), list, error);
    return code ? checked(graph, partition, code, error) : 0;
}

int graph_roundings(struct graph *graph, int32_t partition, int64_t user, const struct id_list *friends,
                    struct rounding_list *list, struct error *error) {
    list->count = 0;
    if (!friends->marked) return 0;
    struct adjacency_entries *marked = &graph->marked;
    int code = adjacency_marked(graph->lists, list_of(partition, user), friends, marked, error);
    for (size_t i = 0; !code && i < marked->count; i++)
        rounding_list_add(list, marked->items[i].id, rounding_of(marked->items[i].tag));
    return checked(graph, partition, code, error);
}

int graph_friends_many(struct graph *graph, int32_t partition, const int64_t *users, size_t count,
                       struct id_list *lists, struct error *error) {
    int code = adjacency_members_many(graph->lists, partition, 0, users, count, lists, error);
    return checked(graph, partition, code, error);
}

int graph_half(struct graph *graph, int32_t partition, int64_t user, int64_t other, struct friendship *half,
               size_t *friends, struct error *error) {
    struct adjacency_entry entry;
    int code = adjacency_find(graph->lists, list_of(partition, user), other, &entry, friends, error);
    if (!code) *half = half_of(entry.tag, entry.stamp);
    return checked(graph, partition, code, error);
}

int graph_half_beside(struct graph *graph, int32_t partition, int64_t user, const struct id_list *friends,
                      int64_t other, bool with_since, struct friendship *half, struct error *error) {
    struct adjacency_entry entry;
    int code = adjacency_find_beside(graph->lists, list_of(partition, user), friends, other, with_since, &entry, error);
    if (!code) *half = half_of(entry.tag, entry.stamp);
    return checked(graph, partition, code, error);
}

int graph_page(struct graph *graph, int32_t partition, int64_t user, unsigned views, int64_t after,
               struct graph_entry *entries, size_t limit, size_t *count, bool *more, struct error *error) {
    struct adjacency_entry *found = mem_alloc((limit + 1) * sizeof *found);
    uint64_t tags = 0;
    for (int view = FRIENDSHIP_VIEW_NONE + 1; view < FRIENDSHIP_VIEWS; view++)
        if (views & 1u << view) tags |= graph->views[view];
    int code = adjacency_page(graph->lists, list_of(partition, user), tags, after, found, limit, count, more, error);
    for (size_t i = 0; !code && i < *count; i++) {
        struct friendship half = half_of(found[i].tag, found[i].stamp);
        entries[i] = (struct graph_entry){
            .other = found[i].id, .since = half.since, .view = friendship_view(&half), .rounded = half.rounded_by_me};
    }
    free(found);
    return checked(graph, partition, code, error);
}
