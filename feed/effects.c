#include "feed/effects.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/sorted.h"
#include "feed/effects_private.h"

enum {
    AT_ONCE = 1024,     /* followers of a push that does not wait for effects_run */
    BACKLOG_WORK = 2000 /* moves within the store, for a backlog that does not wait for it */
};

struct effects *effects_new(const struct effects_options *options) {
    struct effects *effects = mem_alloc(sizeof *effects);
    size_t partitions = (size_t)options->partitions;
    *effects = (struct effects){
        .options = *options,
        .groups = {.counts = mem_zero(partitions, sizeof(size_t)),
                   .ends = mem_zero(partitions, sizeof(size_t)),
                   .touched = mem_zero(partitions, sizeof(int32_t))},
        .named = mem_zero(partitions, sizeof(bool)),
        .newest = newest_new(),
        .backlog = newest_new(),
    };
    return effects;
}

void effects_free(struct effects *effects) {
    if (!effects) return;
    free(effects->pushes);
    id_list_free(&effects->slice);
    id_list_free(&effects->gathered);
    free(effects->groups.users);
    free(effects->groups.homes);
    free(effects->groups.counts);
    free(effects->groups.ends);
    free(effects->groups.touched);
    free(effects->named);
    requests_free(&effects->requests);
    newest_free(effects->newest);
    newest_free(effects->backlog);
    free(effects->ids);
    free(effects);
}

void effects_set_push_max(struct effects *effects, size_t push_max) { effects->options.push_max = push_max; }

/* ---- by partition ---- */

int32_t effects_home(const struct effects *effects, int64_t user) {
    return hash_user_partition(user, effects->options.partitions);
}

/* Groups users by their partitions. The cost does not depend on how many partitions there are. */
static void group(struct effects *effects, const int64_t *users, size_t count) {
    struct groups *groups = &effects->groups;
    size_t end = 0;
    if (count > groups->capacity) {
        groups->capacity = count > 2 * groups->capacity ? count : 2 * groups->capacity;
        groups->users = mem_resize(groups->users, groups->capacity, sizeof *groups->users);
        groups->homes = mem_resize(groups->homes, groups->capacity, sizeof *groups->homes);
    }
    groups->touched_count = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t p = groups->homes[i] = effects_home(effects, users[i]);
        if (!groups->counts[p]++) groups->touched[groups->touched_count++] = p;
    }
    for (size_t i = 0; i < groups->touched_count; i++) {
        int32_t p = groups->touched[i];
        groups->ends[p] = end;
        end += groups->counts[p];
    }
    for (size_t i = 0; i < count; i++) groups->users[groups->ends[groups->homes[i]]++] = users[i];
}

/* The users of a partition; *count: 0 for a partition without any. */
static const int64_t *group_of(const struct groups *groups, int32_t partition, size_t *count) {
    *count = groups->counts[partition];
    return *count ? groups->users + groups->ends[partition] - *count : NULL;
}

static void ungroup(struct groups *groups) {
    for (size_t i = 0; i < groups->touched_count; i++) groups->counts[groups->touched[i]] = 0;
}

/* ---- pushes ---- */

/* 1: the post is there, and deleted or not as the push says; 0: it is not. */
static int is_due(struct effects *effects, const struct push *push, struct error *error) {
    struct post_found post;
    int code = posts_find(effects->options.posts, push->partition, push->id, &post, error);
    return code ? code : post.found && (post.deleted != 0) == push->gone && post.author == push->author;
}

/* The next followers, at most so many. Fewer: there are no others. */
static int gather(struct effects *effects, const struct push *push, size_t max, struct error *error) {
    struct id_list *slice = &effects->slice, *gathered = &effects->gathered;
    int64_t after = push->after;
    gathered->count = 0;
    while (gathered->count < max) {
        int code = relation_lists_slice(effects->options.relations, push->partition, push->author, RELATION_FOLLOWER,
                                        after, slice, error);
        if (code) return code;
        if (!slice->count) return 0;
        size_t count = slice->count < max - gathered->count ? slice->count : max - gathered->count;
        id_list_reserve(gathered, gathered->count + count);
        memcpy(gathered->items + gathered->count, slice->items, count * sizeof *slice->items);
        gathered->count += count;
        after = slice->items[count - 1];
    }
    return 0;
}

