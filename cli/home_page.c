#include "cli/home_page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "ids/ids.h"

enum { IDS_A_QUESTION = 250 }; /* 5 KB of a URL, and some MiB of posts at most */

static const char NONSENSE[] = "the feed process's answer cannot be understood";

void home_page_free(struct home_page *page) {
    for (size_t i = 0; i < page->count; i++) json_decref(page->items[i].post);
    free(page->items);
    free(page->following);
    *page = (struct home_page){.items = NULL};
}

/* Appends a list of {id, user}. */
static int add_items(struct home_page *page, const json_t *posts, struct error *error) {
    size_t count = json_array_size(posts);
    if (!json_is_array(posts)) return error_set(error, -EBADMSG, "no posts");
    page->items = mem_resize(page->items, page->count + count + 1, sizeof *page->items);
    for (size_t i = 0; i < count; i++) {
        const json_t *post = json_array_get(posts, i);
        struct home_item item = {.post = NULL};
        if (post_want_id(post, "id", &item.id, error) || json_want_int(post, "user", 0, INT64_MAX, &item.user, error))
            return -EBADMSG;
        page->items[page->count + i] = item;
    }
    page->count += count;
    return 0;
}

/* The horizon is an id, or "0". */
static int read_horizon(struct home_page *page, const json_t *root, struct error *error) {
    const char *text;
    if (json_want_text(root, "horizon", &text, error)) return -EBADMSG;
    return !strcmp(text, "0") || post_want_id(root, "horizon", &page->horizon, error) == 0 ? 0 : -EBADMSG;
}

/* A reply without a version leaves it empty. */
static void read_version(struct home_page *page, const json_t *root) {
    const char *text;
    if (json_want_text(root, "version", &text, NULL) || strlen(text) >= sizeof page->version) return;
    strcpy(page->version, text);
}

static void read_following(struct home_page *page, const json_t *following) {
    page->following = mem_zero(json_array_size(following) + 1, sizeof *page->following);
    for (size_t i = 0; i < json_array_size(following); i++) {
        const json_t *user = json_array_get(following, i);
        if (json_is_integer(user)) page->following[page->following_count++].user = json_integer_value(user);
    }
}

int home_page_read(struct home_page *page, const char *reply, size_t size, struct error *error) {
    json_t *root = json_parse(reply, size, error);
    int code = root ? 0 : -EBADMSG;
    if (!code && json_want_bool(root, "complete", &page->complete, error)) code = -EBADMSG;
    if (!code) code = read_horizon(page, root, error);
    if (!code) code = add_items(page, json_object_get(root, "posts"), error);
    if (!code) read_version(page, root);
    if (!code) read_following(page, json_object_get(root, "following"));
    json_decref(root);
    return code ? error_prefix(error, code, "%s", NONSENSE) : 0;
}

bool home_page_ask_older(struct home_page *page, int32_t partitions, int32_t *partition, struct buffer *authors) {
    size_t asked = 0;
    buffer_clear(authors);
    for (size_t i = 0; i < page->following_count && asked < IDS_A_QUESTION; i++) {
        struct home_author *author = &page->following[i];
        int32_t its = hash_user_partition(author->user, partitions);
        if (author->asked || (asked && its != *partition)) continue;
        *partition = its;
        author->asked = true;
        buffer_format(authors, "%s%" PRId64, asked++ ? "," : "", author->user);
    }
    return asked > 0;
}

int home_page_add(struct home_page *page, const char *reply, size_t size, struct error *error) {
    json_t *root = json_parse(reply, size, error);
    int code = root ? add_items(page, json_object_get(root, "posts"), error) : -EBADMSG;
    json_decref(root);
    return code ? error_prefix(error, code, "%s", NONSENSE) : 0;
}

static int newest_first(const void *a, const void *b) {
    const struct home_item *x = a, *y = b;
    return (x->id < y->id) - (x->id > y->id);
}

void home_page_sort(struct home_page *page, size_t max) {
    size_t kept = 0;
    if (page->count) qsort(page->items, page->count, sizeof *page->items, newest_first);
    for (size_t i = 0; i < page->count && kept < max; i++)
        if (!kept || page->items[i].id != page->items[kept - 1].id) page->items[kept++] = page->items[i];
    page->count = kept;
}

bool home_page_ask(struct home_page *page, int32_t *partition, struct buffer *ids) {
    size_t asked = 0;
    buffer_clear(ids);
    for (size_t i = 0; i < page->count && asked < IDS_A_QUESTION; i++) {
        struct home_item *item = &page->items[i];
        int32_t its = ids_partition(item->id);
        if (item->question || (asked && its != *partition)) continue;
        *partition = its;
        item->question = page->questions + 1;
        buffer_format(ids, "%s%" PRId64, asked++ ? "," : "", item->id);
    }
    if (asked) page->questions++;
    return asked > 0;
}

int home_page_answer(struct home_page *page, const char *reply, size_t size, struct error *error) {
    json_t *root = json_parse(reply, size, error);
    const json_t *posts = json_object_get(root, "items");
    size_t at = 0;
    int code = root ? 0 : -EBADMSG;
    if (!code && !json_is_array(posts)) code = error_set(error, -EBADMSG, "no items");
    for (size_t i = 0; !code && i < page->count; i++) {
        struct home_item *item = &page->items[i];
        if (item->question != page->questions) continue;
        json_t *post = json_array_get(posts, at++);
        item->gone = json_is_null(post);
        // A post whose text has not come to its owner yet has none.
        if (json_given(post, "text")) item->post = json_incref(post);
    }
    json_decref(root);
    return code ? error_prefix(error, code, "%s", NONSENSE) : 0;
}

size_t home_page_print(const struct home_page *page, size_t limit, const struct post_style *style, struct buffer *out,
                       size_t *unavailable) {
    size_t printed = 0;
    *unavailable = 0;
    for (size_t i = 0; i < page->count && printed < limit; i++) {
        const struct home_item *item = &page->items[i];
        if (item->gone) continue;
        printed++;
        if (item->post && post_line(out, item->post, style, NULL) == 0) continue;
        post_line_unavailable(out, item->id, item->user, style);
        ++*unavailable;
    }
    return printed;
}
