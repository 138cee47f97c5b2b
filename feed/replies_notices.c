#include <inttypes.h>

#include "feed/replies_private.h"
#include "users/notice.h"

/* A page of notices while it is put together. */
struct notice_page {
    struct replies *replies;
    struct buffer *body;
    int32_t partition;
    size_t limit, count;
    bool any_after, more, hidden;  /* any_after: the page begins behind `after`; hidden: all are shown */
    struct notice_key after, last; /* last: the last one on the page */
    int code;
    struct error *error;
};

static bool is_shown(struct notice_page *page, const struct notice_key *key, int64_t other) {
    bool shown = true;
    if (!page->hidden)
        page->code = notices_shown_is(page->replies->options.notices, page->partition, key, other, &shown, page->error);
    return !page->code && shown;
}

static void put_notice(struct buffer *body, const struct notice_key *key, const struct notice *notice) {
    buffer_string(body, "{\"id\":\"");
    notice_id_put(body, key);
    buffer_format(body, "\",\"what\":\"%s\",\"user\":%" PRId64, NOTICE_WORDS[key->kind], notice->user);
    notice_put_about(body, key, notice);
    if (key->kind == NOTICE_OF_LIKE) buffer_format(body, ",\"likes\":%" PRId64, notice->likes);
    buffer_byte(body, '}');
}

static bool add_notice(void *context, const struct notice_key *key, const struct notice *notice) {
    struct notice_page *page = context;
    if (page->any_after && !notice_is_newer(&page->after, key)) return true;
    if (!is_shown(page, key, notice->user)) return !page->code;
    if (page->count == page->limit) {
        page->more = true;
        return false;
    }
    if (page->count++) buffer_byte(page->body, ',');
    put_notice(page->body, key, notice);
    page->last = *key;
    return true;
}

static int put_page(struct notice_page *page, int64_t user) {
    const struct notices_shown *shown = page->replies->options.notices;
    char version_text[WATCH_VERSION_TEXT];
    struct watch_version version;
    struct notice_settings settings;
    buffer_string(page->body, "{\"items\":[");
    int code = notices_each(shown->notices, page->partition, user, add_notice, page, page->error);
    if (!code) code = page->code;
    if (!code) code = notice_settings_of(shown->settings, page->partition, user, &settings, page->error);
    if (!code) code = notices_shown_version(shown, page->partition, user, &version, page->error);
    if (code) return code;
    buffer_string(page->body, page->more ? "],\"next\":\"" : "],\"next\":null,");
    if (page->more) notice_id_put(page->body, &page->last);
    if (page->more) buffer_string(page->body, "\",");
    notice_settings_put(page->body, &settings);
    watch_version_write(version, version_text);
    buffer_format(page->body, ",\"version\":\"%s\"}", version_text);
    return 0;
}

int replies_put_notices(struct replies *replies, int32_t partition, int64_t user, struct buffer *body,
                        struct error *error) {
    struct notice_page page = {
        .replies = replies, .body = body, .partition = partition, .limit = NOTICES_KEPT, .error = error};
    int code = put_page(&page, user);
    return code ? code : 1;
}

void replies_notices(void *context, struct http_request *request, const struct rpc_asked *asked) {
    struct replies *replies = context;
    const char *after = asked->texts[RPC_AFTER];
    struct error error;
    struct notice_page page = {
        .replies = replies,
        .body = &replies->body,
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
    replies_start(replies, "");
    int code = put_page(&page, asked->numbers[RPC_USER]);
    if (code)
        replies_store_failed(replies, request, page.partition, code, &error);
    else
        http_reply_json(request, 200, &replies->body);
}
