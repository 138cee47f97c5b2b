/* Static files: what is served, and that nothing outside of the root is. */
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "unit/kit/kit.h"
#include "unit/lib/service/world.h"

enum { BIG = 300 * 1024 }; // bytes of files without a text here

/* FOLDER/secret.txt lies beside FOLDER/root and FOLDER/root-too, which only looks like being below. */
static const char *const FOLDERS[] = {"root", "root/app", "root/.hidden", "root-too", NULL};
static const struct {
    const char *path, *text;
} FILES[] = {
    {"secret.txt", "SECRET"},      {"root-too/secret.txt", "SECRET"}, {"root/index.html", "<p>home"},
    {"root/app/main.js", "run()"}, {"root/app/a b.css", "p{}"},       {"root/app/data.bin", "binary"},
    {"root/.env", "SECRET"},       {"root/.hidden/x.txt", "SECRET"},  {"root/none.html", "<p>not here"},
    {"root/big.geojson", NULL},    {"root/packed.css", NULL},         {"root/packed.css.gz", "GZ"},
    {"root/packed.css.br", "BR"},
};
static const struct {
    const char *path, *target;
} LINKS[] = {
    {"root/out.txt", "../secret.txt"},
    {"root/out", ".."},
    {"root/too", "../root-too"},
    {"root/in.js", "app/main.js"},
};

struct site {
    struct world *world;
    char *folder;
};

static char *below(const struct site *site, const char *path) { return mem_format("%s/%s", site->folder, path); }

static void each_path(const struct site *site, bool make) {
    for (size_t i = 0; make && FOLDERS[i]; i++) {
        char *path = below(site, FOLDERS[i]);
        assert_int_equal(mkdir(path, 0700), 0);
        free(path);
    }
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        char *path = below(site, FILES[i].path);
        FILE *file = make ? fopen(path, "we") : NULL;
        if (file) {
            for (size_t j = 0; !FILES[i].text && j < BIG; j++) fputc('x', file);
            if (FILES[i].text) fputs(FILES[i].text, file);
            assert_int_equal(fclose(file), 0);
        } else
            unlink(path);
        free(path);
    }
    for (size_t i = 0; i < sizeof LINKS / sizeof *LINKS; i++) {
        char *path = below(site, LINKS[i].path);
        if (make)
            assert_int_equal(symlink(LINKS[i].target, path), 0);
        else
            unlink(path);
        free(path);
    }
}

SET_UP_ONCE() {
    struct site *site = kit_zero(sizeof *site);
    site->folder = kit_folder();
    each_path(site, true);
    site->world = world_new((struct http_server_options){.max_body = 0, .gzip_least = 1024});
    snprintf(site->world->root, sizeof site->world->root, "%s/root", site->folder);
    return site;
}

/* The path is sent as it is: clients would tidy it up. */
static char *get(struct site *site, const char *path, const char *headers) {
    FREED char *request = mem_format("GET /files%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%s\r\n", path, headers);
    int fd = raw_connect(site->world);
    raw_text(site->world, fd, request);
    char *reply = raw_read(site->world, fd, NULL);
    close(fd);
    return reply;
}

static void assert_served(struct site *site, const char *path, const char *type, const char *text) {
    FREED char *reply = get(site, path, ""), *head = mem_format("Content-Type: %s\r\n", type);
    if (strncmp(reply, "HTTP/1.1 200 OK\r\n", 17) || !strstr(reply, head)) fail_msg("%s: %s", path, reply);
    assert_string_equal(strstr(reply, "\r\n\r\n") + 4, text);
    assert_non_null(strstr(reply, "X-Content-Type-Options: nosniff\r\n"));
}

TEST(files_are_served_with_their_type, struct site *site) {
    assert_served(site, "/", "text/html; charset=utf-8", "<p>home");
    assert_served(site, "", "text/html; charset=utf-8", "<p>home");
    assert_served(site, "/index.html?x=1", "text/html; charset=utf-8", "<p>home");
    assert_served(site, "/app/main.js", "text/javascript; charset=utf-8", "run()");
    assert_served(site, "/app/a%20b.css", "text/css; charset=utf-8", "p{}");
    assert_served(site, "/app//data.bin", "application/octet-stream", "binary");
    assert_served(site, "/in.js", "text/javascript; charset=utf-8", "run()");
}

