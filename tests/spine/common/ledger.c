#include "ledger.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "counters.h"

static const char *take(void *partitions, struct table_store *ledger, const struct kafka_record *record,
                        struct error *error) {
    bool is_counter;
    bool valid = counter_state_valid(record, (int32_t)(intptr_t)partitions, &is_counter);
    return valid ? NULL : "neither a counter nor an outcome";
}

struct table_store *ledger_new(struct store *store, int32_t partitions) {
    return table_store_of_topic(store, "counters", partitions, take, (void *)(intptr_t)partitions);
}

int ledger_get(struct table_store *ledger, int32_t partition, const void *key, size_t key_size, void *value,
               size_t size, struct error *error) {
    struct buffer found = {.data = NULL};
    int code = table_store_get(ledger, partition, key, key_size, &found, error);
    if (code == 1 && found.size != size) code = error_set(error, -EBADMSG, "a value of the store has another size");
    if (code == 1) memcpy(value, found.data, size);
    buffer_free(&found);
    return code;
}
