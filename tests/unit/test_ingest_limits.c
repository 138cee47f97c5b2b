/* From which network a request comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "service/http_origin.h"

/* ---- where requests come from ---- */

static struct http_address address(const char *text) {
    struct http_address read;
    if (!http_address_read(text, strlen(text), &read)) fail_msg("%s", text);
    return read;
}

static void addresses_are_read(void **state) {
    static const char *const BAD[] = {"", "x", "1.2.3", "1.2.3.4.5", "1.2.3.4:80", "[::1]", "::1/64", "01.2.3.4x"};
    struct http_address read;
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++)
        if (http_address_read(BAD[i], strlen(BAD[i]), &read)) fail_msg("%s", BAD[i]);
    assert_false(http_address_read("1:2:3:4:5:6:7:8", 14, &read));
    struct http_address mapped = address("::ffff:10.1.2.3"), plain = address("10.1.2.3");
    assert_memory_equal(mapped.bytes, plain.bytes, sizeof plain.bytes);
}

static void proxies_are_read(void **state) {
    static const char *const BAD[] = {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "fd00::/129", "10.0.0.1 proxy", "/8"};
    struct http_proxies *proxies;
    struct error error;
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++)
        if (http_proxies_new(BAD[i], &proxies, &error) != -EINVAL) fail_msg("%s", BAD[i]);
    assert_int_equal(http_proxies_new(" ,", &proxies, &error), 0);
    assert_null(proxies);
}

static void only_trusted_proxies_are_believed(void **state) {
    static const struct {
        const char *peer, *forwarded, *client;
    } CASES[] = {
        {"9.9.9.9", "1.1.1.1", "9.9.9.9"}, /* anybody may write that */
        {"10.1.2.3", "1.1.1.1", "1.1.1.1"},
        {"10.1.2.3", "6.6.6.6, 1.1.1.1", "1.1.1.1"},
        {"10.1.2.3", "6.6.6.6,1.1.1.1 , 10.200.0.1", "1.1.1.1"},
        {"10.1.2.3", "10.7.7.7", "10.7.7.7"}, /* proxies all the way */
        {"10.1.2.3", "", "10.1.2.3"},
        {"10.1.2.3", NULL, "10.1.2.3"},
        {"10.1.2.3", "1.1.1.1, nonsense", "10.1.2.3"},
        {"10.1.2.3", "1.1.1.1,", "10.1.2.3"},
        {"192.168.0.7", "2001:db8::1", "2001:db8::1"},
        {"192.168.0.8", "2001:db8::1", "192.168.0.8"},
        {"fd12::1", "1.1.1.1", "1.1.1.1"},
        {"fe12::1", "1.1.1.1", "fe12::1"},
        {"::ffff:10.9.9.9", "1.1.1.1", "1.1.1.1"},
    };
    struct http_proxies *proxies;
    struct error error;
    (void)state;
    assert_int_equal(http_proxies_new("10.0.0.0/8, 192.168.0.7 fd00::/9", &proxies, &error), 0);
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++) {
        struct http_address wanted = address(CASES[i].client);
        struct http_address found = http_origin_behind(proxies, address(CASES[i].peer), CASES[i].forwarded);
        if (memcmp(found.bytes, wanted.bytes, sizeof wanted.bytes)) fail_msg("%s", CASES[i].forwarded);
    }
    http_proxies_free(proxies);
    struct http_address peer = address("10.1.2.3"), found = http_origin_behind(NULL, peer, "1.1.1.1");
    assert_memory_equal(found.bytes, peer.bytes, sizeof peer.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_are_read),
        cmocka_unit_test(proxies_are_read),
        cmocka_unit_test(only_trusted_proxies_are_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
