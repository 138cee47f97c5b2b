/* The keys of tokens: made for the daemon that asks for them, and read or fetched again while it runs. */
#include <errno.h>

#include "base/clock.h"
#include "service/http_client.h"
#include "service/internal.h"
#include "service/jwks_fetch.h"

enum { FILE_LOOK_MS = 1000, FETCH_LOOK_MS = 200, FIRST_FETCH_MS = 3000 };

/* Tells how many keys count, and which do not. */
static void note_keys(struct service *service) {
    const char *reason;
    size_t refused = auth_refused_keys(service->auth, &reason);
    service->auth_keys->value = (double)auth_keys(service->auth);
    service->auth_refused->value = (double)refused;
    if (refused)
        log_warn(service->log, "keys of tokens are left out", LOG_INT("keys", (int64_t)refused),
                 LOG_TEXT("reason", reason));
}

/* As auth_refresh. */
static int take_fetched(struct service *service, struct error *error) {
    struct buffer text = {.data = NULL};
    int code = jwks_fetch_take(service->jwks_fetch, &text, error);
    if (code > 0) {
        service->auth_fetched->value = (double)clock_wall_ms() / 1000;
        code = auth_take_keys(service->auth, (const char *)text.data, text.size, error);
        if (code < 0) error_prefix(error, code, "%s", service->settings.auth_jwks_url);
    }
    buffer_free(&text);
    return code;
}

void keys_refresh(struct service *service) {
    struct error error = {.text = ""};
    if (!service->auth) return;
    int code = service->jwks_fetch ? take_fetched(service, &error) : auth_refresh(service->auth, &error);
    if (code > 0) {
        note_keys(service);
        log_info(service->log, "keys of tokens read again", LOG_INT("keys", (int64_t)auth_keys(service->auth)));
    } else if (code < 0) {
        service->auth_failures->value++;
        log_error(service->log, "keys of tokens stay as they were", LOG_TEXT("reason", error.text));
    }
}

static void keys_look(void *context) {
    struct service *service = context;
    if (service->jwks_fetch && auth_missed(service->auth)) jwks_fetch_want(service->jwks_fetch);
    keys_refresh(service);
}

static int make(const struct service_settings *settings, struct auth **auth, struct error *error) {
    if (*settings->auth_jwks_file && *settings->auth_jwks_url)
        return error_set(error, -EINVAL, "auth.jwks.file and auth.jwks.url cannot both be set");
    int code = http_check_url("auth.jwks.url", settings->auth_jwks_url, error);
    if (code) return code;
    return auth_new(
        &(struct auth_options){
            .hs256_key_file = settings->auth_hs256_key_file,
            .rs256_public_key_file = settings->auth_rs256_public_key_file,
            .jwks_file = settings->auth_jwks_file,
            .jwks_fetched = *settings->auth_jwks_url,
            .audience = settings->auth_audience,
            .audience_claim = settings->auth_audience_claim,
            .issuer = settings->auth_issuer,
            .user_claim = settings->auth_user_claim,
            .directory = settings->auth_user_ids == SERVICE_IDS_DIRECTORY,
            .max_life_ms = settings->auth_max_life_s * 1000,
        },
        auth, error);
}

int keys_check(const struct service_settings *settings, struct error *error) {
    struct auth *auth = NULL;
    int code = make(settings, &auth, error);
    auth_free(auth);
    return code;
}

static void make_metrics(struct service *service) {
    struct metrics *metrics = service->metrics;
    service->auth_keys = metrics_gauge(metrics, "starling_auth_keys", "Keys that tokens are checked with.", NULL);
    service->auth_failures =
        metrics_counter(metrics, "starling_auth_reload_failures_total",
                        "Changes of the JWKS file that could not be used, and failed fetches of auth.jwks.url.", NULL);
    service->auth_refused = metrics_gauge(metrics, "starling_auth_keys_refused",
                                          "Keys of the JWKS that are left out because they cannot be used.", NULL);
    if (*service->settings.auth_jwks_url)
        service->auth_fetched = metrics_gauge(metrics, "starling_auth_fetched_seconds",
                                              "When auth.jwks.url was last fetched, since the epoch; 0: never.", NULL);
}

int service_auth(struct service *service, struct auth **auth, struct error *error) {
    const struct service_settings *settings = &service->settings;
    int code = make(settings, &service->auth, error);
    if (code) return code;
    if (auth_keys(service->auth) == 0 && !*settings->auth_jwks_url)
        return error_set(error, -EINVAL,
                         "no key to check tokens with: set auth.jwks.url, auth.jwks.file, auth.hs256.key.file or "
                         "auth.rs256.public.key.file");
    make_metrics(service);
    if (*settings->auth_jwks_url) {
        service->jwks_fetch = jwks_fetch_new(settings->auth_jwks_url, 0);
        // Nobody is served yet: without the wait, those who come first would be refused after each restart.
        jwks_fetch_wait(service->jwks_fetch, FIRST_FETCH_MS);
        keys_refresh(service);
    }
    note_keys(service);
    /* By looking, not by being told: a file system of another machine, or a link that leads elsewhere now, tells nobody. */
    uint64_t every_ms = service->jwks_fetch ? FETCH_LOOK_MS : FILE_LOOK_MS;
    if (service->jwks_fetch || *settings->auth_jwks_file)
        service->auth_timer = loop_timer_new(&service->loop, every_ms, every_ms, keys_look, service);
    *auth = service->auth;
    return 0;
}

void keys_free(struct service *service) {
    loop_timer_free(service->auth_timer);
    jwks_fetch_free(service->jwks_fetch);
    auth_free(service->auth);
    service->auth_timer = NULL;
    service->jwks_fetch = NULL;
    service->auth = NULL;
}
