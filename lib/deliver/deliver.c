#include "deliver/deliver.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"

/* The batch that one destination's envelopes are gathered in. */
struct waiting_batch {
    uint8_t *data; /* DELIVER_HEAD_MAX bytes for the head, then the envelopes, then room for the byte that ends them */
    size_t size;   /* of head room and envelopes */
    size_t capacity;
    uint64_t count;            /* envelopes */
    int64_t received;          /* oldest of the envelopes; 0: none */
    int64_t first_us;          /* when the first envelope came */
    bool filled;               /* in the ring of the filled */
    uint32_t period;           /* in which the last envelope came */
    struct trace_scope traced; /* its `sends`: which envelopes are of the trace; none: of no trace */
};

struct filled {
    int32_t destination;
    int64_t since_us; /* no later than its first envelope came; earlier when it has been sent in between */
};

struct waiting {
    int32_t destination;
    uint64_t epoch;
    uint8_t *data;       /* allocation */
    const uint8_t *head; /* where the batch starts in it */
    size_t size;
    struct trace_scope traced;
};

struct deliver {
    struct deliver_options options;
    int64_t stream_time;
    struct waiting_batch *batches; /* by destination */

    struct filled *filled; /* ring of all destinations that hold envelopes, oldest first; each at most once */
    size_t filled_first, filled_count;

    struct {
        int64_t since_us;   /* when the period began; 0: there was none yet */
        uint32_t period;    /* its number */
        uint64_t envelopes; /* that came in it, */
        int32_t reached;    /* for so many destinations */
        int64_t wait_us;    /* of batches, by the last periods */
    } load;

    struct waiting *waiting; /* in order, from waiting_first on */
    size_t waiting_first, waiting_count, waiting_room, waiting_bytes;

    uint8_t *payload;
    size_t payload_room;

    /* For deliver_put_many: */
    uint32_t *tally;  /* by destination: how many recipients, then where its next one goes */
    int32_t *touched; /* destinations with any */
    int64_t *users;   /* recipients, destination by destination */
    size_t users_room;
};

enum { BATCH_BYTES_FIRST = 4096, PERIOD_US = 500000 };

struct deliver *deliver_new(const struct deliver_options *options) {
    size_t destinations = (size_t)options->destinations;
    struct deliver *deliver = MEM_NEW(&(struct deliver){
        .options = *options,
        .batches = mem_zero(destinations, sizeof *deliver->batches),
        .filled = mem_alloc(destinations * sizeof *deliver->filled),
        .load.period = 1,
        .tally = mem_zero(destinations, sizeof *deliver->tally),
        .touched = mem_alloc(destinations * sizeof *deliver->touched),
    });
    for (size_t i = 0; i < destinations; i++) deliver->batches[i].size = DELIVER_HEAD_MAX;
    return deliver;
}

void deliver_free(struct deliver *deliver) {
    if (!deliver) return;
    for (int32_t i = 0; i < deliver->options.destinations; i++) free(deliver->batches[i].data);
    for (size_t i = 0; i < deliver->waiting_count; i++) free(deliver->waiting[deliver->waiting_first + i].data);
    free(deliver->waiting);
    free(deliver->batches);
    free(deliver->filled);
    free(deliver->payload);
    free(deliver->tally);
    free(deliver->touched);
    free(deliver->users);
    free(deliver);
}

void deliver_set_flush_us(struct deliver *deliver, int64_t flush_us) { deliver->options.flush_us = flush_us; }

void deliver_set_stream_time(struct deliver *deliver, int64_t stream_time) { deliver->stream_time = stream_time; }

/* ---- sending ---- */

static void wait_in_line(struct deliver *deliver, const struct waiting *last) {
    MEM_ROOM_BEHIND(deliver->waiting, deliver->waiting_first, deliver->waiting_count, deliver->waiting_room);
    deliver->waiting[deliver->waiting_first + deliver->waiting_count++] = *last;
    deliver->waiting_bytes += last->size;
}

/* True: the sender took it, or never will. */
static bool offer(struct deliver *deliver, struct waiting *batch) {
    const struct deliver_options *options = &deliver->options;
    bool traced = batch->traced.sends.count > 0;
    struct trace_scope *before = tracer_enter(options->tracer, traced ? &batch->traced : NULL);
    int code = options->send(options->context, batch->destination, batch->head, batch->size, batch->epoch);
    tracer_enter(options->tracer, before);
    if (code == -EAGAIN) return false;
    if (code) epochs_acknowledge(options->epochs, batch->epoch); // nobody will: it must not hold the epochs up
    return true;
}

