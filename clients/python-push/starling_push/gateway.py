"""The receiver asks starling who somebody is who wants to be told, and for names. Any thread may call."""
from __future__ import annotations

import json
import pathlib
import threading
import time
from collections.abc import Iterable
from typing import Any

import requests
import urllib3

TIMEOUT_S = 5.0
_LONGEST_TOKEN = 8192
_LONGEST_ANSWER = 1 << 20
_ASKED_AT_ONCE = 100  # users, as GET /v1/users takes them
_NAMES_KEPT_S = 300.0
_MOST_NAMES = 10_000


class Unauthorized(Exception):
    """The token is none, or not that of a user."""


class Away(Exception):
    """The gateway does not answer, or cannot."""


class Gateway:
    """token_file: with a token by which names may be read; it is read anew for each question, so that it may be replaced."""

    def __init__(self, url: str, token_file: pathlib.Path):
        self._url, self._token_file = url.rstrip('/'), token_file
        self._lock, self._names = threading.Lock(), dict[int, tuple[float, str | None]]()
        self._local = threading.local()  # a session is for one thread

    def user_of(self, token: str) -> tuple[int, bool]:
        """Whose token that is, by the gateway, and whether that user has a name."""
        if not 0 < len(token) <= _LONGEST_TOKEN or not token.isascii() or not token.isprintable():
            raise Unauthorized
        status, me = self._ask('/v1/me', token)
        if status != 200 or type(me.get('user')) is not int:
            raise Unauthorized
        status, _ = self._ask('/v1/profile', token)
        if status not in (200, 404):
            raise Unauthorized
        return me['user'], status == 200

    def names(self, users: Iterable[int], now: float | None = None) -> dict[int, str | None]:
        """Names, a few minutes old at most; None: there is none."""
        now = time.monotonic() if now is None else now
        wanted = list(dict.fromkeys(users))
        with self._lock:
            known = {user: self._names[user][1] for user in wanted if user in self._names and self._names[user][0] > now}
        missing = [user for user in wanted if user not in known]
        for start in range(0, len(missing), _ASKED_AT_ONCE):
            found = self.read_names(missing[start:start + _ASKED_AT_ONCE])
            known.update(found)
            with self._lock:
                if len(self._names) + len(found) > _MOST_NAMES:
                    self._names.clear()
                self._names.update({user: (now + _NAMES_KEPT_S, name) for user, name in found.items()})
        return known

    def read_names(self, users: list[int]) -> dict[int, str | None]:
        """Of a hundred at most, as they are now."""
        status, answer = self._ask(f'/v1/users?ids={",".join(map(str, users))}', self._token_file.read_text().strip())
        if status != 200:
            raise Away(f'names cannot be read: {status} {answer.get("code", "")}')
        try:
            found = {item['user']: item['name'] for item in answer['items']}
        except (LookupError, TypeError) as error:
            raise Away(f'names cannot be read: no list of them: {error!r}') from error
        if found.keys() != set(users) or not all(name is None or isinstance(name, str) for name in found.values()):
            raise Away('names cannot be read: other users than those who were asked for')
        return found

    def _ask(self, path: str, token: str) -> tuple[int, dict[str, Any]]:
        try:
            with self._session().get(self._url + path, headers={'Authorization': f'Bearer {token}'}, timeout=TIMEOUT_S,
                                     allow_redirects=False, stream=True) as response:
                if response.status_code == 429 or response.status_code >= 500:
                    raise Away(f'{path.split("?")[0]} is answered {response.status_code}')
                body = response.raw.read(_LONGEST_ANSWER, decode_content=True)
                status = int(response.status_code)
            answer = json.loads(body) if body else {}
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError, RecursionError) as error:
            raise Away(f'{path.split("?")[0]} has no answer: {type(error).__name__}') from error  # the error itself may name users
        return status, answer if isinstance(answer, dict) else {}

    def _session(self) -> requests.Session:
        if not hasattr(self._local, 'session'):
            self._local.session = requests.Session()
            self._local.session.trust_env = False  # neither a proxy nor a .netrc has a say in whose token is sent
        session: requests.Session = self._local.session
        return session
