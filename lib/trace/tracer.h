/* The tracer of a process: which trace its event loop works for just now, and where that work goes on later.
 *
 *     a request, or a record of Kafka                         records that are written because of it
 *       traceparent ---> scope ---> tracer_enter ... work ... tracer_current ---> traceparent
 *                                                  |
 *                                                  +--> tracer_park(key) .... later .... tracer_unpark(key) ---> tracer_enter ...
 *       tracer_finish ---> a span, for the exporter
 *
 * A *scope* is a span that is under way. lib/kafka enters one for each traced record while it hands that record over, and puts the
 * current one into each record that is sent meanwhile. So code that works on one record at a time need not know of traces. Code that
 * puts work off parks the current scope under a key of its own, and takes it out again when the work goes on.
 *
 * Work that is not traced costs a comparison with NULL: nothing is current, nothing is parked, records have no headers.
 *
 * Everything is bounded: a scope may be parked 16 times, 1,024 of them are parked at once (a new one takes the place of the oldest), a
 * parked one is good for a minute, and no more than max_per_s traces begin in a second. A trace that finds no room ends early, and
 * nothing else changes. All functions take a tracer that is NULL: it traces nothing. Loop's thread.
 */
#pragma once

#include "base/handoff.h"
#include "trace/spans.h"

struct tracer;

struct trace_scope {
    struct trace_context context;     /* the span's own */
    uint8_t parent[TRACE_SPAN_BYTES]; /* zeros: it is the root */
    int64_t start_ns;                 /* of the wall clock */
    struct trace_part within;         /* of the items of the record that is handled */
    struct trace_part sends;          /* of the items of the record that is sent; count 0: all */
    unsigned parked;
    bool used; /* something came of it */
};

struct tracer_options {
    int64_t every;     /* one record in so many begins a trace; 0: none does */
    int64_t max_per_s; /* traces that begin or are followed from outside, at most */
    /* Where finished spans go (struct trace_span); NULL: nowhere, and the contexts travel all the same. Borrowed. */
    struct handoff *spans;
};

struct tracer *tracer_new(const struct tracer_options *options);
void tracer_free(struct tracer *tracer); /* NULL is fine */

/* ---- the beginning of a trace ---- */

/* A record comes in from outside. parent: the traceparent that came with it, or NULL. True: it is traced, in this scope, whose span
 * began at start_ns. It is when the parent is sampled, or else when its turn has come. */
bool tracer_begin(struct tracer *tracer, const char *parent, int64_t start_ns, struct trace_scope *scope);

/* ---- spans ---- */

/* A span that begins now, caused by that one. */
struct trace_scope tracer_child(struct tracer *tracer, const struct trace_context *parent);
/* The span ends now. */
void tracer_finish(struct tracer *tracer, const struct trace_scope *scope, const struct trace_facts *facts);

/* ---- what is current ---- */

/* From now on the loop works for that scope (NULL: for none), which must stay valid until the next call. Returns the one before, to
 * be entered again. */
struct trace_scope *tracer_enter(struct tracer *tracer, struct trace_scope *scope);
/* The handled record's n-th item is next: only those that belong to the trace are worked for in its scope. SIZE_MAX: no more items. */
void tracer_item(struct tracer *tracer, size_t n);
/* NULL: the loop works for none. Code that writes something because of it marks it as used. */
struct trace_scope *tracer_current(const struct tracer *tracer);
/* The current work counts although no record comes of it: a record was stored. */
void tracer_keep(struct tracer *tracer);

/* ---- work that is put off ---- */

/* Parks the current scope, if there is one, under owner and number. */
void tracer_park(struct tracer *tracer, const void *owner, uint64_t number);
void tracer_park_scope(struct tracer *tracer, struct trace_scope *scope, const void *owner, uint64_t number);
/* True: there is one, which is copied. since_ns: when it was parked, of the wall clock; may be NULL. */
bool tracer_parked(const struct tracer *tracer, const void *owner, uint64_t number, struct trace_scope *scope,
                   int64_t *since_ns);
/* The same, and takes it out. */
bool tracer_unpark(struct tracer *tracer, const void *owner, uint64_t number, struct trace_scope *scope,
                   int64_t *since_ns);
void tracer_forget(struct tracer *tracer, const void *owner, uint64_t number);
