/* Tests claims.c and external_id.c. The claims of tokens as sign-in providers document them, with the settings that
 * docs/OPERATIONS.md names for each; and the tokens of the same provider that are for others. */
#include "service/claims.h"
#include "unit/kit/kit.h"

#define NOW_MS INT64_C(1800000000000)
#define LIFE "\"iat\":1799999990,\"exp\":1800000600"

static const struct claim_rules
    KEYCLOAK = {.audience = "starling", .issuer = "https://id.example/realms/app", .directory = true},
    KEYCLOAK_NUMBERS = {.audience = "starling", .issuer = "https://id.example/realms/app", .user_claim = "app.user"},
    AUTH0 = {.audience = "https://api.example", .issuer = "https://app.eu.auth0.com/", .directory = true},
    AUTH0_NUMBERS = {.audience = "https://api.example",
                     .issuer = "https://app.eu.auth0.com/",
                     .user_claim = "https://app.example/user"},
    FIREBASE = {.audience = "app-1f2e", .issuer = "https://securetoken.google.com/app-1f2e", .directory = true},
    COGNITO = {.audience = "7lhl client2",
               .audience_claim = "client_id",
               .issuer = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Ab",
               .directory = true},
    COGNITO_ID = {.audience = "7lhl",
                  .issuer = "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Ab",
                  .directory = true},
    ENTRA = {.audience = "6e74172b-be56-4843-9ff4-e66a39bb12e3, api://starling",
             .issuer = "https://login.microsoftonline.com/72f988bf/v2.0",
             .user_claim = "oid",
             .directory = true};

#define KEYCLOAK_ISS "\"iss\":\"https://id.example/realms/app\""
#define AUTH0_ISS "\"iss\":\"https://app.eu.auth0.com/\""
#define FIREBASE_ISS "\"iss\":\"https://securetoken.google.com/app-1f2e\""
#define COGNITO_ISS "\"iss\":\"https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_Ab\""
#define ENTRA_ISS "\"iss\":\"https://login.microsoftonline.com/72f988bf/v2.0\""
#define UUID "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"

struct shape {
    const char *what;
    const struct claim_rules *rules;
    const char *claims;
    const char *external; /* that is read; NULL: a number, or none */
    int64_t user;
    int code;
};

