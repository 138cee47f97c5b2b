/* The outbox with a sender of the test's own: what is sent decodes to what was put, in order; ages, sizes, a full sender,
 * epochs and their acknowledgements. */
#include "deliver/deliver.h"
#include "unit/kit/kit.h"
#include "unit/lib/event/samples.h"

enum { DESTINATIONS = 5, SENT_MAX = 4096, FLUSH_BYTES = 2000, FLUSH_US = 5000, NOBODY = -1 };

struct sent {
    int32_t destination;
    uint64_t epoch;
    uint8_t *bytes;
    size_t size;
    bool traced;
    struct trace_scope scope; /* within which it was sent */
};

struct world {
    struct tracer *tracer;
    struct deliver *outbox;
    struct epochs *epochs;
    struct deliver_reader *reader;
    struct sent sent[SENT_MAX];
    size_t count;
    int refuse; /* code to answer; 0: take */
};

static int take(void *context, int32_t destination, const void *bytes, size_t size, uint64_t epoch) {
    struct world *w = context;
    if (w->refuse) return w->refuse;
    assert_true(w->count < SENT_MAX);
    struct sent *s = &w->sent[w->count++];
    *s = (struct sent){.destination = destination, .epoch = epoch, .bytes = mem_alloc(size), .size = size};
    memcpy(s->bytes, bytes, size);
    const struct trace_scope *scope = tracer_current(w->tracer);
    s->traced = scope;
    if (scope) s->scope = *scope;
    return 0;
}

SET_UP() {
    struct world *w = kit_zero(sizeof *w);
    w->epochs = kit_epochs();
    w->reader = deliver_reader_new();
    w->tracer = tracer_new(&(struct tracer_options){.every = 1, .max_per_s = 1000});
    w->outbox = deliver_new(&(struct deliver_options){.destinations = DESTINATIONS,
                                                      .flush_bytes = FLUSH_BYTES,
                                                      .flush_us = FLUSH_US,
                                                      .epochs = w->epochs,
                                                      .tracer = w->tracer,
                                                      .context = w,
                                                      .send = take});
    return w;
}

static void forget_sent(struct world *w) {
    for (size_t i = 0; i < w->count; i++) free(w->sent[i].bytes);
    w->count = 0;
}

TEAR_DOWN(struct world *w) {
    deliver_free(w->outbox);
    tracer_free(w->tracer);
    deliver_reader_free(w->reader);
    forget_sent(w);
}

static bool close_epoch(struct world *w) {
    deliver_flush(w->outbox);
    return epochs_close(w->epochs);
}

/* An envelope whose recipient and kind are the number. */
static void put(struct world *w, int32_t destination, int64_t number, int64_t received, int64_t now_us) {
    struct deliver_envelope envelope = {.kind = (int32_t)number,
                                        .recipients = &number,
                                        .recipient_count = 1,
                                        .payload = (const uint8_t *)"payload",
                                        .payload_size = 7};
    deliver_put(w->outbox, destination, &envelope, received, now_us);
}

/* Opens a sent batch. */
static struct deliver_head open_batch(struct world *w, size_t index) {
    struct deliver_head head;
    assert_true(index < w->count);
    assert_int_equal(deliver_reader_start(w->reader, w->sent[index].bytes, w->sent[index].size, &head, NULL), 0);
    return head;
}

static void expect(struct world *w, int64_t number) {
    struct deliver_envelope envelope;
    assert_int_equal(deliver_reader_next(w->reader, &envelope), 1);
    assert_int_equal(envelope.kind, number);
    assert_int_equal(envelope.recipient_count, 1);
    assert_true(envelope.recipients[0] == number);
    assert_int_equal(envelope.payload_size, 7);
    assert_memory_equal(envelope.payload, "payload", 7);
}

static void expect_end(struct world *w) {
    struct deliver_envelope envelope;
    assert_int_equal(deliver_reader_next(w->reader, &envelope), 0);
}

