#include "fanout/comments/change.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "edits/edits.h"
#include "json/json.h"
#include "subjects/words.h"
#include "users/user_json.h"

/* As the gateway shows a comment, without its replies: phones keep those that they have. */
static void put_comment(struct buffer *out, const struct changed_comment *item, const struct event_text *text,
                        struct profiles *profiles) {
    buffer_format(out, "{\"id\":\"%" PRId64 "\",", item->id);
    user_json_find(out, item->user, profiles);
    buffer_string(out, ",\"text\":");
    if (item->state == COMMENT_CHANGE_VISIBLE)
        json_put_text(out, text->data, text->size);
    else
        buffer_string(out, "null");
    buffer_format(out, ",\"time\":%" PRId64 ",", item->time);
    edit_put_state(out, item->version, item->edited);
    buffer_format(out, ",\"floor\":%d", (int)item->floor);
    json_member_id(out, ",\"root\":", item->root);
    json_member_id(out, ",\"reply_to\":", item->answers);
    buffer_format(out, ",\"likes\":%" PRId64 ",\"reply_count\":%d,\"replies\":[],\"state\":\"%s\"}", item->likes,
                  (int)item->replies, COMMENT_STATES[item->state]);
}

static void read_items(struct thread_told *told, const struct comment_change *change, struct profiles *profiles) {
    told->items = mem_zero(change->items.count + 1, sizeof *told->items);
    for (size_t i = 0; i < change->items.count; i++) {
        const struct changed_comment *item = &change->items.items[i];
        size_t at = told->json.size;
        put_comment(&told->json, item, &change->texts.items[i], profiles);
        told->items[told->item_count++] = (struct thread_item){.id = item->id,
                                                               .gone = item->state != COMMENT_CHANGE_VISIBLE,
                                                               .edited = item->version > 1,
                                                               .at = at,
                                                               .size = told->json.size - at};
    }
}

struct thread_told *thread_told_new(struct codec *codec, const void *content, size_t size, struct profiles *profiles) {
    struct comment_change change;
    struct error error;
    if (event_decode_comment_change(codec, content, size, &change, &error)) return NULL;
    if (change.texts.count != change.items.count) return NULL;
    struct thread_told *told = mem_alloc(sizeof *told);
    *told = (struct thread_told){.sampled = change.sampled,
                                 .since = change.since,
                                 .version = change.version,
                                 .total = change.total,
                                 .likes = change.likes,
                                 .counter_count = change.counters.count,
                                 .references = 1};
    read_items(told, &change, profiles);
    told->counters = mem_zero(change.counters.count + 1, sizeof *told->counters);
    for (size_t i = 0; i < change.counters.count; i++)
        told->counters[i] = (struct thread_counters){.id = change.counters.items[i].id,
                                                     .likes = change.counters.items[i].likes,
                                                     .replies = change.counters.items[i].replies};
    return told;
}

struct thread_told *thread_told_take(struct thread_told *told) {
    told->references++;
    return told;
}

void thread_told_give(struct thread_told *told) {
    if (!told || --told->references) return;
    buffer_free(&told->json);
    free(told->items);
    free(told->counters);
    free(told);
}