static void reserve(struct waiting_batch *batch, size_t extra) {
    size_t wanted = batch->size + extra + 1; // the byte that ends the envelopes
    if (wanted <= batch->capacity) return;
    size_t capacity = batch->capacity ? batch->capacity : BATCH_BYTES_FIRST;
    while (capacity < wanted) capacity *= 2;
    batch->data = mem_resize(batch->data, capacity, 1);
    batch->capacity = capacity;
}

/* Sends what is gathered for the destination, even nothing. */
static void send_batch(struct deliver *deliver, int32_t destination) {
    struct waiting_batch *batch = &deliver->batches[destination];
    reserve(batch, 0);
    batch->data[batch->size] = 0;
    const uint8_t *head =
        deliver_head_write_before(batch->data + DELIVER_HEAD_MAX, deliver->stream_time, batch->received, batch->count);
    struct waiting sent = {
        .destination = destination,
        .epoch = epochs_expect(deliver->options.epochs),
        .data = batch->data,
        .head = head,
        .size = (size_t)(batch->data + batch->size + 1 - head),
        .traced = batch->traced,
    };
    // In order: nothing may overtake what waits.
    if (deliver->waiting_count || !offer(deliver, &sent)) {
        wait_in_line(deliver, &sent);
        batch->data = NULL;
        batch->capacity = 0;
    }
    batch->size = DELIVER_HEAD_MAX;
    batch->count = 0;
    batch->received = 0;
    batch->traced.sends.count = 0;
}

static int32_t take_filled(struct deliver *deliver) {
    int32_t destination = deliver->filled[deliver->filled_first].destination;
    deliver->filled_first = (deliver->filled_first + 1) % (size_t)deliver->options.destinations;
    deliver->filled_count--;
    deliver->batches[destination].filled = false;
    return destination;
}

static void add_filled(struct deliver *deliver, int32_t destination) {
    struct waiting_batch *batch = &deliver->batches[destination];
    size_t at = (deliver->filled_first + deliver->filled_count++) % (size_t)deliver->options.destinations;
    deliver->filled[at] = (struct filled){.destination = destination, .since_us = batch->first_us};
    batch->filled = true;
}

/* Sends batches whose first envelope is that old. */
static void flush_older(struct deliver *deliver, int64_t now_us, int64_t age_us) {
    while (deliver->filled_count) {
        if (now_us - deliver->filled[deliver->filled_first].since_us < age_us) return;
        int32_t destination = take_filled(deliver);
        const struct waiting_batch *batch = &deliver->batches[destination];
        // It may have been sent because it was full, and have filled again: then it stands behind the others.
        if (batch->count && now_us - batch->first_us < age_us)
            add_filled(deliver, destination);
        else if (batch->count)
            send_batch(deliver, destination);
    }
}

/* The first envelope of a batch comes half as long after the last batch as others come after each other: with what it waits that makes
 * as many batches as there may be. */
static void measure(struct deliver *deliver, int64_t now_us) {
    int64_t took_us = now_us - deliver->load.since_us;
    if (deliver->load.since_us && took_us < PERIOD_US) return;
    int64_t wait_us = 0;
    if (deliver->load.since_us && deliver->load.envelopes) {
        int64_t between_us = deliver->load.reached * took_us / (int64_t)deliver->load.envelopes;
        wait_us = deliver->load.reached * (INT64_C(1000000) / DELIVER_BATCHES_S) - between_us;
    }
    if (wait_us > deliver->options.gather_most_us) wait_us = deliver->options.gather_most_us;
    if (wait_us < 0) wait_us = 0;
    deliver->load.wait_us = (deliver->load.wait_us + wait_us) / 2;
    deliver->load.since_us = now_us;
    deliver->load.period++;
    deliver->load.envelopes = 0;
    deliver->load.reached = 0;
}

void deliver_flush_old(struct deliver *deliver, int64_t now_us) {
    measure(deliver, now_us);
    int64_t flush_us = deliver->options.flush_us, wait_us = deliver->load.wait_us;
    flush_older(deliver, now_us, wait_us > flush_us ? wait_us : flush_us);
}

int64_t deliver_flush_ready(struct deliver *deliver, int64_t now_us) {
    measure(deliver, now_us);
    flush_older(deliver, now_us, deliver->load.wait_us);
    if (!deliver->filled_count) return 0;
    int64_t left_us = deliver->filled[deliver->filled_first].since_us + deliver->load.wait_us - now_us;
    return left_us / 1000 + 1;
}

void deliver_flush_one(struct deliver *deliver, int32_t destination) {
    if (deliver->batches[destination].count) send_batch(deliver, destination);
}

void deliver_flush(struct deliver *deliver) { flush_older(deliver, 0, INT64_MIN); }

