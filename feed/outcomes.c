#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "event/topics.h"
#include "feed/replies_private.h"
#include "json/json.h"

enum { FEED_WAIT_MS = 500 };

enum waits_for {
    WAITS_RELATION,
    WAITS_FOLLOWER,
    WAITS_VISIBILITY,
    WAITS_NOTICES,
    WAITS_POSTED,
    WAITS_GONE,
    WAITS_EDITED,
    WAITS_MODERATED,
    WAITS_WISH,
    WAITS_UNNAMED,
    WAITS_SIGNED_IN,
    WAITS_EXTERNALS,
    WAITS_FEED
};

/* A question that waits: first until its command is decided, then until what that made can be read. */
struct outcome_wait {
    struct replies *replies;
    struct http_request *request;
    struct outcome_wait *next;
    enum waits_for what;
    const struct topic *topic; /* of the command; NULL: it waits for none */
    int32_t partition;
    int64_t user, other; /* other: the other user, or the post's id */
    struct timeline_wish page;
    int64_t version; /* that is edited */
    int64_t offset;  /* of the command; -1: any */
    char *key;       /* of a post; or the handle; or the mark of an edit; or the provider's text */
    int64_t deadline_us;
};

static void wait_free(struct outcome_wait *wait) {
    free(wait->key);
    free(wait);
}

/* ---- what is answered ---- */

static int follower_answer(const struct outcome_wait *wait, struct buffer *body, struct error *error) {
    static const char *const REASONS[] = {"\"blocked\"", "\"full\"", "\"requests\""};
    const struct replies_options *options = &wait->replies->options;
    const struct relation_half follow = {wait->user, wait->other, RELATION_FOLLOWER},
                               request = {wait->user, wait->other, RELATION_REQUESTED};
    enum follow_refusal_reason reason;
    bool follows, requested,
        refused = feed_commands_refused(options->commands, wait->partition, wait->offset, &reason) ||
                  refusals_find(options->refusals, wait->partition, wait->offset, &reason);
    int code = relation_lists_has(options->relations, wait->partition, &follow, &follows, NULL, error);
    if (!code) code = relation_lists_has(options->relations, wait->partition, &request, &requested, NULL, error);
    if (code) return code;
    buffer_format(body, "{\"refused\":%s,\"following\":%s,\"requested\":%s}", refused ? REASONS[reason] : "null",
                  follows ? "true" : "false", requested ? "true" : "false");
    return 1;
}

static int visibility_answer(const struct outcome_wait *wait, struct buffer *body, struct error *error) {
    bool followers;
    int code = visibility_is_for_followers(wait->replies->options.audience.visibility, wait->partition, wait->user,
                                           &followers, error);
    if (code) return code;
    buffer_format(body, "{\"posts\":\"%s\"}", followers ? "followers" : "everybody");
    return 1;
}

/* decided: the command is, so that a post which is not there was refused: its author was banned. */
static int posted_answer(struct outcome_wait *wait, bool decided, struct buffer *body, struct error *error) {
    struct replies *replies = wait->replies;
    struct post_found post;
    int code =
        posts_find_key(replies->options.posts, wait->partition, wait->user, wait->key, strlen(wait->key), &post, error);
    if (!code && !post.found && decided) {
        buffer_string(body, "{\"refused\":\"banned\"}");
        return 1;
    }
    if (code || (!post.held && !post_is_shown(&post))) return code;
    code = replies_put_post(replies, wait->partition, &post, body, error);
    return code ? code : -EAGAIN; // its text is not read yet
}

/* The post as moderators see it, or the word that it is deleted. */
static int moderated_answer(const struct outcome_wait *wait, struct buffer *body, struct error *error) {
    struct replies *replies = wait->replies;
    struct post_found post;
    int code = posts_find(replies->options.posts, wait->partition, wait->other, &post, error);
    if (code || !post.found) return code;
    if (post.deleted) {
        buffer_string(body, "{\"post\":null}");
        return 1;
    }
    buffer_string(body, "{\"post\":");
    code = replies_put_post(replies, wait->partition, &post, body, error);
    buffer_byte(body, '}');
    return code ? code : -EAGAIN; // its text is not read yet
}

