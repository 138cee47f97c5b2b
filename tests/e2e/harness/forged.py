"""Tokens that must not be accepted."""
import base64
import hashlib
import hmac
import json
import time

import jwt

from .tokens import Keys


def forged_with_public_key(keys: Keys, user: int) -> str:
    """HS256 with the RSA public key as the secret: by hand, as libraries refuse to make it."""
    def part(data: bytes) -> bytes:
        return base64.urlsafe_b64encode(data).rstrip(b'=')

    body = part(b'{"alg":"HS256","typ":"JWT"}') + b'.' + part(
        json.dumps({'sub': str(user), 'exp': int(time.time()) + 3600}).encode())
    return (body + b'.' + part(hmac.new(keys.public_pem.encode(), body, hashlib.sha256).digest())).decode()


def bad_tokens(keys: Keys, user: int) -> list[tuple[str, str]]:
    """(the error's code, a token that would be the user's)."""
    claims = {'sub': str(user), 'exp': int(time.time()) + 3600}
    good = keys.token(user)
    return [
        ('bad_token', ''), ('bad_token', 'x.y.z'), ('bad_token', good[:-8] + 'AAAAAAAA'), ('bad_token', good + '.x'),
        ('bad_token', jwt.encode(claims, 'another secret of more than 32 bytes', algorithm='HS256')),
        ('bad_token', jwt.encode(claims, None, algorithm='none')),
        ('bad_token', forged_with_public_key(keys, user)),
        ('bad_token', jwt.encode(claims, keys.secret, algorithm='HS512')),
        ('bad_token', keys.token('somebody')), ('bad_token', keys.token('-1')), ('bad_token', keys.token(user, exp=None)),
        ('bad_token', keys.token(user, nbf=int(time.time()) + 600)),
        ('token_expired', keys.token(user, ttl=-1)),
    ]
