"""Somebody who watches the own home timeline, by the rules that docs/PROTOCOL.md gives to clients."""
import threading
import time

import requests


class Watcher:
    """
    watcher = Watcher(feed, ada)          # a session without a position; it has read the page and watches
    watcher.shown(20)                     # the newest ids on its screen
    watcher.told                          # ids that came in `posts` frames, in their order, since the connection began

    A thread of its own reads frames and pages. It notes in `broken` frames that break the protocol.
    """

    def __init__(self, feed, user, limit=100, between=lambda: None):
        """between: called after the first page is read and before the server knows that anybody watches."""
        self.feed, self.user, self.limit = feed, user, limit
        self.items, self.version, self.told, self.broken, self.stales, self.rereads = {}, None, [], [], 0, 0
        self._wanted = None  # [version to have, when to read, pause after that, readings left]
        self._lock, self._end = threading.Lock(), threading.Event()
        self.phone = feed.cluster.phone(user)
        self.phone.send({'type': 'hello', 'token': self.phone.token})
        self.phone.expect('welcome')
        self._read_page()
        between()
        self._watch()
        self._thread = threading.Thread(target=self._run, daemon=True, name=f'watcher-{user}')
        self._thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._end.set()
        self._thread.join(10)
        self.phone.close()

    def shown(self, count) -> list[int]:
        with self._lock:
            return sorted(self.items, reverse=True)[:count]

    def closed(self) -> bool:
        return self.phone.closed() is not None

    def _watch(self):
        self.phone.send({'type': 'watch', 'what': 'feed', 'version': self.version})

    def _read_page(self) -> bool:
        try:
            response = self.feed.http(self.user).get('/v1/feed', params={'limit': self.limit})
        except requests.RequestException:
            return False
        if response.status_code != 200 or not response.json()['complete']:
            return False
        page = response.json()
        with self._lock:
            self.items = {int(item['id']): item for item in page['items']}
        self.version = page['version']
        self.rereads += 1
        return True

    def _apply(self, frame):
        if set(frame) != {'type', 'since', 'version', 'items', 'gone'}:
            self.broken.append(f'members: {frame}')
        for item in frame['items']:
            if item['id'] in self.told:
                self.broken.append(f'told twice: {item["id"]}')
            self.told.append(item['id'])
        if frame['version'] == self.version and frame['since'] != frame['version']:
            return
        if frame['since'] != self.version:
            self._want(frame['version'], 0)
            return
        with self._lock:
            for item in frame['items']:
                self.items[int(item['id'])] = item
            for gone in frame['gone']:
                self.items.pop(int(gone), None)
        self.version = frame['version']

    def _want(self, version, after_ms):
        self._wanted = [version, time.monotonic() + after_ms / 1000, 0.2, 6]

    def _reread(self):
        """Until the page is as new as the version that was named. A page that stays older is not for ever: posts may be gone."""
        version, _, pause, left = self._wanted
        if self._read_page():
            self._watch()
            left -= 1
            if self.version == version or int(self.version[:16], 16) > int(version[:16], 16) or not left:
                self._wanted = None
                return
        self._wanted = [version, time.monotonic() + pause, min(2 * pause, 10), left]

    def _run(self):
        at = 0
        while not self._end.wait(0.01):
            while at < len(self.phone.frames):
                frame = self.phone.frames[at]
                at += 1
                if frame['type'] == 'posts':
                    self._apply(frame)
                elif frame['type'] == 'stale':
                    self.stales += 1
                    if frame['version'] != self.version:
                        self._want(frame['version'], frame['after_ms'])
                elif frame['type'] == 'error':
                    self.broken.append(str(frame))
            if self._wanted and time.monotonic() >= self._wanted[1]:
                self._reread()
