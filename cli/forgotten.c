#include "cli/forgotten.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/reader.h"
#include "cli/record_text.h"
#include "event/topics.h"
#include "users/user_key.h"

struct past_erasure {
    int64_t user, time_ms;
};

struct forgotten {
    struct past_erasure *erasures;
    size_t count, capacity;
};

static void take(void *context, const struct kafka_record *record) {
    struct forgotten *forgotten = context;
    struct error ignored; // sinks bury a record of no user
    int64_t user = -1;
    if (user_key_read(record, &user, &ignored)) return;
    MEM_ROOM(forgotten->erasures, forgotten->count, forgotten->capacity);
    forgotten->erasures[forgotten->count++] = (struct past_erasure){.user = user, .time_ms = record->timestamp};
}

int forgotten_read(const struct kafka_settings *settings, int32_t partitions, struct forgotten **out,
                   struct error *error) {
    struct forgotten *forgotten = mem_alloc(sizeof *forgotten);
    *forgotten = (struct forgotten){.erasures = NULL};
    const struct reader_options options = {
        .settings = settings,
        .topic = &TOPIC_ERASURES,
        .partitions = partitions,
        .partition = READER_ALL,
        .to_ms = INT64_MAX,
        .context = forgotten,
        .take = take,
    };
    int code = reader_run(&options, error);
    if (code)
        forgotten_free(forgotten);
    else
        *out = forgotten;
    return code;
}

void forgotten_free(struct forgotten *forgotten) {
    if (!forgotten) return;
    free(forgotten->erasures);
    free(forgotten);
}

bool forgotten_has(const struct forgotten *forgotten, struct codec *codec, const struct kafka_record *letter) {
    for (size_t i = 0; i < forgotten->count; i++) {
        const struct past_erasure *erasure = &forgotten->erasures[i];
        if (letter->timestamp <= erasure->time_ms && record_concerns(codec, letter, erasure->user)) return true;
    }
    return false;
}
