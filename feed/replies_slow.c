#include <stdlib.h>

#include "base/mem.h"
#include "feed/replies_private.h"

enum { SLICE = 2000 /* moves within the store, or thereabouts: 2 ms */ };

static void slow_free(struct slow_reply *reply) {
    buffer_free(&reply->body);
    newest_free(reply->newest);
    free(reply->ids);
    free(reply);
}

/* Carries out a slice of the reply. True: the request is answered. */
static bool slice(struct replies *replies, struct slow_reply *reply) {
    struct error error;
    if (rpc_refused(reply->request, replies_serves(replies, reply->partition))) return true; // since the last slice
    int code = reply->go_on(replies, reply, SLICE, &error);
    if (code > 0) return false;
    if (code)
        replies_store_failed(replies, reply->request, reply->partition, code, &error);
    else
        http_reply_json(reply->request, 200, &reply->body);
    return true;
}

static void line_up(struct replies *replies, struct slow_reply *reply) {
    reply->next = NULL;
    *replies->slow_end = reply;
    replies->slow_end = &reply->next;
    loop_timer_again(replies->slow_turn, 0, 0);
}

static void turn(void *context) {
    struct replies *replies = context;
    struct slow_reply *first = replies->slow_first;
    replies->slow_first = first->next;
    if (!first->next) replies->slow_end = &replies->slow_first;
    if (slice(replies, first))
        slow_free(first);
    else
        line_up(replies, first);
    if (replies->slow_first) loop_timer_again(replies->slow_turn, 0, 0);
}

void replies_slow(struct replies *replies, const struct slow_reply *given) {
    struct slow_reply *reply = MEM_NEW(given);
    if (slice(replies, reply))
        slow_free(reply);
    else
        line_up(replies, reply);
}

void replies_slow_new(struct replies *replies) {
    replies->slow_end = &replies->slow_first;
    replies->slow_turn = loop_timer_new(replies->options.loop, 0, 0, turn, replies);
    loop_timer_stop(replies->slow_turn);
}

void replies_slow_free(struct replies *replies) {
    while (replies->slow_first) {
        struct slow_reply *reply = replies->slow_first;
        replies->slow_first = reply->next;
        http_problem(reply->request, 503, "stopping", "this process ends", 1);
        slow_free(reply);
    }
    loop_timer_free(replies->slow_turn);
}
