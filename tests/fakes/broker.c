#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fakes/private.h"
#include "unit/kit/kit.h"

struct fake_kafka fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .gates = PTHREAD_COND_INITIALIZER};

static void entry_free(struct fake_entry *entry) {
    if (!entry) return;
    free(entry->key);
    free(entry->value);
    free(entry->reason);
    free(entry);
}

static void other_free(struct fake_other *other) {
    free(other->member.id);
    free(other->member.client_id);
    free(other->member.instance_id);
    free(other->member.owned);
    free(other);
}

static void stop(void *it) { fake_kafka_stop(); }

void fake_kafka_start(void) {
    if (fake.started) abort(); // this test has started it before
    kit_after(stop, &fake);
    fake.started = true;
    fake.now_ms = 1000000;
    fake.group_state = "Stable";
    fake.session_us = 6000000;
}

void fake_kafka_stop(void) {
    kit_forget(&fake);
    if (fake.clients) abort(); // a client was not freed
    for (size_t i = 0; i < fake.log_count; i++) {
        struct fake_log *log = fake.logs[i];
        for (size_t j = 0; j < log->count; j++) entry_free(log->entries[j]);
        free(log->entries);
        free(log);
    }
    free(fake.logs);
    for (struct fake_id *id = fake.ids, *next; id; id = next) {
        next = id->next;
        free(id->name);
        free(id);
    }
    for (struct fake_other *other = fake.others, *next; other; other = next) {
        next = other->next;
        other_free(other);
    }
    fake = (struct fake_kafka){.lock = PTHREAD_MUTEX_INITIALIZER, .gates = PTHREAD_COND_INITIALIZER};
}

/* ---- logs ---- */

struct fake_log *fake_log_find(const struct topic *topic, int32_t partition, bool dead) {
    for (size_t i = 0; i < fake.log_count; i++) {
        struct fake_log *log = fake.logs[i];
        if (log->topic == topic && log->partition == partition && log->dead == dead) return log;
    }
    return NULL;
}

int32_t fake_partitions(const struct topic *topic) {
    int32_t partitions = 0;
    while (fake_log_find(topic, partitions, false)) partitions++;
    return partitions;
}

static void log_add(const struct topic *topic, int32_t partition, bool dead) {
    struct fake_log *log = mem_alloc(sizeof *log);
    *log = (struct fake_log){.topic = topic,
                             .partition = partition,
                             .dead = dead,
                             .committed = KAFKA_OFFSET_NONE,
                             .pending = KAFKA_OFFSET_NONE};
    fake.logs = mem_resize(fake.logs, fake.log_count + 1, sizeof(struct fake_log *));
    fake.logs[fake.log_count++] = log;
}

void fake_topic(const struct topic *topic, int32_t partitions) {
    fake_lock();
    for (int32_t p = fake_partitions(topic); p < partitions; p++) log_add(topic, p, false);
    if (!fake_log_find(topic, 0, true)) log_add(topic, 0, true);
    fake_unlock();
}

static void *copy(const void *bytes, size_t size) {
    if (!bytes) return NULL;
    void *own = mem_alloc(size);
    if (size) memcpy(own, bytes, size);
    return own;
}

int64_t fake_log_append(struct fake_log *log, struct fake_entry entry) {
    struct fake_entry *own = mem_alloc(sizeof *own);
    *own = entry;
    own->timestamp = fake.now_ms;
    own->key = copy(entry.key, entry.key_size);
    own->value = copy(entry.value, entry.value_size);
    own->reason = mem_string(entry.reason);
    if (log->count == log->capacity) {
        log->capacity = log->capacity ? log->capacity * 2 : 64;
        log->entries = mem_resize(log->entries, log->capacity, sizeof(struct fake_entry *));
    }
    log->entries[log->count] = own;
    return (int64_t)log->count++;
}

int64_t fake_log_end(const struct fake_log *log) { return log->cut_off ? log->known : (int64_t)log->count; }

int64_t fake_log_stable(const struct fake_log *log) {
    int64_t end = fake_log_end(log);
    for (int64_t i = log->first; i < end; i++)
        if (log->entries[i]->state == RECORD_OPEN) return i;
    return end;
}

/* A test may only name a log that is there. */
static struct fake_log *log_of(const struct topic *topic, int32_t partition) {
    struct fake_log *log = fake_log_find(topic, partition, false);
    if (!log) abort();
    return log;
}

