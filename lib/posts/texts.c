#include "posts/texts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/text.h"
#include "ids/ids.h"
#include "posts/post_json.h"

enum {
    NAME_SLOTS = 4096, /* a changed profile has the names of one in so many users looked up again */
    MAP_BYTES = 32     /* that a kept text takes in by_id */
};

struct shared_text {
    int64_t id;
    enum text_state state;
    bool listed;         /* in by_id. Then it is ASKED, or kept: among `oldest` to `newest` */
    bool forget;         /* ASKED: the answer is not kept */
    bool alone;          /* ASKED: the process that was asked does not own its partition: its own owner is asked */
    unsigned references; /* of callers, and of the question or the list of those to be asked */
    struct text_wait *waits;
    struct shared_text *older, *newer;
    int64_t until_ms; /* kept */
    uint8_t *json;    /* THERE: as clients see it */
    size_t size;
    struct post_shown shown;
    uint32_t shown_at; /* as of that many changes of profiles in its user's slot */
};

struct texts_question {
    struct texts *texts;
    struct texts_question *next, **link; /* questions without an answer, oldest first; link NULL: too late */
    int64_t deadline_ms;
    size_t count;
    struct shared_text *items[];
};

struct texts {
    struct texts_options options;
    struct map *by_id;
    struct shared_text **unasked;
    size_t unasked_count, unasked_room;
    struct shared_text *oldest, *newest;
    struct texts_question *questions, **questions_end;
    struct loop_timer *gather, *timeout;
    struct buffer made;                /* where JSON is written before its size is known */
    uint32_t name_changes[NAME_SLOTS]; /* by the user's hash */
    struct texts_stats stats;
};

static int64_t now_ms(void) { return clock_monotonic_us() / 1000; }

/* ---- one text ---- */

enum text_state text_state_of(const struct shared_text *text) { return text->state; }

static void free_if_unused(struct shared_text *text) {
    if (text->references || text->listed) return;
    free(text->json);
    free(text);
}

void text_give(struct shared_text *text) {
    text->references--;
    free_if_unused(text);
}

void text_await(struct shared_text *text, struct text_wait *wait) {
    wait->next = text->waits;
    wait->link = &text->waits;
    if (wait->next) wait->next->link = &wait->next;
    text->waits = wait;
}

void text_await_end(struct text_wait *wait) {
    if (!wait->link) return;
    *wait->link = wait->next;
    if (wait->next) wait->next->link = wait->link;
    wait->link = NULL;
}

static uint32_t *changes_of(struct texts *texts, int64_t user) {
    return &texts->name_changes[hash_u64((uint64_t)user) % NAME_SLOTS];
}

void texts_profile_changed(struct texts *texts, int64_t user) { ++*changes_of(texts, user); }

/* The text becomes what was just made. */
static void take_made(struct texts *texts, struct shared_text *text) {
    const struct buffer *made = &texts->made;
    if (text->size != made->size) text->json = mem_resize(text->json, made->size, 1);
    memcpy(text->json, made->data, made->size);
    text->size = made->size;
    text->shown_at = *changes_of(texts, text->shown.user);
}

/* Writes the author's name anew. */
static void rename_author(struct texts *texts, struct shared_text *text) {
    struct post_shown *shown = &text->shown;
    struct buffer *made = &texts->made;
    buffer_clear(made);
    buffer_append(made, text->json, shown->user_at);
    post_put_user(made, shown->user, texts->options.profiles);
    size_t end = made->size;
    buffer_append(made, text->json + shown->user_end, text->size - shown->user_end);
    shown->user_end = end;
    if (text->listed) texts->stats.kept_bytes += made->size - text->size;
    take_made(texts, text);
}

void text_put(struct texts *texts, struct shared_text *text, struct buffer *out) {
    if (text->shown_at != *changes_of(texts, text->shown.user)) rename_author(texts, text);
    buffer_append(out, text->json, text->size);
}

/* ---- those that are kept ---- */

static size_t bytes_of(const struct shared_text *text) { return sizeof *text + MAP_BYTES + text->size; }

static void keep(struct texts *texts, struct shared_text *text) {
    text->until_ms = now_ms() + texts->options.kept_ms;
    text->older = texts->newest;
    text->newer = NULL;
    *(text->older ? &text->older->newer : &texts->oldest) = text;
    texts->newest = text;
    texts->stats.kept++;
    texts->stats.kept_bytes += bytes_of(text);
}

static void drop(struct texts *texts, struct shared_text *text) {
    *(text->older ? &text->older->newer : &texts->oldest) = text->newer;
    *(text->newer ? &text->newer->older : &texts->newest) = text->older;
    texts->stats.kept--;
    texts->stats.kept_bytes -= bytes_of(text);
    map_remove(texts->by_id, (uint64_t)text->id, NULL);
    text->listed = false;
    free_if_unused(text);
}

static bool too_many(const struct texts *texts) {
    const struct texts_options *options = &texts->options;
    return texts->stats.kept > options->kept_max || texts->stats.kept_bytes > options->kept_bytes;
}

