#include "ingest/feed/home.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/config.h"
#include "base/mem.h"
#include "ids/ids.h"
#include "ingest/gather.h"
#include "ingest/feed/older.h"
#include "ingest/feed/parts.h"
#include "ingest/feed/refs.h"
#include "ingest/products.h"
#include "ingest/limits.h"
#include "posts/post_json.h"

#define AT(member) offsetof(struct feed_gateway_settings, member)

static const struct config_property PROPERTIES[] = {
    {"feed.group.id", CONFIG_STRING, AT(group), "starling-feed",
     .doc = "Consumer group of the feed processes, which answer for posts, follows and home timelines."},
    {"feed.texts.mb", CONFIG_INT, AT(texts_mb), "128", .max = 1000000,
     .doc = "How much memory the texts of posts may take that a gateway keeps for pages of home timelines (MB)."},
    {"feed.texts.s", CONFIG_INT, AT(texts_s), "30", .max = 3600,
     .doc =
         "How long a gateway keeps a text (s); 0: not at all. docs/FEED.md says in which cases a page shows a deleted post for so "
         "long."},
    {"feed.copies.reads", CONFIG_INT, AT(copies_reads), "200", .min = 1, .max = 1000000000,
     .doc =
         "A user or post that is read so often within ten seconds is hot: the gateway answers for the 32 hottest from copies that are at "
         "most a second old."},
    {"feed.copies.mb", CONFIG_INT, AT(copies_mb), "16", .max = 65536, .doc = "Memory of these copies (MiB)."},
};

static struct feed_gateway_settings configured;

const struct config_section FEED_GATEWAY_SECTION = {"Gateway: feed (starling-ingest)", PROPERTIES,
                                                    ARRAY_SIZE(PROPERTIES), &configured};

enum { HOME_TIMEOUT_MS = 950, OLDER_TIMEOUT_MS = 700, POSTS_TIMEOUT_MS = 500 };
enum { GATHER_MS = 1 /* for a page a moment more, and fewer questions */ };
enum { LIMIT_MAX = 1000, LIMIT_DEFAULT = 20, SPARE = 5 };
enum { PAGE_BYTES = 1 << 20 /* passed by one post */, PORTION = 100 /* posts that are asked for at once */ };
enum { TURNS = 5, WIDER = 4 /* times as many ids are wanted in each next turn */ };

struct home_request;

/* A post of the page, from when its text is wanted. */
struct home_post {
    struct text_wait wait; /* first */
    struct home_request *home;
    struct shared_text *text;
    bool denied; /* the reader may not see it any more */
};

struct home_request {
    struct feed_gateway *gateway;
    struct http_request *request;
    int64_t user;            /* who reads */
    int64_t above, before;   /* ids of posts; 0 and INT64_MAX: the first page */
    int64_t sent_ms, age_ms; /* when the reader's owner was asked, and how old is at most what it has read */
    size_t limit, wanted;    /* wanted: ids */
    bool complete;
    char version[33]; /* of the newest page, as the owner says it */
    struct page_refs refs;
    struct home_post *posts; /* of the first refs; before looked_at they are on the page, or gone */
    size_t post_count,
        waiting; /* waiting: texts that are not settled, or owners who are asked, the counts, and one for the asker itself */
    size_t looked_at, put;
    int turns; /* in which the reader's owner was asked */
    bool away; /* some owner has not answered: the page is no longer than it is */
    struct buffer body;
};

static void home_free(struct home_request *home) {
    for (size_t i = home->looked_at; i < home->post_count; i++) text_give(home->posts[i].text);
    buffer_free(&home->body);
    free(home->posts);
    page_refs_free(&home->refs);
    free(home);
}

/* ---- the page ---- */

/* The reader's owner has said whose posts the reader may see, and that counts still. */
static bool is_vouched(const struct home_request *home) {
    return sights_word_counts(home->gateway->sights, home->sent_ms, home->age_ms);
}

/* False: nobody has said that the reader may see it. */
static bool put_post(struct home_request *home, int64_t id, struct shared_text *text) {
    if (!text_put(home->gateway->texts, text, home->user, is_vouched(home), &home->body)) return false;
    comment_counts_put(home->gateway->counts, id, home->user, &home->body);
    return true;
}

