"""Posts and the other answers of the HTTP API, read from JSON."""
from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Generic, List, TypeVar

from .frames import number

_ID = re.compile(r'[1-9]\d{0,18}')
_Item = TypeVar('_Item')


@dataclass(frozen=True)
class Post:
    id: str
    """A whole number in decimal; later posts have higher ones."""
    user: int
    """The author."""
    name: str | None
    """None: no profile yet."""
    avatar_url: str | None
    text: str | None
    """None: unavailable."""
    media: tuple[str, ...]
    time: int
    """ms since the epoch."""
    unavailable: bool
    """The post is there, but what it says cannot be read just now."""
    comments: int | None = None
    """How many comments it has, a few seconds ago at most; None: not known."""
    likes: int | None = None
    """How many like it; the same."""
    liked: bool | None = None
    """Whether I like it; None: not known."""
    version: int = 1
    """Of its text, from 1; each edit adds one."""
    edited: int | None = None
    """When its text was last edited, ms since the epoch; None: never."""
    state: str | None = None
    """held: nobody else sees it before a moderator approves it; hidden: by a moderator, who reads it; None: it is shown."""


@dataclass(frozen=True)
class Edit:
    """A version of the text of a post or comment."""
    version: int
    text: str
    time: int
    """When it was written, ms since the epoch."""
    user: int
    """The author, or the moderator who wrote it."""
    name: str | None
    avatar_url: str | None


@dataclass(frozen=True)
class User:
    user: int
    name: str | None
    avatar_url: str | None
    handle: str | None
    """None: the user has none."""
    followers: int | None
    """Handle and counts are None, too, while the process that has them does not answer."""
    following: int | None
    posts: int | None
    bio: str | None = None
    url: str | None = None
    follow: str | None = None
    """How I follow the user: following or requested; None: I do neither, or that process does not answer."""


@dataclass(frozen=True)
class ListedUser:
    user: int
    name: str | None
    avatar_url: str | None
    handle: str | None
    """None: the user has none, or it is not known just now."""


@dataclass(frozen=True)
class Notice:
    """Somebody does something that is about me; many such things of one day that are alike are one."""
    id: str
    """The same event has the same one."""
    what: str
    """follow, request (asks to follow me), accepted (I may follow), mention, reply, like, approach (a friend has come near while I had no session), arrived or
    left (a friend at a place of the friend's, or I at one of mine)."""
    user: int
    """The user who does so; of many, the newest one."""
    post: str | None
    """The id of the post that mentions me or is liked, or below which the comment is; None: there is none."""
    comment: str | None
    """The id of the comment that mentions or answers me, or is liked; None: there is none."""
    time: int
    """ms since the epoch."""
    count: int
    """How many users do so."""
    users: tuple[int, ...]
    """The newest of them, three at most."""
    place: str | None = None
    """The name of the place; None: it is about none."""


@dataclass(frozen=True)
class NoticePreference:
    live: bool
    """Open screens are told at once."""
    push: bool
    """Devices are told."""


@dataclass(frozen=True)
class Page(Generic[_Item]):
    items: List[_Item]
    next: Any
    """For `after`; None: this was the last page."""
    _more: Callable[[Any], Awaitable[Page[_Item]]] | None = field(default=None, kw_only=True, repr=False, compare=False)
    """How StarlingApi.all gets the page after this one; None: it was not asked for over HTTP."""


@dataclass(frozen=True)
class Stranger:
    """Somebody around who shares with everybody, as I do."""
    user: int
    name: str | None
    """None: not known."""
    avatar_url: str | None
    lat: float
    """The centre of the cell that the user is in."""
    lng: float
    distance: float
    """Metres from my last report to that centre."""
    time: int
    """Of the user's last report, rounded down to five minutes; ms since the epoch."""


@dataclass(frozen=True)
class Strangers(Page[Stranger]):
    cell_height: float
    """Of all cells, degrees."""
    cell_width: float


@dataclass(frozen=True)
class FeedPage(Page[Post]):
    complete: bool
    """False: posts may be missing; the same question has them a moment later."""
    version: str
    """To be compared, and nothing else; empty on later pages, and on those of some time."""


@dataclass(frozen=True)
class NoticePage(Page[Notice]):
    unread: int
    """How many of the whole list are unread: the first ones."""


@dataclass(frozen=True)
class People(Page[ListedUser]):
    total: int
    """Of all pages."""


def read_post(item: Any) -> Post | None:
    """None: unusable."""
    if not isinstance(item, dict) or type(item.get('user')) is not int or not is_id(item.get('id')):
        return None
    text, media, liked = item.get('text'), item.get('media'), item.get('liked')
    return Post(item['id'], item['user'], text_or_none(item.get('name')), text_or_none(item.get('avatar_url')),
                text if isinstance(text, str) else None,
                tuple(url for url in media if isinstance(url, str)) if isinstance(media, list) else (),
                int(number(item.get('time'), 0)), not isinstance(text, str), int_or_none(item.get('comments')),
                int_or_none(item.get('likes')), liked if isinstance(liked, bool) else None, int(number(item.get('version'), 1)),
                int_or_none(item.get('edited')), text_or_none(item.get('state')))


def read_posts(items: Any) -> List[Post]:
    return [post for post in map(read_post, items) if post] if isinstance(items, list) else []


def read_edit(item: dict[str, Any]) -> Edit:
    return Edit(int(item['version']), str(item['text']), int(item['time']), int(item['user']), text_or_none(item.get('name')),
                text_or_none(item.get('avatar_url')))


def read_stranger(item: dict[str, Any]) -> Stranger:
    return Stranger(int(item['user']), item.get('name') or None, item.get('avatar_url') or None, float(item['lat']), float(item['lng']),
                    float(item['distance_m']), int(item['time']))


def read_strangers(page: dict[str, Any]) -> Strangers | None:
    """None: it is no page of strangers."""
    items, cell = page.get('items'), page.get('cell')
    if not isinstance(items, list) or not isinstance(cell, dict):
        return None
    return Strangers([read_stranger(item) for item in items], page.get('next'), cell['height'], cell['width'])


def read_notice(item: dict[str, Any]) -> Notice:
    kind, _, post = str(item.get('subject') or '').partition(':')
    return Notice(str(item['id']), str(item['what']), int(item['user']), post if kind == 'post' else None, text_or_none(item.get('comment')),
                  int(number(item.get('time'), 0)), int(number(item.get('count'), 1)), tuple(item.get('users') or [int(item['user'])]),
                  text_or_none(item.get('place')))


def read_notices(items: Any) -> List[Notice]:
    return [read_notice(item) for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def read_notice_preferences(answer: dict[str, Any]) -> dict[str, NoticePreference]:
    return {kind: NoticePreference(one.get('live') is True, one.get('push') is True) for kind, one in answer.items()}


def read_user(answer: dict[str, Any]) -> User:
    followers, following, posts = (answer.get(name) for name in ('followers', 'following', 'posts'))
    return User(int(answer['user']), text_or_none(answer.get('name')), text_or_none(answer.get('avatar_url')),
                text_or_none(answer.get('handle')), followers, following, posts, text_or_none(answer.get('bio')),
                text_or_none(answer.get('url')), text_or_none(answer.get('follow')))


def read_listed_user(item: dict[str, Any]) -> ListedUser:
    return ListedUser(int(item['user']), text_or_none(item.get('name')), text_or_none(item.get('avatar_url')), text_or_none(item.get('handle')))


def is_id(value: Any) -> bool:
    return isinstance(value, str) and _ID.fullmatch(value) is not None


def int_or_none(value: Any) -> int | None:
    return value if type(value) is int else None


def text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None
