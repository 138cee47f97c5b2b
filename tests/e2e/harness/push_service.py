"""A push service of a test's own, and the browsers that have subscribed there: it decrypts what comes, and looks at who signed it."""
import base64
import json
import os
import threading
import time
from dataclasses import dataclass

import http_ece
import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from .answering import Answering


def encoded(some: bytes) -> str:
    return base64.urlsafe_b64encode(some).rstrip(b'=').decode()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + '=' * (-len(text) % 4))


@dataclass(frozen=True)
class Pushed:
    browser: str
    text: dict  # decrypted
    headers: dict


class Browser:
    """One that has subscribed: what PushManager.subscribe would give the page."""

    def __init__(self, service: 'PushService', name: str):
        self.name, self.service = name, service
        self.private, self.auth = ec.generate_private_key(ec.SECP256R1()), os.urandom(16)
        self.endpoint = f'{service.url}/send/{name}'
        service.browsers[name] = self

    @property
    def subscription(self) -> dict:
        point = self.private.public_key().public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
        return {'endpoint': self.endpoint, 'keys': {'p256dh': encoded(point), 'auth': encoded(self.auth)}}

    def pushed(self) -> list[dict]:
        """The messages that this browser got so far."""
        return [one.text for one in self.service.pushed() if one.browser == self.name]

    def titles(self) -> list[str]:
        return [text['title'] for text in self.pushed()]


class PushService(Answering):
    """
    with PushService() as service:
        browser = Browser(service, 'a')
        service.key = ...          # VAPID's, as the page got it: all must be signed with it
        service.answers['a'] = [500, 500]   # what the next posts for that browser are answered; 201 after that
        service.hangs.add('b')     # posts for that browser get no answer until it is taken out again, and are not taken then
    """

    def __init__(self):
        self.key, self.browsers, self.answers, self.hangs, self.tried = None, {}, {}, set(), []
        self._lock, self._pushed, self.complaints = threading.Lock(), [], []
        super().__init__(self._answer)

    def pushed(self) -> list[Pushed]:
        """The messages that were taken, in order."""
        with self._lock:
            return list(self._pushed)

    def tries(self, name) -> int:
        with self._lock:
            return self.tried.count(name)

    def _answer(self, method, path, headers, body):
        name = path.removeprefix('/send/')
        with self._lock:
            self.tried.append(name)
        if name in self.hangs:
            while name in self.hangs:
                time.sleep(0.05)
            return 503, b''
        if len(body) < int(headers['Content-Length']):  # whoever sent it was killed
            return 400, b''
        try:
            one = self._read(name, method, dict(headers), body)
        except Exception as error:  # told to the test: an answer alone would be retried or given up
            self.complaints.append(f'{name}: {error!r}')
            return 400, b''
        with self._lock:
            status = self.answers[name].pop(0) if self.answers.get(name) else 201
            if status == 201:
                self._pushed.append(one)
        return status, b''

    def _read(self, name, method, headers, body) -> Pushed:
        browser = self.browsers[name]
        assert method == 'POST' and headers['Content-Encoding'] == 'aes128gcm' and len(body) <= 4096
        assert 0 < int(headers['TTL']) <= 86_400 and headers['Urgency'] in ('low', 'normal', 'high') and len(headers['Topic']) <= 32
        scheme, _, rest = headers['Authorization'].partition(' ')
        parts = dict(part.split('=', 1) for part in rest.split(','))
        assert scheme == 'vapid' and parts['k'] == self.key, f'signed with {parts["k"]}, not {self.key}'
        key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(parts['k']))
        claims = jwt.decode(parts['t'], key, ['ES256'], audience=self.url)
        assert claims['sub'] == 'mailto:ops@example.org' and claims['exp'] <= time.time() + 86_400
        text = http_ece.decrypt(body, private_key=browser.private, auth_secret=browser.auth, version='aes128gcm')
        return Pushed(name, json.loads(text), headers)
