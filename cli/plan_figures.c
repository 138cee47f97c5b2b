#include "cli/plan_figures.h"

#include <errno.h>
#include <string.h>

#include "base/file.h"
#include "base/properties.h"
#include "base/text.h"
#include "cli/cli.h"

const char PLAN_FIGURES_MACHINE[] = "AMD EPYC, 2 cores";

#define LEAST 1e-9
#define MOST 1e12
#define EDGE "The edge: frames and deliveries"
#define CONNECT "The edge: connecting, and memory a session"
#define ROUTER "The router, from Kafka to Kafka"
#define SCALE "Growing"

const struct plan_figure_info PLAN_FIGURES[FIGURE_COUNT] = {
    [FIGURE_EDGE_FRAMES] = {"edge.frames", 72416, "frames of one entry, a second and core", "edge", "2026-11-21", EDGE,
                            "| typical | 0 ms | {72,416} | 82,494 | 0.88 |"},
    [FIGURE_EDGE_FULL_FRAMES] = {"edge.full.frames", 47640, "frames of edge.full.entries, a second and core", "edge",
                                 "2026-11-21", EDGE, "| dense | 5,000 ms | {47,640} |"},
    [FIGURE_EDGE_FULL_ENTRIES] = {"edge.full.entries", 67.4, "entries a full frame", "edge", "2026-11-21", EDGE,
                                  "| dense | 5,000 ms | 47,640 | 78,093 | 0.61 | 3,212,792 | {67.4} |"},
    [FIGURE_EDGE_FRAME_BYTES] = {"edge.frame.bytes", 211, "bytes a frame of one entry", "edge", "2026-11-21", EDGE,
                                 "| typical | 0 ms | 72,416 | 82,494 | 0.88 | 72,416 | 1.0 | {211} |"},
    [FIGURE_EDGE_FULL_BYTES] = {"edge.full.bytes", 11829, "bytes a full frame", "edge", "2026-11-21", EDGE,
                                "| dense | 5,000 ms | 47,640 | 78,093 | 0.61 | 3,212,792 | 67.4 | {11,829} |"},
    [FIGURE_EDGE_MESSAGE_US] = {"edge.message.us", 9.2, "us a report of a phone: the most that an echo took", "connect",
                                "2026-11-23", CONNECT, "6.0 to {9.2} us of CPU for an echo"},
    [FIGURE_EDGE_MESSAGE_BYTES] = {"edge.message.bytes", 95, "bytes a report of a phone: the echo", "connect",
                                   "2026-11-23", CONNECT, "for an echo of {95} bytes"},
    [FIGURE_EDGE_HELLO_US] = {"edge.hello.us", 161, "us a new connection with its first page", "connect", "2026-11-21",
                              CONNECT, "| the edge's CPU a hello, handshake, token, JOIN and page | {161} us |"},
    [FIGURE_EDGE_TLS_US] = {"edge.tls.us", 585, "us a TLS handshake on top, RSA 2048", "scale --stages storm",
                            "2026-11-24", SCALE, "| a TLS handshake at the edge, RSA 2048 | {585} us |"},
    [FIGURE_EDGE_SESSION_KB] = {"edge.session.kb", 6.2, "KB of the process a session with 40 near friends", "connect",
                                "2026-11-21", CONNECT, "5.9 to 7.8 KB, {6.2} in the latest"},
    [FIGURE_EDGE_KERNEL_KB] = {"edge.kernel.kb", 4.9, "KB of the kernel a session", "connect", "2026-11-21", CONNECT,
                               "| 4.5 to {4.9} KB |"},
    [FIGURE_EDGE_LIST_KIB] = {"edge.list.kib", 12.6, "KiB more for 400 near friends", "connect", "2026-11-21", CONNECT,
                              "of which the list is {12.6} |"},
    [FIGURE_COPY_BYTES] = {"copy.bytes", 26.8, "bytes a user who has ever shared, in each edge and gateway",
                           "scale --stages observe", "2026-11-24", SCALE,
                           "| pure, 10M present | 0.58 | 0.019 | 47.2 | {26.8} |"},
    [FIGURE_PROCESS_MB] = {"process.mb", 48.4, "MB of a process without users: an edge of the soak", "soak",
                           "2026-11-21", "The soak", "| edge | 48.0 | {48.4} |"},
    [FIGURE_ROUTER_REPORT_US] = {"router.report.us", 10.5, "us a report, 400 friends, a tenth near", "router",
                                 "2026-11-21", ROUTER, "| **starling-router** | {10.5} |"},
    [FIGURE_ROUTER_DELIVERIES] = {"router.deliveries", 39.8, "deliveries of such a report", "router", "2026-11-21",
                                  ROUTER, "{39.8} deliveries a report over 64 routes"},
    [FIGURE_ROUTER_BYTES] = {"router.bytes", 838, "bytes of its deliveries", "router", "2026-11-21", ROUTER,
                             "| {838} bytes a report,"},
    [FIGURE_ROUTER_JOIN_US_NONE] = {"router.join.us.0", 0.3, "us a join, no friends", "bigusers", "2026-11-23", ROUTER,
                                    "| 0 | {0.3} |"},
    [FIGURE_ROUTER_JOIN_US] = {"router.join.us.400", 8.8, "us a join, 400 friends", "bigusers", "2026-11-23", ROUTER,
                               "| 400 | {8.8} |"},
    [FIGURE_ROUTER_JOIN_US_MANY] = {"router.join.us.5000", 93, "us a join, 5,000 friends", "bigusers", "2026-11-23",
                                    ROUTER, "| 5,000 | {93} |"},
    [FIGURE_ROUTER_OBSERVE_US] = {"router.observe.us", 0.84, "us a report of another router's user",
                                  "scale --stages observe", "2026-11-24", SCALE,
                                  "| a whole router, 1M present | {0.84} |"},
    [FIGURE_ROUTER_BATCH_US] = {"router.batch.us", 20, "us a batch to an edge that goes by itself", "router",
                                "2026-11-24", SCALE, "a batch more costs {20} us"},
    [FIGURE_ROUTER_PRESENCE_BYTES] = {"router.presence.bytes", 47.2, "bytes a present user, in each router", "join",
                                      "2026-11-21", "The join", "| 10M | 99.8M | 96.1M | 1.04 | 4.01 | {47.2} |"},
    [FIGURE_ROUTER_FRIEND_BYTES] = {"router.friend.bytes", 2.93, "bytes of disk a friend of a user", "graph",
                                    "2026-11-21", "The graph: disk, restore, checkpoints, memory",
                                    "| disk, built and compacted | {2.93} bytes a half-edge"},
    [FIGURE_INGEST_REPORT_US] = {"ingest.report.us", 39.9, "us a write by HTTP", "ingest", "2026-11-24",
                                 "Reports over HTTP", "| 1 | gateway | 25,081 | {39.9} |"},
    [FIGURE_FEED_GATEWAY_US] = {"feed.gateway.us", 30, "us a page of the feed, gateway", "feed", "2026-11-22",
                                "The feed", "| all processes | 48 | gateway {30}, feeds 18;"},
    [FIGURE_FEED_PAGE_US] = {"feed.page.us", 18, "us a page of the feed, feed processes", "feed", "2026-11-22",
                             "The feed", "| all processes | 48 | gateway 30, feeds {18};"},
    [FIGURE_FEED_PAGE_BYTES] = {"feed.page.bytes", 5357, "bytes a page of 20 posts", "feed", "2026-11-22", "The feed",
                                "with texts ({5,357} bytes;"},
    [FIGURE_FEED_POST_US] = {"feed.post.us", 25.5, "us a post, decided and stored", "feed --stages decide",
                             "2026-11-24", "The feed", "| a post of 140 bytes | {25.5} ("},
    [FIGURE_FEED_ENTRY_US] = {"feed.entry.us", 0.33, "us an entry of an inbox", "feed", "2026-11-22", "The feed",
                              "| an entry, from `posts` to stored inboxes | {0.33} ("},
    [FIGURE_FEED_ENTRY_BYTES] = {"feed.entry.bytes", 4.4, "bytes an entry in timelines", "feed", "2026-11-22",
                                 "The feed", "An entry takes {4.4} bytes in `timelines`"},
    [FIGURE_FEED_INBOX_BYTES] = {"feed.inbox.bytes", 11.7, "bytes of disk an entry of an inbox", "feed", "2026-11-22",
                                 "The feed", "an entry of a full inbox takes {11.7} bytes"},
    [FIGURE_FEED_HOT_READ_US] = {"feed.hot.read.us", 0.14, "us a hot id read, in each feed process", "feed",
                                 "2026-11-22", "The feed", "| a hot id read from `hot-posts` | {0.14} |"},
    [FIGURE_FEED_HOT_PUT_US] = {"feed.hot.put.us", 0.47, "us a hot id put among others", "feed", "2026-11-22",
                                "The feed", "| a hot id put among 50 million of 5 million authors | {0.47} |"},
    [FIGURE_FEED_HOT_BYTES] = {"feed.hot.bytes", 13.0, "bytes a hot id, in each feed process", "feed", "2026-11-22",
                               "The feed", "id takes {13.0} bytes of memory"},
    [FIGURE_COMMENTS_COMMENT_US] = {"comments.comment.us", 20.2, "us a comment", "comments", "2026-11-23", "Comments",
                                    "| a root, 100,000 a round | 24.2 | {20.2} ("},
    [FIGURE_COMMENTS_LIKE_US] = {"comments.like.us", 15.3, "us a like", "comments", "2026-11-23", "Comments",
                                 "| a like, five a comment | 21.0 | {15.3} ("},
    [FIGURE_COMMENTS_PAGE_US] = {"comments.page.us", 104, "us a page of a cold subject", "comments", "2026-11-23",
                                 "Comments", "| now | {104} | 67 |"},
    [FIGURE_COMMENTS_GATEWAY_US] = {"comments.gateway.us", 67, "us of it in the gateway", "comments", "2026-11-23",
                                    "Comments", "| now | 104 | {67} |"},
    [FIGURE_COMMENTS_HOT_US] = {"comments.hot.us", 13.9, "us a page of a hot subject, gateway", "comments",
                                "2026-11-23", "Comments", "| the gateway | {13.9} |"},
    [FIGURE_COMMENTS_PAGE_BYTES] = {"comments.page.bytes", 11506, "bytes a page of comments", "comments", "2026-11-23",
                                    "Comments", "over HTTP ({11,506} bytes,"},
    [FIGURE_COMMENTS_STORE_GB] = {"comments.store.gb", 4.1, "GB for 20 million comments", "comments", "2026-11-23",
                                  "Comments", "under 200,000 subjects ({4.1} GB)"},
    [FIGURE_HISTORY_ROWS] = {"history.rows", 210323, "rows a second and core", "history", "2026-11-23",
                             "Location history", "| intake of 48 million more | {210,323}/s/core |"},
    [FIGURE_HISTORY_FILE_BYTES] = {"history.file.bytes", 25.2, "bytes a row in merged files", "history", "2026-11-23",
                                   "Location history", "merged files {25.2}, store 26.5 |"},
    [FIGURE_HISTORY_STORE_BYTES] = {"history.store.bytes", 26.5, "bytes a row in the store", "history", "2026-11-23",
                                    "Location history", "merged files 25.2, store {26.5} |"},
    [FIGURE_HISTORY_MB] = {"history.mb", 172, "MB of a sink", "history", "2026-11-23", "Location history",
                           "| the sink's memory | {172} MB at most |"},
    [FIGURE_HISTORY_STORED_MILLIONS] = {"history.stored.millions", 50, "million rows in the store that was measured",
                                        "history", "2026-11-23", "Location history",
                                        "| restore of {50} million rows |"},
    [FIGURE_HISTORY_RESTORE_ROWS] = {"history.restore.rows", 643666, "rows restored, a second and core", "history",
                                     "2026-11-23", "Location history",
                                     "| restore of 50 million rows | {643,666} rows/s/core,"},
    [FIGURE_MODERATION_COMMENT_US] = {"moderation.comment.us", 46, "us a comment, in each process", "moderation",
                                      "2026-11-23", "Searches of moderators", "Writing took {46} us of CPU a comment"},
    [FIGURE_MODERATION_FILE_MB] = {"moderation.file.mb", 529, "MB a million comments, in each process", "moderation",
                                   "2026-11-23", "Searches of moderators", "The file has {529} MB"},
    [FIGURE_BROKER_REQUEST_US] = {"broker.request.us", 89.5, "us a request that writes one record, with one copy",
                                  "scale --stages requests", "2026-11-24", SCALE,
                                  "| 1 | 1 | 6,074 | 1 | 0.54 | {89.5} |"},
    [FIGURE_BROKER_RECORD_US] = {"broker.record.us", 0.24, "us a further record in it", "scale --stages requests",
                                 "2026-11-24", SCALE, "A further record in it takes {0.24} us"},
    [FIGURE_BROKER_COPY_US] = {"broker.copy.us", 87, "us a further copy of such a request", "scale --stages requests",
                               "2026-11-24", SCALE, "A further copy takes {87} us"},
    [FIGURE_BROKER_FETCH_US] = {"broker.fetch.us", 61.4, "us a request that reads, or finds nothing",
                                "scale --stages requests", "2026-11-24", SCALE,
                                "| a record, which nobody else reads | 5,968 | 0.99 | 0.91 | {61.4} |"},
    [FIGURE_BROKER_FETCHES] = {"broker.fetches", 1383, "such requests a second of a reader that always finds records",
                               "scale --stages requests", "2026-11-24", SCALE, "asks {1,383} times a second"},
    [FIGURE_BROKER_OBSERVE_US] = {"broker.observe.us", 0.45, "us a report, read by one more router",
                                  "scale --stages observe", "2026-11-24", SCALE,
                                  "| the broker, for one more router that reads | {0.45} |"},
    [FIGURE_BROKER_JOIN_US] = {"broker.join.us", 12.3, "us of a report's deliveries, with its reading", "router",
                               "2026-11-21", ROUTER, "| **starling-router** | 10.5 | 95,694 | 3.81 M | {12.3} |"},
    [FIGURE_BROKER_POST_US] = {"broker.post.us", 13.3, "us a post's records", "feed --stages decide", "2026-11-24",
                               "The feed",
                               "| a post of 140 bytes | 25.5 (23.1 to 25.8) | 39,216 | 4.3 | 6.0 | {13.3} |"},
    [FIGURE_BROKER_ENTRY_US] = {"broker.entry.us", 0.13, "us an entry of an inbox", "feed", "2026-11-22", "The feed",
                                "| the broker | {0.13} |"},
    [FIGURE_BROKER_COMMENT_US] = {"broker.comment.us", 10.7, "us a comment's records", "comments", "2026-11-23",
                                  "Comments", "58,824 in a run an hour earlier | 3.5 | 7.2 | 5.8 | {10.7} |"},
    [FIGURE_BROKER_LIKE_US] = {"broker.like.us", 3.6, "us a like's records", "comments", "2026-11-23", "Comments",
                               "78,125 in a run an hour earlier | 2.4 | 7.4 | 6.4 | {3.6} |"},
    [FIGURE_BROKER_REPORT_BYTES] = {"broker.report.bytes", 55.1, "bytes a report in locations", "history", "2026-11-23",
                                    "Location history", "| bytes a row | topic {55.1},"},
    [FIGURE_BROKER_FRIEND_BYTES] = {"broker.friend.bytes", 38.8, "bytes a friend of a user in friendships",
                                    "scale --stages partitions", "2026-11-24", SCALE,
                                    "takes {38.8} bytes in `friendships`"},
    [FIGURE_BROKER_MAPS] = {"broker.partition.maps", 2.2, "memory maps of a broker a partition",
                            "scale --stages partitions", "2026-11-24", SCALE, "{2.2} memory maps a partition"},
    [FIGURE_BROKER_MB] = {"broker.mb", 494, "MB of a broker, page cache not counted", "scale --stages partitions",
                          "2026-11-24", SCALE, "{494} MB beside the page cache"},
};

