"""starling's HTTP API for posts, follows and home timelines. Writes are repeated until they are decided: doing them again
changes nothing, as posts carry a key. Each request runs in a thread of its own, so that the event loop goes on."""
from __future__ import annotations

import asyncio
import http.client
import json
import random
import secrets
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from .backoff import backoff_s
from .posts import FeedPage, Page, People, Post, User, read_post, read_posts, read_user
from .tokens import Token, TokenSource

_TIMEOUT_S = 15.0


class ApiError(Exception):
    """The server refused, or was not reached. status: of the answer; 0: there was none; 202: not decided yet. code: as in
    openapi.yaml; besides `unreachable`, `pending`, `bad_answer` and `unknown`."""

    def __init__(self, status: int, code: str, message: str, retry_after: float | None = None):
        super().__init__(message)
        self.status, self.code, self.message, self.retry_after = status, code, message, retry_after

    @property
    def passing(self) -> bool:
        """The same request may succeed later."""
        return self.status in (0, 202, 429) or self.status >= 502


class StarlingApi:
    """
    api = StarlingApi('http://localhost:8080', token)
    post = await api.create_post('Good morning')

    token: a JWT, or a function that gets one (see Token). patience: writes are repeated for so long (s) while the server
    cannot, or has not decided. Everything raises ApiError.
    """

    def __init__(self, url: str, token: Token, *, patience: float = 30.0, rand: Callable[[], float] = random.random):
        self._url = urlsplit(url)
        if self._url.scheme not in ('http', 'https') or not self._url.hostname:
            raise ValueError(f'not the address of an API: {url}')
        self._tokens = TokenSource(token)
        self._patience, self._random = patience, rand

    def renew(self, token: Token) -> None:
        """A newer token of the same user."""
        self._tokens = TokenSource(token)

    # posts

    async def create_post(self, text: str, media: list[str] | None = None, key: str | None = None) -> Post:
        """The same key again is the same post: keep it where a failed call may be repeated later (draw_key). Default: a new
        one."""
        return _whole(read_post(await self._decided('POST', '/v1/posts', {
            'text': text, 'key': key or draw_key(), **({'media': media} if media else {})})))

    async def get_post(self, post: str) -> Post:
        return _whole(read_post(await self.request('GET', f'/v1/posts/{post}')))

    async def delete_post(self, post: str) -> None:
        await self._decided('DELETE', f'/v1/posts/{post}')

    async def get_posts(self, user: int, *, from_ms: int | None = None, to_ms: int | None = None, after: str | None = None,
                        limit: int | None = None) -> Page[Post]:
        """A page of a user's posts, newest first."""
        page = await self._list(f'/v1/users/{user}/posts', {'from': from_ms, 'to': to_ms, 'after': after, 'limit': limit})
        return Page(read_posts(page.get('items')), page.get('next'))

    async def get_feed(self, *, after: str | None = None, limit: int | None = None) -> FeedPage:
        """A page of my home timeline, newest first."""
        page = await self._list('/v1/feed', {'after': after, 'limit': limit})
        return FeedPage(read_posts(page.get('items')), page.get('next'), page.get('complete') is True,
                        str(page.get('version', '')))

    # people

    async def get_user(self, user: int) -> User:
        return read_user(await self.request('GET', f'/v1/users/{user}'))

    async def get_user_by_handle(self, handle: str) -> User:
        """With or without an @ in front; capital letters count as small ones."""
        return read_user(await self.request('GET', f'/v1/handles/{quote(handle.removeprefix("@"), safe="")}'))

    async def set_handle(self, handle: str) -> str:
        """Chooses my handle: returns it as it counts. ApiError handle_taken: somebody else has it."""
        return str((await self._decided('PUT', '/v1/handle', {'handle': handle})).get('handle'))

    async def drop_handle(self) -> None:
        await self._decided('DELETE', '/v1/handle')

    async def follow(self, user: int) -> bool:
        """Whether I follow now; as unfollow."""
        return (await self._decided('PUT', f'/v1/follows/{user}')).get('following') is True

    async def unfollow(self, user: int) -> bool:
        return (await self._decided('DELETE', f'/v1/follows/{user}')).get('following') is True

    async def mute(self, user: int) -> bool:
        """Whether I mute now; as unmute."""
        return (await self._decided('PUT', f'/v1/mutes/{user}')).get('muted') is True

    async def unmute(self, user: int) -> bool:
        return (await self._decided('DELETE', f'/v1/mutes/{user}')).get('muted') is True

    async def get_followers(self, user: int, *, after: int | None = None, limit: int | None = None) -> People:
        """By user id, rising; as get_following."""
        return await self._people(f'/v1/users/{user}/followers', after, limit)

    async def get_following(self, user: int, *, after: int | None = None, limit: int | None = None) -> People:
        return await self._people(f'/v1/users/{user}/following', after, limit)

    async def follows(self, user: int, other: int) -> bool:
        """Whether the user follows the other one."""
        page = await self.get_following(user, after=other - 1 if other > 0 else None, limit=1)
        return page.items[:1] == [other]

    # requests

    async def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Any other request: the JSON of the answer, {} where there is none."""
        return (await self._exchange(method, path, body))[1]

    async def _exchange(self, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, dict[str, Any]]:
        token = await self._tokens.get()
        try:
            status, headers, content = await asyncio.to_thread(self._speak, method, path, body, token)
        except (OSError, http.client.HTTPException):
            raise ApiError(0, 'unreachable', 'The server cannot be reached.') from None
        try:
            answer = json.loads(content)
        except ValueError:
            answer = None
        answer = answer if isinstance(answer, dict) else {}
        if 200 <= status < 300:
            return status, answer
        # RFC 9457 where the server says why, the bare status where something between us does.
        after = headers.get('Retry-After', '')
        raise ApiError(status, str(answer.get('code', 'unknown')),
                       str(answer.get('detail') or answer.get('title') or f'The server answered {status}.'),
                       float(after) if after.isdecimal() else None)

    def _speak(self, method: str, path: str, body: dict[str, Any] | None, token: str) -> tuple[int, Any, bytes]:
        made = http.client.HTTPSConnection if self._url.scheme == 'https' else http.client.HTTPConnection
        connection = made(self._url.hostname or '', self._url.port, timeout=_TIMEOUT_S)
        try:
            connection.request(method, self._url.path.rstrip('/') + path, None if body is None else json.dumps(body).encode(), {
                'Authorization': f'Bearer {token}', **({} if body is None else {'Content-Type': 'application/json'})})
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    async def _decided(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Repeats a request with growing pauses while the server is away or has not decided; raises the last error."""
        end = time.monotonic() + self._patience
        failures = 0
        while True:
            try:
                status, answer = await self._exchange(method, path, body)
                if status != 202:
                    return answer
                error = ApiError(202, 'pending', 'The server has not decided yet.')
            except ApiError as raised:
                error = raised
            pause = max(backoff_s(failures, self._random), error.retry_after or 0.0)
            if not error.passing or time.monotonic() + pause >= end:
                raise error
            failures += 1
            await asyncio.sleep(pause)

    async def _list(self, path: str, query: dict[str, Any]) -> dict[str, Any]:
        members = urlencode({name: value for name, value in query.items() if value is not None})
        return await self.request('GET', f'{path}?{members}' if members else path)

    async def _people(self, path: str, after: int | None, limit: int | None) -> People:
        page = await self._list(path, {'after': after, 'limit': limit})
        return People([item['user'] for item in page.get('items', [])], page.get('next'), int(page.get('total', 0)))


def draw_key() -> str:
    """A new idempotency key."""
    return secrets.token_hex(16)


def _whole(post: Post | None) -> Post:
    if post is None:
        raise ApiError(0, 'bad_answer', 'The server sent what is not a post.')
    return post
