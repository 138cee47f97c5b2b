#include "ingest/products.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "budget/network.h"
#include "event/codec.h"
#include "event/topics.h"
#include "ingest/moderation/client.h"
#include "ingest/moderation/bans.h"
#include "ingest/moderation/found.h"
#include "ingest/owners.h"
#include "ingest/write.h"
#include "subjects/subject.h"
#include "subjects/words.h"

#define AT(member) offsetof(struct moderation_gateway_settings, member)

static const struct config_property PROPERTIES[] = {
    {"moderation.group.id", CONFIG_STRING, AT(group), "starling-moderation",
     .doc = "Consumer group of the moderation processes, which search comments and posts."},
};

static struct moderation_gateway_settings configured;

const struct config_section MODERATION_GATEWAY_SECTION = {"Gateway: moderation (starling-ingest)", PROPERTIES,
                                                          ARRAY_SIZE(PROPERTIES), &configured};

enum { LIMIT_MAX = 1000, LIMIT_DEFAULT = 20, TEXT_MAX = 1000 /* bytes */, RETRY_AFTER_S = 2 };

struct moderation_gateway {
    struct writer *writer;
    struct user_copies *copies;
    struct moderation_client client;
};

/* ---- answers ---- */

static void reply_page(struct moderation_gateway *gateway, struct http_request *request, const json_t *reply,
                       found_put *put) {
    struct buffer body = {0};
    if (found_page_put(&body, reply, user_copies_profiles(gateway->copies), put))
        http_reply_json(request, 200, &body);
    else
        http_problem(request, 503, "moderation_unavailable", "the answer of the search cannot be understood",
                     RETRY_AFTER_S);
    buffer_free(&body);
}

static void found_for_moderator(void *context, struct http_request *request, const json_t *reply) {
    reply_page(context, request, reply, found_comment);
}

static void found_posts(void *context, struct http_request *request, const json_t *reply) {
    reply_page(context, request, reply, found_post);
}

static void found_people(void *context, struct http_request *request, const json_t *reply) {
    reply_page(context, request, reply, found_person);
}

static void found_own(void *context, struct http_request *request, const json_t *reply) {
    reply_page(context, request, reply, found_own_comment);
}

/* ---- questions; each function that returns false has answered ---- */

static bool bad_query(const struct call *call, const char *detail) {
    http_problem(call->request, 400, "bad_query", detail, 0);
    return false;
}

/* What is searched for. */
struct wanted_comments {
    int64_t limit, after, user, from, to; /* after 0, user -1: not given */
    const char *text, *state, *reported, *type;
    char *subject; /* NULL: not given */
};

static bool read_page(const struct call *call, struct wanted_comments *wanted) {
    *wanted = (struct wanted_comments){.limit = LIMIT_DEFAULT, .user = -1, .to = INT64_MAX};
    return call_query_range(call, "limit", 1, LIMIT_MAX, &wanted->limit) &&
           call_query_id(call, "after", &wanted->after);
}

static bool read_subject(const struct call *call, struct wanted_comments *wanted) {
    const char *type = http_query(call->request, "type"), *id = http_query(call->request, "id");
    if (!type) return !id || bad_query(call, "\"id\" goes with \"type\"");
    char *subject = mem_format("%s:%s", type, id ? id : "any");
    bool valid = subject_valid(subject, strlen(subject));
    if (valid && id) wanted->subject = mem_string(subject);
    if (valid && !id) wanted->type = type;
    free(subject);
    return valid || bad_query(call, "\"type\" and \"id\" must be those of a subject");
}

static bool read_words(const struct call *call, struct wanted_comments *wanted) {
    wanted->text = http_query(call->request, "text");
    wanted->state = http_query(call->request, "state");
    wanted->reported = http_query(call->request, "reported");
    if (wanted->text && !*wanted->text) wanted->text = NULL;
    if (wanted->reported && strcmp(wanted->reported, "false") == 0) wanted->reported = NULL;
    if (wanted->text && strlen(wanted->text) > TEXT_MAX) return bad_query(call, "\"text\" has more than 1000 bytes");
    if (wanted->state && text_word(wanted->state, COMMENT_STATES) < 0)
        return bad_query(call, "\"state\" must be visible, held, hidden or deleted");
    if (wanted->reported && strcmp(wanted->reported, "true") != 0)
        return bad_query(call, "\"reported\" must be true or false");
    return true;
}

/* A search whose entry is on its way to the audit. */
typedef void search_answered(void *context, struct http_request *request, const json_t *reply);
struct pending_search {
    struct moderation_gateway *gateway;
    char *path;
    search_answered *answered;
};

/* The search follows its entry, so that nothing is read that the audit does not tell of. */
static void entry_written(void *context, struct http_request *request, int code, int32_t partition, int64_t offset) {
    struct pending_search *search = context;
    (void)partition, (void)offset;
    if (code)
        write_problem(request, code);
    else
        moderation_client_ask(&search->gateway->client, search->path, request, search->answered, search->gateway);
    free(search->path);
    free(search);
}

/* path: is taken over. about: -1: no one user. topic: whose records are searched. */
static void search_on_record(struct moderation_gateway *gateway, const struct call *call, char *path, int64_t about,
                             const struct topic *topic, search_answered *answered) {
    const char *query = strchr(path, '?') ? strchr(path, '?') + 1 : "";
    struct pending_search *search = mem_alloc(sizeof *search);
    char address[NETWORK_TEXT];
    struct buffer record = {0};
    network_address_text(call->address, address);
    const struct audit_entry entry = {
        .role = AUDIT_ENTRY_MODERATOR,
        .user = call->claims.user,
        .address = {address, strlen(address)},
        .what = {"search", 6},
        .query = {query, strlen(query)},
        .about = about,
    };
    char *key = about < 0 ? mem_string(topic->name) : mem_format("user:%" PRId64, about);
    *search = (struct pending_search){.gateway = gateway, .path = path, .answered = answered};
    event_encode_audit_entry(&record, &entry);
    struct write *write = write_new(gateway->writer, call->request, entry_written, search);
    write_keyed(write, &TOPIC_AUDIT, key, strlen(key), &record);
    write_end(write);
    buffer_free(&record);
    free(key);
}

