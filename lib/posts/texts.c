#include "posts/texts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "ids/ids.h"
#include "json/json.h"
#include "posts/post_json.h"

enum { GATHER_MS = 2 };

struct shared_text {
    int64_t id;
    enum text_state state;
    bool listed;         /* in by_id. Then it is ASKED, or kept: among `oldest` to `newest` */
    bool forget;         /* ASKED: the answer is not kept */
    unsigned references; /* of callers, and of the question or the list of those to be asked */
    struct text_wait *waits;
    struct shared_text *older, *newer;
    int64_t until_ms; /* kept */
    json_t *post;     /* THERE: as the owner says it */
    struct buffer shown;
    uint64_t shown_at; /* as of that many changes of profiles */
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
    uint64_t profile_changes;
    struct texts_stats stats;
};

static int64_t now_ms(void) { return clock_monotonic_us() / 1000; }

/* ---- one text ---- */

enum text_state text_state_of(const struct shared_text *text) { return text->state; }

static void free_if_unused(struct shared_text *text) {
    if (text->references || text->listed) return;
    json_decref(text->post);
    buffer_free(&text->shown);
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

static bool show(struct texts *texts, struct shared_text *text) {
    buffer_clear(&text->shown);
    text->shown_at = texts->profile_changes;
    return post_put(&text->shown, text->post, texts->options.profiles);
}

void text_put(struct texts *texts, struct shared_text *text, struct buffer *out) {
    if (text->shown_at != texts->profile_changes) show(texts, text);
    buffer_append(out, text->shown.data, text->shown.size);
}

void texts_profile_changed(struct texts *texts) { texts->profile_changes++; }

/* ---- those that are kept ---- */

static void keep(struct texts *texts, struct shared_text *text) {
    text->until_ms = now_ms() + texts->options.kept_ms;
    text->older = texts->newest;
    text->newer = NULL;
    *(text->older ? &text->older->newer : &texts->oldest) = text;
    texts->newest = text;
    texts->stats.kept++;
}

static void drop(struct texts *texts, struct shared_text *text) {
    *(text->older ? &text->older->newer : &texts->oldest) = text->newer;
    *(text->newer ? &text->newer->older : &texts->newest) = text->older;
    texts->stats.kept--;
    map_remove(texts->by_id, (uint64_t)text->id, NULL);
    text->listed = false;
    free_if_unused(text);
}

static void drop_old(struct texts *texts) {
    int64_t now = now_ms();
    while (texts->oldest && (texts->stats.kept > texts->options.kept_max || texts->oldest->until_ms <= now))
        drop(texts, texts->oldest);
}

void texts_forget(struct texts *texts, int64_t id) {
    struct shared_text *text = map_pointer(texts->by_id, (uint64_t)id);
    if (!text) return;
    if (text->state == TEXT_ASKED)
        text->forget = true;
    else
        drop(texts, text);
}

static void settle(struct texts *texts, struct shared_text *text, enum text_state state) {
    text->state = state;
    texts->stats.away += state == TEXT_AWAY;
    if (state != TEXT_AWAY && !text->forget) {
        keep(texts, text);
    } else {
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

static bool is_of(const json_t *post, int64_t id) {
    const char *text;
    int64_t its;
    return json_want_text(post, "id", &text, NULL) == 0 && ids_parse(text, strlen(text), &its) && its == id;
}

static enum text_state read_post(struct texts *texts, struct shared_text *text, json_t *post) {
    if (json_is_null(post)) return TEXT_NONE;
    if (!is_of(post, text->id)) return TEXT_AWAY;
    text->post = json_incref(post);
    return show(texts, text) ? TEXT_THERE : TEXT_AWAY;
}

static void question_out(struct texts *texts, struct texts_question *question) {
    if (!question->link) return;
    *question->link = question->next;
    *(question->next ? &question->next->link : &texts->questions_end) = question->link;
    question->link = NULL;
}

static void answered(void *context, int code, unsigned status, const char *reply, size_t size) {
    struct texts_question *question = context;
    struct texts *texts = question->texts;
    json_t *object = code == 0 && status == 200 ? json_parse(reply, size, NULL) : NULL;
    const json_t *items = json_object_get(object, "items");
    for (size_t i = 0; i < question->count; i++) {
        struct shared_text *text = question->items[i];
        if (text->state == TEXT_ASKED) settle(texts, text, read_post(texts, text, json_array_get(items, i)));
        text_give(text);
    }
    question_out(texts, question);
    free(question);
    json_decref(object);
    drop_old(texts);
    texts->options.answered(texts->options.context);
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
    if (any) texts->options.answered(texts->options.context);
}

/* ---- questions ---- */

static int by_id(const void *a, const void *b) {
    const struct shared_text *const *x = a, *const *y = b;
    int32_t left = ids_partition((*x)->id), right = ids_partition((*y)->id);
    if (left != right) return left < right ? -1 : 1;
    return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

static void ask(struct texts *texts, struct shared_text *const *items, size_t count) {
    int32_t partition = ids_partition(items[0]->id);
    struct texts_question *question = mem_alloc(sizeof *question + count * sizeof *question->items);
    struct buffer path = {.size = 0};
    bool first = !texts->questions;
    *question = (struct texts_question){.texts = texts,
                                        .link = texts->questions_end,
                                        .deadline_ms = now_ms() + texts->options.timeout_ms,
                                        .count = count};
    memcpy(question->items, items, count * sizeof *items);
    *texts->questions_end = question;
    texts->questions_end = &question->next;
    texts->stats.questions++;
    texts->stats.asked += count;
    buffer_format(&path, "/peer/posts/%d?ids=", (int)partition);
    for (size_t i = 0; i < count; i++) buffer_format(&path, "%s%" PRId64, i ? "," : "", items[i]->id);
    if (first) loop_timer_again(texts->timeout, (uint64_t)texts->options.timeout_ms, 0);
    texts->options.fetch(texts->options.context, partition, buffer_cstring(&path), texts->options.timeout_ms, answered,
                         question);
    buffer_free(&path);
}

static void ask_all(void *context) {
    struct texts *texts = context;
    struct shared_text **items = texts->unasked; /* an answer may come at once, and ask for more */
    size_t count = texts->unasked_count, end;
    texts->unasked = NULL;
    texts->unasked_count = texts->unasked_room = 0;
    if (count) qsort(items, count, sizeof *items, by_id);
    for (size_t i = 0; i < count; i = end) {
        int32_t partition = ids_partition(items[i]->id);
        for (end = i; end < count && end - i < TEXTS_QUESTION && ids_partition(items[end]->id) == partition; end++)
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
    text->references = 1;
    if (texts->unasked_count == texts->unasked_room) {
        texts->unasked_room = texts->unasked_room ? texts->unasked_room * 2 : 64;
        texts->unasked = mem_resize(texts->unasked, texts->unasked_room, sizeof *texts->unasked);
    }
    if (!texts->unasked_count) loop_timer_again(texts->gather, GATHER_MS, 0);
    texts->unasked[texts->unasked_count++] = text;
    return text;
}

struct shared_text *texts_get(struct texts *texts, int64_t id) {
    struct shared_text *text = map_pointer(texts->by_id, (uint64_t)id);
    if (text && text->state != TEXT_ASKED && text->until_ms <= now_ms()) {
        drop(texts, text);
        text = NULL;
    }
    if (!text) text = ask_soon(texts, id);
    text->references++;
    return text;
}

struct texts_stats texts_stats_of(const struct texts *texts) {
    return texts->stats;
}

struct texts *texts_new(const struct texts_options *options) {
    struct texts *texts = mem_alloc(sizeof *texts);
    *texts = (struct texts){.options = *options, .by_id = map_new()};
    texts->questions_end = &texts->questions;
    texts->gather = loop_timer_new(options->loop, GATHER_MS, 0, ask_all, texts);
    texts->timeout = loop_timer_new(options->loop, GATHER_MS, 0, time_out, texts);
    loop_timer_stop(texts->gather);
    loop_timer_stop(texts->timeout);
    return texts;
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
    free(texts->unasked);
    free(texts);
}
