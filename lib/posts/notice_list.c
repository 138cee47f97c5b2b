#include "posts/notice_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "users/notice.h"

enum { PEER_TIMEOUT_MS = 3000, NAMED_MAX = 3, DAY_MS = 86400000 };

/* ---- gathering ---- */

static bool is_what(const json_t *item, enum notice_kind kind) {
    const char *what = json_string_value(json_object_get(item, "what"));
    return what && strcmp(what, NOTICE_WORDS[kind]) == 0;
}

/* Each of these has a text or a place of its own. */
static bool gathers(const json_t *item) {
    return !is_what(item, NOTICE_OF_MENTION) && !is_what(item, NOTICE_OF_REPLY) && !is_what(item, NOTICE_OF_ARRIVED) &&
           !is_what(item, NOTICE_OF_LEFT);
}

static json_int_t number_of(const json_t *item, const char *name) {
    return json_integer_value(json_object_get(item, name));
}

static bool is_same(const json_t *a, const json_t *b) {
    return json_equal(json_object_get(a, "what"), json_object_get(b, "what")) &&
           json_equal(json_object_get(a, "subject"), json_object_get(b, "subject")) &&
           json_equal(json_object_get(a, "comment"), json_object_get(b, "comment")) &&
           number_of(a, "time") / DAY_MS == number_of(b, "time") / DAY_MS;
}

static void add_user(json_t *item, json_t *user) {
    json_t *users = json_object_get(item, "users");
    for (size_t i = 0; i < json_array_size(users); i++)
        if (json_equal(json_array_get(users, i), user)) return;
    json_array_append(users, user);
}

static json_t *gather_items(const json_t *all) {
    json_t *items = json_array();
    for (size_t i = 0; i < json_array_size(all); i++) {
        json_t *item = json_array_get(all, i);
        size_t at = 0, count = json_array_size(items);
        while (at < count && !(gathers(item) && is_same(json_array_get(items, at), item))) at++;
        if (at == count) {
            json_object_set_new(item, "users", json_array());
            json_array_append(items, item);
        }
        add_user(json_array_get(items, at), json_object_get(item, "user"));
    }
    return items;
}

/* Of many likes only some were told; the newest says how many there are. */
static void count_users(json_t *item) {
    json_t *users = json_object_get(item, "users");
    json_int_t count = (json_int_t)json_array_size(users), likes = number_of(item, "likes");
    if (likes > count) count = likes;
    while (json_array_size(users) > NAMED_MAX) json_array_remove(users, NAMED_MAX);
    json_object_del(item, "likes");
    if (count > 1)
        json_object_set_new(item, "count", json_integer(count));
    else
        json_object_del(item, "users");
}

static bool key_of(const json_t *id, struct notice_key *key) {
    const char *text = json_string_value(id);
    return text && notice_id_read(text, key);
}

void notice_list_gather(json_t *page) {
    json_t *items = gather_items(json_object_get(page, "items"));
    struct notice_key mark, key;
    bool any = key_of(json_object_get(page, "read"), &mark);
    json_int_t unread = 0;
    for (size_t i = 0; i < json_array_size(items); i++) {
        json_t *item = json_array_get(items, i);
        count_users(item);
        unread += !any || (key_of(json_object_get(item, "id"), &key) && notice_is_newer(&key, &mark));
    }
    json_object_set_new(page, "items", items);
    json_object_set_new(page, "unread", json_integer(unread));
    json_object_del(page, "next");
    json_object_del(page, "read");
}

/* ---- who may see what they are about ---- */

struct notice_reading {
    int64_t user;
    notice_list_done *done;
    void *context;
    struct sights *sights;
    json_t *page;
    struct notice_sight {
        struct notice_reading *reading;
        bool may;
    } * seen;       /* of the page's items */
    size_t waiting; /* for these, and for the asker itself */
};

static void settle(struct notice_reading *reading) {
    json_t *items = json_object_get(reading->page, "items");
    if (--reading->waiting) return;
    for (size_t i = json_array_size(items); i-- > 0;)
        if (!reading->seen[i].may) json_array_remove(items, i);
    notice_list_gather(reading->page);
    reading->done(reading->context, 0, 200, reading->page);
    free(reading->seen);
    free(reading);
}

/* One whose post's owner is away comes back when the list is read again. */
static void answered(void *context, enum sight_answer answer) {
    struct notice_sight *sight = context;
    sight->may = answer == SIGHT_YES;
    settle(sight->reading);
}

/* The post that the notice is about, if it may be another's: a liked one is the user's own. */
static int64_t post_of(const json_t *item) {
    const char *subject = json_string_value(json_object_get(item, "subject"));
    bool own = is_what(item, NOTICE_OF_LIKE) && json_is_null(json_object_get(item, "comment"));
    return subject && !own ? sights_post_of(subject) : 0;
}

static void read_page(struct notice_reading *reading) {
    const json_t *items = json_object_get(reading->page, "items");
    size_t count = json_array_size(items);
    reading->seen = mem_zero(count + 1, sizeof *reading->seen);
    reading->waiting = 1;
    for (size_t i = 0; i < count; i++) {
        int64_t post = post_of(json_array_get(items, i));
        reading->seen[i] = (struct notice_sight){reading, true};
        if (!post) continue;
        reading->waiting++;
        sights_ask(
            reading->sights,
            &(struct sights_wish){
                .reader = reading->user, .author = -1, .post = post, .context = &reading->seen[i], .done = answered});
    }
    settle(reading);
}

static void listed(void *context, int code, unsigned status, const char *text, size_t size) {
    struct notice_reading *reading = context;
    reading->page = !code && status == 200 ? json_parse(text, size, NULL) : NULL;
    if (!code && status == 200 && !json_is_array(json_object_get(reading->page, "items"))) code = -EBADMSG;
    if (!code && status == 200) {
        read_page(reading);
        return;
    }
    json_decref(reading->page);
    reading->done(reading->context, code, status, NULL);
    free(reading);
}

static struct notice_reading *reading_new(struct sights *sights, int64_t user, notice_list_done *done, void *context) {
    return MEM_NEW(&(struct notice_reading){.user = user, .done = done, .context = context, .sights = sights});
}

void notice_list_ask(struct peers *owners, struct sights *sights, int64_t user, notice_list_done *done, void *context) {
    rpc_ask(owners, &ASK_NOTICES, RPC_VALUES(RPC_INT(USER, user), RPC_INT(LIMIT, NOTICES_KEPT)), PEER_TIMEOUT_MS,
            listed, reading_new(sights, user, done, context));
}

void notice_list_read(struct sights *sights, int64_t user, const char *page, size_t size, notice_list_done *done,
                      void *context) {
    listed(reading_new(sights, user, done, context), 0, 200, page, size);
}
