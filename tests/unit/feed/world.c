#include "unit/feed/world.h"

#include "base/bytes.h"
#include "base/chance.h"
#include "event/delivery.h"
#include "feed/audience.h"
#include "feed/edited.h"
#include "feed/effects.h"
#include "feed/inboxes.h"
#include "feed/page.h"
#include "ids/ids.h"
#include "unit/feed/relation_steps.h"
#include "unit/kit/kit.h"

enum {
    PARTS = 3,
    DISKS = 2,   /* that take turns at a partition */
    PAGE = 5,    /* posts of a page */
    KEEP = PAGE, /* of a backlog or an answer, an author: no fewer than a page */
    CAP = 12,    /* of an inbox */
    USERS = 7,   /* at most */
    POSTS = 512  /* of a history, at most */
};

enum log_kind { FOLLOWS, POSTS_LOG, SEES, BLOCKS, TIMELINES, REQUESTS, HOT, LOGS, STATES = BLOCKS + 1 };

const char *const FEED_RULE_NAMES[FEED_RULES] = {"none",    "effects", "attach",    "kept",    "backlog", "request",
                                                 "rebuild", "horizon", "following", "content", "dedupe",  "version",
                                                 "hidden",  "silence", "restored",  "sights",  "asked",   "blocked"};

/* A record of any log: a half, a post, or an item for some users. */
struct entry {
    struct relation_half half;
    int64_t author, id;
    bool set, hidden;  /* of a post: live, hidden */
    int32_t moderated; /* of a post */
    int64_t users[USERS];
    size_t user_count;
    uint8_t item[1024];
    size_t item_size;
};

struct entries {
    struct entry *items;
    size_t count, capacity;
    int64_t first; /* the offset of items[0]: older ones are of earlier histories */
};

struct disk {
    struct relation_lists *relations;
    struct store *store;
    struct posts *posts;
    struct inboxes *inboxes;
    struct effects *effects;
    struct audience audience;
    int64_t ends[STATES]; /* when it was attached; -1: never in this history */
};

/* The effects of one record that are not acknowledged. */
struct pending {
    enum log_kind log;
    int64_t offset;
    struct {
        enum log_kind log;
        int part;
        struct entry entry;
    } * effects;
    size_t count;
    bool sent;
};

struct owner_of_part {
    struct feed_world *world;
    int part, turn;
    struct disk disks[DISKS];
    struct hot *hot;
    struct edited *edited;
    int64_t hot_at[PARTS], at[LOGS];
    bool caught_up; /* restored; effects have gone back to the group's offsets */
    struct pending *pending;
    size_t pending_count, pending_capacity;
};

struct feed_world {
    const char *folder;
    struct chance chance;
    enum feed_rule without;
    struct entries logs[LOGS][PARTS];
    int64_t group[LOGS][PARTS];
    int64_t kept[PARTS]; /* timelines before are gone */
    size_t push_max;
    struct owner_of_part owners[PARTS];
    struct codec *codec;
    struct page_scratch *scratch;
    struct pending *filling; /* effects go there */
    int64_t users[USERS];
    size_t user_count;
    bool follows[USERS][USERS], asks[USERS][USERS]; /* reader, author */
    bool for_followers[USERS], blocked[USERS][USERS];
    struct {
        int64_t id, author;
        int64_t version, kept; /* of its text: now, and that a gateway keeps for ever; 0: none */
        int32_t moderated;
        bool live, hidden;
    } posts[POSTS];
    size_t post_count;
    int64_t tick;
};

static struct error error;

static uint32_t roll(struct feed_world *w, uint32_t below) { return chance_next(&w->chance) % below; }

static bool happens(struct feed_world *w, double chance) {
    return chance_next(&w->chance) < chance * (double)UINT32_MAX;
}

static int part_of(int64_t user) { return (int)hash_user_partition(user, PARTS); }

/* ---- logs ---- */

static struct entry *append(struct feed_world *w, enum log_kind log, int part) {
    struct entries *entries = &w->logs[log][part];
    if (entries->count == entries->capacity) {
        entries->capacity = entries->capacity ? 2 * entries->capacity : 64;
        entries->items = mem_resize(entries->items, entries->capacity, sizeof *entries->items);
    }
    struct entry *entry = &entries->items[entries->count++];
    memset(entry, 0, sizeof *entry);
    return entry;
}

static int64_t end_of(const struct feed_world *w, enum log_kind log, int part) {
    return w->logs[log][part].first + (int64_t)w->logs[log][part].count;
}

static const struct entry *entry_at(const struct feed_world *w, enum log_kind log, int part, int64_t offset) {
    return &w->logs[log][part].items[offset - w->logs[log][part].first];
}

/* ---- effects come out here ---- */

