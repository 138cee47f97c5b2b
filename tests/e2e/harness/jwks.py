"""A real sign-in provider; keys of one, and a server of their set that may rotate them, be slow, fail or answer with too much."""
import base64
import contextlib
import hashlib
import hmac
import http.server
import json
import subprocess
import threading
import time

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from .broker import REPOSITORY
from .geo import HOME
from .http import Http
from .processes import clean_environment


def takers(cluster, user, token) -> tuple[bool, bool]:
    """Whether gateway and edge take the token. An edge that does not closes with 1008."""
    gateway = Http(cluster.http_url, token).get('/v1/profile').status_code != 401
    with cluster.phone(user, token=token) as phone:
        phone.hello(*HOME, wait=False)
        try:
            phone.expect('welcome', 5)
        except AssertionError:
            assert phone.wait_closed() == 1008
            return gateway, False
    return gateway, True


def make_key(kind):
    return (rsa.generate_private_key(public_exponent=65537, key_size=2048) if kind == 'RS256'
            else ec.generate_private_key(ec.SECP256R1()))


class Provider:
    """Serves {"keys": [...]} at .url while it is open. `answer` replaces what it says: a function of the handler."""

    def __init__(self):
        self.keys, self.kids, self.answer, self.asked, self.max_age = {}, [], None, [], 3600
        provider = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                provider.asked.append(time.monotonic())
                (provider.answer or provider.serve)(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
        self.server.daemon_threads = True
        self.url = f'http://127.0.0.1:{self.server.server_port}/jwks'
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def publish(self, *kids, kind='RS256'):
        for kid in kids:
            self.keys.setdefault(kid, (kind, make_key(kind)))
        self.kids = list(kids)

    def set(self) -> dict:
        members = []
        for kid in self.kids:
            kind, key = self.keys[kid]
            algorithm = jwt.algorithms.get_default_algorithms()[kind]
            members.append({**algorithm.to_jwk(key.public_key(), as_dict=True), 'kid': kid, 'use': 'sig', 'alg': kind})
        return {'keys': members}

    def serve(self, handler):
        self.say(handler, 200, json.dumps(self.set()).encode())

    def say(self, handler, status, body):
        handler.send_response(status)
        handler.send_header('Cache-Control', f'public, max-age={self.max_age}')
        handler.send_header('Content-Length', str(len(body)))
        handler.end_headers()
        try:
            handler.wfile.write(body)
        except OSError:
            pass  # it was too much

    def token(self, kid, user, headers=None, **claims):
        kind, key = self.keys[kid]
        body = {'sub': str(user), 'exp': int(time.time()) + 600, **claims}
        return jwt.encode({name: value for name, value in body.items() if value is not None}, key, kind,
                          headers={'kid': kid, **(headers or {})})

    def forged(self, body, kid):
        """HS256 with the public key as the secret: by hand, as libraries refuse to make it."""
        def part(data: bytes) -> bytes:
            return base64.urlsafe_b64encode(data).rstrip(b'=')

        pem = self.keys[kid][1].public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        signed = part(json.dumps({'alg': 'HS256', 'kid': kid}).encode()) + b'.' + part(json.dumps(body).encode())
        return (signed + b'.' + part(hmac.new(pem, signed, hashlib.sha256).digest())).decode()


@contextlib.contextmanager
def oidc_provider(port, redirect_uri):
    options = json.dumps({'port': port, 'redirectUri': redirect_uri})
    with subprocess.Popen(['node', REPOSITORY / 'web/test/provider.js', options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          text=True, env=clean_environment()) as process:
        try:
            assert any(line == 'ready\n' for line in process.stdout)
            yield f'http://127.0.0.1:{port}'
        finally:
            process.kill()
