/* The keys of tokens: made for the daemon that asks for them, and read again while it runs. */
#include <errno.h>

#include "service/internal.h"

enum { KEYS_LOOK_MS = 1000 };

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

void keys_refresh(struct service *service) {
    struct error error = {.text = ""};
    if (!service->auth) return;
    int code = auth_refresh(service->auth, &error);
    if (code > 0) {
        note_keys(service);
        log_info(service->log, "keys of tokens read again", LOG_INT("keys", (int64_t)auth_keys(service->auth)));
    } else if (code < 0) {
        service->auth_failures->value++;
        log_error(service->log, "keys of tokens stay as they were", LOG_TEXT("reason", error.text));
    }
}

static void keys_look(void *context) { keys_refresh(context); }

static int make(const struct service_settings *settings, struct auth **auth, struct error *error) {
    return auth_new(
        &(struct auth_options){
            .hs256_key_file = settings->auth_hs256_key_file,
            .rs256_public_key_file = settings->auth_rs256_public_key_file,
            .jwks_file = settings->auth_jwks_file,
            .audience = settings->auth_audience,
            .issuer = settings->auth_issuer,
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

int service_auth(struct service *service, struct auth **auth, struct error *error) {
    const struct service_settings *settings = &service->settings;
    int code = make(settings, &service->auth, error);
    if (code) return code;
    if (auth_keys(service->auth) == 0)
        return error_set(error, -EINVAL,
                         "no key to check tokens with: set auth.jwks.file, auth.hs256.key.file or "
                         "auth.rs256.public.key.file");
    service->auth_keys =
        metrics_gauge(service->metrics, "starling_auth_keys", "Keys that tokens are checked with.", NULL);
    service->auth_failures = metrics_counter(service->metrics, "starling_auth_reload_failures_total",
                                             "Changes of the JWKS file that could not be used.", NULL);
    service->auth_refused = metrics_gauge(service->metrics, "starling_auth_keys_refused",
                                          "Keys of the JWKS file that are left out because they cannot be used.", NULL);
    note_keys(service);
    /* By looking, not by being told: a file system of another machine, or a link that leads elsewhere now, tells nobody. */
    if (*settings->auth_jwks_file)
        service->auth_timer = loop_timer_new(&service->loop, KEYS_LOOK_MS, KEYS_LOOK_MS, keys_look, service);
    *auth = service->auth;
    return 0;
}

void keys_free(struct service *service) {
    loop_timer_free(service->auth_timer);
    auth_free(service->auth);
    service->auth_timer = NULL;
    service->auth = NULL;
}