TEST(nothing_outside_of_the_root_is_served, struct site *site) {
    static const char *const PATHS[] = {
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/%2E%2E%2Fsecret.txt",
        "/app/../../secret.txt",
        "/..%2fsecret.txt",
        "/out.txt",
        "/too/secret.txt",
        "/out/secret.txt",
        "//../secret.txt",
        "/./../secret.txt",
        "/../root-too/secret.txt",
        "-too/secret.txt",
        "/.env",
        "/.hidden/x.txt",
        "/%2eenv",
        "/app/%2e%2e/.env",
        "/app",
        "/app/",
        "/out/",
        "/missing",
        "/app/main.js/",
        "/app/main.js/x",

        "/..",
        "/etc/passwd",
        "//etc/passwd",
    };
    for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++) {
        FREED char *reply = get(site, PATHS[i], "");
        if (strstr(reply, "SECRET") || strstr(reply, "root:") || strncmp(reply, "HTTP/1.1 404 ", 13))
            fail_msg("%s: %s", PATHS[i], reply);
    }
}

TEST(unchanged_files_are_not_sent_again, struct site *site) {
    char tag[100], header[128], *reply = get(site, "/index.html", "");
    assert_int_equal(sscanf(strstr(reply, "ETag: "), "ETag: %99s", tag), 1);
    free(reply);
    snprintf(header, sizeof header, "If-None-Match: \"other\", %s\r\n", tag);
    reply = get(site, "/index.html", header);
    assert_memory_equal(reply, "HTTP/1.1 304 ", 13);
    assert_null(strstr(reply, "home"));
    free(reply);

    FREED char *path = below(site, "root/index.html");
    kit_write(path, "<p>changed");
    reply = get(site, "/index.html", header);
    assert_memory_equal(reply, "HTTP/1.1 200 ", 13);
    assert_non_null(strstr(reply, "<p>changed"));
    free(reply);
    kit_write(path, "<p>home");
}

TEST(files_can_only_be_read, struct site *site) {
    struct answer answer = world_fetch(site->world, "DELETE", "/files/index.html", NULL);
    assert_int_equal(answer.status, 405);
    assert_served(site, "/index.html", "text/html; charset=utf-8", "<p>home");
}

static void assert_coded(struct site *site, const char *path, const char *accept, const char *coding,
                         const char *body) {
    char *headers = mem_format("Accept-Encoding: %s\r\n", accept),
         *head = mem_format("Content-Encoding: %s\r\n", coding);
    char *reply = get(site, path, headers);
    if (!strstr(reply, head) || !strstr(reply, "Vary: Accept-Encoding")) fail_msg("%s: %s", path, reply);
    if (body) assert_string_equal(strstr(reply, "\r\n\r\n") + 4, body);
    free(headers);
    free(head);
    free(reply);
}

TEST(what_was_packed_beside_a_file_is_sent_while_it_is_no_older, struct site *site) {
    assert_coded(site, "/packed.css", "gzip, deflate, br", "br", "BR");
    assert_coded(site, "/packed.css", "gzip, br;q=0", "gzip", "GZ");
    char *reply = get(site, "/packed.css", ""), *path = below(site, "root/packed.css");
    assert_null(strstr(reply, "Content-Encoding"));
    assert_int_equal(strlen(strstr(reply, "\r\n\r\n") + 4), BIG);
    free(reply);
    struct timespec later[2] = {{.tv_sec = time(NULL) + 100}, {.tv_sec = time(NULL) + 100}};
    assert_int_equal(utimensat(AT_FDCWD, path, later, 0), 0);
    reply = get(site, "/packed.css", "Accept-Encoding: gzip, br\r\n");
    assert_null(strstr(reply, "Content-Encoding"));
    free(reply);
    free(path);
}

TEST(large_files_are_not_packed_for_each_request, struct site *site) {
    FREED char *reply = get(site, "/big.geojson", "Accept-Encoding: gzip\r\n");
    assert_null(strstr(reply, "Content-Encoding"));
    assert_int_equal(strlen(strstr(reply, "\r\n\r\n") + 4), BIG);
}

TEST(people_who_ask_for_what_is_not_there_get_a_page_that_says_so, struct site *site) {
    char *reply = get(site, "/nowhere", "Accept: text/html,*/*;q=0.8\r\n");
    assert_memory_equal(reply, "HTTP/1.1 404 ", 13);
    assert_non_null(strstr(reply, "Content-Type: text/html"));
    assert_string_equal(strstr(reply, "\r\n\r\n") + 4, "<p>not here");
    free(reply);
    reply = get(site, "/nowhere.js", "Accept: */*\r\n");
    assert_non_null(strstr(reply, "application/problem+json"));
    free(reply);
}
