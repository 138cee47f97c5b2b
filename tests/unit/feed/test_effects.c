/* Tests effects.c, effects_requests.c and newest.c. The effects of relations, posts, inboxes that begin and requests, against tables and
 * brute force; and pushes to many, which go out in slices while followers come and go. All partitions are here, and each half of a
 * relation changes by itself. */
#include "feed/effects.h"
#include "ids/ids.h"
#include "unit/feed/relation_steps.h"
#include "unit/kit/kit.h"

enum { USERS = 60, KINDS = 4, POSTS_MAX = 800, LINES_MAX = 4000, HISTORIES = 8, STEPS = 150, OFFSET = 1000 };

struct post_row {
    int64_t author, id;
    bool live;
};

/* Effects as text, one a line: they are compared in no order. */
struct lines {
    char *items[LINES_MAX];
    size_t count;
};

struct world {
    uint64_t seed, random;
    char *folder;
    struct store *store;
    struct posts *posts;
    struct relation_lists *relations;
    struct hot *hot;
    struct effects *effects;
    struct effects_options options;
    int64_t offsets[IDS_PARTITIONS_MAX];
    bool table[KINDS][USERS][USERS];
    struct post_row rows[POSTS_MAX];
    size_t row_count;
    struct lines got, wanted;
    size_t readers; /* of all timelines that were told */
};

static uint64_t chance(struct world *w, uint64_t of) { return hash_u64(w->random++) % of; }

static void done(struct world *w, int code, const struct error *error) {
    if (code < 0) fail_msg("seed %" PRIu64 ": %d %s", w->seed, code, error->text);
}

static int32_t home(const struct world *w, int64_t user) { return hash_user_partition(user, w->options.partitions); }

/* ---- effects as lines ---- */

static void put_ids(struct buffer *out, const char *name, const int64_t *ids, size_t count) {
    buffer_format(out, " %s", name);
    for (size_t i = 0; i < count; i++) buffer_format(out, "%c%" PRId64, i ? ',' : ' ', ids[i]);
}

static void put_line(struct world *w, struct lines *lines, const char *topic, int32_t partition, const int64_t *users,
                     size_t count, const struct timeline_item *item) {
    struct buffer out = {.data = NULL};
    CHECK(w, lines->count < LINES_MAX);
    buffer_format(&out, "%s %d", topic, (int)partition);
    put_ids(&out, "to", users, count);
    switch (item->kind) {
    case TIMELINE_ITEM_PUSH:
        buffer_format(&out, " push %" PRId64 " by %" PRId64, item->push.id, item->push.author);
        break;
    case TIMELINE_ITEM_BACKLOG:
        buffer_format(&out, " backlog by %" PRId64 " cut %" PRId64, item->backlog.author, item->backlog.cut);
        put_ids(&out, "ids", item->backlog.ids.items, item->backlog.ids.count);
        break;
    case TIMELINE_ITEM_BEGIN: buffer_string(&out, " begin"); break;
    case TIMELINE_ITEM_REQUEST:
        buffer_format(&out, " request %" PRId64 " by %" PRId64, item->request.request, item->request.reader);
        break;
    case TIMELINE_ITEM_ANSWER:
        buffer_format(&out, " answer %" PRId64 " of %d cut %" PRId64, item->answer.request, (int)item->answer.partition,
                      item->answer.cut);
        for (size_t i = 0; i < item->answer.posts.count; i++)
            buffer_format(&out, " %" PRId64 " by %" PRId64, item->answer.posts.items[i].id,
                          item->answer.posts.items[i].author);
        break;
    case TIMELINE_ITEM_EDITED: buffer_format(&out, " edited %" PRId64, item->edited.id); break;
    case TIMELINE_ITEM_MODERATED:
        buffer_format(&out, " %s %" PRId64 " by %d", item->moderated.hidden ? "hidden" : "shown", item->moderated.id,
                      (int)item->moderated.times);
        break;
    case TIMELINE_ITEM_HOT: buffer_format(&out, " hot %" PRId64, item->hot.id); break;
    case TIMELINE_ITEM_GONE:
        buffer_format(&out, " gone %" PRId64 " by %" PRId64, item->gone.id, item->gone.author);
        break;
    case TIMELINE_ITEM_HOT_GONE: buffer_format(&out, " hot gone %" PRId64, item->hot_gone.id); break;
    }
    lines->items[lines->count++] = strdup(buffer_cstring(&out));
    buffer_free(&out);
}

static void on_timeline(void *context, int32_t partition, const int64_t *readers, size_t count,
                        const struct timeline_item *item) {
    struct world *w = context;
    for (size_t i = 0; i < count; i++) CHECK(w, home(w, readers[i]) == partition);
    w->readers += count;
    put_line(w, &w->got, "timelines", partition, readers, count, item);
}

static void on_request(void *context, int32_t partition, const int64_t *authors, size_t count,
                       const struct timeline_item *item) {
    struct world *w = context;
    for (size_t i = 0; i < count; i++) CHECK(w, home(w, authors[i]) == partition);
    put_line(w, &w->got, "requests", partition, authors, count, item);
}

