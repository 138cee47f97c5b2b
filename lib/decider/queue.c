#include "decider/queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { SMALLEST = 256 };

static void dead_free(struct dead_command *dead) {
    if (!dead) return;
    free((void *)(uintptr_t)dead->record.key);
    free((void *)(uintptr_t)dead->record.value);
    free(dead->reason);
    free(dead);
}

static void *copy(const void *bytes, size_t size) {
    if (!bytes) return NULL;
    void *own = mem_alloc(size);
    if (size) memcpy(own, bytes, size);
    return own;
}

struct dead_command *queue_dead_new(const struct kafka_record *record, const char *reason) {
    struct dead_command *dead = MEM_NEW(&(struct dead_command){.record = *record, .reason = mem_string(reason)});
    dead->record.key = copy(record->key, record->key_size);
    dead->record.value = copy(record->value, record->value_size);
    dead->record.message = NULL; // it lives as long as its batch
    return dead;
}

struct decider_queue queue_new(size_t item_size, void (*release)(void *item)) {
    return (struct decider_queue){.item_size = (item_size + 7) & ~(size_t)7, .release = release};
}

void queue_drop(struct decider_queue *queue, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct dead_command *dead = queue_at(queue, i)->dead;
        if (!dead && queue->release) queue->release(queue->items + (queue->first + i) * queue->item_size);
        queue->bytes -= queue_at(queue, i)->size;
        dead_free(dead);
    }
    queue->first += count;
    queue->count -= count;
    if (!queue->count) queue->first = 0;
}

void queue_clear(struct decider_queue *queue) { queue_drop(queue, queue->count); }

void queue_free(struct decider_queue *queue) {
    queue_clear(queue);
    free(queue->commands);
    free(queue->items);
}

struct queued_command *queue_at(const struct decider_queue *queue, size_t n) {
    return &queue->commands[queue->first + n];
}

const void *queue_item(const struct decider_queue *queue, size_t n) {
    return queue->items + (queue->first + n) * queue->item_size;
}

/* Only when at least half of the room is in front, so that each one moves a few times at most. */
static void move_to_front(struct decider_queue *queue) {
    if (queue->count) {
        memmove(queue->commands, queue_at(queue, 0), queue->count * sizeof *queue->commands);
        memmove(queue->items, queue_item(queue, 0), queue->count * queue->item_size);
    }
    queue->first = 0;
}

void *queue_reserve(struct decider_queue *queue) {
    if (queue->first + queue->count == queue->capacity && queue->first && queue->first >= queue->count)
        move_to_front(queue);
    if (queue->first + queue->count == queue->capacity) {
        queue->capacity = queue->capacity ? queue->capacity * 2 : SMALLEST;
        queue->commands = mem_resize(queue->commands, queue->capacity, sizeof *queue->commands);
        queue->items = mem_resize(queue->items, queue->capacity, queue->item_size);
    }
    return queue->items + (queue->first + queue->count) * queue->item_size;
}

void queue_add(struct decider_queue *queue, const struct queued_command *command) {
    queue->commands[queue->first + queue->count++] = *command;
    queue->bytes += command->size;
}
