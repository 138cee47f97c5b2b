/* `starling posts USER` and `starling feed USER` share their options, and whom they ask. */
#pragma once

#include "cli/asking.h"

struct post_options {
    int64_t user;
    size_t limit;
    bool json;
    /* With --follow: */
    const struct cli *cli;
    const char *ws, *token, *authorities; /* as a phone has them (cli/phone.h) */
};

typedef int post_options_fn(const struct post_options *options, struct asking *asking, struct error *error);

/* Parses the arguments, finds the feed processes, calls print (with --follow: follow; NULL: the command has no such option), and sees to it
 * that its output is written. Returns the exit code: 1 with the reason on standard error if that returns not 0. */
int post_options_run(struct cli *cli, const struct cli_command *command, post_options_fn *print,
                     post_options_fn *follow, int argc, char **argv);
