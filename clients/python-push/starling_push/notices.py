"""Posts of starling to notify.url: signed, and read strictly. Times are milliseconds since the epoch."""
from __future__ import annotations

import hashlib
import hmac
import json
import re
from dataclasses import dataclass
from typing import Any

MOST_LATE_MS = 5 * 60_000  # a post that was made longer ago, or so far ahead, may be an old one that somebody sends again
_LONGEST_ID, _LONGEST_SUBJECT = 100, 200
_MOST_USER = 2**63 - 1
_DAY_MS = 86_400_000
_MINUTE_MS = 60_000
_HALF = re.compile('[\ud800-\udfff]')  # of a letter: JSON may have that, and no file can


@dataclass(frozen=True)
class Kind:
    urgency: str  # of RFC 8030: whether a phone that saves power is woken for it
    keeps_ms: int  # after that it is no news any more
    gathered: str = ''  # several are told as one: of a 'day', or of a day and 'subject'


KINDS = {
    'follow': Kind('normal', _DAY_MS, 'day'),
    'request': Kind('normal', _DAY_MS, 'day'),
    'accepted': Kind('normal', _DAY_MS, 'day'),
    'mention': Kind('normal', _DAY_MS),
    'reply': Kind('normal', _DAY_MS),
    'like': Kind('low', _DAY_MS, 'subject'),
    'approach': Kind('high', 10 * _MINUTE_MS),
    'arrived': Kind('high', 60 * _MINUTE_MS),
    'left': Kind('high', 60 * _MINUTE_MS),
}


class Refused(Exception):
    """The post is not from starling, or not as it should be."""


@dataclass(frozen=True)
class Notice:
    id: str
    user: int  # who is told
    what: str
    sender: int  # who followed, wrote, liked, arrived or left
    subject: str | None
    comment: str | None
    time: int
    place: str | None = None  # its name

    @property
    def topic(self) -> str:
        """Notices of the same topic are told as one, the newest in front."""
        gathered = KINDS[self.what].gathered
        if not gathered:
            return self.id
        about = [self.subject, self.comment] if gathered == 'subject' else []
        return json.dumps([self.what, self.time // _DAY_MS, *about])


def check_signature(body: bytes, signature: str, key: bytes) -> None:
    """Raises Refused. It takes the same time wherever the signature is wrong."""
    expected = 'sha256=' + hmac.new(key, body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(expected.encode(), signature.encode('latin-1', 'replace')):
        raise Refused('the signature is not that of the body')


def read_post(body: bytes, now: int) -> tuple[list[Notice], int]:
    """The notices of a post whose signature is good, and how many items cannot be read or are of a kind that is not known here. Raises
    Refused."""
    try:
        post = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(f'no JSON: {error}') from error
    if not isinstance(post, dict) or not _is_time(post.get('sent')) or not isinstance(post.get('items'), list):
        raise Refused('a post has a time `sent` and a list `items`')
    if abs(now - post['sent']) > MOST_LATE_MS:
        raise Refused(f'it was sent {(now - post["sent"]) // 1000} s ago by the clock of this machine')
    notices = [notice for notice in map(_read_item, post['items']) if notice]
    return notices, len(post['items']) - len(notices)


def _is_time(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _is_user(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST_USER


def _is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= most and not _HALF.search(value)


def _read_item(item: Any) -> Notice | None:
    if not isinstance(item, dict) or not isinstance(item.get('what'), str) or item['what'] not in KINDS or not _is_text(item.get('id'), _LONGEST_ID):
        return None
    if not _is_user(item.get('user')) or not _is_user(item.get('from')) or not _is_time(item.get('time')):
        return None
    subject, comment, place = item.get('subject'), item.get('comment'), item.get('place')
    if not all(value is None or _is_text(value, _LONGEST_SUBJECT) for value in (subject, comment, place)):
        return None
    if item['what'] in ('arrived', 'left') and place is None:
        return None
    return Notice(item['id'], item['user'], item['what'], item['from'], subject, comment, item['time'], place)
