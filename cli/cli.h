/* A program of subcommands: `starling` itself, one file (or a few) a subcommand, listed in main.c, and starling-load (tools/load).
 * Single-threaded; each run is one subcommand and then exits, with 0, 1 (it failed: the reason is on standard error) or 2 (wrong usage). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/config.h"
#include "base/error.h"
#include "geo/geo.h"
#include "kafka/settings.h"

struct cli_settings { /* from --config, environment and --set, as for the daemons */
    const char *bootstrap, *prefix;
    const char *hs256_key_file; /* for those that sign tokens */
    const char *peer_token;
    const char *api_url, *ws_url; /* where the gateways and the edges are reached */
    const char *ops_addresses;    /* of daemons, separated by commas */
    const char *router_group, *fanout_group, *history_group, *feed_group, *comments_group, *places_group,
        *moderation_group;
};

/* An option of a subcommand: --name, or --name VALUE. Repeated: the last one counts. */
struct cli_option {
    const char *name;
    const char *value_name; /* NULL: a flag */
    const char *help;
    const char **value; /* where VALUE goes; NULL for a flag */
    bool *flag;
};

enum { CLI_WRONG_USAGE = 2, CLI_DONE = -1 };

/* ops.addresses where nobody says otherwise: the daemons' own defaults. */
#define CLI_OPS_ADDRESSES                                                                                              \
    "127.0.0.1:9110,127.0.0.1:9120,127.0.0.1:9130,127.0.0.1:9150,127.0.0.1:9160,127.0.0.1:9180,127.0.0.1:9140,127.0.0.1:9170"

struct cli {
    struct config *config;
    struct cli_settings settings;
    struct kafka_settings kafka;
    char **arguments; /* the arguments that are not options, in order; borrowed from argv */
    int argument_count;
    const struct cli_command *command;
    bool *unsaid_broker; /* true: nothing is configured, and nobody was told which broker that means */
};

struct cli_command {
    const char *name;
    const char *synopsis; /* "FILE [--dry-run]" */
    const char *summary;  /* one line */
    const char *notes;    /* what else people have to know: paragraphs with an empty line between; NULL: nothing */
    /* argv[0] is the subcommand's name; cli: for cli_open, and closed after it. */
    int (*run)(struct cli *cli, int argc, char **argv);
    int refused_code;    /* the exit code when the broker refuses the connection; 0 stands for 1 */
    int usage_code;      /* the exit code of wrong usage; 0 stands for CLI_WRONG_USAGE */
    const char *program; /* whose subcommand it is; NULL stands for "starling" */
};

/* The main function of a program: runs the subcommand that argv[1] names. --help (-h, help) lists all, --version prints the program's, and
 * --help=json is for programs: {"commands":[{"name","synopsis","summary","tables": what the command's --help=json prints}]}. */
int cli_main(const struct cli_command *const *commands, size_t count, int argc, char **argv);

/* Parses options and configuration (--config FILE, --set key=value, --help and --version may stand anywhere, before or after arguments).
 * 0, or what run is to return: the exit code of wrong usage, after the reason was printed; or CLI_DONE, for exit code 0, after --help (-h)
 * or --version was printed; --help=json does so for programs: {"notes","options":[{"name","value","help"}],"settings":[{"name","default","help"}]}, notes
 * null where there are none, value null for a flag. cli_close frees everything. */
int cli_open(struct cli *cli, const struct cli_command *command, int argc, char **argv,
             const struct cli_option *options, size_t count);
void cli_close(struct cli *cli);

/* Subcommands that are about to ask Kafka call this. It says once on standard error which broker is asked if no setting at all was
 * given. */
void cli_say_broker(const struct cli *cli);

/* Says "PROGRAM NAME: reason" on standard error, with the usage behind it when code is that of wrong usage; returns code. */
int cli_fail(const struct cli_command *command, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

int cli_usage_code(const struct cli_command *command); /* of wrong usage, which CLI_WRONG says */
#define CLI_WRONG(command, ...) cli_fail((command), cli_usage_code(command), __VA_ARGS__)

/* Says "PROGRAM NAME: reason" on standard error, of what is no failure. */
void cli_note(const struct cli_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Reads an argument USER. 0, or the exit code after the reason was printed. */
int cli_user(const struct cli_command *command, const char *text, int64_t *user);
/* Reads the only argument, USER. The same. */
int cli_one_user(const struct cli *cli, int64_t *user);

/* Reads the values of options; false: not that, or out of range. */
bool cli_int(const char *text, int64_t min, int64_t max, int64_t *value);
bool cli_real(const char *text, double min, double max, double *value);
bool cli_place(const char *text, struct geo_point *at); /* LAT,LNG in degrees */

/* The same for the value of --option, and text is NULL where it was not given: *value is then unchanged. 0, or the exit code of wrong
 * usage after the reason was printed. */
int cli_int_option(const struct cli_command *command, const char *option, const char *text, int64_t min, int64_t max,
                   int64_t *value);
int cli_real_option(const struct cli_command *command, const char *option, const char *text, double min, double max,
                    double *value);

/* A file with two ids a line, gzip or plain (comments # and blank lines skipped). Calls pair for each; stops when it returns
 * not 0 and returns that. Negative errno with the reason (file:line) in error. */
int cli_read_pairs(const char *path, int (*pair)(void *context, int64_t a, int64_t b), void *context,
                   struct error *error);

extern const struct cli_command TOPICS_COMMAND, GRAPH_COMMAND, WATCH_COMMAND, REPLAY_COMMAND, HISTORY_COMMAND,
    STATUS_COMMAND, DLQ_COMMAND, FOLLOWS_COMMAND, POSTS_COMMAND, FEED_COMMAND, COMMENTS_COMMAND, TRACE_COMMAND,
    USER_EXPORT_COMMAND, FORGET_COMMAND, MODERATE_COMMAND;