static void put_effect(struct feed_world *w, enum log_kind log, int part, const int64_t *users, size_t count,
                       const struct timeline_item *item) {
    struct pending *pending = w->filling;
    bool backlog = item->kind == TIMELINE_ITEM_BACKLOG;
    bool asked = item->kind == TIMELINE_ITEM_REQUEST && item->request.request < 0;
    if ((backlog && w->without == RULE_BACKLOG) || (asked && w->without == RULE_REQUEST)) return;
    pending->effects = mem_resize(pending->effects, pending->count + 1, sizeof *pending->effects);
    struct entry *entry = &pending->effects[pending->count].entry;
    memset(entry, 0, sizeof *entry);
    assert_true(timeline_item_size_max(item) <= sizeof entry->item && count <= USERS);
    if (count) memcpy(entry->users, users, count * sizeof *users);
    entry->user_count = count;
    entry->item_size = (size_t)(timeline_item_write(entry->item, item) - entry->item);
    pending->effects[pending->count].log = log;
    pending->effects[pending->count++].part = part;
}

static void put_timeline(void *context, int32_t part, const int64_t *users, size_t count,
                         const struct timeline_item *item) {
    put_effect(context, TIMELINES, part, users, count, item);
}

static void put_request(void *context, int32_t part, const int64_t *users, size_t count,
                        const struct timeline_item *item) {
    put_effect(context, REQUESTS, part, users, count, item);
}

static void put_hot(void *context, int32_t part, int64_t author, const struct timeline_item *item) {
    put_effect(context, HOT, part, &author, 1, item);
}

/* ---- disks ---- */

static const char *no_take(void *context, struct table_store *table, const struct kafka_record *record,
                           struct error *reason) {
    return NULL;
}

static void sights_open(struct disk *disk, int part, int64_t from[STATES]) {
    struct audience *audience = &disk->audience;
    *audience = (struct audience){.store = disk->store,
                                  .relations = disk->relations,
                                  .blocks = blocks_new(disk->store, PARTS, no_take, NULL),
                                  .visibility = visibility_store_new(disk->store, PARTS)};
    struct table_store *tables[] = {visibility_table(audience->visibility), audience->blocks};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(table_store_open(tables[i], part, 0, 0, &error), 0);
        from[SEES + i] = table_store_next(tables[i], part, 0);
    }
}

static void disk_open(struct feed_world *w, struct disk *disk, int part, int turn) {
    FREED char *lists = mem_format("%s/%d-%d-lists", w->folder, part, turn);
    FREED char *store = mem_format("%s/%d-%d-posts", w->folder, part, turn);
    struct relation_lists_options options = {.path = lists,
                                             .partitions = PARTS,
                                             .memory_bytes = 16 << 20,
                                             .max_age_ms = INT64_C(1) << 50,
                                             .cache_bytes = 1 << 13};
    assert_int_equal(relation_lists_open(&options, &disk->relations, &error), 0);
    struct store_options store_options = {.cache_bytes = 1 << 20, .memtable_bytes = 8 << 20, .point_lookups = true};
    assert_int_equal(store_open(store, &store_options, &disk->store, &error), 0);
}

/* A process that begins has nothing in memory. */
static void disk_attach(struct feed_world *w, struct disk *disk, const struct hot *hot, int part, int64_t from[STATES],
                        int64_t *timelines) {
    disk->posts = posts_new(disk->store, PARTS, INT64_C(1) << 50);
    disk->inboxes = inboxes_new(&(struct inboxes_options){.store = disk->store,
                                                          .partitions = PARTS,
                                                          .max = CAP,
                                                          .memory_bytes = 1 << 20,
                                                          .away_ms = INT64_C(1) << 40,
                                                          .cache_bytes = 1 << 13});
    disk->effects = effects_new(&(struct effects_options){.relations = disk->relations,
                                                          .posts = disk->posts,
                                                          .lists = hot,
                                                          .partitions = PARTS,
                                                          .push_max = w->push_max,
                                                          .backlog = KEEP,
                                                          .answer = CAP,
                                                          .context = w,
                                                          .timeline = put_timeline,
                                                          .request = put_request,
                                                          .hot = put_hot});
    assert_int_equal(relation_lists_attach(disk->relations, part, 1, &from[FOLLOWS], &error), 0);
    assert_int_equal(posts_open(disk->posts, part, 0, 0, &error), 0);
    assert_int_equal(inboxes_open(disk->inboxes, part, 0, 0, &error), 0);
    from[POSTS_LOG] = posts_next(disk->posts, part, 0);
    sights_open(disk, part, from);
    *timelines = inboxes_next(disk->inboxes, part, 0);
}

static void disk_detach(struct disk *disk, int part) {
    if (!disk->posts) return;
    relation_lists_detach(disk->relations, part);
    effects_free(disk->effects);
    inboxes_free(disk->inboxes);
    posts_free(disk->posts);
    table_store_free(disk->audience.blocks);
    visibility_store_free(disk->audience.visibility);
    disk->posts = NULL;
    disk->inboxes = NULL;
    disk->effects = NULL;
}

static void disk_lose(struct owner_of_part *o) {
    struct disk *disk = &o->disks[o->turn];
    assert_int_equal(relation_lists_reset(disk->relations, o->part, &error), 0);
    assert_int_equal(posts_reset(disk->posts, o->part, 0, &error), 0);
    assert_int_equal(inboxes_reset(disk->inboxes, o->part, 0, &error), 0);
    assert_int_equal(table_store_reset(visibility_table(disk->audience.visibility), o->part, 0, &error), 0);
    assert_int_equal(table_store_reset(disk->audience.blocks, o->part, 0, &error), 0);
    disk->ends[0] = -1;
}