TEST(test_a_batch_a_destination_in_order, struct world *w) {
    deliver_set_stream_time(w->outbox, 777);
    put(w, 3, 100, 50, 1);
    put(w, 1, 200, 0, 2);
    put(w, 3, 300, 40, 3);
    put(w, DESTINATIONS, 1, 1, 1); // no such destination
    assert_int_equal(w->count, 0);
    deliver_flush(w->outbox);
    assert_int_equal(w->count, 2);
    assert_int_equal(w->sent[0].destination, 3);
    struct deliver_head head = open_batch(w, 0);
    assert_int_equal(head.stream_time, 777);
    assert_int_equal(head.oldest_received, 40);
    expect(w, 100);
    expect(w, 300);
    expect_end(w);
    head = open_batch(w, 1);
    assert_int_equal(w->sent[1].destination, 1);
    assert_int_equal(head.oldest_received, 0);
    expect(w, 200);
    expect_end(w);
    deliver_flush(w->outbox);
    assert_int_equal(w->count, 2);
}

/* ---- traces ---- */

static void put_traced(struct world *w, struct trace_scope *scope, int64_t number) {
    struct trace_scope *before = tracer_enter(w->tracer, scope);
    put(w, 3, number, 1, 1);
    tracer_enter(w->tracer, before);
}

static void expect_trace(const struct world *w, size_t index, const struct trace_scope *scope, uint32_t first,
                         uint32_t count) {
    assert_true(w->sent[index].traced);
    assert_true(trace_context_same(&w->sent[index].scope.context, &scope->context));
    assert_int_equal(w->sent[index].scope.sends.first, first);
    assert_int_equal(w->sent[index].scope.sends.count, count);
}

TEST(test_a_batch_names_the_envelopes_of_its_trace, struct world *w) {
    struct trace_scope one, two;
    assert_true(tracer_begin(w->tracer, NULL, 0, &one) && tracer_begin(w->tracer, NULL, 0, &two));
    put(w, 3, 1, 1, 1);
    put_traced(w, &one, 2);
    put_traced(w, &one, 3);
    put(w, 3, 4, 1, 1);
    put_traced(w, &one, 5); // one run of envelopes is named
    assert_int_equal(w->count, 0);
    put_traced(w, &two, 6); // of another trace: another batch
    assert_int_equal(w->count, 1);
    expect_trace(w, 0, &one, 1, 2);
    assert_true(one.used && two.used);
    tracer_enter(w->tracer, &one); // what is sent just now is not of the trace that the loop works for
    deliver_flush(w->outbox);
    tracer_enter(w->tracer, NULL);
    assert_int_equal(w->count, 2);
    expect_trace(w, 1, &two, 0, 1);
    put(w, 3, 7, 1, 1);
    tracer_enter(w->tracer, &one);
    deliver_flush(w->outbox);
    tracer_enter(w->tracer, NULL);
    assert_int_equal(w->count, 3);
    assert_false(w->sent[2].traced);
}

TEST(test_a_batch_that_waits_keeps_its_trace, struct world *w) {
    struct trace_scope one;
    assert_true(tracer_begin(w->tracer, NULL, 0, &one));
    w->refuse = -EAGAIN;
    put_traced(w, &one, 1);
    deliver_flush(w->outbox);
    put(w, 3, 2, 1, 1);
    deliver_flush(w->outbox);
    w->refuse = 0;
    assert_true(deliver_retry(w->outbox));
    assert_int_equal(w->count, 2);
    expect_trace(w, 0, &one, 0, 1);
    assert_false(w->sent[1].traced);
}

TEST(test_age_and_size, struct world *w) {
    put(w, 0, 1, 0, 1000);
    put(w, 1, 2, 0, 4000);
    deliver_flush_old(w->outbox, 1000 + FLUSH_US - 1);
    assert_int_equal(w->count, 0);
    deliver_flush_old(w->outbox, 1000 + FLUSH_US);
    assert_int_equal(w->count, 1);
    assert_int_equal(w->sent[0].destination, 0);
    deliver_flush_old(w->outbox, 4000 + FLUSH_US);
    assert_int_equal(w->count, 2);

    // A destination that is sent again and again because it is full does not keep the others waiting.
    forget_sent(w);
    put(w, 2, 1, 0, 10000);
    put(w, 4, 2, 0, 10001);
    for (int i = 0; i < 1000; i++) put(w, 2, i, 0, 10000 + i * 10);
    assert_true(w->count >= 2);
    size_t full = w->count;
    for (size_t i = 0; i < full; i++) {
        assert_int_equal(w->sent[i].destination, 2);
        assert_true(w->sent[i].size <= FLUSH_BYTES + DELIVER_HEAD_MAX + 1);
    }
    deliver_flush_old(w->outbox, 10001 + FLUSH_US);
    assert_int_equal(w->count, full + 1);
    assert_int_equal(w->sent[full].destination, 4);
}

