#include "fanout/routes.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "question/question.h"

enum { ASK_AGAIN_MS = 1000, NO_ROUTE = -1 };

struct routes {
    struct routes_options options;
    int32_t *items; /* those in use first */
    size_t count, next;
    struct kafka_position *assigned; /* an assignment whose reading has not begun; NULL: no such assignment */
    size_t assigned_count;
    struct question *question;     /* where the new ones of the assignment end */
    struct kafka_position *asked;  /* all of the assignment, the new ones in front; the worker's while it asks */
    size_t asked_count, new_count; /* of all, of the new ones */
    struct metric *gauge;
};

bool routes_has(const struct routes *routes, int32_t route) {
    for (size_t i = 0; i < routes->count; i++)
        if (routes->items[i] == route) return true;
    return false;
}

size_t routes_count(const struct routes *routes) { return routes->count; }

int32_t routes_first(const struct routes *routes) { return routes->count ? routes->items[0] : NO_ROUTE; }

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
    question_cancel(routes->question);
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

/* ---- where new routes end ---- */

static void prepare(void *context) {
    struct routes *routes = context;
    size_t count = routes->assigned_count;
    free(routes->asked);
    routes->asked = mem_alloc((count + 1) * sizeof *routes->asked);
    routes->asked_count = count;
    routes->new_count = 0;
    for (size_t i = 0; i < count; i++) {
        struct kafka_position position = routes->assigned[i];
        position.offset = routes->options.position(routes->options.context, position.partition);
        bool known = routes_has(routes, position.partition) && position.offset >= 0;
        routes->asked[i] = position;
        if (known) continue;
        routes->asked[i] = routes->asked[routes->new_count];
        routes->asked[routes->new_count++] = position;
    }
}

static int ask(void *context, struct error *error) {
    const struct routes *routes = context;
    return routes->new_count ? routes->options.ends(routes->options.context, routes->asked, routes->new_count, error)
                             : 0;
}

static void failed(void *context, int code, const char *reason) {
    const struct routes *routes = context;
    log_warn(routes->options.log, "routes cannot be read yet", LOG_TEXT("reason", reason));
}

static void answered(void *context) {
    struct routes *routes = context;
    struct error error;
    int code = routes->options.read(routes->options.context, routes->asked, routes->asked_count, &error);
    if (code) {
        failed(routes, code, error.text);
        question_ask_later(routes->question, ASK_AGAIN_MS);
    } else {
        take_assignment(routes);
    }
}

/* ---- what the consumer says ---- */

void routes_assigned(struct routes *routes, const struct kafka_position *owned, size_t count) {
    forget_assignment(routes);
    routes->assigned = mem_alloc((count + 1) * sizeof *owned);
    if (count) memcpy(routes->assigned, owned, count * sizeof *owned);
    routes->assigned_count = count;
    question_ask(routes->question);
}

/* Nothing is committed, deliveries are the state of sessions, and those stay: most routes come back in a moment. */
void routes_revoked(struct routes *routes) { forget_assignment(routes); }

struct routes *routes_new(const struct routes_options *options) {
    struct routes *routes = MEM_NEW(&(struct routes){
        .options = *options,
        .gauge = metrics_gauge(options->metrics, "starling_edge_routes",
                               "Partitions of deliveries assigned to this process.", NULL),
    });
    routes->question = question_new(&(struct question_options){
        .loop = options->loop,
        .context = routes,
        .prepare = prepare,
        .ask = ask,
        .answered = answered,
        .failed = failed,
        .again_ms = ASK_AGAIN_MS,
    });
    return routes;
}

bool routes_end(struct routes *routes) {
    forget_assignment(routes);
    return question_busy(routes->question);
}

void routes_free(struct routes *routes) {
    if (!routes) return;
    forget_assignment(routes);
    question_free(routes->question);
    free(routes->asked);
    free(routes->items);
    free(routes);
}
