/* `starling posts USER` and `starling feed USER` share their options, and whom they ask. */
#ifndef CLI_POST_OPTIONS_H
#define CLI_POST_OPTIONS_H

#include "cli/asking.h"

struct post_options {
    int64_t user;
    size_t limit;
    bool json;
};

/* Parses the arguments, finds the feed processes, calls print, and sees to it that its output is written. Returns the exit code: 1 with the
 * reason on standard error if print returns not 0. */
int post_options_run(const struct cli_command *command,
                     int (*print)(const struct post_options *options, struct asking *asking, struct error *error),
                     int argc, char **argv);

#endif
