/* What the processes hold, and what the model says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comments/heat.h"
#include "unit/comments/world_private.h"
#include "ids/ids.h"

enum { MANY = MODEL_COMMENTS_MAX };

/* Of the subject that is compared. */
struct comparing {
    struct comments_world *world;
    struct world_process *process;
    int32_t partition;
    int number;
    const struct event_text *subject;
    struct model_subject *model;
};

static void check(const struct comparing *c, const char *what, int64_t is, int64_t expected) {
    if (is != expected)
        world_wrong(c->world, "%s of %s in process %d: %lld, not %lld", what, c->subject->data,
                    (int)(c->process - c->world->processes), (long long)is, (long long)expected);
}

static void compare_rest(const struct comparing *c) {
    struct error error;
    for (int64_t user = 0; user < MODEL_USERS; user++) {
        int64_t rested_at = 0;
        threads_rested(c->process->threads, c->partition, c->subject, user, &rested_at, &error);
        check(c, "when a user has rested", rested_at, c->model->rested_at[user]);
        struct comment_reaction reaction = {.likes = false};
        threads_reaction(c->process->threads, c->partition, c->subject, 0, user, &reaction, &error);
        check(c, "a like of the subject", reaction.likes, c->model->likes[user]);
    }
}

static void compare_subject(const struct comparing *c) {
    struct subject_state state;
    struct error error;
    int found = threads_subject(c->process->threads, c->partition, c->subject, &state, &error);
    check(c, "registration", found, c->model->registered);
    if (found != 1 || !c->model->registered) return;
    check(c, "owner", state.owner, c->model->owner);
    check(c, "closed", state.closed, c->model->closed);
    check(c, "who may", (int64_t)state.who_may, c->model->who_may);
    check(c, "review", (int64_t)state.review, c->model->review);
    check(c, "level", state.level, c->model->level);
    check(c, "roots", state.roots, model_floors(c->model, 0));
    check(c, "visible", state.visible, model_count(c->model, COMMENT_VISIBLE));
    check(c, "held", state.held, model_count(c->model, COMMENT_HELD));
    check(c, "structure", state.structure, c->model->structure);
    check(c, "counters", state.counters, c->model->counters);
    check(c, "likes of a subject", state.likes, model_likes(c->model->likes));
    check(c, "pins", (int64_t)state.pins, (int64_t)c->model->pins);
    for (size_t i = 0; i < state.pins && i < c->model->pins; i++)
        check(c, "a pin", state.pinned[i], c->model->pinned[i]);
}

static void compare_reactions(const struct comparing *c, const struct model_comment *model) {
    struct error error;
    for (int64_t user = 0; user < MODEL_USERS; user++) {
        struct comment_reaction reaction = {.likes = false};
        threads_reaction(c->process->threads, c->partition, c->subject, model->id, user, &reaction, &error);
        check(c, "a like", reaction.likes, model->likes[user]);
        check(c, "a report", reaction.reported, model->reported[user]);
    }
}

static int64_t time_of(const struct model_comment *model) {
    return model->written ? model->written : ids_time_ms(model->id);
}

/* The versions of its text, of which the newest one stands alone when the comment is deleted. */
static void compare_texts(const struct comparing *c, const struct model_comment *model, const struct comment *comment) {
    bool deleted = model->state == COMMENT_DELETED;
    check(c, "the version", comment->version, (int64_t)model->version_count);
    check(c, "the time of the last edit", comment->edited, model->versions[model->version_count - 1].edited);
    for (size_t i = 0; i < model->version_count; i++) {
        const struct model_version *version = &model->versions[i];
        bool newest = i + 1 == model->version_count;
        struct comment_text text;
        struct error error;
        int found = newest ? threads_text(c->process->threads, c->partition, c->subject, model->id, &text, &error)
                           : threads_former(c->process->threads, c->partition, c->subject, model->id, (int64_t)i + 1,
                                            &text, &error);
        check(c, "a text", found, newest || !deleted);
        if (found != 1) continue;
        check(c, "the version of a text", text.version, (int64_t)i + 1);
        check(c, "the editor of a text", text.editor, version->editor);
        check(c, "the time of a text", text.edited, version->edited);
        bool same = text.text.size == (deleted ? 0 : version->text.size) &&
                    memcmp(text.text.data, version->text.data, text.text.size) == 0;
        check(c, "what a text says", same, 1);
    }
}