static const struct shape SHAPES[] = {
    {"Keycloak, access", &KEYCLOAK,
     "{" LIFE ",\"jti\":\"onrtac:1\"," KEYCLOAK_ISS ",\"aud\":[\"starling\",\"account\"],\"sub\":\"" UUID
     "\",\"typ\":\"Bearer\",\"azp\":\"page\",\"realm_access\":{\"roles\":[\"offline_access\"]},\"scope\":\"openid email\"}",
     UUID, 0, 0},
    {"Keycloak, without a mapper of audiences", &KEYCLOAK,
     "{" LIFE "," KEYCLOAK_ISS ",\"aud\":\"account\",\"azp\":\"starling\",\"sub\":\"" UUID "\"}", NULL, 0, -EACCES},
    {"Keycloak, another realm", &KEYCLOAK,
     "{" LIFE ",\"iss\":\"https://id.example/realms/master\",\"aud\":\"starling\",\"sub\":\"" UUID "\"}", NULL, 0,
     -EACCES},
    {"Keycloak, an attribute as a number", &KEYCLOAK_NUMBERS,
     "{" LIFE "," KEYCLOAK_ISS ",\"aud\":\"starling\",\"sub\":\"" UUID "\",\"app\":{\"user\":42}}", NULL, 42, 0},
    {"Keycloak, an attribute as a text", &KEYCLOAK_NUMBERS,
     "{" LIFE "," KEYCLOAK_ISS ",\"aud\":\"starling\",\"sub\":\"" UUID "\",\"app\":{\"user\":\"42\"}}", NULL, 42, 0},
    {"Keycloak, a name with a dot", &KEYCLOAK_NUMBERS,
     "{" LIFE "," KEYCLOAK_ISS ",\"aud\":\"starling\",\"app.user\":\"41\",\"app\":{\"user\":\"42\"}}", NULL, 41, 0},
    {"Keycloak, no attribute", &KEYCLOAK_NUMBERS,
     "{" LIFE "," KEYCLOAK_ISS ",\"aud\":\"starling\",\"sub\":\"42\",\"app\":{}}", NULL, 0, -EACCES},
    {"Keycloak, no whole number", &KEYCLOAK_NUMBERS,
     "{" LIFE "," KEYCLOAK_ISS ",\"aud\":\"starling\",\"app\":{\"user\":4.5}}", NULL, 0, -EACCES},
    {"Keycloak, a negative number", &KEYCLOAK_NUMBERS,
     "{" LIFE "," KEYCLOAK_ISS ",\"aud\":\"starling\",\"app\":{\"user\":-4}}", NULL, 0, -EACCES},
    {"Auth0, access", &AUTH0,
     "{" LIFE "," AUTH0_ISS ",\"aud\":[\"https://api.example\",\"https://app.eu.auth0.com/userinfo\"],"
     "\"sub\":\"auth0|5f7c8ec7c33c6c004bbafe82\",\"azp\":\"my_client_id\",\"scope\":\"openid profile\"}",
     "auth0|5f7c8ec7c33c6c004bbafe82", 0, 0},
    {"Auth0, of another API", &AUTH0,
     "{" LIFE "," AUTH0_ISS ",\"aud\":\"https://other.example\",\"sub\":\"auth0|5f7c8ec7c33c6c004bbafe82\"}", NULL, 0,
     -EACCES},
    {"Auth0, the issuer without its slash", &AUTH0,
     "{" LIFE ",\"iss\":\"https://app.eu.auth0.com\",\"aud\":\"https://api.example\",\"sub\":\"auth0|5f\"}", NULL, 0,
     -EACCES},
    {"Auth0, a claim whose name is a URL", &AUTH0_NUMBERS,
     "{" LIFE "," AUTH0_ISS
     ",\"aud\":\"https://api.example\",\"sub\":\"auth0|5f\",\"https://app.example/user\":\"42\"}",
     NULL, 42, 0},
    {"Auth0, a program", &AUTH0,
     "{" LIFE "," AUTH0_ISS ",\"aud\":\"https://api.example\",\"sub\":\"abc@clients\",\"scope\":\"gateway\"}", NULL, -1,
     0},
    {"Firebase, ID", &FIREBASE,
     "{" LIFE "," FIREBASE_ISS ",\"aud\":\"app-1f2e\",\"auth_time\":1799999990,\"user_id\":\"Zk3\",\"sub\":\"Zk3\","
     "\"email\":\"a@example.com\",\"firebase\":{\"identities\":{},\"sign_in_provider\":\"password\"}}",
     "Zk3", 0, 0},
    {"Firebase, of another project", &FIREBASE,
     "{" LIFE ",\"iss\":\"https://securetoken.google.com/other\",\"aud\":\"other\",\"sub\":\"Zk3\"}", NULL, 0, -EACCES},
    {"Firebase, no user", &FIREBASE, "{" LIFE "," FIREBASE_ISS ",\"aud\":\"app-1f2e\",\"sub\":\"\"}", NULL, 0, -EACCES},
    {"Cognito, access", &COGNITO,
     "{" LIFE "," COGNITO_ISS ",\"sub\":\"" UUID
     "\",\"client_id\":\"7lhl\",\"token_use\":\"access\",\"username\":\"" UUID
     "\",\"scope\":\"aws.cognito.signin.user.admin\"}",
     UUID, 0, 0},
    {"Cognito, access, the second client", &COGNITO,
     "{" LIFE "," COGNITO_ISS ",\"sub\":\"" UUID "\",\"client_id\":\"client2\",\"token_use\":\"access\"}", UUID, 0, 0},
    {"Cognito, access, another client", &COGNITO,
     "{" LIFE "," COGNITO_ISS ",\"sub\":\"" UUID "\",\"client_id\":\"other\",\"aud\":\"7lhl\"}", NULL, 0, -EACCES},
    {"Cognito, access, where ID is wanted", &COGNITO_ID,
     "{" LIFE "," COGNITO_ISS ",\"sub\":\"" UUID "\",\"client_id\":\"7lhl\",\"token_use\":\"access\"}", NULL, 0,
     -EACCES},
    {"Cognito, ID", &COGNITO_ID,
     "{" LIFE "," COGNITO_ISS ",\"sub\":\"" UUID "\",\"aud\":\"7lhl\",\"token_use\":\"id\",\"cognito:username\":\"a\"}",
     UUID, 0, 0},
    {"Entra ID, v2", &ENTRA,
     "{" LIFE ",\"nbf\":1799999990," ENTRA_ISS ",\"aud\":\"6e74172b-be56-4843-9ff4-e66a39bb12e3\",\"oid\":\"" UUID
     "\",\"sub\":\"AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ\",\"tid\":\"72f988bf\",\"scp\":\"access\",\"ver\":\"2.0\"}",
     UUID, 0, 0},
    {"Entra ID, v1, where v2 is wanted", &ENTRA,
     "{" LIFE ",\"iss\":\"https://sts.windows.net/72f988bf/\",\"aud\":\"api://starling\",\"oid\":\"" UUID
     "\",\"ver\":\"1.0\"}",
     NULL, 0, -EACCES},
    {"Entra ID, another tenant", &ENTRA,
     "{" LIFE ",\"iss\":\"https://login.microsoftonline.com/other/v2.0\",\"aud\":\"api://starling\",\"oid\":\"" UUID
     "\"}",
     NULL, 0, -EACCES},
    {"Entra ID, for Microsoft Graph", &ENTRA,
     "{" LIFE "," ENTRA_ISS ",\"aud\":\"00000003-0000-0000-c000-000000000000\",\"oid\":\"" UUID "\"}", NULL, 0,
     -EACCES},
    {"Entra ID, not valid yet", &ENTRA,
     "{" LIFE ",\"nbf\":1800000300," ENTRA_ISS ",\"aud\":\"api://starling\",\"oid\":\"" UUID "\"}", NULL, 0, -EACCES},
    {"expired", &KEYCLOAK, "{\"exp\":1799999999," KEYCLOAK_ISS ",\"aud\":\"starling\",\"sub\":\"" UUID "\"}", NULL, 0,
     -ETIME},
};

