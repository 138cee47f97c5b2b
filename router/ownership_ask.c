#include <stdlib.h>

#include "base/mem.h"
#include "event/topics.h"
#include "router/ownership_private.h"

enum { ASK_TIMEOUT_MS = 10000 };

/* Questions to the broker about owned partitions, asked on a worker thread. */
struct asked {
    int32_t partition;
    int64_t locations, commands, sharing; /* committed offsets; KAFKA_OFFSET_NONE */
    int64_t friendships_end, sharing_end; /* 0: nothing is there */
};

struct asking {
    struct ownership *ownership;
    uint64_t generation;
    struct asked *items;
    size_t count;
    int code;
    struct error reason;
};

static int ask_ends(struct asking *asking, const struct topic *topic, struct kafka_position *ends) {
    for (size_t i = 0; i < asking->count; i++)
        ends[i] = ownership_at(topic, asking->items[i].partition, KAFKA_OFFSET_NONE);
    return kafka_consumer_ends(asking->ownership->consumer, ends, asking->count, ASK_TIMEOUT_MS, &asking->reason);
}

static void ask_work(void *context) {
    struct asking *asking = context;
    struct kafka_consumer *consumer = asking->ownership->consumer;
    struct kafka_position *committed = mem_alloc((asking->count * 3 + 1) * sizeof *committed);
    for (size_t i = 0; i < asking->count; i++) {
        committed[i * 3] = ownership_at(&TOPIC_LOCATIONS, asking->items[i].partition, KAFKA_OFFSET_NONE);
        committed[i * 3 + 1] = ownership_at(&TOPIC_FRIEND_COMMANDS, asking->items[i].partition, KAFKA_OFFSET_NONE);
        committed[i * 3 + 2] = ownership_at(&TOPIC_SHARING, asking->items[i].partition, KAFKA_OFFSET_NONE);
    }
    asking->code = kafka_consumer_committed(consumer, committed, asking->count * 3, ASK_TIMEOUT_MS, &asking->reason);
    // After the committed offsets: whatever was written for commands before them is then below this end.
    struct kafka_position *ends = mem_alloc((asking->count + 1) * sizeof *ends);
    if (!asking->code) asking->code = ask_ends(asking, &TOPIC_FRIENDSHIPS, ends);
    for (size_t i = 0; !asking->code && i < asking->count; i++) asking->items[i].friendships_end = ends[i].offset;
    if (!asking->code) asking->code = ask_ends(asking, &TOPIC_SHARING, ends);
    for (size_t i = 0; !asking->code && i < asking->count; i++) {
        struct asked *item = &asking->items[i];
        item->locations = committed[i * 3].offset;
        item->commands = committed[i * 3 + 1].offset;
        item->sharing = committed[i * 3 + 2].offset;
        item->sharing_end = ends[i].offset;
    }
    free(ends);
    free(committed);
}

static int restore(struct router *router, const struct asked *item, struct error *error) {
    struct partition *part = &router->parts[item->partition];
    int code = 0;
    if (part->stage == PARTITION_ASKING) {
        if (item->locations < 0)
            part->next = part->first < part->next ? part->first : part->next;
        else if (item->locations < part->next)
            part->next = item->locations;
        part->settled = part->next;
        part->committed = item->locations;
        part->stage = PARTITION_RESTORING;
        code = relations_attach(router->relations, item->partition, item->sharing, error);
    }
    if (part->stage == PARTITION_RESTORING) {
        part->friendships_end = item->friendships_end;
        part->sharing_end = item->sharing_end;
    }
    part->commands_from = item->commands;
    part->commands_end = item->friendships_end;
    part->commands_asked = true;
    return code;
}

static void ask_done(void *context) {
    struct asking *asking = context;
    struct ownership *ownership = asking->ownership;
    struct router *router = ownership->router;
    struct error error;
    int code = 0;
    ownership->asking = false;
    if (asking->generation != ownership->generation || ownership->stopped) {
        ownership_ask(ownership);
    } else if (asking->code) {
        log_warn(router->log, "offsets of owned partitions cannot be had yet", LOG_TEXT("reason", asking->reason.text));
        ownership->ask_wanted = true;
        loop_timer_again(ownership->again, OWNERSHIP_ASK_AGAIN_MS, 0);
    } else {
        for (size_t i = 0; !code && i < asking->count; i++) code = restore(router, &asking->items[i], &error);
        if (!code) code = relations_read(router->relations, &error);
        if (code)
            ownership_failed(ownership, "friend lists cannot be restored", &error);
        else
            ownership_progress(ownership);
    }
    free(asking->items);
    free(asking);
}

/* Asks if it is wanted and possible. Not while a transaction is open: its end is part of the answer. */
void ownership_ask(struct ownership *ownership) {
    struct router *router = ownership->router;
    if (!ownership->ask_wanted || ownership->asking || !ownership->assigned || ownership->stopped) return;
    if (commands_committing(router->commands)) return;
    struct asking *asking = mem_alloc(sizeof *asking);
    *asking = (struct asking){.ownership = ownership,
                              .generation = ownership->generation,
                              .items = mem_zero((size_t)router->partitions, sizeof *asking->items)};
    for (int32_t p = 0; p < router->partitions; p++) {
        if (partition_owned(&router->parts[p])) asking->items[asking->count++].partition = p;
    }
    ownership->ask_wanted = false;
    ownership->asking = true;
    loop_work(router->loop, ask_work, ask_done, asking);
}

void ownership_want_answers(struct ownership *ownership) {
    ownership->generation++;
    ownership->ask_wanted = true;
    ownership_ask(ownership);
}
