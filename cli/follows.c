/* `starling follows`: who follows whom in bulk, from a file to Kafka and back. */
#include "cli/bulk.h"
#include "event/topics.h"

static const char *group(const struct cli_settings *settings) { return settings->feed_group; }

static const struct bulk FOLLOWS = {
    .command = &FOLLOWS_COMMAND,
    .pairs = "follows",
    .deciders = &SETUP_FEEDS,
    .group = group,
    .send = setup_follow,
    .halves = &TOPIC_FOLLOWS,
    .read_half = half_of_follow,
    .wait_s = 120,
    .wait_help = "import: waits so long at most until all are decided (120)",
};

static int run(struct cli *cli, int argc, char **argv) { return bulk_run(&FOLLOWS, cli, argc, argv); }

const struct cli_command FOLLOWS_COMMAND = {
    .name = "follows",
    .synopsis = "import FILE [--resume STATE] [--wait SECONDS] | export [FILE]",
    .summary = "who follows whom in bulk: a line \"a b\" is a follows b, .gz too",
    .notes = "A line is two user ids, with blanks or a comma between; # begins a comment. import stays at most\n"
             "100,000 commands ahead of the daemons, and may be repeated. A block refuses a follow without a\n"
             "message, and a user whose posts are for followers has a request: export shows which follows there are.",
    .run = run,
};
