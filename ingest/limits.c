#include "ingest/limits.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "budget/network.h"
#include "budget/rates.h"
#include "service/http_origin.h"

enum {
    CHANGE_BYTES = 2048, /* what a change writes is kept, indexed and copied: more than a short text is worth more */
    ROWS_MAX = 10000,    /* of the longest page that an endpoint gives */
    STRANGER_BODY_MAX = 64 * 1024 /* bytes, of a request without a good token */
};

struct limits {
    struct rates *users, *changes, *networks, *preflights, *tokens;
    struct http_proxies *proxies;
    struct metric *limited_users, *limited_networks;
};

int limits_new(const struct ingest_settings *settings, struct metrics *metrics, struct limits **limits,
               struct error *error) {
    static const char NAME[] = "starling_ingest_limited_total", HELP[] = "Requests answered 429 by the gateway itself.";
    struct http_proxies *proxies;
    int code = http_proxies_new(settings->trusted_proxies, &proxies, error);
    if (code) return error_prefix(error, code, "ingest.trusted.proxies");
    struct limits *made = MEM_NEW(&(struct limits){
        .users =
            rates_new(&(struct rates_options){metrics, "requests", "user", settings->user_rate, settings->user_burst}),
        .changes = rates_new(
            &(struct rates_options){metrics, "changes", "user", settings->changes_rate, settings->changes_burst}),
        .networks = rates_new(
            &(struct rates_options){metrics, "requests", "address", settings->address_rate, settings->address_burst}),
        .preflights = rates_new(
            &(struct rates_options){metrics, "preflights", "address", settings->address_rate, settings->address_burst}),
        .tokens = rates_new(
            &(struct rates_options){metrics, "bad_tokens", "address", settings->address_rate, settings->address_burst}),
        .proxies = proxies,
        .limited_users = metrics_counter(metrics, NAME, HELP, "by=\"user\""),
        .limited_networks = metrics_counter(metrics, NAME, HELP, "by=\"address\""),
    });
    *limits = made;
    return 0;
}

void limits_free(struct limits *limits) {
    if (!limits) return;
    rates_free(limits->users);
    rates_free(limits->changes);
    rates_free(limits->networks);
    rates_free(limits->preflights);
    rates_free(limits->tokens);
    http_proxies_free(limits->proxies);
    free(limits);
}

/* The endpoint refuses a limit that is no number, or is too large. */
static int64_t cost_of(const struct http_request *request) {
    const char *limit = http_query(request, "limit");
    int64_t rows;
    return limit && text_number(limit, strlen(limit), ROWS_MAX, &rows) ? 1 + rows / LIMITS_ROWS : 1;
}

/* A browser asks before it sends (OPTIONS without a token, whoever the user is). An app's users behind one address must not use up what
 * requests may do by that, nor be kept from asking by those. */
static bool is_preflight(const struct http_request *request) {
    return !strcmp(http_method(request), "OPTIONS") && http_header(request, "Origin") &&
           http_header(request, "Access-Control-Request-Method");
}

/* A caller without a good token counts for the network that the request comes from. */
static int pass_stranger(struct limits *limits, const struct call *call, int64_t now_ms) {
    struct http_request *request = call->request;
    http_set_caller(request, http_caller_of_network(network_of_address(call->address)));
    http_set_max_body(request, STRANGER_BODY_MAX);
    return rates_take(is_preflight(request) ? limits->preflights : limits->networks, call->address, 1, now_ms);
}

bool limits_verify(struct limits *limits, const struct call *call) {
    int64_t now_ms = clock_coarse_ms();
    if (!rates_owing(limits->tokens, call->address, now_ms)) return true;
    int wait_s = rates_take(limits->tokens, call->address, 1, now_ms); // which counts the refusal
    limits->limited_networks->value++;
    http_problem(call->request, 429, "too_many_requests", "too many bad tokens came from this network", wait_s);
    return false;
}

void limits_bad_token(struct limits *limits, const struct call *call) {
    rates_charge(limits->tokens, call->address, 1, clock_coarse_ms());
}

bool limits_pass(struct limits *limits, const struct call *call, bool known) {
    int64_t now_ms = clock_coarse_ms(), cost = cost_of(call->request);
    int wait_s;
    if (known && call->claims.gateway) {
        http_set_caller(call->request, http_caller_without_limit(call->request));
        return true;
    }
    known = known && call->claims.user >= 0; // tokens of nobody in particular must not share one allowance
    if (known) {
        http_set_caller(call->request, http_caller_of_user(call->claims.user));
        wait_s = rates_take(limits->users, (uint64_t)call->claims.user, cost, now_ms);
    } else
        wait_s = pass_stranger(limits, call, now_ms);
    if (!wait_s) {
        if (known) http_set_payer(call->request, call->claims.user, cost);
        return true;
    }
    (known ? limits->limited_users : limits->limited_networks)->value++;
    http_problem(call->request, 429, "too_many_requests",
                 known ? "this user asks too often" : "too many requests without a good token came from this network",
                 wait_s);
    return false;
}

bool limits_change(struct limits *limits, const struct call *call) {
    if (call->claims.gateway) return true;
    int wait_s = rates_take(limits->changes, (uint64_t)call->claims.user, 1, clock_coarse_ms());
    if (wait_s) http_problem(call->request, 429, "too_many_writes", "the user writes faster than anybody may", wait_s);
    return !wait_s;
}

const struct http_proxies *limits_proxies(const struct limits *limits) { return limits->proxies; }

void limits_answered(struct limits *limits, const struct http_request *request, bool change) {
    size_t body;
    http_body(request, &body);
    int64_t now_ms = clock_coarse_ms(), paid, user = http_payer(request, &paid),
            cost = http_work(request) + (int64_t)((body + http_answer_size(request)) / LIMITS_BYTES);
    if (user < 0) return;
    if (cost > paid) rates_charge(limits->users, (uint64_t)user, cost - paid, now_ms);
    if (change) rates_charge(limits->changes, (uint64_t)user, (int64_t)body / CHANGE_BYTES, now_ms);
}
