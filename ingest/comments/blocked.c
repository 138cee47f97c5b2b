#include "ingest/comments/blocked.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"
#include "json/json.h"

enum { READERS = 65536, USERS_MAX = 1 << 20 /* 8 MiB */, LIMIT = 1000, TIMEOUT_MS = 500 };
enum { PARTITIONS = 1024 /* of the owners; those beyond share places */, SILENT_MS = 2000 };
enum { KEPT_MS = 60000, CHANGING_MS = 3000, KEPT_CHANGING_MS = 500 };

struct reader_entry {
    int64_t reader; /* -1: the place is free */
    int64_t heard_ms, changed_ms;
    bool heard;
    int64_t *users;
    size_t count;
};

struct blocked_lists {
    struct peers *routers;
    int64_t (*now_ms)(void);
    int64_t silent_until_ms[PARTITIONS]; /* the partition's owner did not answer: nobody waits for it until then */
    size_t users, hand;                  /* hand: the entry that is emptied next when there are too many users */
    struct reader_entry entries[READERS];
};

/* ---- the table ---- */

static struct reader_entry *place_of(struct blocked_lists *lists, int64_t reader) {
    return &lists->entries[hash_fold((uint64_t)reader) % READERS];
}

static void empty(struct blocked_lists *lists, struct reader_entry *entry) {
    lists->users -= entry->count;
    free(entry->users);
    *entry = (struct reader_entry){.reader = -1};
}

/* The reader's entry, made if need be. */
static struct reader_entry *entry_of(struct blocked_lists *lists, int64_t reader) {
    struct reader_entry *entry = place_of(lists, reader);
    if (entry->reader == reader) return entry;
    empty(lists, entry);
    entry->reader = reader;
    entry->changed_ms = lists->now_ms() - CHANGING_MS - 1;
    return entry;
}

static bool is_fresh(const struct blocked_lists *lists, const struct reader_entry *entry) {
    bool changing = entry->heard_ms - entry->changed_ms <= CHANGING_MS;
    return entry->heard && lists->now_ms() - entry->heard_ms <= (changing ? KEPT_CHANGING_MS : KEPT_MS);
}

static struct blocked_list list_of(const struct reader_entry *entry) {
    return (struct blocked_list){.users = entry->users, .count = entry->count, .known = entry->heard};
}

static void make_room(struct blocked_lists *lists, const struct reader_entry *but) {
    while (lists->users > USERS_MAX) {
        struct reader_entry *entry = &lists->entries[lists->hand++ % READERS];
        if (entry != but) empty(lists, entry);
    }
}

void blocked_lists_changed(struct blocked_lists *lists, int64_t reader) {
    struct reader_entry *entry = entry_of(lists, reader);
    entry->changed_ms = lists->now_ms();
    entry->heard_ms = entry->changed_ms - KEPT_CHANGING_MS - 1; // to be heard anew
}

size_t blocked_lists_users(const struct blocked_lists *lists) { return lists->users; }

/* ---- questions ---- */

struct blocked_question {
    struct blocked_lists *lists;
    int64_t reader;
    int64_t *users; /* so far */
    size_t count;
    void *context;
    void (*done)(void *context, const struct blocked_list *list);
};

static int64_t *silence_of(struct blocked_lists *lists, int64_t reader) {
    return &lists->silent_until_ms[peers_of_user(lists->routers, reader) % PARTITIONS];
}

static void finish(struct blocked_question *question, bool heard) {
    struct blocked_lists *lists = question->lists;
    struct reader_entry *entry = entry_of(lists, question->reader);
    if (heard) {
        int64_t changed_ms = entry->changed_ms;
        empty(lists, entry);
        *entry = (struct reader_entry){.reader = question->reader,
                                       .heard_ms = lists->now_ms(),
                                       .changed_ms = changed_ms,
                                       .heard = true,
                                       .users = question->users,
                                       .count = question->count};
        lists->users += question->count;
        make_room(lists, entry);
    } else {
        *silence_of(lists, question->reader) = lists->now_ms() + SILENT_MS;
        free(question->users);
    }
    struct blocked_list list = list_of(entry);
    question->done(question->context, &list);
    free(question);
}

static void ask_page(struct blocked_question *question, int64_t after);

/* The owner lists users by rising id. */
static bool read_page(struct blocked_question *question, const json_t *reply, int64_t *next) {
    const json_t *items = json_object_get(reply, "items"), *after = json_object_get(reply, "next");
    size_t count = json_array_size(items);
    if (!json_is_array(items) || !(json_is_null(after) || json_is_integer(after))) return false;
    *next = json_is_integer(after) ? json_integer_value(after) : -1;
    question->users = mem_resize(question->users, question->count + count + 1, sizeof *question->users);
    for (size_t i = 0; i < count; i++) {
        int64_t *user = &question->users[question->count];
        if (json_want_int(json_array_get(items, i), "user", 0, INT64_MAX, user, NULL)) return false;
        if (question->count && user[-1] >= *user) return false;
        question->count++;
    }
    return true;
}

static void answered(void *context, int code, unsigned status, const char *text, size_t size) {
    struct blocked_question *question = context;
    json_t *reply = code == 0 && status == 200 ? json_parse(text, size, NULL) : NULL;
    int64_t next = -1;
    bool good = read_page(question, reply, &next);
    json_decref(reply);
    if (good && next >= 0 && question->count < BLOCKED_MAX)
        ask_page(question, next);
    else
        finish(question, good);
}

static void ask_page(struct blocked_question *question, int64_t after) {
    rpc_ask(question->lists->routers, &ASK_FRIENDS,
            RPC_VALUES(RPC_INT(USER, question->reader), RPC_TEXT(STATE, "blocked"), RPC_INT(LIMIT, LIMIT),
                       RPC_INT(AFTER, after)),
            TIMEOUT_MS, answered, question);
}

void blocked_lists_ask(struct blocked_lists *lists, int64_t reader, void *context,
                       void (*done)(void *context, const struct blocked_list *list)) {
    const struct reader_entry *entry = entry_of(lists, reader);
    if (is_fresh(lists, entry) || lists->now_ms() < *silence_of(lists, reader)) {
        struct blocked_list list = list_of(entry);
        done(context, &list);
        return;
    }
    struct blocked_question *question =
        MEM_NEW(&(struct blocked_question){.lists = lists, .reader = reader, .context = context, .done = done});
    ask_page(question, -1);
}

/* ---- beginning and end ---- */

struct blocked_lists *blocked_lists_new(struct peers *routers, int64_t (*now_ms)(void)) {
    struct blocked_lists *lists = mem_zero(1, sizeof *lists);
    lists->routers = routers;
    lists->now_ms = now_ms;
    for (size_t i = 0; i < READERS; i++) lists->entries[i].reader = -1;
    return lists;
}

void blocked_lists_free(struct blocked_lists *lists) {
    if (!lists) return;
    for (size_t i = 0; i < READERS; i++) free(lists->entries[i].users);
    free(lists);
}
