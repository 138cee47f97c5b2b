#include "history-sink/look.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "event/topics.h"
#include "history-sink/segment.h"
#include "history-sink/sink.h"
#include "question/question.h"

enum { ASK_TIMEOUT_MS = 2000 };

/* While the question is busy, everything but itself is the worker's. */
struct look {
    struct sink *sink;
    look_seen_fn *on_seen;
    struct question *question;
    struct archive_wanted *wanted;
    struct look_end *chains;
    struct kafka_position *kept, *ends;
    size_t count;
    int code, kafka_code;
    struct error error;
};

/* By time, as librdkafka's question for watermarks waits for a broker that is away whatever timeout it is given. */
static int ask_kafka(struct look *look) {
    for (size_t i = 0; i < look->count; i++)
        look->kept[i] = look->ends[i] =
            (struct kafka_position){&TOPIC_LOCATIONS, look->wanted[i].partition, KAFKA_OFFSET_NONE};
    struct kafka_consumer *consumer = look->sink->consumer;
    int code = kafka_consumer_offsets_at(consumer, look->kept, look->count, 0, ASK_TIMEOUT_MS, &look->error);
    return code ? code
                : kafka_consumer_offsets_at(consumer, look->ends, look->count, INT64_MAX, ASK_TIMEOUT_MS, &look->error);
}

static void find_end(const struct look *look, size_t i) {
    const struct archive_list *found = &look->wanted[i].found;
    struct look_end *end = &look->chains[i];
    *end = (struct look_end){.code = 0, .error = {.text = ""}, .chain = {.some = found->count > 0}};
    if (!end->chain.some) return;
    end->chain.file = found->files[found->count - 1];
    end->code =
        segment_measure(look->sink->storage, look->wanted[i].partition, end->chain.file, &end->chain.end, &end->error);
}

static int ask(void *context, struct error *error) {
    struct look *look = context;
    look->code = archive_scan(look->sink->storage, look->wanted, look->count, true, &look->error);
    for (size_t i = 0; look->code == 0 && i < look->count; i++) find_end(look, i);
    look->kafka_code = look->code ? 0 : ask_kafka(look);
    return 0; // who looks tells the two failures apart
}

static void clear(struct look *look) {
    for (size_t i = 0; i < look->count; i++) archive_list_clear(&look->wanted[i].found);
    free(look->wanted);
    free(look->chains);
    free(look->kept);
    free(look->ends);
    look->wanted = NULL;
    look->chains = NULL;
    look->kept = look->ends = NULL;
    look->count = 0;
}

static void answered(void *context) {
    struct look *look = context;
    look->on_seen(look->sink, &(struct look_seen){
                                  .code = look->code,
                                  .kafka_code = look->kafka_code,
                                  .reason = look->error.text,
                                  .count = look->count,
                                  .wanted = look->wanted,
                                  .chains = look->chains,
                                  .kept = look->kept,
                                  .ends = look->ends,
                              });
    clear(look);
}

struct look *look_new(struct sink *sink, look_seen_fn *on_seen) {
    struct look *look = MEM_NEW(&(struct look){.sink = sink, .on_seen = on_seen});
    look->question = question_new(&(struct question_options){.loop = service_loop(sink->service),
                                                             .worker = sink->worker,
                                                             .context = look,
                                                             .ask = ask,
                                                             .answered = answered});
    return look;
}

void look_free(struct look *look) {
    if (!look) return;
    question_free(look->question);
    clear(look);
    free(look);
}

bool look_busy(const struct look *look) { return question_busy(look->question); }

void look_start(struct look *look, const struct archive_wanted *wanted, size_t count) {
    look->wanted = mem_alloc((count + 1) * sizeof *wanted);
    memcpy(look->wanted, wanted, count * sizeof *wanted);
    look->chains = mem_zero(count + 1, sizeof *look->chains);
    look->kept = mem_zero(count + 1, sizeof *look->kept);
    look->ends = mem_zero(count + 1, sizeof *look->ends);
    look->count = count;
    question_ask(look->question);
}
