"""Requests to starling's HTTP API: tokens, errors, pages, and repeating what may be repeated. Each request runs in a thread of its own, so
that the event loop goes on."""
from __future__ import annotations

import asyncio
import http.client
import json
import random
import re
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from .backoff import backoff_s
from .errors import ApiError, Undecided, api_error, unreachable
from .posts import Page
from .tokens import Token, TokenSource

_TIMEOUT_S = 15.0
_PATH = re.compile(r"[A-Za-z0-9/_.~!$&'()*+,;=:@%-]+")
_ID = re.compile(r'[A-Za-z0-9_.~-]+')
_Item = TypeVar('_Item')
_Page = TypeVar('_Page', bound='Page[Any]')


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict[str, Any]
    headers: Any
    retry_after: float | None


class Requests:
    def __init__(self, url: str, token: Token, patience: float = 30.0, context: ssl.SSLContext | None = None,
                 rand: Callable[[], float] = random.random):
        self._address, self._url = url, urlsplit(url)
        if self._url.scheme not in ('http', 'https') or not self._url.hostname:
            raise ValueError(f'not the address of an API: {url}')
        self._tokens = TokenSource(token)
        self._patience, self._context, self._random = patience, context, rand

    def renew(self, token: Token) -> None:
        self._tokens = TokenSource(token)

    async def exchange(self, method: str, path: str, body: dict[str, Any] | None = None, etag: str | None = None,
                       anonymous: bool = False) -> Answer:
        """One request, once. etag: answered 304 if it is still that. anonymous: no token goes along."""
        if method != 'GET':  # GET's has been made by _path
            _check(path)
        more = {} if anonymous else {'Authorization': f'Bearer {await self._tokens.get()}'}
        if body is not None:
            more['Content-Type'] = 'application/json'
        if etag is not None:
            more['If-None-Match'] = etag
        try:
            status, headers, content = await asyncio.to_thread(self._speak, method, path, body, more)
        except (OSError, http.client.HTTPException) as error:
            raise unreachable(self._address, error) from error
        try:
            answer = json.loads(content)
        except ValueError:
            answer = None
        answer = answer if isinstance(answer, dict) else {}
        after = headers.get('Retry-After', '')
        retry_after = float(after) if after.isdecimal() else None
        if 200 <= status < 300 or status == 304:
            return Answer(status, answer, headers, retry_after)
        # RFC 9457 where the server says why, the bare status where something between us does.
        raise api_error(status, str(answer.get('code', 'unknown')),
                        str(answer.get('detail') or answer.get('title') or f'The server answered {status}.'), retry_after, answer)

    def _speak(self, method: str, path: str, body: dict[str, Any] | None, headers: dict[str, str]) -> tuple[int, Any, bytes]:
        host, port = self._url.hostname or '', self._url.port
        connection = http.client.HTTPConnection(host, port, timeout=_TIMEOUT_S) if self._url.scheme == 'http' else \
            http.client.HTTPSConnection(host, port, timeout=_TIMEOUT_S, context=self._context)
        try:
            content = None if body is None else json.dumps(body).encode()
            connection.request(method, self._url.path.rstrip('/') + path, content, headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    async def ask_anonymously(self, path: str) -> dict[str, Any]:
        """A question to which no account is needed, asked once: the JSON of the answer."""
        return (await self.exchange('GET', _path(path, {}), anonymous=True)).body

    async def ask(self, path: str, query: dict[str, Any] | None = None) -> dict[str, Any]:
        """A question, asked once: the JSON of the answer."""
        return (await self.exchange('GET', _path(path, query or {}))).body

    async def page(self, path: str, query: dict[str, Any], read: Callable[[dict[str, Any]], _Page]) -> _Page:
        """A page of a list, from which all() finds the next one. read makes it of the answer."""
        return self._linked(read(await self.ask(path, query)), path, query, read)

    async def tagged_page(self, path: str, query: dict[str, Any], read: Callable[[dict[str, Any], str | None], _Page],
                          etag: str | None) -> _Page | None:
        """The same of a list whose pages have an ETag. None: the page is still that of `etag`."""
        answer = await self.exchange('GET', _path(path, query), etag=etag)
        if answer.status == 304:
            return None
        return self._linked(read(answer.body, answer.headers.get('ETag')), path, query, lambda body: read(body, None))

    def _linked(self, page: _Page, path: str, query: dict[str, Any], read: Callable[[dict[str, Any]], _Page]) -> _Page:
        object.__setattr__(page, '_more', lambda after: self.page(path, {**query, 'after': after}, read))
        return page

    async def all(self, first: Page[_Item] | Awaitable[Page[_Item]]) -> AsyncIterator[_Item]:
        """The items of a page and of all pages after it, which are asked for as they are needed."""
        page = first if isinstance(first, Page) else await first
        while True:
            for item in page.items:
                yield item
            after, more = page.next, page._more
            if after is None:
                return
            if more is None:
                raise TypeError('not a page that was asked for over HTTP')
            page = await self.patiently(lambda: more(after))

    async def decided(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """A write, until it is decided: the JSON of the answer."""
        return (await self.patiently(lambda: self.exchange(method, path, body), lambda answer: answer.status != 202)).body

    async def patiently(self, ask: Callable[[], Awaitable[_Item]], enough: Callable[[Any], bool] = lambda _: True) -> _Item:
        """Repeats with growing pauses while the server is away, or its answer is not good enough (then it is an Answer that says that
        nothing is decided); raises the last error."""
        end = time.monotonic() + self._patience
        failures = 0
        while True:
            try:
                answer: Any = await ask()
                if enough(answer):
                    return answer  # type: ignore[no-any-return]
                error: ApiError = Undecided(202, 'pending', 'The server has not decided yet.', answer.retry_after)
            except ApiError as raised:
                error = raised
            pause = max(backoff_s(failures, self._random), error.retry_after or 0.0)
            if not error.passing or time.monotonic() + pause >= end:
                raise error
            failures += 1
            await asyncio.sleep(pause)


def path(*segments: object) -> str:
    """A path of the API. ValueError: an id that an app was given, such as '../me' or '5/like', would choose the request."""
    for segment in map(str, segments):
        if not _ID.fullmatch(segment) or segment in ('.', '..'):
            raise ValueError(f'not an id: {segment}')
    return '/'.join(('/v1', *map(str, segments)))


def _check(path: str) -> None:
    """Refuses a path that leads elsewhere than it says."""
    if not _PATH.fullmatch(path) or '%2f' in path.lower() or {'.', '..'} & set(path.split('/')):
        raise ValueError(f'not an id: it would make the path {path}')


def _path(path: str, query: dict[str, Any]) -> str:
    """Members that are None are left out."""
    _check(path)
    members = urlencode({name: value for name, value in query.items() if value is not None})
    return f'{path}?{members}' if members else path


def each(read: Callable[[Any], _Item]) -> Callable[[dict[str, Any]], Page[_Item]]:
    """Reads the items of a page one by one."""
    return lambda answer: Page([read(item) for item in answer.get('items', [])], answer.get('next'))


def whole(item: _Item | None) -> _Item:
    if item is None:
        raise ApiError(0, 'bad_answer', 'The server sent what cannot be read.')
    return item
