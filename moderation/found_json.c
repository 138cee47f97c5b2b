#include "moderation/found_json.h"

#include <inttypes.h>

#include "json/json.h"
#include "subjects/words.h"

static void put_id(struct buffer *out, const char *member, int64_t id) {
    if (id)
        buffer_format(out, ",\"%s\":\"%" PRId64 "\"", member, id);
    else
        buffer_format(out, ",\"%s\":null", member);
}

void found_json_put(struct buffer *out, const struct comment_wide *comment) {
    buffer_format(out, "{\"id\":\"%" PRId64 "\",\"user\":%" PRId64 ",\"text\":", comment->id, comment->user);
    if (comment->state == COMMENT_WIDE_DELETED)
        buffer_string(out, "null");
    else
        json_put_text(out, comment->text.data, comment->text.size);
    buffer_format(out, ",\"time\":%" PRId64 ",\"floor\":%" PRId32, comment->time, comment->floor);
    put_id(out, "root", comment->root);
    put_id(out, "reply_to", comment->answers);
    buffer_format(out,
                  ",\"likes\":%" PRId64 ",\"reply_count\":%" PRId32 ",\"replies\":[],\"state\":\"%s\",\"subject\":",
                  comment->likes, comment->replies, COMMENT_STATES[comment->state]);
    json_put_text(out, comment->subject.data, comment->subject.size);
    buffer_format(out, ",\"reports\":%" PRId32 "}", comment->reports);
}
