#include "ingest/web_page.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "json/json.h"
#include "service/http_file.h"
#include "service/http_host.h"
#include "service/listen.h"

static const char MAP_PATH[] = "/map.geojson";
static const char DEMO[] = "/demo/";
static const char ASSETS[] = "/assets/"; // what the page's build names by its content
static const char ABSENT[] = "/404.html";
static const char SIGN_IN[] = "/signin.html"; // talks to the provider, which may be anywhere
static const char HOST_LETTERS[] = "abcdefghijklmnopqrstuvwxyz0123456789.-:[]";

struct web_page {
    const char *dir;      /* of the settings; empty: there is no page */
    const char *demo_dir; /* of the settings, too; empty: there is no demonstration */
    char *map_dir;        /* NULL: there is no map */
    char *map_name;       /* in that folder, from the slash on */
    char *images;         /* Content-Security-Policy, beside the one in the page itself */
    char *policy;         /* the same, and whom the page may ask */
    struct buffer config; /* the same for everybody */
};

/* ---- addresses of others ---- */

/* Bytes of the scheme and the host of that address; 0: it is here; -1: that cannot be meant. */
static ssize_t origin_size(const char *url) {
    size_t scheme = !strncmp(url, "https://", 8) ? 8 : !strncmp(url, "http://", 7) ? 7 : 0;
    if (!scheme) return *url == '/' && url[1] != '/' ? 0 : -1;
    size_t host = strspn(url + scheme, HOST_LETTERS);
    return host && url[scheme + host] == '/' ? (ssize_t)(scheme + host) : -1;
}

static int check_origin(const char *key, const char *url, struct error *error) {
    if (!*url || origin_size(url) >= 0) return 0;
    return error_set(error, -EINVAL, "%s must begin with https://host/, http://host/ (small letters) or /, not %s", key,
                     url);
}

static int check_tiles(const char *tiles, struct error *error) {
    int code = check_origin("web.map.tiles", tiles, error);
    if (code || !*tiles) return code;
    if (!strstr(tiles, "{z}") || !strstr(tiles, "{x}") || !strstr(tiles, "{y}"))
        return error_set(error, -EINVAL, "web.map.tiles must have {z}, {x} and {y} in its path, unlike %s", tiles);
    return 0;
}

/* ---- its life ---- */

static int check_folder(const char *key, const char *path, struct error *error) {
    struct stat info;
    if (!*path) return 0;
    if (stat(path, &info)) return error_set(error, -errno, "%s %s cannot be read: %s", key, path, strerror(errno));
    return S_ISDIR(info.st_mode) ? 0 : error_set(error, -ENOTDIR, "%s %s is no folder", key, path);
}

static int check_demo(const struct ingest_settings *settings, struct error *error) {
    struct address address;
    if (!*settings->web_demo_dir) return 0;
    if (address_parse(settings->listen, &address, NULL) || !address_is_loopback(&address))
        return error_set(error, -EINVAL,
                         "web.demo.dir gives tokens to everybody: ingest.listen must be a loopback address with it");
    if (*settings->trusted_proxies || *settings->cors_origins)
        return error_set(
            error, -EINVAL,
            "web.demo.dir gives tokens to everybody: ingest.trusted.proxies and ingest.cors.origins must be "
            "empty with it");
    return check_folder("web.demo.dir", settings->web_demo_dir, error);
}

int web_page_check(const struct ingest_settings *settings, struct error *error) {
    struct stat info;
    const char *map = settings->map_geojson;
    if (check_tiles(settings->map_tiles, error) || check_origin("web.push.url", settings->web_push_url, error))
        return -EINVAL;
    if (*map && stat(map, &info))
        return error_set(error, -errno, "web.map.geojson %s cannot be read: %s", map, strerror(errno));
    if (*map && !S_ISREG(info.st_mode)) return error_set(error, -EINVAL, "web.map.geojson %s is no file", map);
    int code = check_demo(settings, error);
    return code ? code : check_folder("web.dir", settings->web_dir, error);
}