static void drop_old(struct texts *texts) {
    int64_t now = now_ms();
    while (texts->oldest && (too_many(texts) || texts->oldest->until_ms <= now)) drop(texts, texts->oldest);
}

void texts_forget(struct texts *texts, int64_t id) {
    struct shared_text *text = map_pointer(texts->by_id, (uint64_t)id);
    if (!text) return;
    if (text->state != TEXT_ASKED) {
        drop(texts, text);
        return;
    }
    // Its owner may have answered already: it is settled for those who wait, and not found any more.
    text->forget = true;
    text->listed = false;
    map_remove(texts->by_id, (uint64_t)id, NULL);
}

static void settle(struct texts *texts, struct shared_text *text, enum text_state state) {
    text->state = state;
    texts->stats.away += state == TEXT_AWAY;
    if (state != TEXT_AWAY && !text->forget) {
        keep(texts, text);
    } else if (text->listed) {
        map_remove(texts->by_id, (uint64_t)text->id, NULL);
        text->listed = false;
    }
    while (text->waits) {
        struct text_wait *wait = text->waits;
        text_await_end(wait);
        texts->options.settled(texts->options.context, wait);
    }
}

/* ---- answers ---- */

/* The text is to be asked for, and the list of those takes over a reference. */
static void line_up(struct texts *texts, struct shared_text *text) {
    if (texts->unasked_count == texts->unasked_room) {
        texts->unasked_room = texts->unasked_room ? texts->unasked_room * 2 : 64;
        texts->unasked = mem_resize(texts->unasked, texts->unasked_room, sizeof *texts->unasked);
    }
    if (!texts->unasked_count) loop_timer_again(texts->gather, texts->options.gather_ms, 0);
    texts->unasked[texts->unasked_count++] = text;
    text->references++;
}

static void ask_alone(struct texts *texts, struct shared_text *text) {
    if (text->alone) {
        settle(texts, text, TEXT_AWAY);
        return;
    }
    text->alone = true;
    line_up(texts, text);
}

static bool read_post(struct texts *texts, struct shared_text *text, struct json_bytes post) {
    buffer_clear(&texts->made);
    if (!post_put_bytes(&texts->made, post, texts->options.profiles, &text->shown) || text->shown.id != text->id)
        return false;
    take_made(texts, text);
    return true;
}

/* The text is ASKED: it is settled, or asked for again. */
static void read_item(struct texts *texts, struct shared_text *text, struct json_bytes item) {
    if (json_bytes_are(&item, "null"))
        settle(texts, text, TEXT_NONE);
    else if (json_bytes_are(&item, "false"))
        ask_alone(texts, text);
    else
        settle(texts, text, read_post(texts, text, item) ? TEXT_THERE : TEXT_AWAY);
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
            settle(texts, text, TEXT_AWAY);
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
    drop_old(texts);
    tell_answered(texts);
}

/* Questions time out in the order in which they were asked, as all have the same timeout. */
static void time_out(void *context) {
    struct texts *texts = context;
    int64_t now = now_ms();
    bool any = false;
    while (texts->questions && texts->questions->deadline_ms <= now) {
        struct texts_question *question = texts->questions;
        question_out(texts, question);
        for (size_t i = 0; i < question->count; i++) settle(texts, question->items[i], TEXT_AWAY);
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
    struct buffer path = {.size = 0};
    bool first = !texts->questions;
    *question = (struct texts_question){.texts = texts,
                                        .link = texts->questions_end,
                                        .deadline_ms = now_ms() + texts->options.timeout_ms,
                                        .count = count};
    *texts->questions_end = question;
    texts->questions_end = &question->next;
    texts->stats.questions++;
    texts->stats.asked += count;
    buffer_format(&path, "/peer/posts/%d?ids=", (int)items[0].partition);
    for (size_t i = 0; i < count; i++) {
        question->items[i] = items[i].text;
        if (i) buffer_byte(&path, ',');
        text_int(&path, items[i].text->id);
    }
    if (first) loop_timer_again(texts->timeout, (uint64_t)texts->options.timeout_ms, 0);
    texts->options.fetch(texts->options.context, items[0].partition, buffer_cstring(&path), texts->options.timeout_ms,
                         answered, question);
    buffer_free(&path);
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
    struct shared_text *text = mem_alloc(sizeof *text);
    *text = (struct shared_text){.id = id, .state = TEXT_ASKED};
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

struct shared_text *texts_get(struct texts *texts, int64_t id) {
    struct shared_text *text = map_pointer(texts->by_id, (uint64_t)id);
    if (text && text->state != TEXT_ASKED && text->until_ms <= now_ms()) {
        drop(texts, text);
        text = NULL;
    }
    texts->stats.found += text != NULL;
    if (!text) text = ask_soon(texts, id);
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
        settle(texts, text, TEXT_AWAY);
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
    while (texts->oldest) drop(texts, texts->oldest);
    loop_timer_free(texts->gather);
    loop_timer_free(texts->timeout);
    map_free(texts->by_id);
    buffer_free(&texts->made);
    free(texts->unasked);
    free(texts);
}
