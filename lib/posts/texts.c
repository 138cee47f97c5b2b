#include <stdlib.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "ids/ids.h"
#include "posts/texts_private.h"
#include "rpc/questions.h"

/* ---- answers ---- */

/* The text is to be asked for, and the list of those takes over a reference. */
static void line_up(struct texts *texts, struct shared_text *text) {
    MEM_ROOM(texts->unasked, texts->unasked_count, texts->unasked_room);
    if (!texts->unasked_count) loop_timer_again(texts->gather, texts->options.gather_ms, 0);
    texts->unasked[texts->unasked_count++] = text;
    text->references++;
}

static void ask_alone(struct texts *texts, struct shared_text *text) {
    if (text->alone) {
        texts_settle(texts, text, TEXT_AWAY);
        return;
    }
    text->alone = true;
    line_up(texts, text);
}

static bool read_post(struct texts *texts, struct shared_text *text, struct json_bytes post) {
    buffer_clear(&texts->made);
    if (!post_put_bytes(&texts->made, post, texts->options.profiles, &text->shown) || text->shown.id != text->id)
        return false;
    texts_take_made(texts, text);
    return true;
}

/* The text is ASKED: it is settled, or asked for again. */
static void read_item(struct texts *texts, struct shared_text *text, struct json_bytes item) {
    if (json_bytes_are(&item, "null"))
        texts_settle(texts, text, TEXT_NONE);
    else if (json_bytes_are(&item, "false"))
        ask_alone(texts, text);
    else
        texts_settle(texts, text, read_post(texts, text, item) ? TEXT_THERE : TEXT_AWAY);
}

/* Begins to read the items. False: it is no answer, and is bad. */
static bool find_items(struct json_scan *reply) {
    struct json_bytes key;
    if (json_scan_object(reply) && json_scan_member(reply, &key) && json_bytes_are(&key, "items") &&
        json_scan_array(reply))
        return true;
    reply->bad = true;
    return false;
}

static void read_items(struct texts *texts, const struct texts_question *question, struct json_scan *reply) {
    bool more = find_items(reply);
    for (size_t i = 0; i < question->count; i++) {
        struct shared_text *text = question->items[i];
        struct json_bytes item;
        more = more && json_scan_element(reply) && json_scan_value(reply, &item);
        if (text->state == TEXT_ASKED && more)
            read_item(texts, text, item);
        else if (text->state == TEXT_ASKED && i > 0 && !reply->bad)
            line_up(texts, text); // the answer was full
        else if (text->state == TEXT_ASKED)
            texts_settle(texts, text, TEXT_AWAY);
        text_give(text);
    }
}

static void question_out(struct texts *texts, struct texts_question *question) {
    if (!question->link) return;
    *question->link = question->next;
    *(question->next ? &question->next->link : &texts->questions_end) = question->link;
    question->link = NULL;
}

static void tell_answered(const struct texts *texts) {
    if (texts->options.answered) texts->options.answered(texts->options.context);
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct texts_question *question = context;
    struct texts *texts = question->texts;
    struct json_scan reply = json_scan_of(text, code == 0 && status == 200 ? size : 0);
    question_out(texts, question);
    read_items(texts, question, &reply);
    free(question);
    texts_drop_old(texts);
    tell_answered(texts);
}

/* Questions time out in the order in which they were asked, as all have the same timeout. */
static void time_out(void *context) {
    struct texts *texts = context;
    int64_t now = texts_now_ms();
    bool any = false;
    while (texts->questions && texts->questions->deadline_ms <= now) {
        struct texts_question *question = texts->questions;
        question_out(texts, question);
        for (size_t i = 0; i < question->count; i++) texts_settle(texts, question->items[i], TEXT_AWAY);
        any = true;
    }
    if (texts->questions) loop_timer_again(texts->timeout, (uint64_t)(texts->questions->deadline_ms - now), 0);
    if (any) tell_answered(texts);
}

/* ---- questions ---- */

/* Text of an id, and the partition whose owner is asked for it. */
struct asked_text {
    struct shared_text *text;
    int32_t partition;
};

static int by_owner(const void *a, const void *b) {
    const struct asked_text *x = a, *y = b;
    if (x->partition != y->partition) return x->partition < y->partition ? -1 : 1;
    return (x->text->id > y->text->id) - (x->text->id < y->text->id);
}

