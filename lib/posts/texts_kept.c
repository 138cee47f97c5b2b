/* One text: its author's name, those who wait for it, and how long it is kept. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "posts/texts_private.h"
#include "users/user_json.h"

enum { MAP_BYTES = 32 }; /* that a kept text takes in by_id */

enum text_state text_state_of(const struct shared_text *text) { return text->state; }

size_t text_size(const struct shared_text *text) { return text->state == TEXT_THERE ? text->size : 0; }

size_t text_share(const struct shared_text *text) {
    return text_size(text) / (text->references ? text->references : 1) + 1;
}

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
    return &texts->name_changes[hash_fold((uint64_t)user) % TEXTS_NAME_SLOTS];
}

void texts_profile_changed(struct texts *texts, int64_t user) { ++*changes_of(texts, user); }

void texts_take_made(struct texts *texts, struct shared_text *text) {
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
    user_json_find(made, shown->user, texts->options.profiles);
    size_t end = made->size;
    buffer_append(made, text->json + shown->user_end, text->size - shown->user_end);
    shown->user_end = end;
    if (text->listed) texts->stats.kept_bytes += made->size - text->size;
    texts_take_made(texts, text);
}

bool text_put(struct texts *texts, struct shared_text *text, int64_t reader, bool vouched, struct buffer *out) {
    if (!vouched && !sights_may(texts->options.sights, text->shown.user, reader)) return false;
    if (text->shown_at != *changes_of(texts, text->shown.user)) rename_author(texts, text);
    buffer_append(out, text->json, text->size);
    return true;
}

/* ---- those that are kept ---- */

static size_t bytes_of(const struct shared_text *text) { return sizeof *text + MAP_BYTES + text->size; }

static void keep(struct texts *texts, struct shared_text *text) {
    text->until_ms = texts_now_ms() + texts->options.kept_ms;
    text->older = texts->newest;
    text->newer = NULL;
    *(text->older ? &text->older->newer : &texts->oldest) = text;
    texts->newest = text;
    texts->stats.kept++;
    texts->stats.kept_bytes += bytes_of(text);
}

void texts_drop(struct texts *texts, struct shared_text *text) {
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

void texts_drop_old(struct texts *texts) {
    int64_t now = texts_now_ms();
    while (texts->oldest && (too_many(texts) || texts->oldest->until_ms <= now)) texts_drop(texts, texts->oldest);
}

void texts_forget(struct texts *texts, int64_t id) {
    struct shared_text *text = map_pointer(texts->by_id, (uint64_t)id);
    if (!text) return;
    if (text->state != TEXT_ASKED) {
        texts_drop(texts, text);
        return;
    }
    // Its owner may have answered already: it is settled for those who wait, and not found any more.
    text->forget = true;
    text->listed = false;
    map_remove(texts->by_id, (uint64_t)id, NULL);
}

void texts_settle(struct texts *texts, struct shared_text *text, enum text_state state) {
    text->state = state;
    texts->stats.away += state == TEXT_AWAY;
    bool former = state == TEXT_THERE && text->shown.version < text->wanted;
    if (state != TEXT_AWAY && !text->forget && !former) {
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
