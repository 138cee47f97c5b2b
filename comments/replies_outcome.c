#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "comments/replies_private.h"
#include "event/topics.h"

/* A question that waits: first until its command is decided, then until what that made can be read. */
struct comment_wait {
    struct comment_wait *next;
    struct comment_question question;
    int64_t user, offset; /* offset of the command; -1: not known */
    struct event_text key;
    char key_bytes[COMMENT_CLIENT_KEY_MAX];
    int64_t deadline_us;
};

static struct decisions *decisions_of(const struct comment_replies *replies) {
    return comment_commands_decisions(replies->options.commands);
}

/* ---- what is answered ---- */

static bool is_pinned(const struct subject_state *state, int64_t id) {
    for (size_t i = 0; i < state->pins; i++)
        if (state->pinned[i] == id) return true;
    return false;
}

/* The comment id (0: none) and the subject, as they are after the command. */
static int put_done(struct comment_question *question, int64_t id, int64_t viewer, struct error *error) {
    struct comment_replies *replies = question->replies;
    struct subject_state state = {.pins = 0};
    struct comment comment;
    int found = 0;
    int code = decisions_subject(decisions_of(replies), question->partition, &question->subject, &state, error),
        known = code;
    if (code >= 0 && id)
        code = found =
            decisions_comment(decisions_of(replies), question->partition, &question->subject, id, &comment, error);
    if (code < 0) return code;
    buffer_string(&replies->body, "{\"refused\":null,\"comment\":");
    if (found)
        code = comment_replies_put(question, id, &comment, viewer, 0, error);
    else
        buffer_string(&replies->body, "null");
    if (found && code) return code;
    buffer_string(&replies->body, ",\"subject\":");
    if (known)
        comment_replies_put_subject(&replies->body, &state);
    else
        buffer_string(&replies->body, "null");
    buffer_format(&replies->body, ",\"pinned\":%s}", is_pinned(&state, id) ? "true" : "false");
    return 0;
}

/* Appends the outcome: 1; 0: nothing is known of the key; or a negative code. */
static int put_outcome(struct comment_wait *wait, struct error *error) {
    struct comment_question *question = &wait->question;
    struct comment_replies *replies = question->replies;
    struct decisions *decisions = decisions_of(replies);
    enum comment_refusal_reason reason;
    int64_t id = 0, wait_ms;
    buffer_clear(&replies->body);
    int made = decisions_made(decisions, question->partition, &question->subject, wait->user, &wait->key, &id, error);
    if (made < 0) return made;
    int refused = made ? 0
                       : decisions_refused(decisions, question->partition, &question->subject, wait->user, &wait->key,
                                           clock_wall_ms(), &reason, error);
    if (refused < 0) return refused;
    if (refused) {
        buffer_format(&replies->body, "{\"refused\":\"%s\",\"comment\":null,\"subject\":null,\"pinned\":false}",
                      comment_refusal_name(reason));
        return 1;
    }
    if (!made && wait->offset < 0) return 0;
    int passing = made ? THREAD_DONE : decisions_passing(decisions, question->partition, wait->offset, &wait_ms);
    if (passing != THREAD_DONE) {
        buffer_format(&replies->body,
                      "{\"refused\":\"%s\",\"wait_ms\":%" PRId64 ",\"comment\":null,\"subject\":null,\"pinned\":false}",
                      comment_refusal_name(passing), wait_ms);
        return 1;
    }
    int code = put_done(question, made ? id : question->comment, wait->user, error);
    return code ? code : 1;
}

static void answer(struct comment_wait *wait) {
    struct error error;
    int code = put_outcome(wait, &error);
    if (code < 0)
        comment_replies_failed(&wait->question, code, &error);
    else if (code)
        http_reply_json(wait->question.request, 200, &wait->question.replies->body);
    else
        http_problem(wait->question.request, 404, "no-outcome", "nothing is known of this key", 0);
}

/* The store has the outcome of the key, and the comment that it made: keys and comments are topics of their own, and one may be read later
 * than the other. The store only has outcomes that are committed. */