/* ---- an owner ---- */

static struct disk *disk_of(struct owner_of_part *o) { return &o->disks[o->turn]; }

static bool is_live(struct owner_of_part *o) {
    const struct disk *disk = disk_of(o);
    bool live = true;
    for (int log = 0; log < STATES; log++) live &= o->at[log] >= disk->ends[log];
    return live || o->world->without == RULE_RESTORED;
}

static int64_t lower(int64_t a, int64_t b) { return a < b ? a : b; }

/* State is read: what the one before did not tell is told now. */
static void catch_up(struct owner_of_part *o) {
    struct feed_world *w = o->world;
    if (o->caught_up || !is_live(o)) return;
    o->caught_up = true;
    assert_int_equal(relation_lists_finish(disk_of(o)->relations, o->part, 1, &error), 0);
    if (w->without == RULE_EFFECTS || w->without == RULE_SILENCE) return;
    for (int log = FOLLOWS; log <= POSTS_LOG; log++) o->at[log] = lower(o->at[log], w->group[log][o->part]);
}

static void forget_pending(struct owner_of_part *o) {
    for (size_t i = 0; i < o->pending_count; i++) free(o->pending[i].effects);
    o->pending_count = 0;
}

static void attach(struct owner_of_part *o) {
    struct feed_world *w = o->world;
    struct disk *disk = disk_of(o);
    int64_t from[STATES], own;
    hot_free(o->hot);
    edited_free(o->edited);
    o->hot = hot_new();
    o->edited = edited_new();
    forget_pending(o);
    disk_attach(w, disk, o->hot, o->part, from, &own);
    if (disk->ends[0] < 0 || w->without != RULE_ATTACH)
        for (int log = 0; log < STATES; log++) disk->ends[log] = end_of(w, (enum log_kind)log, o->part);
    for (int p = 0; p < PARTS; p++) o->hot_at[p] = w->logs[HOT][p].first;
    for (int log = 0; log < LOGS; log++) o->at[log] = w->group[log][o->part];
    if (own < w->kept[o->part]) { // pushes were missed
        if (own >= 0 && w->without != RULE_KEPT) assert_int_equal(inboxes_reset(disk->inboxes, o->part, 0, &error), 0);
    } else if (w->without != RULE_ATTACH) {
        o->at[TIMELINES] = own;
    }
    for (int log = 0; log < (w->without == RULE_SIGHTS ? SEES : STATES); log++) {
        int64_t first = w->logs[log][o->part].first;
        o->at[log] = from[log] > first ? from[log] : first;
    }
    o->caught_up = false;
    catch_up(o);
}

/* ---- one record ---- */

static struct pending *pending_new(struct owner_of_part *o, enum log_kind log, int64_t offset) {
    if (o->pending_count == o->pending_capacity) {
        o->pending_capacity = o->pending_capacity ? 2 * o->pending_capacity : 32;
        o->pending = mem_resize(o->pending, o->pending_capacity, sizeof *o->pending);
    }
    struct pending *pending = &o->pending[o->pending_count++];
    *pending = (struct pending){.log = log, .offset = offset};
    return pending;
}

static void take_timeline(struct owner_of_part *o, const struct entry *entry, int64_t offset) {
    struct inboxes *inboxes = disk_of(o)->inboxes;
    struct timeline_item item;
    assert_int_equal(delivery_read_timeline(o->world->codec, entry->item, entry->item_size, &item), 0);
    inboxes_take(inboxes, o->part, offset, 1, entry->users, entry->user_count, &item);
    inboxes_read_to(inboxes, o->part, offset + 1);
}

static void take_visibility(struct owner_of_part *o, const struct entry *entry, int64_t offset) {
    struct table_store *table = visibility_table(disk_of(o)->audience.visibility);
    uint8_t key[VISIBILITY_KEY_SIZE];
    FREED_BUFFER value = {.size = 0};
    const char *reason = NULL;
    bytes_put_be64(key, (uint64_t)entry->author);
    event_encode_visibility(&value, &(struct visibility){.posts = VISIBILITY_FOLLOWERS, .since = 1});
    const struct kafka_record record = {.partition = o->part,
                                        .offset = offset,
                                        .key = key,
                                        .key_size = sizeof key,
                                        .value = entry->set ? value.data : NULL,
                                        .value_size = entry->set ? value.size : 0};
    assert_int_equal(TABLE_STORE_KIND.take(table, 0, &record, &reason, &error), 0);
    assert_null(reason);
    assert_int_equal(table_store_write(table, &error), 0);
}