/* -EAGAIN: the text has no number yet. A row is read back, so that it is decided. */
static int signed_in_answer(const struct outcome_wait *wait, struct buffer *body, struct error *error) {
    struct directory_row row;
    int code = directory_row_of(wait->replies->options.directory, wait->partition, wait->user, &row, error);
    int64_t user = code ? -1 : directory_number(&row, wait->key);
    if (code) return code;
    if (user < 0) return -EAGAIN;
    json_member_int(body, "{\"user\":", user);
    buffer_byte(body, '}');
    return 1;
}

static int externals_answer(const struct outcome_wait *wait, struct buffer *body, struct error *error) {
    struct directory_row row;
    int code = directory_row_of(wait->replies->options.directory, wait->partition, wait->user, &row, error);
    if (code) return code;
    buffer_string(body, "{\"externals\":[");
    for (size_t i = 0; i < row.count; i++) {
        if (i > 0) buffer_byte(body, ',');
        json_put_text(body, row.externals[i], strlen(row.externals[i]));
    }
    buffer_string(body, "]}");
    return 1;
}

/* False: what is to be answered is not all there yet. */
static bool answer(struct outcome_wait *wait) {
    struct buffer body = {.data = NULL};
    struct error error;
    int code = 1;
    switch (wait->what) {
    case WAITS_RELATION: buffer_string(&body, "{\"refused\":null}"); break;
    case WAITS_FOLLOWER: code = follower_answer(wait, &body, &error); break;
    case WAITS_VISIBILITY: code = visibility_answer(wait, &body, &error); break;
    case WAITS_NOTICES: code = replies_put_notices(wait->replies, wait->partition, wait->user, &body, &error); break;
    case WAITS_POSTED: code = posted_answer(wait, true, &body, &error); break;
    case WAITS_GONE:
    case WAITS_UNNAMED: buffer_string(&body, "{}"); break;
    case WAITS_EDITED:
        code = replies_edited(wait->replies, wait->partition, wait->other, wait->version, wait->key, &body, &error);
        break;
    case WAITS_MODERATED: code = moderated_answer(wait, &body, &error); break;
    case WAITS_WISH: code = replies_wish(wait->replies, wait->partition, wait->user, wait->key, &body, &error); break;
    case WAITS_SIGNED_IN: code = signed_in_answer(wait, &body, &error); break;
    case WAITS_EXTERNALS: code = externals_answer(wait, &body, &error); break;
    case WAITS_FEED: break;
    }
    bool there = code != -EAGAIN;
    if (there && code < 0)
        replies_store_failed(wait->replies, wait->request, wait->partition, code, &error);
    else if (code > 0)
        http_reply_json(wait->request, 200, &body);
    else if (!code)
        http_problem(wait->request, 404, "not-found", "there is no such post", 0);
    buffer_free(&body);
    return there;
}

/* A client that repeats a post has a new command in the queue each time. If commands wait for longer than clients do, none of these is
 * decided in time; but the first one with the same key may be, and its outcome is theirs. The store only has posts that are committed. */
static void out_of_time(struct outcome_wait *wait) {
    struct buffer body = {.data = NULL};
    struct error error;
    if (wait->what == WAITS_POSTED && posted_answer(wait, false, &body, &error) > 0)
        http_reply_json(wait->request, 200, &body);
    else
        rpc_later(wait->request);
    buffer_free(&body);
}

/* Not after a transaction was given up, until all state is read and commands are decided again: the overlays are empty then, and the
 * store may be older than what was decided before. */
static bool is_decided(const struct outcome_wait *wait) {
    const struct decider *decider = feed_commands_decider(wait->replies->options.commands);
    return decider_handled(decider, wait->topic, wait->partition) > wait->offset;
}

/* Whether what was decided can be read now. */
static bool readable(const struct outcome_wait *wait) {
    const struct feed_commands *commands = wait->replies->options.commands;
    struct relation_half half = {wait->user, wait->other, RELATION_MUTED};
    switch (wait->what) {
    case WAITS_RELATION: return feed_commands_relation_read(commands, &half);
    case WAITS_FOLLOWER: return feed_commands_follower_read(commands, wait->user, wait->other);
    case WAITS_VISIBILITY: return feed_commands_visibility_read(commands, wait->user);
    case WAITS_NOTICES: return feed_commands_notices_read(commands, wait->user);
    case WAITS_POSTED: return feed_commands_key_read(commands, wait->user, wait->key, strlen(wait->key));
    case WAITS_GONE:
    case WAITS_MODERATED: return feed_commands_post_read(commands, wait->user, wait->other);
    case WAITS_EDITED: return feed_commands_text_read(commands, wait->user, wait->other);
    case WAITS_WISH:
    case WAITS_UNNAMED: return name_commands_settled(feed_commands_names(wait->replies->options.commands), wait->user);
    case WAITS_SIGNED_IN:
    case WAITS_EXTERNALS: return feed_commands_directory_read(commands, wait->user);
    case WAITS_FEED: break;
    }
    return false;
}