TEST(test_age_may_change, struct world *w) {
    put(w, 0, 1, 0, 1000);
    deliver_set_flush_us(w->outbox, 10 * FLUSH_US);
    deliver_flush_old(w->outbox, 1000 + FLUSH_US);
    assert_int_equal(w->count, 0);
    put(w, 1, 2, 0, 1000 + FLUSH_US);
    deliver_set_flush_us(w->outbox, FLUSH_US);
    deliver_flush_old(w->outbox, 1000 + FLUSH_US);
    assert_int_equal(w->count, 1);
    assert_int_equal(w->sent[0].destination, 0);
}

TEST(test_recipients_are_gathered_by_destination, struct world *w) {
    struct deliver_recipient recipients[] = {{2, 10}, {0, 11}, {2, 12},           {NOBODY, 13},
                                             {0, 14}, {2, 15}, {DESTINATIONS, 16}};
    struct deliver_envelope got;
    for (int round = 0; round < 2; round++) {
        forget_sent(w);
        uint8_t *payload = deliver_payload(w->outbox, 100);
        memcpy(payload, "the same", 8);
        struct deliver_envelope envelope = {.kind = 3, .payload = payload, .payload_size = 8};
        deliver_put_many(w->outbox, &envelope, recipients, ARRAY_SIZE(recipients), 5, 1);
        deliver_flush(w->outbox);
        assert_int_equal(w->count, 2);
        open_batch(w, 0);
        assert_int_equal(w->sent[0].destination, 2);
        assert_int_equal(deliver_reader_next(w->reader, &got), 1);
        assert_int_equal(got.kind, 3);
        assert_int_equal(got.payload_size, 8);
        assert_memory_equal(got.payload, "the same", 8);
        assert_int_equal(got.recipient_count, 3);
        assert_int_equal(got.recipients[0], 10);
        assert_int_equal(got.recipients[1], 12);
        assert_int_equal(got.recipients[2], 15);
        expect_end(w);
        open_batch(w, 1);
        assert_int_equal(deliver_reader_next(w->reader, &got), 1);
        assert_int_equal(got.recipient_count, 2);
        assert_int_equal(got.recipients[1], 14);
        assert_memory_equal(got.payload, "the same", 8);
        expect_end(w);
    }
}

TEST(test_a_large_envelope_goes_whole, struct world *w) {
    enum { LARGE = 150000 };
    int64_t user = 7;
    uint8_t *payload = deliver_payload(w->outbox, LARGE);
    for (int i = 0; i < LARGE; i++) payload[i] = (uint8_t)(i * 7 >> 3);
    FREED uint8_t *copy = mem_alloc(LARGE);
    memcpy(copy, payload, LARGE);
    put(w, 0, 1, 0, 1);
    struct deliver_envelope large = {
        .kind = 9, .recipients = &user, .recipient_count = 1, .payload = payload, .payload_size = LARGE};
    deliver_put(w->outbox, 0, &large, 9, 1);
    put(w, 0, 2, 0, 1);
    deliver_flush(w->outbox);
    assert_int_equal(w->count, 3);
    open_batch(w, 1);
    struct deliver_envelope got;
    assert_int_equal(deliver_reader_next(w->reader, &got), 1);
    assert_int_equal(got.payload_size, LARGE);
    assert_memory_equal(got.payload, copy, LARGE);
    expect_end(w);
}

TEST(test_a_beat_reaches_every_destination, struct world *w) {
    put(w, 1, 5, 0, 1);
    deliver_set_stream_time(w->outbox, 42);
    deliver_beat(w->outbox);
    assert_int_equal(w->count, DESTINATIONS + 1);
    for (size_t i = 1; i < w->count; i++) {
        struct deliver_head head = open_batch(w, i);
        assert_int_equal(w->sent[i].destination, (int)i - 1);
        assert_int_equal(head.stream_time, 42);
        expect_end(w);
    }
}