static void on_hot(void *context, int32_t partition, int64_t author, const struct timeline_item *item) {
    struct world *w = context;
    CHECK(w, home(w, author) == partition);
    put_line(w, &w->got, "hot", partition, &author, 1, item);
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void clear(struct lines *lines) {
    for (size_t i = 0; i < lines->count; i++) free(lines->items[i]);
    lines->count = 0;
}

static void compare(struct world *w, const char *what) {
    struct lines *got = &w->got, *wanted = &w->wanted;
    if (got->count) qsort(got->items, got->count, sizeof *got->items, by_text);
    if (wanted->count) qsort(wanted->items, wanted->count, sizeof *wanted->items, by_text);
    for (size_t i = 0; i < got->count || i < wanted->count; i++) {
        const char *is = i < got->count ? got->items[i] : "nothing",
                   *should = i < wanted->count ? wanted->items[i] : "nothing";
        if (strcmp(is, should) != 0) fail_msg("seed %" PRIu64 ", %s: \"%s\" is not \"%s\"", w->seed, what, is, should);
    }
    clear(got);
    clear(wanted);
}

/* ---- a world ---- */

static struct world *world_new(uint64_t seed, int32_t partitions, size_t chunk) {
    struct world *w = mem_zero(1, sizeof *w);
    char path[96];
    int64_t from;
    *w = (struct world){.seed = seed, .random = seed << 32, .folder = kit_folder()};
    snprintf(path, sizeof path, "%s/posts", w->folder);
    const struct store_options store = {.cache_bytes = 4 << 20, .memtable_bytes = 4 << 20, .point_lookups = true};
    done(w, store_open(path, &store, &w->store, &failure), &failure);
    w->posts = posts_new(w->store, partitions, INT64_C(1) << 50);
    snprintf(path, sizeof path, "%s/follows", w->folder);
    const struct relation_lists_options lists = {.path = path,
                                                 .partitions = partitions,
                                                 .memory_bytes = 4 << 20,
                                                 .chunk = chunk,
                                                 .max_age_ms = INT64_C(86400000)};
    done(w, relation_lists_open(&lists, &w->relations, &failure), &failure);
    for (int32_t p = 0; p < partitions; p++) {
        done(w, posts_open(w->posts, p, 0, 0, &failure), &failure);
        done(w, relation_lists_attach(w->relations, p, clock_wall_ms(), &from, &failure), &failure);
    }
    w->hot = hot_new();
    w->options = (struct effects_options){
        .relations = w->relations,
        .posts = w->posts,
        .lists = w->hot,
        .partitions = partitions,
        .push_max = 6,
        .backlog = 1 + chance(w, 6),
        .answer = 1 + chance(w, 12),
        .context = w,
        .timeline = on_timeline,
        .request = on_request,
        .hot = on_hot,
    };
    w->effects = effects_new(&w->options);
    return w;
}

static void world_free(struct world *w) {
    effects_free(w->effects);
    hot_free(w->hot);
    posts_free(w->posts);
    store_close(w->store);
    relation_lists_close(w->relations);
    clear(&w->got);
    clear(&w->wanted);
    kit_remove(w->folder);
    free(w);
}

static void take_half(struct world *w, const struct relation_half *half, bool set) {
    int32_t p = home(w, half->user);
    relation_lists_take(w->relations, p, w->offsets[p]++, 1, half, set);
}

static void apply_halves(struct world *w) {
    for (int32_t p = 0; p < w->options.partitions; p++)
        done(w, relation_lists_apply(w->relations, p, w->offsets[p], clock_wall_ms(), false, &failure), &failure);
}

static void put_post(struct world *w, int64_t author, int64_t id, enum post_state state) {
    int32_t p = home(w, author);
    const struct post post = {.state = state, .deleted = state == POST_DELETED ? 5 : 0};
    posts_take_index(w->posts, p, w->offsets[p]++, author, id, &post);
    done(w, posts_write(w->posts, &failure), &failure);
}

/* ---- brute force ---- */

static size_t list_of(const struct world *w, enum relation relation, int64_t user, int64_t *ids) {
    size_t count = 0;
    for (int64_t other = 0; other < USERS; other++)
        if (w->table[relation][user][other]) ids[count++] = other;
    return count;
}

static size_t at_home(const struct world *w, const int64_t *users, size_t count, int32_t partition, int64_t *found) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (home(w, users[i]) == partition) found[kept++] = users[i];
    return kept;
}