void fake_now(int64_t ms) { fake.now_ms = ms; }

int64_t fake_append(const struct topic *topic, int32_t partition, const void *key, size_t key_size, const void *value,
                    size_t value_size) {
    fake_lock();
    int64_t offset = fake_log_append(log_of(topic, partition), (struct fake_entry){
                                                                   .state = RECORD_COMMITTED,
                                                                   .key = (uint8_t *)(uintptr_t)key,
                                                                   .key_size = key_size,
                                                                   .value = (uint8_t *)(uintptr_t)value,
                                                                   .value_size = value_size,
                                                               });
    fake_unlock();
    return offset;
}

void fake_append_marker(const struct topic *topic, int32_t partition) {
    fake_lock();
    fake_log_append(log_of(topic, partition), (struct fake_entry){.state = RECORD_HIDDEN});
    fake_unlock();
}

void fake_delete_before(const struct topic *topic, int32_t partition, int64_t first) {
    fake_lock();
    struct fake_log *log = log_of(topic, partition);
    for (; log->first < first; log->first++) {
        entry_free(log->entries[log->first]);
        log->entries[log->first] = NULL;
    }
    fake_unlock();
}

void fake_cut_off(const struct topic *topic, int32_t partition, bool cut_off) {
    fake_lock();
    struct fake_log *log = log_of(topic, partition);
    log->cut_off = cut_off;
    log->known = (int64_t)log->count;
    fake_unlock();
}

int64_t fake_end(const struct topic *topic, int32_t partition) {
    fake_lock();
    int64_t end = (int64_t)log_of(topic, partition)->count;
    fake_unlock();
    return end;
}

/* The n-th record that readers see; NULL: there are not so many. */
static const struct fake_entry *visible(const struct fake_log *log, size_t n, int64_t *offset) {
    int64_t stable = fake_log_stable(log);
    for (int64_t i = log->first; i < stable; i++) {
        if (log->entries[i]->state != RECORD_COMMITTED || n--) continue;
        *offset = i;
        return log->entries[i];
    }
    return NULL;
}

static size_t count_visible(const struct topic *topic, int32_t partition, bool dead) {
    fake_lock();
    const struct fake_log *log = fake_log_find(topic, partition, dead);
    size_t count = 0;
    for (int64_t i = log ? log->first : 0, stable = log ? fake_log_stable(log) : 0; i < stable; i++)
        count += log->entries[i]->state == RECORD_COMMITTED;
    fake_unlock();
    return count;
}

static struct fake_record record_at(const struct topic *topic, int32_t partition, bool dead, size_t n) {
    fake_lock();
    const struct fake_log *log = fake_log_find(topic, partition, dead);
    int64_t offset = 0;
    const struct fake_entry *entry = log ? visible(log, n, &offset) : NULL;
    if (!entry) abort();
    struct fake_record record = {
        .offset = dead ? entry->dead_offset : offset,
        .timestamp = entry->timestamp,
        .key = entry->key,
        .key_size = entry->key_size,
        .value = entry->value,
        .value_size = entry->value_size,
        .reason = entry->reason,
        .partition = dead ? entry->dead_partition : partition,
    };
    fake_unlock();
    return record;
}

size_t fake_count(const struct topic *topic, int32_t partition) { return count_visible(topic, partition, false); }

struct fake_record fake_record_at(const struct topic *topic, int32_t partition, size_t n) {
    return record_at(topic, partition, false, n);
}

size_t fake_dead_count(const struct topic *topic) { return count_visible(topic, 0, true); }

struct fake_record fake_dead_at(const struct topic *topic, size_t n) {
    return record_at(topic, 0, true, n);
}

/* ---- transactions ---- */

struct fake_id *fake_id_of(const char *name) {
    for (struct fake_id *id = fake.ids; id; id = id->next)
        if (!strcmp(id->name, name)) return id;
    struct fake_id *id = mem_alloc(sizeof *id);
    *id = (struct fake_id){.name = mem_string(name), .next = fake.ids};
    fake.ids = id;
    return id;
}