/* State, once. */
static void apply(struct owner_of_part *o, enum log_kind log, const struct entry *entry, int64_t offset) {
    struct disk *disk = disk_of(o);
    struct post post = {.state = !entry->set     ? POST_DELETED
                                 : entry->hidden ? POST_HIDDEN
                                                 : POST_LIVE,
                        .deleted = entry->set ? 0 : 1,
                        .moderated = entry->moderated};
    switch (log) {
    case FOLLOWS:
        relation_lists_take(disk->relations, o->part, offset, 1, &entry->half, entry->set);
        assert_int_equal(relation_lists_apply(disk->relations, o->part, offset + 1, 1, !o->caught_up, &error), 0);
        break;
    case POSTS_LOG:
        posts_take_index(disk->posts, o->part, offset, entry->author, entry->id, &post);
        assert_int_equal(posts_write(disk->posts, &error), 0);
        break;
    case SEES: take_visibility(o, entry, offset); break;
    case BLOCKS:
        blocks_take(disk->audience.blocks, o->part, offset, entry->half.user, entry->half.other, entry->set);
        assert_int_equal(table_store_write(disk->audience.blocks, &error), 0);
        break;
    case TIMELINES: take_timeline(o, entry, offset); break;
    default: break;
    }
}

/* Effects, at least once: against the state as it is now. */
static void carry_out(struct owner_of_part *o, enum log_kind log, const struct entry *entry, int64_t offset) {
    struct feed_world *w = o->world;
    struct effects *effects = disk_of(o)->effects;
    struct timeline_item item;
    int code = 0;
    w->filling = pending_new(o, log, offset);
    effects_set_push_max(effects, w->push_max);
    switch (log) {
    case FOLLOWS: code = effects_half(effects, o->part, &entry->half, entry->set, &error); break;
    case POSTS_LOG:
        code = effects_post(effects, o->part, entry->author, entry->id, offset, &error);
        while (!code && effects_pushes(effects)) code = effects_run(effects, 1 + roll(w, 3), &error) < 0;
        break;
    case TIMELINES:
        assert_int_equal(delivery_read_timeline(w->codec, entry->item, entry->item_size, &item), 0);
        if (item.kind == TIMELINE_ITEM_BEGIN)
            code = effects_begin(effects, o->part, entry->users[0], offset, item.begin.wanted.items,
                                 item.begin.wanted.count, &error);
        break;
    case REQUESTS:
        assert_int_equal(delivery_read_timeline(w->codec, entry->item, entry->item_size, &item), 0);
        effects_request(effects, o->part, offset, entry->users, entry->user_count, item.request.reader,
                        item.request.request);
        while (!code && effects_waiting_authors(effects)) code = effects_run(effects, 1 + roll(w, 30), &error) < 0;
        if (!code) code = effects_run(effects, 1, &error) < 0; // one without authors
        break;
    default: break;
    }
    assert_int_equal(code, 0);
}

static void step_hot(struct owner_of_part *o, int part) {
    const struct entry *entry = entry_at(o->world, HOT, part, o->hot_at[part]++);
    struct timeline_item item;
    assert_int_equal(delivery_read_timeline(o->world->codec, entry->item, entry->item_size, &item), 0);
    if (item.kind == TIMELINE_ITEM_EDITED)
        edited_put(o->edited, item.edited.id, item.edited.version, 0, 0);
    else if (item.kind == TIMELINE_ITEM_MODERATED && o->world->without != RULE_HIDDEN)
        hot_moderate(o->hot, item.moderated.id, item.moderated.times, item.moderated.hidden, 0, 0);
    else if (item.kind == TIMELINE_ITEM_HOT)
        hot_put(o->hot, entry->users[0], item.hot.id);
    else if (item.kind == TIMELINE_ITEM_HOT_GONE)
        hot_remove(o->hot, entry->users[0], item.hot_gone.id);
}

/* One record of one log, by chance. False: everything is read. */
static bool step(struct owner_of_part *o) {
    struct feed_world *w = o->world;
    int choices[LOGS + PARTS], count = 0;
    bool live = is_live(o);
    for (int log = FOLLOWS; log <= REQUESTS; log++) {
        int64_t end = live ? end_of(w, (enum log_kind)log, o->part) : log < STATES ? disk_of(o)->ends[log] : 0;
        if (o->at[log] < end) choices[count++] = log;
    }
    for (int p = 0; live && p < PARTS; p++) {
        if (o->hot_at[p] < end_of(w, HOT, p)) choices[count++] = LOGS + p;
    }
    if (!count) return false;
    int chosen = choices[roll(w, (uint32_t)count)];
    if (chosen >= LOGS) {
        step_hot(o, chosen - LOGS);
        return true;
    }
    enum log_kind log = (enum log_kind)chosen;
    int64_t offset = o->at[log]++;
    const struct entry *entry = entry_at(w, log, o->part, offset);
    bool restoring = log <= POSTS_LOG && !o->caught_up;
    apply(o, log, entry, offset);
    if ((!restoring || w->without == RULE_SILENCE) && offset >= w->group[log][o->part])
        carry_out(o, log, entry, offset);
    catch_up(o);
    return true;
}

static void send_all(struct owner_of_part *o) {
    for (size_t i = 0; i < o->pending_count; i++) {
        struct pending *pending = &o->pending[i];
        for (size_t k = 0; !pending->sent && k < pending->count; k++)
            *append(o->world, pending->effects[k].log, pending->effects[k].part) = pending->effects[k].entry;
        pending->sent = true;
    }
}

static void acknowledge(struct owner_of_part *o) {
    send_all(o);
    for (size_t i = 0; i < o->pending_count; i++) {
        int64_t *group = &o->world->group[o->pending[i].log][o->part];
        if (o->pending[i].offset >= *group) *group = o->pending[i].offset + 1;
    }
    forget_pending(o);
}

