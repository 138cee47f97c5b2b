"""Somebody who watches the own home timeline, by the rules that docs/PROTOCOL.md gives to clients."""
import requests

from harness.watching import Watching


class Watcher(Watching):
    """
    watcher = Watcher(feed, ada)          # a session without a position; it has read the page and watches
    watcher.shown(20)                     # the newest ids on its screen
    watcher.told                          # ids that came in `posts` frames, in their order, since the connection began
    """

    READINGS = 6  # a page that stays older than the version that was named is not for ever: posts may be gone

    def __init__(self, feed, user, limit=100, between=lambda: None):
        """between: called after the first page is read and before the server knows that anybody watches."""
        super().__init__(feed.cluster.phone(user), f'watcher-{user}')
        self.feed, self.user, self.limit = feed, user, limit
        self.items, self.told = {}, []
        self._read()
        between()
        self._begin()

    def shown(self, count) -> list[int]:
        with self._lock:
            return sorted(self.items, reverse=True)[:count]

    def closed(self) -> bool:
        return self.phone.closed() is not None

    def _watch(self):
        self.phone.send({'type': 'watch', 'what': 'feed', 'version': self.version})

    def _read(self) -> bool:
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

    def _reaches(self, version) -> bool:
        return self.version == version or int(self.version[:16], 16) > int(version[:16], 16)

    def _take(self, frame):
        if frame['type'] == 'posts':
            self._apply(frame)
        elif frame['type'] == 'stale':
            if frame['version'] != self.version:
                self._want(frame['version'], frame['after_ms'])
            self.stales += 1  # whoever counts them finds it wanted
