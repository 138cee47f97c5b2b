/* Damages one list of ids in the store of a daemon that is not running:
 *
 *     test-damage STORE FAMILY OWNER
 */
#include <stdio.h>
#include <stdlib.h>

#include "adjacency/private.h"

int main(int argc, char **argv) {
    static const uint8_t CUT[] = {0x80};
    struct store_options options = {.point_lookups = true};
    struct store *store = NULL;
    struct store_family *family;
    struct error error = {.text = "usage: test-damage STORE FAMILY OWNER"};
    struct store_pin pin = {.handle = NULL};
    int code = argc == 4 ? store_open(argv[1], &options, &store, &error) : -1;
    if (!code) code = store_family(store, argv[2], &family, &error);
    if (!code) {
        struct adjacency_key key = adjacency_root_key(strtoll(argv[3], NULL, 10), 0);
        struct store_batch *batch = store_batch_new();
        int found = store_get_pinned(store, family, key.bytes, key.size, &pin, &error);
        if (!found) error_set(&error, -1, "there is no such list");
        store_pin_release(&pin);
        store_batch_put(batch, family, key.bytes, key.size, CUT, sizeof CUT);
        code = found > 0 ? store_write(store, batch, true, &error) : -1;
        store_batch_free(batch);
    }
    store_close(store);
    if (code) fprintf(stderr, "%s\n", error.text);
    return code ? 1 : 0;
}
