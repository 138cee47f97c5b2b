#include "cli/past.h"

#include <stdlib.h>

#include "base/mem.h"
#include "cli/asking.h"
#include "event/topics.h"
#include "tracks/page.h"

enum { PAGE = 2000, PATIENCE_MS = 10000 };

struct past {
    struct asking *asking;
    struct buffer reply;
};

int past_new(const struct cli *cli, struct past **made, struct error *error) {
    const struct asking_options options = {
        .cli = cli,
        .group = cli->settings.history_group,
        .topic = &TOPIC_LOCATIONS,
        .who = "history sink",
    };
    struct asking *asking = NULL;
    int code = asking_new(&options, &asking, error);
    if (code) return code;
    *made = mem_alloc(sizeof **made);
    **made = (struct past){.asking = asking};
    return 0;
}

void past_free(struct past *past) {
    if (!past) return;
    asking_free(past->asking);
    buffer_free(&past->reply);
    free(past);
}

int past_read(struct past *past, const struct past_question *question, struct error *error) {
    int64_t user = question->user;
    char *next = NULL; // cursor; NULL: the first page
    int code;
    do {
        code = asking_ask(past->asking, &ASK_HISTORY,
                          RPC_VALUES(RPC_INT(USER, user), RPC_INT(FROM, question->from_ms),
                                     RPC_INT(TO, question->to_ms), RPC_INT(LIMIT, PAGE), RPC_TEXT(AFTER, next)),
                          PATIENCE_MS, "this user's history", &past->reply, error);
        free(next);
        next = NULL;
        if (!code)
            code = track_page_read(user, buffer_cstring(&past->reply), past->reply.size, question->take,
                                   question->context, &next, error);
    } while (!code && next && !(question->enough && *question->enough));
    free(next);
    return code;
}
