#include "ingest/feed/refs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ids/ids.h"

enum { IDS_A_QUESTION = 250 }; /* 5 KB of a URL, and some MiB of posts at most */

void page_refs_free(struct page_refs *refs) {
    for (size_t i = 0; i < refs->count; i++) json_decref(refs->items[i].post);
    free(refs->items);
    *refs = (struct page_refs){0};
}

static bool read_ref(const json_t *post, struct page_ref *ref) {
    const char *id;
    *ref = (struct page_ref){.state = REF_UNKNOWN};
    return json_want_text(post, "id", &id, NULL) == 0 && ids_parse(id, strlen(id), &ref->id) &&
           json_want_int(post, "user", 0, INT64_MAX, &ref->user, NULL) == 0;
}

bool page_refs_read(struct page_refs *refs, const json_t *posts) {
    size_t count = json_array_size(posts);
    if (!json_is_array(posts)) return false;
    if (refs->count + count > refs->capacity) {
        refs->capacity = refs->count + count;
        refs->items = mem_resize(refs->items, refs->capacity, sizeof *refs->items);
    }
    for (size_t i = 0; i < count; i++) {
        if (!read_ref(json_array_get(posts, i), &refs->items[refs->count + i])) return false;
    }
    refs->count += count;
    return true;
}

static int newest_first(const void *a, const void *b) {
    const struct page_ref *x = a, *y = b;
    return (x->id < y->id) - (x->id > y->id);
}

void page_refs_merge(struct page_refs *refs, size_t max) {
    size_t kept = 0;
    if (!refs->count) return;
    qsort(refs->items, refs->count, sizeof *refs->items, newest_first);
    for (size_t i = 0; i < refs->count && kept < max; i++) {
        if (!kept || refs->items[i].id != refs->items[kept - 1].id) refs->items[kept++] = refs->items[i];
    }
    refs->count = kept;
}

bool page_refs_ask(struct page_refs *refs, size_t count, size_t question, int32_t partitions, const int32_t *lowest,
                   int32_t *partition, struct buffer *path) {
    size_t asked = 0;
    for (size_t i = 0; i < count && asked < IDS_A_QUESTION; i++) {
        struct page_ref *ref = &refs->items[i];
        int32_t its = ids_partition(ref->id);
        if (ref->question || its >= partitions) continue;
        if (!ref->alone) its = lowest[its];
        if (asked && its != *partition) continue;
        *partition = its;
        ref->question = question;
        buffer_format(path, "%s%" PRId64, asked++ ? "," : "", ref->id);
    }
    return asked;
}

bool page_refs_answer(struct page_refs *refs, size_t question, const json_t *posts) {
    size_t at = 0;
    bool elsewhere = false;
    for (size_t i = 0; i < refs->count; i++) {
        struct page_ref *ref = &refs->items[i];
        if (ref->question != question) continue;
        json_t *post = json_array_get(posts, at);
        if (at && !post) ref->state = REF_LATER;
        if (post) at++;
        if (json_is_null(post)) ref->state = REF_GONE;
        if (json_is_false(post) && !ref->alone) {
            ref->alone = elsewhere = true;
            ref->question = 0;
        }
        if (!json_is_object(post)) continue;
        ref->state = REF_FOUND;
        ref->post = json_incref(post);
    }
    return elsewhere;
}