static bool is_known(const struct comment_wait *wait) {
    const struct comment_question *question = &wait->question;
    struct threads *threads = question->replies->options.threads;
    enum comment_refusal_reason reason;
    struct comment comment;
    struct error error;
    int64_t id;
    if (threads_key(threads, question->partition, &question->subject, wait->user, &wait->key, &id, &error) == 1)
        return threads_comment(threads, question->partition, &question->subject, id, &comment, &error) == 1;
    return threads_refusal(threads, question->partition, &question->subject, wait->user, &wait->key, clock_wall_ms(),
                           &reason, &error) == 1;
}

/* A client that repeats a request has a new command in the queue each time. If commands wait for longer than clients do, none of these is
 * decided in time; but the first one with the same key may be, and its outcome is theirs. */
static void out_of_time(struct comment_wait *wait) {
    struct comment_question *question = &wait->question;
    if (rpc_refused(question->request, comment_replies_serves(question->replies, question->partition))) return;
    if (is_known(wait))
        answer(wait);
    else
        rpc_later(question->request);
}

/* Not after a transaction was given up, until all state is read and commands are decided again: the overlays are empty then, and the
 * store may be older than what was decided before. */
static bool is_decided(const struct comment_wait *wait) {
    const struct comment_question *question = &wait->question;
    const struct decider *decider = comment_commands_decider(question->replies->options.commands);
    return decider_handled(decider, &TOPIC_COMMENT_COMMANDS, question->partition) > wait->offset;
}

/* 1: the store has what the command has changed; 0: not yet; or a negative code. */
static int is_readable(const struct comment_wait *wait, struct error *error) {
    const struct comment_question *question = &wait->question;
    if (!is_decided(wait)) return 0;
    return decisions_is_read(decisions_of(question->replies), question->partition, &question->subject, wait->offset,
                             wait->user, &wait->key, question->comment, error);
}

/* True: it is answered, one way or the other. */
static bool look(struct comment_wait *wait, int64_t now_us) {
    struct comment_question *question = &wait->question;
    bool last = now_us >= wait->deadline_us;
    struct error error;
    if (rpc_refused(question->request, comment_replies_serves(question->replies, question->partition))) return true;
    int readable = is_readable(wait, &error);
    if (readable < 0)
        comment_replies_failed(question, readable, &error);
    else if (readable)
        answer(wait);
    else if (last)
        out_of_time(wait);
    return readable || last;
}

void comment_replies_look_again(struct comment_replies *replies) {
    struct comment_wait *all = replies->waiting;
    int64_t now_us = clock_monotonic_us();
    replies->waiting = NULL;
    while (all) {
        struct comment_wait *wait = all;
        all = wait->next;
        if (look(wait, now_us)) {
            free(wait);
        } else {
            wait->next = replies->waiting;
            replies->waiting = wait;
        }
    }
}

void comment_replies_waiting_free(struct comment_replies *replies) {
    while (replies->waiting) {
        struct comment_wait *wait = replies->waiting;
        replies->waiting = wait->next;
        http_problem(wait->question.request, 503, "stopping", "this process ends", 1);
        free(wait);
    }
}

/* ---- questions ---- */

static void decided(void *context, int code) {
    struct comment_wait *wait = context;
    struct comment_replies *replies = wait->question.replies;
    bool over = true;
    if (code == -ESTALE || code == -ECANCELED || code == -EMSGSIZE)
        rpc_refused(wait->question.request, code);
    else if (code)
        out_of_time(wait);
    else
        over = look(wait, clock_monotonic_us());
    if (over) {
        free(wait);
        return;
    }
    wait->next = replies->waiting;
    replies->waiting = wait;
}

void comment_replies_outcome(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct comment_wait *wait = mem_zero(1, sizeof *wait);
    size_t key_size = strlen(asked->texts[RPC_KEY]);
    comment_question_begin(&wait->question, context, request, asked);
    memcpy(wait->key_bytes, asked->texts[RPC_KEY], key_size);
    wait->key = (struct event_text){wait->key_bytes, key_size};
    wait->user = asked->numbers[RPC_USER];
    wait->offset = asked->numbers[RPC_OFFSET];
    wait->deadline_us = clock_monotonic_us() + asked->numbers[RPC_WAIT_MS] * 1000;
    if (wait->offset < 0) {
        decided(wait, 0);
    } else if (decider_await(comment_commands_decider(wait->question.replies->options.commands),
                             &TOPIC_COMMENT_COMMANDS, asked->partition, wait->offset, wait->deadline_us, wait,
                             decided)) {
        rpc_later(request); // too many wait already
        free(wait);
    }
}
