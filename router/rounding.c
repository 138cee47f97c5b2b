#include "router/rounding.h"

#include <stdlib.h>

#include "base/mem.h"

void rounding_list_free(struct rounding_list *list) {
    free(list->items);
    *list = (struct rounding_list){.items = NULL};
}

void rounding_list_add(struct rounding_list *list, int64_t friend, uint8_t bits) {
    MEM_ROOM(list->items, list->count, list->capacity);
    list->items[list->count++] = (struct rounding){.friend = friend, .bits = bits};
}
