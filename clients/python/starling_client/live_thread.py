"""The comments of one subject, live: tells an application what happens under it, and when it must read its pages again. The
application keeps the list, and says which version it has read.

    read(version) ----> watch                      version of the pages that the application has
    comments  since -> version  ----> ThreadChange from our version, or from one before it; sampled ones are for every page
              anything newer    ----> ThreadStale  the pages are to be read again, and then read() is called; what the frame
                                                   says is gone is a sampled ThreadChange at once
    stale     version after so many ms ----> ThreadStale; again, with growing pauses, while the pages that were read are older
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, List

from .comments import Comment, read_comments
from .frames import number
from .listeners import Teller
from .timers import Timers

_SOON_S = 0.5  # the first pause of those that double
_LONGEST_PAUSE_S = 30.0


@dataclass(frozen=True)
class ThreadCounters:
    id: str
    likes: int
    reply_count: int


@dataclass(frozen=True)
class ThreadChange:
    """A change of the thread. Apply gone, items and counters in this order."""
    total: int
    """Visible comments and replies of the subject."""
    likes: int
    """Users who like the subject itself."""
    sampled: bool
    """Too much happens, or earlier changes are missing: some comments are left out, and counters may come late. ThreadStale follows
    when it is over."""
    items: List[Comment]
    """New comments, and those whose state has changed; roots and replies. Their replies are empty: keep what was known."""
    gone: List[str]
    """Deleted and hidden comments, whose texts must go at once; each is in items, too, as a page shows it now."""
    counters: List[ThreadCounters]
    """Of other comments, also of ones that are not listed."""


@dataclass(frozen=True)
class ThreadStale:
    """Read the pages again now, and call read(). It comes again, later each time, while they are older than `version`."""
    version: int


ThreadEvent = ThreadChange | ThreadStale


class LiveThread(Teller[ThreadEvent]):
    """Made by StarlingClient.watch_comments."""

    def __init__(self, subject: str, say: Callable[[dict[str, Any]], None], rand: Callable[[], float]):
        super().__init__()
        self._subject, self._say, self._random = subject, say, rand
        self._timers = Timers()
        self._closed = False
        self._version: int | None = None
        self._wanted: int | None = None  # the version that the pages are to have
        self._readings = 0  # that did not have it

    @property
    def subject(self) -> str:
        return self._subject

    @property
    def version(self) -> int | None:
        """None: read() was not called yet."""
        return self._version

    def read(self, version: str | int) -> None:
        """The pages that the application has are of that version now; of several pages, the lowest one."""
        if self._closed:
            return
        self._version = int(version)
        if self._wanted is not None and self._version >= self._wanted:
            self._wanted = None
            self._timers.clear('stale')
        elif self._wanted is not None:
            pause = min(_LONGEST_PAUSE_S, _SOON_S * 2 ** self._readings)
            self._readings += 1  # from a gateway's copy
            self._stale_in(pause * (0.5 + self._random() / 2))
        self.connected()

    def close(self) -> None:
        """Ends it."""
        if self._closed:
            return
        self._closed = True
        self._timers.clear_all()
        self._say({'type': 'unwatch', 'what': 'comments', 'subject': self._subject})

    # what the client tells us

    def connected(self) -> None:
        """A new connection is open, which watches nothing yet."""
        if not self._closed and self._version is not None:
            self._say({'type': 'watch', 'what': 'comments', 'subject': self._subject, 'version': self._version})

    def told(self, frame: dict[str, Any]) -> None:
        """`comments`"""
        sampled, version = frame.get('sampled') is True, int(number(frame.get('version'), 0))
        if self._closed or self._version is None or (not sampled and version <= self._version):
            return
        if not sampled and number(frame.get('since'), 0) > self._version:
            self._hide(frame)
            self._want(version, 0.0)
            return
        if not sampled:
            self._version = version
        counters = [ThreadCounters(str(one.get('id')), int(number(one.get('likes'), 0)), int(number(one.get('reply_count'), 0)))
                    for one in frame.get('counters') or []]
        self._emit(ThreadChange(*_totals(frame), sampled, read_comments(frame.get('items')), [str(one) for one in frame.get('gone') or []],
                                counters))

    def _hide(self, frame: dict[str, Any]) -> None:
        """Changes are missing before this frame. A comment that it says is gone must not stay until the pages were read."""
        gone = [str(one) for one in frame.get('gone') or []]
        if gone:
            hidden = [item for item in read_comments(frame.get('items')) if item.id in gone]
            self._emit(ThreadChange(*_totals(frame), True, hidden, gone, []))

    def stale(self, frame: dict[str, Any]) -> None:
        """`stale`"""
        version = int(number(frame.get('version'), 0))
        if not self._closed and (self._version is None or version > self._version):
            self._want(version, max(0.0, number(frame.get('after_ms'), 0)) / 1000)

    # versions

    def _want(self, version: int, after: float) -> None:
        if self._wanted != version:
            self._wanted, self._readings = version, 0
        if 'stale' not in self._timers:
            self._stale_in(after)

    def _stale_in(self, after: float) -> None:
        self._timers.set('stale', after, self._tell_stale)

    def _tell_stale(self) -> None:
        if self._wanted is not None:
            self._emit(ThreadStale(self._wanted))


def _totals(frame: dict[str, Any]) -> tuple[int, int]:
    return int(number(frame.get('total'), 0)), int(number(frame.get('likes'), 0))