static void ask(struct texts *texts, const struct asked_text *items, size_t count) {
    struct texts_question *question = mem_alloc(sizeof *question + count * sizeof *question->items);
    struct buffer ids = {.size = 0};
    bool first = !texts->questions;
    *question = (struct texts_question){.texts = texts,
                                        .link = texts->questions_end,
                                        .deadline_ms = texts_now_ms() + texts->options.timeout_ms,
                                        .count = count};
    *texts->questions_end = question;
    texts->questions_end = &question->next;
    texts->stats.questions++;
    texts->stats.asked += count;
    for (size_t i = 0; i < count; i++) {
        question->items[i] = items[i].text;
        if (i) buffer_byte(&ids, ',');
        text_int(&ids, items[i].text->id);
    }
    char *path =
        rpc_path(&ASK_POSTS, RPC_VALUES(RPC_INT(PARTITION, items[0].partition), RPC_TEXT(IDS, buffer_cstring(&ids))));
    if (first) loop_timer_again(texts->timeout, (uint64_t)texts->options.timeout_ms, 0);
    texts->options.fetch(texts->options.context, items[0].partition, path, texts->options.timeout_ms, answered,
                         question);
    buffer_free(&ids);
    free(path);
}

/* Takes those that are to be asked for off the list, in the order of their owners. */
static struct asked_text *take_unasked(struct texts *texts, size_t *count) {
    const int32_t *lowest = texts->options.lowest ? texts->options.lowest(texts->options.context) : NULL;
    struct asked_text *items = mem_alloc((texts->unasked_count + 1) * sizeof *items);
    *count = texts->unasked_count;
    for (size_t i = 0; i < *count; i++) {
        struct shared_text *text = texts->unasked[i];
        int32_t partition = ids_partition(text->id);
        items[i] = (struct asked_text){text, lowest && !text->alone ? lowest[partition] : partition};
    }
    texts->unasked_count = 0;
    qsort(items, *count, sizeof *items, by_owner);
    return items;
}

/* An answer may come at once, and ask for more. */
static void ask_all(void *context) {
    struct texts *texts = context;
    size_t count, end;
    struct asked_text *items = take_unasked(texts, &count);
    for (size_t i = 0; i < count; i = end) {
        for (end = i; end < count && end - i < TEXTS_QUESTION && items[end].partition == items[i].partition; end++)
            ;
        ask(texts, items + i, end - i);
    }
    free(items);
}

static struct shared_text *ask_soon(struct texts *texts, int64_t id) {
    struct shared_text *text = MEM_NEW(&(struct shared_text){.id = id, .state = TEXT_ASKED});
    if (ids_partition(id) >= texts->options.partitions) {
        text->state = TEXT_AWAY;
        texts->stats.away++;
        return text;
    }
    *map_put(texts->by_id, (uint64_t)id, NULL) = (uintptr_t)text;
    text->listed = true;
    line_up(texts, text);
    return text;
}

static bool is_over(const struct shared_text *text, int64_t version) {
    return text->until_ms <= texts_now_ms() || (text->state == TEXT_THERE && text->shown.version < version);
}

struct shared_text *texts_get(struct texts *texts, int64_t id, int64_t version) {
    struct shared_text *text = map_pointer(texts->by_id, (uint64_t)id);
    if (text && text->state != TEXT_ASKED && is_over(text, version)) {
        texts_drop(texts, text);
        text = NULL;
    }
    texts->stats.found += text != NULL;
    if (!text) text = ask_soon(texts, id);
    if (version > text->wanted) text->wanted = version;
    text->references++;
    return text;
}

struct texts_stats texts_stats_of(const struct texts *texts) {
    return texts->stats;
}

struct texts *texts_new(const struct texts_options *options) {
    struct texts *texts = mem_zero(1, sizeof *texts);
    texts->options = *options;
    texts->by_id = map_new();
    texts->questions_end = &texts->questions;
    texts->gather = loop_timer_new(options->loop, 1, 0, ask_all, texts);
    texts->timeout = loop_timer_new(options->loop, 1, 0, time_out, texts);
    loop_timer_stop(texts->gather);
    loop_timer_stop(texts->timeout);
    return texts;
}

void texts_stop(struct texts *texts) {
    while (texts->unasked_count) {
        struct shared_text *text = texts->unasked[--texts->unasked_count];
        texts_settle(texts, text, TEXT_AWAY);
        text_give(text);
    }
    loop_timer_stop(texts->gather);
    tell_answered(texts);
}

void texts_free(struct texts *texts) {
    if (!texts) return;
    for (size_t i = 0; i < texts->unasked_count; i++) {
        texts->unasked[i]->listed = false;
        text_give(texts->unasked[i]);
    }
    while (texts->oldest) texts_drop(texts, texts->oldest);
    loop_timer_free(texts->gather);
    loop_timer_free(texts->timeout);
    map_free(texts->by_id);
    buffer_free(&texts->made);
    free(texts->unasked);
    free(texts);
}
