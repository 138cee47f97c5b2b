"""Fifty people act two thousand times while gateways, edges, feed processes and the receiver of notify.url are killed, hang and refuse: in the
end each user's notices, as they are kept, listed, shown on live screens and pushed, are those of brute force. Covers feed/pushing.c."""
import collections
import random
import shutil
import threading
import time

import pytest
import requests

from harness.feed import Feed
from harness.http import Http
from harness.pushed import Pushed
from harness.waiting import eventually
from test_notices_live import Bell

pytestmark = pytest.mark.timeout(900)

PEOPLE, ACTIONS, THREADS, DAY_MS = 50, 2000, 5, 86_400_000
WORDS = '', 'follow', 'mention', 'reply', 'request', 'accepted', 'like'
GATHERED = 'follow', 'request', 'accepted', 'like'


class Town:
    def __init__(self, cluster, users, seed):
        self.cluster, self.users, self.feed = cluster, users, Feed(cluster)
        self.private, self.marking, self.watching, self.choosy = users[:3], users[3:6], users[6:11], users[11:14]
        self.muted = {users[14]: set(users[20:30]), users[15]: set(users[25:40])}
        self.no_push = {'follow', 'like'}                   # of the choosy
        self.lock, self.chance = threading.Lock(), random.Random(seed)
        self.told = collections.defaultdict(set)            # user -> {(what, from, subject, comment)}
        self.following, self.requests, self.asked = collections.defaultdict(set), collections.defaultdict(set), set()
        self.posts, self.likes, self.mentions = [], collections.defaultdict(set), {}
        self.marks, self.done, self.failures, self.over = {}, 0, [], False
        self.bells = collections.defaultdict(list)

    # ---- one request, for as long as it takes ----

    def ask(self, user, method, path, statuses, **fields):
        """By any gateway, until it is answered so."""
        deadline, seen = time.monotonic() + 120, collections.Counter()
        while time.monotonic() < deadline:
            gateway = random.choice(self.cluster.of('ingest')).settings['ingest.listen']
            try:
                response = Http(f'http://{gateway}', self.cluster.token(user)).request(method, path, **fields)
                seen[response.status_code, response.text] += 1
                if response.status_code in statuses:
                    return response.json() if response.content else None
            except requests.RequestException as error:
                seen[str(error)[-60:]] += 1
            time.sleep(0.05)
        raise AssertionError(f'{user}: {method} {path}: {dict(seen)}')

    # ---- what people do ----

    def prepare(self):
        for user in self.private:
            self.ask(user, 'PUT', '/v1/visibility', {200}, json={'posts': 'followers'})
        for user in self.choosy:
            self.ask(user, 'PUT', '/v1/notices/preferences', {200},
                     json={kind: {'live': True, 'push': False} for kind in self.no_push})
        for user, others in self.muted.items():
            for other in others:
                self.ask(user, 'PUT', f'/v1/mutes/{other}', {200})
        for user in self.users:
            self.ask(user, 'PUT', '/v1/handle', {200}, json={'handle': f'chaos_{user}'})
        for user in self.users[3:]:
            self.post(user, self.chance)

    def post(self, user, chance):
        # A user who may not see a post is not shown the notice.
        mentioned = chance.choice([other for other in self.users if other != user]) if chance.random() < 0.5 and user not in self.private else None
        text = f'hello @chaos_{mentioned}' if mentioned else 'hello'
        post = self.ask(user, 'POST', '/v1/posts', {201}, json={'text': text, 'key': f'{user}-{chance.random()}'})['id']
        with self.lock:
            if user not in self.private:
                self.posts.append((user, post))
            self.mentions[int(post)] = mentioned

    def follow(self, user, chance):
        other = chance.choice([other for other in self.users if other != user])
        if other in self.private:
            if (user, other) in self.asked:
                if user in self.requests[other]:
                    self.accept_or_withdraw(user, other, chance)
                return
            self.asked.add((user, other))
            self.ask(user, 'PUT', f'/v1/follows/{other}', {200})
            with self.lock:
                self.told[other].add(('request', user, None, None))
                self.requests[other].add(user)
            return
        if other in self.following[user]:
            self.ask(user, 'DELETE', f'/v1/follows/{other}', {200})
            self.following[user].discard(other)
            return
        self.ask(user, 'PUT', f'/v1/follows/{other}', {200})
        self.following[user].add(other)
        with self.lock:
            self.told[other].add(('follow', user, None, None))

    def accept_or_withdraw(self, user, other, chance):
        if chance.random() < 0.3:
            self.ask(user, 'DELETE', f'/v1/follows/{other}', {200})
        else:
            self.ask(other, 'PUT', f'/v1/followers/{user}', {200, 204})
            with self.lock:
                self.told[user].add(('accepted', other, None, None))
        with self.lock:
            self.requests[other].discard(user)

    def like(self, user, chance):
        with self.lock:
            author, post = chance.choice(self.posts)
            wanted = user not in self.likes[post]
            if author == user or (wanted and len(self.likes[post]) >= 12):  # all of them are told
                return
            (self.likes[post].add if wanted else self.likes[post].discard)(user)
        self.ask(user, 'PUT' if wanted else 'DELETE', f'/v1/posts/{post}/like', {200, 204})
        if wanted:
            with self.lock:
                self.told[author].add(('like', user, f'post:{post}', None))

    def reply(self, user, chance):
        with self.lock:
            author, post = chance.choice(self.posts)
        comment = self.ask(user, 'POST', f'/v1/comments/post/{post}', {201}, json={'text': 'well', 'key': f'{user}-{chance.random()}'})['id']
        if author != user:
            with self.lock:
                self.told[author].add(('reply', user, f'post:{post}', comment))

    def mark(self, user):
        """All that is there now is read."""
        items = self.ask(user, 'GET', '/v1/notices', {200})['items']
        if items:
            self.ask(user, 'PUT', '/v1/notices/read', {200}, json={'until': items[0]['id']})
            with self.lock:
                self.marks[user] = max(self.marks.get(user, (0,)), order(items[0]['id']))

    def act(self, thread):
        chance = random.Random(f'{self.chance.random()}-{thread}')
        mine = self.users[thread::THREADS]
        try:
            for _ in range(ACTIONS // THREADS):
                user, what = chance.choice(mine), chance.random()
                if user in self.marking and what < 0.15:
                    self.mark(user)
                elif what < 0.45:
                    self.follow(user, chance)
                elif what < 0.65:
                    self.like(user, chance)
                elif what < 0.85:
                    self.reply(user, chance)
                else:
                    self.post(user, chance)
                with self.lock:
                    self.done += 1
        except Exception as error:
            self.failures.append(error)

    # ---- live ----

    def watch(self, user):
        """A screen that comes back whenever its edge dies."""
        while not self.over:
            try:
                bell = Bell(self.feed, user)
            except Exception:
                time.sleep(0.2)
                continue
            self.bells[user].append(bell)
            while not self.over and bell.phone._closed is None:
                time.sleep(0.05)

    def screen_is(self, user, page):
        for bell in self.bells[user]:
            ids = [item['id'] for item in bell.items]
            assert len(set(ids)) == len(ids), 'twice on a socket'
        shown = {item['id'] for bell in self.bells[user] for item in bell.items}
        return self.bells[user][-1].unread == page['unread'] and {item['id'] for item in page['items']} <= shown


def order(id):
    """Of the ids of one user: the newer, the greater."""
    time_ms, kind, number = map(int, id.split('.'))
    return time_ms, -kind, -number


# ---- brute force ----

def kept_by_user(town):
    """{user: {id: (what, from, subject, comment)}} of the topic, which the owner reads."""
    kept = collections.defaultdict(dict)
    for key, value in town.cluster.topics.latest('notices').items():
        time_ms = 2**63 - 1 - int.from_bytes(key[8:16], 'big')
        id = f'{time_ms}.{key[16]}.{int.from_bytes(key[17:25], "big")}'
        kept[int.from_bytes(key[:8], 'big')][id] = (
            WORDS[key[16]], value['user'], value['subject'] or None, str(value['comment']) if value['comment'] else None)
    return kept


def gathered(kept):
    """The groups of the list, newest first: (what, subject, comment, whose is newest)."""
    groups = {}
    for id in sorted(kept, key=order, reverse=True):
        what, user, subject, comment = kept[id]
        group = (what, subject, comment, order(id)[0] // DAY_MS) if what in GATHERED else id
        groups.setdefault(group, (id, what, user, subject, comment))
    return list(groups.values())


def check(town, receiver, user, kept):
    expected = town.told[user]
    assert set(kept.values()) == expected and len(kept) == len(expected), f'{user}: kept'
    shown = {id: notice for id, notice in kept.items() if notice[1] not in town.muted.get(user, ())
             and (notice[0] != 'request' or notice[1] in town.requests[user])}
    items = [item for page in town.feed.pages(user, '/v1/notices', limit=100) for item in page['items']]
    assert [(item['id'], item['what'], item['user'], item['subject'], item['comment']) for item in items] == gathered(shown), f'{user}: listed'
    mark = town.marks.get(user, (0,))
    page = town.feed.http(user).ok('GET', '/v1/notices')
    assert page['unread'] == sum(order(item['id']) > mark for item in items), f'{user}: unread'
    wanted = {id: notice for id, notice in shown.items() if user not in town.choosy or notice[0] not in town.no_push}
    allowed = {notice for notice in expected if notice[1] not in town.muted.get(user, ())
               and (user not in town.choosy or notice[0] not in town.no_push)}
    assert receiver.acts(user) <= allowed, f'{user}: pushed, and should not be'
    if user in town.watching:
        eventually(lambda: town.screen_is(user, page), 240, what=f'the screen of {user}')
    else:
        due = {id for id in wanted if order(id) > mark}
        eventually(lambda: due <= receiver.of(user).keys(), 60, what=f'{user}: {due - receiver.of(user).keys()} are pushed')


# ---- trouble ----

def kill(process, disk=False):
    process.kill()
    if disk:
        shutil.rmtree(process.settings['data.dir'])
    time.sleep(0.5)
    process.start(wait=False)


def trouble(town, receiver):
    """Ten kills, and a receiver that fails in every way, spread over the actions."""
    of = town.cluster.of
    steps = [
        lambda: receiver.become('refuses'), lambda: kill(of('feed')[0]), lambda: kill(of('ingest')[1]), lambda: receiver.become('hangs'),
        lambda: kill(of('fanout')[0]), lambda: kill(of('feed')[1], disk=True), lambda: receiver.become('well'), lambda: kill(of('ingest')[0]),
        lambda: receiver.become('away'), lambda: kill(of('feed')[0], disk=True), lambda: kill(of('fanout')[1]), lambda: receiver.become('well'),
        lambda: kill(of('feed')[1]), lambda: receiver.become('hangs'), lambda: kill(of('ingest')[1]), lambda: receiver.become('well'),
    ]
    for number, step in enumerate(steps):
        while town.done < ACTIONS * (number + 0.5) / (len(steps) + 1) and not town.failures:
            time.sleep(0.05)
        step()


def waiting(town):
    return sum(process.total('starling_feed_notify_waiting') for process in town.cluster.feeds)


def test_all_that_people_are_told_is_that_of_brute_force(make_cluster, users, tmp_path):
    with Pushed(tmp_path) as receiver:
        cluster = make_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000, **receiver.settings})
        town = Town(cluster.start(ingests=2, fanouts=2, sinks=0, feeds=2, comments=1), users(PEOPLE), 31)
        town.prepare()
        screens = [threading.Thread(target=town.watch, args=(user,), daemon=True) for user in town.watching]
        actors = [threading.Thread(target=town.act, args=(number,), daemon=True) for number in range(THREADS)]
        try:
            for thread in screens + actors:
                thread.start()
            trouble(town, receiver)
            for thread in actors:
                thread.join()
            assert not town.failures, town.failures[0]
            for process in cluster.daemons:
                process.wait_ready(120)
            eventually(lambda: waiting(town) == 0, 180, every=0.5, what='all is pushed')
            texts = {int.from_bytes(key[8:16], 'big'): value.get('mentions', []) for key, value in cluster.topics.latest('post-texts').items()}
            authors = {int.from_bytes(key[8:16], 'big'): int.from_bytes(key[:8], 'big') for key in cluster.topics.latest('post-texts')}
            for post, mentioned in town.mentions.items():
                assert texts[post] in ([], [mentioned])     # a handle whose owner is away mentions nobody
                for user in texts[post]:
                    town.told[user].add(('mention', authors[post], f'post:{post}', None))
            kept = kept_by_user(town)
            for user in town.users:
                check(town, receiver, user, kept[user])
            assert town.done == ACTIONS and len(receiver.items) > ACTIONS / 3
        finally:
            town.over = True
            for thread in screens:
                thread.join()
