#include "ingest/user_lists.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "ingest/gather.h"
#include "ingest/limits.h"
#include "ingest/owners.h"
#include "users/handle.h"

enum { LIST_TIMEOUT_MS = 3000, HANDLES_TIMEOUT_MS = 500, RETRY_AFTER_S = 2, QUESTION_USERS = 400 /* 8 KB of a URL */ };

struct listed_user {
    int64_t user;
    const json_t *item;       /* the page's; NULL: there is no page */
    char handle[HANDLE_SIZE]; /* empty: none, or not known */
};

/* A row without a handle, and the partition whose owner is asked for it. */
struct asked_handle {
    struct listed_user *row;
    int32_t partition;
    bool elsewhere; /* another process has the user */
};

struct user_listing {
    struct user_list list;
    json_t *page; /* the owner's; NULL: there is none */
    struct listed_user *rows;
    struct asked_handle *asked;
    size_t count, asked_count;
    bool again; /* this is the second round */
};

static void listing_free(struct user_listing *listing) {
    json_decref(listing->page);
    free(listing->rows);
    free(listing->asked);
    free(listing);
}

/* ---- the page ---- */

static bool put_row(struct buffer *body, const struct user_list *list, const struct listed_user *row) {
    buffer_byte(body, '{');
    list->put_user(body, row->user, list->profiles);
    buffer_string(body, ",\"handle\":");
    if (row->handle[0])
        json_put_text(body, row->handle, strlen(row->handle));
    else
        buffer_string(body, "null");
    bool good = !list->put_more || list->put_more(body, row->item);
    buffer_byte(body, '}');
    return good;
}

static bool put_list(struct buffer *body, const struct user_listing *listing) {
    const json_t *page = listing->page;
    bool good = true;
    buffer_string(body, "{\"items\":[");
    for (size_t i = 0; i < listing->count && good; i++) {
        if (i) buffer_byte(body, ',');
        good = put_row(body, &listing->list, &listing->rows[i]);
    }
    buffer_byte(body, ']');
    if (page) good = good && json_copy_int_or_null(body, page, "next");
    if (json_object_get(page, "total")) good = good && json_copy_int(body, page, "total");
    buffer_byte(body, '}');
    return good;
}

static void reply(struct user_listing *listing) {
    struct buffer body = {0};
    if (put_list(&body, listing))
        http_reply_json(listing->list.request, 200, &body);
    else
        owners_away(listing->list.request, RETRY_AFTER_S);
    buffer_free(&body);
    listing_free(listing);
}

/* ---- handles ---- */

static int by_partition(const void *a, const void *b) {
    const struct asked_handle *x = a, *y = b;
    return (x->partition > y->partition) - (x->partition < y->partition);
}

/* How many rows, from this one on, one question is about. */
static size_t run_of(const struct user_listing *listing, size_t from) {
    size_t end = from;
    while (end < listing->asked_count && end - from < QUESTION_USERS &&
           listing->asked[end].partition == listing->asked[from].partition)
        end++;
    return end - from;
}

/* A handle; null: the user has none; false: another process has the user. */
static void read_handle(struct asked_handle *asked, struct json_bytes value) {
    size_t size = value.size - 2; // without the quotes
    asked->elsewhere = json_bytes_are(&value, "false");
    if (value.data[0] == '"' && size < HANDLE_SIZE) memcpy(asked->row->handle, value.data + 1, size);
}

static void answered(void *context, size_t from, struct json_bytes text) {
    struct user_listing *listing = context;
    struct json_scan scan = json_scan_of(text.data, text.size);
    struct json_bytes key, value;
    bool good = json_scan_object(&scan) && json_scan_member(&scan, &key) && json_bytes_are(&key, "items") &&
                json_scan_array(&scan);
    for (size_t i = 0, run = run_of(listing, from); good && i < run; i++) {
        good = json_scan_element(&scan) && json_scan_value(&scan, &value);
        if (good) read_handle(&listing->asked[from + i], value);
    }
}

static void ask_handles(struct user_listing *listing);

