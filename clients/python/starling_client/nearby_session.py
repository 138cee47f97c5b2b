"""The list of near friends over one connection after the other: asks for pages while more is wanted than is known, lets silent
friends expire, and tells of every change."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .events import Change, Welcome
from .nearby import NearbyList
from .timers import Timers

_PAGE_TIMEOUT_S = 10.0
_PREFETCH_EVERY_S = 0.25
_STALE_AFTER_REPORTS = 4  # reports of a friend that did not come


class NearbySession:
    def __init__(self, send: Callable[[dict[str, Any]], None], changed: Callable[[Change], None],
                 server_now: Callable[[], float], timers: Timers, prefetch: bool, stale_after: float | None):
        self._send, self._changed, self._server_now, self._timers = send, changed, server_now, timers
        self._prefetch, self._stale_after = prefetch, stale_after
        self._online = False
        self._awaiting_first_page = True
        self.list = NearbyList()

    def opening(self) -> None:
        """The next connection is being made: its first page replaces the list."""
        self._awaiting_first_page = True
        self.disconnected()

    def disconnected(self) -> None:
        """The connection is lost, and with it the answers that we wait for. Friends expire all the same."""
        self._online = False
        self.list.disconnected()
        self._schedule_expiry()

    def welcomed(self, welcome: Welcome) -> None:
        self._online = True
        stale_after = self._stale_after or welcome.report_every_s * _STALE_AFTER_REPORTS
        self.list.configure(welcome.radius_m, welcome.inactive_after_s * 1000, stale_after * 1000)

    def paged(self, frame: dict[str, Any]) -> None:
        """`nearby`"""
        if self._awaiting_first_page:
            self.list.restart(frame, self._server_now())
        else:
            self.list.page(frame, self._server_now())
        self._awaiting_first_page = False
        self._timers.clear('page')
        self._tell(Change('page'))

    def updated(self, frame: dict[str, Any]) -> None:
        """`update`"""
        came, gone = self.list.update(frame, self._server_now())
        self._tell(Change('update', came, gone))

    def refused(self, code: str) -> None:
        """An error of the server's, perhaps about the page that we asked for."""
        if self.list.asking and ('cursor' in code or 'more' in code):
            self._page_failed()

    def more(self) -> None:
        """Twenty more."""
        self.list.more()
        self._ask_for_page()
        self._changed(Change('more'))

    def _tell(self, change: Change) -> None:
        self._ask_for_page()
        self._schedule_expiry()
        self._changed(change)

    def _ask_for_page(self, everything: bool = False) -> None:
        if not self._online or self._awaiting_first_page:
            return
        cursor = self.list.next_request(everything)
        if cursor is not None:
            self._send({'type': 'more', 'after': cursor})
            self._timers.set('page', _PAGE_TIMEOUT_S, self._page_failed)
        elif self._prefetch and not self.list.complete and not self.list.asking and 'prefetch' not in self._timers:
            # Nothing is wanted for the list: the other pages may come at leisure.
            self._timers.set('prefetch', _PREFETCH_EVERY_S, lambda: self._ask_for_page(True))

    def _page_failed(self) -> None:
        self._timers.clear('page')
        self.list.give_up_request()
        self._changed(Change('page'))

    def _schedule_expiry(self) -> None:
        at = self.list.next_expiry()
        if at is None:
            self._timers.clear('expiry')
        else:
            self._timers.set('expiry', max(0.001, (at - self._server_now()) / 1000), self._expire)

    def _expire(self) -> None:
        gone, stale = self.list.expire(self._server_now())
        if gone or stale:
            self._tell(Change('expiry' if gone else 'stale', [], gone))
        else:
            self._schedule_expiry()
