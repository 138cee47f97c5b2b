"""My nearby friends, merged from pages (nearest first, on request) and updates (about everybody near, asked for or not).
No socket and no clock in here: frames and times (ms by the server's clock) are handed in.

    pages    |--- page 1 ---|--- page 2 ---|   cursor -> the server's next page
    updates        u   u        u     u           u        u   (users of pages not yet asked for turn up, too)
    shown    |----------- wanted ----------|   the nearest of all known; pages are asked for until they cover it
"""
from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, List

from .details import Details, read_details
from .events import Friend
from .frames import number
from .geo import distance_m, round_position

PAGE_SIZE = 20
_RADIUS_SLACK_M = 0.01  # the server decided with the position that I last sent; this much is rounding and no move of mine


@dataclass
class _Entry:
    """What the server said last of a friend. reported: the distance it gave. paged: came in a page of this connection."""
    user: int
    name: str | None
    avatar_url: str | None
    lat: float
    lng: float
    time: int
    reported: float
    rounded: bool
    accuracy: float | None
    details: Details
    distance: float = 0.0
    stale: bool = False
    paged: bool = False

    def friend(self) -> Friend:
        return Friend(self.user, self.name, self.avatar_url, self.lat, self.lng, self.distance, self.time, self.stale, self.rounded,
                      self.accuracy, self.details)


