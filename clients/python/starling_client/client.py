"""One phone: a connection to starling's edge that comes back by itself, my position reported over it, my nearby friends, my home
timeline kept up to date.

    idle --connect--> connecting --welcome--> online
                        ^    |                  |
                        |    +--closed----------+--> waiting (then connecting again)
                        |                       +--> closed  (bad or expired token, ended from another device: not by itself)
                        +--connect, renew--------------- '

One task a connection; everything happens on the event loop's thread, and listeners are called last.
"""
from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable
from enum import IntEnum
from typing import Any, List

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidURI
from websockets.typing import Subprotocol

from .api import StarlingApi
from .backoff import OVERLOADED_S, backoff_s, directed_s
from .events import Change, ClientError, Event, Friend, State, StateChange, StrangersGone, Welcome
from .comments import comments_path
from .details import NO_DETAILS, Details
from .errors import connection_ended, not_connected
from .feed import LiveFeed
from .frames import number, parse_frame
from .listeners import Teller
from .live_notices import LiveNotices
from .live_thread import LiveThread
from .nearby_session import NearbySession
from .posts import read_strangers
from .reporter import Reporter
from .timers import Timers
from .tokens import Token, TokenSource

SUBPROTOCOL = Subprotocol('starling.v1')


class CloseCode(IntEnum):
    ABNORMAL = 1006
    BAD_TOKEN = 1008
    TOO_BIG = 1009
    RESTARTING = 1012
    OVERLOADED = 1013
    ELSEWHERE = 4001
    TOO_SLOW = 4002
    TOKEN_EXPIRED = 4003


_WELCOME_TIMEOUT_S = 10.0
_CLOSE_GRACE_S = 1.0        # from a server's word that we should reconnect to its close
_TOKEN_TIMEOUT_S = 30.0     # for an application's token function to answer
_HELD_S = 10.0              # a connection that held this long was a good one
_CLOCK_SLACK_MS = 1000      # the way back and forth; below it the clocks agree
_TOKEN_REASONS = ('bad_token', 'token_expired')
_BAD_URL = object()


