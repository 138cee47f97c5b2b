#include "service/denials.h"

#include <stdlib.h>
#include <string.h>

#include "base/loop.h"
#include "base/mem.h"

enum { AGAIN_S = 60, KEPT_MAX = 256 };

struct denial {
    char *reason;
    int64_t said_us;
};

struct denials {
    struct log *log;
    uv_mutex_t lock; /* of the list */
    struct denial list[KEPT_MAX];
    size_t count;
};

struct denials *denials_new(struct log *log) {
    struct denials *denials = mem_zero(1, sizeof *denials);
    denials->log = log;
    uv_mutex_init(&denials->lock);
    return denials;
}

void denials_free(struct denials *denials) {
    if (!denials) return;
    for (size_t i = 0; i < denials->count; i++) free(denials->list[i].reason);
    uv_mutex_destroy(&denials->lock);
    free(denials);
}

/* The list is longer than the ACLs of a daemon; what finds it full shares its last entry. */
static struct denial *entry_of(struct denials *denials, const char *reason) {
    for (size_t i = 0; i < denials->count; i++)
        if (!strcmp(denials->list[i].reason, reason)) return &denials->list[i];
    if (denials->count == KEPT_MAX) return &denials->list[KEPT_MAX - 1];
    struct denial *entry = &denials->list[denials->count++];
    *entry = (struct denial){.reason = mem_string(reason)};
    return entry;
}

void denials_add(void *context, const char *reason) {
    struct denials *denials = context;
    uv_mutex_lock(&denials->lock);
    if (log_due(&entry_of(denials, reason)->said_us, AGAIN_S))
        log_error(denials->log, "Kafka refuses", LOG_TEXT("reason", reason));
    uv_mutex_unlock(&denials->lock);
}
