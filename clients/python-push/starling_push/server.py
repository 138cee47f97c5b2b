"""The HTTP side, for starling (POST /notify) and for the page (/push/key, /push/subscriptions): an application by WSGI."""
from __future__ import annotations

import base64
import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from .gateway import Away, Gateway, Unauthorized
from .notices import Refused, check_signature, read_post
from .sender import service_of
from .store import Full, Store, Subscription
from .texts import language_for

LONGEST_POST = 4 << 20
LONGEST_SUBSCRIPTION = 8192
_LONGEST_ENDPOINT = 2048
_ASKING_AT_ONCE = 8  # threads that wait for the gateway, so that some are left for starling's posts
_METHODS = {'/notify': ('POST',), '/push/key': ('GET',), '/push/subscriptions': ('POST', 'DELETE'), '/readyz': ('GET',)}

_log = logging.getLogger('starling_push')
Start = Callable[[str, list[tuple[str, str]]], Any]


class Problem(Exception):
    """An answer as RFC 9457 wants it."""

    def __init__(self, status: str, code: str, detail: str, headers: Sequence[tuple[str, str]] = ()):
        super().__init__(detail)
        self.status, self.code, self.detail, self.headers = status, code, detail, list(headers)


class Application:
    """key: of the signatures. public_key: of VAPID, as browsers want it. origins: of pages that may subscribe, besides those at the same
    address. wake: called when there is something to send."""

    def __init__(self, store: Store, gateway: Gateway, key: bytes, public_key: str, services: Sequence[str], origins: Sequence[str],
                 wake: Callable[[], None], clock: Callable[[], float] = time.time):
        self._store, self._gateway, self._key, self._public_key = store, gateway, key, public_key
        self._services, self._origins, self._wake, self._clock = services, origins, wake, clock
        self._asking = threading.BoundedSemaphore(_ASKING_AT_ONCE)

    def __call__(self, environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
        headers = self._for_pages(environ)
        try:
            status, body = self._answer(environ)
            kind = 'application/json'
        except Problem as problem:
            status, kind = problem.status, 'application/problem+json'
            headers += problem.headers
            number, _, title = status.partition(' ')
            body = json.dumps({'type': f'urn:starling:{problem.code}', 'title': title, 'status': int(number), 'code': problem.code,
                               'detail': problem.detail}).encode()
        if body:
            headers.append(('Content-Type', kind))
        start_response(status, [*headers, ('Content-Length', str(len(body))), ('X-Content-Type-Options', 'nosniff')])
        return [body]

    def _for_pages(self, environ: dict[str, Any]) -> list[tuple[str, str]]:
        """CORS, for what pages use."""
        origin = environ.get('HTTP_ORIGIN', '')
        if not environ.get('PATH_INFO', '').startswith('/push/'):
            return []
        headers = [('Cache-Control', 'no-store'), ('Vary', 'Origin')]
        if origin in self._origins:
            headers.append(('Access-Control-Allow-Origin', origin))
            if environ['REQUEST_METHOD'] == 'OPTIONS':
                headers += [('Access-Control-Allow-Methods', 'GET, POST, DELETE'), ('Access-Control-Max-Age', '86400'),
                            ('Access-Control-Allow-Headers', 'Authorization, Content-Type')]
        return headers

    def _answer(self, environ: dict[str, Any]) -> tuple[str, bytes]:
        path, method = environ.get('PATH_INFO', ''), environ['REQUEST_METHOD']
        methods = _METHODS.get(path)
        if methods is None:
            raise Problem('404 Not Found', 'not_found', 'There is nothing at that path.')
        if method == 'OPTIONS' and path.startswith('/push/'):
            return '204 No Content', b''
        if method not in methods:
            raise Problem('405 Method Not Allowed', 'method_not_allowed', f'The path takes {" and ".join(methods)}.', [('Allow', ', '.join(methods))])
        if path == '/notify':
            return self._notify(environ)
        if path == '/push/key':
            return '200 OK', json.dumps({'key': self._public_key}).encode()
        if path == '/readyz':
            return '200 OK', b'{}'
        return self._subscribe(environ) if method == 'POST' else self._unsubscribe(environ)

    def _notify(self, environ: dict[str, Any]) -> tuple[str, bytes]:
        body = _read(environ, LONGEST_POST)
        try:
            check_signature(body, environ.get('HTTP_STARLING_SIGNATURE', ''), self._key)
        except Refused as error:
            _log.warning('a post to /notify from %s is refused: %s', environ.get('REMOTE_ADDR'), error)
            raise Problem('401 Unauthorized', 'bad_signature', str(error)) from error
        now = int(self._clock() * 1000)
        try:
            notices, unknown = read_post(body, now)
        except Refused as error:
            _log.warning('a post to /notify is refused: %s', error)
            raise Problem('400 Bad Request', 'bad_post', str(error)) from error
        if unknown:
            _log.warning('%d items of a post to /notify are not known here, and left out', unknown)
        try:
            taken = self._store.take(notices, now)
        except Full as error:
            _log.error('too much waits to be sent: starling keeps the rest')
            raise Problem('503 Service Unavailable', 'full', 'Too much waits to be sent.', [('Retry-After', '60')]) from error
        if taken:
            self._wake()
        return '200 OK', json.dumps({'taken': taken}).encode()

    def _subscribe(self, environ: dict[str, Any]) -> tuple[str, bytes]:
        asked = _read_json(environ)
        subscription = self._read_subscription(asked)
        user, named = self._caller(environ)
        self._store.subscribe(user, subscription, named, int(self._clock() * 1000))
        return '204 No Content', b''

    def _unsubscribe(self, environ: dict[str, Any]) -> tuple[str, bytes]:
        """Of the browser that the body names, without one of all that the caller has."""
        asked = _read_json(environ) if environ.get('CONTENT_LENGTH') not in (None, '', '0') else {}
        endpoint = asked.get('endpoint')
        if endpoint is not None and not isinstance(endpoint, str):
            raise Problem('400 Bad Request', 'bad_request', 'endpoint must be a text.')
        user, _ = self._caller(environ)
        self._store.unsubscribe(user, endpoint)
        return '204 No Content', b''

    def _caller(self, environ: dict[str, Any]) -> tuple[int, bool]:
        scheme, _, token = environ.get('HTTP_AUTHORIZATION', '').partition(' ')
        unauthorized = Problem('401 Unauthorized', 'unauthorized', 'A token of a user is needed.', [('WWW-Authenticate', 'Bearer')])
        away = Problem('503 Service Unavailable', 'away', 'starling cannot say now whose token that is.', [('Retry-After', '5')])
        if scheme.lower() != 'bearer':
            raise unauthorized
        if not self._asking.acquire(blocking=False):
            raise away
        try:
            return self._gateway.user_of(token.strip())
        except Unauthorized:
            raise unauthorized from None
        except Away as error:
            _log.warning('%s', error)
            raise away from error
        finally:
            self._asking.release()

    def _read_subscription(self, asked: dict[str, Any]) -> Subscription:
        endpoint, keys = asked.get('endpoint'), asked.get('keys')
        if not isinstance(endpoint, str) or len(endpoint) > _LONGEST_ENDPOINT or not endpoint.isascii() or not endpoint.isprintable():
            raise Problem('400 Bad Request', 'bad_endpoint', 'endpoint must be an address.')
        service = service_of(endpoint, self._services)
        if service is None:
            raise Problem('400 Bad Request', 'bad_endpoint', 'endpoint is not at a push service that is known here.')
        if not isinstance(keys, dict) or not _is_point(keys.get('p256dh')) or len(_decoded(keys.get('auth'))) != 16:
            raise Problem('400 Bad Request', 'bad_keys', 'keys must have p256dh and auth, as a browser makes them.')
        return Subscription(endpoint, service, keys['p256dh'], keys['auth'], language_for(asked.get('language')))


def _read(environ: dict[str, Any], most: int) -> bytes:
    """The body; the server has read it already, whatever its length."""
    length = int(environ.get('CONTENT_LENGTH') or 0)
    if length > most:
        raise Problem('413 Content Too Large', 'too_large', f'A body has {most} bytes at most.')
    body: bytes = environ['wsgi.input'].read(length)
    return body


def _read_json(environ: dict[str, Any]) -> dict[str, Any]:
    try:
        asked = json.loads(_read(environ, LONGEST_SUBSCRIPTION))
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        raise Problem('400 Bad Request', 'bad_request', 'The body must be a JSON object.')
    return asked


def _decoded(text: Any) -> bytes:
    """Base64 for addresses; empty: it is none."""
    try:
        return base64.b64decode(text + '=' * (-len(text) % 4), altchars=b'-_', validate=True) if isinstance(text, str) else b''
    except ValueError:
        return b''


def _is_point(text: Any) -> bool:
    """On the curve, so that it can be encrypted for."""
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _decoded(text))
    except ValueError:
        return False
    return len(_decoded(text)) == 65
