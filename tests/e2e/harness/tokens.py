"""Keys and tokens: HS256 by a secret file, RS256 by a key pair."""
import pathlib
import secrets
import time

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa


class Keys:
    """The keys that a cluster's daemons are given, as files in a folder."""

    def __init__(self, folder: pathlib.Path):
        self.secret = secrets.token_hex(32)
        self.secret_file = folder / 'hs256.key'
        self.secret_file.write_text(self.secret)
        self.peer_token = secrets.token_hex(16)
        private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.private_pem = private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                                 serialization.NoEncryption()).decode()
        self.public_pem = private.public_key().public_bytes(serialization.Encoding.PEM,
                                                            serialization.PublicFormat.SubjectPublicKeyInfo).decode()
        self.public_file = folder / 'rs256.pem'
        self.public_file.write_text(self.public_pem)

    def token(self, user, scope=None, ttl=3600, algorithm='HS256', **claims) -> str:
        """A token for a user. ttl may be negative (expired); a claim given as None is left out."""
        now = int(time.time())
        body = {'sub': str(user), 'iat': now, 'exp': now + ttl, **({'scope': scope} if scope else {}), **claims}
        body = {name: value for name, value in body.items() if value is not None}
        return jwt.encode(body, self.private_pem if algorithm == 'RS256' else self.secret, algorithm=algorithm)
