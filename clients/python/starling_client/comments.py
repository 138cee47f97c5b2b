"""Comments and their pages, read from JSON."""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, List

from .frames import number
from .posts import Page, int_or_none, is_id, text_or_none
from .requests import path

_SUBJECT = re.compile(r'([a-z0-9_-]{1,32}):([A-Za-z0-9._~-]{1,128})')
_STATES = ('visible', 'held', 'hidden', 'deleted')


@dataclass(frozen=True)
class Comment:
    id: str
    """A whole number in decimal; unique over all subjects."""
    user: int
    """The author."""
    name: str | None
    """None: no profile yet."""
    avatar_url: str | None
    text: str | None
    """None: the comment is not visible, or its text could not be read in time."""
    time: int
    """ms since the epoch."""
    floor: int
    """Its number under the subject; of a reply, under its root. From 1 on, without gaps."""
    root: str | None
    """None: it is a root."""
    reply_to: str | None
    """The comment that a reply answers; None: it is a root."""
    likes: int
    reply_count: int
    """Visible replies under a root; of a reply, those that answer it."""
    replies: tuple[Comment, ...]
    """The first replies of a root on a page; else empty."""
    state: str
    """visible, held (it waits for a moderator), hidden (a moderator took it away) or deleted."""
    liked: bool | None
    """Whether I like it; None: not asked for, or not known in time."""
    version: int
    """Of its text, from 1; each edit adds one."""
    edited: int | None
    """When its text was last edited, ms since the epoch; None: never."""


@dataclass(frozen=True)
class OwnComment(Comment):
    subject: str
    """As post:123."""


@dataclass(frozen=True)
class CommentPage(Page[Comment]):
    total: int
    """Visible comments and replies of the subject."""
    likes: int
    """Users who like the subject itself."""
    version: int
    """Of comments, states, likes, pins and settings; never falls. For LiveThread."""
    closed: bool
    """Nobody can write any more."""
    owner: int | None
    """Who may pin and delete; None: nobody has registered the subject."""
    pinned: List[Comment]
    """The newest pin first, at most 10."""
    etag: str | None
    """For the next question of the same page; None: something was missing, so it is not to be kept."""


@dataclass(frozen=True)
class CommentAround:
    item: Comment
    root: Comment | None
    """None: the comment is a root."""
    around: List[Comment]
    """Roots around a root, replies of the same root around a reply."""


def comments_path(subject: str, *below: str) -> str:
    """Of a subject as post:123, and what is below it."""
    parts = _SUBJECT.fullmatch(subject)
    if not parts or parts[2] in ('.', '..'):
        raise ValueError(f'not a subject: {subject}')
    return path('comments', parts[1], parts[2], *below)


def read_comment(item: Any) -> Comment | None:
    """None: unusable."""
    if not isinstance(item, dict) or type(item.get('user')) is not int or not is_id(item.get('id')):
        return None
    if item.get('state') not in _STATES:
        return None
    text, liked = item.get('text'), item.get('liked')
    return Comment(
        item['id'], item['user'], text_or_none(item.get('name')), text_or_none(item.get('avatar_url')),
        text if isinstance(text, str) else None, int(number(item.get('time'), 0)), int(number(item.get('floor'), 0)),
        text_or_none(item.get('root')), text_or_none(item.get('reply_to')), int(number(item.get('likes'), 0)),
        int(number(item.get('reply_count'), 0)), tuple(read_comments(item.get('replies'))), item['state'],
        liked if isinstance(liked, bool) else None, int(number(item.get('version'), 1)), int_or_none(item.get('edited')))


def read_own_comment(item: Any) -> OwnComment | None:
    comment = read_comment(item)
    return OwnComment(**vars(comment), subject=str(item.get('subject'))) if comment else None


def read_comments(items: Any) -> List[Comment]:
    return [comment for comment in map(read_comment, items) if comment] if isinstance(items, list) else []


def read_comment_page(answer: dict[str, Any], etag: str | None) -> CommentPage:
    return CommentPage(read_comments(answer.get('items')), answer.get('next'), int(number(answer.get('total'), 0)),
                       int(number(answer.get('likes'), 0)), int(number(answer.get('version'), 0)), answer.get('closed') is True, answer.get('owner'),
                       read_comments(answer.get('pinned')), etag)