static void all_answered(void *context, bool stopping) {
    struct user_listing *listing = context;
    size_t left = 0;
    for (size_t i = 0; i < listing->asked_count; i++)
        if (listing->asked[i].elsewhere) listing->asked[left++] = listing->asked[i];
    listing->asked_count = left;
    if (stopping || listing->again || !left) {
        reply(listing);
        return;
    }
    listing->again = true;
    ask_handles(listing);
}

/* A process that is asked by the partition itself is found anew if it is not the owner any more. */
static void ask_handles(struct user_listing *listing) {
    struct peers *feeds = listing->list.feeds;
    struct gather *gather = gather_new(&(struct gather_options){.owners = feeds,
                                                                .timeout_ms = HANDLES_TIMEOUT_MS,
                                                                .context = listing,
                                                                .answer = answered,
                                                                .done = all_answered});
    for (size_t i = 0; i < listing->asked_count; i++) {
        int32_t own = peers_of_user(feeds, listing->asked[i].row->user);
        listing->asked[i].partition = listing->again ? own : peers_lowest(feeds)[own];
        listing->asked[i].elsewhere = false;
    }
    qsort(listing->asked, listing->asked_count, sizeof *listing->asked, by_partition);
    for (size_t from = 0, run; from < listing->asked_count; from += run) {
        struct buffer ids = {0};
        run = run_of(listing, from);
        for (size_t i = 0; i < run; i++) {
            if (i) buffer_byte(&ids, ',');
            text_int(&ids, listing->asked[from + i].row->user);
        }
        gather_ask(gather, &ASK_HANDLES,
                   RPC_VALUES(RPC_INT(PARTITION, listing->asked[from].partition), RPC_TEXT(IDS, buffer_cstring(&ids))),
                   from);
        buffer_free(&ids);
    }
    gather_end(gather);
}

/* ---- who is on it ---- */

static struct user_listing *listing_new(const struct user_list *list, size_t most) {
    struct user_listing *listing = MEM_NEW(&(struct user_listing){.list = *list});
    listing->rows = mem_alloc((most + 1) * sizeof *listing->rows);
    listing->asked = mem_alloc((most + 1) * sizeof *listing->asked);
    return listing;
}

static void add(struct user_listing *listing, int64_t user, const json_t *item) {
    struct listed_user *row = &listing->rows[listing->count++];
    *row = (struct listed_user){.user = user, .item = item};
    listing->asked[listing->asked_count++] = (struct asked_handle){.row = row};
}

/* The look-up of a handle costs as much as the row, which is paid for by the query's limit if it has one. */
static void begin(struct user_listing *listing) {
    http_add_work(listing->list.request, 1 + 2 * (int64_t)listing->count / LIMITS_ROWS);
    ask_handles(listing);
}

void user_list_show(const struct user_list *list, const int64_t *users, size_t count) {
    struct user_listing *listing = listing_new(list, count);
    for (size_t i = 0; i < count; i++) add(listing, users[i], NULL);
    begin(listing);
}

static bool take_page(struct user_listing *listing) {
    const json_t *items = json_object_get(listing->page, "items");
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        int64_t user;
        if (json_want_int(item, "user", 0, INT64_MAX, &user, NULL)) return false;
        add(listing, user, item);
    }
    return json_is_array(items);
}

void user_list_show_page(const struct user_list *list, json_t *page) {
    struct user_listing *listing = listing_new(list, json_array_size(json_object_get(page, "items")));
    listing->page = page;
    if (take_page(listing)) {
        begin(listing);
    } else {
        owners_away(list->request, RETRY_AFTER_S);
        listing_free(listing);
    }
}

static void listed(void *context, int code, unsigned status, const char *text, size_t size) {
    struct user_list *list = context;
    if (owners_answered(list->request, code, status)) user_list_show_page(list, json_parse(text, size, NULL));
    free(list);
}

void user_list_ask(const struct user_list *list, struct peers *owners, const struct rpc_question *question,
                   const struct rpc_value *values) {
    rpc_ask(owners, question, values, LIST_TIMEOUT_MS, listed, MEM_NEW(list));
}
