#include "cli/moving_thread.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/text_map.h"

enum { TEXTS = 7 };

struct gathered {
    struct moving_comment comment; /* its texts are these: */
    char *texts[TEXTS];
    long line;
    size_t number; /* in the file */
    bool left_out, given, on_the_way;
    struct gathered *above; /* that it answers; NULL: none */
};

struct moving_thread {
    char *name; /* of the subject */
    struct moving_subject subject;
    struct gathered **items;
    size_t count, capacity;
};

struct moving_thread *moving_thread_new(const struct moving_subject *subject) {
    struct moving_thread *thread = mem_alloc(sizeof *thread);
    *thread = (struct moving_thread){.name = mem_string(subject->subject), .subject = *subject};
    thread->subject.subject = thread->name;
    return thread;
}

void moving_thread_free(struct moving_thread *thread) {
    if (!thread) return;
    for (size_t i = 0; i < thread->count; i++) {
        for (int t = 0; t < TEXTS; t++) free(thread->items[i]->texts[t]);
        free(thread->items[i]);
    }
    free(thread->items);
    free(thread->name);
    free(thread);
}

void moving_thread_add(struct moving_thread *thread, const struct moving_comment *comment, long line, bool left_out) {
    MEM_ROOM(thread->items, thread->count, thread->capacity);
    struct gathered *item = mem_alloc(sizeof *item);
    *item = (struct gathered){.comment = *comment, .line = line, .number = thread->count, .left_out = left_out};
    struct moving_comment *own = &item->comment;
    const char **const copied[TEXTS] = {&own->id,           &own->key,          &own->parent,     &own->text,
                                        &own->author.email, &own->author.login, &own->author.name};
    for (int t = 0; t < TEXTS; t++) *copied[t] = item->texts[t] = mem_string(*copied[t]);
    thread->items[thread->count++] = item;
}

static int by_time(const void *a, const void *b) {
    const struct gathered *x = *(struct gathered *const *)a, *y = *(struct gathered *const *)b;
    if (x->comment.time != y->comment.time) return x->comment.time < y->comment.time ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* A comment that answers what the file does not have is a root. */
static void find_above(struct moving_thread *thread) {
    struct text_map *ids = text_map_new();
    for (size_t i = 0; i < thread->count; i++)
        *text_map_put(ids, thread->items[i]->comment.id) = (int64_t)(uintptr_t)thread->items[i];
    for (size_t i = 0; i < thread->count; i++) {
        const char *parent = thread->items[i]->comment.parent;
        const int64_t *found = parent ? text_map_find(ids, parent) : NULL;
        // NOLINTNEXTLINE(performance-no-int-to-ptr)
        thread->items[i]->above = found ? (struct gathered *)(uintptr_t)*found : NULL;
    }
    text_map_free(ids);
}

struct giving {
    struct moving *moving;
    const char *path;
    enum moving_page page;
    long *line;
};

static int give(struct gathered *item, const struct giving *giving, struct error *error) {
    const struct gathered *above = item->above;
    struct moving *moving = giving->moving;
    struct moving_comment comment = item->comment;
    item->given = true;
    if (item->left_out) {
        moving_skip(moving);
        return 0;
    }
    while (above && above->left_out) above = above->above;
    comment.parent = above ? above->comment.id : NULL;
    *giving->line = item->line;
    if (giving->page == MOVING_HIDDEN) comment.state = moving_hide(moving, comment.state);
    int code = moving_take(moving, &comment, error);
    item->left_out = code != 0; // if that does not end the import, replies answer the comment above
    return moving_pass(moving, code, giving->path, item->line, error);
}

/* Gives on what stands above it first. A circle is cut where it was entered. */
static int give_chain(struct gathered *item, const struct giving *giving, struct error *error) {
    int code = 0;
    while (!code && !item->given) {
        struct gathered *top = item;
        for (top->on_the_way = true; top->above && !top->above->given; top = top->above) {
            if (top->above->on_the_way) {
                top->above = NULL;
                break;
            }
            top->above->on_the_way = true;
        }
        for (struct gathered *at = item; at; at = at == top ? NULL : at->above) at->on_the_way = false;
        code = give(top, giving, error);
    }
    return code;
}

int moving_thread_give(struct moving_thread *thread, struct moving *moving, const char *path, long *line,
                       struct error *error) {
    const struct giving giving = {.moving = moving, .path = path, .page = thread->subject.page, .line = line};
    *line = 0;
    for (size_t i = 0; giving.page == MOVING_GONE && i < thread->count; i++)
        (thread->items[i]->left_out ? moving_skip : moving_leave)(moving);
    if (!thread->count || giving.page == MOVING_GONE) return 0;
    find_above(thread);
    qsort(thread->items, thread->count, sizeof(struct gathered *), by_time);
    int code = moving_begin(moving, &thread->subject, error);
    for (size_t i = 0; !code && i < thread->count; i++) code = give_chain(thread->items[i], &giving, error);
    return code;
}
