/* Tokens that the command issues are tokens that daemons take. */
#include "service/auth.h"
#include "service/token.h"
#include "unit/kit/kit.h"

enum { NOW_MS = 1000000, LIFE_MS = 60000 };

static char *key_file(const char *name, const char *text) {
    char *path = mem_format("%s/%s", kit_folder(), name);
    kit_write(path, text);
    return path;
}

TEST(an_issued_token_is_of_its_user_until_it_ends) {
    FREED char *path = key_file("key", "0123456789abcdef0123456789abcdef\n");
    struct token_issuer *issuer;
    struct auth *auth;
    struct auth_claims claims;
    assert_int_equal(token_issuer_new(path, &issuer, &failure), 0);
    assert_int_equal(auth_new(&(struct auth_options){.hs256_key_file = path}, &auth, &failure), 0);
    FREED char *token = token_issue(issuer, 77, NULL, NOW_MS + LIFE_MS);
    assert_int_equal(auth_verify(auth, token, strlen(token), NOW_MS, &claims, &failure), 0);
    assert_int_equal(claims.user, 77);
    assert_false(claims.gateway);
    assert_true(auth_verify(auth, token, strlen(token), NOW_MS + LIFE_MS + 1000, &claims, &failure) < 0);
    auth_free(auth);
    token_issuer_free(issuer);
}

TEST(a_key_file_that_cannot_be_used_is_named) {
    FREED char *empty = key_file("empty", "\n"), *absent = mem_format("%s/absent", kit_folder());
    struct token_issuer *issuer;
    assert_fails(token_issuer_new(empty, &issuer, &failure), -EINVAL, empty);
    assert_fails(token_issuer_new(absent, &issuer, &failure), -ENOENT, absent);
}
