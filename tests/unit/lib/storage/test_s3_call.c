/* What S3's API wants encoded and what it answers, and places that name no bucket. */
#include "storage/s3_call.h"
#include "unit/kit/kit.h"

static void check_encoded(const char *value, bool slashes, const char *expected) {
    FREED_BUFFER text = {.size = 0};
    s3_encode(&text, value, slashes);
    assert_string_equal(buffer_cstring(&text), expected);
}

TEST(test_encoding) {
    check_encoded("date=2026-01-02/hour=03/x_~.avro", true, "date%3D2026-01-02/hour%3D03/x_~.avro");
    check_encoded("a/b c+\xc3\xa9", false, "a%2Fb%20c%2B%C3%A9");
    check_encoded("", true, "");
}

TEST(test_xml) {
    const char xml[] = "<List><Key>one</Key><Other/><Key></Key><Key>cut", *at = xml, *end = xml + sizeof xml - 1;
    char *text = s3_xml_text(&at, end, "Key");
    assert_string_equal(text, "one");
    free(text);
    text = s3_xml_text(&at, end, "Key");
    assert_string_equal(text, "");
    free(text);
    assert_null(s3_xml_text(&at, end, "Key"));
    assert_null(s3_xml_text(&at, end, "Other"));
}

TEST(test_places) {
    struct storage_options options = {
        .place = "s3://", .s3_endpoint = "http://x", .s3_region = "r", .s3_access_key = "k", .s3_secret_key = "s"};
    struct s3_server *server;
    assert_fails(s3_server_new(&options, &server, &failure), -EINVAL, "names no bucket");
    options.place = "s3://bucket/a/b//";
    assert_int_equal(s3_server_new(&options, &server, &failure), 0);
    char *key = s3_key(server, "c/d");
    assert_string_equal(key, "a/b/c/d");
    free(key);
    s3_server_free(server);
    options.place = "s3://bucket";
    assert_int_equal(s3_server_new(&options, &server, &failure), 0);
    key = s3_key(server, "c/d");
    assert_string_equal(key, "c/d");
    free(key);
    s3_server_free(server);
    s3_server_free(NULL);
    options.s3_access_key = "";
    assert_fails(s3_server_new(&options, &server, &failure), -EINVAL, "needs history.s3.endpoint");
}
