#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fakes/private.h"

enum { BATCH_DEFAULT = 1000 };

struct fake_place {
    const struct topic *topic;
    int32_t partition;
    int64_t next; /* or KAFKA_OFFSET_BEGINNING, KAFKA_OFFSET_END */
    bool reading, paused;
};

struct kafka_consumer {
    struct kafka_consumer_options options;
    struct loop_timer *timer;
    uint64_t number, generation; /* generation: 0 while nothing is assigned */
    struct kafka_consumer *older;
    char *id, *client_id, *instance_id;
    struct kafka_position *owned;
    size_t owned_count;
    bool handed_over, held, moved, given_up;
    const struct topic *handed_to;
    struct fake_place *places;
    size_t place_count;
    struct kafka_record *records;
    uint64_t commit_failures;
    int64_t heard_us;
};

static struct fake_place *place_find(const struct kafka_consumer *consumer, const struct topic *topic,
                                     int32_t partition) {
    for (size_t i = 0; i < consumer->place_count; i++) {
        struct fake_place *place = &consumer->places[i];
        if (place->topic == topic && place->partition == partition) return place;
    }
    return NULL;
}

/* Where the place is in the log; false: nowhere. Under the lock. */
static bool resolve(struct fake_place *place, const struct fake_log *log) {
    if (place->next == KAFKA_OFFSET_BEGINNING) place->next = log->first;
    if (place->next == KAFKA_OFFSET_END) place->next = fake_log_stable(log);
    return place->next >= log->first && place->next <= (int64_t)log->count;
}

/* Adds what the place has to the batch. Under the lock. */
static size_t take_place(struct kafka_consumer *consumer, struct fake_place *place, const struct fake_log *log,
                         size_t count) {
    int64_t stable = fake_log_stable(log);
    for (; place->next < stable && count < consumer->options.batch; place->next++) {
        const struct fake_entry *entry = log->entries[place->next];
        consumer->moved = true;
        if (entry->state != RECORD_COMMITTED) continue;
        consumer->records[count++] = (struct kafka_record){
            .topic = place->topic,
            .partition = place->partition,
            .offset = place->next,
            .timestamp = entry->timestamp,
            .key = entry->key,
            .key_size = entry->key_size,
            .value = entry->value,
            .value_size = entry->value_size,
        };
    }
    return count;
}

/* One batch; true: there may be more. */
static bool deliver(struct kafka_consumer *consumer) {
    const struct kafka_consumer_options *options = &consumer->options;
    size_t count = 0;
    bool lost = false;
    struct fake_place lost_place = {.partition = 0};
    fake_lock();
    for (size_t i = 0; !lost && i < consumer->place_count; i++) {
        struct fake_place *place = &consumer->places[i];
        if (!place->reading || place->paused) continue;
        const struct fake_log *log = fake_log_find(place->topic, place->partition, options->settings->dead_letters);
        int64_t before = place->next;
        if (!log) continue;
        lost = !resolve(place, log);
        if (before != place->next) consumer->moved = true; // its start became known
        if (lost)
            lost_place = *place;
        else
            count = take_place(consumer, place, log, count);
    }
    fake_unlock();
    if (count) options->on_records(options->context, consumer->records, count);
    if (lost && options->on_offset_lost) {
        options->on_offset_lost(options->context, lost_place.topic, lost_place.partition);
        struct fake_place *place = place_find(consumer, lost_place.topic, lost_place.partition);
        if (place && place->next == lost_place.next) place->reading = false; // nobody has moved it: it stalls
    } else if (lost) {
        struct fake_place *place = place_find(consumer, lost_place.topic, lost_place.partition);
        if (place) place->next = KAFKA_OFFSET_BEGINNING;
    }
    return lost || count == options->batch;
}

static void turn(void *context) {
    struct kafka_consumer *consumer = context;
    if (consumer->held) return;
    if (deliver(consumer) || !consumer->moved) return;
    consumer->moved = false;
    if (consumer->options.on_drained) consumer->options.on_drained(consumer->options.context);
}

