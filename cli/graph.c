/* `starling graph`: friendships in bulk, from a file to Kafka and back. */
#include "cli/bulk.h"
#include "cli/verify.h"
#include "event/topics.h"

static const char *group(const struct cli_settings *settings) { return settings->router_group; }

static const struct bulk FRIENDSHIPS = {
    .command = &GRAPH_COMMAND,
    .pairs = "friendships",
    .deciders = &SETUP_ROUTERS,
    .group = group,
    .send = setup_befriend,
    .halves = &TOPIC_FRIENDSHIPS,
    .read_half = half_of_friendship,
    .wait_help = "import: waits so long at most until it is all on the routers' friend lists",
    .verify = verify_run,
};

static int run(int argc, char **argv) { return bulk_run(&FRIENDSHIPS, argc, argv); }

const struct cli_command GRAPH_COMMAND = {
    .name = "graph",
    .synopsis = "import FILE [--resume STATE] [--wait SECONDS] | export [FILE] | verify",
    .summary = "friendships in bulk: two user ids a line, .gz too",
    .run = run,
};