class StarlingClient(Teller[Event]):
    """
    async with StarlingClient('ws://localhost:8081/', token, 39.9847, 116.3184) as client:
        async for event in client.events():
            print(client.total, [(friend.name, round(friend.distance)) for friend in client.list])

    token: a JWT, or a function that gets one (see Token). lat, lng: where I am; without them, and until move(), I see no friends
    and am seen by none; the feed can be watched all the same. throttle: moves closer together than this (s) make one report.
    prefetch: ask for the pages beyond what more() wants, too, one every quarter of a second. stale_after: a friend whose
    last report is this old (s) is stale; default: four times the server's report_every_s. clock_offset_ms: what is known of
    server time minus local time before the first welcome. device: a name of 1 to 64 bytes, which my
    list of devices shows. connect_options: for websockets' connect (ssl, proxy, ...).
    """

    def __init__(self, url: str, token: Token, lat: float | None = None, lng: float | None = None, *,
                 accuracy: float | None = None, throttle: float = 1.0, prefetch: bool = False,
                 stale_after: float | None = None, clock_offset_ms: float = 0.0, device: str | None = None,
                 connect_options: dict[str, Any] | None = None, rand: Callable[[], float] = random.random):
        super().__init__()
        self._url = url
        self._tokens = TokenSource(token)
        self._token = ''
        self._device = device
        self._before: object = None  # the session of the connection before, as its welcome said it
        self._clock_offset = clock_offset_ms
        self._connect_options = connect_options or {}
        self._random = rand

        self._state = State.IDLE
        self._welcome: Welcome | None = None
        self._timers = Timers()
        self._reporter = Reporter(self._send, self.server_now, self._timers, throttle)
        self._nearby = NearbySession(self._send, self._emit, self.server_now, self._timers, prefetch, stale_after)
        self._feed: LiveFeed | None = None
        self._threads: dict[str, LiveThread] = {}  # by subject
        self._notices: LiveNotices | None = None

        self._task: asyncio.Task[None] | None = None
        self._renewal: asyncio.Task[None] | None = None
        self._background: set[asyncio.Task[Any]] = set()
        self._socket: ClientConnection | None = None
        self._failures = 0
        self._online_since = 0.0
        self._reconnect_at: float | None = None
        self._failure: BaseException | None = None
        """Why the last connection could not be made; None: it was made."""
        if lat is not None or lng is not None:
            self._place_at(lat, lng, accuracy)

    async def __aenter__(self) -> StarlingClient:
        self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # what is known

    @property
    def state(self) -> State:
        return self._state

    @property
    def welcome(self) -> Welcome | None:
        """None before the first one."""
        return self._welcome

    @property
    def position(self) -> tuple[float, float] | None:
        """None: nobody has said."""
        return self._reporter.place

    @property
    def list(self) -> List[Friend]:
        """The nearest friends, twenty and as many more as more() asked for."""
        return self._nearby.list.list()

    @property
    def known(self) -> List[Friend]:
        """Every friend known to be near, nearest first: pages and whoever an update named."""
        return list(self._nearby.list.known())

    @property
    def total(self) -> int:
        """How many friends are near: exact once complete, else as the server said last (and at least what is known)."""
        return self._nearby.list.total

    @property
    def has_more(self) -> bool:
        return self._nearby.list.has_more

    @property
    def complete(self) -> bool:
        """Every page has come."""
        return self._nearby.list.complete

    def server_now(self) -> float:
        """ms since the epoch by the server's clock."""
        return time.time() * 1000 + self._clock_offset

    # what one does with it

    def connect(self) -> None:
        """Connects now, and again whenever the connection is lost."""
        if self._state in (State.CONNECTING, State.ONLINE):
            return
        self._failures = 0
        self._tokens.trust()
        self._start()

    def reconnect(self) -> None:
        """The network has changed: whatever the socket believes, start afresh. Does nothing while idle or closed."""
        if self._state in (State.IDLE, State.CLOSED):
            return
        self._failures = 0
        self._start()

    def check(self) -> None:
        """The device has slept: is the connection what it seems to be? A hello that nobody answers ends it, and it is made
        anew. Does nothing unless online."""
        if self._state is not State.ONLINE or 'welcome' in self._timers:
            return
        self._send_hello()
        self._timers.set('welcome', _WELCOME_TIMEOUT_S, self._drop)

    async def close(self) -> None:
        """Leaves and forgets the list."""
        self._stop()
        self._nearby.list.clear()
        if self._state is not State.IDLE:
            self._set_state(State.IDLE)
        if self._background:
            await asyncio.wait(list(self._background))

    def renew(self, token: Token) -> None:
        """A newer token of the same user: renews an open connection, or opens the one that ended for want of it."""
        self._tokens = TokenSource(token)
        if self._state is State.ONLINE:
            self._renew_token()
        elif self._state is not State.IDLE:
            self._start()

    def move(self, lat: float, lng: float, accuracy: float | None = None, details: Details = NO_DETAILS) -> None:
        """I am here now. Distances change at once; the report goes out at once, too, but not more than one a second.
        InvalidPosition: it is none."""
        self._place_at(lat, lng, accuracy, details)
        if self._state is State.ONLINE:
            self._reporter.soon()
        self._emit(Change('move'))

    def more(self) -> None:
        """Twenty more in the list."""
        self._nearby.more()

    def discover(self, *, after: str | None = None, limit: int | None = None) -> None:
        """Asks for a page of strangers nearby over the connection: the same as StarlingApi.get_strangers. The answer is the event Strangers,
        or ClientError with about `discover`. One question at a time: of several, the last one is answered."""
        if self._state is State.ONLINE:
            query = {'after': after, 'limit': limit}
            self._send({'type': 'discover', **{name: value for name, value in query.items() if value is not None}})
        else:
            self._emit(ClientError('offline', 'There is no connection.'))

    def watch_feed(self, api: StarlingApi) -> LiveFeed:
        """Reads my home timeline and keeps it up to date from now on. One at a time: an earlier one is closed."""
        if self._feed:
            self._feed.close()
        feed = LiveFeed(api, lambda frame: self._say_of(feed, frame), self._random)
        self._feed = feed
        if self._state is State.ONLINE:
            feed.connected()
        feed.refresh()
        return feed

    def watch_comments(self, subject: str) -> LiveThread:
        """Tells what happens under a subject from the call of the thread's read() on. An earlier thread of the same subject is closed.
        ValueError: not a subject."""
        comments_path(subject)
        if subject in self._threads:
            self._threads[subject].close()
        thread = LiveThread(subject, lambda frame: self._say_of_thread(thread, frame), self._random)
        self._threads[subject] = thread
        return thread

    def watch_notices(self) -> LiveNotices:
        """Tells my notices from now on, as they come. One at a time: an earlier one is closed."""
        if self._notices:
            self._notices.close()
        notices = LiveNotices(lambda frame: self._say_of(notices, frame))
        self._notices = notices
        if self._state is State.ONLINE:
            notices.connected()
        return notices

    # the connection

    def _start(self) -> None:
        self._stop()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def _stop(self) -> None:
        """Abandons what is under way; the socket is closed behind our back."""
        if self._task and self._task is not asyncio.current_task():
            self._task.cancel()
        self._task = None
        self._drop()
        self._nearby.disconnected()
        self._timers.clear_all()

    def _drop(self) -> None:
        """The socket is of no use any more, whether or not it knows."""
        socket, self._socket = self._socket, None
        if socket:
            self._in_background(socket.close())

    async def _run(self) -> None:
        while True:
            self._reconnect_at = None
            self._nearby.opening()
            self._set_state(State.CONNECTING)
            self._failure = None
            code, why = await self._attempt()
            if self._task is not asyncio.current_task():
                return  # a listener has started anew, or closed
            delay = self._lost(code, why)
            if delay is None:
                return
            await asyncio.sleep(delay)

    def _lost(self, code: object, why: str) -> float | None:
        """Tells of it. Seconds until the next attempt; None: there is none."""
        loop_now = asyncio.get_running_loop().time()
        if self._state is State.ONLINE and loop_now - self._online_since >= _HELD_S:
            self._failures = 0
        self._drop()
        self._timers.clear_all()
        self._nearby.disconnected()
        if code is _BAD_URL:
            self._task = None
            self._set_state(State.CLOSED, reason='url')
            return None
        assert isinstance(code, int)
        reason = self._final(code, why)
        if reason:
            self._task = None
            self._set_state(State.CLOSED, reason=reason, code=code, error=connection_ended(code, why, False))
            return None
        if self._reconnect_at is None:
            delay = backoff_s(self._failures, self._random, OVERLOADED_S if code == CloseCode.OVERLOADED else 0.0)
        else:
            delay = max(0.0, self._reconnect_at - loop_now)
        self._failures += 1
        error = not_connected(self._url, self._failure) if self._failure else connection_ended(code, why)
        self._set_state(State.WAITING, code=code, retry_after=delay, error=error)
        return delay

    def _final(self, code: int, why: str) -> str | None:
        """Why there is no coming back by ourselves; None: there is."""
        if code == CloseCode.ELSEWHERE:
            return 'elsewhere'
        if code not in (CloseCode.TOKEN_EXPIRED, CloseCode.BAD_TOKEN):
            return None
        # 1008 is said of other things, too: a hello that came too late over a bad network, say. Those pass.
        if code == CloseCode.BAD_TOKEN and why and why not in _TOKEN_REASONS:
            return None
        if self._tokens.refused():
            return None
        return 'expired' if code == CloseCode.TOKEN_EXPIRED or why == 'token_expired' else 'token'

    async def _attempt(self) -> tuple[object, str]:
        """One connection, from the token to its end: (close code, the server's reason)."""
        try:
            self._token = await asyncio.wait_for(self._tokens.get(), _TOKEN_TIMEOUT_S)
        except Exception as error:  # the application's function may raise what it likes
            self._emit(ClientError('no_token', f'{type(error).__name__}: {error}'))
            return CloseCode.ABNORMAL, ''
        try:
            socket = await connect(self._url, subprotocols=[SUBPROTOCOL],
                                   **{'compression': None, 'max_size': None, 'open_timeout': _WELCOME_TIMEOUT_S,
                                      'ping_interval': None, 'close_timeout': 2, **self._connect_options})
        except InvalidURI as error:
            self._emit(ClientError('bad_url', str(error)))
            return _BAD_URL, ''
        except (OSError, InvalidHandshake, EOFError, TimeoutError, asyncio.TimeoutError) as error:
            self._failure = error
            return CloseCode.ABNORMAL, ''
        self._socket = socket
        self._timers.set('welcome', _WELCOME_TIMEOUT_S, self._drop)
        self._send_hello()
        try:
            async for text in socket:
                if socket is not self._socket:
                    break
                self._received(text)
        except ConnectionClosed:
            pass
        if socket is not self._socket:  # dropped by ourselves
            return CloseCode.ABNORMAL, ''
        return socket.close_code or CloseCode.ABNORMAL, socket.close_reason or ''

    def _received(self, text: str | bytes) -> None:
        try:
            frame = parse_frame(text)
        except ValueError:
            self._bad_frame()
            return
        kind = frame.get('type')
        if kind == 'welcome':
            self._welcomed(frame)
        elif kind == 'nearby':
            self._nearby.paged(frame)
        elif kind == 'update':
            self._nearby.updated(frame)
        elif kind == 'posts' and self._feed:
            self._feed.posted(frame)
        elif kind == 'stale' and frame.get('what') == 'feed' and self._feed:
            self._feed.stale(frame)
        elif kind in ('comments', 'stale') and frame.get('subject') in self._threads:
            thread = self._threads[frame['subject']]
            (thread.told if kind == 'comments' else thread.stale)(frame)
        elif kind == 'notices' and self._notices:
            self._notices.told(frame)
        elif kind == 'strangers':
            self._discovered(frame)
        elif kind == 'strangers_gone':
            self._emit(StrangersGone(frame.get('gone', [])))
        elif kind == 'reconnect':
            self._told_to_reconnect(frame)
        elif kind == 'error':
            self._failed(frame)
        # else: a newer server may say more than we understand

    def _welcomed(self, frame: dict[str, Any]) -> None:
        first = self._state is not State.ONLINE
        now = time.time() * 1000
        server_time = number(frame.get('server_time'), now)
        if abs(server_time - now - self._clock_offset) > _CLOCK_SLACK_MS:
            self._clock_offset = server_time - now
            self._reporter.forget()
        self._welcome = Welcome(frame['user'], int(server_time), _positive(frame.get('radius_m'), float('inf')),
                                _positive(frame.get('report_every_s'), 30), _positive(frame.get('inactive_after_s'), 600),
                                None if frame.get('session') is None else str(frame['session']))
        self._before = frame.get('session')
        self._nearby.welcomed(self._welcome)
        self._timers.clear('welcome')
        self._tokens.trust()
        self._schedule_renewal()
        if first:
            self._online_since = asyncio.get_running_loop().time()
            self._set_state(State.ONLINE)
        self._reporter.welcomed(self._welcome.report_every_s)
        if first and self._feed:
            self._feed.connected()
        if first and self._notices:
            self._notices.connected()
        for thread in list(self._threads.values()) if first else []:
            thread.connected()
        self._emit(self._welcome)

    def _told_to_reconnect(self, frame: dict[str, Any]) -> None:
        after = directed_s(max(0.0, number(frame.get('after_ms'), 0)) / 1000, self._random)
        self._reconnect_at = asyncio.get_running_loop().time() + after
        # The server closes when it likes until then, or right after. If it never does, we keep to what was said.
        self._timers.set('reconnect', max(after, _CLOSE_GRACE_S), self._start)

    def _failed(self, frame: dict[str, Any]) -> None:
        code, about = str(frame.get('code')), frame.get('about')
        if not about:
            self._nearby.refused(code)
        after_ms = number(frame.get('after_ms'), -1)
        self._emit(ClientError(code, str(frame.get('message', code)), about, after_ms / 1000 if after_ms >= 0 else None))

    def _discovered(self, frame: dict[str, Any]) -> None:
        try:
            page = read_strangers(frame)
        except (KeyError, TypeError, ValueError, AttributeError):  # items that are none
            page = None
        if page is not None:
            self._emit(page)
        else:
            self._bad_frame()

    def _bad_frame(self) -> None:
        self._emit(ClientError('bad_frame', 'The server sent what is not a frame.'))

    # the token

    def _schedule_renewal(self) -> None:
        """A function can be asked for the next token before this one ends."""
        wait = self._tokens.renew_in(self._token, self.server_now())
        if wait is None:
            self._timers.clear('renewal')
        else:
            self._timers.set('renewal', wait, self._renew_token)

    def _renew_token(self) -> None:
        if self._renewal:
            self._renewal.cancel()
        self._renewal = self._in_background(self._renewing())

    async def _renewing(self) -> None:
        socket = self._socket
        try:
            token = await asyncio.wait_for(self._tokens.get(), _TOKEN_TIMEOUT_S)
        except Exception as error:  # the application's function may raise what it likes
            self._emit(ClientError('no_token', f'{type(error).__name__}: {error}'))
            if socket is self._socket and self._state is State.ONLINE:
                self._schedule_renewal()
            return
        if socket is self._socket and self._state is State.ONLINE:
            self._token = token
            self._send_hello()

    # what is said

    def _send_hello(self) -> None:
        said = {'device': self._device, 'before': None if self._state is State.ONLINE else self._before}
        self._send({'type': 'hello', 'token': self._token, **{name: value for name, value in said.items() if value is not None},
                    **self._reporter.hello()})

    def _place_at(self, lat: float | None, lng: float | None, accuracy: float | None, details: Details = NO_DETAILS) -> None:
        self._reporter.move(lat, lng, accuracy, details)
        if self._reporter.place:
            self._nearby.list.place(*self._reporter.place)

    def _say_of(self, live: LiveFeed | LiveNotices, frame: dict[str, Any]) -> None:
        if self._state is State.ONLINE and live in (self._feed, self._notices):
            self._send(frame)

    def _say_of_thread(self, thread: LiveThread, frame: dict[str, Any]) -> None:
        if self._threads.get(thread.subject) is not thread:
            return
        if frame['type'] == 'unwatch':
            del self._threads[thread.subject]
        if self._state is State.ONLINE:
            self._send(frame)

    def _send(self, frame: dict[str, Any]) -> None:
        if self._socket:
            self._in_background(_send_quietly(self._socket, json.dumps(frame)))

    # tasks and listeners

    def _in_background(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    def _set_state(self, state: State, **details: Any) -> None:
        self._state = state
        self._emit(StateChange(state, **details))


async def _send_quietly(socket: ClientConnection, text: str) -> None:
    """What cannot be sent is of no use later: the next connection begins with a hello."""
    try:
        await socket.send(text)
    except ConnectionClosed:
        pass


def _positive(value: Any, otherwise: float) -> float:
    found = number(value, otherwise)
    return found if found > 0 else otherwise
