"""My position on its way to the server: in every hello, after moves (one a second at most), and every so often."""
from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from .details import Details, write_details
from .geo import round_position
from .timers import Timers

_EVERY_S = 30.0  # until the server's welcome says otherwise


class Reporter:
    def __init__(self, send: Callable[[dict[str, Any]], None], server_now: Callable[[], float], timers: Timers,
                 throttle: float):
        self._send, self._server_now, self._timers, self._throttle = send, server_now, timers, throttle
        self._every = _EVERY_S
        self.place: tuple[float, float] | None = None
        """None: nobody has said where I am, and nothing is reported."""
        self._said: dict[str, Any] = {}
        self._sent_at = -1e9
        self._sent_time = 0
        self._sent_place: tuple[float, float] | None = None

    def move(self, lat: float | None, lng: float | None, accuracy: float | None, details: Details) -> None:
        """I am here now. InvalidPosition: it is none."""
        self.place = round_position(lat, lng)
        self._said = {**({} if accuracy is None else {'accuracy': accuracy}), **write_details(details)}

    def forget(self) -> None:
        """The clock was wrong: the last report had a wrong time, and goes out once more."""
        self._sent_place = None

    def hello(self) -> dict[str, Any]:
        """The members that a hello has for its position; it counts as sent."""
        return {**self._report(self.place), **self._said} if self.place else {}

    def welcomed(self, every: float) -> None:
        """The server takes reports, and wants one that often (s)."""
        self._every = every
        if self.place and self._sent_place != self.place:
            self.soon()
        elif self.place:
            self._schedule()

    def soon(self) -> None:
        """Reports at once, or as soon as a second has passed since the report before."""
        wait = self._sent_at + self._throttle - asyncio.get_running_loop().time()
        if wait <= 0:
            self._send_location()
        elif 'soon' not in self._timers:
            self._timers.set('soon', wait, self._send_location)

    def _send_location(self) -> None:
        self._timers.clear('soon')
        if self.place:
            self._send({'type': 'location', **self._report(self.place), **self._said})
        self._schedule()

    def _schedule(self) -> None:
        self._timers.set('report', self._every, self._send_location)

    def _report(self, place: tuple[float, float]) -> dict[str, Any]:
        """Its time is later than that of the report before, also after our clock was set back: the server ignores older ones."""
        self._sent_time = max(self._sent_time + 1, round(self._server_now()))
        self._sent_at = asyncio.get_running_loop().time()
        self._sent_place = place
        return {'lat': place[0], 'lng': place[1], 'time': self._sent_time}
