#include "ingest/feed/refs.h"

#include <stdlib.h>

#include "base/mem.h"
#include "ids/ids.h"

void page_refs_free(struct page_refs *refs) {
    free(refs->items);
    *refs = (struct page_refs){0};
}

static bool read_ref(struct json_scan *scan, struct page_ref *ref) {
    struct json_bytes key, id;
    *ref = (struct page_ref){.id = -1, .user = -1, .version = 1};
    json_scan_object(scan);
    while (json_scan_member(scan, &key)) {
        if (json_bytes_are(&key, "id")) {
            if (!json_scan_text(scan, &id) || !ids_parse(id.data, id.size, &ref->id)) return false;
        } else if (json_bytes_are(&key, "user")) {
            if (!json_scan_int(scan, &ref->user)) return false;
        } else if (json_bytes_are(&key, "version")) {
            if (!json_scan_int(scan, &ref->version)) return false;
        } else {
            json_scan_value(scan, NULL);
        }
    }
    return !scan->bad && ref->id >= 0 && ref->user >= 0;
}

bool page_refs_read(struct page_refs *refs, struct json_bytes posts) {
    struct json_scan scan = json_scan_of(posts.data, posts.size);
    size_t count = refs->count;
    json_scan_array(&scan);
    while (json_scan_element(&scan)) {
        MEM_ROOM(refs->items, count, refs->capacity);
        if (!read_ref(&scan, &refs->items[count++])) return false;
    }
    if (scan.bad) return false;
    refs->count = count;
    return true;
}

static int newest_first(const void *a, const void *b) {
    const struct page_ref *x = a, *y = b;
    return (x->id < y->id) - (x->id > y->id);
}

static bool is_sorted(const struct page_refs *refs) {
    for (size_t i = 1; i < refs->count; i++)
        if (refs->items[i - 1].id <= refs->items[i].id) return false;
    return true;
}

void page_refs_merge(struct page_refs *refs, size_t max) {
    size_t kept = 0;
    if (!is_sorted(refs)) qsort(refs->items, refs->count, sizeof *refs->items, newest_first);
    for (size_t i = 0; i < refs->count && kept < max; i++)
        if (!kept || refs->items[i].id != refs->items[kept - 1].id) refs->items[kept++] = refs->items[i];
    refs->count = kept;
}