static void find_map(struct web_page *page, const char *file) {
    char real[PATH_MAX];
    if (!*file || !realpath(file, real)) return;
    char *slash = strrchr(real, '/');
    page->map_name = mem_string(slash);
    page->map_dir = mem_stringn(real, (size_t)(slash - real) + 1);
}

struct web_page *web_page_new(const struct ingest_settings *settings, double radius_m) {
    struct web_page *page = mem_alloc(sizeof *page);
    const char *tiles = settings->map_tiles, *push = settings->web_push_url;
    *page = (struct web_page){.dir = settings->web_dir, .demo_dir = settings->web_demo_dir};
    find_map(page, settings->map_geojson);
    page->images =
        mem_format("img-src 'self' data: %.*s; frame-ancestors 'none'", *tiles ? (int)origin_size(tiles) : 0, tiles);
    page->policy =
        mem_format("%s; connect-src 'self' ws: wss: %.*s", page->images, *push ? (int)origin_size(push) : 0, push);
    json_member_text(&page->config, "{\"ws_url\":", settings->web_ws_url);
    json_member_text(&page->config, ",\"push_url\":", push);
    json_member_text(&page->config, ",\"tile_url\":", tiles);
    json_member_text(&page->config, ",\"map_url\":", page->map_dir ? MAP_PATH : "");
    json_member_text(&page->config, ",\"map_attribution\":", settings->map_attribution);
    buffer_format(&page->config, ",\"radius_m\":%.10g", radius_m);
    if (*settings->oidc_issuer) {
        json_member_text(&page->config, ",\"oidc\":{\"issuer\":", settings->oidc_issuer);
        json_member_text(&page->config, ",\"client_id\":", settings->oidc_client);
        json_member_text(&page->config, ",\"scope\":", settings->oidc_scope);
        buffer_string(&page->config, "}");
    }
    buffer_string(&page->config, *page->demo_dir ? ",\"demo\":true}" : "}");
    return page;
}

void web_page_free(struct web_page *page) {
    if (!page) return;
    buffer_free(&page->config);
    free(page->policy);
    free(page->images);
    free(page->map_name);
    free(page->map_dir);
    free(page);
}

/* ---- requests ---- */

/* Somebody at this machine asks: no proxy that runs on it, and no page of another name that resolves to it. */
static bool is_local(const struct http_request *request) {
    static const char *const PROXIES[] = {"X-Forwarded-For", "Forwarded", "Via"};
    const char *host = http_header(request, "Host");
    for (size_t i = 0; i < ARRAY_SIZE(PROXIES); i++)
        if (http_header(request, PROXIES[i])) return false;
    return host && http_host_is_loopback(host);
}

bool web_page_serve(const struct web_page *page, struct http_request *request) {
    const char *method = http_method(request), *path = http_path(request);
    const struct http_field policy = {"Content-Security-Policy", strcmp(path, SIGN_IN) ? page->policy : page->images};
    const struct http_file_how how = {.field = &policy};
    if (!*page->dir || !strncmp(path, "/v1/", 4)) return false;
    if (!strcmp(method, "OPTIONS"))
        http_reply_options(request, "GET, HEAD, OPTIONS");
    else if (strcmp(method, "GET") && strcmp(method, "HEAD"))
        return false;
    else if (page->map_dir && !strcmp(path, MAP_PATH))
        http_reply_file(request, page->map_dir, page->map_name, &how);
    else if (*page->demo_dir && !strncmp(path, DEMO, strlen(DEMO)) && is_local(request))
        http_reply_file(request, page->demo_dir, path + strlen(DEMO) - 1, &how);
    else
        http_reply_file(request, page->dir, path,
                        &(struct http_file_how){
                            .field = &policy, .absent = ABSENT, .immutable = !strncmp(path, ASSETS, strlen(ASSETS))});
    return true;
}

static void get_config(void *state, const struct call *call) {
    const struct web_page *page = state;
    http_reply_json(call->request, 200, &page->config);
}

static const struct endpoint ENDPOINTS[] = {
    {"GET", "/v1/config", get_config, NEEDS_NOTHING},
};
const struct endpoint_list WEB_PAGE_ENDPOINTS = {ENDPOINTS, ARRAY_SIZE(ENDPOINTS)};