static void compare_comment(const struct comparing *c, const struct model_comment *model) {
    struct comment comment;
    struct error error;
    int found = threads_comment(c->process->threads, c->partition, c->subject, model->id, &comment, &error);
    check(c, "a comment", found, 1);
    if (found != 1) return;
    check(c, "author", comment.user, model->user);
    check(c, "state", (int64_t)comment.state, (int64_t)model->state);
    check(c, "floor", comment.floor, model->floor);
    check(c, "root", comment.root, model->root);
    check(c, "answers", comment.answers, model->answers);
    check(c, "likes", comment.likes, model_likes(model->likes));
    check(c, "reports", comment.reports, model_reports(model));
    check(c, "the time", comment_time(model->id, &comment), time_of(model));
    check(c, "replies", comment.replies, model_replies(c->model, model));
    check(c, "reply numbers", comment.floors, model->root ? 0 : model_floors(c->model, model->id));
    compare_texts(c, model, &comment);
    compare_reactions(c, model);
    const struct world_wide *wide = world_wide(c->world, model->id);
    check(c, "a wide record", wide != NULL, 1);
    if (!wide) return;
    check(c, "a wide record's state", (int64_t)wide->state, (int64_t)model->state);
    check(c, "a wide record's text", (int64_t)wide->text_size,
          model->state == COMMENT_DELETED ? 0 : (int64_t)model->versions[model->version_count - 1].text.size);
    check(c, "a wide record's level", wide->level, model->level);
    check(c, "a wide record's reports", wide->reports, model_reports(model));
}

/* ---- lists ---- */

/* Roots in the order of a sort, the replies of a root, or the answers to a reply, worked out from the model alone. */
struct row {
    int64_t first, id; /* sorted by first, then by id: the lowest ones come first */
};

