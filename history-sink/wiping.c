#include "history-sink/wiping.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "history-sink/wiping_private.h"

enum { STEP_ROWS = 5000, STEP_US = 10000, RETRY_AFTER_S = 2 };

/* A question that waits for the store. */
struct wiping_question {
    struct wiping_question *next;
    struct http_request *request;
    int32_t partition;
    int64_t offset, until_us;
};

/* ---- the topic ---- */

static int apply(void *context, const struct kafka_record *record, struct error *error) {
    struct wiping *wiping = context;
    struct wipe_user who;
    int code = wiped_learn(wiping->wiped, record, &who, error);
    if (code <= 0) return code;
    struct sink_partition *partition = sink_find(wiping->sink, record->partition);
    if (partition) wiping_files_learnt(wiping, partition, &who);
    sink_settle_soon(wiping->sink);
    return 0;
}

static void forget(void *context) {
    struct wiping *wiping = context;
    wiped_anew(wiping->wiped);
    for (int32_t i = 0; i < wiping->sink->partitions_total; i++)
        wiping->partitions[i].mark = (struct rows_wiped){.store = 0, .files = 0};
}

/* A mark behind all records is that of a topic that was made anew, or whose records are too old to be there. */
static void ready(void *context) {
    struct wiping *wiping = context;
    struct error error;
    for (int32_t i = 0; i < wiping->sink->partitions_total; i++) {
        struct wiping_partition *partition = &wiping->partitions[i];
        int code = rows_wiped_mark(wiping->sink->rows, i, &partition->mark, &error);
        if (code) service_fail(wiping->sink->service, error.text);
        if (partition->mark.store > wiped_learnt(wiping->wiped, i)) partition->mark.store = 0;
        if (partition->mark.files > partition->mark.store) partition->mark.files = partition->mark.store;
        wiped_drop(wiping->wiped, i, partition->mark.files);
    }
    wiping->ready = true;
    sink_settle_soon(wiping->sink);
}

/* ---- the store ---- */

static void note_store(struct wiping *wiping, int32_t id) {
    struct wiping_partition *partition = &wiping->partitions[id];
    struct error error;
    if (rows_put_wiped_mark(wiping->sink->rows, id, partition->mark, &error))
        service_fail(wiping->sink->service, error.text);
}

/* false: the time is over. */
static bool wipe_rows_of(struct wiping *wiping, int32_t id, int64_t until_us) {
    struct wiping_partition *partition = &wiping->partitions[id];
    struct sink *sink = wiping->sink;
    struct error error;
    int64_t began = partition->mark.store;
    bool time = true;
    for (struct wiped_record *next; time && (next = wiped_next(wiping->wiped, id, partition->mark.store));) {
        int64_t gone = 0;
        int more = rows_wipe(sink->rows, next->who.user, next->who.before, STEP_ROWS, &partition->at, &gone, &error);
        if (more < 0) {
            service_fail(sink->service, error.text);
            return false;
        }
        next->rows += gone;
        sink->metrics.wiped_rows->value += (double)gone;
        if (!more) {
            partition->mark.store = next->offset + 1;
            partition->at = (struct rows_place){.time = 0, .offset = 0};
        }
        time = clock_monotonic_us() < until_us;
    }
    if (partition->mark.store != began) note_store(wiping, id);
    return time;
}

/* Rows of all partitions: what a sink holds of others' is there again when they come back to it. */
static void wipe_store(struct wiping *wiping) {
    int64_t until_us = clock_monotonic_us() + STEP_US;
    bool time = true;
    sink_write(wiping->sink);
    for (int32_t i = 0; time && i < wiping->sink->partitions_total; i++) time = wipe_rows_of(wiping, i, until_us);
    if (!time) sink_settle_soon(wiping->sink);
}

/* ---- questions ---- */