static void write_inboxes(struct owner_of_part *o) {
    int code;
    while ((code = inboxes_write(disk_of(o)->inboxes, 1 + roll(o->world, 3), &error)) > 0)
        if (!roll(o->world, 4)) return; // torn
    assert_int_equal(code, 0);
}

/* Some effects got out, nobody heard which. */
static void crash(struct owner_of_part *o, bool other) {
    for (size_t i = 0; i < o->pending_count; i++) {
        for (size_t k = 0; !o->pending[i].sent && k < o->pending[i].count; k++) {
            if (roll(o->world, 2))
                *append(o->world, o->pending[i].effects[k].log, o->pending[i].effects[k].part) =
                    o->pending[i].effects[k].entry;
        }
    }
    disk_detach(disk_of(o), o->part);
    o->turn ^= other;
    attach(o);
}

/* ---- commands ---- */

static struct entry *append_half(struct feed_world *w, int64_t user, int64_t other, enum relation relation, bool set) {
    struct entry *entry = append(w, FOLLOWS, part_of(user));
    entry->half = (struct relation_half){user, other, relation};
    entry->set = set;
    return entry;
}

static void follow(struct feed_world *w, size_t a, size_t b, bool on) {
    if (w->follows[a][b] == on) return;
    w->follows[a][b] = on;
    append_half(w, w->users[a], w->users[b], RELATION_FOLLOWING, on);
    append_half(w, w->users[b], w->users[a], RELATION_FOLLOWER, on);
}

static void request(struct feed_world *w, size_t a, size_t b, bool on) {
    if (w->asks[a][b] == on) return;
    w->asks[a][b] = on;
    append_half(w, w->users[a], w->users[b], RELATION_REQUESTING, on);
    append_half(w, w->users[b], w->users[a], RELATION_REQUESTED, on);
}

static void accept_request(struct feed_world *w, size_t a, size_t b) {
    if (!w->asks[a][b]) return;
    request(w, a, b, false);
    if (!w->blocked[a][b]) follow(w, a, b, true);
}

/* The reader's: a wish to follow, or the end of it; also the author's, who declines and removes. */
static void command_follow(struct feed_world *w, size_t a, size_t b, bool on) {
    if (!on) {
        follow(w, a, b, false);
        request(w, a, b, false);
    } else if (!w->blocked[a][b] && !w->follows[a][b]) {
        (w->for_followers[b] ? request : follow)(w, a, b, true);
    }
}

static void command_visibility(struct feed_world *w, size_t a, bool for_followers) {
    if (w->for_followers[a] == for_followers) return;
    for (size_t b = 0; b < w->user_count && !for_followers; b++) accept_request(w, b, a);
    w->for_followers[a] = for_followers;
    struct entry *entry = append(w, SEES, part_of(w->users[a]));
    entry->author = w->users[a];
    entry->set = for_followers;
}

/* The owners' commands, which end follows, come later: end_across. */
static void command_block(struct feed_world *w, size_t a, size_t b, bool on) {
    if (w->blocked[a][b] == on) return;
    w->blocked[a][b] = w->blocked[b][a] = on;
    for (int i = 0; i < 2; i++) {
        int64_t user = w->users[i ? b : a], other = w->users[i ? a : b];
        struct entry *entry = append(w, BLOCKS, part_of(user));
        entry->half = (struct relation_half){.user = user, .other = other};
        entry->set = on;
    }
}

static void end_across(struct feed_world *w, size_t a, size_t b) {
    if (w->blocked[a][b]) command_follow(w, a, b, false);
}

static void command_post(struct feed_world *w, size_t a) {
    if (w->post_count == POSTS) return;
    int part = part_of(w->users[a]);
    int64_t id = ids_make(++w->tick, part);
    w->posts[w->post_count].id = id;
    w->posts[w->post_count].author = w->users[a];
    w->posts[w->post_count].version = 1;
    w->posts[w->post_count].kept = 0;
    w->posts[w->post_count].moderated = 0;
    w->posts[w->post_count].hidden = false;
    w->posts[w->post_count++].live = true;
    struct entry *entry = append(w, POSTS_LOG, part);
    entry->author = w->users[a];
    entry->id = id;
    entry->set = true;
}

static void command_delete(struct feed_world *w) {
    size_t i = roll(w, (uint32_t)w->post_count);
    if (!w->posts[i].live) return;
    w->posts[i].live = false;
    struct entry *entry = append(w, POSTS_LOG, part_of(w->posts[i].author));
    entry->author = w->posts[i].author;
    entry->id = w->posts[i].id;
}

/* As the author's owner tells all processes of it, once it has read it back. */
static void command_edit(struct feed_world *w) {
    size_t i = roll(w, (uint32_t)w->post_count);
    if (!w->posts[i].live) return;
    const struct timeline_item item = {.kind = TIMELINE_ITEM_EDITED,
                                       .edited = {.id = w->posts[i].id, .version = ++w->posts[i].version}};
    struct entry *entry = append(w, HOT, part_of(w->posts[i].author));
    entry->users[0] = w->posts[i].author;
    entry->user_count = 1;
    entry->item_size = (size_t)(timeline_item_write(entry->item, &item) - entry->item);
}

