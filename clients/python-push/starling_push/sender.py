"""Sends what is due to the push services. Each of them has threads of its own, so that one which hangs delays nobody else's messages."""
from __future__ import annotations

import base64
import fnmatch
import hashlib
import hmac
import json
import logging
import random
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

import pywebpush  # type: ignore[import-untyped]
import requests
import urllib3
from py_vapid import Vapid02  # type: ignore[import-untyped]

from .gateway import Away, Gateway
from .notices import KINDS
from .store import Message, Store, Subscription
from .texts import sentence

# The push services of Chromium, Firefox, Edge and Safari. An address that somebody says is that of a browser must be one of theirs: the
# receiver posts nowhere else.
SERVICES = ('https://fcm.googleapis.com', 'https://*.push.services.mozilla.com', 'https://*.notify.windows.com', 'https://*.push.apple.com')
TIMEOUT_S = 10.0
THREADS = 4  # of each push service
_LONGEST_ANSWER = 4096
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 2.0, 3600.0
_NAMES_WAIT_MS, _NAMES_PAUSE_MS = 60_000, 5000  # for so long a message waits for a name, which is asked for so often
_STORE_PAUSE_S = 5.0
_SIGNED_FOR_S = 12 * 3600  # a day at most, by RFC 8292
_ENDPOINT = re.compile(r'(https?://[a-z0-9.-]+(?::[0-9]{1,5})?)/[!-~]*')

_log = logging.getLogger('starling_push')
_Result = TypeVar('_Result')


def service_of(endpoint: str, services: Sequence[str]) -> str | None:
    """The push service that an address belongs to. Addresses that two readers could take for those of two hosts belong to none."""
    found = _ENDPOINT.fullmatch(endpoint)
    return next((service for service in services if found and fnmatch.fnmatchcase(found[1], service)), None)


def pause_s(tries: int, rand: float) -> float:
    """Before the next try: doubled each time, and not the same for all that failed together."""
    return float(min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(tries, 20))) * (0.5 + rand / 2)


class Vapid:
    """Says to push services who sends. contact: where their operators reach ours, mailto: or https:."""

    def __init__(self, key: Vapid02, contact: str):
        self._key, self._contact = key, contact
        self._lock, self._signed = threading.Lock(), dict[str, tuple[float, str]]()

    def header(self, endpoint: str, now: float) -> str:
        parts = urlsplit(endpoint)
        audience = f'{parts.scheme}://{parts.netloc}'
        with self._lock:
            until, header = self._signed.get(audience, (0.0, ''))
            if until <= now:
                if len(self._signed) > 1000:
                    self._signed.clear()
                header = self._key.sign({'aud': audience, 'exp': int(now) + _SIGNED_FOR_S, 'sub': self._contact})['Authorization']
                self._signed[audience] = now + _SIGNED_FOR_S / 2, header
            return header


class Sender:
    def __init__(self, store: Store, gateway: Gateway, vapid: Vapid, services: Sequence[str], timeout_s: float = TIMEOUT_S,
                 rand: Callable[[], float] = random.random):
        self._lanes = [_Lane(service, store, gateway, vapid, timeout_s, rand) for service in services]

    def start(self) -> None:
        for lane in self._lanes:
            lane.start()

    def wake(self) -> None:
        """There may be something to send."""
        for lane in self._lanes:
            lane.wake()

    def stop(self) -> None:
        """Messages that are being sent are sent, or stay in the store."""
        for lane in self._lanes:
            lane.end()
        for lane in self._lanes:
            lane.join()