TEST(test_a_full_sender_keeps_the_order, struct world *w) {
    w->refuse = -EAGAIN;
    for (int i = 0; i < 100; i++) {
        put(w, i % 2, i, 0, 1);
        if (i % 10 == 9) deliver_flush(w->outbox);
    }
    assert_true(deliver_blocked(w->outbox));
    assert_false(deliver_retry(w->outbox));
    assert_true(deliver_bytes(w->outbox) > 0);
    w->refuse = 0;
    assert_true(deliver_retry(w->outbox));
    assert_false(deliver_blocked(w->outbox));
    assert_int_equal(w->count, 20);
    for (int destination = 0; destination < 2; destination++) {
        int next = destination;
        for (size_t i = 0; i < w->count; i++) {
            if (w->sent[i].destination != destination) continue;
            open_batch(w, i);
            for (int k = 0; k < 5; k++, next += 2) expect(w, next);
            expect_end(w);
        }
        assert_int_equal(next, 100 + destination);
    }
}

TEST(test_epochs_settle_in_order, struct world *w) {
    assert_int_equal(epochs_open(w->epochs), 1);
    put(w, 0, 1, 0, 1);
    assert_true(close_epoch(w)); // flushes
    assert_int_equal(w->sent[0].epoch, 1);
    put(w, 1, 2, 0, 1);
    assert_true(close_epoch(w));
    assert_true(close_epoch(w)); // an empty one
    assert_int_equal(epochs_settled(w->epochs), 1);
    epochs_acknowledge(w->epochs, 2);
    assert_int_equal(epochs_settled(w->epochs), 1);
    epochs_acknowledge(w->epochs, 1);
    assert_int_equal(epochs_settled(w->epochs), 4);
    assert_int_equal(epochs_open(w->epochs), 4);
}

TEST(test_what_waits_is_not_settled, struct world *w) {
    w->refuse = -EAGAIN;
    put(w, 0, 1, 0, 1);
    assert_true(close_epoch(w));
    assert_int_equal(epochs_settled(w->epochs), 1);
    w->refuse = 0;
    assert_true(deliver_retry(w->outbox));
    assert_int_equal(epochs_settled(w->epochs), 1);
    epochs_acknowledge(w->epochs, 1);
    assert_int_equal(epochs_settled(w->epochs), 2);
    // A batch that the sender will never take does not hold the epochs up.
    w->refuse = -EINVAL;
    put(w, 0, 1, 0, 1);
    assert_true(close_epoch(w));
    assert_int_equal(epochs_settled(w->epochs), 3);
}

TEST(test_forgetting, struct world *w) {
    put(w, 0, 1, 0, 1);
    deliver_flush(w->outbox);
    epochs_forget(w->epochs);
    assert_int_equal(epochs_settled(w->epochs), epochs_open(w->epochs));
    epochs_acknowledge(w->epochs, 1); // of what is forgotten
    put(w, 0, 2, 0, 1);
    deliver_flush(w->outbox);
    uint64_t epoch = w->sent[w->count - 1].epoch;
    assert_true(close_epoch(w));
    assert_int_equal(epochs_settled(w->epochs), epoch);
    epochs_acknowledge(w->epochs, epoch);
    assert_int_equal(epochs_settled(w->epochs), epoch + 1);
}

TEST(test_too_many_epochs, struct world *w) {
    for (int i = 0; i < EPOCHS_MAX * 3; i++) {
        put(w, 0, i, 0, 1);
        close_epoch(w);
    }
    uint64_t open = epochs_open(w->epochs);
    assert_true(open <= EPOCHS_MAX);
    deliver_flush(w->outbox);
    for (size_t i = 0; i < w->count; i++) epochs_acknowledge(w->epochs, w->sent[i].epoch);
    assert_int_equal(epochs_settled(w->epochs), open);
    assert_true(close_epoch(w));
    assert_int_equal(epochs_settled(w->epochs), open + 1);
}

/* ---- random histories against a plain model ---- */

enum { ITEMS = 1500 };

