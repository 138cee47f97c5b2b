/* A history sink's answer: one page of a user's reports. Pure; any thread. */
#pragma once

#include "base/error.h"
#include "tracks/track.h"

/* Calls take for each report of the page; *next is the cursor of the page behind it (the caller frees) or NULL. -EBADMSG: it cannot be
 * understood, and take may have been called for some. */
int track_page_read(int64_t user, const char *reply, size_t size,
                    void (*take)(void *context, const struct track_report *report), void *context, char **next,
                    struct error *error);