int kafka_consumer_new(const struct kafka_consumer_options *options, struct kafka_consumer **out, struct error *error) {
    struct kafka_consumer *consumer = mem_alloc(sizeof *consumer);
    fake_lock();
    *consumer = (struct kafka_consumer){
        .options = *options,
        .timer = loop_timer_new(options->loop, 1, 1, turn, consumer),
        .number = ++fake.consumer_numbers,
        .older = fake.consumers,
        .client_id = mem_string(options->settings->client_id),
        .instance_id = mem_string(options->instance_id),
    };
    consumer->id = mem_format("%s-%llu", consumer->client_id ? consumer->client_id : "consumer",
                              (unsigned long long)consumer->number);
    if (!consumer->options.batch) consumer->options.batch = BATCH_DEFAULT;
    consumer->records = mem_alloc(consumer->options.batch * sizeof *consumer->records);
    fake.consumers = consumer;
    fake.clients++;
    fake_unlock();
    *out = consumer;
    return 0;
}

void kafka_consumer_free(struct kafka_consumer *consumer) {
    if (!consumer) return;
    fake_lock();
    struct kafka_consumer **link = &fake.consumers;
    while (*link != consumer) link = &(*link)->older;
    *link = consumer->older;
    fake.clients--;
    fake_unlock();
    loop_timer_free(consumer->timer);
    free(consumer->id);
    free(consumer->client_id);
    free(consumer->instance_id);
    free(consumer->owned);
    free(consumer->places);
    free(consumer->records);
    free(consumer);
}

/* ---- what the test says ---- */

struct kafka_consumer *fake_member(size_t n) {
    struct kafka_consumer *found = NULL;
    size_t members = 0;
    for (struct kafka_consumer *c = fake.consumers; c; c = c->older) members += c->options.group != NULL;
    for (struct kafka_consumer *c = fake.consumers; c && n < members; c = c->older) {
        if (c->options.group && --members == n) found = c;
        if (found) break;
    }
    return found;
}

void fake_revoke(struct kafka_consumer *consumer, bool lost) {
    if (!consumer->generation) return;
    for (size_t i = 0; i < consumer->place_count; i++) consumer->places[i].reading = false;
    fake_lock();
    consumer->generation = 0;
    consumer->owned_count = 0;
    fake_unlock();
    if (consumer->options.on_revoked) consumer->options.on_revoked(consumer->options.context, lost);
}

void fake_assign(struct kafka_consumer *consumer, const struct kafka_position *owned, size_t count) {
    fake_revoke(consumer, false);
    fake_lock();
    consumer->generation = ++fake.generations;
    free(consumer->owned);
    consumer->owned = mem_alloc((count + 1) * sizeof *owned);
    for (size_t i = 0; i < count; i++) {
        consumer->owned[i] = owned[i];
        consumer->owned[i].offset = KAFKA_OFFSET_NONE;
    }
    consumer->owned_count = count;
    fake_unlock();
    if (consumer->options.on_assigned)
        consumer->options.on_assigned(consumer->options.context, consumer->owned, consumer->owned_count);
}

void fake_assign_range(struct kafka_consumer *consumer, const struct topic *topic, int32_t first, int32_t last) {
    size_t count = first <= last ? (size_t)(last - first + 1) : 0;
    struct kafka_position *owned = mem_alloc((count + 1) * sizeof *owned);
    for (size_t i = 0; i < count; i++)
        owned[i] = (struct kafka_position){.topic = topic, .partition = first + (int32_t)i};
    fake_assign(consumer, owned, count);
    free(owned);
}

void fake_fatal(struct kafka_consumer *consumer, const char *reason) {
    if (consumer->options.on_broker) consumer->options.on_broker(consumer->options.context, false, reason);
    fake_revoke(consumer, true);
    consumer->given_up = true;
    if (consumer->options.on_fatal) consumer->options.on_fatal(consumer->options.context, reason);
}

