"""Stands in for starling-comments where only the gateway is tested: a member of its consumer group that decides commands by the plain
model (threads.py), and answers the gateway's questions."""
import json
import threading
import time
import urllib.parse

from confluent_kafka import Consumer

from .answering import Answering
from .ports import free_port
from .records import decode
from .threads import Refused, Threads


class CommentsOwner:
    """
    owner = CommentsOwner(cluster)      # a cluster whose gateways run
    owner.commands                      # as they came, decoded
    owner.paused = True                 # decides nothing for now
    owner.deaf = True                   # leaves questions unanswered for now
    owner.close()
    """

    def __init__(self, cluster):
        self.threads, self.commands, self.asked = Threads(), [], []
        self.paused = self.deaf = False
        self._outcomes, self._decided = {}, {}
        self._lock, self._end = threading.Condition(), False
        port = free_port()
        self._server = Answering(self._reply, port)
        self._consumer = Consumer({'bootstrap.servers': cluster.broker.bootstrap, 'group.id': cluster.group('comments'),
                                   'client.id': f'stand-in@127.0.0.1:{port}', 'auto.offset.reset': 'earliest',
                                   'enable.auto.commit': False, 'isolation.level': 'read_uncommitted'})
        self._assigned = threading.Event()
        self._consumer.subscribe([cluster.topics.name('comment-commands')], on_assign=lambda *_: self._assigned.set())
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        assert self._assigned.wait(30)

    def close(self):
        self._end = True
        with self._server:
            self._reader.join()
        self._consumer.close()

    # commands

    def _read(self):
        while not self._end:
            message = self._consumer.poll(0.1)
            if message is None or message.error():
                continue
            while self.paused and not self._end:
                time.sleep(0.01)
            with self._lock:
                self._take(message)
                self._lock.notify_all()

    def _take(self, message):
        command = decode(message.value())
        assert message.key().decode() == command['subject']
        self.commands.append(command)
        about = (command['subject'], command['user'], command['key'])
        if about not in self._outcomes:
            try:
                made = self._decide(command, (message.timestamp()[1] << 22) + message.offset())
                self._outcomes[about] = None, made
            except Refused as refused:
                self._outcomes[about] = str(refused), None
        self._decided[message.partition()] = message.offset()

    def _decide(self, command, id):
        """The comment that it is about, if any; Refused."""
        subject, user, kind = command['subject'], command['user'], command['kind']
        moderator, about = command['role'] == 'MODERATOR', command['comment']
        if kind == 'REGISTER':
            self.threads.register(subject, owner=None if command['owner'] < 0 else command['owner'],
                                  who_may=None if command['who_may'] == 'SAME_WHO' else command['who_may'].lower(),
                                  review=None if command['review'] == 'SAME_REVIEW' else command['review'].lower(),
                                  closed={'CLOSED': True, 'OPENED': False}.get(command['closing']),
                                  level=None if command['level'] < 0 else command['level'])
            return None
        if kind == 'CLOSE':
            self.threads.register(subject, closed=True)
            return None
        if kind in ('POST', 'REPLY'):
            if subject not in self.threads.subjects and kind == 'POST' and command['owner'] >= 0:
                self.threads.register(subject, owner=command['owner'])
            facts = {name: command[name] for name in ('blocked', 'follows', 'friends', 'level')}
            return self.threads.write(subject, id, user, command['text'], id >> 22,
                                      reply_to=about if kind == 'REPLY' else None, **facts).id
        if kind in ('LIKE', 'UNLIKE') and not about:
            self.threads.like_subject(subject, user, kind == 'LIKE', None if command['owner'] < 0 else command['owner'], command['blocked'])
        elif kind in ('LIKE', 'UNLIKE'):
            self.threads.like(subject, about, user, kind == 'LIKE', command['blocked'])
        elif kind in ('PIN', 'UNPIN'):
            self.threads.pin(subject, about, user, kind == 'PIN', moderator)
        elif kind == 'DELETE':
            self.threads.delete(subject, about, user, moderator)
        elif kind == 'EDIT':
            self.threads.edit(subject, about, user, command['text'], command['version'], id >> 22, moderator)
        elif kind == 'REPORT':
            self.threads.report(subject, about, user)
        else:
            self.threads.moderate(subject, about, 'hidden' if kind == 'HIDE' else 'visible')
        return about

    # questions

    def _reply(self, method, path, headers, body):
        while self.deaf:
            time.sleep(0.05)
        url = urllib.parse.urlsplit(path)
        status, found = self._answer(url.path, dict(urllib.parse.parse_qsl(url.query)))
        return status, json.dumps(found).encode()

    def _answer(self, path, query):
        """(status, JSON)."""
        what, rest = path.removeprefix('/peer/comments/').split('/', 1)
        if what == 'counts':
            return 200, {'items': [self._count(subject) for subject in query['subjects'].split(',')]}
        kind, id, *comment = rest.split('/')
        subject, comment = f'{kind}:{id}', int(comment[0]) if comment else None
        with self._lock:
            self.asked.append(what)
            if what == 'outcome':
                return self._outcome(subject, query)
            known = self.threads.subjects.get(subject)
            if what == 'page':
                return self._page(subject, query)
            if what == 'likers':
                after, limit = int(query.get('after', -1)), int(query['limit'])
                above = [user for user in sorted(known.likes if known else ()) if user > after]
                return 200, {'items': [{'user': user} for user in above[:limit]], 'next': above[limit - 1] if len(above) > limit else None}
            if what == 'likes':
                ids = [id for id in query.get('ids', '').split(',') if id]
                return 200, {'liked': [id for id in ids if int(query['user']) in known.comments[int(id)].likes]}
            if known is None or (comment is not None and comment not in known.comments):
                return 404, {'code': 'no-subject' if known is None else 'no-comment'}
            if what == 'subject':
                return 200, self._subject(known)
            return self._around(subject, known, comment) if what == 'one' else self._replies(subject, known, comment, query)

    def _count(self, asked):
        kind, id, *reader = asked.split(':')
        with self._lock:
            known = self.threads.subjects.get(f'{kind}:{id}')
            liked = {'liked': int(reader[0]) in known.likes} if known and reader else {}
            return known and {'total': known.total(), 'version': known.version, 'likes': len(known.likes), **liked}

    @staticmethod
    def _subject(known):
        return {'owner': known.owner, 'closed': known.closed, 'who_may': known.who_may, 'review': known.review,
                'level': known.level, 'total': known.total(), 'roots': len(known.roots()), 'held': 0, 'likes': len(known.likes),
                'version': known.version, 'counters': known.counters}

    def _page(self, subject, query):
        sort, after = query['sort'], 0
        if 'after' in query:
            of, _, position = query['after'].partition('.')
            if of != sort:
                return 400, {'code': 'wrong-cursor'}
            after = int(position)
        page = self.threads.page(subject, sort, after, int(query['limit']), int(query['replies']))
        return 200, {**page, 'next': page['next'] and f'{sort}.{page["next"]}'}

    def _around(self, subject, known, comment):
        root = known.comments[comment].root
        around = known.roots() if root is None else known.replies(root)
        return 200, {'item': self.threads.shown(subject, comment), 'root': root and self.threads.shown(subject, root),
                     'around': [self.threads.shown(subject, one.id) for one in around if one.id != comment],
                     'complete': True}

    def _replies(self, subject, known, comment, query):
        under = [self.threads.shown(subject, reply.id) for reply in known.replies(comment)]
        after, limit = int(query.get('after', 0)), int(query['limit'])
        return 200, {'items': under[after:after + limit], 'user': known.comments[comment].user, 'version': known.version, 'complete': True,
                     'next': str(after + limit) if after + limit < len(under) else None}

    def _outcome(self, subject, query):
        about, wait_s = (subject, int(query['user']), query['key']), int(query['wait_ms']) / 1000
        if not self._lock.wait_for(lambda: about in self._outcomes, wait_s):
            return (202, {}) if 'offset' in query else (404, {'code': 'no-outcome'})
        refused, comment = self._outcomes[about]
        if refused:
            return 200, {'refused': refused, 'comment': None, 'subject': None, 'pinned': False}
        known = self.threads.subjects.get(subject)
        return 200, {'refused': None, 'comment': self.threads.shown(subject, comment) if comment else None,
                     'subject': known and self._subject(known), 'pinned': bool(known) and comment in known.pinned}