/* A moderator hides a post, or shows it again. */
static void command_moderate(struct feed_world *w) {
    size_t i = roll(w, (uint32_t)w->post_count);
    if (!w->posts[i].live) return;
    struct entry *entry = append(w, POSTS_LOG, part_of(w->posts[i].author));
    entry->author = w->posts[i].author;
    entry->id = w->posts[i].id;
    entry->set = true;
    entry->hidden = w->posts[i].hidden = !w->posts[i].hidden;
    entry->moderated = ++w->posts[i].moderated;
}

/* ---- pages ---- */

static int newest_first(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x < y) - (x > y);
}

static size_t expected_page(const struct feed_world *w, size_t reader, int64_t page[POSTS]) {
    size_t count = 0;
    for (size_t i = 0; i < w->post_count; i++) {
        for (size_t a = 0; a < w->user_count; a++) {
            if (w->posts[i].live && !w->posts[i].hidden && w->users[a] == w->posts[i].author && w->follows[reader][a] &&
                !w->blocked[reader][a])
                page[count++] = w->posts[i].id;
        }
    }
    qsort(page, count, sizeof *page, newest_first);
    return count < PAGE ? count : PAGE;
}

static void begin_inbox(struct owner_of_part *o, int64_t reader) {
    int64_t wanted[PARTS];
    size_t count;
    if (!is_live(o)) return;
    assert_int_equal(effects_wanted(disk_of(o)->effects, o->part, reader, wanted, &count, &error), 0);
    struct timeline_item item = {.kind = TIMELINE_ITEM_BEGIN, .begin = {.wanted = {.items = wanted, .count = count}}};
    struct entry *entry = append(o->world, TIMELINES, o->part);
    entry->users[0] = reader;
    entry->user_count = 1;
    entry->item_size = (size_t)(timeline_item_write(entry->item, &item) - entry->item);
}

static bool still_there(struct feed_world *w, const struct inbox_post *post) {
    struct owner_of_part *o = &w->owners[part_of(post->author)];
    struct post_found found;
    assert_int_equal(posts_find(disk_of(o)->posts, o->part, post->id, &found, &error), 0);
    return found.found && !found.deleted;
}

/* Adds posts at or below the horizon, from their authors' owners. */
static size_t pull(struct feed_world *w, const struct id_list *following, int64_t horizon, int64_t *ids, size_t count) {
    size_t found, pass = SIZE_MAX;
    int64_t more;
    for (size_t i = 0; i < following->count; i++) {
        struct owner_of_part *o = &w->owners[part_of(following->items[i])];
        assert_int_equal(posts_of(disk_of(o)->posts, o->part, following->items[i], 0, horizon + 1, false, &pass,
                                  ids + count, PAGE, &found, &more, &error),
                         0);
        count += found;
    }
    qsort(ids, count, sizeof *ids, newest_first);
    return count;
}

/* Everybody who is in the world: the page of a rule that is left out. */
static void follow_all(const struct feed_world *w, struct id_list *following) {
    id_list_reserve(following, w->user_count);
    memcpy(following->items, w->users, w->user_count * sizeof *w->users);
    following->count = w->user_count;
}

/* Posts of one source, as far as they count. */
static size_t gather(struct feed_world *w, const struct inbox *inbox, const struct hot *hot,
                     const struct id_list *following, int64_t *ids, int64_t *horizon) {
    struct page page = {.count = 0};
    size_t count = 0, spare = PAGE + 2 * POSTS;
    page_merge(w->scratch, inbox, hot, following->items, following->count, NULL, 0, 0, INT64_MAX, spare, &page);
    for (size_t i = 0; i < page.count; i++) {
        if (w->without == RULE_CONTENT || still_there(w, &page.posts[i])) ids[count++] = page.posts[i].id;
    }
    *horizon = page.horizon;
    page_free(&page);
    return count;
}

static size_t both_ways(struct feed_world *w, const struct inbox *inbox, const struct hot *hot,
                        const struct id_list *following, int64_t *ids, int64_t *horizon) {
    struct hot *none = hot_new();
    struct inbox empty = *inbox;
    int64_t ignored;
    empty.count = 0;
    size_t count = gather(w, inbox, none, following, ids, horizon);
    count += gather(w, &empty, hot, following, ids + count, &ignored);
    qsort(ids, count, sizeof *ids, newest_first);
    hot_free(none);
    return count;
}

