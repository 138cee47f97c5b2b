/* Whether a text waits for a moderator before others see it: it has a word of the operator's list (moderation.words.file), or a filter
 * elsewhere says so, which is asked over HTTP (moderation.filter.url):
 *
 *     POST {"kind": "post" | "comment" | "edit", "user": 7, "text": "...", "media": ["URL", ...]}
 *     200  {"hold": true | false}
 *
 * A filter that is slow, away or overrun holds nobody up: texts pass without it, and are counted. Loop's thread. */
#pragma once

#include "event/types.h"
#include "ingest/settings.h"
#include "service/service.h"

/* A text on its way. */
struct written_text {
    const char *kind; /* for the filter */
    int64_t user;
    struct event_text text;
    struct event_texts media;
};

struct text_filter;

/* Checks the settings, and that the list can be read: -EINVAL and other negative codes with the reason. */
int text_filter_check(const struct ingest_settings *settings, struct error *error);
int text_filter_new(struct service *service, const struct ingest_settings *settings, struct text_filter **out,
                    struct error *error);
void text_filter_free(struct text_filter *filter); /* texts that are being looked at are told so; NULL is fine */

/* Reads the list again. If that fails, the former one counts on, and the log says why. */
void text_filter_reload(struct text_filter *filter);

/* Calls `done` once, perhaps at once. stopping: the gateway ends, and the text may not be written. */
typedef void text_filtered(void *context, bool held, bool stopping);
void text_filter_ask(struct text_filter *filter, const struct written_text *text, void *context, text_filtered *done);
