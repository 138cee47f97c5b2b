#include "ingest/limits.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "budget/rates.h"
#include "service/http_origin.h"

struct limits {
    struct rates *users, *networks;
    struct http_proxies *proxies;
    struct metric *limited_users, *limited_networks;
};

int limits_new(const struct ingest_settings *settings, struct metrics *metrics, struct limits **limits,
               struct error *error) {
    static const char NAME[] = "starling_ingest_limited_total", HELP[] = "Requests answered 429 by the gateway itself.";
    struct http_proxies *proxies;
    int code = http_proxies_new(settings->trusted_proxies, &proxies, error);
    if (code) return error_prefix(error, code, "ingest.trusted.proxies");
    struct limits *made = mem_alloc(sizeof *made);
    *made = (struct limits){
        .users =
            rates_new(&(struct rates_options){metrics, "requests", "user", settings->user_rate, settings->user_burst}),
        .networks = rates_new(
            &(struct rates_options){metrics, "requests", "address", settings->address_rate, settings->address_burst}),
        .proxies = proxies,
        .limited_users = metrics_counter(metrics, NAME, HELP, "by=\"user\""),
        .limited_networks = metrics_counter(metrics, NAME, HELP, "by=\"address\""),
    };
    *limits = made;
    return 0;
}

void limits_free(struct limits *limits) {
    if (!limits) return;
    rates_free(limits->users);
    rates_free(limits->networks);
    http_proxies_free(limits->proxies);
    free(limits);
}

bool limits_pass(struct limits *limits, const struct call *call, bool known) {
    int64_t now_ms = clock_coarse_ms();
    int wait_s;
    if (known && call->claims.gateway) return true;
    known = known && call->claims.user >= 0; // tokens of nobody in particular must not share one allowance
    if (known)
        wait_s = rates_take(limits->users, (uint64_t)call->claims.user, 1, now_ms);
    else
        wait_s = rates_take(limits->networks, http_origin_network(call->request, limits->proxies), 1, now_ms);
    if (!wait_s) return true;
    (known ? limits->limited_users : limits->limited_networks)->value++;
    http_problem(call->request, 429, "too_many_requests",
                 known ? "this user asks too often" : "too many requests without a good token came from this network",
                 wait_s);
    return false;
}