void plan_figures_measured(struct plan_figures *figures) {
    for (size_t i = 0; i < FIGURE_COUNT; i++) figures->values[i] = PLAN_FIGURES[i].value;
}

struct figures_file {
    struct plan_figures *figures;
    const char *path;
};

static int take(void *context, int line, const char *key, const char *value, struct error *error) {
    const struct figures_file *file = context;
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        if (strcmp(PLAN_FIGURES[i].name, key)) continue;
        if (cli_real(value, LEAST, MOST, &file->figures->values[i])) return 0;
        return error_set(error, -EINVAL, "%s:%d: %s must be a number above 0", file->path, line, key);
    }
    return error_set(error, -EINVAL, "%s:%d: there is no figure %s", file->path, line, key);
}

int plan_figures_load(struct plan_figures *figures, const char *path, struct error *error) {
    struct buffer text = {.data = NULL};
    struct plan_figures read = *figures;
    int code = file_read(path, &text);
    if (code) {
        error_set(error, code, "%s: %s", path, strerror(-code));
    } else {
        code =
            properties_read(path, buffer_cstring(&text), text.size, take, &(struct figures_file){&read, path}, error);
    }
    if (!code && read.values[FIGURE_EDGE_FULL_ENTRIES] <= 1)
        code = error_set(error, -EINVAL, "%s: edge.full.entries must be more than 1: a full frame has several", path);
    if (!code) *figures = read;
    buffer_free(&text);
    return code;
}

void plan_figures_text(struct buffer *out, const struct plan_figures *figures) {
    buffer_format(out, "# Measured on %s; bench/results has the tables.\n", PLAN_FIGURES_MACHINE);
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        const struct plan_figure_info *info = &PLAN_FIGURES[i];
        buffer_format(out, "\n# %s (%s: ./dev bench %s, %s)\n%s=", info->unit, info->section, info->bench, info->date,
                      info->name);
        text_double(out, figures->values[i]);
        buffer_byte(out, '\n');
    }
}
