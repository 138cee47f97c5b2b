/* Writes watch records, tombstones and roll calls, in an order in which roll calls are true. */

#include "watch/edge_private.h"

enum { ROLL_CALL_ACKS = 2000 }; /* of one record: at most 62 kB */

static struct watch_edge_part *part_of(const struct watch_edge *edge, const struct shown_thing *shown) {
    return &edge->parts[shown->partition];
}

static void set_busy(struct watch_edge *edge, struct watch_edge_part *part) {
    if (watch_list_empty(&part->in_busy)) watch_link_move(&edge->busy, &part->in_busy);
}

void watch_edge_unwritten(struct watch_edge *edge, struct shown_thing *shown) {
    struct watch_edge_part *part = part_of(edge, shown);
    watch_link_move(&part->unwritten, &shown->by_state);
    set_busy(edge, part);
}

void watch_edge_all_unwritten(struct watch_edge *edge, int32_t partition) {
    struct watch_edge_part *part = &edge->parts[partition];
    watch_list_splice(&part->unwritten, &part->written);
    set_busy(edge, part);
}

void watch_edge_news(struct watch_edge *edge, struct shown_thing *shown) {
    // A roll call that is being written and has not come to the thing acknowledges the newest version.
    if (watch_list_empty(&shown->by_news)) watch_link_move(&part_of(edge, shown)->news, &shown->by_news);
}

static int write_record(struct watch_edge *edge, int32_t partition, const struct watch_name *name,
                        const struct buffer *value) {
    uint8_t key[WATCH_KEY_MAX];
    size_t size = watch_key_encode(key, name ? name->what : NULL, name ? name->size : 0, edge->options.watcher);
    return edge->options.write(edge->options.context, partition, key, size, value ? value->data : NULL,
                               value ? value->size : 0);
}

/* Counts the watch record that stands in or out of what the next roll call says. */
static void count(struct watch_edge_part *part, const struct shown_thing *shown, int sign) {
    part->count += sign;
    part->hash += (uint64_t)sign * watch_hash_share(shown->name.hash, shown->written);
}

/* Writes the watch record of a thing that sessions show, or the tombstone of one that they do not show any more. */
static int write_shown(struct watch_edge *edge, struct shown_thing *shown) {
    struct watch_edge_part *part = part_of(edge, shown);
    bool stands = shown->seat_count > 0;
    buffer_clear(&edge->scratch);
    watch_value_encode(&edge->scratch, edge->route);
    int rc = write_record(edge, shown->partition, &shown->name, stands ? &edge->scratch : NULL);
    if (rc) return rc;
    edge->stats.written++;
    if (shown->written >= 0) count(part, shown, -1);
    if (!stands) {
        watch_edge_shown_free(edge, shown);
        return 0;
    }
    shown->written = edge->route;
    count(part, shown, 1);
    part->silent = false;
    watch_link_move(&part->written, &shown->by_state);
    if (!shown->heard_any) watch_edge_news(edge, shown);
    return 0;
}

/* Writes a record of the roll call, with as many acknowledgements as it holds. */
static int write_roll_call(struct watch_edge *edge, struct watch_edge_part *part) {
    if (!part->roll_begun) watch_list_splice(&part->reporting, &part->news);
    part->roll_begun = true;
    struct watch_ack acks[ROLL_CALL_ACKS];
    struct watch_roll roll = {
        .route = edge->route, .number = part->roll_calls + 1, .count = part->count, .hash = part->hash, .heard = 0};
    struct watch_link *link = part->reporting.next;
    for (; link != &part->reporting && roll.heard < ROLL_CALL_ACKS; link = link->next) {
        const struct shown_thing *shown = watch_item(link, struct shown_thing, by_news);
        acks[roll.heard++] =
            (struct watch_ack){.what_hash = shown->name.hash, .known = shown->heard_any, .version = shown->heard};
    }
    roll.more = link != &part->reporting;
    buffer_clear(&edge->scratch);
    watch_roll_encode(&edge->scratch, &roll, acks);
    int rc = write_record(edge, (int32_t)(part - edge->parts), NULL, &edge->scratch);
    if (rc) return rc;
    part->roll_calls++;
    edge->stats.roll_calls++;
    while (part->reporting.next != link) {
        struct shown_thing *shown = watch_item(part->reporting.next, struct shown_thing, by_news);
        if (shown->heard_any)
            watch_link_out(&shown->by_news);
        else
            watch_link_move(&part->news,
                            &shown->by_news); // The next roll call says so again, until a version is heard.
    }
    if (!roll.more) part->roll_due = part->roll_begun = false;
    if (!roll.more) part->silent = part->count == 0;
    return 0;
}

void watch_edge_roll_calls_due(struct watch_edge *edge, int64_t now_ms) {
    // After a long sleep one roll call of each partition makes up for all that were missed.
    int64_t due = (now_ms - edge->started_ms) * edge->options.partitions / WATCH_ROLL_CALL_MS + 1;
    if (now_ms < edge->started_ms) return;
    if (due - edge->rolls > edge->options.partitions) edge->rolls = due - edge->options.partitions;
    for (; edge->rolls < due; edge->rolls++) {
        struct watch_edge_part *part = &edge->parts[edge->rolls % edge->options.partitions];
        part->roll_due = true;
        set_busy(edge, part);
    }
}

int64_t watch_edge_next_roll_call_ms(const struct watch_edge *edge) {
    int64_t partitions = edge->options.partitions;
    return edge->started_ms + (edge->rolls * WATCH_ROLL_CALL_MS + partitions - 1) / partitions;
}

/* A roll call comes after all watch records of its partition. So what it says is true of the topic up to there. */
static int write_part(struct watch_edge *edge, struct watch_edge_part *part, size_t *budget) {
    while (*budget > 0 && !watch_list_empty(&part->unwritten)) {
        int rc = write_shown(edge, watch_item(part->unwritten.next, struct shown_thing, by_state));
        if (rc) return rc;
        --*budget;
    }
    // A partition in which nothing is watched needs no roll call: owners drop a watcher that is silent.
    if (part->silent && watch_list_empty(&part->unwritten)) part->roll_due = part->roll_begun = false;
    while (*budget > 0 && part->roll_due) {
        int rc = write_roll_call(edge, part);
        if (rc) return rc;
        *budget -= *budget < 100 ? *budget : 100; // It costs as much as some records do.
    }
    return 0;
}

int watch_edge_write(struct watch_edge *edge, size_t *budget) {
    while (*budget > 0 && !watch_list_empty(&edge->busy)) {
        struct watch_edge_part *part = watch_item(edge->busy.next, struct watch_edge_part, in_busy);
        int rc = write_part(edge, part, budget);
        if (rc) return rc;
        if (watch_list_empty(&part->unwritten) && !part->roll_due) watch_link_out(&part->in_busy);
    }
    return 0;
}
