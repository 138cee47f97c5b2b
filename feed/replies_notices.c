#include <inttypes.h>

#include "feed/notices.h"
#include "feed/replies_private.h"
#include "json/json.h"

/* A page of notices while it is put together. */
struct notice_page {
    struct replies *replies;
    int32_t partition;
    size_t limit, count;
    bool any_after, more, hidden;  /* any_after: the page begins behind `after`; hidden: all are shown */
    struct notice_key after, last; /* last: the last one on the page */
    int code;
    struct error *error;
};

static bool is_shown(struct notice_page *page, int64_t user, int64_t other) {
    const struct replies_options *options = &page->replies->options;
    bool shown = true;
    if (!page->hidden)
        page->code = notice_shown(options->audience.blocks, options->relations, page->partition, user, other, &shown,
                                  page->error);
    return !page->code && shown;
}

static bool is_behind(const struct notice_key *key, const struct notice_key *after) {
    if (key->time != after->time) return key->time < after->time;
    if (key->kind != after->kind) return key->kind > after->kind;
    return key->number > after->number;
}

static void put_notice(struct buffer *body, const struct notice_key *key, const struct notice *notice) {
    static const char *const WHATS[] = {"follow", "mention", "reply"};
    buffer_string(body, "{\"id\":\"");
    notice_id_put(body, key);
    buffer_format(body, "\",\"what\":\"%s\",\"user\":%" PRId64 ",\"subject\":", WHATS[notice->what], notice->user);
    if (notice->subject.size)
        json_put_text(body, notice->subject.data, notice->subject.size);
    else
        buffer_string(body, "null");
    buffer_string(body, ",\"comment\":");
    if (notice->comment)
        replies_put_id(body, notice->comment);
    else
        buffer_string(body, "null");
    buffer_format(body, ",\"time\":%" PRId64 "}", key->time);
}

static bool add_notice(void *context, const struct notice_key *key, const struct notice *notice) {
    struct notice_page *page = context;
    if (page->any_after && !is_behind(key, &page->after)) return true;
    if (!is_shown(page, key->user, notice->user)) return !page->code;
    if (page->count == page->limit) {
        page->more = true;
        return false;
    }
    if (page->count++) buffer_byte(&page->replies->body, ',');
    put_notice(&page->replies->body, key, notice);
    page->last = *key;
    return true;
}

void replies_notices(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct replies *replies = context;
    const char *after = asked->texts[RPC_AFTER];
    struct error error;
    struct notice_page page = {
        .replies = replies,
        .partition = asked->partition,
        .limit = (size_t)asked->numbers[RPC_LIMIT],
        .any_after = after != NULL,
        .hidden = asked->texts[RPC_HIDDEN] != NULL,
        .error = &error,
    };
    if (after && !notice_id_read(after, &page.after)) {
        rpc_bad_query(request);
        return;
    }
    replies_start(replies, "{\"items\":[");
    int code =
        notices_each(replies->options.notices, page.partition, asked->numbers[RPC_USER], add_notice, &page, &error);
    if (!code) code = page.code;
    if (code) {
        replies_store_failed(replies, request, page.partition, code, &error);
        return;
    }
    buffer_string(&replies->body, "],\"next\":");
    if (page.more) {
        buffer_byte(&replies->body, '"');
        notice_id_put(&replies->body, &page.last);
        buffer_string(&replies->body, "\"}");
    } else {
        buffer_string(&replies->body, "null}");
    }
    http_reply_json(request, 200, &replies->body);
}
