#include "ingest/nearby/mutual.h"

static struct json_scan ids_of(const struct json_bytes *answer) {
    struct json_scan scan = json_scan_of(answer->data, answer->size);
    struct json_bytes key;
    if (!json_scan_object(&scan) || !json_scan_member(&scan, &key) || !json_scan_array(&scan)) scan.bad = true;
    return scan;
}

static bool next_id(struct json_scan *scan, int64_t *id) { return json_scan_element(scan) && json_scan_int(scan, id); }

json_t *mutual_page(const struct json_bytes answers[2], int64_t after, size_t limit) {
    struct json_scan a = ids_of(&answers[0]), b = ids_of(&answers[1]);
    json_t *items = json_array();
    json_int_t last = -1, total = 0;
    int64_t x, y;
    bool more = false; // pages
    for (bool both = !a.bad && !b.bad && next_id(&a, &x) && next_id(&b, &y); both;) {
        int64_t low = x < y ? x : y;
        bool mutual = x == y, fits = json_array_size(items) < limit;
        total += mutual;
        if (mutual && low > after) {
            more = !fits;
            if (fits) json_array_append_new(items, json_pack("{sI}", "user", last = low));
        }
        both = (x > low || next_id(&a, &x)) && (y > low || next_id(&b, &y));
    }
    json_t *next = more ? json_integer(last) : json_null();
    json_t *page = json_pack("{sosI so}", "items", items, "total", total, "next", next);
    if (!a.bad && !b.bad) return page;
    json_decref(page);
    return NULL;
}