static bool reply(struct wiping *wiping, const struct wiping_question *question, bool last) {
    const struct wiping_partition *partition = &wiping->partitions[question->partition];
    bool done = question->offset < partition->mark.store;
    if (!done && !last) return false;
    if (!done) {
        http_problem(question->request, 404, "not_yet", "the rows are still in the store", RETRY_AFTER_S);
        return true;
    }
    const struct wiped_record *record = wiped_next(wiping->wiped, question->partition, question->offset);
    http_reply_format(question->request, 200, "{\"rows\":%" PRId64 ",\"files_by\":%" PRId64 "}",
                      record && record->offset == question->offset ? record->rows : 0,
                      clock_wall_ms() + WIPING_FILES_S * INT64_C(1000));
    return true;
}

static void answer(struct wiping *wiping, int64_t now_us) {
    for (struct wiping_question **at = &wiping->questions; *at;) {
        struct wiping_question *question = *at;
        if (!reply(wiping, question, question->until_us <= now_us)) {
            at = &question->next;
            continue;
        }
        *at = question->next;
        free(question);
    }
}

void wiping_answer(struct wiping *wiping, struct http_request *request, const struct rpc_asked *asked) {
    if (!sink_find(wiping->sink, asked->partition)) {
        http_problem(request, 421, "not_the_owner", "another process has this user's history", 0);
        return;
    }
    struct wiping_question *question =
        MEM_NEW(&(struct wiping_question){.next = wiping->questions,
                                          .request = request,
                                          .partition = asked->partition,
                                          .offset = asked->numbers[RPC_OFFSET],
                                          .until_us = clock_monotonic_us() + asked->numbers[RPC_WAIT_MS] * 1000});
    wiping->questions = question;
    answer(wiping, clock_monotonic_us());
}

/* ---- the outside ---- */

void wiping_tick(struct wiping *wiping) {
    if (wiping->ready && !wiping->sink->draining) wipe_store(wiping);
    answer(wiping, clock_monotonic_us());
    if (wiping->ready) wiping_files_tick(wiping);
}

bool wiping_has(const struct wiping *wiping, const struct history_row *row) {
    return wiped_has(wiping->wiped, row->user, row->received);
}

size_t wiping_left(const struct wiping *wiping, int64_t *oldest) {
    size_t left = 0;
    *oldest = 0;
    for (size_t i = 0; wiping->ready && i < wiping->sink->count; i++) {
        int32_t id = (int32_t)wiping->sink->partitions[i].id;
        const struct wiped_record *first = wiped_next(wiping->wiped, id, 0);
        left += wiped_count(wiping->wiped, id);
        if (first && (!*oldest || first->who.before < *oldest)) *oldest = first->who.before;
    }
    return left;
}

bool wiping_ready(const struct wiping *wiping) { return wiping->ready; }

int wiping_new(struct sink *sink, struct worker *worker, struct storage *storage, struct wiping **out,
               struct error *error) {
    struct wiping *wiping = MEM_NEW(&(struct wiping){
        .sink = sink,
        .worker = worker,
        .storage = storage,
        .wiped = wiped_new(sink->partitions_total),
        .partitions = mem_zero((size_t)sink->partitions_total, sizeof *wiping->partitions),
    });
    const struct copy_definition definition = {
        .topic = &TOPIC_ERASURES, .context = wiping, .apply = apply, .forget = forget};
    *out = wiping;
    return copies_new(
        &(struct copies_options){
            .loop = service_loop(sink->service),
            .settings = service_kafka(sink->service),
            .partitions = sink->partitions_total,
            .definitions = &definition,
            .count = 1,
            .log = service_log(sink->service),
            .metrics = service_metrics(sink->service),
            .dead_letters = sink->producer,
            .context = wiping,
            .on_ready = ready,
        },
        &wiping->copies, error);
}

void wiping_stop(struct wiping *wiping) {
    if (!wiping) return;
    wiping_revoked(wiping);
    answer(wiping, INT64_MAX);
}

void wiping_free(struct wiping *wiping) {
    if (!wiping) return;
    wiping_stop(wiping);
    copies_free(wiping->copies);
    free(wiping->job.users);
    free(wiping->partitions);
    wiped_free(wiping->wiped);
    free(wiping);
}
