/* The page of `starling status --live`: daemons as a table that fits a terminal. Pure; one thread. */
#pragma once

#include <stdint.h>

#include "cli/daemon_view.h"
#include "base/buffer.h"

enum { STATUS_PAGE_UNLIMITED = INT32_MAX };

struct status_page {
    int rows, columns; /* of the terminal, or STATUS_PAGE_UNLIMITED */
    bool colours;
    int64_t now_ms;   /* wall clock */
    const char *hint; /* behind the heading: how to end; NULL: nothing */
};

/* Appends the page: lines separated by '\n', `rows` at most (but three), each shorter than `columns`. Daemons stand in the order in which data flows
 * through them, then by address; if there is no room for all, those that are not ready come first, and the last line counts the others.
 * A narrow page leaves out columns, the least important first. */
void status_page(struct buffer *out, const struct daemon_view *const *views, size_t count,
                 const struct status_page *page);
