#include "feed/effects.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { AT_ONCE = 1024 /* followers of a push that does not wait for effects_run */ };

/* A post, or its deletion, that goes to the followers above `after`. */
struct push {
    int64_t author, id, offset, after;
    int32_t partition;
    bool gone;
};

/* Users by partition: `users` of the partitions `touched`, one partition behind the other. */
struct groups {
    int64_t *users;
    int32_t *homes; /* of the users as they came */
    size_t capacity;
    size_t *counts, *ends; /* by partition; counts of others than those touched are 0 */
    int32_t *touched;
    size_t touched_count;
};

struct effects {
    struct effects_options options;
    struct push *pushes; /* a ring */
    size_t first, count, capacity;
    struct id_list slice, gathered;
    struct groups groups;
    bool *named;  /* by partition; false between calls */
    int64_t *ids; /* of one author: the backlog, and one more */
    struct post_ref *refs;
    size_t ref_count, ref_capacity;
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
        .ids = mem_zero(options->backlog + 1, sizeof(int64_t)),
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
    free(effects->ids);
    free(effects->refs);
    free(effects);
}

void effects_set_push_max(struct effects *effects, size_t push_max) { effects->options.push_max = push_max; }

/* ---- by partition ---- */

static int32_t home(const struct effects *effects, int64_t user) {
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
        int32_t p = groups->homes[i] = home(effects, users[i]);
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
    return code ? code : post.found && post.deleted == push->gone && post.author == push->author;
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

static struct push *push_at(const struct effects *effects, size_t i) {
    return &effects->pushes[(effects->first + i) % effects->capacity];
}

static void enqueue(struct effects *effects, const struct push *push) {
    if (effects->count == effects->capacity) {
        size_t capacity = effects->capacity ? 2 * effects->capacity : 16;
        struct push *pushes = mem_alloc(capacity * sizeof *pushes);
        for (size_t i = 0; i < effects->count; i++) pushes[i] = *push_at(effects, i);
        free(effects->pushes);
        effects->pushes = pushes;
        effects->capacity = capacity;
        effects->first = 0;
    }
    *push_at(effects, effects->count++) = *push;
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

int effects_post(struct effects *effects, int32_t partition, int64_t author, int64_t id, int64_t offset,
                 struct error *error) {
    const struct effects_options *options = &effects->options;
    struct push push = {.author = author, .id = id, .offset = offset, .after = -1, .partition = partition};
    struct post_found post;
    size_t followers = 0;
    int code = posts_find(options->posts, partition, id, &post, error);
    if (code || !post.found || post.author != author) return code;
    push.gone = post.deleted;
    code = relation_lists_count(options->relations, partition, author, RELATION_FOLLOWER, &followers, error);
    if (code || !followers) return code;
    tell_hot(effects, &push, followers);
    if (followers > options->push_max) return 0;
    if (followers > AT_ONCE) {
        enqueue(effects, &push);
        return 0;
    }
    code = push_some(effects, &push, followers + 1, error);
    return code < 0 ? code : 0;
}

int effects_run(struct effects *effects, size_t readers, struct error *error) {
    if (!effects->count) return 0;
    struct push push = *push_at(effects, 0);
    int code = is_due(effects, &push, error);
    if (code > 0) code = push_some(effects, &push, readers, error);
    if (code < 0) return code;
    effects->first = (effects->first + 1) % effects->capacity;
    effects->count--;
    if (code) enqueue(effects, &push);
    return effects->count > 0;
}

size_t effects_pushes(const struct effects *effects) { return effects->count; }

int64_t effects_held(const struct effects *effects, int32_t partition) {
    int64_t lowest = INT64_MAX;
    for (size_t i = 0; i < effects->count; i++) {
        const struct push *push = push_at(effects, i);
        if (push->partition == partition && push->offset < lowest) lowest = push->offset;
    }
    return lowest;
}

void effects_drop(struct effects *effects, int32_t partition) {
    size_t kept = 0;
    for (size_t i = 0; i < effects->count; i++)
        if (push_at(effects, i)->partition != partition) *push_at(effects, kept++) = *push_at(effects, i);
    effects->count = kept;
}

/* ---- backlogs ---- */

/* Tells a reader an author's newest posts, and whether there are others. */
static int tell_backlog(struct effects *effects, int32_t partition, int64_t author, int64_t reader,
                        struct error *error) {
    const struct effects_options *options = &effects->options;
    size_t count;
    bool more;
    int code = posts_of(options->posts, partition, author, 0, INT64_MAX, effects->ids, options->backlog + 1, &count,
                        &more, error);
    if (code || !count) return code;
    bool cut = count > options->backlog;
    const struct timeline_item item = {
        .kind = TIMELINE_ITEM_BACKLOG,
        .backlog = {.author = author,
                    .ids = {.items = effects->ids, .count = cut ? options->backlog : count},
                    .cut = cut ? effects->ids[options->backlog] : 0},
    };
    options->timeline(options->context, home(effects, reader), &reader, 1, &item);
    return 0;
}

static void ask(struct effects *effects, int32_t partition, const int64_t *authors, size_t count, int64_t reader,
                int64_t request) {
    const struct effects_options *options = &effects->options;
    const struct timeline_item item = {.kind = TIMELINE_ITEM_REQUEST,
                                       .request = {.reader = reader, .request = request}};
    options->request(options->context, partition, authors, count, &item);
}

int effects_half(struct effects *effects, int32_t partition, const struct relation_half *half, bool set,
                 struct error *error) {
    bool has = false;
    if (!set || half->relation == RELATION_MUTED) return 0;
    int code = relation_lists_has(effects->options.relations, partition, half, &has, NULL, error);
    if (code || !has) return code;
    if (half->relation == RELATION_FOLLOWER) return tell_backlog(effects, partition, half->user, half->other, error);
    ask(effects, home(effects, half->other), &half->other, 1, half->user, -1);
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

static int rising(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int effects_wanted(struct effects *effects, int32_t partition, int64_t reader, int64_t *wanted, size_t *count,
                   struct error *error) {
    int code = group_followees(effects, partition, reader, error);
    if (code) return code;
    const struct groups *groups = &effects->groups;
    for (size_t i = 0; i < groups->touched_count; i++) wanted[i] = groups->touched[i];
    *count = groups->touched_count;
    if (*count) qsort(wanted, *count, sizeof *wanted, rising);
    ungroup(&effects->groups);
    return 0;
}

/* ---- answers ---- */

static int newest_first(const void *a, const void *b) {
    int64_t x = ((const struct post_ref *)a)->id, y = ((const struct post_ref *)b)->id;
    return (x < y) - (x > y);
}

/* Leaves out posts up to the cut, which nobody would show, and those that are too many. Returns the new cut. */
static int64_t leave_out(struct effects *effects, int64_t cut) {
    struct post_ref *refs = effects->refs;
    if (!effects->ref_count) return cut;
    qsort(refs, effects->ref_count, sizeof *refs, newest_first);
    if (effects->ref_count > effects->options.answer) {
        effects->ref_count = effects->options.answer;
        if (refs[effects->ref_count].id > cut) cut = refs[effects->ref_count].id;
    }
    while (effects->ref_count && refs[effects->ref_count - 1].id <= cut) effects->ref_count--;
    return cut;
}

/* Adds an author's newest posts above the cut, and moves the cut to the newest that is left out. */
static int add_posts(struct effects *effects, int32_t partition, int64_t author, int64_t *cut, struct error *error) {
    const struct effects_options *options = &effects->options;
    size_t count;
    bool more;
    int code = posts_of(options->posts, partition, author, *cut, INT64_MAX, effects->ids, options->backlog + 1, &count,
                        &more, error);
    if (code) return code;
    if (count > options->backlog) *cut = effects->ids[--count];
    if (effects->ref_count + count > effects->ref_capacity) {
        effects->ref_capacity = 2 * (effects->ref_count + count);
        effects->refs = mem_resize(effects->refs, effects->ref_capacity, sizeof *effects->refs);
    }
    for (size_t i = 0; i < count; i++)
        effects->refs[effects->ref_count++] = (struct post_ref){.author = author, .id = effects->ids[i]};
    if (effects->ref_count > 2 * options->answer) *cut = leave_out(effects, *cut);
    return 0;
}

int effects_request(struct effects *effects, int32_t partition, const int64_t *authors, size_t count, int64_t reader,
                    int64_t request, struct error *error) {
    const struct effects_options *options = &effects->options;
    int64_t cut = 0;
    int code = 0;
    if (request < 0) {
        for (size_t i = 0; !code && i < count; i++) code = tell_backlog(effects, partition, authors[i], reader, error);
        return code;
    }
    effects->ref_count = 0;
    for (size_t i = 0; !code && i < count; i++) code = add_posts(effects, partition, authors[i], &cut, error);
    if (code) return code;
    cut = leave_out(effects, cut);
    const struct timeline_item item = {
        .kind = TIMELINE_ITEM_ANSWER,
        .answer = {.request = request,
                   .partition = partition,
                   .posts = {.items = effects->refs, .count = effects->ref_count},
                   .cut = cut},
    };
    options->timeline(options->context, home(effects, reader), &reader, 1, &item);
    return 0;
}
