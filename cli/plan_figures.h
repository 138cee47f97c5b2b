/* The measured figures that `starling plan` counts with: what one unit of work costs a core, a disk or a line.
 *
 * Each comes from a table of bench/results. Its text there, with the number between braces, is in the table of the code, so that
 * a test (tests/unit/test_cli_plan.c) finds the number on the page: neither can change without the other. Pure but for reading a file.
 */
#ifndef CLI_PLAN_FIGURES_H
#define CLI_PLAN_FIGURES_H

#include "base/buffer.h"
#include "base/error.h"

enum plan_figure {
    FIGURE_EDGE_FRAMES,
    FIGURE_EDGE_FULL_FRAMES,
    FIGURE_EDGE_FULL_ENTRIES,
    FIGURE_EDGE_FRAME_BYTES,
    FIGURE_EDGE_FULL_BYTES,
    FIGURE_EDGE_MESSAGE_US,
    FIGURE_EDGE_MESSAGE_BYTES,
    FIGURE_EDGE_HELLO_US,
    FIGURE_EDGE_TLS_US,
    FIGURE_EDGE_SESSION_KB,
    FIGURE_EDGE_KERNEL_KB,
    FIGURE_EDGE_LIST_KIB,
    FIGURE_COPY_BYTES,
    FIGURE_PROCESS_MB,
    FIGURE_ROUTER_REPORT_US,
    FIGURE_ROUTER_DELIVERIES,
    FIGURE_ROUTER_BYTES,
    FIGURE_ROUTER_JOIN_US_NONE,
    FIGURE_ROUTER_JOIN_US,
    FIGURE_ROUTER_JOIN_US_MANY,
    FIGURE_ROUTER_OBSERVE_US,
    FIGURE_ROUTER_BATCH_US,
    FIGURE_ROUTER_PRESENCE_BYTES,
    FIGURE_ROUTER_FRIEND_BYTES,
    FIGURE_INGEST_REPORT_US,
    FIGURE_FEED_GATEWAY_US,
    FIGURE_FEED_PAGE_US,
    FIGURE_FEED_PAGE_BYTES,
    FIGURE_FEED_POST_US,
    FIGURE_FEED_ENTRY_US,
    FIGURE_FEED_ENTRY_BYTES,
    FIGURE_FEED_INBOX_BYTES,
    FIGURE_FEED_HOT_READ_US,
    FIGURE_FEED_HOT_PUT_US,
    FIGURE_FEED_HOT_BYTES,
    FIGURE_COMMENTS_COMMENT_US,
    FIGURE_COMMENTS_LIKE_US,
    FIGURE_COMMENTS_PAGE_US,
    FIGURE_COMMENTS_GATEWAY_US,
    FIGURE_COMMENTS_HOT_US,
    FIGURE_COMMENTS_PAGE_BYTES,
    FIGURE_COMMENTS_STORE_GB,
    FIGURE_HISTORY_ROWS,
    FIGURE_HISTORY_FILE_BYTES,
    FIGURE_HISTORY_STORE_BYTES,
    FIGURE_HISTORY_MB,
    FIGURE_HISTORY_STORED_MILLIONS,
    FIGURE_HISTORY_RESTORE_ROWS,
    FIGURE_MODERATION_COMMENT_US,
    FIGURE_MODERATION_FILE_MB,
    FIGURE_BROKER_REQUEST_US,
    FIGURE_BROKER_RECORD_US,
    FIGURE_BROKER_COPY_US,
    FIGURE_BROKER_FETCH_US,
    FIGURE_BROKER_FETCHES,
    FIGURE_BROKER_OBSERVE_US,
    FIGURE_BROKER_JOIN_US,
    FIGURE_BROKER_POST_US,
    FIGURE_BROKER_ENTRY_US,
    FIGURE_BROKER_COMMENT_US,
    FIGURE_BROKER_LIKE_US,
    FIGURE_BROKER_REPORT_BYTES,
    FIGURE_BROKER_FRIEND_BYTES,
    FIGURE_BROKER_MAPS,
    FIGURE_BROKER_MB,
    FIGURE_COUNT
};

struct plan_figure_info {
    const char *name; /* "router.report.us" */
    double value;
    const char *unit;
    const char *bench;   /* "./dev bench router" */
    const char *date;    /* when that table was last measured */
    const char *section; /* its heading on the page */
    const char *text;    /* "| **starling-router** | {10.5} |", which stands in that section without braces */
};

extern const struct plan_figure_info PLAN_FIGURES[FIGURE_COUNT];
extern const char PLAN_FIGURES_MACHINE[]; /* on which all of them were measured */

struct plan_figures {
    double values[FIGURE_COUNT];
};

void plan_figures_measured(struct plan_figures *figures);

/* Replaces those that the properties file names (name=number). -EINVAL for an unknown name, or a number that cannot be. */
int plan_figures_load(struct plan_figures *figures, const char *path, struct error *error);

/* Appends all of them as a properties file: a comment with unit, bench, date and section, then name=value. */
void plan_figures_text(struct buffer *out, const struct plan_figures *figures);

#endif
