#include "cli/pace.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kafka/admin.h"

enum {
    BACKLOG_MAX = 100000, /* two seconds' work of a fast router; each looks at a transaction's worth at a time */
    ASK_EVERY_MS = 200,
    ASK_AGAIN_MS = 50,
    ASK_TIMEOUT_MS = 10000,
    STILL_MS = 2000,  /* nothing was handled for so long: nobody is there to wait for */
    ALONE_MS = 10000, /* and nobody is looked for until then */
};

struct pace {
    struct kafka_admin *admin;
    const char *group;
    const struct topic *topic;
    int partitions;
    int64_t *committed, *end;
    int64_t backlog, handled;
    int64_t unasked; /* sent since the broker was asked */
    int64_t asked_us, alone_until_us;
};

int pace_new(const struct kafka_settings *settings, const char *group, const struct topic *topic, int partitions,
             struct pace **out, struct error *error) {
    struct pace *pace = MEM_NEW(&(struct pace){
        .group = group,
        .topic = topic,
        .partitions = partitions,
        .committed = mem_zero((size_t)partitions, sizeof *pace->committed),
        .end = mem_zero((size_t)partitions, sizeof *pace->end),
    });
    int code = kafka_admin_new(settings, &pace->admin, error);
    if (code) {
        pace_free(pace);
        return code;
    }
    *out = pace;
    return 0;
}

void pace_free(struct pace *pace) {
    if (!pace) return;
    kafka_admin_free(pace->admin);
    free(pace->committed);
    free(pace->end);
    free(pace);
}

static int ask(struct pace *pace, struct error *error) {
    int code = kafka_group_offsets(pace->admin, pace->group, pace->topic, pace->partitions, pace->committed, pace->end,
                                   ASK_TIMEOUT_MS, error);
    if (code) return code;
    pace->asked_us = clock_monotonic_us();
    pace->unasked = pace->backlog = pace->handled = 0;
    for (int i = 0; i < pace->partitions; i++) {
        int64_t done = pace->committed[i] > 0 ? pace->committed[i] : 0;
        pace->handled += done;
        if (pace->end[i] > done) pace->backlog += pace->end[i] - done;
    }
    return 0;
}

int pace_keep(struct pace *pace, int64_t sent, struct error *error) {
    int64_t now = clock_monotonic_us();
    pace->unasked += sent;
    if (now < pace->alone_until_us) return 0;
    if (pace->backlog + pace->unasked < BACKLOG_MAX && now - pace->asked_us < ASK_EVERY_MS * 1000LL) return 0;
    int code = ask(pace, error);
    int64_t handled = pace->handled, moved_us = pace->asked_us;
    while (!code && pace->backlog >= BACKLOG_MAX) {
        uv_sleep(ASK_AGAIN_MS);
        code = ask(pace, error);
        if (pace->handled != handled) {
            handled = pace->handled;
            moved_us = pace->asked_us;
        } else if (pace->asked_us - moved_us >= STILL_MS * 1000LL) {
            pace->alone_until_us = pace->asked_us + ALONE_MS * 1000LL;
            break;
        }
    }
    return code;
}
