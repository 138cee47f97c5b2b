#include <string.h>

#include "base/mem.h"
#include "edits/encode.h"
#include "feed/watches_private.h"

static int has(struct watches *watches, const struct watched *watched, enum relation relation, int64_t other, bool *is,
               struct error *error) {
    const struct relation_half half = {.user = watched->user, .relation = relation, .other = other};
    return relation_lists_has(watches->feed->relations, watched->partition, &half, is, NULL, error);
}

int watches_shows(struct watches *watches, const struct watched *watched, int64_t author, bool *is,
                  struct error *error) {
    bool muted = false;
    int code = has(watches, watched, RELATION_FOLLOWING, author, is, error);
    if (!code && *is) code = has(watches, watched, RELATION_MUTED, author, &muted, error);
    *is = *is && !muted;
    return code;
}

static void register_all(struct watches *watches, struct watched *watched, const struct timeline *timeline) {
    watched_unregister_all(watches->table, watched);
    for (size_t i = 0; i < timeline->following->count; i++)
        if (hot_newest(watches->feed->hot_lists, timeline->following->items[i]))
            watched_register_new(watches->table, watched, timeline->following->items[i]);
}

static struct watch_version watches_version(const struct watches *watches, const struct watched *watched) {
    return timeline_version(watches->feed->timelines, watched->newest, watched->count);
}

/* Reads the newest posts. complete: as the timeline's. */
static int read_newest(struct watches *watches, struct watched *watched, struct timeline *timeline,
                       struct error *error) {
    const struct timeline_wish wish = {.user = watched->user, .before = INT64_MAX, .wanted = WATCHED_NEWEST};
    int code = timelines_page(watches->feed->timelines, watched->partition, &wish, timeline, error);
    if (code) return code;
    watched->known = timeline->complete;
    watched->count = timeline->page->count;
    memcpy(watched->newest, timeline->page->posts, watched->count * sizeof *watched->newest);
    return 0;
}

static void name_version(struct watches *watches, struct watched *watched) {
    char what[WATCHES_WHAT_SIZE + 1];
    watched_trust(watched);
    watch_owner_name(watches->owner, watched->partition, what, watches_what_of(watched->user, what),
                     watches_version(watches, watched));
}

/* Tells edges the version, unless they know it. */
static int tell_version(struct watches *watches, struct watched *watched, struct error *error) {
    struct watch_version before = watches_version(watches, watched);
    bool known = watched->known;
    struct timeline timeline;
    int code = read_newest(watches, watched, &timeline, error);
    if (code) return code;
    register_all(watches, watched, &timeline);
    watched_trust(watched);
    if (watched->known && !(known && watch_version_same(before, watches_version(watches, watched))))
        name_version(watches, watched);
    return 0;
}

static struct added_post added(const struct watches *watches, const struct inbox_post *post) {
    return (struct added_post){
        .author = post->author, .id = post->id, .version = edited_version(watches->feed->edited, post->id)};
}

static bool is_gone(const struct watched *watched, int64_t id) {
    for (size_t i = 0; i < watched->gone_count; i++)
        if (watched->gone[i] == id) return true;
    return false;
}

/* The posts that came, without those that the reader does not see. */
static int gather_added(struct watches *watches, struct watched *watched, size_t *count, struct error *error) {
    size_t most = watched->added_count + WATCHED_NEWEST; // also of gather_unheard
    MEM_FIT(watches->posts, most, watches->post_capacity);
    *count = 0;
    for (size_t i = 0; i < watched->added_count; i++) {
        const struct inbox_post *post = &watched->added[i];
        bool is = false;
        bool gone = is_gone(watched, post->id) || hot_is_hidden(watches->feed->hot_lists, post->id);
        int code = gone ? 0 : watches_shows(watches, watched, post->author, &is, error);
        if (code) return code;
        if (is && watched_insert(watched, post)) watches->posts[(*count)++] = added(watches, post);
    }
    return 0;
}

/* Adds to the change the posts that are among the newest now and were not before: those of hot authors whose jobs have not come to
 * this reader. The new version includes them, so they are told with it. Posts that moved up from further down are left out: they are
 * older than all that were there. */
static void gather_unheard(struct watches *watches, const struct watched *watched, const struct inbox_post *before,
                           size_t before_count, size_t *count) {
    int64_t lowest = before_count == WATCHED_NEWEST ? before[before_count - 1].id : 0;
    size_t at = 0;
    for (size_t i = 0; i < watched->count && watched->newest[i].id > lowest; i++) {
        const struct inbox_post *post = &watched->newest[i];
        while (at < before_count && before[at].id > post->id) at++;
        if (at < before_count && before[at].id == post->id) continue;
        watches->posts[(*count)++] = added(watches, post);
    }
}

/* Reads the timeline anew: an older post moves up into the place of one that is gone. */
static int remove_gone(struct watches *watches, struct watched *watched, size_t *count, struct error *error) {
    struct inbox_post before[WATCHED_NEWEST];
    size_t before_count = watched->count;
    struct timeline timeline;
    memcpy(before, watched->newest, before_count * sizeof *before);
    for (size_t i = 0; i < watched->gone_count; i++) watched_below(watched, watched->gone[i]);
    int code = read_newest(watches, watched, &timeline, error);
    if (!code) gather_unheard(watches, watched, before, before_count, count);
    return code;
}

/* Tells edges the posts that came and the ids that are gone; or the version, if screens must read their page for it. */
static int tell_change(struct watches *watches, struct watched *watched, struct error *error) {
    struct watch_version since = watches_version(watches, watched);
    char what[WATCHES_WHAT_SIZE + 1];
    size_t count;
    if (!watched->known) return 0; // the version is told when the inbox is complete
    int code = gather_added(watches, watched, &count, error);
    if (!code && watched->gone_count) code = remove_gone(watches, watched, &count, error);
    if (code || !watched->known || !(count || watched->gone_count)) return code;
    if (watched_doubtful(watched)) {
        name_version(watches, watched);
        return 0;
    }
    const struct feed_change change = {.posts = {.items = watches->posts, .count = count},
                                       .gone = {.items = watched->gone, .count = watched->gone_count}};
    buffer_clear(&watches->content);
    edit_encode_feed_change(&watches->content, &change);
    watch_owner_change(watches->owner, watched->partition, what, watches_what_of(watched->user, what), since,
                       watches_version(watches, watched), watches->content.data, watches->content.size);
    return 0;
}

/* The trace of what is to be told: of an item for the reader, or of a hot post. */
static bool trace_of(const struct watches *watches, const struct watched *watched, struct trace_scope *scope) {
    struct tracer *tracer = service_kafka(watches->feed->service)->tracer;
    bool traced = tracer_unpark(tracer, watches, (uint64_t)watched->user, scope, NULL);
    for (size_t i = 0; !traced && i < watched->added_count; i++)
        traced = tracer_parked(tracer, watches->table, (uint64_t)watched->added[i].id, scope, NULL);
    return traced;
}

int watches_tell(struct watches *watches, struct watched *watched, struct error *error) {
    struct tracer *tracer = service_kafka(watches->feed->service)->tracer;
    struct trace_scope scope;
    bool traced = trace_of(watches, watched, &scope);
    struct trace_scope *before = tracer_enter(tracer, traced ? &scope : NULL);
    int code = watched->anew ? tell_version(watches, watched, error) : tell_change(watches, watched, error);
    tracer_enter(tracer, before);
    return code;
}
