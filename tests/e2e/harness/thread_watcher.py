"""Somebody who watches the comments of a subject, by the rules that docs/PROTOCOL.md gives to clients."""
import time

import requests

from harness.watching import Watching

FIRST_REPLIES = 20  # that come along with each root, and the most that may
MEMBERS = {'type', 'subject', 'since', 'version', 'total', 'likes', 'sampled', 'items', 'gone', 'counters'}


class ThreadWatcher(Watching):
    """
    watcher = ThreadWatcher(cluster, ada, 'post:123')    # a session without a position; it has read the thread and watches
    watcher.thread()                                     # {id: comment without its replies}, held ones left out
    watcher.total, watcher.likes, watcher.rereads, watcher.frames
    """

    PAUSE_MAX_S = 5

    def __init__(self, cluster, user, subject, phone=None):
        """phone: of a session that is greeted already, which is shared with other watchers."""
        super().__init__(phone or cluster.phone(user), f'thread-watcher-{user}', greeted=phone is not None)
        self.cluster, self.user, self.subject = cluster, user, subject
        self.http = cluster.http(user)
        self.path = f'/v1/comments/{subject.replace(":", "/")}'
        self.comments, self.total, self.likes, self.frames = {}, None, None, []
        while not self._read():
            time.sleep(0.2)
        self._begin()

    def thread(self) -> dict[int, dict]:
        with self._lock:
            return {id: comment for id, comment in self.comments.items() if comment['state'] != 'held'}

    def told(self, type='comments') -> list[dict]:
        return [frame for frame in list(self.frames) if frame['type'] == type]

    def _watch(self):
        self.phone.send({'type': 'watch', 'what': 'comments', 'subject': self.subject, 'version': self.version})

    def _read(self) -> bool:
        """The whole thread. Its version is that of the first page: changes after that do no harm on the other pages."""
        comments, first = {}, None
        try:
            for page in self.http.pages(self.path, sort='floor', limit=1000, replies=FIRST_REPLIES):
                first = first or page
                comments.update((int(one['id']), one) for root in page['items'] for one in (root, *root['replies']))
            for id in [id for id, comment in comments.items() if len(comment['replies']) == FIRST_REPLIES]:
                comments.update((int(reply['id']), reply) for reply in self.http.items(f'{self.path}/{id}/replies', limit=1000))
        except (AssertionError, requests.RequestException):
            return False  # nobody owns the subject just now
        with self._lock:
            self.comments = {id: {**comment, 'replies': []} for id, comment in comments.items()}
            self.version, self.total, self.likes = first['version'], first['total'], first['likes']
        self.rereads += 1
        return True

    def _apply(self, frame):
        if set(frame) != MEMBERS:
            self.broken.append(f'members: {frame}')
        if any(item['state'] == 'held' for item in frame['items']):
            self.broken.append(f'held: {frame}')
        if {item['id'] for item in frame['items'] if item['text'] is None} != set(frame['gone']):
            self.broken.append(f'gone: {frame}')
        if not frame['sampled'] and frame['version'] <= self.version:
            return
        if not frame['sampled'] and frame['since'] > self.version:
            self._want(frame['version'], 0)
            return
        with self._lock:
            for gone in frame['gone']:
                self.comments.pop(int(gone), None)
            for item in frame['items']:
                self.comments[int(item['id'])] = item
            for counters in frame['counters']:
                if int(counters['id']) in self.comments:
                    self.comments[int(counters['id'])] |= {'likes': counters['likes'], 'reply_count': counters['reply_count']}
            self.total, self.likes = frame['total'], frame['likes']
            if not frame['sampled']:
                self.version = frame['version']

    def _reaches(self, version) -> bool:
        return self.version >= version

    def _take(self, frame):
        if frame.get('subject') != self.subject or frame['type'] not in ('comments', 'stale'):
            return
        self.frames.append(frame)
        if frame['type'] == 'comments':
            self._apply(frame)
            return
        if set(frame) != {'type', 'what', 'subject', 'version', 'after_ms'} or frame['what'] != 'comments':
            self.broken.append(f'members: {frame}')
        if frame['version'] > self.version:
            self._want(frame['version'], frame['after_ms'])
        self.stales += 1  # whoever counts them finds it wanted