static void get_comments(void *state, const struct call *call) {
    struct wanted_comments wanted;
    if (read_page(call, &wanted) && read_words(call, &wanted) && call_query_int(call, "user", &wanted.user) &&
        call_query_times(call, &wanted.from, &wanted.to) && read_subject(call, &wanted)) {
        char *path =
            rpc_path(&ASK_SEARCH, RPC_VALUES(RPC_INT(LIMIT, wanted.limit), RPC_INT(AFTER, wanted.after),
                                             RPC_TEXT(WORDS, wanted.text), RPC_INT(USER, wanted.user),
                                             RPC_TEXT(SUBJECT, wanted.subject), RPC_TEXT(TYPE, wanted.type),
                                             RPC_TEXT(STATE, wanted.state), RPC_TEXT(REPORTED, wanted.reported),
                                             RPC_INT(FROM, wanted.from), RPC_INT(TO, wanted.to)));
        search_on_record(state, call, path, wanted.user, &TOPIC_COMMENTS_WIDE, found_for_moderator);
        free(wanted.subject);
    }
}

static void get_posts(void *state, const struct call *call) {
    struct wanted_comments wanted;
    if (!read_page(call, &wanted) || !read_words(call, &wanted) || !call_query_int(call, "user", &wanted.user) ||
        !call_query_times(call, &wanted.from, &wanted.to))
        return;
    char *path =
        rpc_path(&ASK_SEARCH_POSTS,
                 RPC_VALUES(RPC_INT(LIMIT, wanted.limit), RPC_INT(AFTER, wanted.after), RPC_TEXT(WORDS, wanted.text),
                            RPC_INT(USER, wanted.user), RPC_TEXT(STATE, wanted.state),
                            RPC_TEXT(REPORTED, wanted.reported), RPC_INT(FROM, wanted.from), RPC_INT(TO, wanted.to)));
    search_on_record(state, call, path, wanted.user, &TOPIC_POSTS, found_posts);
}

/* Only people who were reported are known, with `reported` or without it. */
static void get_users(void *state, const struct call *call) {
    struct wanted_comments wanted = {.limit = LIMIT_DEFAULT, .user = -1};
    const char *after = http_query(call->request, "after");
    if (!call_query_range(call, "limit", 1, LIMIT_MAX, &wanted.limit) || !read_words(call, &wanted) ||
        !call_query_int(call, "user", &wanted.user))
        return;
    char *path = rpc_path(&ASK_REPORTED,
                          RPC_VALUES(RPC_INT(LIMIT, wanted.limit), RPC_TEXT(AFTER, after), RPC_INT(USER, wanted.user)));
    search_on_record(state, call, path, wanted.user, &TOPIC_MODERATION_LOG, found_people);
}

static void get_own(void *state, const struct call *call) {
    struct moderation_gateway *gateway = state;
    struct wanted_comments wanted;
    if (call->values[0].user != call->claims.user) {
        http_problem(call->request, 403, "not_your_user", "only one's own comments are listed", 0);
        return;
    }
    if (!read_page(call, &wanted)) return;
    char *path = rpc_path(&ASK_SEARCH, RPC_VALUES(RPC_INT(USER, call->claims.user), RPC_INT(LIMIT, wanted.limit),
                                                  RPC_INT(AFTER, wanted.after)));
    moderation_client_ask(&gateway->client, path, call->request, found_own, gateway);
    free(path);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/moderation/comments", get_comments, NEEDS_MODERATOR},
    {"GET", "/v1/moderation/posts", get_posts, NEEDS_MODERATOR},
    {"GET", "/v1/moderation/users", get_users, NEEDS_MODERATOR},
    {"GET", "/v1/users/{user}/comments", get_own, NEEDS_USER},
};
static const struct endpoint_list MODERATION_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};

/* ---- the product ---- */

static bool ready(const void *of) {
    const struct moderation_gateway *gateway = of;
    return user_copies_ready(gateway->copies);
}

/* Questions under way end, and their requests are answered. */
static void moderation_stop(void *state) {
    struct moderation_gateway *gateway = state;
    if (!gateway) return;
    peers_free(gateway->client.processes);
    gateway->client.processes = NULL;
}

static int moderation_start(const struct product_options *options, void **state, struct error *error) {
    struct moderation_gateway *gateway = MEM_NEW(&(struct moderation_gateway){
        .writer = options->writer,
        .copies = options->copies,
        .client = {.partitions = options->shape->partitions[TOPIC_SPACE_SUBJECTS], .chance = chance_new()},
    });
    int code = owners_new(options, options->groups.moderators, &TOPIC_COMMENTS_WIDE, &gateway->client.processes, error);
    if (code) {
        free(gateway);
        return code;
    }
    endpoints_add(options->endpoints, &MODERATION_ENDPOINTS, gateway, ready, gateway);
    endpoints_add(options->endpoints, &BANS_ENDPOINTS, options->writer, NULL, NULL);
    *state = gateway;
    return 0;
}

static void cannot_serve(void *state, service_namer *name, void *context) {
    const struct moderation_gateway *gateway = state;
    if (!peers_complete(gateway->client.processes)) name(context, "search");
}

const struct product MODERATION_PRODUCT = {
    .start = moderation_start, .stop = moderation_stop, .free = free, .cannot_serve = cannot_serve};
