/* What says who somebody is: tokens as anybody sends them, and the key set that they are checked with, which another
 * machine may have written. No token is good here: the secret is known to nobody. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"
#include "service/auth.h"
#include "service/jwks.h"

static const char SET[] =
    "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"o\",\"k\":\"YSBzZWNyZXQgb2YgdGhpcyB0YXJnZXQsIGxvbmdlciB0aGFuIDMyIGJ5dGVz\"},"
    "{\"kty\":\"EC\",\"crv\":\"P-256\",\"kid\":\"e\",\"x\":\"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4\","
    "\"y\":\"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM\"}]}";

static struct auth *auth_of_set(void) {
    struct auth *auth = NULL;
    struct error error;
    char path[] = "/tmp/starling-fuzz-XXXXXX";
    int fd = mkstemp(path);
    fuzz_require(fd >= 0 && write(fd, SET, sizeof SET - 1) == sizeof SET - 1);
    close(fd);
    fuzz_require(auth_new(&(struct auth_options){.jwks_file = path}, &auth, &error) == 0);
    unlink(path);
    return auth;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct auth *auth;
    if (!auth) auth = auth_of_set();
    struct auth_claims claims;
    struct error error = {.text = ""};
    struct jwks *jwks = NULL;
    fuzz_require(auth_verify(auth, (const char *)data, size, 0, &claims, &error) < 0 && error.text[0]);
    error.text[0] = '\0';
    if (jwks_parse((const char *)data, size, true, &jwks, &error) == 0)
        fuzz_require(jwks_count(jwks) > 0);
    else
        fuzz_require(error.text[0] && !jwks);
    jwks_free(jwks);
    return 0;
}