/* Checks whether the inbox is complete, which costs less than making the page. */
static bool page_must_wait(const struct outcome_wait *wait) {
    bool complete = true;
    struct error error;
    return !replies_serves(wait->replies, wait->partition) &&
           !timelines_complete(wait->replies->options.timelines, wait->partition, wait->user, &complete, &error) &&
           !complete;
}

/* True: it is answered, one way or the other. */
static bool look(struct outcome_wait *wait, int64_t now_us) {
    bool last = now_us >= wait->deadline_us;
    if (wait->what == WAITS_FEED && !last && page_must_wait(wait)) return false;
    if (wait->what == WAITS_FEED) return replies_feed_now(wait->replies, wait->request, &wait->page, last);
    if (rpc_refused(wait->request, replies_serves(wait->replies, wait->partition))) return true;
    if (is_decided(wait) && readable(wait) && answer(wait)) return true;
    if (last) out_of_time(wait);
    return last;
}

/* An inbox is complete after several records: a look at each of them would cost more than it is worth. */
static void look_at_all(struct replies *replies, bool at_pages) {
    struct outcome_wait *all = replies->waiting;
    int64_t now_us = clock_monotonic_us();
    replies->waiting = NULL;
    while (all) {
        struct outcome_wait *wait = all;
        all = wait->next;
        if ((at_pages || wait->what != WAITS_FEED) && look(wait, now_us)) {
            wait_free(wait);
        } else {
            wait->next = replies->waiting;
            replies->waiting = wait;
        }
    }
}

void replies_look_again(struct replies *replies) { look_at_all(replies, false); }

void replies_tenth(struct replies *replies) { look_at_all(replies, true); }

static void wait_on(struct outcome_wait *wait) {
    wait->next = wait->replies->waiting;
    wait->replies->waiting = wait;
}

void replies_waiting_free(struct replies *replies) {
    while (replies->waiting) {
        struct outcome_wait *wait = replies->waiting;
        replies->waiting = wait->next;
        http_problem(wait->request, 503, "stopping", "this process ends", 1);
        wait_free(wait);
    }
}

void replies_wait_feed(struct replies *replies, struct http_request *request, const struct timeline_wish *wish) {
    struct outcome_wait *wait = mem_alloc(sizeof *wait);
    *wait = (struct outcome_wait){
        .replies = replies,
        .request = request,
        .what = WAITS_FEED,
        .partition = hash_user_partition(wish->user, replies->options.partitions),
        .user = wish->user,
        .page = *wish,
        .deadline_us = clock_monotonic_us() + FEED_WAIT_MS * 1000,
    };
    wait_on(wait);
}

/* ---- outcomes of commands ---- */

static void decided(void *context, int code) {
    struct outcome_wait *wait = context;
    if (code == -ESTALE || code == -ECANCELED || code == -EMSGSIZE) {
        rpc_refused(wait->request, code);
        wait_free(wait);
    } else if (code) {
        if (!rpc_refused(wait->request, replies_serves(wait->replies, wait->partition))) out_of_time(wait);
        wait_free(wait);
    } else if (look(wait, clock_monotonic_us())) {
        wait_free(wait);
    } else {
        wait_on(wait);
    }
}

