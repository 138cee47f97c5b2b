/* Answers requests, one after the other, each in slices. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "feed/effects_private.h"

enum { REQUEST_WORK = 10 /* of one without authors, too */ };

/* ---- backlogs ---- */

void effects_begin_backlog(const struct effects *effects, struct newest *newest) {
    const size_t posts = effects->options.backlog;
    newest_begin(newest, &(struct newest_wish){.before = INT64_MAX, .each = posts, .most = posts, .hidden = true});
}

void effects_put_backlog(struct effects *effects, struct newest *newest, int64_t author, int64_t reader) {
    const struct effects_options *options = &effects->options;
    size_t count;
    int64_t cut;
    const struct post_ref *refs = newest_posts(newest, &count, &cut);
    if (!count) return;
    MEM_FIT(effects->ids, count, effects->id_capacity);
    for (size_t i = 0; i < count; i++) effects->ids[i] = refs[i].id;
    const struct timeline_item item = {
        .kind = TIMELINE_ITEM_BACKLOG,
        .backlog = {.author = author, .ids = {.items = effects->ids, .count = count}, .cut = cut},
    };
    options->timeline(options->context, effects_home(effects, reader), &reader, 1, &item);
}

/* ---- the queue ---- */

static struct asked *asked_at(const struct asked_queue *queue, size_t i) { return &queue->items[queue->first + i]; }

void effects_request(struct effects *effects, int32_t partition, int64_t offset, const int64_t *authors, size_t count,
                     int64_t reader, int64_t request) {
    struct asked_queue *queue = &effects->requests;
    struct asked asked = {
        .reader = reader, .request = request, .offset = offset, .count = count, .partition = partition};
    if (count) {
        asked.authors = mem_alloc(count * sizeof *authors);
        memcpy(asked.authors, authors, count * sizeof *authors);
    }
    MEM_ROOM_BEHIND(queue->items, queue->first, queue->count, queue->capacity);
    *asked_at(queue, queue->count++) = asked;
    queue->authors += count;
}

static void forget(struct asked_queue *queue, struct asked *asked) {
    queue->authors -= asked->count;
    free(asked->authors);
}

int64_t requests_drop(struct asked_queue *queue, int32_t partition) {
    size_t kept = 0;
    int64_t lowest = INT64_MAX;
    for (size_t i = 0; i < queue->count; i++) {
        struct asked *asked = asked_at(queue, i);
        if (asked->partition != partition) {
            *asked_at(queue, kept++) = *asked;
            continue;
        }
        if (!i) queue->begun = false;
        if (asked->offset < lowest) lowest = asked->offset;
        forget(queue, asked);
    }
    queue->count = kept;
    return lowest;
}

void requests_free(struct asked_queue *queue) {
    for (size_t i = 0; i < queue->count; i++) free(asked_at(queue, i)->authors);
    free(queue->items);
}

size_t effects_waiting_authors(const struct effects *effects) { return effects->requests.authors; }

void effects_lower(const struct effects *effects, int64_t *offsets) {
    const struct asked_queue *queue = &effects->requests;
    for (size_t i = 0; i < queue->count; i++) {
        const struct asked *asked = asked_at(queue, i);
        if (asked->offset < offsets[asked->partition]) offsets[asked->partition] = asked->offset;
    }
}

/* ---- answers ---- */

static void put_answer(struct effects *effects, const struct asked *asked) {
    const struct effects_options *options = &effects->options;
    struct timeline_item item = {.kind = TIMELINE_ITEM_ANSWER,
                                 .answer = {.request = asked->request, .partition = asked->partition}};
    item.answer.posts.items = newest_posts(effects->newest, &item.answer.posts.count, &item.answer.cut);
    options->timeline(options->context, effects_home(effects, asked->reader), &asked->reader, 1, &item);
}

/* Carries out as much of the first request as the work allows. 1: more is left of it, 0: nothing. */
static int run_answer(struct effects *effects, const struct asked *asked, size_t *work, struct error *error) {
    struct asked_queue *queue = &effects->requests;
    if (!queue->begun) {
        newest_begin(effects->newest, &(struct newest_wish){.before = INT64_MAX,
                                                            .hidden = true,
                                                            .each = effects->options.backlog,
                                                            .most = effects->options.answer});
        queue->begun = true;
    }
    int code = newest_read(effects->newest, effects->options.posts, asked->partition, asked->authors, asked->count,
                           work, error);
    if (!code) put_answer(effects, asked);
    return code;
}

/* Does the same for a request that wants a backlog of each author. */
static int run_backlogs(struct effects *effects, const struct asked *asked, size_t *work, struct error *error) {
    struct asked_queue *queue = &effects->requests;
    if (!queue->begun) {
        queue->told = 0;
        effects_begin_backlog(effects, effects->newest);
        queue->begun = true;
    }
    while (queue->told < asked->count) {
        int64_t author = asked->authors[queue->told];
        if (!*work) return 1;
        int code = newest_read(effects->newest, effects->options.posts, asked->partition, &author, 1, work, error);
        if (code) return code;
        effects_put_backlog(effects, effects->newest, author, asked->reader);
        effects_begin_backlog(effects, effects->newest);
        queue->told++;
    }
    return 0;
}

int effects_run_requests(struct effects *effects, size_t work, struct error *error) {
    struct asked_queue *queue = &effects->requests;
    while (queue->count && work) {
        struct asked *asked = asked_at(queue, 0);
        int code = (asked->request < 0 ? run_backlogs : run_answer)(effects, asked, &work, error);
        if (code < 0) {
            queue->begun = false;
            effects->failed = asked->partition;
        }
        if (code) return code < 0 ? code : 0;
        work -= work > REQUEST_WORK ? REQUEST_WORK : work;
        forget(queue, asked);
        queue->first++;
        queue->count--;
        queue->begun = false;
    }
    return 0;
}
