#include "trace/tracer.h"

#include <stdlib.h>
#include <string.h>

#include "base/chance.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"

enum { PARKED_MAX = 1024, BRANCHES_MAX = 16 };

static const int64_t PARKED_NS = INT64_C(60) * 1000 * 1000 * 1000;

struct parked_scope {
    uint64_t key; /* 0: free */
    int64_t since_ns;
    struct trace_scope scope;
};

struct tracer {
    struct tracer_options options;
    struct trace_scope *entered; /* NULL: none */
    bool outside;                /* the record's item at hand is not of the trace */
    struct parked_scope *places; /* a ring, PARKED_MAX of them */
    size_t next_place;
    struct map *parked; /* key -> number of its place */
    struct chance chance;
    uint64_t came; /* records from outside */
    int64_t second;
    int64_t begun; /* traces in it */
};

struct tracer *tracer_new(const struct tracer_options *options) {
    struct tracer *tracer = MEM_NEW(&(struct tracer){
        .options = *options,
        .places = mem_zero(PARKED_MAX, sizeof *tracer->places),
        .parked = map_new(),
        .chance = chance_new(),
    });
    return tracer;
}

void tracer_free(struct tracer *tracer) {
    if (!tracer) return;
    map_free(tracer->parked);
    free(tracer->places);
    free(tracer);
}

/* ---- the beginning of a trace ---- */

/* Never all zeros: the standard forbids it. */
static void draw(struct tracer *tracer, uint8_t *id, size_t size) {
    uint32_t any = 0;
    while (!any) {
        for (size_t at = 0; at < size; at += sizeof any) {
            uint32_t some = chance_next(&tracer->chance);
            memcpy(id + at, &some, sizeof some);
            any |= some;
        }
    }
}

static bool may_begin(struct tracer *tracer) {
    int64_t second = clock_monotonic_us() / 1000000;
    if (second != tracer->second) {
        tracer->second = second;
        tracer->begun = 0;
    }
    return tracer->begun++ < tracer->options.max_per_s;
}

bool tracer_begin(struct tracer *tracer, const char *parent, int64_t start_ns, struct trace_scope *scope) {
    struct trace_context context;
    if (!tracer) return false;
    bool turn = tracer->options.every > 0 && tracer->came++ % (uint64_t)tracer->options.every == 0;
    bool follows = parent && !trace_context_parse(parent, &context) && context.sampled;
    if (!(turn || follows) || !may_begin(tracer)) return false;
    *scope = (struct trace_scope){.context.sampled = true, .start_ns = start_ns};
    if (follows) {
        memcpy(scope->context.trace, context.trace, sizeof context.trace);
        memcpy(scope->parent, context.span, sizeof context.span);
    } else {
        draw(tracer, scope->context.trace, sizeof scope->context.trace);
    }
    draw(tracer, scope->context.span, sizeof scope->context.span);
    return true;
}

/* ---- spans ---- */

struct trace_scope tracer_child(struct tracer *tracer, const struct trace_context *parent) {
    struct trace_scope scope = {.context = *parent, .start_ns = clock_wall_ns()};
    memcpy(scope.parent, parent->span, sizeof scope.parent);
    draw(tracer, scope.context.span, sizeof scope.context.span);
    return scope;
}

void tracer_finish(struct tracer *tracer, const struct trace_scope *scope, const struct trace_facts *facts) {
    if (!tracer || !tracer->options.spans) return;
    struct trace_span span = {
        .context = scope->context, .start_ns = scope->start_ns, .end_ns = clock_wall_ns(), .facts = *facts};
    memcpy(span.parent, scope->parent, sizeof span.parent);
    if (span.end_ns < span.start_ns) span.end_ns = span.start_ns; // the clock was set back
    handoff_put(tracer->options.spans, &span);
}

/* ---- what is current ---- */

struct trace_scope *tracer_enter(struct tracer *tracer, struct trace_scope *scope) {
    if (!tracer) return NULL;
    struct trace_scope *before = tracer->entered;
    tracer->entered = scope;
    tracer->outside = false;
    return before;
}

void tracer_item(struct tracer *tracer, size_t n) {
    if (!tracer || !tracer->entered) return;
    struct trace_part part = tracer->entered->within;
    tracer->outside = part.count && (n < part.first || n - part.first >= part.count);
}

struct trace_scope *tracer_current(const struct tracer *tracer) {
    return tracer && !tracer->outside ? tracer->entered : NULL;
}

void tracer_keep(struct tracer *tracer) {
    if (tracer && tracer->entered) tracer->entered->used = true;
}

/* ---- work that is put off ---- */

static uint64_t key_of(const void *owner, uint64_t number) {
    uint64_t key = hash_fold((uint64_t)(uintptr_t)owner ^ hash_fold(number));
    return key ? key : 1;
}

static void leave_place(struct tracer *tracer, struct parked_scope *place) {
    if (place->key) map_remove(tracer->parked, place->key, NULL);
    place->key = 0;
}

static struct parked_scope *place_of(const struct tracer *tracer, const void *owner, uint64_t number) {
    if (!tracer || !map_count(tracer->parked)) return NULL;
    const uint64_t *place = map_find(tracer->parked, key_of(owner, number));
    return place ? &tracer->places[*place] : NULL;
}

void tracer_park_scope(struct tracer *tracer, struct trace_scope *scope, const void *owner, uint64_t number) {
    if (!tracer || scope->parked >= BRANCHES_MAX) return;
    struct parked_scope *place = place_of(tracer, owner, number);
    if (!place) {
        place = &tracer->places[tracer->next_place];
        tracer->next_place = (tracer->next_place + 1) % PARKED_MAX;
        leave_place(tracer, place);
    }
    scope->parked++;
    scope->used = true;
    *place = (struct parked_scope){.key = key_of(owner, number), .since_ns = clock_wall_ns(), .scope = *scope};
    place->scope.parked = 0;
    *map_put(tracer->parked, place->key, NULL) = (uint64_t)(place - tracer->places);
}

void tracer_park(struct tracer *tracer, const void *owner, uint64_t number) {
    struct trace_scope *scope = tracer_current(tracer);
    if (scope) tracer_park_scope(tracer, scope, owner, number);
}

bool tracer_parked(const struct tracer *tracer, const void *owner, uint64_t number, struct trace_scope *scope,
                   int64_t *since_ns) {
    const struct parked_scope *place = place_of(tracer, owner, number);
    if (!place || clock_wall_ns() - place->since_ns > PARKED_NS) return false;
    *scope = place->scope;
    if (since_ns) *since_ns = place->since_ns;
    return true;
}

void tracer_forget(struct tracer *tracer, const void *owner, uint64_t number) {
    struct parked_scope *place = place_of(tracer, owner, number);
    if (place) leave_place(tracer, place);
}

bool tracer_unpark(struct tracer *tracer, const void *owner, uint64_t number, struct trace_scope *scope,
                   int64_t *since_ns) {
    bool found = tracer_parked(tracer, owner, number, scope, since_ns);
    tracer_forget(tracer, owner, number);
    return found;
}
