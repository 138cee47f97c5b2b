/* The claims of a token whose signature was good: that it is for us, of an issuer that we trust and good now, and the user it names. Pure;
 * any thread. */
#pragma once

#include "json/json.h"
#include "service/auth.h"

/* These must hold of them. The texts are lent. */
struct claim_rules {
    const char *audience, *audience_claim, *issuer, *user_claim; /* as in auth_options; no NULL */
    bool directory;
    int64_t max_life_ms;
};

/* 0, or -EACCES or -ETIME with the reason. claims->key is not set. */
int claims_read(const struct claim_rules *rules, const json_t *json, int64_t now_ms, struct auth_claims *claims,
                struct error *error);