/* Carries out a part of a push. 1: more may be left, 0: nothing. */
static int push_some(struct effects *effects, struct push *push, size_t max, struct error *error) {
    const struct effects_options *options = &effects->options;
    const struct timeline_item pushed = {.kind = TIMELINE_ITEM_PUSH, .push = {.author = push->author, .id = push->id}},
                               gone = {.kind = TIMELINE_ITEM_GONE, .gone = {.author = push->author, .id = push->id}};
    const struct timeline_item *item = push->gone ? &gone : &pushed;
    int code = gather(effects, push, max, error);
    if (code) return code;
    const struct id_list *gathered = &effects->gathered;
    group(effects, gathered->items, gathered->count);
    for (size_t i = 0; i < effects->groups.touched_count; i++) {
        size_t count;
        int32_t partition = effects->groups.touched[i];
        const int64_t *readers = group_of(&effects->groups, partition, &count);
        options->timeline(options->context, partition, readers, count, item);
    }
    ungroup(&effects->groups);
    if (gathered->count) push->after = gathered->items[gathered->count - 1];
    return gathered->count == max;
}

static struct push *push_at(const struct effects *effects, size_t i) { return &effects->pushes[effects->first + i]; }

static void enqueue(struct effects *effects, const struct push *push) {
    MEM_ROOM_BEHIND(effects->pushes, effects->first, effects->count, effects->capacity);
    *push_at(effects, effects->count++) = *push;
}

/* All processes leave a hidden post out of pages, whichever inboxes and hot lists have it. */
static void tell_moderated(struct effects *effects, const struct push *push, const struct post_found *post) {
    const struct effects_options *options = &effects->options;
    const struct timeline_item item = {.kind = TIMELINE_ITEM_MODERATED,
                                       .moderated = {.id = post->id, .times = post->moderated, .hidden = post->hidden}};
    options->hot(options->context, push->partition, push->author, &item);
}

/* A deletion is always told, as the author may have had other followers when the post was written. */
static void tell_hot(struct effects *effects, const struct push *push, size_t followers) {
    const struct effects_options *options = &effects->options;
    const struct timeline_item hot = {.kind = TIMELINE_ITEM_HOT, .hot = {.id = push->id}},
                               gone = {.kind = TIMELINE_ITEM_HOT_GONE, .hot_gone = {.id = push->id}};
    if (push->gone)
        options->hot(options->context, push->partition, push->author, &gone);
    else if (followers > options->push_max)
        options->hot(options->context, push->partition, push->author, &hot);
}

/* Whether the followers' inboxes are to hear of the post. Many followers are told of a deletion only if the post was pushed when there were
 * fewer of them, or when push_max was higher. Posts below the horizon of the hot lists are not looked for in inboxes. */
static bool is_pushed(const struct effects *effects, const struct push *push, size_t followers) {
    const struct hot *hot = effects->options.lists;
    if (followers <= effects->options.push_max) return true;
    return push->gone && push->id > hot_horizon(hot) && !hot_has(hot, push->author, push->id) &&
           !hot_is_gone(hot, push->id);
}

int effects_post(struct effects *effects, int32_t partition, int64_t author, int64_t id, int64_t offset,
                 struct error *error) {
    const struct effects_options *options = &effects->options;
    struct push push = {.author = author, .id = id, .offset = offset, .after = -1, .partition = partition};
    struct post_found post;
    size_t followers = 0;
    int code = posts_find(options->posts, partition, id, &post, error);
    if (code || !post.found || post.author != author) return code;
    push.gone = post.deleted;
    if (post.moderated && !post.deleted) tell_moderated(effects, &push, &post);
    code = relation_lists_count(options->relations, partition, author, RELATION_FOLLOWER, &followers, error);
    if (code || !followers) return code;
    tell_hot(effects, &push, followers);
    if (!is_pushed(effects, &push, followers)) return 0;
    if (followers > AT_ONCE) {
        enqueue(effects, &push);
        tracer_park(options->tracer, effects, (uint64_t)push.id);
        return 0;
    }
    code = push_some(effects, &push, followers + 1, error);
    return code < 0 ? code : 0;
}

static int run_push(struct effects *effects, size_t readers, struct error *error) {
    struct push push = *push_at(effects, 0);
    struct tracer *tracer = effects->options.tracer;
    struct trace_scope scope;
    bool traced = tracer_parked(tracer, effects, (uint64_t)push.id, &scope, NULL);
    struct trace_scope *before = tracer_enter(tracer, traced ? &scope : NULL);
    int code = is_due(effects, &push, error);
    if (code > 0) code = push_some(effects, &push, readers, error);
    tracer_enter(tracer, before);
    if (code < 0) {
        effects->failed = push.partition;
        return code;
    }
    effects->first++;
    effects->count--;
    if (code)
        enqueue(effects, &push);
    else
        tracer_forget(tracer, effects, (uint64_t)push.id);
    return 0;
}

int effects_run(struct effects *effects, size_t work, struct error *error) {
    size_t requests = effects->requests.count;
    effects->push_is_next = !effects->push_is_next;
    bool push = effects->count && (effects->push_is_next || !requests);
    int code = push ? run_push(effects, work, error) : requests ? effects_run_requests(effects, work, error) : 0;
    return code ? code : effects->count || effects->requests.count;
}

