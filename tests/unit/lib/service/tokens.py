"""Prints tokens.h: tokens for test_auth.c, signed by keys that exist for this run only (but for the
public one and the secret, which the test needs). Wants openssl; run it only to add a case:

    python3 tests/unit/lib/service/tokens.py >tests/unit/lib/service/tokens.h
"""

import base64
import hashlib
import hmac
import json
import pathlib
import subprocess
import tempfile

NOW = 1_800_000_000
SECRET = b"a secret of these tests, longer than 32 bytes"


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def openssl(*arguments, data=b""):
    return subprocess.run(("openssl", *arguments), input=data, check=True, capture_output=True).stdout


def signing_input(header, claims):
    return f"{b64(json.dumps(header).encode())}.{b64(json.dumps(claims).encode())}"


def hs(claims, secret=SECRET, alg="HS256", digest=hashlib.sha256, **header):
    text = signing_input({"alg": alg, "typ": "JWT", **header}, claims)
    return f"{text}.{b64(hmac.new(secret, text.encode(), digest).digest())}"


def rs(private, claims, alg="RS256", **header):
    text = signing_input({"alg": alg, "typ": "JWT", **header}, claims)
    return f"{text}.{b64(openssl('dgst', '-sha256', '-sign', private, data=text.encode()))}"


def tokens(private, other, public):
    good = {"sub": "42", "exp": NOW + 600}

    def having(**changes):
        return {name: value for name, value in {**good, **changes}.items() if value is not None}

    other_user = b64(json.dumps(having(sub="43")).encode())
    genuine = hs(good)
    head, body, signature = genuine.split(".")
    rs_genuine = rs(private, good)
    rs_head, _, rs_signature = rs_genuine.split(".")
    yield "HS256", genuine
    yield "RS256", rs_genuine
    yield "RS256_OTHER_KEY", rs(other, good)
    yield "RS256_TAMPERED", f"{rs_head}.{other_user}.{rs_signature}"
    yield "HS256_OTHER_SECRET", hs(good, SECRET[::-1])
    yield "HS256_TAMPERED", f"{head}.{other_user}.{signature}"
    yield "HS256_UNSIGNED", f"{head}.{body}."
    yield "HS256_TWO_PARTS", f"{head}.{body}"
    yield "FORGED_PUBLIC_KEY", hs(good, public)
    yield "FORGED_PUBLIC_KEY_NO_NEWLINE", hs(good, public.rstrip(b"\n"))
    yield "NONE", signing_input({"alg": "none"}, good) + "."
    yield "NONE_NO_DOT", signing_input({"alg": "none"}, good)
    yield "NONE_CAPITALS", signing_input({"alg": "NONE", "typ": "JWT"}, good) + "."
    yield "NONE_SIGNED", hs(good, alg="none")
    yield "NO_ALG", signing_input({"typ": "JWT"}, good) + "." + signature
    yield "HS256_LOWER_CASE", hs(good, alg="hs256")
    yield "HS512", hs(good, alg="HS512", digest=hashlib.sha512)
    yield "RS256_SAYS_HS256", rs(private, good, alg="HS256")
    yield "HS256_SAYS_RS256", hs(good, alg="RS256")
    yield "CRITICAL", hs(good, crit=["exp"])
    yield "EXPIRES_NOW", hs(having(exp=NOW))
    yield "EXPIRES_IN_FRACTION", hs(having(exp=NOW + 0.5))
    yield "NO_EXP", hs(having(exp=None))
    yield "EXP_TEXT", hs(having(exp=str(NOW + 600)))
    yield "EXP_NEGATIVE", hs(having(exp=-1))
    yield "EXP_HUGE", hs(having(exp=1e300))
    yield "NBF_PAST", hs(having(nbf=NOW - 5))
    yield "NBF_LEEWAY", hs(having(nbf=NOW + 60))
    yield "NBF_FUTURE", hs(having(nbf=NOW + 61))
    yield "NBF_TEXT", hs(having(nbf="0"))
    yield "SUB_ZERO", hs(having(sub="0"))
    yield "SUB_LARGEST", hs(having(sub=str(2**63 - 1)))
    yield "SUB_TOO_LARGE", hs(having(sub=str(2**63)))
    yield "SUB_LONG", hs(having(sub="1" * 40))
    yield "SUB_NEGATIVE", hs(having(sub="-1"))
    yield "SUB_LEADING_ZERO", hs(having(sub="042"))
    yield "SUB_SPACE", hs(having(sub="42 "))
    yield "SUB_WORD", hs(having(sub="alice"))
    yield "SUB_EMPTY", hs(having(sub=""))
    yield "SUB_NUMBER", hs(having(sub=42))
    yield "SUB_NONE", hs(having(sub=None))
    yield "GATEWAY_WORD", hs(having(sub="app", scope="gateway"))
    yield "GATEWAY_NO_SUB", hs(having(sub=None, scope="gateway"))
    yield "GATEWAY_USER", hs(having(scope="read gateway write"))
    yield "GATEWAY_NEARLY", hs(having(scope="gateways subgateway"))
    yield "MODERATOR", hs(having(scope="read moderator", level=3))
    yield "MODERATOR_WORD", hs(having(sub="app", scope="moderator"))
    yield "MODERATOR_NEARLY", hs(having(scope="moderators", level=-1))
    yield "LEVEL_TEXT", hs(having(level="3"))
    yield "LEVEL_LARGE", hs(having(level=2147483648))
    yield "SCOPE_LIST", hs(having(scope=["gateway"]))
    yield "CLAIMS_LIST", hs([1, 2])


def literal(text):
    parts = [text[i : i + 100] for i in range(0, len(text), 100)] or [""]
    return "\n    ".join(json.dumps(part) for part in parts)


def main():
    with tempfile.TemporaryDirectory() as folder:
        private, other = (str(pathlib.Path(folder) / name) for name in ("private.pem", "other.pem"))
        for path in (private, other):
            openssl("genrsa", "-out", path, "2048")
        public = openssl("rsa", "-in", private, "-pubout")
        print("/* Printed by tokens.py. The tokens' keys exist no more. */")
        print("// clang-format off")
        print(f"#define TOKENS_NOW_MS INT64_C({NOW}000)")
        print(f"#define TOKENS_SECRET {json.dumps(SECRET.decode())}")
        print("static const char TOKENS_PUBLIC_KEY[] =\n    " + "\n    ".join(
            json.dumps(line + "\n") for line in public.decode().splitlines()) + ";")
        for name, token in tokens(private, other, public):
            print(f"#define TOKEN_{name} \\\n    " + literal(token).replace("\n", " \\\n"))


main()
