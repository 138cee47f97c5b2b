#include "ingest/products.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "event/topics.h"
#include "ingest/comments/parts.h"
#include "ingest/owners.h"

#define AT(member) offsetof(struct comments_gateway_settings, member)

static const struct config_property PROPERTIES[] = {
    {"comments.group.id", CONFIG_STRING, AT(group), "starling-comments",
     .doc = "Consumer group of the comments processes, which answer for threads."},
    {"comments.hot.reads", CONFIG_INT, AT(hot_reads), "200", .min = 1, .max = 1000000000,
     .doc =
         "A subject that is read so often within ten seconds is hot: the gateway answers the pages of the 32 hottest from copies "
         "that are at most a second old."},
    {"comments.hot.mb", CONFIG_INT, AT(hot_memory_mb), "64", .max = 65536, .doc = "Memory of these copies (MiB)."},
};

static struct comments_gateway_settings configured;

const struct config_section COMMENTS_GATEWAY_SECTION = {"Gateway: comments (starling-ingest)", PROPERTIES,
                                                        ARRAY_SIZE(PROPERTIES), &configured};

enum { PAGE_TIMEOUT_MS = 3000, TICK_MS = 1000 };

static void fetch_page(void *context, const char *subject, const char *path, page_answered *answered,
                       void *answered_context) {
    const struct comments_gateway *gateway = context;
    peers_fetch(gateway->owners, peers_of_subject(gateway->owners, subject), path, PAGE_TIMEOUT_MS, answered,
                answered_context);
}

static bool make_page(void *context, int form, struct json_bytes reply, void *answer, struct made_page *made) {
    const struct comment_names names = comments_names(context);
    struct shown_comments *shown = answer;
    if (!shown_make((enum shown_form)form, shown, reply, &names)) return false;
    *made = (struct made_page){.bytes = shown_comments_bytes(shown), .next = shown->next, .complete = shown->complete};
    return true;
}

static void free_page(void *answer) { shown_comments_free(answer); }

static void tick(void *context) { page_copies_tick(((const struct comments_gateway *)context)->pages); }

static void start_pages(struct comments_gateway *gateway, struct service *service) {
    struct metrics *metrics = service_metrics(service);
    gateway->pages = page_copies_new(&(struct page_copies_options){
        .size = sizeof(struct shown_comments),
        .make = make_page,
        .free = free_page,
        .hot_reads = configured.hot_reads,
        .max_bytes = (size_t)configured.hot_memory_mb << 20,
        .built = metrics_counter(metrics, "starling_ingest_comment_pages_built_total",
                                 "Answers about threads that were asked of their owners.", NULL),
        .from_copies =
            metrics_counter(metrics, "starling_ingest_comment_pages_shared_total",
                            "Answers about threads that were copies, or were built for somebody else, too.", NULL),
        .context = gateway,
        .fetch = fetch_page,
        .now_ms = clock_coarse_ms,
    });
    gateway->tick = loop_timer_new(service_loop(service), TICK_MS, TICK_MS, tick, gateway);
}

static bool ready(const void *of) { return user_copies_ready(((const struct comments_gateway *)of)->copies); }

static int start_peers(struct comments_gateway *gateway, const struct product_options *options, struct error *error) {
    const struct product_groups *groups = &options->groups;
    int code = owners_new(options, groups->comments, &TOPIC_COMMENT_COMMANDS, &gateway->owners, error);
    if (!code) code = owners_new(options, groups->feeds, &TOPIC_POST_COMMANDS, &gateway->feeds, error);
    if (!code) code = owners_new(options, groups->routers, &TOPIC_LOCATIONS, &gateway->routers, error);
    if (!code) gateway->blocked = blocked_lists_new(gateway->routers, clock_coarse_ms);
    return code;
}

/* Questions under way end, and their requests are answered. A question that waits for a router asks an owner next: these go last. */
static void comments_stop(void *state) {
    struct comments_gateway *gateway = state;
    if (!gateway) return;
    loop_timer_free(gateway->tick);
    gateway->tick = NULL;
    peers_free(gateway->routers);
    peers_free(gateway->feeds);
    peers_free(gateway->owners);
    gateway->owners = gateway->feeds = gateway->routers = NULL;
    if (gateway->sights) sights_stop(gateway->sights);
    sights_free(gateway->sights);
    gateway->sights = NULL;
}

static void comments_free(void *state) {
    struct comments_gateway *gateway = state;
    if (!gateway) return;
    page_copies_free(gateway->pages);
    blocked_lists_free(gateway->blocked);
    known_authors_free(gateway->authors);
    known_subjects_free(gateway->subjects);
    free(gateway);
}

static int comments_start(const struct product_options *options, void **state, struct error *error) {
    struct comments_gateway *gateway = MEM_NEW(&(struct comments_gateway){
        .copies = options->copies,
        .user_partitions = options->shape->partitions[TOPIC_SPACE_USERS],
        .filter = options->filter,
        .chance = chance_new(),
        .subjects = known_subjects_new(),
        .authors = known_authors_new(),
    });
    int code = start_peers(gateway, options, error);
    if (code) {
        comments_stop(gateway);
        comments_free(gateway);
        return code;
    }
    gateway->sender = (struct command_sender){
        .writer = options->writer,
        .owners = gateway->owners,
        .wait_ms = options->outcome_wait_ms,
        .written = metrics_counter(service_metrics(options->service), "starling_ingest_comment_commands_total",
                                   "Commands about comments that Kafka acknowledged.", NULL),
    };
    start_pages(gateway, options->service);
    gateway->sights = owners_sights_new(options, gateway->feeds);
    const struct endpoint_list *const lists[] = {&COMMENT_WRITING_ENDPOINTS, &COMMENT_ACTS_ENDPOINTS,
                                                 &COMMENT_PAGES_ENDPOINTS};
    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) endpoints_add(options->endpoints, lists[i], gateway, ready, gateway);
    *state = gateway;
    return 0;
}

static void blocks_changed(void *state, int64_t user) {
    const struct comments_gateway *gateway = state;
    blocked_lists_changed(gateway->blocked, user);
}

static void cannot_serve(void *state, service_namer *name, void *context) {
    const struct comments_gateway *gateway = state;
    if (!peers_complete(gateway->owners)) name(context, "comments");
}

const struct product COMMENTS_PRODUCT = {.start = comments_start,
                                         .stop = comments_stop,
                                         .free = comments_free,
                                         .blocks = blocks_changed,
                                         .cannot_serve = cannot_serve};