class NearbyList:
    def __init__(self) -> None:
        self._place: tuple[float, float] | None = None
        self._radius = self._inactive_ms = self._stale_ms = math.inf
        self._sorted: List[Friend] | None = None
        self.asking = False  # a page was asked for and has not come
        self.clear()

    def configure(self, radius_m: float, inactive_ms: float, stale_ms: float) -> None:
        """As the server's welcome says."""
        self._radius, self._inactive_ms, self._stale_ms = radius_m, inactive_ms, stale_ms
        self._sorted = None

    def clear(self) -> None:
        self._entries: dict[int, _Entry] = {}
        self._cursor: Any = None
        self._asked_cursor: Any = None
        self._total = 0
        self._wanted = PAGE_SIZE
        self._fill = 0
        self.asking = self._stuck = False
        self._sorted = None

    def place(self, lat: float, lng: float) -> None:
        """I am here now: every distance changes."""
        self._place = lat, lng
        for entry in self._entries.values():
            self._measure(entry)
        self._sorted = None

    # what the server says

    def restart(self, frame: dict[str, Any], now: float) -> None:
        """The first page of a new connection: the truth, whatever was known before. As much as was known is asked for
        again."""
        self._fill = max(self._fill, len(self._entries))
        self._entries = {}
        self.asking = self._stuck = False
        self._cursor = frame.get('next')
        self._merge(frame['items'], True, now)
        self._total = int(number(frame.get('total'), len(self._entries)))

    def page(self, frame: dict[str, Any], now: float) -> None:
        """A further page, or a first page that nobody asked for (after a hello on the open socket, or sharing again)."""
        self._merge(frame['items'], True, now)
        self._total = int(number(frame.get('total'), self._total))
        cursor = frame.get('next')
        if not self.asking:
            if self.complete and self._total > len(self._entries):
                self._cursor = cursor
            return
        # A server that goes round in circles must not make us ask for ever.
        self._cursor = None if cursor == self._asked_cursor or not frame['items'] else cursor
        self.asking = False

    def update(self, frame: dict[str, Any], now: float) -> tuple[List[Friend], List[int]]:
        """Who was not known before, who was and is not near any more."""
        came = set(self._merge(frame.get('near', []), False, now))
        gone = []
        for user in frame.get('gone', []):
            self._total = max(0, self._total - 1)
            if isinstance(user, int) and user in self._entries:
                del self._entries[user]
                gone.append(user)
        self._sorted = None
        return [friend for friend in self.known() if friend.user in came] if came else [], gone

    # time

    def expire(self, now: float) -> tuple[List[int], bool]:
        """Forgets whoever has been silent for too long (the server says so, too, but not while the connection is down).
        Who was forgotten; whether somebody has become stale."""
        gone = [user for user, entry in self._entries.items() if now - entry.time >= self._inactive_ms]
        for user in gone:
            del self._entries[user]
        self._total = max(0, self._total - len(gone))
        aged = [entry for entry in self._entries.values() if not entry.stale and now - entry.time >= self._stale_ms]
        for entry in aged:
            entry.stale = True
        if gone or aged:
            self._sorted = None
        return gone, bool(aged)

    def next_expiry(self) -> float | None:
        """The server's time at which somebody becomes stale or is forgotten next."""
        due = min((entry.time + (self._inactive_ms if entry.stale else min(self._stale_ms, self._inactive_ms))
                   for entry in self._entries.values()), default=math.inf)
        return due if math.isfinite(due) else None

    # pages

    def more(self) -> None:
        """Twenty more on the screen."""
        if self.has_more:
            self._wanted += PAGE_SIZE
        self._stuck = False

    def next_request(self, everything: bool = False) -> Any:
        """The cursor to ask with, if pages do not cover what is wanted; None: nothing to ask for. Asking is noted: the
        next page is its answer."""
        if self.asking or self._stuck:
            return None
        paged = sum(entry.paged for entry in self._entries.values())
        if self.complete or paged >= self._fill:
            self._fill = 0
        if self.complete or (not everything and paged >= max(self._wanted, self._fill)):
            return None
        self.asking = True
        self._asked_cursor = self._cursor
        return self._cursor

    def give_up_request(self) -> None:
        """The page that was asked for does not come: not again until somebody wants more."""
        self.asking = False
        self._stuck = True

    def disconnected(self) -> None:
        """What was asked of the old connection is lost; what is known stays until the new one's first page."""
        self.asking = False

    # what is shown

    @property
    def complete(self) -> bool:
        """Every page has come: whoever is near is known."""
        return self._cursor is None

    @property
    def total(self) -> int:
        known = len(self.known())
        return known if self.complete else max(self._total, known)

    @property
    def has_more(self) -> bool:
        return not self.complete or len(self.known()) > self._wanted

    def list(self) -> List[Friend]:
        return self.known()[:self._wanted]

    def known(self) -> List[Friend]:
        """Everybody known to be near, nearest first."""
        # Friends whom a move of mine takes outside are hidden, not forgotten: the server, which knows less often where I am,
        # may never say anything about them if I turn back.
        if self._sorted is None:
            self._sorted = sorted((entry.friend() for entry in self._entries.values()
                                   if entry.distance <= self._radius + _RADIUS_SLACK_M),
                                  key=lambda friend: (friend.distance, friend.user))
        return self._sorted

    def _merge(self, items: List[Any], paged: bool, now: float) -> List[int]:
        """Returns the users not known before."""
        came = []
        for entry in filter(None, map(_read_item, items)):
            before = self._entries.get(entry.user)
            if before is None:
                came.append(entry.user)
            entry.paged = paged or (before is not None and before.paged)
            entry.stale = now - entry.time >= self._stale_ms
            self._measure(entry)
            self._entries[entry.user] = entry
        self._sorted = None
        return came

    def _measure(self, entry: _Entry) -> None:
        entry.distance = distance_m(*self._place, entry.lat, entry.lng) if self._place else entry.reported


def _read_item(item: Any) -> _Entry | None:
    """None: unusable."""
    if not isinstance(item, dict) or type(item.get('user')) is not int:
        return None
    lat, lng, time = (number(item.get(name), math.nan) for name in ('lat', 'lng', 'time'))
    if math.isnan(time) or not (abs(lat) <= 90 and abs(lng) <= 180):
        return None
    name, avatar = ((value if isinstance(value := item.get(key), str) and value else None) for key in ('name', 'avatar_url'))
    return _Entry(item['user'], name, avatar, *round_position(lat, lng), int(time), number(item.get('distance_m'), 0.0),
                  item.get('rounded') is True, item.get('accuracy'), read_details(item))