int32_t effects_failed(const struct effects *effects) { return effects->failed; }

size_t effects_pushes(const struct effects *effects) { return effects->count; }

int64_t effects_held(const struct effects *effects, int32_t partition) {
    int64_t lowest = INT64_MAX;
    for (size_t i = 0; i < effects->count; i++) {
        const struct push *push = push_at(effects, i);
        if (push->partition == partition && push->offset < lowest) lowest = push->offset;
    }
    return lowest;
}

int64_t effects_drop(struct effects *effects, int32_t partition) {
    size_t kept = 0;
    for (size_t i = 0; i < effects->count; i++)
        if (push_at(effects, i)->partition != partition) *push_at(effects, kept++) = *push_at(effects, i);
    effects->count = kept;
    return requests_drop(&effects->requests, partition);
}

/* ---- backlogs ---- */

static void ask(struct effects *effects, int32_t partition, const int64_t *authors, size_t count, int64_t reader,
                int64_t request) {
    const struct effects_options *options = &effects->options;
    const struct timeline_item item = {.kind = TIMELINE_ITEM_REQUEST,
                                       .request = {.reader = reader, .request = request}};
    options->request(options->context, partition, authors, count, &item);
}

/* Tells a reader an author's newest posts, and whether there are others. If that takes long, as an author has deleted many posts, the author's
 * owner asks itself: requests are answered in slices. */
static int tell_backlog(struct effects *effects, int32_t partition, int64_t author, int64_t reader,
                        struct error *error) {
    size_t work = BACKLOG_WORK;
    effects_begin_backlog(effects, effects->backlog);
    int code = newest_read(effects->backlog, effects->options.posts, partition, &author, 1, &work, error);
    if (code > 0) ask(effects, partition, &author, 1, reader, -1);
    if (code == 0) effects_put_backlog(effects, effects->backlog, author, reader);
    return code < 0 ? code : 0;
}

int effects_half(struct effects *effects, int32_t partition, const struct relation_half *half, bool set,
                 struct error *error) {
    bool has = false;
    if (!set || (half->relation != RELATION_FOLLOWER && half->relation != RELATION_FOLLOWING)) return 0;
    int code = relation_lists_has(effects->options.relations, partition, half, &has, NULL, error);
    if (code || !has) return code;
    if (half->relation == RELATION_FOLLOWER) return tell_backlog(effects, partition, half->user, half->other, error);
    ask(effects, effects_home(effects, half->other), &half->other, 1, half->user, -1);
    return 0;
}

/* ---- inboxes that begin anew ---- */

/* Groups all whom a reader follows, by partition. */
static int group_followees(struct effects *effects, int32_t partition, int64_t reader, struct error *error) {
    int code = relation_lists_all(effects->options.relations, partition, reader, RELATION_FOLLOWING, &effects->gathered,
                                  error);
    if (!code) group(effects, effects->gathered.items, effects->gathered.count);
    return code;
}

int effects_begin(struct effects *effects, int32_t partition, int64_t reader, int64_t request, const int64_t *wanted,
                  size_t count, struct error *error) {
    const struct groups *groups = &effects->groups;
    size_t authors_count;
    int code = group_followees(effects, partition, reader, error);
    if (code) return code;
    for (size_t i = 0; i < count; i++) {
        if (wanted[i] < 0 || wanted[i] >= effects->options.partitions) continue; // nobody owns it
        int32_t p = (int32_t)wanted[i];
        const int64_t *authors = group_of(groups, p, &authors_count);
        effects->named[p] = true;
        ask(effects, p, authors, authors_count, reader, request);
    }
    // The follow was read after the Begin was made: what was sent for it may have been emptied out of the inbox.
    for (size_t i = 0; i < groups->touched_count; i++) {
        int32_t p = groups->touched[i];
        const int64_t *authors = group_of(groups, p, &authors_count);
        if (!effects->named[p]) ask(effects, p, authors, authors_count, reader, -1);
    }
    memset(effects->named, 0, (size_t)effects->options.partitions * sizeof *effects->named);
    ungroup(&effects->groups);
    return 0;
}

int effects_wanted(struct effects *effects, int32_t partition, int64_t reader, int64_t *wanted, size_t *count,
                   struct error *error) {
    int code = group_followees(effects, partition, reader, error);
    if (code) return code;
    const struct groups *groups = &effects->groups;
    for (size_t i = 0; i < groups->touched_count; i++) wanted[i] = groups->touched[i];
    *count = groups->touched_count;
    if (*count) qsort(wanted, *count, sizeof *wanted, sorted_order);
    ungroup(&effects->groups);
    return 0;
}