/* Appends the next item, unless the post is gone. */
static void put_item(struct home_request *home) {
    const struct home_post *post = &home->posts[home->looked_at];
    struct shared_text *text = post->text;
    const struct page_ref *ref = &home->refs.items[home->looked_at++];
    enum text_state state = post->denied ? TEXT_NONE : text_state_of(text);
    if (state != TEXT_NONE && home->put++) buffer_byte(&home->body, ',');
    bool away = state == TEXT_AWAY || (state == TEXT_THERE && !put_post(home, ref->id, text));
    if (away) post_put_unavailable(&home->body, ref->id, ref->user);
    home->away |= away;
    text_give(text);
}

static bool has_room(const struct home_request *home) {
    return home->put < home->limit && home->body.size < PAGE_BYTES;
}

/* Posts may lie behind those that were looked at. */
static bool may_be_more(const struct home_request *home) {
    for (size_t i = home->looked_at; i < home->refs.count; i++) {
        if (i >= home->post_count || text_state_of(home->posts[i].text) != TEXT_NONE) return true;
    }
    return home->refs.count >= home->wanted || !home->complete;
}

static void put_next(struct home_request *home) {
    int64_t last = home->looked_at ? home->refs.items[home->looked_at - 1].id : home->before;
    buffer_string(&home->body, "],\"next\":");
    if (may_be_more(home) && last < INT64_MAX)
        buffer_format(&home->body, "\"%" PRId64 "\"", last);
    else
        buffer_string(&home->body, "null");
}

static void reply_page(struct home_request *home) {
    put_next(home);
    buffer_format(&home->body, ",\"complete\":%s,\"version\":\"%s\"}", home->complete ? "true" : "false",
                  home->version);
    http_reply_json(home->request, 200, &home->body);
    home_free(home);
}

/* ---- texts ---- */

static void ask_for_posts(struct home_request *home, size_t count);
static void ask_for_page(struct home_request *home);

/* Hidden posts stay in inboxes, and one author may have hundreds together, which feed processes know to be hidden for some hours only. A page
 * that has posts goes out as it is: whether the reader may see them is not asked again. */
static bool is_empty(const struct home_request *home) {
    const struct page_refs *refs = &home->refs;
    return !home->put && home->complete && refs->count && refs->count >= home->wanted &&
           refs->items[refs->count - 1].id - 1 > home->above && home->turns < TURNS;
}

static void ask_for_next(struct home_request *home) {
    size_t most = LIMIT_MAX + SPARE;
    home->before = home->refs.items[home->looked_at - 1].id;
    home->wanted = home->wanted * WIDER < most ? home->wanted * WIDER : most;
    home->refs.count = home->post_count = home->looked_at = 0;
    free(home->posts);
    home->posts = NULL;
    http_add_work(home->request, (int64_t)(1 + home->wanted / LIMITS_ROWS));
    ask_for_page(home);
}

/* Short posts come in several portions, of which the first is mostly the only one, and long ones end the page. */
static void go_on(struct home_request *home) {
    while (home->looked_at < home->post_count && has_room(home)) put_item(home);
    size_t left = home->refs.count - home->post_count;
    bool more = has_room(home) && !home->away;
    if (more && left)
        ask_for_posts(home, left < PORTION ? left : PORTION);
    else if (more && is_empty(home))
        ask_for_next(home);
    else
        reply_page(home);
}

static void sights_are_known(struct home_request *home) {
    if (--home->waiting == 0) go_on(home);
}

static void sight_answered(void *context, enum sight_answer answer) {
    struct home_post *post = context;
    post->denied = answer == SIGHT_NO;
    sights_are_known(post->home);
}

/* The word of the reader's owner about whose posts the reader may see may be too old by now: then the authors' owners are asked. */
static void ask_for_sights(struct home_request *home) {
    const struct sights *sights = home->gateway->sights;
    home->waiting = 1;
    for (size_t i = home->looked_at; !is_vouched(home) && i < home->post_count; i++) {
        struct home_post *post = &home->posts[i];
        int64_t author = home->refs.items[i].user;
        if (text_state_of(post->text) != TEXT_THERE || sights_may(sights, author, home->user)) continue;
        home->waiting++;
        sights_ask(
            home->gateway->sights,
            &(struct sights_wish){.reader = home->user, .author = author, .context = post, .done = sight_answered});
    }
    sights_are_known(home);
}

