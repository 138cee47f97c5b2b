/* `starling feed`: a user's home timeline. */
#include <errno.h>
#include <stdio.h>

#include "cli/home_follow.h"
#include "cli/home_reading.h"
#include "cli/post_options.h"

static int print_page(const struct post_options *options, const struct home_page *page, struct error *error) {
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
    if (!code) code = print_page(options, &page, error);
    home_page_free(&page);
    return code;
}

static int run(int argc, char **argv) { return post_options_run(&FEED_COMMAND, print, home_follow, argc, argv); }

const struct cli_command FEED_COMMAND = {
    .name = "feed",
    .synopsis = "USER [--limit N] [--json] [--follow [--ws URL] [--token TOKEN] [--ca FILE]]",
    .summary = "a user's home timeline: the newest posts of whom the user follows",
    .run = run,
};
