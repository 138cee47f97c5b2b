"""My notices, live: how many are unread, and each new one once, whatever becomes of the connection.

    watch on each connection ----> notices   unread, and what this connection was not told ----> NoticesChange, without what was told before
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, List

from .frames import number
from .listeners import Teller
from .posts import Notice, read_notices

_TOLD_MAX = 1000  # the server keeps 200, and tells the newest 20 of them on each connection


@dataclass(frozen=True)
class NoticesChange:
    unread: int
    items: List[Notice]
    """The newest that were not told before, newest first: at most 20, of the kinds whose preference is live."""
    first: bool
    """These were there before: nothing has happened."""


class LiveNotices(Teller[NoticesChange]):
    """Made by StarlingClient.watch_notices. One of many users takes the place of that of the same what, post, comment and day (UTC)."""

    def __init__(self, say: Callable[[dict[str, Any]], None]):
        super().__init__()
        self._say = say
        self._closed = False
        self._unread: int | None = None
        self._told: dict[str, None] = {}  # the ids of those that were told, the latest last

    @property
    def unread(self) -> int | None:
        """None: not known yet."""
        return self._unread

    def close(self) -> None:
        """Ends it."""
        if not self._closed:
            self._closed = True
            self._say({'type': 'unwatch', 'what': 'notices'})

    # what the client tells us

    def connected(self) -> None:
        """A new connection is open, which watches nothing yet."""
        if not self._closed:
            self._say({'type': 'watch', 'what': 'notices'})

    def told(self, frame: dict[str, Any]) -> None:
        """`notices`"""
        if self._closed:
            return
        first = self._unread is None
        news = [item for item in read_notices(frame.get('items')) if item.id not in self._told]
        self._told.update(dict.fromkeys(item.id for item in news))
        for old in list(self._told)[:-_TOLD_MAX]:
            del self._told[old]
        self._unread = int(number(frame.get('unread'), 0))
        self._emit(NoticesChange(self._unread, news, first))
