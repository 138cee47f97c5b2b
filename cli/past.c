#include "cli/past.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "cli/asking.h"
#include "event/topics.h"
#include "tracks/page.h"

enum { PAGE = 2000, PATIENCE_MS = 10000 };

int past_read(const struct cli *cli, int64_t user, int64_t from_ms, int64_t to_ms,
              void (*take)(void *context, const struct track_report *report), void *context, struct error *error) {
    const struct asking_options options = {
        .cli = cli,
        .group = cli->settings.history_group,
        .topic = &TOPIC_LOCATIONS,
        .who = "history sink",
    };
    struct asking *asking = NULL;
    struct buffer reply = {.data = NULL};
    char *next = NULL; // cursor; NULL: the first page
    int code = asking_new(&options, &asking, error);
    if (code) return code;
    do {
        char *path = mem_format("/peer/history/%" PRId64 "?from=%" PRId64 "&to=%" PRId64 "&limit=%d%s%s", user, from_ms,
                                to_ms, PAGE, next ? "&after=" : "", next ? next : "");
        free(next);
        next = NULL;
        code =
            asking_get(asking, asking_of_user(asking, user), path, PATIENCE_MS, "this user's history", &reply, error);
        free(path);
        if (!code) code = track_page_read(user, buffer_cstring(&reply), reply.size, take, context, &next, error);
    } while (!code && next);
    free(next);
    buffer_free(&reply);
    asking_free(asking);
    return code;
}
