/* Pairs of users in bulk, from a file to Kafka and back: what `starling graph` and `starling follows` have in common. Blocking; one
 * thread.
 *
 *     FILE --import--> commands --their deciders--> compacted halves --export--> FILE
 */
#pragma once

#include "cli/cli.h"
#include "cli/half_records.h"
#include "cli/setup.h"

/* One sort of pairs. */
struct bulk {
    const struct cli_command *command;
    const char *pairs; /* "friendships" */
    const struct setup_deciders *deciders;
    const char *(*group)(const struct cli_settings *settings); /* of the deciders */
    int (*send)(struct setup *setup, int64_t a, int64_t b, struct error *error);
    const struct topic *halves;
    half_reader *read_half;
    int64_t wait_s; /* how long import waits unless it is told; 0: not at all */
    const char *wait_help;
    /* Checks that each half has its mirror, and returns the exit code. NULL: the command has no "verify". */
    int (*verify)(const struct cli_command *command, const struct cli *cli, struct error *error);
};

/* state: a file that says how far an earlier run came, NULL: none. wait_s: how long to wait until all commands are decided, 0: not at
 * all. Both tell what they did on standard error. */
int bulk_import(const struct bulk *bulk, const struct cli *cli, const char *path, const char *state, int64_t wait_s,
                struct error *error);
int bulk_export(const struct bulk *bulk, const struct cli *cli, const char *path, struct error *error);

/* The command: "import FILE [--resume STATE] [--wait SECONDS] | export [FILE] | verify". Returns the exit code. */
int bulk_run(const struct bulk *bulk, struct cli *cli, int argc, char **argv);