bool fake_handed_over(const struct kafka_consumer *consumer, const struct topic **topic) {
    if (consumer->handed_over && topic) *topic = consumer->handed_to;
    return consumer->handed_over;
}

struct fake_membership fake_membership_of(const struct kafka_consumer *consumer) {
    return (struct fake_membership){.consumer = consumer->number, .generation = consumer->generation};
}

bool fake_membership_holds(const struct fake_membership *membership) {
    for (const struct kafka_consumer *consumer = fake.consumers; consumer; consumer = consumer->older) {
        if (consumer->number == membership->consumer)
            return membership->generation && consumer->generation == membership->generation;
    }
    return false;
}

/* ---- reading ---- */

const char *kafka_record_header(const struct kafka_record *record, const char *name) { return NULL; }

static int readable(struct kafka_consumer *consumer, struct error *error) {
    int code = fake_enter(FAKE_READ, error);
    if (code || !consumer->options.group || consumer->generation) return code;
    return error_set(error, -ESTALE, "the group has not assigned anything to this consumer");
}

int kafka_consumer_read_more(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                             struct error *error) {
    int code = readable(consumer, error);
    if (code) return code;
    for (size_t i = 0; i < count; i++) {
        const struct kafka_position *position = &positions[i];
        bool known =
            position->offset >= 0 || position->offset == KAFKA_OFFSET_BEGINNING || position->offset == KAFKA_OFFSET_END;
        if (!known) return error_set(error, -EINVAL, "no such offset: %lld", (long long)position->offset);
        struct fake_place *place = place_find(consumer, position->topic, position->partition);
        if (!place) {
            consumer->places = mem_resize(consumer->places, consumer->place_count + 1, sizeof *consumer->places);
            place = &consumer->places[consumer->place_count++];
        }
        *place = (struct fake_place){
            .topic = position->topic, .partition = position->partition, .next = position->offset, .reading = true};
    }
    return 0;
}

int kafka_consumer_read(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                        struct error *error) {
    if (!consumer->options.group || consumer->generation)
        for (size_t i = 0; i < consumer->place_count; i++) consumer->places[i].reading = false;
    return kafka_consumer_read_more(consumer, positions, count, error);
}

int kafka_consumer_read_less(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count,
                             struct error *error) {
    int code = readable(consumer, error);
    for (size_t i = 0; !code && i < count; i++) {
        struct fake_place *place = place_find(consumer, positions[i].topic, positions[i].partition);
        if (place) place->reading = place->paused = false;
    }
    return code;
}

static int pause_one(struct kafka_consumer *consumer, const struct topic *topic, int32_t partition, bool pause) {
    struct fake_place *place = place_find(consumer, topic, partition);
    if (!place || !place->reading) return -ENOENT;
    place->paused = pause;
    return 0;
}

int kafka_consumer_pause(struct kafka_consumer *consumer, const struct topic *topic, int32_t partition) {
    return pause_one(consumer, topic, partition, true);
}

int kafka_consumer_resume(struct kafka_consumer *consumer, const struct topic *topic, int32_t partition) {
    return pause_one(consumer, topic, partition, false);
}

int kafka_consumer_seek(struct kafka_consumer *consumer, const struct kafka_position *position, struct error *error) {
    struct fake_place *place = place_find(consumer, position->topic, position->partition);
    if (!place || !place->reading) return error_set(error, -ENOENT, "a partition that is not read cannot be moved");
    place->next = position->offset;
    return 0;
}

int64_t kafka_consumer_position(const struct kafka_consumer *consumer, const struct topic *topic, int32_t partition) {
    const struct fake_place *place = place_find(consumer, topic, partition);
    return place && place->next >= 0 ? place->next : KAFKA_OFFSET_NONE;
}

