"""The router alone, spoken to through its topics: no gateway and no edge runs here, records are written and read by confluent-kafka and fastavro.
Covers router/cap.c, router/peer.c, lib/owner/warmup.c, router/reports.c, router/router.c, router/router_parts.c and router/topology.c."""
import itertools
import json
import random
import shutil
import threading
import time

import pytest
import requests
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from harness.geo import north_of
from harness.http import pages_of
from harness.meanwhile import beside, meanwhile
from harness.records import decode, encode, key_users
from harness.waiting import eventually, now_ms

HOME = 39.9847, 116.3184
FAR = 31.2304, 121.4737
MASK = (1 << 64) - 1


def mix(x):
    """hash_u64 of lib/base: splitmix64's finaliser."""
    x = (x + 0x9e3779b97f4a7c15) & MASK
    x = ((x ^ (x >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    x = ((x ^ (x >> 27)) * 0x94d049bb133111eb) & MASK
    return x ^ (x >> 31)


def set_hash(users):
    total = sum(mix(user) for user in users) & MASK
    return total - (1 << 64) if total >> 63 else total


def murmur2(data):
    """Kafka's, for keys of whole words."""
    m, h = 0x5bd1e995, (0x9747b28c ^ len(data)) & 0xffffffff
    for i in range(0, len(data), 4):
        k = int.from_bytes(data[i:i + 4], 'little') * m & 0xffffffff
        k = (k ^ k >> 24) * m & 0xffffffff
        h = (h * m & 0xffffffff) ^ k
    h = (h ^ h >> 13) * m & 0xffffffff
    return h ^ h >> 15


class Stage:
    """A cluster of routers only, and the records that gateways and edges would write."""

    def __init__(self, cluster):
        self.cluster, self.topics = cluster, cluster.topics
        self.routers = cluster.routers
        self._sessions = itertools.count(now_ms() << 20)

    def partition(self, user):
        return (murmur2(user.to_bytes(8, 'big')) & 0x7fffffff) % self.cluster.partitions

    def share(self, *users, mode='FRIENDS'):
        """Returns the offset of the last user's record: what a report is checked against."""
        return [self.topics.produce('sharing', user, ('sharing', {'mode': mode})).offset for user in users][-1]

    def event(self, user, kind, place=HOME, session=0, route=-1, opted=1_000_000, at=None):
        lat, lng = (round(degrees * 1e7) for degrees in place)
        return self.topics.produce('locations', user, ('location', {
            'user': user, 'lat': lat, 'lng': lng, 'time': now_ms() if at is None else at, 'kind': kind, 'session': session,
            'route': route, 'opted': opted, 'accuracy': -1}))

    def join(self, user, place=HOME, route=0, **fields):
        """A new session; returns its id."""
        session = next(self._sessions)
        self.event(user, 'JOIN', place, session, route, **fields)
        return session

    def join_in_turn(self, first, second, **fields):
        """Sessions on routes 0 and 1. The first one is there when the second comes: users' partitions have no order between them."""
        session = self.join(first, **fields)
        self.wait_read()
        return session, self.join(second, route=1)

    def command(self, kind, user, other, since=0, at=None):
        return self.topics.produce('friend-commands', min(user, other), ('friend-command', {
            'kind': kind, 'from': user, 'to': other, 'time': now_ms() if at is None else at, 'since': since}))

    def befriend(self, *pairs):
        for a, b in pairs:
            self.command('BEFRIEND', a, b)
        wanted = {pair for a, b in pairs for pair in ((a, b), (b, a))}
        eventually(lambda: wanted <= {pair for pair, half in self.halves().items() if half['state'] == 'FRIENDS'}, 15,
                   every=0.1, what='they are friends')
        self.wait_applied()

    def halves(self):
        return {key_users(key): half for key, half in self.topics.latest('friendships').items()}

    def wait_state(self, user, other, state, timeout=15):
        eventually(lambda: self.halves().get((user, other), {'state': 'NONE'})['state'] == state, timeout,
                   what=f'{user} and {other}: {state}')

    def wait_applied(self, timeout=20):
        """Until all that is in the topics now is handled, with its effects, and all routers have seen it.

        The group commits an offset of a topic when everything before it is handled and acknowledged. Commands come first, as they
        write friendships."""
        self._wait_committed(timeout, 'friend-commands')
        self._wait_committed(timeout, 'friendships', 'sharing', 'locations')
        self.wait_read(timeout)

        def quiet():
            for router in self.routers:
                if router.alive():
                    assert router.total('starling_router_caught_up') == 1, router.name
            return True

        eventually(quiet, timeout)

    def _wait_committed(self, timeout, *names):
        ends = {name: self.topics.ends(name) for name in names}
        consumer = self._group_consumer()
        try:
            def committed():
                for name in names:
                    offsets = self._committed(consumer, name)
                    behind = {p: (offsets[p], end) for p, end in ends[name].items() if max(offsets[p], 0) < end}
                    assert not behind, f'{name}: {behind}'
                return True

            eventually(committed, timeout, every=0.1)
        finally:
            consumer.close()

    def wait_read(self, timeout=20):
        """Until each router that lives has handled all locations that are in the topic now, those of other routers' users too. Their
        effects may not be acknowledged yet, nor the offsets committed."""
        ends = self.topics.ends('locations')

        def read():
            for router in (router for router in self.routers if router.alive()):
                metrics = router.metrics()
                for partition, end in ends.items():
                    name = f'starling_router_input_next_offset{{topic="locations",partition="{partition}"}}'
                    assert metrics.get(name, 0) >= end, (router.name, partition, metrics.get(name), end)
            return True

        eventually(read, timeout)

    def deliveries(self):
        """[(route, kind, item)] in the order of each route."""
        return [(m.partition, kind, item) for m in self.topics.read('deliveries') for kind, item in decode(m.value)['items']]

    def delivered(self, wanted, timeout=10):
        """Waits for an item: wanted(route, kind, item); returns it."""
        def found():
            return next((item for route, kind, item in self.deliveries() if wanted(route, kind, item)), None)

        return eventually(found, timeout, every=0.1, what='the delivery')

    def roster(self, recipient, session, names=None, complete=None, timeout=10):
        """Waits for a Roster of that session, naming those, and returns it."""
        return self.delivered(lambda route, kind, item: kind == 'Roster' and item['recipient'] == recipient
                              and item['session'] == session and (complete is None or item['complete'] == complete)
                              and (names is None or {f['user'] for f in item['friends']} == set(names)), timeout)

    def _group_consumer(self):
        return Consumer({'bootstrap.servers': self.topics.bootstrap, 'group.id': self.cluster.group('router')})

    def _committed(self, consumer, topic):
        parts = [TopicPartition(self.topics.name(topic), p) for p in range(self.cluster.partitions)]
        return {p.partition: p.offset for p in consumer.committed(parts, 10)}

    def committed(self, topic):
        consumer = self._group_consumer()
        try:
            return self._committed(consumer, topic)
        finally:
            consumer.close()

    def peer(self, path, router=None):
        daemon = router or self.routers[0]
        return requests.get(f'http://{daemon.peer}{path}', timeout=40,
                            headers={'Authorization': f'Bearer {self.cluster.keys.peer_token}'})


def start(cluster, routers=1):
    cluster.start(ingests=0, routers=routers, fanouts=0, sinks=0)
    return Stage(cluster)


@pytest.fixture(scope='module')
def stage(make_module_cluster):
    return start(make_module_cluster())


@pytest.fixture
def make_stage(make_cluster):
    return lambda routers=1, **options: start(make_cluster(**options), routers)


# ---- reports ----

def test_friends_hear_of_each_other(stage, users):
    ada, ben, eve = users(3)
    stage.share(ada, ben, eve)
    stage.befriend((ada, ben), (ada, eve))
    a = stage.join(ada, route=0)
    assert stage.roster(ada, a, set())['complete']
    b = stage.join(ben, north_of(*HOME, 500), route=1)
    stage.join(eve, FAR, route=1)
    roster = stage.roster(ben, b, {ada})
    assert roster['complete'] and roster['friends'][0]['lat'] == round(HOME[0] * 1e7)
    move = stage.delivered(lambda route, kind, item: kind == 'Move' and item['user'] == ben and ada in item['recipients'])
    assert move['recipients'] == [ada] and move['lng'] == round(HOME[1] * 1e7)

    # Nobody new: a Digest of who is near. Out of the radius: a Move to who was near.
    at = now_ms()
    stage.wait_applied()
    stage.event(ben, 'REPORT', north_of(*HOME, 600), b, 1, at=at)
    digest = stage.delivered(lambda route, kind, item: kind == 'Digest' and item['recipient'] == ben and item['time'] == at)
    assert (digest['session'], digest['count'], digest['hash']) == (b, 1, set_hash([ada]))
    stage.event(ben, 'REPORT', FAR, b, 1, at=at + 1)
    stage.delivered(lambda route, kind, item: kind == 'Move' and item['user'] == ben and item['time'] == at + 1
                    and item['recipients'] == [ada] and route == 0)
    # eve is far from ada, but not from where ben is now; they are no friends.
    assert not [item for _, kind, item in stage.deliveries() if kind == 'Move' and eve in item['recipients']]


def test_all_sessions_of_a_user_are_told_of_each_report(stage, users):
    ada, ben = users(2)
    stage.share(ada)
    stage.share(ben)
    stage.befriend((ada, ben))
    first = stage.join(ada, route=0)
    stage.roster(ada, first)
    second = stage.join(ada, route=1)
    stage.roster(ada, second)
    stage.wait_applied()

    def told(session, kind, at):
        return stage.delivered(lambda route, what, item: what == kind and item['recipient'] == ada and item['session'] == session
                               and item['time'] == at and route == (0 if session == first else 1))

    for reporter, route in ((first, 0), (second, 1), (0, -1)):  # or by HTTP
        at = now_ms() + 5
        stage.event(ada, 'REPORT', FAR, reporter, route, at=at)
        for session in (first, second):
            told(session, 'Digest', at)
        selves = {item['session'] for _, kind, item in stage.deliveries() if kind == 'Self' and item['time'] == at}
        assert selves == {first, second} - {reporter}

    # A session that is behind hears where its user is; a friend's Move goes to both routes, and to one once the other has quit.
    stage.event(ada, 'REPORT', HOME, first, 0, at=at - 3)
    eventually(lambda: sum(kind == 'Self' and (item['session'], item['time']) == (first, at) for _, kind, item in stage.deliveries()) == 2,
               what='Self for the session that is behind')
    stage.event(ben, 'JOIN', FAR, next(stage._sessions), 2)
    stage.wait_applied()
    moved = now_ms() + 5
    stage.event(ben, 'REPORT', FAR, at=moved)
    stage.wait_applied()
    assert {route for route, kind, item in stage.deliveries() if kind == 'Move' and (item['user'], item['time']) == (ben, moved)} == {0, 1}
    stage.event(ada, 'QUIT', FAR, second, 1)
    stage.wait_applied()
    stage.event(ben, 'REPORT', FAR, at=moved + 1)
    stage.wait_applied()
    assert {route for route, kind, item in stage.deliveries() if kind == 'Move' and (item['user'], item['time']) == (ben, moved + 1)} == {0}
    assert not [item for _, kind, item in stage.deliveries() if kind == 'Superseded']


def test_who_opts_out_leaves(stage, users):
    ada, ben = users(2)
    before = stage.share(ada)
    stage.share(ben)
    stage.befriend((ada, ben))
    a, b = stage.join_in_turn(ada, ben, opted=before)
    stage.roster(ben, b, {ada})
    off = stage.share(ada, mode='OFF')
    left = stage.delivered(lambda route, kind, item: kind == 'Left' and item['user'] == ada)
    assert left['recipients'] == [ben]

    def leaves():
        return [r['opted'] for m in stage.topics.read('locations') if (r := decode(m.value))['user'] == ada and r['kind'] == 'LEAVE']

    assert leaves() == [off]
    # Checked before the opt-out, and late: nobody hears of it.
    stage.event(ada, 'REPORT', HOME, a, 0, opted=before)
    stage.wait_applied()
    c = stage.join(ben, route=2)
    stage.roster(ben, c, set())
    on = stage.share(ada)
    d = stage.join(ada, route=0, opted=on)
    stage.roster(ada, d, {ben})
    assert leaves() == [off]


def test_who_never_opted_in_is_refused_and_forgotten_by_all(stage, users):
    ada, ben = users(2)
    stage.share(ben)
    stage.befriend((ada, ben))
    b = stage.join(ben)
    stage.roster(ben, b, set())
    for _ in range(3):
        stage.event(ada, 'REPORT', HOME, opted=-1)

    def leaves():
        return [r['opted'] for m in stage.topics.read('locations') if (r := decode(m.value))['user'] == ada and r['kind'] == 'LEAVE']

    eventually(lambda: leaves() == [-1], what='one LEAVE')
    stage.wait_applied()
    assert leaves() == [-1]
    assert not [item for _, kind, item in stage.deliveries() if kind == 'Move' and item['user'] == ada]
    opted = stage.share(ada)
    stage.wait_applied()
    a = stage.join(ada, opted=opted)
    stage.roster(ada, a, {ben})


def test_bad_locations_go_to_the_dead_letters(stage, users):
    ada, ben = users(2)
    stage.share(ada, ben)
    bad = [b'', b'\0\0\0\0\x63rubbish', encode('location', {
        'user': ada, 'lat': 910_000_000, 'lng': 0, 'time': now_ms(), 'kind': 'REPORT'}), encode('location', {
            'user': ada, 'lat': 0, 'lng': 0, 'time': now_ms(), 'kind': 'REPORT', 'route': 31})]
    for value in bad:
        stage.topics.produce('locations', ada, value)
    elsewhere = (stage.partition(ada) + 1) % stage.cluster.partitions
    bad.append(encode('location', {'user': ada, 'lat': 0, 'lng': 0, 'time': now_ms(), 'kind': 'REPORT'}))
    stage.topics.produce('locations', ada, bad[-1], partition=elsewhere)
    session = stage.join(ben)
    stage.roster(ben, session)

    def dead():
        return [m for m in stage.topics.read('locations.dlq') if m.key == ada.to_bytes(8, 'big')]

    eventually(lambda: sorted(m.value or b'' for m in dead()) == sorted(bad), what='all of them are dead letters')
    headers = dict(dead()[0].headers)
    assert headers['__connect.errors.topic'].decode() == stage.topics.name('locations')
    assert headers['__connect.errors.exception.message']
    # The offset of a misplaced record is committed with the next record of its partition.
    other = next(user for user in users(50) if stage.partition(user) == elsewhere)
    stage.event(other, 'REPORT', HOME)


def test_reports_from_the_future_are_ignored(stage, ada):
    stage.share(ada)
    stage.event(ada, 'REPORT', HOME, at=now_ms() + 120_000)
    session = stage.join(ada)
    stage.roster(ada, session)
    at = now_ms()
    stage.event(ada, 'REPORT', HOME, session, 0, at=at)  # a Digest: the future did not become ada's last report
    stage.wait_applied()
    stage.delivered(lambda route, kind, item: kind in ('Digest', 'Roster') and item['recipient'] == ada and item.get('time', at) == at)
    assert stage.routers[0].total('starling_router_refused_total', reason='time') >= 1


def test_the_streams_clock(make_stage, users):
    stage = make_stage(settings={'clock': 'stream', 'inactive.after.s': 60})
    ada, ben = users(2)
    stage.share(ada, ben)
    stage.befriend((ada, ben))
    a = stage.join(ada, at=1_000_000)
    stage.roster(ada, a, set())
    b = stage.join(ben, at=1_030_000)
    stage.roster(ben, b, {ada})
    # ada's last report is 60 s old now.
    stage.event(ben, 'REPORT', HOME, b, 0, at=1_060_000)
    c = stage.join(ben, at=1_060_001)
    stage.roster(ben, c, set())
    stage.event(ben, 'REPORT', HOME, c, 0, at=9_000_000)  # too far a jump
    eventually(lambda: stage.routers[0].total('starling_router_refused_total', reason='time') == 1)

    def times():
        """The latest stream_time of every route: carried by empty batches, too."""
        newest = {m.partition: decode(m.value)['stream_time'] for m in stage.topics.read('deliveries')}
        return [newest.get(route) for route in range(stage.cluster.delivery_partitions)]

    eventually(lambda: times() == [1_060_001] * stage.cluster.delivery_partitions, what='the time on every route')


# ---- friendships ----

def test_asking_accepting_parting(stage, users):
    ada, ben = users(2)
    stage.share(ada, ben)
    a, b = stage.join(ada, route=0), stage.join(ben, route=1)
    stage.roster(ada, a, set())
    stage.roster(ben, b, set())
    stage.command('REQUEST', ben, ada)
    stage.wait_state(ben, ada, 'REQUESTED')
    assert stage.halves()[ada, ben]['state'] == 'INVITED'
    stage.command('REQUEST', ada, ben)
    stage.wait_state(ada, ben, 'FRIENDS')
    # Shown at once, to both: they are near.
    assert not stage.roster(ada, a, {ben})['complete']
    assert not stage.roster(ben, b, {ada})['complete']
    stage.command('REMOVE', ben, ada)
    stage.delivered(lambda route, kind, item: kind == 'Parted' and item == {'recipient': ada, 'friend': ben} and route == 0)
    stage.delivered(lambda route, kind, item: kind == 'Parted' and item == {'recipient': ben, 'friend': ada} and route == 1)
    assert (ada, ben) not in stage.halves() and (ben, ada) not in stage.halves()
    for message in stage.topics.read('friendships'):
        assert message.partition == stage.partition(key_users(message.key)[0])


def test_blocking(stage, users):
    ada, ben = users(2)
    stage.befriend((ada, ben))
    stage.command('BLOCK', ada, ben)
    stage.wait_state(ben, ada, 'NONE')
    halves = stage.halves()
    assert halves[ada, ben]['blocked_by_me'] and not halves[ada, ben]['blocked_by_them']
    assert halves[ben, ada]['blocked_by_them'] and not halves[ben, ada]['blocked_by_me']
    stage.command('REQUEST', ben, ada)
    stage.wait_state(ben, ada, 'REQUESTED')
    stage.wait_applied()

    def listed(user, state):
        return [(item['user'], item['state']) for item in stage.peer(f'/peer/friends/{user}?state={state}').json()['items']]

    assert listed(ben, 'all') == [(ada, 'requested')]
    assert listed(ada, 'all') == [(ben, 'blocked')] and listed(ada, 'invited') == []
    assert stage.peer(f'/peer/friendship/{ben}/{ada}').json()['state'] == 'requested'
    assert stage.peer(f'/peer/friendship/{ada}/{ben}').json()['state'] == 'blocked'
    last = stage.command('UNBLOCK', ada, ben)
    answer = stage.peer(f'/peer/friendship/{ada}/{ben}?offset={last.offset}')
    assert answer.status_code == 200 and answer.json()['state'] == 'invited'


def test_bad_commands_go_to_the_dead_letters_once(stage, users):
    ada, ben = users(2)
    stage.command('REQUEST', ada, ada)
    stage.topics.produce('friend-commands', ada, b'rubbish')
    stage.topics.produce('friend-commands', ada, ('friend-command', {'kind': 'REQUEST', 'from': ada, 'to': ben, 'time': 1}),
                         partition=(stage.partition(ada) + 1) % stage.cluster.partitions)
    last = stage.command('REQUEST', ada, ben)
    assert stage.peer(f'/peer/friendship/{ada}/{ben}?offset={last.offset}').json()['state'] == 'requested'
    key = ada.to_bytes(8, 'big')
    eventually(lambda: len([m for m in stage.topics.read('friend-commands.dlq') if m.key == key]) == 3)


def test_an_answer_waits_for_its_command(stage, users):
    ada, ben = users(2)
    end = stage.topics.ends('friend-commands')[stage.partition(ada)]
    begun = time.monotonic()
    answer = stage.peer(f'/peer/friendship/{ada}/{ben}?offset={end}&wait_ms=300')
    assert answer.status_code == 202 and 0.25 < time.monotonic() - begun < 3
    with beside(stage.peer, [f'/peer/friendship/{ada}/{ben}?offset={end}&wait_ms=20000']) as (answer,):
        time.sleep(0.2)
        stage.command('BEFRIEND', ada, ben)
    assert answer.result().json()['state'] == 'friends'


def test_peers_ask_politely(stage, ada):
    assert requests.get(f'http://{stage.routers[0].peer}/peer/friends/{ada}', timeout=10).status_code == 401
    assert stage.peer(f'/peer/friends/{ada}').json() == {'items': [], 'next': None}
    for path, status in [(f'/peer/friends/{ada}?state=foes', 400), (f'/peer/friends/{ada}?limit=0', 400),
                         (f'/peer/friends/{ada}?limit=1001', 400), (f'/peer/friends/{ada}?after=-1', 400),
                         (f'/peer/friends/{ada}/x', 404), ('/peer/friends/9223372036854775808', 404), ('/peer/friends/', 404),
                         (f'/peer/friendship/{ada}/{ada}', 404), (f'/peer/friendship/{ada}', 404), ('/peer/else', 404),
                         (f'/peer/audience/{ada}?limit=0', 400), (f'/peer/audience/{ada}?after=-1', 400), (f'/peer/audience/{ada}/x', 404)]:
        assert stage.peer(path).status_code == status, path


def test_friends_in_pages(stage, users):
    ada, *others = users(26)
    stage.befriend(*((ada, other) for other in others))
    pages = pages_of(lambda **cursor: stage.peer(f'/peer/friends/{ada}?limit=10' + ''.join(f'&after={at}' for at in cursor.values())).json())
    found = [item for page in pages for item in page['items']]
    assert all(item['since'] > 0 for item in found)
    assert [item['user'] for item in found] == sorted(others)


def test_the_cap(make_stage, users):
    stage = make_stage(settings={'friends.cap': 3})
    ada, *others = users(7)
    lower, higher = others[0], others[-1] + 1000
    stage.befriend(*((lower, other) for other in others[1:4]))
    # The lower one's list is full: its owner refuses.
    last = stage.command('BEFRIEND', lower, others[4])
    assert stage.peer(f'/peer/friendship/{lower}/{others[4]}?offset={last.offset}').json()['state'] == 'none'
    # The higher one's list is full: that the owner of the lower cannot know, so it is removed again.
    stage.befriend(*((other, higher) for other in others[3:6]))
    stage.command('BEFRIEND', ada, higher)

    def settled():
        halves = stage.halves()
        mine = [other for user, other in halves if user == higher]
        return len(mine) == 3 and ada not in mine and (ada, higher) not in halves

    eventually(lambda: (higher, ada) in {key_users(m.key) for m in stage.topics.read('friendships')} and settled(), 20)
    removed = [decode(m.value) for m in stage.topics.read('friend-commands')][-1:] and [
        r for m in stage.topics.read('friend-commands') if (r := decode(m.value))['kind'] == 'REMOVE']
    assert [(r['from'], r['to']) for r in removed] == [(higher, ada)] and removed[0]['since'] > 0


# ---- restarts and sharing the work ----

def test_kill_and_restart(make_stage, users):
    stage = make_stage()
    router = stage.routers[0]
    ada, ben, eve = users(3)
    stage.share(ada, ben, eve)
    stage.befriend((ada, ben))
    a, b = stage.join_in_turn(ada, ben)
    stage.roster(ben, b, {ada})
    router.kill()
    stage.command('BEFRIEND', ada, eve)
    c = stage.join(eve, route=2)
    router.start()
    stage.wait_applied()
    stage.wait_state(eve, ada, 'FRIENDS')
    # eve's JOIN came while nobody was there: it is joined, with presence as it was; the friendship tells if it came later.
    stage.roster(eve, c, {ada})
    at = now_ms()
    stage.event(ada, 'REPORT', north_of(*HOME, 50), a, 0, at=at)
    move = [stage.delivered(lambda route, kind, item: kind == 'Move' and item['time'] == at and user in item['recipients'])
            for user in (ben, eve)]
    assert all(m['user'] == ada for m in move)
    digest = stage.delivered(lambda route, kind, item: kind == 'Digest' and item['recipient'] == ada and item['time'] == at)
    assert digest['hash'] == set_hash([ben, eve])
    # The friend lists were on disk: only what was new was read.
    assert router.total('starling_router_friendships_applied_total') <= 4


def test_an_orderly_end_commits_everything(make_stage, users):
    stage = make_stage()
    ada, ben = users(2)
    stage.share(ada, ben)
    stage.befriend((ada, ben))
    for i in range(50):
        stage.event(ada, 'REPORT', north_of(*HOME, i))
        stage.event(ben, 'REPORT', north_of(*HOME, i + 10))
    stage.wait_read()  # not wait_applied, which waits for the commits: what this is about are those of the end
    assert stage.routers[0].stop() == 0
    for topic in ('locations', 'friend-commands', 'sharing'):
        ends = stage.topics.ends(topic)
        for partition, offset in stage.committed(topic).items():
            assert max(offset, 0) == ends[partition], (topic, partition)


def test_two_routers_share_the_work(make_stage, users):
    stage = make_stage(routers=2, partitions=8)
    people = users(20)
    pairs = [(people[i], people[(i + step) % 20]) for i in range(20) for step in (1, 3)]
    stage.share(*people)
    owned = [router.total('starling_router_partitions_owned') for router in stage.routers]
    assert owned == [4, 4]
    stage.befriend(*pairs)
    sessions = {user: stage.join(user, route=user % 4) for user in people}
    friends = {user: {b for a, b in pairs if a == user} | {a for a, b in pairs if b == user} for user in people}
    # Two who join at once at two owners may each be news to the other's only with the next report.
    stage.wait_applied()
    for user in people:
        stage.event(user, 'REPORT', north_of(*HOME, 5), sessions[user], user % 4)

    def screens(since):
        """What each edge would show if it listened from then on: rosters and moves."""
        seen = {user: set() for user in people}
        for kind, item in [pair for m in stage.topics.read('deliveries', since) for pair in decode(m.value)['items']]:
            if kind == 'Roster' and item['session'] == sessions[item['recipient']]:
                seen[item['recipient']] |= {f['user'] for f in item['friends']}
            elif kind == 'Move':
                for user in item['recipients']:
                    seen[user].add(item['user'])
        return seen

    eventually(lambda: screens(None) == friends, 15, every=0.3, what='everybody hears of all friends')

    answers = {router.name: stage.peer(f'/peer/friends/{people[0]}', router).status_code for router in stage.routers}
    assert sorted(answers.values()) == [200, 421]

    # One dies; the other takes over within its session timeout, and it all goes on.
    stage.routers[1].kill()
    eventually(lambda: stage.routers[0].total('starling_router_partitions_restored') == 8, 30)
    stage.wait_applied()
    since = stage.topics.ends('deliveries')
    for user in people:
        stage.event(user, 'REPORT', north_of(*HOME, 10), sessions[user], user % 4)
    eventually(lambda: screens(since) == friends, 15, every=0.3, what='everybody hears of all friends again')

    # It comes back, and takes its part.
    stage.routers[1].start()
    eventually(lambda: [router.total('starling_router_partitions_restored') for router in stage.routers] == [4, 4], 30)
    stage.wait_applied()
    since = stage.topics.ends('deliveries')
    for user in people:
        stage.event(user, 'REPORT', north_of(*HOME, 20), sessions[user], user % 4)
    eventually(lambda: screens(since) == friends, 15, every=0.3, what='everybody hears of all friends still')


def mirrored(halves):
    """Each pair has both halves, and they agree; else a description of what is wrong."""
    flip = {'REQUESTED': 'INVITED', 'INVITED': 'REQUESTED'}
    for (user, other), half in halves.items():
        mirror = halves.get((other, user))
        if mirror is None or mirror['state'] != flip.get(half['state'], half['state']) or mirror['since'] != half['since'] \
                or mirror['blocked_by_me'] != half['blocked_by_them'] or mirror['blocked_by_them'] != half['blocked_by_me']:
            return f'{user}, {other}: {json.dumps(half)} against {json.dumps(mirror)}'
    return None


def decide(pair, kind, user, other, at):
    """Applies a command to a pair, {'asked': who, 'friends': bool, 'blocks': {who}} (docs/EXACTNESS.md, rule 7)."""
    if kind == 'REQUEST':
        if user in pair['blocks'] or pair['friends']:
            return
        if other in pair['asked'] and other not in pair['blocks']:
            pair.update(friends=True, asked=set())
        elif other not in pair['asked']:
            pair['asked'].add(user)
    elif kind == 'REMOVE':
        pair.update(friends=False, asked=set())
    elif kind == 'BLOCK':
        pair.update(friends=False, asked=set())
        pair['blocks'].add(user)
    elif kind == 'UNBLOCK':
        pair['blocks'].discard(user)
    elif kind == 'BEFRIEND' and not pair['blocks']:
        pair.update(friends=True, asked=set())


def test_both_halves_or_neither(make_stage, users):
    """Commands about few pairs, fast, while routers are killed: the end is what handling them one by one in the order of
    the log makes of it, each exactly once."""
    chance = random.Random(4)
    stage = make_stage(routers=0, settings={'commands.batch': 50})
    for number in range(2):  # static members: their partitions wait for them, so that work goes on soon after each kill
        stage.cluster.add('router', settings={'group.instance.id': f'router-{number}'})
    stage.routers = stage.cluster.routers
    times, kinds = itertools.count(10), ['REQUEST', 'REQUEST', 'REQUEST', 'REMOVE', 'BLOCK', 'UNBLOCK', 'BEFRIEND']
    with meanwhile([users(8)], lambda people: stage.command(chance.choice(kinds), *chance.sample(people, 2), at=next(times))):
        for victim in (0, 1, 0, 1, 0, 1):
            handled = stage.committed('friend-commands')
            eventually(lambda: stage.committed('friend-commands') != handled, 30, what='commands are handled')
            time.sleep(chance.random())
            stage.routers[victim].kill()
            stage.routers[victim].start(wait=False)
    for router in stage.routers:
        router.wait_ready()
    stage.wait_applied(60)

    pairs = {}
    commands = [decode(m.value) for m in stage.topics.read('friend-commands')]
    assert len(commands) > 500
    for c in commands:  # each pair's are in one partition, in order
        pair = frozenset((c['from'], c['to']))
        decide(pairs.setdefault(pair, {'asked': set(), 'friends': False, 'blocks': set()}), c['kind'], c['from'], c['to'], c['time'])
    halves = stage.halves()
    assert mirrored(halves) is None
    for pair, wanted in pairs.items():
        for user in pair:
            other, = pair - {user}
            half = halves.get((user, other), {'state': 'NONE', 'blocked_by_me': False})
            state = 'FRIENDS' if wanted['friends'] else 'REQUESTED' if user in wanted['asked'] else \
                'INVITED' if other in wanted['asked'] else 'NONE'
            assert (half['state'], half['blocked_by_me']) == (state, user in wanted['blocks']), (user, other)


def test_a_lost_store_is_restored(make_stage, users):
    stage = make_stage()
    router = stage.routers[0]
    people = users(12)
    stage.share(*people)
    stage.befriend(*((people[0], other) for other in people[1:]))
    assert router.stop() == 0
    shutil.rmtree(router.folder / 'data')
    router.start()
    stage.wait_applied()
    found = stage.peer(f'/peer/friends/{people[0]}').json()['items']
    assert [item['user'] for item in found] == sorted(people[1:])
    metrics = router.metrics()
    assert metrics.total('starling_router_restore_records_total') >= 2 * len(people[1:])
    assert metrics.total('starling_router_store_cache_reads_total') > 0
    eventually(lambda: router.total('starling_router_restore_left_records') == 0)  # counted now and then


def test_topics_made_anew(make_stage, users):
    """The store reflects offsets that the topic does not have: it is read anew."""
    stage = make_stage()
    router = stage.routers[0]
    ada, ben = users(2)
    stage.befriend((ada, ben))
    router.kill()
    # As if the topic had been deleted and made again: all that was in it is gone, its offsets too.
    admin = AdminClient({'bootstrap.servers': stage.topics.bootstrap})
    for future in admin.delete_topics([stage.topics.name('friendships')]).values():
        future.result(30)
    time.sleep(1)
    stage.cluster.create_topics()
    router.start()
    stage.wait_applied(30)
    assert stage.peer(f'/peer/friends/{ada}').json()['items'] == []
    stage.befriend((ada, ben))
    assert [item['user'] for item in stage.peer(f'/peer/friends/{ada}').json()['items']] == [ben]


def test_the_broker_goes_away_and_comes_back(make_stage, broker, users):
    stage = make_stage()
    ada, ben = users(2)
    stage.share(ada, ben)
    stage.befriend((ada, ben))
    a = stage.join(ada)
    stage.roster(ada, a)
    broker.kill()
    time.sleep(2)
    broker.start()

    def readable():
        try:
            return stage.topics.read('deliveries')
        except KafkaException:  # it recovers its logs
            return None

    eventually(readable, 60, every=0.5, what='Kafka is whole again')
    b = stage.join(ben, route=1)
    stage.roster(ben, b, {ada}, timeout=30)
    last = stage.command('REMOVE', ada, ben)
    assert stage.peer(f'/peer/friendship/{ada}/{ben}?offset={last.offset}&wait_ms=20000').json()['state'] == 'none'
    stage.wait_applied(30)


def test_lost_deliveries_are_made_again(make_stage, broker, users):
    """Kafka stands still for longer than a delivery may wait: what was not acknowledged is joined once more."""
    stage = make_stage(settings={'router:kafka.message.timeout.ms': 1000})
    router = stage.routers[0]
    people = users(30)
    stage.share(*people)
    sessions = {}

    def lost():
        return router.total('starling_router_batches_lost_total')

    for _ in range(8):
        going = threading.Event()

        def talk(people):
            for user in people:
                sessions[user] = stage.join(user)
                going.set()

        with beside(talk, [people]):
            going.wait()
            time.sleep(0.02)
            broker.pause()
            time.sleep(2.5)
            broker.resume()
        if lost():
            break
    assert lost() > 0, 'nothing was under way when Kafka stood still'
    stage.wait_applied(30)
    told = {item['session'] for _, kind, item in stage.deliveries() if kind == 'Roster'}
    assert told >= set(sessions.values())
