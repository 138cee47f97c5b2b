/* Records of a topic of watches, and deliveries from owners: the first byte of the input says which. Decoded values are within
 * limits, and an edge and an owner that take them go on working. */
#include <errno.h>

#include "fuzz.h"
#include "watch/edge.h"
#include "watch/owner.h"
#include "watch/records.h"

enum { KEY = 12 }; /* bytes of the input that are the key */

static bool say_version(void *context, int32_t partition, const void *what, size_t size,
                        struct watch_version *version) {
    *version = (struct watch_version){.number = 1};
    return true;
}

static void deliver(void *context, int32_t route, const void *payload, size_t size) {
    struct watch_delivery delivery;
    fuzz_require(route >= 0 && route <= WATCH_ROUTE_MAX);
    fuzz_require(watch_delivery_decode(payload, size, &delivery) == 0);
}

static void take_record(const uint8_t *data, size_t size) {
    struct watch_owner_options options = {.partitions = 1, .version = say_version, .deliver = deliver};
    struct watch_owner *owner = watch_owner_new(&options);
    size_t key = size < KEY ? size : KEY;
    watch_owner_attach(owner, 0, 0);
    watch_owner_live(owner, 0);
    for (int i = 0; i < 2; i++) { // also without what: a roll call after the watch record
        int rc = watch_owner_read(owner, 0, data, key, data + key, size - key);
        fuzz_require(rc == 0 || rc == -EBADMSG);
        if (key < 8) break;
        watch_owner_read(owner, 0, data + key - 8, 8, data + key, size - key);
        watch_owner_continue(owner, 0);
    }
    watch_owner_free(owner);
}

static int32_t partition_of(void *context, const void *what, size_t size) { return 0; }

static int write_record(void *context, int32_t partition, const void *key, size_t key_size, const void *value,
                        size_t value_size) {
    return 0;
}

static void tell_change(void *context, uint64_t session, const void *what, size_t size, struct watch_version since,
                        struct watch_version version, const void *content, size_t content_size) {}

static void tell_stale(void *context, uint64_t session, const void *what, size_t size, struct watch_version version,
                       int64_t after_ms) {
    fuzz_require(after_ms >= 0 && after_ms <= 6000);
}

static void take_delivery(const uint8_t *data, size_t size) {
    struct watch_edge_options options = {.watcher = 1,
                                         .partitions = 1,
                                         .partition = partition_of,
                                         .write = write_record,
                                         .tell_change = tell_change,
                                         .tell_stale = tell_stale};
    struct watch_edge *edge = watch_edge_new(&options, 0);
    struct watch_version one = {.number = 1};
    watch_edge_route(edge, 0);
    watch_edge_show(edge, 1, "feed:7", 6, &one);
    watch_edge_continue(edge, 0);
    int rc = watch_edge_take(edge, data, size);
    fuzz_require(rc == 0 || rc == -EBADMSG);
    watch_edge_continue(edge, 120000);
    watch_edge_free(edge);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0 && data[0] & 1) take_record(data + 1, size - 1);
    if (size > 0 && !(data[0] & 1)) take_delivery(data + 1, size - 1);
    return 0;
}