void fake_transaction_end(struct fake_id *id, bool commit) {
    for (size_t i = 0; id->transaction && i < fake.log_count; i++) {
        struct fake_log *log = fake.logs[i];
        bool marked = false;
        for (size_t j = (size_t)log->first; j < log->count; j++) {
            struct fake_entry *entry = log->entries[j];
            if (entry->transaction != id->transaction) continue;
            entry->state = commit ? RECORD_COMMITTED : RECORD_HIDDEN;
            marked = true;
        }
        if (marked) fake_log_append(log, (struct fake_entry){.state = RECORD_HIDDEN});
        if (log->pending == KAFKA_OFFSET_NONE || log->pending_in != id->transaction) continue;
        if (commit) log->committed = log->pending;
        log->pending = KAFKA_OFFSET_NONE;
    }
    id->transaction = 0;
}

/* ---- the group ---- */

static void set_committed(const struct topic *topic, int32_t partition, int64_t offset) {
    fake_lock();
    log_of(topic, partition)->committed = offset;
    fake_unlock();
}

void fake_commit(const struct topic *topic, int32_t partition, int64_t offset) {
    set_committed(topic, partition, offset);
}

int64_t fake_committed(const struct topic *topic, int32_t partition) {
    fake_lock();
    int64_t offset = log_of(topic, partition)->committed;
    fake_unlock();
    return offset;
}

void fake_delete_group(void) {
    fake_lock();
    for (size_t i = 0; i < fake.log_count; i++) fake.logs[i]->committed = KAFKA_OFFSET_NONE;
    fake_unlock();
}

void fake_session(int64_t session_ms, bool silent) {
    fake.session_us = session_ms * 1000;
    fake.silent = silent;
}

void fake_other_member(const char *id, const char *instance_id, const char *client_id,
                       const struct kafka_position *owned, size_t count) {
    struct fake_other *other = mem_alloc(sizeof *other);
    *other = (struct fake_other){
        .member = {.id = mem_string(id),
                   .client_id = mem_string(client_id),
                   .instance_id = mem_string(instance_id),
                   .owned = copy(owned, count * sizeof *owned),
                   .owned_count = count},
    };
    fake_lock();
    other->next = fake.others;
    fake.others = other;
    fake_unlock();
}

void fake_other_leaves(const char *id) {
    fake_lock();
    for (struct fake_other **link = &fake.others; *link;) {
        struct fake_other *other = *link;
        if (strcmp(other->member.id, id)) {
            link = &other->next;
            continue;
        }
        *link = other->next;
        other_free(other);
    }
    fake_unlock();
}

void fake_group_state(const char *state) {
    fake_lock();
    fake.group_state = state;
    fake_unlock();
}

/* ---- trouble ---- */

int fake_enter(enum fake_call call, struct error *error) {
    fake_lock();
    int code = 0;
    fake.calls[call].calls++;
    fake.calls[call].waiting++;
    while (fake.calls[call].closed) pthread_cond_wait(&fake.gates, &fake.lock);
    fake.calls[call].waiting--;
    if (fake.calls[call].times) {
        fake.calls[call].times--;
        code = fake.calls[call].code;
    }
    fake_unlock();
    return code ? error_set(error, code, "%s", strerror(-code)) : 0;
}

void fake_fail(enum fake_call call, int code, int times) {
    fake_lock();
    fake.calls[call].code = code;
    fake.calls[call].times = times;
    fake_unlock();
}

int fake_calls(enum fake_call call) {
    fake_lock();
    int calls = fake.calls[call].calls;
    fake_unlock();
    return calls;
}

void fake_gate(enum fake_call call, bool closed) {
    fake_lock();
    fake.calls[call].closed = closed;
    pthread_cond_broadcast(&fake.gates);
    fake_unlock();
}

int fake_waiting(enum fake_call call) {
    fake_lock();
    int waiting = fake.calls[call].waiting;
    fake_unlock();
    return waiting;
}

void fake_commit_unanswered(bool committed) {
    fake_lock();
    fake.unanswered = true;
    fake.unanswered_committed = committed;
    fake_unlock();
}

void fake_hold_reports(bool hold) {
    fake_lock();
    fake.reports_held = hold;
    fake_unlock();
}

void fake_fail_reports(int count, int code, bool written) {
    fake_lock();
    fake.failing_reports = count;
    fake.failing_code = code;
    fake.failing_written = written;
    fake_unlock();
}

static void nothing(void *context) {}

void fake_turn(uv_loop_t *loop) {
    struct loop_timer *timer = loop_timer_new(loop, 2, 0, nothing, NULL);
    uv_run(loop, UV_RUN_ONCE);
    loop_timer_free(timer);
}
