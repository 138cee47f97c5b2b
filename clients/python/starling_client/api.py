"""starling's HTTP API for posts, comments, follows and home timelines. Writes are repeated until they are decided: doing them again
changes nothing, as posts and comments carry a key. Each request runs in a thread of its own, so that the event loop goes on."""
from __future__ import annotations

import asyncio
import http.client
import json
import random
import secrets
import time
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from .backoff import backoff_s
from .comments import Comment, CommentAround, CommentPage, comments_path, read_comment, read_comment_page, read_comments
from .errors import ApiError, Unreachable, Undecided, api_error
from .posts import (FeedPage, Notice, Page, People, Post, Strangers, User, read_notice, read_post, read_posts, read_stranger,
                    read_user)
from .tokens import Token, TokenSource

_TIMEOUT_S = 15.0
_Item = TypeVar('_Item')


class StarlingApi:
    """
    api = StarlingApi('http://localhost:8080', token)
    post = await api.create_post('Good morning')

    token: a JWT, or a function that gets one (see Token). patience: writes are repeated for so long (s) while the server
    cannot, or has not decided. Everything raises ApiError, of the kind that errors.py names for it.
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

    async def get_notices(self, *, after: str | None = None, limit: int | None = None) -> Page[Notice]:
        """A page of my notices, newest first. The server keeps 200."""
        page = await self._list('/v1/notices', {'after': after, 'limit': limit})
        return Page([read_notice(item) for item in page.get('items', [])], page.get('next'))

    async def get_strangers(self, *, after: str | None = None, limit: int | None = None) -> Strangers:
        """A page of strangers nearby, nearest first. Only who shares with everybody may ask: else not_public."""
        page = await self._list('/v1/discover', {'after': after, 'limit': limit})
        cell = _whole(page.get('cell'))
        return Strangers([read_stranger(item) for item in page.get('items', [])], page.get('next'), cell['height'], cell['width'])

    # comments; a subject is as post:123

    async def get_comments(self, subject: str, *, sort: str | None = None, replies: int | None = None, after: str | None = None,
                           limit: int | None = None, liked: bool = False, etag: str | None = None) -> CommentPage | None:
        """A page of roots with their first replies. sort: floor (the oldest first; default), newest or heat. liked: say which
        ones I like. None: the page of the same question is still that of the ETag."""
        path = _path(comments_path(subject), {'sort': sort, 'replies': replies, 'after': after, 'limit': limit,
                                              'liked': 'true' if liked else None})
        status, answer, headers = await self._exchange('GET', path, None, etag)
        return None if status == 304 else read_comment_page(answer, headers.get('ETag'))

    async def get_replies(self, subject: str, root: str, *, after: str | None = None, limit: int | None = None,
                          liked: bool = False) -> Page[Comment]:
        """The replies of a root, the oldest first."""
        page = await self._list(f'{comments_path(subject)}/{root}/replies',
                                {'after': after, 'limit': limit, 'liked': 'true' if liked else None})
        return Page(read_comments(page.get('items')), page.get('next'))

    async def get_comment(self, subject: str, comment: str, *, liked: bool = False) -> Comment:
        return _whole(read_comment(await self._list(f'{comments_path(subject)}/{comment}', {'liked': 'true' if liked else None})))

    async def get_comment_around(self, subject: str, comment: str, *, around: int = 3, liked: bool = False) -> CommentAround:
        """A comment with so many neighbours on each side."""
        answer = await self._list(f'{comments_path(subject)}/{comment}', {'around': around, 'liked': 'true' if liked else None})
        return CommentAround(_whole(read_comment(answer.get('item'))), read_comment(answer.get('root')),
                             read_comments(answer.get('around')))

    async def post_comment(self, subject: str, text: str, *, reply_to: str | None = None, key: str | None = None) -> Comment:
        """The same key again is the same comment: keep it where a failed call may be repeated later (draw_key). Default: a new
        one."""
        return _whole(read_comment(await self._decided('POST', comments_path(subject), {
            'text': text, 'key': key or draw_key(), **({'reply_to': reply_to} if reply_to else {})})))

    async def delete_comment(self, subject: str, comment: str) -> None:
        """Its author, the subject's owner and moderators may. It keeps its floor and its replies, and loses its text."""
        await self._decided('DELETE', f'{comments_path(subject)}/{comment}')

    async def like_comment(self, subject: str, comment: str) -> int:
        """How many like it now; as unlike_comment."""
        return int((await self._decided('PUT', f'{comments_path(subject)}/{comment}/like')).get('likes', 0))

    async def unlike_comment(self, subject: str, comment: str) -> int:
        return int((await self._decided('DELETE', f'{comments_path(subject)}/{comment}/like')).get('likes', 0))

    async def pin_comment(self, subject: str, comment: str) -> bool:
        """Whether it is pinned now; as unpin_comment. The subject's owner may."""
        return (await self._decided('PUT', f'{comments_path(subject)}/{comment}/pin')).get('pinned') is True

    async def unpin_comment(self, subject: str, comment: str) -> bool:
        return (await self._decided('DELETE', f'{comments_path(subject)}/{comment}/pin')).get('pinned') is True

    async def report_comment(self, subject: str, comment: str, reason: str) -> None:
        """Tells the moderators. reason: 1 to 1000 code points. A report is safe as soon as it is answered 202."""
        await self._repeated('POST', f'{comments_path(subject)}/{comment}/report', {'reason': reason}, pending=())

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

    async def _exchange(self, method: str, path: str, body: dict[str, Any] | None,
                        etag: str | None = None) -> tuple[int, dict[str, Any], Any]:
        """Status, JSON and headers of the answer. etag: answered 304 if it is still that."""
        more = {'Authorization': f'Bearer {await self._tokens.get()}'}
        if body is not None:
            more['Content-Type'] = 'application/json'
        if etag is not None:
            more['If-None-Match'] = etag
        try:
            status, headers, content = await asyncio.to_thread(self._speak, method, path, body, more)
        except (OSError, http.client.HTTPException):
            raise Unreachable(0, 'unreachable', 'The server cannot be reached.') from None
        try:
            answer = json.loads(content)
        except ValueError:
            answer = None
        answer = answer if isinstance(answer, dict) else {}
        if 200 <= status < 300 or status == 304:
            return status, answer, headers
        # RFC 9457 where the server says why, the bare status where something between us does.
        after = headers.get('Retry-After', '')
        raise api_error(status, str(answer.get('code', 'unknown')),
                        str(answer.get('detail') or answer.get('title') or f'The server answered {status}.'),
                        float(after) if after.isdecimal() else None, answer)

    def _speak(self, method: str, path: str, body: dict[str, Any] | None, headers: dict[str, str]) -> tuple[int, Any, bytes]:
        made = http.client.HTTPSConnection if self._url.scheme == 'https' else http.client.HTTPConnection
        connection = made(self._url.hostname or '', self._url.port, timeout=_TIMEOUT_S)
        try:
            content = None if body is None else json.dumps(body).encode()
            connection.request(method, self._url.path.rstrip('/') + path, content, headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    async def _decided(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Repeats a request with growing pauses while the server is away or has not decided; raises the last error."""
        return await self._repeated(method, path, body, pending=(202,))

    async def _repeated(self, method: str, path: str, body: dict[str, Any] | None, pending: tuple[int, ...]) -> dict[str, Any]:
        """The same while the server is away or answers with one of those statuses."""
        end = time.monotonic() + self._patience
        failures = 0
        while True:
            try:
                status, answer, _ = await self._exchange(method, path, body)
                if status not in pending:
                    return answer
                error: ApiError = Undecided(202, 'pending', 'The server has not decided yet.')
            except ApiError as raised:
                error = raised
            pause = max(backoff_s(failures, self._random), error.retry_after or 0.0)
            if not error.passing or time.monotonic() + pause >= end:
                raise error
            failures += 1
            await asyncio.sleep(pause)

    async def _list(self, path: str, query: dict[str, Any]) -> dict[str, Any]:
        return await self.request('GET', _path(path, query))

    async def _people(self, path: str, after: int | None, limit: int | None) -> People:
        page = await self._list(path, {'after': after, 'limit': limit})
        return People([item['user'] for item in page.get('items', [])], page.get('next'), int(page.get('total', 0)))


def draw_key() -> str:
    """A new idempotency key."""
    return secrets.token_hex(16)


def _path(path: str, query: dict[str, Any]) -> str:
    """Members that are None are left out."""
    members = urlencode({name: value for name, value in query.items() if value is not None})
    return f'{path}?{members}' if members else path


def _whole(item: _Item | None) -> _Item:
    if item is None:
        raise ApiError(0, 'bad_answer', 'The server sent what cannot be read.')
    return item