static int falling(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static size_t live_posts(const struct world *w, int64_t author, int64_t *ids) {
    size_t count = 0;
    for (size_t i = 0; i < w->row_count; i++)
        if (w->rows[i].live && w->rows[i].author == author) ids[count++] = w->rows[i].id;
    if (count) qsort(ids, count, sizeof *ids, falling);
    return count;
}

static void want_backlog(struct world *w, int64_t author, int64_t reader) {
    int64_t ids[POSTS_MAX];
    size_t count = live_posts(w, author, ids), most = w->options.backlog;
    const struct timeline_item item = {
        .kind = TIMELINE_ITEM_BACKLOG,
        .backlog = {.author = author, .ids = {ids, count < most ? count : most}, .cut = count > most ? ids[most] : 0}};
    if (count) put_line(w, &w->wanted, "timelines", home(w, reader), &reader, 1, &item);
}

static void want_request(struct world *w, int32_t partition, const int64_t *authors, size_t count, int64_t reader,
                         int64_t request) {
    const struct timeline_item item = {.kind = TIMELINE_ITEM_REQUEST,
                                       .request = {.reader = reader, .request = request}};
    put_line(w, &w->wanted, "requests", partition, authors, count, &item);
}

static int newest_first(const void *a, const void *b) {
    return falling(&((const struct post_ref *)a)->id, &((const struct post_ref *)b)->id);
}

/* All newest posts of all authors, then what is too old or too much left out. */
static void want_answer(struct world *w, int32_t partition, const int64_t *authors, size_t count, int64_t reader,
                        int64_t request) {
    static struct post_ref refs[USERS * POSTS_MAX];
    size_t ref_count = 0, kept = 0;
    int64_t ids[POSTS_MAX], cut = 0;
    for (size_t i = 0; i < count; i++) {
        size_t live = live_posts(w, authors[i], ids);
        for (size_t k = 0; k < live && k < w->options.backlog; k++)
            refs[ref_count++] = (struct post_ref){.author = authors[i], .id = ids[k]};
        if (live > w->options.backlog && ids[w->options.backlog] > cut) cut = ids[w->options.backlog];
    }
    if (ref_count) qsort(refs, ref_count, sizeof *refs, newest_first);
    if (ref_count > w->options.answer && refs[w->options.answer].id > cut) cut = refs[w->options.answer].id;
    while (kept < ref_count && refs[kept].id > cut) kept++;
    const struct timeline_item item = {
        .kind = TIMELINE_ITEM_ANSWER,
        .answer = {.request = request, .partition = partition, .posts = {refs, kept}, .cut = cut}};
    put_line(w, &w->wanted, "timelines", home(w, reader), &reader, 1, &item);
}

/* ---- one effect after the other ---- */

static int64_t user_of(struct world *w) { return (int64_t)chance(w, chance(w, 2) ? 5 : USERS); }

static struct relation_half some_half(struct world *w) {
    return (struct relation_half){
        .user = user_of(w), .other = (int64_t)chance(w, USERS), .relation = (enum relation)(1 + chance(w, 3))};
}

static void change_halves(struct world *w) {
    for (uint64_t count = chance(w, 10); count; count--) {
        const struct relation_half half = some_half(w);
        bool set = chance(w, 4);
        w->table[half.relation][half.user][half.other] = set;
        take_half(w, &half, set);
    }
    apply_halves(w);
}

static void change_posts(struct world *w) {
    for (uint64_t count = chance(w, 8); count && w->row_count < POSTS_MAX; count--) {
        if (w->row_count && !chance(w, 4)) {
            struct post_row *row = &w->rows[chance(w, w->row_count)];
            row->live = false;
            put_post(w, row->author, row->id, POST_DELETED);
            continue;
        }
        int64_t author = user_of(w);
        struct post_row *row = &w->rows[w->row_count++];
        *row = (struct post_row){
            .author = author, .id = ids_make(OFFSET + (int64_t)w->row_count * 3, home(w, author)), .live = true};
        put_post(w, author, row->id, POST_LIVE);
    }
}

/* The record may be an old one: only what the lists have now counts. */
static void try_half(struct world *w) {
    struct relation_half half = some_half(w);
    bool set = chance(w, 4);
    for (int i = 0; i < 30 && !w->table[half.relation][half.user][half.other]; i++) half = some_half(w);
    if (set && w->table[half.relation][half.user][half.other]) {
        if (half.relation == RELATION_FOLLOWING) want_request(w, home(w, half.other), &half.other, 1, half.user, -1);
        if (half.relation == RELATION_FOLLOWER) want_backlog(w, half.user, half.other);
    }
    done(w, effects_half(w->effects, home(w, half.user), &half, set, &failure), &failure);
    compare(w, "half");
}

/* Makes the post one that the hot lists have, had, or do not know. True: the last of these. */
static bool try_hot(struct world *w, const struct post_row *row) {
    uint64_t what = chance(w, 3);
    if (what) hot_put(w->hot, row->author, row->id);
    if (what == 2) hot_remove(w->hot, row->author, row->id);
    return !hot_has(w->hot, row->author, row->id) && !hot_is_gone(w->hot, row->id);
}

static void try_post(struct world *w) {
    struct post_row row = {.author = user_of(w), .id = 7, .live = false};
    int64_t followers[USERS], readers[USERS];
    if (w->row_count && chance(w, 8)) row = w->rows[chance(w, w->row_count)];
    if (!chance(w, 16)) row.author = (row.author + w->options.partitions) % USERS; // somebody else's
    bool deleted = row.id != 7 && !row.live;
    for (size_t i = 0; i < w->row_count; i++)
        if (w->rows[i].id == row.id && w->rows[i].author != row.author) row.live = deleted = false;
    size_t count = list_of(w, RELATION_FOLLOWER, row.author, followers), push_max = chance(w, 20);
    const struct timeline_item hot = {.kind = TIMELINE_ITEM_HOT, .hot = {.id = row.id}},
                               hot_gone = {.kind = TIMELINE_ITEM_HOT_GONE, .hot_gone = {.id = row.id}},
                               push = {.kind = TIMELINE_ITEM_PUSH, .push = {.author = row.author, .id = row.id}},
                               gone = {.kind = TIMELINE_ITEM_GONE, .gone = {.author = row.author, .id = row.id}};
    if (count && (deleted || (row.live && count > push_max)))
        put_line(w, &w->wanted, "hot", home(w, row.author), &row.author, 1, deleted ? &hot_gone : &hot);
    bool pushed = count <= push_max || (deleted && try_hot(w, &row));
    for (int32_t p = 0; (row.live || deleted) && pushed && p < w->options.partitions; p++) {
        size_t here = at_home(w, followers, count, p, readers);
        if (here) put_line(w, &w->wanted, "timelines", p, readers, here, deleted ? &gone : &push);
    }
    effects_set_push_max(w->effects, push_max);
    done(w, effects_post(w->effects, home(w, row.author), row.author, row.id, OFFSET, &failure), &failure);
    compare(w, "post");
    CHECK(w, !effects_pushes(w->effects) && effects_held(w->effects, home(w, row.author)) == INT64_MAX);
}

static void try_begin(struct world *w) {
    int64_t reader = user_of(w), followees[USERS], authors[USERS], wanted[IDS_PARTITIONS_MAX];
    size_t count = list_of(w, RELATION_FOLLOWING, reader, followees), wanted_count = 99999, kept = 0;
    done(w, effects_wanted(w->effects, home(w, reader), reader, wanted, &wanted_count, &failure), &failure);
    for (int32_t p = 0; p < w->options.partitions; p++)
        if (at_home(w, followees, count, p, authors)) CHECK(w, kept < wanted_count && wanted[kept++] == p);
    CHECK(w, kept == wanted_count);
    compare(w, "wanted");
    // The Begin was made when the reader followed others.
    bool named[IDS_PARTITIONS_MAX] = {false};
    wanted_count = 0;
    for (int32_t p = 0; p < w->options.partitions; p++)
        if (chance(w, 2)) named[wanted[wanted_count++] = p] = true;
    for (int32_t p = 0; p < w->options.partitions; p++) {
        size_t here = at_home(w, followees, count, p, authors);
        if (named[p] || here) want_request(w, p, authors, here, reader, named[p] ? 77 : -1);
    }
    if (!chance(w, 4)) wanted[wanted_count++] = chance(w, 2) ? -1 : w->options.partitions; // of nobody
    done(w, effects_begin(w->effects, home(w, reader), reader, 77, wanted, wanted_count, &failure), &failure);
    compare(w, "begin");
}

static void try_request(struct world *w) {
    int32_t p = (int32_t)chance(w, (uint64_t)w->options.partitions);
    int64_t users[USERS], authors[USERS], reader = user_of(w), request = chance(w, 3) ? (int64_t)chance(w, 100) : -1;
    size_t count = 0;
    for (int64_t user = 0; user < USERS; user++)
        if (chance(w, 3)) users[count++] = user;
    count = at_home(w, users, count, p, authors);
    for (size_t i = 0; request < 0 && i < count; i++) want_backlog(w, authors[i], reader);
    if (request >= 0) want_answer(w, p, authors, count, reader, request);
    effects_request(w->effects, p, OFFSET, authors, count, reader, request);
    CHECK(w, !w->got.count);
    for (int code = 1; code;) done(w, code = effects_run(w->effects, 1 + chance(w, 40), &failure), &failure);
    compare(w, "request");
}

TEST(histories) {
    static const int32_t PARTITIONS[] = {1, 3, 7, 40};
    for (uint64_t seed = 0; seed < kit_histories(HISTORIES); seed++) {
        struct world *w = world_new(seed, PARTITIONS[seed % ARRAY_SIZE(PARTITIONS)], 4);
        for (int i = 0; i < STEPS; i++) {
            switch (chance(w, 6)) {
            case 0: change_halves(w); break;
            case 1: change_posts(w); break;
            case 2: try_half(w); break;
            case 3: try_post(w); break;
            case 4: try_begin(w); break;
            default: try_request(w);
            }
        }
        world_free(w);
    }
}

/* ---- pushes to many ---- */

enum { MANY = 2500, FIRST = 100, AUTHORS = 3 }; /* followers are FIRST and on */

struct crowd {
    struct world *w;
    uint8_t got[AUTHORS][MANY];  /* how often the author's post came to each */
    uint8_t gone[AUTHORS][MANY]; /* and how often its deletion */
    bool always[AUTHORS][MANY], ever[AUTHORS][MANY];
    size_t calls[AUTHORS], slice; /* readers in one call of effects_run */
    int last;                     /* author of the last slice */
};

static void crowd_timeline(void *context, int32_t partition, const int64_t *readers, size_t count,
                           const struct timeline_item *item) {
    struct crowd *crowd = context;
    bool gone = item->kind == TIMELINE_ITEM_GONE;
    int64_t author = gone ? item->gone.author : item->push.author, id = gone ? item->gone.id : item->push.id;
    CHECK(crowd->w, (gone || item->kind == TIMELINE_ITEM_PUSH) && id == FIRST + author);
    crowd->last = (int)author;
    crowd->slice += count;
    crowd->calls[author]++;
    for (size_t i = 0; i < count; i++) {
        CHECK(crowd->w, home(crowd->w, readers[i]) == partition);
        (gone ? crowd->gone : crowd->got)[author][readers[i] - FIRST]++;
    }
}

static void crowd_hot(void *context, int32_t partition, int64_t author, const struct timeline_item *item) {
    const struct crowd *crowd = context;
    CHECK(crowd->w, item->kind == TIMELINE_ITEM_HOT_GONE && item->hot_gone.id == FIRST + author);
}

static void follow(struct crowd *crowd, int64_t author, int64_t reader, bool set) {
    const struct relation_half half = {.user = author, .other = FIRST + reader, .relation = RELATION_FOLLOWER};
    crowd->always[author][reader] = set && crowd->always[author][reader];
    crowd->ever[author][reader] |= set;
    take_half(crowd->w, &half, set);
}

static struct crowd *crowd_new(uint64_t seed) {
    struct crowd *crowd = mem_zero(1, sizeof *crowd);
    struct world *w = crowd->w = world_new(seed, 5, 16);
    w->options.push_max = MANY;
    w->options.context = crowd;
    w->options.timeline = crowd_timeline;
    w->options.hot = crowd_hot;
    effects_free(w->effects);
    w->effects = effects_new(&w->options);
    memset(crowd->always, 1, sizeof crowd->always);
    for (int64_t author = 0; author < AUTHORS; author++) {
        for (int64_t reader = 0; reader < MANY; reader++) {
            if (chance(w, 8))
                follow(crowd, author, reader, true);
            else
                crowd->always[author][reader] = false;
        }
        put_post(w, author, FIRST + author, POST_LIVE);
    }
    apply_halves(w);
    return crowd;
}

static void crowd_free(struct crowd *crowd) {
    world_free(crowd->w);
    free(crowd);
}

static void post_all(struct crowd *crowd) {
    struct world *w = crowd->w;
    for (int64_t author = 0; author < AUTHORS; author++)
        done(w, effects_post(w->effects, home(w, author), author, FIRST + author, OFFSET + author, &failure), &failure);
    CHECK(w, !crowd->slice && effects_pushes(w->effects) == AUTHORS);
}

static int run(struct crowd *crowd, size_t readers) {
    crowd->slice = 0;
    crowd->last = -1;
    int code = effects_run(crowd->w->effects, readers, &failure);
    done(crowd->w, code, &failure);
    CHECK(crowd->w, crowd->slice <= readers);
    return code;
}

/* A reader who follows all the time gets each post once, one who came or went meanwhile at most once. */
TEST(pushes_to_many_go_out_in_slices) {
    for (uint64_t seed = 0; seed < kit_histories(2); seed++) {
        struct crowd *crowd = crowd_new(seed);
        struct world *w = crowd->w;
        post_all(crowd);
        do {
            for (uint64_t count = chance(w, 3) ? 0 : chance(w, 20); count; count--)
                follow(crowd, (int64_t)chance(w, AUTHORS), (int64_t)chance(w, MANY), chance(w, 2));
            apply_halves(w);
        } while (run(crowd, 1 + chance(w, 900)));
        for (int64_t author = 0; author < AUTHORS; author++) {
            CHECK(w, effects_held(w->effects, home(w, author)) == INT64_MAX);
            for (int64_t reader = 0; reader < MANY; reader++) {
                if (crowd->always[author][reader]) CHECK(w, crowd->got[author][reader] == 1);
                CHECK(w, crowd->got[author][reader] <= crowd->ever[author][reader]);
            }
        }
        CHECK(w, run(crowd, 1000) == 0 && !crowd->slice);
        crowd_free(crowd);
    }
}

static void delete_post(struct crowd *crowd, int64_t author) {
    struct world *w = crowd->w;
    put_post(w, author, FIRST + author, POST_DELETED);
    done(w, effects_post(w->effects, home(w, author), author, FIRST + author, OFFSET + AUTHORS, &failure), &failure);
}

TEST(deletions_go_to_many_as_well) {
    struct crowd *crowd = crowd_new(3);
    struct world *w = crowd->w;
    post_all(crowd);
    while (run(crowd, 700)) continue;
    delete_post(crowd, 0);
    CHECK(w, effects_pushes(w->effects) == 1 && effects_held(w->effects, home(w, 0)) == OFFSET + AUTHORS);
    while (run(crowd, 700)) continue;
    for (int64_t reader = 0; reader < MANY; reader++) {
        assert_int_equal(crowd->gone[0][reader], crowd->always[0][reader] ? 1 : 0);
        assert_int_equal(crowd->gone[1][reader], 0);
    }
    crowd_free(crowd);
}

/* The rest of the followers is told of the deletion only. */
TEST(a_post_is_deleted_while_it_goes_out) {
    struct crowd *crowd = crowd_new(4);
    post_all(crowd);
    run(crowd, 500);
    delete_post(crowd, 0);
    while (run(crowd, 500)) continue;
    size_t got = 0;
    for (int64_t reader = 0; reader < MANY; reader++) {
        got += crowd->got[0][reader];
        assert_int_equal(crowd->gone[0][reader], crowd->always[0][reader] ? 1 : 0);
    }
    assert_int_equal(got, 500);
    crowd_free(crowd);
}

/* Each push has its turn; offsets are held until their pushes are complete. */
TEST(pushes_take_turns) {
    struct crowd *crowd = crowd_new(0);
    struct world *w = crowd->w;
    post_all(crowd);
    for (int turn = 0; turn < 9; turn++) {
        assert_int_equal(run(crowd, 100), 1);
        assert_int_equal(crowd->slice, 100);
        assert_int_equal(crowd->last, turn % AUTHORS);
    }
    size_t parts = 0;
    for (int author = 0; author < AUTHORS; author++) parts += crowd->calls[author];
    assert_true(parts <= 9 * 5); // one item a partition, however many readers it has there
    for (int64_t author = 0; author < AUTHORS; author++) {
        int64_t lowest = INT64_MAX;
        for (int64_t other = AUTHORS - 1; other >= 0; other--)
            if (home(w, other) == home(w, author)) lowest = OFFSET + other;
        assert_int_equal(effects_held(w->effects, home(w, author)), lowest);
    }
    // A post that is deleted goes no further; the others do.
    put_post(w, 0, FIRST, POST_DELETED);
    assert_int_equal(run(crowd, 100), 1);
    assert_int_equal(crowd->slice, 0);
    assert_int_equal(effects_pushes(w->effects), 2);
    assert_true(effects_held(w->effects, home(w, 0)) != OFFSET);
    // One of a partition that is gone neither.
    int32_t gone = home(w, 1);
    size_t left = home(w, 2) == gone ? 0 : 1;
    effects_drop(w->effects, gone);
    assert_int_equal(effects_pushes(w->effects), left);
    assert_int_equal(effects_held(w->effects, gone), INT64_MAX);
    while (run(crowd, 100)) assert_int_equal(crowd->last, 2);
    assert_int_equal(effects_pushes(w->effects), 0);
    crowd_free(crowd);
}

/* Many pushes wait at once: the queue grows while it is in use, and stays a queue. */
TEST(many_pushes_wait) {
    enum { POSTS = 60 };
    int64_t queue[POSTS + POSTS / 4]; /* authors, by their turns */
    size_t first = 0, last = 0;
    struct crowd *crowd = crowd_new(1);
    struct world *w = crowd->w;
    for (int64_t i = 0; i < POSTS; i++) {
        done(w, effects_post(w->effects, home(w, i % AUTHORS), i % AUTHORS, FIRST + i % AUTHORS, OFFSET + i, &failure),
             &failure);
        queue[last++] = i % AUTHORS;
        if (i % 4 != 3) continue;
        run(crowd, 10);
        assert_int_equal(crowd->last, queue[first]);
        queue[last++] = queue[first++];
    }
    assert_int_equal(effects_pushes(w->effects), POSTS);
    int64_t lowest = INT64_MAX;
    for (int32_t p = 0; p < w->options.partitions; p++) {
        int64_t held = effects_held(w->effects, p);
        if (held < lowest) lowest = held;
    }
    assert_int_equal(lowest, OFFSET);
    while (run(crowd, 1000)) continue;
    for (int64_t author = 0; author < AUTHORS; author++)
        for (int64_t reader = 0; reader < MANY; reader++)
            if (crowd->always[author][reader]) assert_int_equal(crowd->got[author][reader], POSTS / AUTHORS);
    crowd_free(crowd);
}

/* A failure changes nothing: the push is still there, and goes on where it was. */
TEST(a_push_survives_a_failure) {
    struct crowd *crowd = crowd_new(2);
    struct world *w = crowd->w;
    struct error error = {.text = ""};
    int32_t p = home(w, 0);
    int64_t from;
    done(w, effects_post(w->effects, p, 0, FIRST, OFFSET, &error), &error);
    run(crowd, 500);
    relation_lists_detach(w->relations, p);
    crowd->slice = 0;
    assert_int_equal(effects_run(w->effects, 500, &error), -ESTALE);
    done(w, relation_lists_attach(w->relations, p, clock_wall_ms(), &from, &error), &error);
    posts_close(w->posts, p);
    assert_int_equal(effects_run(w->effects, 500, &error), -ESTALE);
    assert_int_equal(effects_post(w->effects, p, 0, FIRST, OFFSET, &error), -ESTALE);
    assert_true(!crowd->slice && error.text[0]);
    assert_int_equal(effects_held(w->effects, p), OFFSET);
    done(w, posts_open(w->posts, p, 0, 0, &error), &error);
    while (run(crowd, 500)) continue;
    for (int64_t reader = 0; reader < MANY; reader++)
        assert_int_equal(crowd->got[0][reader], crowd->always[0][reader] ? 1 : 0);
    crowd_free(crowd);
}

/* ---- requests for many authors ---- */

enum { WORK = 2000, NEAR = 5000, WANTED = 300 };

static int32_t first_lowered(struct world *w, int64_t *offset) {
    int64_t offsets[IDS_PARTITIONS_MAX];
    for (int32_t p = 0; p < w->options.partitions; p++) offsets[p] = INT64_MAX;
    effects_lower(w->effects, offsets);
    for (int32_t p = 0; p < w->options.partitions; p++) {
        *offset = offsets[p];
        if (offsets[p] < INT64_MAX) return p;
    }
    return -1;
}

/* A world of one partition with posts of NEAR authors, whom one request asks for. */
static struct world *near_world(int64_t *authors) {
    struct world *w = world_new(9, 1, 16);
    w->options.backlog = 20;
    w->options.answer = WANTED;
    effects_free(w->effects);
    w->effects = effects_new(&w->options);
    for (int64_t i = 0; i < NEAR; i++) {
        authors[i] = i;
        for (uint64_t k = chance(w, 4); k; k--) {
            const struct post post = {.state = chance(w, 4) ? POST_LIVE : POST_DELETED, .deleted = 1};
            posts_take_index(w->posts, 0, w->offsets[0]++, i, ids_make(1 + (int64_t)(chance(w, 1 << 30)), 0), &post);
        }
    }
    done(w, posts_write(w->posts, &failure), &failure);
    return w;
}

/* One turn of the loop; returns how much the store was moved through. */
static uint64_t one_turn(struct world *w, int *code) {
    uint64_t before = posts_moves(w->posts);
    done(w, *code = effects_run(w->effects, WORK, &failure), &failure);
    return posts_moves(w->posts) - before;
}

static size_t newest_of_all(struct world *w, const int64_t *authors, struct post_ref *refs) {
    size_t count = 0, found, pass = SIZE_MAX;
    int64_t ids[64], more;
    for (int64_t i = 0; i < NEAR; i++) {
        done(w,
             posts_of(w->posts, 0, authors[i], 0, INT64_MAX, false, &pass, ids, ARRAY_SIZE(ids), &found, &more,
                      &failure),
             &failure);
        for (size_t k = 0; k < found; k++) refs[count++] = (struct post_ref){.author = i, .id = ids[k]};
    }
    qsort(refs, count, sizeof *refs, newest_first);
    return count;
}

/* The longest turn is bounded by work that is counted, and pushes pass between two turns. */
TEST(a_request_of_thousands_is_answered_in_slices) {
    static int64_t authors[NEAR];
    static struct post_ref refs[4 * NEAR];
    struct world *w = near_world(authors);
    size_t count = newest_of_all(w, authors, refs), turns = 0;
    int64_t offset;
    int code = 1;
    assert_true(count > 2 * WANTED);
    const struct timeline_item item = {
        .kind = TIMELINE_ITEM_ANSWER,
        .answer = {.request = 5, .partition = 0, .posts = {.items = refs, .count = WANTED}, .cut = refs[WANTED].id}};
    const int64_t reader = 1;
    put_line(w, &w->wanted, "timelines", 0, &reader, 1, &item);
    effects_request(w->effects, 0, OFFSET, authors, NEAR, reader, 5);
    assert_int_equal(effects_waiting_authors(w->effects), NEAR);
    while (code) {
        assert_int_equal(first_lowered(w, &offset), 0);
        assert_int_equal(offset, OFFSET);
        assert_int_equal(w->got.count, 0);
        assert_true(one_turn(w, &code) <= WORK);
        turns++;
    }
    assert_true(turns >= NEAR / WORK);
    assert_int_equal(first_lowered(w, &offset), -1);
    assert_int_equal(effects_waiting_authors(w->effects), 0);
    compare(w, "many authors");
    world_free(w);
}

/* An author's deleted posts stand before the live ones. */
TEST(a_long_backlog_is_told_in_slices) {
    enum { DELETED = 2500, AUTHOR = 3, READER = 4 };
    struct world *w = world_new(5, 1, 4);
    const struct relation_half half = {.user = AUTHOR, .other = READER, .relation = RELATION_FOLLOWER};
    const struct post gone = {.state = POST_DELETED, .deleted = 5};
    const struct timeline_item request = {.kind = TIMELINE_ITEM_REQUEST, .request = {.reader = READER, .request = -1}};
    int64_t author = AUTHOR, reader = READER, live = ids_make(1, 0);
    int code;
    for (int64_t i = 0; i < DELETED; i++)
        posts_take_index(w->posts, 0, w->offsets[0]++, author, ids_make(2 + i, 0), &gone);
    put_post(w, author, live, POST_LIVE);
    take_half(w, &half, true);
    apply_halves(w);
    uint64_t before = posts_moves(w->posts);
    done(w, effects_half(w->effects, 0, &half, true, &failure), &failure);
    CHECK(w, posts_moves(w->posts) - before < DELETED);
    put_line(w, &w->wanted, "requests", 0, &author, 1, &request);
    compare(w, "half");
    effects_request(w->effects, 0, OFFSET, &author, 1, reader, -1);
    size_t turns = 0;
    for (code = 1; code; turns++) CHECK(w, one_turn(w, &code) <= WORK);
    CHECK(w, turns > DELETED / WORK);
    const struct timeline_item backlog = {.kind = TIMELINE_ITEM_BACKLOG,
                                          .backlog = {.author = author, .ids = {.items = &live, .count = 1}}};
    put_line(w, &w->wanted, "timelines", 0, &reader, 1, &backlog);
    compare(w, "request");
    world_free(w);
}

/* Requests wait behind each other, and one that is dropped is asked for again from its record on. */
TEST(requests_of_a_lost_partition_are_dropped) {
    static int64_t authors[NEAR];
    struct world *w = near_world(authors);
    int64_t offset;
    int code;
    effects_request(w->effects, 0, OFFSET + 1, authors, NEAR, 1, 5);
    effects_request(w->effects, 0, OFFSET, authors, NEAR, 2, -1);
    one_turn(w, &code);
    assert_int_equal(code, 1);
    assert_int_equal(first_lowered(w, &offset), 0);
    assert_int_equal(offset, OFFSET);
    assert_int_equal(effects_drop(w->effects, 0), OFFSET);
    assert_int_equal(effects_drop(w->effects, 0), INT64_MAX);
    assert_int_equal(one_turn(w, &code), 0);
    assert_int_equal(code, 0);
    // The part of the former request that was carried out is forgotten.
    effects_request(w->effects, 0, OFFSET + 2, authors + 7, 1, 1, 6);
    int64_t id = ids_make(INT64_C(1) << 31, 0);
    put_post(w, 7, id, POST_LIVE);
    one_turn(w, &code);
    assert_int_equal(code, 0);
    assert_int_equal(w->got.count, 1);
    char text[64];
    snprintf(text, sizeof text, "cut 0 %" PRId64 " by 7", id);
    assert_non_null(strstr(w->got.items[0], text));
    world_free(w);
}

/* ---- failures ---- */

/* The partition whose posts cannot be read is named, and its request stays until it is carried out whole. */
TEST(a_request_that_fails_begins_anew) {
    static const int64_t REQUESTS[] = {5, -1};
    for (size_t i = 0; i < ARRAY_SIZE(REQUESTS); i++) {
        struct world *w = world_new(8, 4, 16);
        int64_t author = 0, reader = 1, offset;
        while (home(w, author) != 2) author++;
        put_post(w, author, ids_make(7, 2), POST_LIVE);
        effects_request(w->effects, 2, OFFSET, &author, 1, reader, REQUESTS[i]);
        posts_close(w->posts, 2);
        for (int turn = 0; turn < 2; turn++) {
            assert_int_equal(effects_run(w->effects, WORK, &failure), -ESTALE);
            assert_int_equal(effects_failed(w->effects), 2);
            assert_int_equal(first_lowered(w, &offset), 2);
            assert_int_equal(offset, OFFSET);
            assert_int_equal(w->got.count, 0);
        }
        done(w, posts_open(w->posts, 2, 0, 0, &failure), &failure);
        assert_int_equal(effects_run(w->effects, WORK, &failure), 0);
        assert_int_equal(first_lowered(w, &offset), -1);
        assert_int_equal(w->got.count, 1);
        world_free(w);
    }
}

TEST(a_push_that_fails_stays_as_it_was) {
    struct crowd *crowd = crowd_new(6);
    struct world *w = crowd->w;
    post_all(crowd);
    int64_t author = 0;
    while (home(w, author) == 0) author++;
    CHECK(w, author < AUTHORS);
    while (crowd->last != author - 1) run(crowd, 100); // whose push is the next one then
    int32_t partition = home(w, author);
    int64_t held = effects_held(w->effects, partition);
    size_t told = crowd->calls[author];
    assert_true(held <= OFFSET + author);
    posts_close(w->posts, partition);
    for (int turn = 0; turn < 2; turn++) {
        assert_int_equal(effects_run(w->effects, 100, &failure), -ESTALE);
        assert_int_equal(effects_failed(w->effects), partition);
        assert_int_equal(effects_held(w->effects, partition), held);
    }
    assert_int_equal(crowd->calls[author], told);
    done(w, posts_open(w->posts, partition, 0, 0, &failure), &failure);
    while (run(crowd, 700)) continue;
    for (int64_t reader = 0; reader < MANY; reader++)
        assert_int_equal(crowd->got[author][reader], crowd->always[author][reader] ? 1 : 0);
    crowd_free(crowd);
}
