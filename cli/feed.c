/* `starling feed`: a user's home timeline. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "cli/home_reading.h"
#include "cli/phone.h"
#include "cli/phone_frame.h"
#include "cli/post_options.h"

/* `starling feed USER --follow` prints the newest page of a home timeline, then new posts as they come over the WebSocket. */

enum {
    READ_AGAIN_MS = 200,
    READINGS_MAX = 6, /* of one stale page: its version may be of posts that are deleted meanwhile */
    VERSION_ID = 16,  /* digits of the newest id, with which a version begins */
};

struct home_follower {
    const struct post_options *options;
    struct asking *asking;
    struct phone_socket *phone;
    struct loop_timer *read;
    struct buffer frame, line;
    struct map *printed;                                        /* ids */
    char version[HOME_VERSION_SIZE], wanted[HOME_VERSION_SIZE]; /* of the page; that it is to have: "" as it has it */
    int readings;
};

/* ---- printing ---- */

/* post NULL, or without a text: it cannot be read now. */
static void print_post(struct home_follower *f, int64_t id, int64_t user, const json_t *post) {
    const struct post_style style = {.json = f->options->json, .author = true};
    bool created;
    uint64_t *slot = map_put(f->printed, (uint64_t)id, &created);
    *slot = 1;
    if (!created) return;
    buffer_clear(&f->line);
    if (!post || post_line(&f->line, post, &style, NULL)) post_line_unavailable(&f->line, id, user, &style);
    fwrite(f->line.data, 1, f->line.size, stdout);
}

static void print_page(struct home_follower *f, const struct home_page *page) {
    size_t end = 0, shown = 0;
    for (; end < page->count && shown < f->options->limit; end++) shown += !page->items[end].gone;
    while (end-- > 0) {
        const struct home_item *item = &page->items[end];
        if (!item->gone) print_post(f, item->id, item->user, item->post);
    }
    fflush(stdout);
}

/* ---- pages ---- */

static int read_page(struct home_follower *f, struct error *error) {
    struct home_page page = {.items = NULL};
    int code = home_read(f->asking, f->options->user, f->options->limit, &page, error);
    if (!code) {
        print_page(f, &page);
        if (page.complete) strcpy(f->version, page.version);
    }
    if (!code && !page.complete) code = error_set(error, -EAGAIN, "the timeline is not complete");
    home_page_free(&page);
    return code;
}

static void send_watch(struct home_follower *f) {
    phone_frame_watch_feed(&f->frame, f->version);
    phone_send(f->phone, &f->frame);
}

/* The page is as new as the version that was named. */
static bool new_enough(const struct home_follower *f) {
    return !strcmp(f->version, f->wanted) || strncmp(f->version, f->wanted, VERSION_ID) > 0;
}

static void read_again(void *context) {
    struct home_follower *f = context;
    struct error error = {.text = ""};
    int code = read_page(f, &error);
    if (code && f->readings == 0) fprintf(stderr, "starling feed: %s\n", error.text);
    if (!code && phone_welcomed(f->phone)) send_watch(f);
    f->readings++;
    if (!code && (new_enough(f) || f->readings >= READINGS_MAX)) {
        f->wanted[0] = '\0';
        return;
    }
    int doublings = f->readings < READINGS_MAX ? f->readings : READINGS_MAX;
    loop_timer_again(f->read, READ_AGAIN_MS << (doublings - 1), 0);
}

static void want_page(struct home_follower *f, const char *version, int64_t after_ms) {
    if (!strcmp(version, f->version)) return;
    strcpy(f->wanted, version);
    f->readings = 0;
    loop_timer_again(f->read, (uint64_t)after_ms, 0);
}

/* ---- from the edge ---- */

static int want_version(const json_t *frame, const char *key, const char **version) {
    return json_want_text(frame, key, version, NULL) || strlen(*version) >= HOME_VERSION_SIZE ? -EBADMSG : 0;
}