static void settle(struct home_request *home) {
    if (--home->waiting == 0) ask_for_sights(home);
}

static void text_settled(void *context, struct text_wait *wait) {
    (void)context;
    settle(((struct home_post *)(void *)wait)->home);
}

static void counted(void *context) { settle(context); }

static void ask_for_counts(struct home_request *home, size_t from) {
    int64_t ids[PORTION];
    size_t count = home->post_count - from;
    for (size_t i = 0; i < count; i++) ids[i] = home->refs.items[from + i].id;
    comment_counts_ask(home->gateway->counts, ids, count, home->user, home, counted);
}

static void ask_for_posts(struct home_request *home, size_t count) {
    size_t from = home->post_count;
    home->post_count += count;
    home->waiting = 2;
    ask_for_counts(home, from);
    for (size_t i = from; i < home->post_count; i++) {
        struct home_post *post = &home->posts[i];
        const struct page_ref *ref = &home->refs.items[i];
        *post = (struct home_post){.home = home, .text = texts_get(home->gateway->texts, ref->id, ref->version)};
        if (text_state_of(post->text) != TEXT_ASKED) continue;
        text_await(post->text, &post->wait);
        home->waiting++;
    }
    settle(home);
}

/* All ids are known. */
static void begin_page(struct home_request *home) {
    home->posts = mem_alloc(home->wanted * sizeof *home->posts);
    if (!home->body.size) buffer_string(&home->body, "{\"items\":[");
    go_on(home);
}

static const int32_t *lowest(void *context) {
    const struct feed_gateway *gateway = context;
    return peers_lowest(gateway->owners);
}

static void fetch(void *context, int32_t partition, const char *path, int timeout_ms,
                  void (*done)(void *context, int code, unsigned status, const char *reply, size_t size),
                  void *done_context) {
    const struct feed_gateway *gateway = context;
    peers_fetch(gateway->owners, partition, path, timeout_ms, done, done_context);
}

struct texts *home_texts_new(struct feed_gateway *gateway, uv_loop_t *loop) {
    return texts_new(&(struct texts_options){
        .loop = loop,
        .partitions = gateway->partitions,
        .kept_max = SIZE_MAX,
        .kept_bytes = (size_t)configured.texts_mb << 20,
        .kept_ms = configured.texts_s * 1000,
        .gather_ms = GATHER_MS,
        .timeout_ms = POSTS_TIMEOUT_MS,
        .profiles = user_copies_profiles(gateway->copies),
        .sights = gateway->sights,
        .context = gateway,
        .lowest = lowest,
        .fetch = fetch,
        .settled = text_settled,
    });
}

/* ---- older ids ---- */

static void older_answered(void *context, size_t tag, struct json_bytes reply) {
    struct home_request *home = context;
    struct json_scan scan = json_scan_of(reply.data, reply.size);
    struct json_bytes key, posts;
    (void)tag;
    if (json_scan_object(&scan) && json_scan_member(&scan, &key) && json_bytes_are(&key, "posts") &&
        json_scan_value(&scan, &posts) && page_refs_read(&home->refs, posts))
        page_refs_merge(&home->refs, home->wanted);
    else
        home->complete = false;
}

static void older_done(void *context, bool stopping) {
    struct home_request *home = context;
    if (!stopping) {
        begin_page(home);
        return;
    }
    feed_owner_away(home->request);
    home_free(home);
}

/* The first answer has everything above the horizon. */
static void ask_for_older(struct home_request *home, int64_t horizon, struct json_bytes following) {
    struct older_questions questions;
    int64_t before = horizon < home->before ? horizon + 1 : home->before;
    int64_t limit = (int64_t)(home->wanted - home->refs.count);
    struct gather *gather = gather_new(&(struct gather_options){
        .owners = home->gateway->owners,
        .timeout_ms = OLDER_TIMEOUT_MS,
        .context = home,
        .answer = older_answered,
        .done = older_done,
    });
    json_t *authors = json_parse(following.data, following.size, NULL);
    http_add_work(home->request, (int64_t)json_array_size(authors) / LIMITS_ROWS);
    older_questions_new(&questions, authors, home->gateway->partitions);
    json_decref(authors);
    for (size_t i = 0; i < questions.count; i++)
        gather_ask(gather, &ASK_OLDER,
                   RPC_VALUES(RPC_INT(PARTITION, questions.items[i].partition), RPC_INT(ABOVE, home->above),
                              RPC_INT(BEFORE, before), RPC_INT(LIMIT, limit),
                              RPC_TEXT(AUTHORS, questions.items[i].authors)),
                   i);
    older_questions_free(&questions);
    gather_end(gather);
}