class _Lane:
    """One push service."""

    def __init__(self, service: str, store: Store, gateway: Gateway, vapid: Vapid, timeout_s: float, rand: Callable[[], float]):
        self._service, self._store, self._gateway, self._vapid = service, store, gateway, vapid
        self._timeout_s, self._rand = timeout_s, rand
        self._changed, self._over = threading.Condition(), False
        self._busy = set[str]()  # browsers: each of them is sent one after the other, so that one which hangs has one thread at most
        self._threads = [threading.Thread(target=self._run, name=f'{service} {number}') for number in range(THREADS)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._over = True
            self._changed.notify_all()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _take(self) -> Message | None:
        """Waits for something to send; None: it is over."""
        with self._changed:
            while not self._over:
                now = time.time()
                message = self._store.next(self._service, int(now * 1000), self._busy)
                if message:
                    self._busy.add(message.subscription.endpoint)
                    return message
                due = self._store.due(self._service)
                # Messages that are due are being sent, or none is due: then somebody wakes us.
                wait = None if due is None or due <= now * 1000 else due / 1000 - now
                self._changed.wait(wait)
        return None

    def _run(self) -> None:
        session = requests.Session()
        while message := self._stored(self._take):
            try:
                self._send(session, message)
            except Exception:  # one message that cannot be made must not end the sending of all
                _log.exception('a message to %s was not sent', self._service)
                self._again(message, None)
            with self._changed:
                self._busy.discard(message.subscription.endpoint)
                self._changed.notify_all()

    def _stored(self, act: Callable[[], _Result]) -> _Result | None:
        """Until the store can, as it cannot while the disk is full: what was sent and is not noted would be sent again. None: it is over."""
        while True:
            try:
                return act()
            except sqlite3.Error:
                _log.exception('the store cannot be used')
            with self._changed:
                if self._changed.wait_for(lambda: self._over, _STORE_PAUSE_S):
                    return None

    def _again(self, message: Message, after_s: float | None) -> None:
        due = int((time.time() + max(pause_s(message.tries, self._rand()), after_s or 0.0)) * 1000)
        self._stored(lambda: self._store.later(message, due))

    def _done(self, message: Message) -> None:
        self._stored(lambda: self._store.sent(message, int(time.time() * 1000)))

    def _send(self, session: requests.Session, message: Message) -> None:
        now, notice = int(time.time() * 1000), message.newest
        left_s = 0 if notice is None else (notice.time + KINDS[notice.what].keeps_ms - now) // 1000
        if notice is None or left_s <= 0:
            self._done(message)
            return
        try:
            name = self._gateway.names([notice.sender])[notice.sender]
        except (Away, OSError) as error:
            _log.warning('%s', error)
            if now - notice.time < _NAMES_WAIT_MS:
                due = now + int(_NAMES_PAUSE_MS * (0.5 + self._rand() / 2))
                self._stored(lambda: self._store.put_off(message, due))
                return
            name = None
        body = compose(message, name)
        answer = post(session, message.subscription, body, {
            'TTL': str(left_s), 'Urgency': KINDS[notice.what].urgency, 'Topic': topic_header(message.subscription, message.topic),
            'Authorization': self._vapid.header(message.subscription.endpoint, time.time()),
        }, self._timeout_s)
        self._answered(message, answer)

    def _answered(self, message: Message, answer: tuple[int, float | None] | str) -> None:
        if isinstance(answer, str):
            _log.warning('%s: %s', self._service, answer)
            self._again(message, None)
            return
        status, after_s = answer
        if status in (404, 410):
            self._stored(lambda: self._store.gone(message.subscription.endpoint))
        elif status == 429 or status >= 500:
            _log.warning('%s answers %d', self._service, status)
            self._again(message, after_s)
        else:
            if not 200 <= status < 300:
                _log.error('%s answers %d: a message is given up', self._service, status)
            self._done(message)


def compose(message: Message, name: str | None) -> bytes:
    """The page's service worker reads this (web/public/sw.js)."""
    notice = message.newest
    assert notice is not None
    opens: dict[str, str | None] = {'user': str(notice.sender)}
    if notice.subject is not None:
        kind, _, post_id = notice.subject.partition(':')
        opens = {'post': post_id, 'comment': notice.comment} if kind == 'post' else {}
    title = sentence(message.subscription.language, notice.what, notice.subject, notice.comment, notice.sender, name, message.people,
                     notice.place, notice.sender == notice.user)
    return json.dumps({'title': title, 'tag': message.topic, 'lang': message.subscription.language, 'time': notice.time, 'opens': opens},
                      ensure_ascii=False).encode()


def topic_header(subscription: Subscription, topic: str) -> str:
    """For the push service, which forgets an older message of the same one that waits: another for each browser, so that it does not learn
    who is told of the same thing."""
    return base64.urlsafe_b64encode(hmac.new(subscription.auth.encode(), topic.encode(), hashlib.sha256).digest()[:24]).decode()


def post(session: requests.Session, subscription: Subscription, body: bytes, headers: dict[str, str],
         timeout_s: float) -> tuple[int, float | None] | str:
    """The status, and for how long the push service wants to be left alone (s); or why there is no answer."""
    keys: dict[str, Any] = {'endpoint': subscription.endpoint, 'keys': {'p256dh': subscription.p256dh, 'auth': subscription.auth}}
    encrypted = pywebpush.WebPusher(keys).encode(body)['body']
    try:
        with session.post(subscription.endpoint, encrypted, headers={**headers, 'Content-Encoding': 'aes128gcm',
                                                                     'Content-Type': 'application/octet-stream'},
                          timeout=timeout_s, allow_redirects=False, stream=True) as response:
            response.raw.read(_LONGEST_ANSWER)  # whatever it says: so the connection can be used again
            after = response.headers.get('Retry-After', '')
            return response.status_code, float(min(int(after), 86_400)) if after.isdecimal() and after.isascii() else None
    except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
        return f'no answer: {type(error).__name__}'  # the error itself may name the browser