void deliver_beat(struct deliver *deliver) {
    deliver_flush(deliver);
    for (int32_t i = 0; i < deliver->options.destinations; i++) send_batch(deliver, i);
}

bool deliver_retry(struct deliver *deliver) {
    while (deliver->waiting_count) {
        struct waiting *first = &deliver->waiting[deliver->waiting_first];
        if (!offer(deliver, first)) return false;
        deliver->waiting_bytes -= first->size;
        free(first->data);
        deliver->waiting_first++;
        deliver->waiting_count--;
    }
    deliver->waiting_first = 0;
    return true;
}

bool deliver_blocked(const struct deliver *deliver) { return deliver->waiting_count > 0; }

size_t deliver_bytes(const struct deliver *deliver) {
    size_t bytes = deliver->waiting_bytes + deliver->payload_room;
    for (int32_t i = 0; i < deliver->options.destinations; i++) bytes += deliver->batches[i].capacity;
    return bytes;
}

/* ---- envelopes ---- */

uint8_t *deliver_payload(struct deliver *deliver, size_t size_max) {
    MEM_FIT(deliver->payload, size_max, deliver->payload_room);
    return deliver->payload;
}

/* The batch holds envelopes of another trace. */
static bool is_of_another(const struct waiting_batch *batch, const struct trace_scope *scope) {
    return scope && batch->traced.sends.count && !trace_context_same(&batch->traced.context, &scope->context);
}

/* The envelope that comes next is of the trace. A batch names one run of them: one that comes after others is not followed. */
static void trace_next(struct waiting_batch *batch, struct trace_scope *scope) {
    struct trace_part *sends = &batch->traced.sends;
    scope->used = true;
    if (!sends->count) {
        batch->traced = *scope;
        *sends = (struct trace_part){.first = (uint32_t)batch->count, .count = 1};
    } else if (sends->first + sends->count == batch->count) {
        sends->count++;
    }
}

static void append(struct deliver *deliver, int32_t destination, const struct deliver_envelope *envelope,
                   int64_t received, int64_t now_us) {
    struct waiting_batch *batch = &deliver->batches[destination];
    struct trace_scope *scope = tracer_current(deliver->options.tracer);
    size_t most = deliver_envelope_size_max(envelope->recipient_count, envelope->payload_size);
    bool full = batch->size - DELIVER_HEAD_MAX + most > deliver->options.flush_bytes;
    if (batch->count && (full || is_of_another(batch, scope))) send_batch(deliver, destination);
    if (scope) trace_next(batch, scope);
    reserve(batch, most);
    if (!batch->count) batch->first_us = now_us;
    if (batch->period != deliver->load.period) deliver->load.reached++;
    batch->period = deliver->load.period;
    deliver->load.envelopes++;
    batch->size = (size_t)(deliver_envelope_write(batch->data + batch->size, envelope) - batch->data);
    batch->count++;
    if (received && (!batch->received || received < batch->received)) batch->received = received;
    if (!batch->filled) add_filled(deliver, destination);
}

static bool exists(const struct deliver *deliver, int32_t destination) {
    return destination >= 0 && destination < deliver->options.destinations;
}

void deliver_put(struct deliver *deliver, int32_t destination, const struct deliver_envelope *envelope,
                 int64_t received, int64_t now_us) {
    if (exists(deliver, destination)) append(deliver, destination, envelope, received, now_us);
}

void deliver_put_many(struct deliver *deliver, const struct deliver_envelope *envelope,
                      const struct deliver_recipient *recipients, size_t count, int64_t received, int64_t now_us) {
    struct deliver_envelope part = *envelope;
    size_t touched = 0;
    MEM_FIT(deliver->users, count, deliver->users_room);
    for (size_t i = 0; i < count; i++) {
        int32_t destination = recipients[i].destination;
        if (exists(deliver, destination) && deliver->tally[destination]++ == 0)
            deliver->touched[touched++] = destination;
    }
    uint32_t at = 0;
    for (size_t i = 0; i < touched; i++) {
        uint32_t here = deliver->tally[deliver->touched[i]];
        deliver->tally[deliver->touched[i]] = at;
        at += here;
    }
    for (size_t i = 0; i < count; i++) {
        int32_t destination = recipients[i].destination;
        if (exists(deliver, destination)) deliver->users[deliver->tally[destination]++] = recipients[i].user;
    }
    uint32_t from = 0; // each tally is now where the next destination's recipients begin
    for (size_t i = 0; i < touched; i++) {
        int32_t destination = deliver->touched[i];
        uint32_t to = deliver->tally[destination];
        part.recipients = deliver->users + from;
        part.recipient_count = to - from;
        append(deliver, destination, &part, received, now_us);
        from = to;
        deliver->tally[destination] = 0;
    }
}