/* The page that the reader would get; SIZE_MAX: the inbox is not complete. ids: room for more than a page. */
static size_t page_of(struct feed_world *w, int64_t reader, int64_t *ids) {
    struct owner_of_part *o = &w->owners[part_of(reader)];
    struct inbox inbox = {.request = -1};
    struct id_list following = {.items = NULL}, scratch = {.items = NULL};
    size_t count = SIZE_MAX;
    int64_t horizon;
    assert_int_equal(inboxes_find(disk_of(o)->inboxes, o->part, reader, SIZE_MAX, &inbox, &error), 0);
    if (!is_live(o) || (!inbox_complete(&inbox) && w->without != RULE_REBUILD)) goto finish;
    assert_int_equal(relation_lists_all(disk_of(o)->relations, o->part, reader, RELATION_FOLLOWING, &following, &error),
                     0);
    if (w->without == RULE_FOLLOWING) follow_all(w, &following);
    if (w->without != RULE_BLOCKED)
        assert_int_equal(blocks_leave_out(disk_of(o)->store, disk_of(o)->audience.blocks, o->part, reader, &following,
                                          &scratch, &error),
                         0);
    count = (w->without == RULE_DEDUPE ? both_ways : gather)(w, &inbox, o->hot, &following, ids, &horizon);
    if (count < PAGE && horizon && w->without != RULE_HORIZON) count = pull(w, &following, horizon, ids, count);
    if (count > PAGE) count = PAGE;
finish:
    inbox_free(&inbox);
    id_list_free(&following);
    id_list_free(&scratch);
    return count;
}

/* A gateway shows the posts of the page, with the texts that it keeps or asks for. Returns how many are of a former version. */
static size_t show(struct feed_world *w, int64_t reader, const int64_t *ids, size_t count) {
    const struct owner_of_part *o = &w->owners[part_of(reader)];
    size_t former = 0;
    for (size_t i = 0; count != SIZE_MAX && i < count; i++) {
        size_t at = 0;
        while (at < w->post_count && w->posts[at].id != ids[i]) at++;
        if (at == w->post_count) continue; // of an earlier history
        int64_t known = w->without == RULE_VERSION ? 1 : edited_version(o->edited, ids[i]);
        if (w->posts[at].kept < known) w->posts[at].kept = w->posts[at].version;
        former += w->posts[at].kept != w->posts[at].version;
    }
    return former;
}

static void read_page(struct feed_world *w, int64_t reader) {
    int64_t page[PAGE + 8 * POSTS];
    show(w, reader, page, page_of(w, reader, page));
}

/* ---- who sees what ---- */

/* As the author's owner says it. */
static bool may_see(struct feed_world *w, size_t author, size_t reader) {
    int64_t user = w->users[author], other = w->users[reader];
    struct owner_of_part *o = &w->owners[part_of(user)];
    const struct relation_half asked = {user, other, RELATION_REQUESTED};
    bool may, has = false;
    assert_int_equal(audience_may_see(&disk_of(o)->audience, o->part, user, other, &may, &error), 0);
    if (w->without == RULE_ASKED)
        assert_int_equal(relation_lists_has(disk_of(o)->relations, o->part, &asked, &has, NULL, &error), 0);
    return may || has;
}

/* Of how many pairs it is not what was decided. */
static int wrong_sights(struct feed_world *w) {
    int wrong = 0;
    for (size_t author = 0; author < w->user_count; author++) {
        for (size_t reader = 0; reader < w->user_count; reader++) {
            bool follows = w->follows[reader][author];
            bool expected = author == reader || (!w->blocked[author][reader] && (!w->for_followers[author] || follows));
            wrong += may_see(w, author, reader) != expected;
        }
    }
    return wrong;
}

/* ---- histories ---- */

static void settle(struct feed_world *w) {
    for (bool busy = true; busy;) {
        busy = false;
        for (int p = 0; p < PARTS; p++) {
            struct owner_of_part *o = &w->owners[p];
            while (step(o)) busy = true;
            if (o->pending_count) busy = true;
            acknowledge(o);
        }
    }
}

static void act(struct feed_world *w) {
    uint32_t r = roll(w, 100);
    size_t a = roll(w, (uint32_t)w->user_count), b = (a + 1 + roll(w, (uint32_t)w->user_count - 1)) % w->user_count;
    static const size_t THRESHOLDS[] = {0, 1, 2, 3, 99};
    if (r < 26)
        command_follow(w, a, b, happens(w, .65));
    else if (r < 50)
        command_post(w, a);
    else if (r < 64 && w->post_count)
        command_delete(w);
    else if (r >= 64 && r < 66)
        w->push_max = THRESHOLDS[roll(w, 5)];
    else if (r >= 66 && r < 74)
        begin_inbox(&w->owners[part_of(w->users[a])], w->users[a]);
    else if (r >= 74 && r < 82 && w->post_count)
        command_edit(w);
    else if (r >= 82 && r < 90)
        read_page(w, w->users[a]);
    else if (r >= 90 && r < 92)
        accept_request(w, a, b);
    else if (r >= 92 && r < 94)
        command_visibility(w, a, happens(w, .6));
    else if (r >= 94 && r < 96)
        command_block(w, a, b, happens(w, .6));
    else if (r >= 96 && r < 98)
        end_across(w, a, b);
    else if (r >= 98 && w->post_count)
        command_moderate(w);
}

static void trouble(struct feed_world *w, double chance) {
    struct owner_of_part *o = &w->owners[roll(w, PARTS)];
    for (uint32_t steps = roll(w, 5); steps; steps--) step(o);
    if (happens(w, .4)) send_all(o);
    if (happens(w, .3)) acknowledge(o);
    if (happens(w, .3)) write_inboxes(o);
    if (happens(w, chance)) crash(o, false);
    if (happens(w, chance / 2)) crash(o, true);
    if (happens(w, chance / 16)) {
        disk_lose(o);
        crash(o, false);
    }
    if (happens(w, w->without == RULE_KEPT ? .3 : .03)) { // a rule that is left out should show soon
        int64_t span = w->group[TIMELINES][o->part] - w->kept[o->part];
        if (span > 0) w->kept[o->part] += roll(w, (uint32_t)span + 1);
    }
}