TEST(tokens_of_providers) {
    for (size_t i = 0; i < ARRAY_SIZE(SHAPES); i++) {
        const struct shape *shape = &SHAPES[i];
        struct claim_rules rules = *shape->rules;
        struct auth_claims claims = {.user = -2};
        struct error error = {.text = ""};
        if (!rules.audience_claim) rules.audience_claim = "aud";
        if (!rules.user_claim) rules.user_claim = "sub";
        json_t *json = json_parse(shape->claims, strlen(shape->claims), &error);
        if (!json) fail_msg("%s: %s", shape->what, error.text);
        int code = claims_read(&rules, json, NOW_MS, &claims, &error);
        json_decref(json);
        if (code != shape->code) fail_msg("%s: %d, %s", shape->what, code, error.text);
        if (code) {
            assert_int_equal(claims.user, -2);
            continue;
        }
        if (strcmp(claims.external, shape->external ? shape->external : "") != 0)
            fail_msg("%s: \"%s\"", shape->what, claims.external);
        if (claims.user != (shape->external ? external_id_number(shape->external) : shape->user))
            fail_msg("%s: %lld", shape->what, (long long)claims.user);
    }
}

TEST(an_id_is_short_and_printable) {
    char longest[EXTERNAL_ID_MAX + 2];
    memset(longest, 'a', sizeof longest);
    assert_true(external_id_is(longest, EXTERNAL_ID_MAX) && !external_id_is(longest, EXTERNAL_ID_MAX + 1));
    assert_true(external_id_is("auth0|a~!,/", 11) && !external_id_is("", 0));
    assert_false(external_id_is("a b", 3) || external_id_is("a\n", 2) || external_id_is("a\x7f", 2) ||
                 external_id_is("\xc3\xa9", 2) || external_id_is("a\0b", 3));
}

/* They are in records: no later version may count otherwise. */
TEST(a_number_is_of_its_text_for_good) {
    int64_t number = external_id_number("auth0|5f7c8ec7c33c6c004bbafe82");
    assert_int_equal(number, INT64_C(5658793485041212));
    assert_true(number % EXTERNAL_ID_PLACES == 0 && external_id_number("auth0|5f7c8ec7c33c6c004bbafe83") != number);
    assert_true(number >= INT64_C(1) << 52 && number < INT64_C(1) << 53); /* JavaScript has all of them */
}