int64_t kafka_consumer_lag(const struct kafka_consumer *consumer, const struct topic *topic, int32_t partition) {
    int64_t next = kafka_consumer_position(consumer, topic, partition);
    fake_lock();
    const struct fake_log *log = fake_log_find(topic, partition, consumer->options.settings->dead_letters);
    int64_t end = log ? (int64_t)log->count : -1;
    fake_unlock();
    if (next < 0 || end < 0) return -1;
    return end > next ? end - next : 0;
}

int kafka_consumer_hand_over(struct kafka_consumer *consumer, const struct topic *other, struct error *error) {
    int code = consumer->generation ? kafka_consumer_read(consumer, NULL, 0, error) : 0;
    if (code) return code;
    consumer->handed_over = true;
    consumer->handed_to = other;
    return 0;
}

const char *kafka_consumer_member(const struct kafka_consumer *consumer) {
    return consumer->generation ? consumer->id : NULL;
}

void kafka_consumer_hold(struct kafka_consumer *consumer, bool hold) { consumer->held = hold; }

void kafka_consumer_commit(struct kafka_consumer *consumer, const struct kafka_position *positions, size_t count) {
    if (fake.silent) return; // it is under way, and no answer comes
    if (!consumer->generation) consumer->commit_failures++;
    if (consumer->generation) consumer->heard_us = clock_monotonic_us();
    for (size_t i = 0; consumer->generation && i < count; i++)
        fake_commit(positions[i].topic, positions[i].partition, positions[i].offset);
}

uint64_t kafka_consumer_commit_failures(const struct kafka_consumer *consumer) { return consumer->commit_failures; }

int64_t kafka_consumer_heard_us(const struct kafka_consumer *consumer) { return consumer->heard_us; }

int64_t kafka_consumer_session_us(const struct kafka_consumer *consumer) { return fake.session_us; }

/* ---- members, for kafka_group_describe ---- */

static char *own(const char *text) { return mem_string(text ? text : ""); }

static struct kafka_member member_copy(const char *id, const char *client_id, const char *instance_id,
                                       const struct kafka_position *owned, size_t count) {
    struct kafka_member member = {
        .id = own(id),
        .client_id = own(client_id),
        .host = own("/127.0.0.1"),
        .instance_id = mem_string(instance_id),
        .owned = mem_alloc((count + 1) * sizeof *owned),
        .owned_count = count,
    };
    if (count) memcpy(member.owned, owned, count * sizeof *owned);
    return member;
}

int kafka_group_describe(struct kafka_admin *admin, const char *group, struct kafka_group *out, int timeout_ms,
                         struct error *error) {
    int code = fake_enter(FAKE_DESCRIBE, error);
    if (code) return code;
    fake_lock();
    size_t count = 0;
    for (const struct kafka_consumer *c = fake.consumers; c; c = c->older) count += c->options.group != NULL;
    for (const struct fake_other *other = fake.others; other; other = other->next) count++;
    *out = (struct kafka_group){.state = own(count ? fake.group_state : "Empty"),
                                .members = mem_zero(count + 1, sizeof *out->members)};
    for (const struct kafka_consumer *c = fake.consumers; c; c = c->older) {
        if (c->options.group)
            out->members[out->count++] = member_copy(c->id, c->client_id, c->instance_id, c->owned, c->owned_count);
    }
    for (const struct fake_other *other = fake.others; other; other = other->next) {
        const struct kafka_member *m = &other->member;
        out->members[out->count++] = member_copy(m->id, m->client_id, m->instance_id, m->owned, m->owned_count);
    }
    fake_unlock();
    return 0;
}

void kafka_group_clear(struct kafka_group *group) {
    for (size_t i = 0; i < group->count; i++) {
        free(group->members[i].id);
        free(group->members[i].client_id);
        free(group->members[i].host);
        free(group->members[i].instance_id);
        free(group->members[i].owned);
    }
    free(group->members);
    free(group->state);
    *group = (struct kafka_group){.state = NULL};
}