/* The model keeps the fate of each item. Its epoch is the one that was open when it was put: closing it flushes first. */
struct history {
    struct world *w;
    uint64_t seed;
    struct {
        int32_t destination;
        uint64_t epoch;
        bool acknowledged; /* or can never be sent */
    } items[ITEMS];
    int count;
    uint64_t forgotten; /* epochs before it are the owner's to handle again */
    bool full;          /* the sender has no room */
    bool acked[SENT_MAX];
    int last[DESTINATIONS]; /* number of the last item that was sent there */
};

/* Calls back for each item of a batch, in order. */
static void each_item(struct history *h, const void *bytes, size_t size, void (*look)(struct history *, int)) {
    struct deliver_head head;
    struct deliver_envelope envelope;
    assert_int_equal(deliver_reader_start(h->w->reader, bytes, size, &head, NULL), 0);
    while (deliver_reader_next(h->w->reader, &envelope) == 1) look(h, envelope.kind);
}

static void in_order(struct history *h, int number) {
    int32_t destination = h->items[number].destination;
    assert_true(number > h->last[destination]);
    h->last[destination] = number;
}

static void done_with(struct history *h, int number) { h->items[number].acknowledged = true; }

static int take_or_not(void *context, int32_t destination, const void *bytes, size_t size, uint64_t epoch) {
    struct history *h = context;
    if (h->full) return -EAGAIN;
    each_item(h, bytes, size, in_order);
    if (sample_below(&h->seed, 50) == 0) {
        each_item(h, bytes, size, done_with);
        return -EMSGSIZE;
    }
    return take(h->w, destination, bytes, size, epoch);
}

static void acknowledge_one(struct history *h) {
    if (!h->w->count) return;
    size_t i = sample_below(&h->seed, h->w->count);
    if (h->acked[i]) return;
    h->acked[i] = true;
    each_item(h, h->w->sent[i].bytes, h->w->sent[i].size, done_with);
    epochs_acknowledge(h->w->epochs, h->w->sent[i].epoch);
}

static void step(struct history *h) {
    struct world *w = h->w;
    uint64_t dice = sample_below(&h->seed, 1000);
    if (dice < 500) {
        h->items[h->count].destination = (int32_t)sample_below(&h->seed, DESTINATIONS);
        h->items[h->count].epoch = epochs_open(w->epochs);
        put(w, h->items[h->count].destination, h->count, 0, h->count * 100);
        h->count++;
    } else if (dice < 700) {
        acknowledge_one(h);
    } else if (dice < 800) {
        deliver_flush_old(w->outbox, h->count * 100);
    } else if (dice < 850) {
        deliver_flush(w->outbox);
    } else if (dice < 900) {
        close_epoch(w);
    } else if (dice < 950) {
        h->full = !h->full;
    } else if (dice < 998) {
        bool none_left = deliver_retry(w->outbox);
        assert_int_equal(none_left, !deliver_blocked(w->outbox));
    } else {
        // A batch was lost: its epoch would never be settled.
        epochs_forget(w->epochs);
        h->forgotten = epochs_open(w->epochs);
    }
}

/* A settled epoch may be committed: none of its items is needed again. */
static void check_settled(const struct history *h) {
    uint64_t settled = epochs_settled(h->w->epochs);
    for (int i = 0; i < h->count; i++) {
        if (h->items[i].epoch >= h->forgotten && h->items[i].epoch < settled) assert_true(h->items[i].acknowledged);
    }
}

TEST(test_random_histories, struct world *w) {
    for (uint64_t seed = 1; seed <= 30; seed++) {
        FREED struct history *h = mem_zero(1, sizeof *h);
        *h = (struct history){.w = w, .seed = seed << 32, .forgotten = epochs_open(w->epochs)};
        for (int i = 0; i < DESTINATIONS; i++) h->last[i] = -1;
        deliver_free(w->outbox);
        w->outbox = deliver_new(&(struct deliver_options){.destinations = DESTINATIONS,
                                                          .flush_bytes = 300,
                                                          .flush_us = FLUSH_US,
                                                          .epochs = w->epochs,
                                                          .context = h,
                                                          .send = take_or_not});
        while (h->count < ITEMS) {
            step(h);
            if (h->count % 8 == 0) check_settled(h);
        }
        h->full = false;
        deliver_retry(w->outbox);
        assert_true(close_epoch(w) || epochs_open(w->epochs) - epochs_settled(w->epochs) + 1 == EPOCHS_MAX);
        for (size_t i = 0; i < w->count; i++) {
            if (!h->acked[i]) {
                each_item(h, w->sent[i].bytes, w->sent[i].size, done_with);
                epochs_acknowledge(w->epochs, w->sent[i].epoch);
            }
        }
        assert_int_equal(epochs_settled(w->epochs), epochs_open(w->epochs));
        for (int i = 0; i < h->count; i++) assert_true(h->items[i].acknowledged); // whatever was put was sent
        forget_sent(w);
        deliver_free(w->outbox);
        w->outbox = NULL;
    }
}

