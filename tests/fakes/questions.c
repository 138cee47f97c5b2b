#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fakes/private.h"

static int no_such(struct error *error) { return error_set(error, -ENOENT, "no such topic or partition"); }

/* Whether an open transaction holds offsets of the group. Under the lock. */
static bool offsets_open(void) {
    for (size_t i = 0; i < fake.log_count; i++)
        if (fake.logs[i]->pending != KAFKA_OFFSET_NONE) return true;
    return false;
}

int kafka_consumer_committed(struct kafka_consumer *consumer, struct kafka_position *positions, size_t count,
                             int timeout_ms, struct error *error) {
    int code = fake_enter(FAKE_COMMITTED, error);
    int64_t deadline_us = clock_monotonic_us() + timeout_ms * 1000LL;
    if (code) return code;
    fake_lock();
    while (offsets_open() && clock_monotonic_us() < deadline_us) {
        fake_unlock();
        usleep(1000);
        fake_lock();
    }
    if (offsets_open()) code = error_set(error, -ETIMEDOUT, "a transaction holds the offsets open");
    for (size_t i = 0; !code && i < count; i++) {
        const struct fake_log *log = fake_log_find(positions[i].topic, positions[i].partition, false);
        if (log)
            positions[i].offset = log->committed;
        else
            code = no_such(error);
    }
    fake_unlock();
    return code;
}

int kafka_consumer_watermarks(struct kafka_consumer *consumer, const struct topic *topic, int32_t partition,
                              int64_t *low, int64_t *high, int timeout_ms, struct error *error) {
    int code = fake_enter(FAKE_WATERMARKS, error);
    if (code) return code;
    fake_lock();
    const struct fake_log *log = fake_log_find(topic, partition, false);
    if (log) {
        *low = log->first;
        *high = (int64_t)log->count;
    } else {
        code = no_such(error);
    }
    fake_unlock();
    return code;
}

int kafka_consumer_ends(struct kafka_consumer *consumer, struct kafka_position *positions, size_t count, int timeout_ms,
                        struct error *error) {
    int code = fake_enter(FAKE_ENDS, error);
    fake_lock();
    for (size_t i = 0; !code && i < count; i++) {
        const struct fake_log *log = fake_log_find(positions[i].topic, positions[i].partition, false);
        if (log)
            positions[i].offset = fake_log_end(log);
        else
            code = no_such(error);
    }
    fake_unlock();
    return code;
}

int kafka_consumer_offsets_at(struct kafka_consumer *consumer, struct kafka_position *positions, size_t count,
                              int64_t time_ms, int timeout_ms, struct error *error) {
    int code = fake_enter(FAKE_OFFSETS_AT, error);
    fake_lock();
    for (size_t i = 0; !code && i < count; i++) {
        const struct fake_log *log = fake_log_find(positions[i].topic, positions[i].partition, false);
        int64_t at = log ? log->first : 0;
        while (log && at < (int64_t)log->count && log->entries[at]->timestamp < time_ms) at++;
        if (log)
            positions[i].offset = at;
        else
            code = no_such(error);
    }
    fake_unlock();
    return code;
}

struct kafka_admin {
    const struct kafka_settings *settings;
};

int kafka_admin_new(const struct kafka_settings *settings, struct kafka_admin **admin, struct error *error) {
    *admin = mem_alloc(sizeof **admin);
    **admin = (struct kafka_admin){.settings = settings};
    fake_lock();
    fake.clients++;
    fake_unlock();
    return 0;
}

void kafka_admin_free(struct kafka_admin *admin) {
    if (!admin) return;
    fake_lock();
    fake.clients--;
    fake_unlock();
    free(admin);
}

int kafka_topics_create(struct kafka_admin *admin, const struct topics_plan *plan, int timeout_ms,
                        struct error *error) {
    int code = fake_enter(FAKE_CREATE, error);
    for (size_t i = 0; !code && i < plan->topics->count; i++)
        fake_topic(plan->topics->items[i], plan->partitions[plan->topics->items[i]->space]);
    return code;
}

int kafka_topics_verify(struct kafka_admin *admin, const struct topic_list *topics, struct topics_shape *shape,
                        int timeout_ms, struct error *error) {
    int code = fake_enter(FAKE_VERIFY, error);
    *shape = (struct topics_shape){.partitions = {0}};
    fake_lock();
    for (size_t i = 0; !code && i < topics->count; i++) {
        int partitions = fake_partitions(topics->items[i]), *known = &shape->partitions[topics->items[i]->space];
        if (!partitions)
            code = no_such(error);
        else if (*known && *known != partitions)
            code = error_set(error, -EINVAL, "topics of one space have different numbers of partitions");
        *known = partitions;
    }
    fake_unlock();
    return code;
}

int kafka_topics_placed(struct kafka_admin *admin, const struct topic_list *topics, const struct topics_shape *shape,
                        int timeout_ms, struct error *error) {
    return 0; // whatever tests put there
}

int kafka_group_offsets(struct kafka_admin *admin, const char *group, const struct topic *topic, int count,
                        int64_t *committed, int64_t *end, int timeout_ms, struct error *error) {
    int code = fake_enter(FAKE_COMMITTED, error);
    fake_lock();
    for (int p = 0; !code && p < count; p++) {
        const struct fake_log *log = fake_log_find(topic, p, false);
        if (!log) {
            code = no_such(error);
            break;
        }
        committed[p] = log->committed;
        end[p] = (int64_t)log->count;
    }
    fake_unlock();
    return code;
}
