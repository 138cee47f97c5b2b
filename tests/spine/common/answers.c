#include "answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "counters.h"

/* Appends the page of a counter, or of a command's outcome. 1; 0: nothing was decided for that key; or a negative errno code. */
static int page_of(struct table_store *ledger, int32_t p, const char *name, const char *key, struct buffer *body) {
    uint8_t value[COUNTER_VALUE_MAX];
    struct counter counter = {.sum = 0};
    struct counter_outcome outcome;
    struct error error;
    char *whole = mem_format("%s%c%s", name, 0, key ? key : "");
    size_t size = strlen(name) + 1 + strlen(key ? key : "");
    int code = key ? ledger_get(ledger, p, whole, size, value, COUNTER_OUTCOME_SIZE, &error)
                   : ledger_get(ledger, p, name, strlen(name), value, COUNTER_SIZE, &error);
    free(whole);
    if (key && code == 1) {
        counter_outcome_get(value, &outcome);
        buffer_format(body, "{\"accepted\":%s,\"value\":%lld,\"version\":%lld}", outcome.accepted ? "true" : "false",
                      (long long)outcome.sum, (long long)outcome.version);
    } else if (!key && code >= 0) {
        if (code) counter_get(value, &counter);
        buffer_format(body, "{\"value\":%lld,\"version\":%lld}", (long long)counter.sum, (long long)counter.version);
        code = 1;
    }
    return code;
}

void answers_give(struct http_request *request, const struct tasks *tasks, struct table_store *ledger,
                  int32_t partitions) {
    static const char PATH[] = "/peer/counter/";
    struct buffer body = {.data = NULL};
    const char *path = http_path(request), *name = path + sizeof PATH - 1;
    if (strncmp(path, PATH, sizeof PATH - 1) != 0 || !*name || strlen(name) > COUNTER_NAME_MAX) {
        http_problem(request, 404, "not-found", "there is /peer/counter/NAME", 0);
        return;
    }
    int32_t p = counter_partition(name, strlen(name), partitions);
    int code = tasks_serves(tasks, p);
    if (code == -ESTALE) {
        http_problem(request, 421, "not-the-owner", "another process owns this counter", 0);
        return;
    }
    if (!code) code = page_of(ledger, p, name, http_query(request, "key"), &body);
    if (code == 1)
        http_reply_json(request, 200, &body);
    else if (code == 0)
        http_problem(request, 404, "not-found", "nothing was decided for this key", 0);
    else
        http_problem(request, 503, "restoring", "this counter is being restored", 1);
    buffer_free(&body);
}