/* ---- batches that wait for more ---- */

static void gather(struct world *w, int64_t most_us) {
    deliver_free(w->outbox);
    w->outbox = deliver_new(&(struct deliver_options){.destinations = DESTINATIONS,
                                                      .flush_bytes = FLUSH_BYTES,
                                                      .flush_us = 1000,
                                                      .gather_most_us = most_us,
                                                      .epochs = w->epochs,
                                                      .context = w,
                                                      .send = take});
}

enum { SECONDS = 6 };

/* Puts one envelope after the other for some seconds, each to the next destination, and nothing more comes after each. Returns how many
 * batches go in the last second. No envelope waits longer than said. */
static size_t batches_a_second(struct world *w, int64_t every_us, int64_t longest_us) {
    int64_t since_us[DESTINATIONS] = {0}; // of the oldest envelope that waits; 0: none does
    for (int64_t turn = 1; turn * every_us < SECONDS * INT64_C(1000000); turn++) {
        int64_t now_us = turn * every_us;
        int32_t destination = (int32_t)(turn % DESTINATIONS), waiting = 0;
        if (now_us <= (SECONDS - 1) * INT64_C(1000000)) forget_sent(w);
        size_t sent = w->count;
        put(w, destination, destination, 0, now_us);
        if (!since_us[destination]) since_us[destination] = now_us;
        int64_t left_ms = deliver_flush_ready(w->outbox, now_us);
        for (; sent < w->count; sent++) since_us[w->sent[sent].destination] = 0;
        for (int i = 0; i < DESTINATIONS; i++) {
            waiting += since_us[i] != 0;
            if (since_us[i]) assert_in_range(now_us - since_us[i], 0, longest_us);
        }
        assert_int_equal(left_ms > 0, waiting > 0);
    }
    return w->count;
}

TEST(test_few_batches_do_not_wait, struct world *w) {
    gather(w, DELIVER_GATHER_US);
    assert_in_range(batches_a_second(w, 2000, 0), 499, 500);
}

TEST(test_many_batches_wait_until_they_are_fewer, struct world *w) {
    gather(w, DELIVER_GATHER_US);
    assert_in_range(batches_a_second(w, 250, 4000), DELIVER_BATCHES_S * 9 / 10, DELIVER_BATCHES_S * 11 / 10);
}

TEST(test_batches_wait_no_longer_than_they_may, struct world *w) {
    gather(w, 2000);
    assert_in_range(batches_a_second(w, 250, 2000), 1900,
                    2100); // five, each of which goes after 2 ms, and begins 0.5 ms later
}

TEST(test_batch_of_one_destination, struct world *w) {
    put(w, 1, 1, 0, 0);
    put(w, 2, 2, 0, 0);
    deliver_flush_one(w->outbox, 1);
    deliver_flush_one(w->outbox, 3); // has none
    assert_int_equal(w->count, 1);
    assert_int_equal(w->sent[0].destination, 1);
    deliver_flush(w->outbox);
    assert_int_equal(w->count, 2);
    assert_int_equal(w->sent[1].destination, 2);
    put(w, 1, 3, 0, FLUSH_US);
    deliver_flush_one(w->outbox, 1);
    put(w, 1, 4, 0, FLUSH_US);
    deliver_flush_old(w->outbox, 2 * FLUSH_US - 1);
    assert_int_equal(w->count, 3);
    deliver_flush_old(w->outbox, 2 * FLUSH_US);
    assert_int_equal(w->count, 4);
}