static const struct outcome_kind {
    const struct rpc_question *question;
    enum waits_for what;
    const struct topic *topic;
} KINDS[] = {{&ASK_RELATION, WAITS_RELATION, &TOPIC_FOLLOW_COMMANDS},
             {&ASK_FOLLOWER, WAITS_FOLLOWER, &TOPIC_FOLLOWER_COMMANDS},
             {&ASK_VISIBILITY, WAITS_VISIBILITY, &TOPIC_FOLLOWER_COMMANDS},
             {&ASK_NOTICED, WAITS_NOTICES, &TOPIC_NOTICE_COMMANDS},
             {&ASK_POSTED, WAITS_POSTED, &TOPIC_POST_COMMANDS},
             {&ASK_GONE, WAITS_GONE, &TOPIC_POST_COMMANDS},
             {&ASK_EDITED, WAITS_EDITED, &TOPIC_POST_COMMANDS},
             {&ASK_MODERATED, WAITS_MODERATED, &TOPIC_POST_COMMANDS},
             {&ASK_WISH, WAITS_WISH, &TOPIC_NAME_COMMANDS},
             {&ASK_UNNAMED, WAITS_UNNAMED, &TOPIC_NAME_COMMANDS},
             {&ASK_EXTERNALS, WAITS_EXTERNALS, &TOPIC_DIRECTORY_COMMANDS}};

void replies_outcome(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct replies *replies = context;
    const struct outcome_kind *kind = KINDS;
    const char *relation = asked->texts[RPC_RELATION], *key = asked->texts[RPC_KEY], *text = asked->texts[RPC_HANDLE];
    char handle[HANDLE_SIZE];
    while (kind->question != asked->question) kind++;
    if (text && !handle_read(text, strlen(text), handle)) {
        rpc_bad_query(request);
        return;
    }
    if (kind->what == WAITS_RELATION && (!relation || strcmp(relation, "muted"))) {
        rpc_later(request); // of a gateway of the previous release: the owner of the other one decides
        return;
    }
    struct outcome_wait *wait = mem_alloc(sizeof *wait);
    *wait = (struct outcome_wait){
        .replies = replies,
        .request = request,
        .what = kind->what,
        .topic = kind->topic,
        .partition = asked->partition,
        .user = asked->numbers[RPC_USER],
        .other = asked->numbers[kind->topic == &TOPIC_POST_COMMANDS ? RPC_POST : RPC_OTHER],
        .version = asked->numbers[RPC_VERSION],
        .offset = asked->numbers[RPC_OFFSET],
        .key = mem_string(text ? handle : key),
        .deadline_us = clock_monotonic_us() + asked->numbers[RPC_WAIT_MS] * 1000,
    };
    if (wait->offset < 0) {
        decided(wait, 0);
    } else if (decider_await(feed_commands_decider(replies->options.commands), wait->topic, wait->partition,
                             wait->offset, wait->deadline_us, wait, decided)) {
        rpc_later(request); // too many wait already
        wait_free(wait);
    }
}

/* ---- users of a sign-in provider ---- */

static int send_sign_in(const struct outcome_wait *wait) {
    uint8_t key[DIRECTORY_KEY_SIZE];
    struct buffer record = {.data = NULL};
    bytes_put_be64(key, (uint64_t)wait->user);
    event_encode_directory_command(
        &record, &(struct directory_command){.kind = DIRECTORY_COMMAND_SIGN_IN,
                                             .user = wait->user,
                                             .external = {.data = wait->key, .size = strlen(wait->key)}});
    int code = kafka_producer_send(wait->replies->options.producer, &TOPIC_DIRECTORY_COMMANDS, wait->partition, key,
                                   sizeof key, record.data, record.size, NULL);
    buffer_free(&record);
    return code;
}

void replies_signed_in(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct replies *replies = context;
    const char *external = asked->texts[RPC_EXTERNAL];
    if (!external_id_is(external, strlen(external)) || external_id_number(external) != asked->numbers[RPC_USER]) {
        rpc_bad_query(request);
        return;
    }
    struct outcome_wait *wait = MEM_NEW(&(struct outcome_wait){
        .replies = replies,
        .request = request,
        .what = WAITS_SIGNED_IN,
        .topic = &TOPIC_DIRECTORY_COMMANDS,
        .partition = asked->partition,
        .user = asked->numbers[RPC_USER],
        .offset = -1,
        .key = mem_string(external),
        .deadline_us = clock_monotonic_us() + asked->numbers[RPC_WAIT_MS] * 1000,
    });
    if (look(wait, clock_monotonic_us())) {
        wait_free(wait);
    } else if (send_sign_in(wait)) {
        rpc_later(request); // Kafka is away
        wait_free(wait);
    } else {
        wait_on(wait);
    }
}
