"""Friendships under everything at once: both halves change, or neither, and every command counts exactly once. Covers router/commands.c."""
import collections
import itertools
import random
import threading
import time

import pytest
from confluent_kafka import Consumer, TopicPartition

from harness.friendships import Pair, Written, decide, replay
from harness.meanwhile import at_once
from harness.records import decode, key_users
from harness.waiting import eventually

CAP = 3


def all_pairs(people):
    return itertools.combinations(sorted(people), 2)


# ---- the model itself ----

def test_a_lost_or_repeated_command_would_be_noticed():
    """The model accepts what is right, and nothing else."""
    def command(kind, user, other, time, since=0):
        return {'kind': kind, 'from': user, 'to': other, 'time': time, 'since': since}

    def log(*pairs):
        written = Written([])
        written.halves[1, 2] = [(offset, pair.half(1, 2)) for offset, pair in enumerate(pairs)]
        return written

    asked, friends = Pair('ASKED', 2, frozenset(), 10), Pair('FRIENDS', None, frozenset(), 20)
    commands = [command('REQUEST', 2, 1, 10), command('REQUEST', 1, 2, 20), command('REMOVE', 1, 2, 30, since=10),
                command('REMOVE', 2, 1, 40), command('BLOCK', 1, 2, 50), command('UNBLOCK', 1, 2, 60)]
    blocked = Pair('NONE', None, frozenset({1}), 50)
    right = [asked, friends, Pair(), blocked, Pair()]
    assert replay(commands, log(*right), CAP) == [Pair(), *right]
    for wrong in [right[:-1], [*right, Pair()], right[1:], right[:2] + right[3:], [*right[:3], blocked, *right[3:]],
                  [asked, friends._replace(since=21), *right[2:]], [right[1], right[0], *right[2:]]]:
        with pytest.raises(AssertionError):
            replay(commands, log(*wrong), CAP)
    # A refusal because of the cap needs a full list.
    with pytest.raises(AssertionError):
        replay(commands[:2], log(asked), CAP)
    full = log(asked)
    full.counts[1] = [(0, 1, CAP - 1)]
    assert replay(commands[:2], full, CAP) == [Pair(), asked]
    assert decide(asked, commands[1], True) == asked


# ---- what daemons make of it ----

def committed_halves(cluster):
    return {key_users(key): half for key, half in cluster.topics.latest('friendships').items()}


def views(cluster, user):
    """{other: (state, since)} by the HTTP API, all pages."""
    return {item['user']: (item['state'], item.get('since', 0)) for item in cluster.http(user).items('/v1/friends', state='all', limit=3)}


def test_asking_each_other_at_the_same_moment(make_cluster, users):
    # By default an answer is 202 where the outcome is not known within two seconds, which a busy machine may need.
    cluster = make_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000}).start()
    people = users(24)
    pairs = list(zip(people[::2], people[1::2]))
    answers = collections.defaultdict(list)
    together = threading.Barrier(2)

    def ask(side):
        for pair in pairs:
            client = cluster.http(pair[side])
            together.wait(30)
            answers[pair].append(client.put(f'/v1/friends/{pair[1 - side]}'))

    at_once(ask, (0, 1))
    for pair in pairs:
        assert [answer.status_code for answer in answers[pair]] == [200, 200]
        # The second one knows that they are friends; the first one may have been answered before.
        states = sorted(answer.json()['state'] for answer in answers[pair])
        assert states in (['friends', 'friends'], ['friends', 'requested']), states
    halves = committed_halves(cluster)
    for a, b in pairs:
        assert halves[a, b]['state'] == 'FRIENDS' and halves[a, b] == halves[b, a]
        for user, other in ((a, b), (b, a)):
            eventually(lambda: views(cluster, user) == {other: ('friends', halves[a, b]['since'])}, what=f'{user} sees {other}')


class Crowd:
    """Threads that ask, accept, remove, block and befriend over HTTP, and remember what they were told."""

    def __init__(self, cluster, people, threads=8, seed=7):
        self._cluster, self._people, self._over = cluster, people, threading.Event()
        self.tried, self.acknowledged = collections.Counter(), collections.Counter()
        self.answers, self.failures = [], []
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(random.Random(seed * 100 + i),)) for i in range(threads)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join(30)

    def _run(self, chance):
        try:
            clients = {user: self._cluster.http(user) for user in self._people}
            gateway = self._cluster.gateway()
            while not self._over.is_set():
                self._act(chance, clients, gateway)
        except Exception as error:  # a thread's end must not go unnoticed
            self.failures.append(repr(error))

    def _act(self, chance, clients, gateway):
        kind = chance.choices(['REQUEST', 'BEFRIEND', 'REMOVE', 'BLOCK', 'UNBLOCK'], [10, 4, 3, 1, 2])[0]
        user, other = chance.sample(self._people, 2)
        what = {'REQUEST': ('PUT', f'/v1/friends/{other}'), 'REMOVE': ('DELETE', f'/v1/friends/{other}'),
                'BLOCK': ('PUT', f'/v1/blocks/{other}'), 'UNBLOCK': ('DELETE', f'/v1/blocks/{other}')}
        with self._lock:
            self.tried[kind, user, other] += 1
        if kind == 'BEFRIEND':
            response = gateway.post('/v1/friendships', json={'a': user, 'b': other})
        else:
            response = clients[user].request(*what[kind])
        # Kafka is there, whatever happens to routers, and so the command is taken.
        if response.status_code not in (200, 202):
            self.failures.append(f'{kind} {user} {other}: {response.status_code} {response.text}')
            return
        with self._lock:
            self.acknowledged[kind, user, other] += 1
            if response.status_code == 200:
                self.answers.append((user, other, response.json()))


