#include "tools/load/simulate_options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

enum { LONGEST_S = 86400 * 365, RATE_MAX = 100000 };

/* The values as the user wrote them. */
struct option_texts {
    const char *from, *until, *speed, *city, *seed, *every, *churn, *duration, *settle, *ws, *http;
    const char *authors, *posts, *follows, *reads, *comments, *fire, *margin, *patience;
};

static int wrong(const struct cli *cli, const char *reason) {
    return cli_fail(cli->command, CLI_WRONG_USAGE, "%s", reason);
}

static void split_urls(const char *text, struct simulate_urls *urls) {
    urls->text = mem_string(text);
    for (char *save, *url = strtok_r(urls->text, ",", &save); url && urls->count < SIMULATE_URLS_MAX;
         url = strtok_r(NULL, ",", &save))
        urls->items[urls->count++] = url;
}

/* "36000" or "32400,36000": rising. */
static bool parse_ends(struct simulate_options *o, const char *until) {
    char *text = mem_string(until);
    int64_t last = o->from_s;
    bool good = true;
    for (char *save, *end = strtok_r(text, ",", &save); end && good; end = strtok_r(NULL, ",", &save)) {
        good = o->end_count < SIMULATE_ENDS_MAX && cli_int(end, last, LONGEST_S, &o->ends_s[o->end_count]);
        if (good) last = o->ends_s[o->end_count++];
    }
    free(text);
    return good && o->end_count > 0;
}

static int check_movement(struct simulate_options *o, const struct cli *cli, const struct option_texts *texts) {
    double every_s, churn_percent;
    if (cli_int_option(cli->command, "from", texts->from, 0, 86400, &o->from_s) ||
        cli_int_option(cli->command, "settle", texts->settle, 0, 100, &o->rounds) ||
        cli_int_option(cli->command, "seed", texts->seed, 0, INT64_MAX, &o->seed) ||
        cli_int_option(cli->command, "for", texts->duration, 0, INT64_MAX / 1000000, &o->duration_s) ||
        cli_int_option(cli->command, "city", texts->city, 2, 10000000, &o->people) ||
        cli_real_option(cli->command, "every", texts->every, 0.01, 3600, &every_s) ||
        cli_real_option(cli->command, "churn", texts->churn, 0, 100, &churn_percent))
        return CLI_WRONG_USAGE;
    if (!parse_ends(o, texts->until))
        return cli_fail(cli->command, CLI_WRONG_USAGE,
                        "--until %s: must be seconds of the day, rising from --from (%" PRId64 ") on", texts->until,
                        o->from_s);
    if (strcmp(texts->speed, "max") == 0)
        o->factor = 0;
    else if (!cli_real(texts->speed, 0.001, 1e6, &o->factor))
        return cli_fail(cli->command, CLI_WRONG_USAGE, "--speed %s: must be a factor such as 60, or max", texts->speed);
    o->every_ms = (int64_t)(every_s * 1000);
    o->churn = churn_percent / 100;
    return 0;
}

static int check_people(const struct simulate_options *o, const struct cli *cli, const struct option_texts *texts) {
    if (o->trace && texts->city) return wrong(cli, "give --trace FILE or --city N");
    if (!o->trace && !texts->city && !(o->no_phones && o->graph))
        return wrong(cli, "give --trace FILE or --city N, or --graph FILE with --no-phones");
    if (o->no_phones && o->trace) return wrong(cli, "the people of a --trace have phones");
    return 0;
}

static int check_feed(struct simulate_options *o, const struct cli *cli, const struct option_texts *texts) {
    double margin_s, patience_s, fire_s;
    if (cli_real_option(cli->command, "posts", texts->posts, 0, RATE_MAX, &o->posts) ||
        cli_real_option(cli->command, "follows", texts->follows, 0, RATE_MAX, &o->follows) ||
        cli_real_option(cli->command, "reads", texts->reads, 0, RATE_MAX, &o->reads) ||
        cli_real_option(cli->command, "comments", texts->comments, 0, RATE_MAX, &o->comments) ||
        cli_real_option(cli->command, "fire", texts->fire, 0, LONGEST_S, &fire_s) ||
        cli_real_option(cli->command, "margin", texts->margin, 0, 3600, &margin_s) ||
        cli_real_option(cli->command, "patience", texts->patience, 0.1, 3600, &patience_s) ||
        cli_int_option(cli->command, "authors", texts->authors, 0, 1000, &o->authors))
        return CLI_WRONG_USAGE;
    if (o->comments > 0 && o->posts <= 0) return wrong(cli, "--comments need --posts: people talk under them");
    o->patience_us = (int64_t)(patience_s * 1e6);
    o->margin_us = (int64_t)(margin_s * 1e6);
    o->fire_us = (int64_t)(fire_s * 1e6);
    o->social = o->posts > 0 || o->follows > 0 || o->reads > 0 || o->check || o->feed;
    if (o->no_phones && !o->social)
        return wrong(cli, "--no-phones leaves nothing to do: give --posts, --follows, --reads, --check or --feed");
    if (o->no_phones && (o->lists || o->rounds)) return wrong(cli, "--lists and --settle need phones");
    return 0;
}

