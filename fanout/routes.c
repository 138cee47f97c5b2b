#include "fanout/routes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { ASK_AGAIN_MS = 1000, NO_ROUTE = -1 };

/* Where the new ones among an assignment's partitions end. The worker's while it asks. */
struct question {
    struct routes *routes;
    struct kafka_position *positions; /* all of the assignment, the new ones in front */
    size_t count, new_count;
    uint64_t assignment; /* which one */
    int code;
    struct error error;
};

struct routes {
    struct routes_options options;
    int32_t *items; /* those in use first */
    size_t count, next;
    struct kafka_position *assigned; /* an assignment whose reading has not begun; NULL: there is none */
    size_t assigned_count;
    uint64_t assignment; /* counts assignments and revocations */
    struct loop_timer *again;
    bool asking, ended;
    struct metric *gauge;
};

bool routes_has(const struct routes *routes, int32_t route) {
    for (size_t i = 0; i < routes->count; i++) {
        if (routes->items[i] == route) return true;
    }
    return false;
}

size_t routes_count(const struct routes *routes) { return routes->count; }

int32_t routes_choose(struct routes *routes) {
    size_t most = (size_t)routes->options.used, used = routes->count < most ? routes->count : most;
    return used ? routes->items[routes->next++ % used] : NO_ROUTE;
}

static int by_number(const void *a, const void *b) {
    const int32_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static void forget_assignment(struct routes *routes) {
    free(routes->assigned);
    routes->assigned = NULL;
    routes->assigned_count = 0;
    routes->assignment++;
    loop_timer_free(routes->again);
    routes->again = NULL;
}

/* Those that sessions may be on already in front, for these are what routes_choose gives out. Of new ones the lowest: a process
 * that comes last in the group leaves to each of the others the lower end of what it has. */
static void set_routes(struct routes *routes, const struct kafka_position *assigned, size_t count) {
    int32_t *items = mem_alloc((count + 1) * sizeof *items);
    size_t kept = 0, all;
    for (size_t i = 0; i < routes->count; i++) {
        for (size_t j = 0; j < count; j++)
            if (assigned[j].partition == routes->items[i]) items[kept++] = routes->items[i];
    }
    all = kept;
    for (size_t j = 0; j < count; j++)
        if (!routes_has(routes, assigned[j].partition)) items[all++] = assigned[j].partition;
    qsort(items + kept, all - kept, sizeof *items, by_number);
    free(routes->items);
    routes->items = items;
    routes->count = all;
}

static void take_assignment(struct routes *routes) {
    struct log *log = routes->options.log;
    size_t count = routes->assigned_count;
    set_routes(routes, routes->assigned, count);
    routes->gauge->value = (double)count;
    forget_assignment(routes);
    if (count)
        log_info(log, "routes assigned", LOG_INT("count", (int64_t)count));
    else
        log_warn(log, "no route is left: there are more edges than partitions of deliveries");
    routes->options.changed(routes->options.context);
}

static void ask_again(void *context);

static void read_later(struct routes *routes, const struct error *error) {
    log_warn(routes->options.log, "routes cannot be read yet", LOG_TEXT("reason", error->text));
    loop_timer_free(routes->again);
    routes->again = loop_timer_new(routes->options.loop, ASK_AGAIN_MS, 0, ask_again, routes);
}

static void ask_ends(void *context) {
    struct question *question = context;
    const struct routes_options *options = &question->routes->options;
    question->code = options->ends(options->context, question->positions, question->new_count, &question->error);
}

static void ask(struct routes *routes);

static void answered(void *context) {
    struct question *question = context;
    struct routes *routes = question->routes;
    routes->asking = false;
    bool current = question->assignment == routes->assignment;
    int code = question->code;
    if (!code && current && !routes->ended)
        code = routes->options.read(routes->options.context, question->positions, question->count, &question->error);
    if (routes->ended)
        forget_assignment(routes);
    else if (!current && routes->assigned)
        ask(routes);
    else if (current && code)
        read_later(routes, &question->error);
    else if (current)
        take_assignment(routes);
    free(question->positions);
    free(question);
}

static struct question *question_new(struct routes *routes) {
    struct question *question = mem_alloc(sizeof *question);
    size_t count = routes->assigned_count;
    *question = (struct question){
        .routes = routes,
        .positions = mem_alloc((count + 1) * sizeof *question->positions),
        .count = count,
        .assignment = routes->assignment,
    };
    for (size_t i = 0; i < count; i++) {
        struct kafka_position position = routes->assigned[i];
        position.offset = routes->options.position(routes->options.context, position.partition);
        bool known = routes_has(routes, position.partition) && position.offset >= 0;
        question->positions[i] = position;
        if (known) continue;
        question->positions[i] = question->positions[question->new_count];
        question->positions[question->new_count++] = position;
    }
    return question;
}

/* One question at a time: an assignment that comes meanwhile is asked about when the answer is there. */
static void ask(struct routes *routes) {
    if (routes->asking || routes->ended) return;
    struct question *question = question_new(routes);
    routes->asking = true;
    if (question->new_count)
        loop_work(routes->options.loop, ask_ends, answered, question);
    else
        answered(question);
}

static void ask_again(void *context) {
    struct routes *routes = context;
    if (routes->assigned) ask(routes);
}

void routes_assigned(struct routes *routes, const struct kafka_position *owned, size_t count) {
    forget_assignment(routes);
    routes->assigned = mem_alloc((count + 1) * sizeof *owned);
    if (count) memcpy(routes->assigned, owned, count * sizeof *owned);
    routes->assigned_count = count;
    ask(routes);
}

/* Nothing is committed, deliveries are the state of sessions, and those stay: most routes come back in a moment. */
void routes_revoked(struct routes *routes) { forget_assignment(routes); }

struct routes *routes_new(const struct routes_options *options) {
    struct routes *routes = mem_alloc(sizeof *routes);
    *routes = (struct routes){
        .options = *options,
        .gauge = metrics_gauge(options->metrics, "starling_edge_routes",
                               "Partitions of deliveries assigned to this process.", NULL),
    };
    return routes;
}

bool routes_end(struct routes *routes) {
    routes->ended = true;
    return routes->asking;
}

void routes_free(struct routes *routes) {
    if (!routes) return;
    forget_assignment(routes);
    free(routes->items);
    free(routes);
}