def handled(cluster):
    """How many friend commands the group has committed."""
    consumer = Consumer({'bootstrap.servers': cluster.topics.bootstrap, 'group.id': cluster.group('router')})
    try:
        parts = [TopicPartition(cluster.topics.name('friend-commands'), p) for p in range(cluster.partitions)]
        return sum(max(0, part.offset) for part in consumer.committed(parts, 10))
    finally:
        consumer.close()


def trouble(cluster, first, second, chance):
    """Kills -9 and restarts of both routers, the second one coming and going; in between commands go on being handled."""
    def goes_on():
        before = handled(cluster)
        eventually(lambda: handled(cluster) > before + 20, 40, every=0.1, what='commands are handled')
        time.sleep(chance.random())

    def kill(*routers):
        for router in routers:
            router.kill()
        time.sleep(chance.random())
        for router in routers:
            router.start(wait=False)
        goes_on()

    goes_on()
    kill(first)
    second.start(wait=False)  # joins
    goes_on()
    kill(first)
    kill(second)
    assert second.stop() == 0  # leaves
    goes_on()
    kill(first)
    second.start(wait=False)
    goes_on()
    kill(first, second)
    second.pause()  # past the session timeout: the other one takes over, and then it wants to go on with what it held
    time.sleep(7 + chance.random())
    second.resume()
    goes_on()


def quiet(cluster, timeout=60):
    """Waits until every command is handled, those included that the routers themselves have added."""
    def caught_up():
        for router in cluster.routers:
            if router.alive():
                assert router.total('starling_router_caught_up') == 1, router.name
        return True

    for router in cluster.routers:
        if router.alive():
            router.wait_ready()
    seen = None

    def still():
        nonlocal seen
        time.sleep(1)  # an excess is looked at once a second
        before, seen = seen, (cluster.topics.ends('friend-commands'), cluster.topics.ends('friendships'))
        return caught_up() and before == seen

    eventually(still, timeout)


@pytest.mark.timeout(300)
def test_both_halves_or_neither_whatever_races(make_cluster, users):
    chance = random.Random(11)
    cluster = make_cluster(settings={'router:friends.cap': CAP, 'router:commands.batch': 9, 'ingest:ingest.outcome.wait.ms': 500})
    cluster.start(routers=0, fanouts=0, sinks=0, wait=False)
    # One of them static, whose partitions wait for it when it is killed, one that leaves and comes as it likes.
    first = cluster.add('router', settings={'group.instance.id': 'router-0'})
    second = cluster.add('router', start=False)
    cluster.ingest.wait_ready()
    people = users(8)
    with Crowd(cluster, people) as crowd:
        trouble(cluster, first, second, chance)
    assert not crowd.failures
    quiet(cluster)

    commands = collections.defaultdict(list)
    counted = collections.Counter()
    lowers = {}
    for message in cluster.topics.read('friend-commands'):
        command = decode(message.value)
        pair = min(command['from'], command['to']), max(command['from'], command['to'])
        assert key_users(message.key) == (pair[0],)
        assert lowers.setdefault(pair[0], message.partition) == message.partition
        commands[pair].append(command)
        if not command['since']:  # with it: from an owner who sees too many friends
            counted[command['kind'], command['from'], command['to']] += 1
    assert crowd.acknowledged <= counted <= crowd.tried
    assert sum(counted.values()) > 300

    messages = cluster.topics.read('friendships')
    written = Written(messages)
    removals = [c for pair in commands.values() for c in pair if c['since']]
    states = {pair: replay(commands[pair], written, CAP) for pair in commands}

    # Both halves mirror each other, all along.
    for lower, higher in all_pairs(people):
        if (lower, higher) not in states:
            continue
        through = states[lower, higher][1:]
        for user, other in ((lower, higher), (higher, lower)):
            assert [record for _, record in written.halves[user, other]] == [s.half(user, other) for s in through]

    # Nobody has more friends than may be; and it was tried.
    for user in people:
        friends = [other for other in people if (half := written.last(user, other)) and half['state'] == 'FRIENDS']
        assert len(friends) <= CAP, (user, friends)
    assert removals, 'no cap was hit at the higher user of a pair'

    # What the HTTP API says in the end, and what it has answered all the while.
    last = {pair: states.get(pair, [Pair()])[-1] for pair in all_pairs(people)}
    for user in people:
        wanted = {}
        for pair in last:
            if user in pair and last[pair].view(user) != 'none':
                wanted[pair[1 - pair.index(user)]] = last[pair].view(user), last[pair].shown(user)

        def seen():
            assert views(cluster, user) == wanted, user
            return True

        eventually(seen, 20)
    for user, other, answer in crowd.answers:
        pair = min(user, other), max(user, other)
        assert answer['user'] == other
        assert (answer['state'], answer.get('since', 0)) in {(s.view(user), s.shown(user)) for s in states[pair]}, answer
    print(f'{sum(counted.values())} commands, {len(crowd.answers)} answered at once, {len(messages)} halves written, '
          f'{len(removals)} removals because of the cap')