/* Logs go on from history to history, so that disks may be of an earlier one; users and posts are new. */
static void start(struct feed_world *w, uint64_t seed, enum feed_rule without) {
    w->chance = (struct chance){.state = seed};
    w->without = without;
    w->push_max = roll(w, 2) ? 99 : roll(w, 4);
    w->user_count = 3 + roll(w, USERS - 2);
    for (size_t i = 0; i < USERS; i++) w->users[i] = (int64_t)(seed * 1000 + (uint64_t)without * 10 + i);
    memset(w->follows, 0, sizeof w->follows);
    memset(w->asks, 0, sizeof w->asks);
    memset(w->for_followers, 0, sizeof w->for_followers);
    memset(w->blocked, 0, sizeof w->blocked);
    w->post_count = 0;
    for (int log = 0; log < LOGS; log++) {
        for (int p = 0; p < PARTS; p++) {
            w->logs[log][p].first = end_of(w, (enum log_kind)log, p);
            w->logs[log][p].count = 0;
            w->group[log][p] = w->logs[log][p].first;
        }
    }
    for (int p = 0; p < PARTS; p++) {
        struct owner_of_part *o = &w->owners[p];
        w->kept[p] = w->logs[TIMELINES][p].first;
        for (int d = 0; d < DISKS; d++) o->disks[d].ends[0] = -1;
        disk_detach(disk_of(o), p);
        attach(o);
    }
}

int feed_world_history(struct feed_world *w, uint64_t seed, enum feed_rule without) {
    static const double CHANCES[] = {0, .02, .08}, OFTEN = .08;
    int64_t page[PAGE + 8 * POSTS], wanted[POSTS];
    int wrong = 0;
    start(w, seed, without);
    double chance = without ? OFTEN : CHANCES[roll(w, 3)]; // a rule that is left out should show soon
    for (uint32_t n = happens(w, .7) ? 20 + roll(w, 141) : 300 + roll(w, 201); n; n--) {
        act(w);
        trouble(w, chance);
    }
    for (int p = 0; p < PARTS && chance > 0; p++) { // a last change of owner, nearer to the pages
        if (roll(w, 2)) crash(&w->owners[p], true);
    }
    for (int round = 0; round < 6; round++) {
        settle(w);
        for (size_t i = 0; i < w->user_count; i++) {
            if (page_of(w, w->users[i], page) == SIZE_MAX) begin_inbox(&w->owners[part_of(w->users[i])], w->users[i]);
        }
    }
    settle(w);
    for (size_t i = 0; i < w->user_count; i++) {
        size_t count = page_of(w, w->users[i], page), want = expected_page(w, i, wanted);
        wrong += count != want || memcmp(page, wanted, want * sizeof *page) != 0 || show(w, w->users[i], page, count);
    }
    wrong += wrong_sights(w);
    for (int p = 0; p < PARTS; p++) { // the next history finds inboxes that go on where its logs begin
        while (inboxes_write(disk_of(&w->owners[p])->inboxes, SIZE_MAX, &error) > 0)
            ;
    }
    return wrong;
}

struct feed_world *feed_world_new(void) {
    struct feed_world *w = mem_zero(1, sizeof *w);
    w->folder = kit_folder(); // a lost disk costs synced writes, thousands of times: better in memory
    w->codec = kit_codec();
    w->scratch = page_scratch_new();
    w->tick = 1;
    for (int p = 0; p < PARTS; p++) {
        w->owners[p] = (struct owner_of_part){.world = w, .part = p};
        for (int d = 0; d < DISKS; d++) disk_open(w, &w->owners[p].disks[d], p, d);
    }
    return w;
}

void feed_world_free(struct feed_world *w) {
    for (int p = 0; p < PARTS; p++) {
        struct owner_of_part *o = &w->owners[p];
        disk_detach(disk_of(o), p);
        forget_pending(o);
        free(o->pending);
        hot_free(o->hot);
        edited_free(o->edited);
        for (int d = 0; d < DISKS; d++) {
            relation_lists_close(o->disks[d].relations);
            store_close(o->disks[d].store);
            static const char *const NAMES[] = {"lists", "posts"};
            for (int k = 0; k < 2; k++) {
                FREED char *path = mem_format("%s/%d-%d-%s", w->folder, p, d, NAMES[k]);
                assert_int_equal(store_remove(path, &error), 0);
            }
            FREED char *runs = mem_format("%s/%d-%d-lists.build", w->folder, p, d); // of lists that were built
            assert_true(!rmdir(runs) || errno == ENOENT);
        }
        for (int log = 0; log < LOGS; log++) free(w->logs[log][p].items);
    }
    assert_int_equal(rmdir(w->folder), 0);
    page_scratch_free(w->scratch);
    free(w);
}
