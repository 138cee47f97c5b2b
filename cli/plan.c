/* `starling plan` says what a load needs of each tier, by measured figures. It asks nobody. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/plan_figures.h"
#include "cli/plan_model.h"
#include "cli/plan_text.h"

#define AT(member) offsetof(struct plan_load, member)

/* An option of the load. */
struct load_option {
    const char *name, *value_name, *help;
    size_t at; /* in struct plan_load */
    double fallback, min, max;
};

#define BILLION 1e10 /* ten, in fact: more than there are people */

static const struct load_option PARTS[] = {
    {"online", "N", "users with a session (1000000)", AT(online), 1e6, 1, BILLION},
    {"users", "N", "users of a day, for whom lists and copies are kept (ten times those online)", AT(users), 0, 1,
     BILLION},
    {"every", "S", "seconds between two reports of a user online (30)", AT(every_s), 30, 0.01, 86400},
    {"friends", "F", "friends of a user (400)", AT(friends), 400, 0, 1e6},
    {"near", "SHARE", "of a user's friends, those who are online and near (0.1)", AT(near), 0.1, 0, 1},
    {"http", "SHARE", "of reports, those by HTTP instead of a socket (0)", AT(http), 0, 0, 1},
    {"stay", "S", "seconds that a connection lasts (1800)", AT(stay_s), 1800, 1, 1e9},
    {"tls", "SHARE", "of connections, those whose TLS an edge ends (0)", AT(tls), 0, 0, 1},
    {"window-ms", "MS", "edge.flush.window.ms (1000)", AT(window_s), 1, 0, 60},
    {"flush-ms", "MS", "outbox.flush.ms (5)", AT(flush_s), 0.005, 0, 1},
    {"posts", "P", "posts a second (0)", AT(posts), 0, 0, 1e9},
    {"followers", "N", "followers of an author, mean (500)", AT(followers), 500, 0, 1e9},
    {"push-max", "N", "feed.push.max (1000)", AT(push_max), 1000, 0, 1e8},
    {"pages", "N", "pages of home timelines a second (0)", AT(pages), 0, 0, 1e9},
    {"hot-days", "N", "feed.hot.days (7)", AT(hot_days), 7, 1, 7},
    {"comments", "N", "comments a second (0)", AT(comments), 0, 0, 1e9},
    {"likes", "N", "likes of comments a second (0)", AT(likes), 0, 0, 1e9},
    {"comment-pages", "N", "pages of subjects that are not hot, a second (0)", AT(comment_pages), 0, 0, 1e9},
    {"hot-reads", "N", "pages of hot subjects a second (0)", AT(hot_reads), 0, 0, 1e9},
    {"hot-subjects", "N", "subjects that are hot at the same time (1)", AT(hot_subjects), 1, 1, 1e6},
    {"history-days", "N", "days of location history; 0: no history sinks (30)", AT(history_days), 30, 0, 36500},
    {"content-days", "N", "days of posts and comments to count on disks (365)", AT(content_days), 365, 0, 36500},
    {"replication", "N", "copies of each record in Kafka (3)", AT(replication), 3, 1, 10},
    {"cores", "N", "of a machine (16)", AT(cores), 16, 1, 4096},
    {"memory", "GB", "of a machine (64)", AT(memory_gb), 64, 0.1, 1e5},
    {"disk", "TB", "of a machine (4)", AT(disk_tb), 4, 0.001, 1e5},
    {"network", "GBIT", "of a machine, a second (10)", AT(gbit), 10, 0.01, 1e4},
    {"headroom", "SHARE", "of cores and lines that stays free (0.5)", AT(headroom), 0.5, 0, 0.95},
    {"sessions", "N", "edge.max.sessions (18000)", AT(sessions), 18000, 1, 1e6},
};

enum { PART_COUNT = ARRAY_SIZE(PARTS), OTHERS = 3 };

static bool in_ms(const struct load_option *option) {
    size_t length = strlen(option->name);
    return length > 3 && !strcmp(option->name + length - 3, "-ms");
}