static int by_first(const void *a, const void *b) {
    const struct row *x = a, *y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static size_t expected_list(const struct comparing *c, int64_t under, enum threads_sort sort, int64_t ids[MANY]) {
    struct row rows[MANY];
    size_t count = 0;
    for (size_t i = 0; i < c->model->count; i++) {
        const struct model_comment *comment = &c->model->comments[i];
        if ((sort == THREADS_ANSWERS ? comment->answers : comment->root) != under) continue;
        int64_t heat = heat_of(model_likes(comment->likes), time_of(comment));
        int64_t first = sort == THREADS_HEAT ? -heat : sort == THREADS_NEWEST ? -comment->floor : comment->floor;
        rows[count++] = (struct row){.first = first, .id = -comment->id};
    }
    if (count) qsort(rows, count, sizeof *rows, by_first);
    for (size_t i = 0; i < count; i++) ids[i] = -rows[i].id;
    return count;
}

/* Pages of random sizes, one behind the other, are the whole list. */
static void compare_list(const struct comparing *c, int64_t under, enum threads_sort sort) {
    int64_t expected[MANY], ids[MANY];
    size_t total = expected_list(c, under, sort, expected), at = 0, count;
    struct threads_place place = {.sort = sort};
    struct error error;
    bool more = true;
    while (more && !*c->world->history.wrong) {
        size_t limit = 1 + world_chance(c->world, 7);
        int code = threads_list(c->process->threads, c->partition, c->subject, under, &place, limit, ids, &count, &more,
                                &error);
        check(c, "the code of a page", code, 0);
        if (code) return;
        check(c, "the length of a page", (int64_t)count, (int64_t)(total - at < limit ? total - at : limit));
        for (size_t i = 0; i < count && at < total; i++) check(c, "an id of a page", ids[i], expected[at++]);
        check(c, "more pages", more, at < total);
    }
}

/* A row of a page is the comment and the text that the store has, whenever the page was read last. */
static void compare_row(const struct comparing *c, const struct threads_row *row) {
    struct comment comment = {.user = 0};
    struct comment_text text = {.text = {"", 0}};
    struct error error;
    check(c, "a comment of a page", row->there, 1);
    if (!row->there) return;
    threads_comment(c->process->threads, c->partition, c->subject, row->id, &comment, &error);
    check(c, "the state on a page", (int64_t)row->comment.state, (int64_t)comment.state);
    check(c, "likes on a page", row->comment.likes, comment.likes);
    check(c, "replies on a page", row->comment.replies, comment.replies);
    check(c, "reply numbers on a page", row->comment.floors, comment.floors);
    check(c, "the author on a page", row->comment.user, comment.user);
    if (comment.state == COMMENT_VISIBLE)
        threads_text(c->process->threads, c->partition, c->subject, row->id, &text, &error);
    if (text.version < comment.version) text.text.size = 0; // it is not read yet
    bool same = row->text.size == text.text.size &&
                memcmp(row->text.data ? row->text.data : "", text.text.data, row->text.size) == 0;
    check(c, "a text on a page", same, 1);
}

static void read_page(const struct comparing *c) {
    enum { PAGE = 10 };
    struct threads_row rows[PAGE] = {{.id = 0}};
    struct threads_place place = {.sort = THREADS_HEAT};
    struct error error;
    int64_t ids[PAGE];
    size_t count;
    bool more;
    int code = threads_list(c->process->threads, c->partition, c->subject, 0, &place, PAGE, ids, &count, &more, &error);
    for (size_t i = 0; !code && i < count; i++) rows[i].id = ids[i];
    if (!code) code = threads_many(c->process->threads, c->partition, c->subject, rows, count, &error);
    check(c, "the code of a page of rows", code, 0);
    if (code) return;
    for (size_t i = 0; i < count; i++) compare_row(c, &rows[i]);
    threads_many_release(rows, count);
}

/* ---- outcomes ---- */

static void compare_outcome(const struct comparing *c, const struct model_outcome *outcome) {
    const char *text = c->world->keys[outcome->key];
    struct event_text key = {text, strlen(text)};
    enum comment_refusal_reason reason;
    struct error error;
    int64_t id = 0;
    if (outcome->made) {
        check(c, "a key's comment",
              threads_key(c->process->threads, c->partition, c->subject, outcome->user, &key, &id, &error), 1);
        check(c, "the comment of a key", id, outcome->made);
        return;
    }
    int found = threads_refusal(c->process->threads, c->partition, c->subject, outcome->user, &key, c->world->now_ms,
                                &reason, &error);
    check(c, "a refusal", found, 1);
    if (found == 1) check(c, "the reason of a refusal", (int64_t)reason, outcome->refused);
}

static void compare_all(const struct comparing *c) {
    compare_subject(c);
    compare_rest(c);
    for (size_t i = 0; i < c->model->count; i++) compare_comment(c, &c->model->comments[i]);
    for (int s = THREADS_FLOOR; s <= THREADS_HEAT; s++) compare_list(c, 0, (enum threads_sort)s);
    for (size_t i = 0; i < c->model->count; i++)
        compare_list(c, c->model->comments[i].id, c->model->comments[i].root ? THREADS_ANSWERS : THREADS_FLOOR);
    for (size_t i = 0; i < c->world->model.outcome_count; i++)
        if (c->world->model.outcomes[i].subject == c->number) compare_outcome(c, &c->world->model.outcomes[i]);
}

static void each_subject(struct comments_world *world, struct world_process *process, int32_t partition,
                         void (*compare)(const struct comparing *c)) {
    for (int s = 0; s < MODEL_SUBJECTS; s++) {
        const struct event_text *subject = &WORLD_SUBJECTS[s];
        if (hash_partition(subject->data, subject->size, WORLD_PARTITIONS) != partition) continue;
        compare(&(struct comparing){.world = world,
                                    .process = process,
                                    .partition = partition,
                                    .number = s,
                                    .subject = subject,
                                    .model = &world->model.subjects[s]});
    }
}

void world_compare(struct comments_world *world, struct world_process *process, int32_t partition) {
    each_subject(world, process, partition, compare_all);
    each_subject(world, process, partition, read_page);
}

void world_read_pages(struct comments_world *world, struct world_process *process, int32_t partition) {
    each_subject(world, process, partition, read_page);
}

/* Each notice of the model was told, and no other one. */
void world_compare_notices(struct comments_world *world) {
    const struct model *model = &world->model;
    if (world->notice_count != model->notice_count)
        world_wrong(world, "%zu notices, not %zu", world->notice_count, model->notice_count);
    for (size_t i = 0; i < model->notice_count; i++) {
        const struct model_notice *wanted = &model->notices[i];
        bool found = false;
        for (size_t j = 0; !found && j < world->notice_count; j++) {
            const struct model_notice *is = &world->notices[j];
            found = is->user == wanted->user && is->comment == wanted->comment && is->by == wanted->by &&
                    is->time == wanted->time && is->mention == wanted->mention && is->likes == wanted->likes;
        }
        if (!found)
            world_wrong(world, "user %lld is not told of comment %lld", (long long)wanted->user,
                        (long long)wanted->comment);
    }
}
