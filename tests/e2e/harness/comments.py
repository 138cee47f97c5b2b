"""Comments, as gateways write and ask for them, and a model of the rules."""
import itertools

from .http import Http, pages_of
from .waiting import PATIENCE, eventually, now_ms


class Comments:
    """
    comments = Comments(cluster)                     # started with comments=2
    told = comments.tell('POST', 'post:1', user=7, text='hello', owner=1)     # its outcome, once it is decided
    comments.thread('post:1', 'newest')              # all roots, a page at a time
    """

    _keys = itertools.count()

    def __init__(self, cluster):
        self.cluster = cluster
        self.http = Http('')
        self.http.headers['Authorization'] = f'Bearer {cluster.keys.peer_token}'

    def write(self, kind, subject, user, key=None, **fields) -> tuple[str, int]:
        """Writes a command; its key and its offset."""
        key = key or f'key-{next(self._keys)}'
        command = {'kind': kind, 'subject': subject, 'user': user, 'role': 'USER', 'key': key, 'comment': 0, 'text': '',
                   'mentions': [], 'owner': -1, 'level': 0, 'follows': False, 'friends': False, 'blocked': False,
                   'who_may': 'SAME_WHO', 'review': 'SAME_REVIEW', 'closing': 'SAME_CLOSING', 'time': now_ms(), **fields}
        command['comment'] = int(command['comment'])
        message = self.cluster.topics.produce('comment-commands', subject.encode(), ('comment-command', command))
        return key, message.offset

    def ask(self, path, timeout=30 * PATIENCE, **query):
        """Asks whichever process owns the subject. The status and the answer; waits while nobody is its owner."""
        def asked():
            for daemon in self.cluster.of('comments'):
                if not daemon.alive():
                    continue
                try:
                    response = self.http.get(f'http://{daemon.peer}/peer/comments/{path}', params=query)
                except OSError:
                    continue
                if response.status_code not in (202, 421, 503):
                    return response.status_code, response.json()
            return None

        return eventually(asked, timeout, what=f'an owner answers {path}')

    def outcome(self, subject, user, key, offset=None, comment=0):
        known = {} if offset is None else {'offset': offset}
        return self.ask(f'outcome/{subject.replace(":", "/")}', user=user, key=key, comment=int(comment), wait_ms=2000, **known)

    def tell(self, kind, subject, user, **fields) -> dict:
        """Writes a command and waits for its outcome."""
        key, offset = self.write(kind, subject, user, **fields)
        status, told = self.outcome(subject, user, key, offset, fields.get('comment', 0))
        assert status == 200, (status, told)
        return told

    def all(self, path, **query) -> list[dict]:
        """All items of a list, a page at a time."""
        def ask(**cursor):
            status, page = self.ask(path, **query, **cursor)
            assert status == 200, page
            return page

        return [item for page in pages_of(ask) for item in page['items']]

    def thread(self, subject, sort='floor', **query) -> list[dict]:
        return self.all(f'page/{subject.replace(":", "/")}', sort=sort, **query)


class Thread:
    """What a subject must hold: fed with commands and what they came to."""

    def __init__(self):
        self.comments = {}  # id -> the comment as the API has it, with `likers`
        self.likers = set()  # of the subject itself

    def roots(self):
        return sorted((c for c in self.comments.values() if c['root'] is None), key=lambda c: c['floor'])

    def under(self, root):
        return sorted((c for c in self.comments.values() if c['root'] == root), key=lambda c: c['floor'])

    def total(self):
        return sum(c['state'] == 'visible' for c in self.comments.values())

    def made(self, user, text, told, reply_to=None):
        root = reply_to and (self.comments[reply_to]['root'] or reply_to)
        siblings = self.under(root) if root else self.roots()
        self.comments[told['id']] = {'id': told['id'], 'user': user, 'text': text, 'floor': len(siblings) + 1,
                                     'root': root, 'reply_to': reply_to, 'state': 'visible', 'likers': set()}

    def shown(self, comment):
        """As a page has it, but for its time and its replies."""
        answers = [c for c in self.comments.values() if c['state'] == 'visible' and comment['id'] in
                   (c['reply_to'] if comment['root'] else c['root'],)]
        return {**{k: v for k, v in comment.items() if k != 'likers'}, 'likes': len(comment['likers']),
                'reply_count': len(answers), 'text': comment['text'] if comment['state'] == 'visible' else None}


def plain(comment):
    """A comment of a page without what the model does not know."""
    return {k: v for k, v in comment.items() if k not in ('time', 'version', 'edited', 'replies')}