static int take_posts(struct home_follower *f, const json_t *frame) {
    const char *since, *version;
    const json_t *items = json_object_get(frame, "items");
    if (want_version(frame, "since", &since) || want_version(frame, "version", &version) || !json_is_array(items))
        return -EBADMSG;
    for (size_t i = json_array_size(items); i-- > 0;) {
        const json_t *post = json_array_get(items, i);
        int64_t id, user;
        if (post_want_id(post, "id", &id, NULL) || json_want_int(post, "user", 0, INT64_MAX, &user, NULL))
            return -EBADMSG;
        print_post(f, id, user, post);
    }
    fflush(stdout);
    // Posts that do not follow our page's version may have a gap before them.
    if (!strcmp(since, f->version))
        strcpy(f->version, version);
    else
        want_page(f, version, 0);
    return 0;
}

static int take_stale(struct home_follower *f, const json_t *frame) {
    const char *version;
    int64_t after_ms;
    if (want_version(frame, "version", &version) || json_want_int(frame, "after_ms", 0, 3600000, &after_ms, NULL))
        return -EBADMSG;
    want_page(f, version, after_ms);
    return 0;
}

static int take(void *context, const char *type, const json_t *frame) {
    struct home_follower *f = context;
    if (!strcmp(type, "posts")) return take_posts(f, frame);
    if (!strcmp(type, "stale")) return take_stale(f, frame);
    if (!strcmp(type, "welcome")) send_watch(f);
    return 0; // a newer server may say more than we know
}

/* ---- the whole ---- */

static void hello(void *context, struct buffer *frame, const char *token) { phone_frame_hello_alone(frame, token); }

static int begin(void *context, struct phone_socket *phone, uv_loop_t *loop, struct error *error) {
    struct home_follower *f = context;
    f->phone = phone;
    f->read = loop_timer_new(loop, 1, 0, read_again, f);
    loop_timer_stop(f->read);
    int code = read_page(f, error);
    return code == -EAGAIN ? 0 : code; // posts may be missing; the edge will say that the page is stale
}

static void end(void *context) { loop_timer_free(((struct home_follower *)context)->read); }

/* Prints each post once, the oldest first, and connects again after a lost connection. Returns 0 after SIGINT or SIGTERM. */
static int home_follow(const struct post_options *options, struct asking *asking, struct error *error) {
    struct home_follower f = {.options = options, .asking = asking, .printed = map_new()};
    const struct phone_options phone = {.cli = options->cli,
                                        .user = options->user,
                                        .url = options->ws,
                                        .token = options->token,
                                        .authorities = options->authorities,
                                        .errors_end = true,
                                        .context = &f,
                                        .start = begin,
                                        .end = end,
                                        .hello = hello,
                                        .take = take};
    int code = phone_run(&phone, error);
    buffer_free(&f.frame);
    buffer_free(&f.line);
    map_free(f.printed);
    return code;
}

static int show_page(const struct post_options *options, const struct home_page *page, struct error *error) {
    const struct post_style style = {.json = options->json, .author = true};
    struct buffer lines = {.data = NULL};
    size_t unavailable, printed = home_page_print(page, options->limit, &style, &lines, &unavailable);
    if (lines.size) fwrite(lines.data, 1, lines.size, stdout);
    buffer_free(&lines);
    if (!page->complete && !printed)
        return error_set(error, -EAGAIN, "the timeline is not complete, and has nothing to show yet: try again soon");
    if (!page->complete) fprintf(stderr, "starling feed: the timeline is not complete: posts may be missing\n");
    if (unavailable) fprintf(stderr, "starling feed: the texts of %zu posts cannot be read now\n", unavailable);
    return 0;
}

static int print(const struct post_options *options, struct asking *asking, struct error *error) {
    struct home_page page = {.items = NULL};
    int code = home_read(asking, options->user, options->limit, &page, error);
    if (!code) code = show_page(options, &page, error);
    home_page_free(&page);
    return code;
}

static int run(struct cli *cli, int argc, char **argv) {
    return post_options_run(cli, &FEED_COMMAND, print, home_follow, argc, argv);
}

const struct cli_command FEED_COMMAND = {
    .name = "feed",
    .synopsis = "USER [--limit N] [--json] [--follow [--ws URL] [--token TOKEN] [--ca FILE]]",
    .summary = "a user's home timeline: the newest posts of whom the user follows",
    .run = run,
};