/* 0, or CLI_WRONG_USAGE after the reason was printed. */
static int load_read(struct plan_load *load, const char *const *values) {
    for (size_t i = 0; i < PART_COUNT; i++) {
        const struct load_option *option = &PARTS[i];
        double *value = (double *)(void *)((char *)load + option->at), unit = in_ms(option) ? 1000 : 1;
        *value = option->fallback;
        if (!values[i]) continue;
        if (cli_real_option(&PLAN_COMMAND, option->name, values[i], option->min * unit, option->max * unit, value))
            return CLI_WRONG_USAGE;
        *value /= unit;
    }
    if (load->users <= 0) load->users = 10 * load->online;
    if (load->users < load->online)
        return cli_fail(&PLAN_COMMAND, CLI_WRONG_USAGE, "--users: there are no fewer users than are online");
    return 0;
}

/* The plan's exit code: 1 when it is refused. */
static int print_plan(const struct plan_load *load, const struct plan_figures *figures, bool json) {
    struct plan plan;
    struct buffer text = {.data = NULL};
    plan_compute(load, figures, &plan);
    if (json) {
        plan_json(&text, load, &plan);
        buffer_byte(&text, '\n');
    } else {
        plan_text(&text, load, &plan);
    }
    int code = plan.refused;
    fwrite(text.data, 1, text.size, stdout);
    buffer_free(&text);
    plan_clear(&plan);
    return code;
}

static int print_figures(const struct plan_figures *figures) {
    struct buffer text = {.data = NULL};
    plan_figures_text(&text, figures);
    fwrite(text.data, 1, text.size, stdout);
    buffer_free(&text);
    return 0;
}

static int run(int argc, char **argv) {
    const char *values[PART_COUNT] = {NULL}, *format = "text", *file = NULL;
    bool list = false, done;
    struct cli_option options[PART_COUNT + OTHERS];
    for (size_t i = 0; i < PART_COUNT; i++)
        options[i] = (struct cli_option){PARTS[i].name, PARTS[i].value_name, PARTS[i].help, &values[i], NULL};
    options[PART_COUNT] =
        (struct cli_option){"figures", "FILE", "properties that replace measured figures (none)", &file, NULL};
    options[PART_COUNT + 1] =
        (struct cli_option){"list-figures", NULL, "prints the figures as such a file", NULL, &list};
    options[PART_COUNT + 2] = (struct cli_option){"format", "FORMAT", "text or json (text)", &format, NULL};
    struct cli cli;
    struct plan_load load;
    struct plan_figures figures;
    struct error error = {.text = ""};
    int code = cli_open(&cli, &PLAN_COMMAND, argc, argv, options, ARRAY_SIZE(options), &done);
    if (code || done) return code;
    plan_figures_measured(&figures);
    bool json = !strcmp(format, "json");
    if (cli.argument_count)
        code = cli_fail(&PLAN_COMMAND, CLI_WRONG_USAGE, "takes options only");
    else if (!json && strcmp(format, "text"))
        code = cli_fail(&PLAN_COMMAND, CLI_WRONG_USAGE, "--format %s: must be text or json", format);
    else if (file && plan_figures_load(&figures, file, &error))
        code = cli_fail(&PLAN_COMMAND, CLI_WRONG_USAGE, "%s", error.text);
    else
        code = load_read(&load, values);
    if (!code) code = list ? print_figures(&figures) : print_plan(&load, &figures, json);
    cli_close(&cli);
    if (fflush(stdout) || ferror(stdout)) return cli_fail(&PLAN_COMMAND, 1, "standard output cannot be written");
    return code;
}

const struct cli_command PLAN_COMMAND = {
    .name = "plan",
    .synopsis =
        "[--online N] [--friends F] [--posts P] [--pages N] ... [--figures FILE] [--format text|json] | --list-figures",
    .summary = "processes, machines and partitions that a load needs, by measured figures",
    .run = run,
};