static int check_urls(struct simulate_options *o, const struct cli *cli, const struct option_texts *texts) {
    split_urls(texts->ws ? texts->ws : cli->settings.ws_url, &o->ws);
    split_urls(texts->http ? texts->http : cli->settings.api_url, &o->http);
    if (!*cli->settings.hs256_key_file || !o->ws.count)
        return wrong(cli, "the phones need auth.hs256.key.file to sign their tokens, and --ws");
    if (o->social && !o->http.count) return wrong(cli, "--http is empty");
    return 0;
}

int simulate_options_open(struct simulate_options *o, struct cli *cli, const struct cli_command *command, int argc,
                          char **argv) {
    struct option_texts texts = {
        .from = "0",
        .until = "86400",
        .speed = "60",
        .seed = "1",
        .every = "30",
        .churn = "0",
        .duration = "0",
        .settle = "0",
        .authors = "3",
        .posts = "0",
        .follows = "0",
        .reads = "0",
        .comments = "0",
        .fire = "180",
        .margin = "30",
        .patience = "120",
    };
    *o = (struct simulate_options){.trace = NULL};
    const struct cli_option options[] = {
        {"trace", "FILE", "positions: t_s,user,lat_e7,lon_e7, plain or gzip", &o->trace, NULL},
        {"graph", "FILE", "friendships to import first: two ids a line; everyone is opted in", &o->graph, NULL},
        {"no-setup", NULL, "friendships, opt-ins and follows are there already", NULL, &o->no_setup},
        {"no-phones", NULL, "nobody moves: only the feed is simulated", NULL, &o->no_phones},
        {"from", "S", "start of the trace, second of the day (0)", &texts.from, NULL},
        {"until", "S[,S]", "its end (86400); several: it stops at each for --settle and --lists", &texts.until, NULL},
        {"speed", "X", "how much faster than it happened, or max (60)", &texts.speed, NULL},
        {"city", "N", "N invented people instead of a trace", &texts.city, NULL},
        {"map", "FILE", "only write the city's map there, as GeoJSON (web.map.geojson shows it)", &o->map, NULL},
        {"seed", "N", "another number, another city (1)", &texts.seed, NULL},
        {"every", "S", "seconds between a person's reports in the city (30)", &texts.every, NULL},
        {"churn", "PERCENT", "of the city's phones hang up each minute, and come back after some 15 s (0)",
         &texts.churn, NULL},
        {"for", "S", "end the city after that long (0: when interrupted)", &texts.duration, NULL},
        {"ws", "URL[,URL]", "edges (ws.url)", &texts.ws, NULL},
        {"settle", "N", "at the end every phone repeats its last place N times", &texts.settle, NULL},
        {"settle-while", "FILE", "and goes on repeating for as long as that file exists", &o->settle_while, NULL},
        {"wait-for", "FILE", "settle only once that file exists; the city moves until then", &o->wait_for, NULL},
        {"lists", "FILE", "write every screen at the end: user,friend,distance_m; {until} in it: that end", &o->lists,
         NULL},
        {"http", "URL[,URL]", "gateways (api.url)", &texts.http, NULL},
        {"posts", "X", "posts a second, of all people together; some are deleted (0)", &texts.posts, NULL},
        {"follows", "X", "follows a second that begin or end (0)", &texts.follows, NULL},
        {"reads", "X", "newest pages read a second (0)", &texts.reads, NULL},
        {"comments", "X", "comments, replies, likes and their ends a second, under the posts (0)", &texts.comments,
         NULL},
        {"fire", "S", "so often a post catches fire: ten times as much, all under it (180; 0: never)", &texts.fire,
         NULL},
        {"authors", "N", "the first N people are followed by everybody, and write more (3)", &texts.authors, NULL},
        {"check", NULL, "hold every page against brute force, and fail if one is wrong", NULL, &o->check},
        {"margin", "S", "how long a post, a deletion or a follow may take to be on all pages (30)", &texts.margin,
         NULL},
        {"patience", "S", "how long all timelines may take to be right at the end, or an answer to come (120)",
         &texts.patience, NULL},
        {"feed", "FILE", "write everybody's newest page at the end: user,post", &o->feed, NULL},
    };
    int code = cli_open(cli, command, argc, argv, options, ARRAY_SIZE(options));
    if (code) return code;
    if (o->map) return 0;
    code = check_people(o, cli, &texts);
    if (!code) code = check_movement(o, cli, &texts);
    if (!code) code = check_feed(o, cli, &texts);
    if (!code) code = check_urls(o, cli, &texts);
    if (code) simulate_options_free(o);
    return code;
}

void simulate_options_free(struct simulate_options *options) {
    free(options->ws.text);
    free(options->http.text);
}
