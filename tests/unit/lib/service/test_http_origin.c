/* From which network a request comes. */
#include "budget/network.h"
#include "service/http_origin.h"
#include "unit/kit/kit.h"

/* ---- where requests come from ---- */

static struct http_address address(const char *text) {
    struct http_address read;
    if (!http_address_read(text, strlen(text), &read)) fail_msg("%s", text);
    return read;
}

TEST(addresses_are_read) {
    static const char *const BAD[] = {"", "x", "1.2.3", "1.2.3.4.5", "1.2.3.4:80", "[::1]", "::1/64", "01.2.3.4x"};
    struct http_address read;
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++)
        if (http_address_read(BAD[i], strlen(BAD[i]), &read)) fail_msg("%s", BAD[i]);
    assert_false(http_address_read("1:2:3:4:5:6:7:8", 14, &read));
    struct http_address mapped = address("::ffff:10.1.2.3"), plain = address("10.1.2.3");
    assert_memory_equal(mapped.bytes, plain.bytes, sizeof plain.bytes);
}

TEST(proxies_are_read) {
    static const char *const BAD[] = {"10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "fd00::/129", "10.0.0.1 proxy", "/8"};
    struct http_proxies *proxies;
    for (size_t i = 0; i < ARRAY_SIZE(BAD); i++)
        if (http_proxies_new(BAD[i], &proxies, &failure) != -EINVAL) fail_msg("%s", BAD[i]);
    assert_int_equal(http_proxies_new(" ,", &proxies, &failure), 0);
    assert_null(proxies);
}

static uint64_t key(const char *text) { return network_address_in(address(text).bytes); }

TEST(only_trusted_proxies_are_believed) {
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
        {"10.1.2.3", "nonsense, 1.1.1.1", "1.1.1.1"},
        {"192.168.0.7", "2001:db8::1", "2001:db8::1"},
        {"192.168.0.8", "2001:db8::1", "192.168.0.8"},
        {"fd12::1", "1.1.1.1", "1.1.1.1"},
        {"fe12::1", "1.1.1.1", "fe12::1"},
        {"::ffff:10.9.9.9", "1.1.1.1", "1.1.1.1"},
        /* As Azure and others write them. */
        {"10.1.2.3", "6.6.6.6:1, 1.1.1.1:65535", "1.1.1.1"},
        {"10.1.2.3", "1.1.1.1, 10.200.0.1:8080", "1.1.1.1"},
        {"10.1.2.3", "[2001:db8::1]:443", "2001:db8::1"},
        {"10.1.2.3", "[2001:db8::1]", "2001:db8::1"},
        {"10.1.2.3", "\"[2001:db8::1]:443\"", "2001:db8::1"},
        {"10.1.2.3", "\"1.1.1.1:80\"", "1.1.1.1"},
        {"10.1.2.3", "[::ffff:1.1.1.1]:80", "1.1.1.1"},
    };
    /* Each of these is by itself. */
    static const char *const WORDS[] = {"unknown",        "_hidden",   "1.1.1.1:",     "1.1.1.1:65536",
                                        "1.1.1.1:8x",     "[1.1.1.1",  "[2001:db8::1", "[2001:db8::1]x",
                                        "[2001:db8::1]:", "\"1.1.1.1", "1.1.1",        "1.1.1.1,"};
    struct http_proxies *proxies;
    assert_int_equal(http_proxies_new("10.0.0.0/8, 192.168.0.7 fd00::/9", &proxies, &failure), 0);
    for (size_t i = 0; i < ARRAY_SIZE(CASES); i++)
        if (http_origin_behind(proxies, address(CASES[i].peer), CASES[i].forwarded) != key(CASES[i].client))
            fail_msg("%s", CASES[i].forwarded);
    for (size_t i = 0; i < ARRAY_SIZE(WORDS); i++) {
        uint64_t found = http_origin_behind(proxies, address("10.1.2.3"), WORDS[i]);
        if (found == key("10.1.2.3") || found == key("1.1.1.1") || found == key("2001:db8::1"))
            fail_msg("%s", WORDS[i]);
        for (size_t other = 0; other < i; other++)
            assert_int_not_equal(found, http_origin_behind(proxies, address("10.1.2.3"), WORDS[other]));
    }
    http_proxies_free(proxies);
    assert_int_equal(http_origin_behind(NULL, address("10.1.2.3"), "1.1.1.1"), key("10.1.2.3"));
}
