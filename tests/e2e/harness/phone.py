"""A phone, built on the `websockets` package: it says hello, reports, and keeps its screen from what the server sends."""
import json
import threading
import time

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from .geo import distance_m
from .secure import SecureConnection
from .waiting import PATIENCE, eventually, now_ms


class Phone:
    """One connection of one user. A context manager; frames are received by a thread of its own.

    screen: {friend: the item as the server last sent it}, distances computed anew when the phone itself moves.
    frames: every frame received, parsed, in order.
    """

    def __init__(self, url: str, user: int, token: str | None, subprotocol='starling.v1', **options):
        self.url, self.user, self.token = url, user, token
        self.frames, self.screen = [], {}
        self.lat = self.lng = None
        self.total = None          # what the last `nearby` said
        self.cursor = None         # where `more` goes on; None: the last page was shown
        self._more = 0             # pages that were asked for and have not come
        self._seen = 0             # frames that `expect` has handed out
        self._changed = threading.Condition()
        self._closed = None
        self._subprotocol = subprotocol
        options = {'subprotocols': [subprotocol] if subprotocol else None, 'compression': None, 'open_timeout': 10,
                   'close_timeout': 2, 'max_size': None, 'ping_interval': None, 'proxy': None, **options}
        self._socket = SecureConnection(url, **options) if 'ssl' in options else connect(url, legacy=True, **options)
        self._thread = threading.Thread(target=self._receive, daemon=True, name=f'phone-{user}')
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # what it says

    def send(self, frame: dict):
        self._socket.send(json.dumps(frame))

    def send_raw(self, data):
        """str: a text frame as it is; bytes: a binary frame."""
        self._socket.send(data)

    def hello(self, lat: float, lng: float, time=None, token=None, wait=True):
        """Says hello and, unless told not to, waits for welcome and the first page, which is returned."""
        self.lat, self.lng = lat, lng
        self.send({'type': 'hello', 'token': token or self.token, 'lat': lat, 'lng': lng,
                   'time': now_ms() if time is None else time})
        if wait:
            self.expect('welcome')
            return self.expect('nearby')
        return None

    def report(self, lat: float, lng: float, time=None, accuracy=None, **details):
        frame = {'type': 'location', 'lat': lat, 'lng': lng, 'time': now_ms() if time is None else time, **details}
        if accuracy is not None:
            frame['accuracy'] = accuracy
        with self._changed:
            self.lat, self.lng = lat, lng
            for item in self.screen.values():
                item['distance_m'] = distance_m(lat, lng, item['lat'], item['lng'])
        self.send(frame)

    def more(self, after=None):
        """Asks for the next page and returns it."""
        with self._changed:
            self._more += 1
        cursor = self.cursor if after is None else after
        self.send({'type': 'more', **({} if cursor is None else {'after': cursor})})
        return self.expect('nearby')

    # what it hears

    def expect(self, kind: str | tuple, timeout=10.0 * PATIENCE, where=None) -> dict:
        """The next frame of that type, or of one of those types (and for which where(frame) holds); frames before it are passed over."""
        deadline = time.monotonic() + timeout
        kinds = (kind,) if isinstance(kind, str) else kind
        with self._changed:
            while True:
                while self._seen < len(self.frames):
                    frame = self.frames[self._seen]
                    self._seen += 1
                    if frame['type'] in kinds and (where is None or where(frame)):
                        return frame
                left = deadline - time.monotonic()
                if self._closed is not None or left <= 0:
                    raise AssertionError(f'phone of {self.user}: no {kind!r} frame within {timeout} s; '
                                         f'close: {self._closed}, last frames: {self.frames[-5:]}')
                self._changed.wait(left)

    def friends(self) -> set:
        """The users on the screen."""
        with self._changed:
            return set(self.screen)

    def places(self) -> dict:
        """{user on the screen: (lat, lng)}"""
        with self._changed:
            return {user: (item['lat'], item['lng']) for user, item in self.screen.items()}

    def wait_screen(self, users, timeout=10.0 * PATIENCE):
        """Waits until exactly these users are on the screen; returns it."""
        wanted = set(users)

        def same():
            assert self.friends() == wanted, f'screen of {self.user}: {sorted(self.friends())}, not {sorted(wanted)}'
            return True

        eventually(same, timeout)
        return self.screen

    def wait_item(self, friend, where, timeout=10.0 * PATIENCE) -> dict:
        """Waits until that friend is on the screen and where(item) holds; returns the item."""
        def holds():
            with self._changed:
                item = self.screen.get(friend)
            assert item is not None and where(item), f'screen of {self.user}: {friend} is {item}'
            return dict(item)

        return eventually(holds, timeout)

    # how it ends

    def closed(self) -> tuple | None:
        """(code, reason) when the connection is closed, else None. 1006: it just vanished."""
        return self._closed

    def wait_closed(self, timeout=10.0 * PATIENCE) -> int:
        """Waits for the server to close, and returns the code."""
        eventually(lambda: self._closed is not None, timeout, what=f'the phone of {self.user} is closed')
        return self._closed[0]

    def close(self):
        """Closes in an orderly way."""
        self._socket.close()
        self._thread.join(5)

    def vanish(self):
        """The network is gone: no close frame, the socket just ends."""
        self._socket.socket.shutdown(2)
        self._thread.join(5)

    def _receive(self):
        try:
            for text in self._socket:
                frame = json.loads(text)
                with self._changed:
                    self._apply(frame)
                    self.frames.append(frame)
                    self._changed.notify_all()
        except ConnectionClosed:
            pass
        finally:
            with self._changed:
                self._closed = self._socket.close_code or 1006, self._socket.close_reason or ''
                self._changed.notify_all()

    def _apply(self, frame):
        if frame['type'] == 'nearby':
            if self._more:
                self._more -= 1
            else:
                self.screen.clear()
            self.total, self.cursor = frame['total'], frame['next']
            self._show(frame['items'])
        elif frame['type'] == 'update':
            self._show(frame['near'])
            for user in frame['gone']:
                self.screen.pop(user, None)

    def _show(self, items):
        for item in items:
            self.screen[item['user']] = dict(item)