/* ---- the reader's owner ---- */

struct owners_answer {
    bool complete;
    int64_t horizon, age_ms; /* age_ms -1: it says nothing of who may see posts */
    struct json_bytes posts, following, version;
};

static bool read_members(struct json_scan *scan, struct owners_answer *answer) {
    struct json_bytes key, horizon = {NULL, 0};
    json_scan_object(scan);
    while (json_scan_member(scan, &key)) {
        if (json_bytes_are(&key, "complete"))
            json_scan_bool(scan, &answer->complete);
        else if (json_bytes_are(&key, "age_ms"))
            json_scan_int(scan, &answer->age_ms);
        else if (json_bytes_are(&key, "horizon"))
            json_scan_text(scan, &horizon);
        else if (json_bytes_are(&key, "posts"))
            json_scan_value(scan, &answer->posts);
        else if (json_bytes_are(&key, "following"))
            json_scan_value(scan, &answer->following);
        else if (json_bytes_are(&key, "version"))
            json_scan_text(scan, &answer->version);
        else
            json_scan_value(scan, NULL);
    }
    return !scan->bad && (json_bytes_are(&horizon, "0") || ids_parse(horizon.data, horizon.size, &answer->horizon));
}

/* Only the newest page has a version. */
static bool is_newest(const struct home_request *home) { return !home->above && home->before == INT64_MAX; }

static bool read_answer(struct home_request *home, const char *text, size_t size, struct owners_answer *answer) {
    struct json_scan scan = json_scan_of(text, size);
    *answer = (struct owners_answer){.age_ms = -1};
    if (!read_members(&scan, answer) || !page_refs_read(&home->refs, answer->posts) ||
        answer->version.size >= sizeof home->version || (is_newest(home) && !answer->version.size))
        return false;
    home->complete = answer->complete;
    home->age_ms = answer->age_ms < 0 ? INT64_MAX : answer->age_ms;
    if (is_newest(home)) memcpy(home->version, answer->version.data, answer->version.size);
    page_refs_merge(&home->refs, home->wanted);
    return true;
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct home_request *home = context;
    struct owners_answer answer;
    if (code || status != 200 || !read_answer(home, text, size, &answer)) {
        feed_owner_away(home->request);
        home_free(home);
    } else if (home->complete && answer.following.size > 2 && home->refs.count < home->wanted) { // longer than []
        ask_for_older(home, answer.horizon, answer.following);
    } else {
        begin_page(home);
    }
}

static void ask_for_page(struct home_request *home) {
    home->sent_ms = clock_coarse_ms();
    home->turns++;
    rpc_ask(home->gateway->owners, &ASK_FEED,
            RPC_VALUES(RPC_INT(USER, home->user), RPC_INT(ABOVE, home->above), RPC_INT(BEFORE, home->before),
                       RPC_INT(LIMIT, (int64_t)home->wanted)),
            HOME_TIMEOUT_MS, answered, home);
}

static void get_feed(void *state, const struct call *call) {
    struct feed_gateway *gateway = state;
    int64_t limit = LIMIT_DEFAULT;
    struct id_range range;
    if (!call_query_ids_of_times(call, &range) || !call_query_range(call, "limit", 1, LIMIT_MAX, &limit)) return;
    struct home_request *home = mem_alloc(sizeof *home);
    *home = (struct home_request){
        .gateway = gateway,
        .request = call->request,
        .user = call->claims.user,
        .above = range.above,
        .before = range.before,
        .limit = (size_t)limit,
        .wanted = (size_t)limit + SPARE,
        .complete = true,
    };
    if (range.above + 1 >= range.before)
        begin_page(home);
    else
        ask_for_page(home);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/feed", get_feed, NEEDS_USER},
};
const struct endpoint_list HOME_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
