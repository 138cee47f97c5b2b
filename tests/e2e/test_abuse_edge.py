"""Attacks on edges, from 127.0.2.1 and other networks, and how an honest phone is served meanwhile."""
import contextlib
import json
import random
import socket
import ssl
import struct
import time
from types import SimpleNamespace

from cryptography.hazmat.primitives.asymmetric import rsa
from websockets.exceptions import ConnectionClosed

from harness.certificate import Certificate
from harness.edge import Stage
from harness.feed import Feed
from harness.honest import HONEST, served
from harness.meanwhile import meanwhile
from harness.phone import Phone
from harness.waiting import eventually, now_ms
from harness.wire import Wire

ATTACKER = '127.0.2.1'
SETTINGS = {'edge.max.sessions': 500, 'edge.network.sessions': 100, 'edge.first.page.ms': 100, 'edge.hello.s': 60,
            'edge.handshake.s': 60}


class From(Wire):
    """From that address of this machine."""

    def __init__(self, url: str, address=ATTACKER):
        self.host, port = url.split('/')[2].split(':')
        self.socket = socket.create_connection((self.host, int(port)), 20.0, source_address=(address, 0))
        self.pending = b''


class Honest:
    """Connects from another network and says hello, again and again."""

    def __init__(self, stage: Stage, user: int):
        self.stage, self.user, self.token = stage, user, stage.cluster.token(user)

    def __call__(self):
        try:
            with Phone(self.stage.cluster.ws_url, self.user, self.token, source_address=(HONEST, 0)) as phone:
                phone.send({'type': 'hello', 'token': self.token})
                phone.expect('welcome')
        except ConnectionClosed as closed:
            raise AssertionError('sent away') from closed


@contextlib.contextmanager
def attacked(stage: Stage, user: int, ask=None):
    """The block attacks: it is handed a stack for its sockets, which stay until the honest one has come ten times."""
    with contextlib.ExitStack() as stack, served(ask or Honest(stage, user)) as times:
        yield stack
        eventually(lambda: len(times) >= 10, timeout=20)


@contextlib.contextmanager
def storm(url: str, first: bytes):
    """While the block runs: connects again and again, says that, and resets the connection when something comes."""
    def connect(_):
        with contextlib.suppress(OSError), From(url) as wire:
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
            wire.socket.sendall(first)
            wire.socket.recv(1)

    with meanwhile(range(8), connect):
        yield


def hear(wire: Wire) -> dict:
    return json.loads(wire.hear()[1])


def refusals(daemon, reason) -> list:
    """The lines of the log that say so: one of each network."""
    return [line for line in daemon.log().splitlines() if 'access refused' in line and f'reason={reason}' in line]


def test_one_token_does_not_take_all_sessions(make_cluster, users):
    """Hellos without a position, from many networks."""
    stage = Stage(make_cluster(settings=SETTINGS))
    attacker, honest = users(2)
    token = stage.cluster.token(attacker)
    with attacked(stage, honest) as stack:
        answers = []
        for i in range(300):
            wire = stack.enter_context(From(stage.cluster.ws_url, f'127.0.{2 + i % 10}.1').upgrade())
            wire.say({'type': 'hello', 'token': token})
            answers.append(hear(wire)['type'])
            if answers[-1] == 'reconnect':
                assert wire.closing() == (1013, 'too_many_sessions')
    assert answers[:16] == ['welcome'] * 16 and set(answers[16:]) == {'reconnect'}
    assert stage.edge.total('starling_budget_refused_total', what='sessions', by='user') == 284
    assert stage.edge.total('starling_access_refused_total', reason='too_many_sessions') == 284
    assert len(refusals(stage.edge, 'too_many_sessions')) == 10


def test_one_network_does_not_take_all_connections(make_cluster, users):
    """Handshakes without a hello, and, behind a balancer, those that it names."""
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.trusted.proxies': '127.0.3.0/24'}))
    for address, headers in ((ATTACKER, ()), ('127.0.3.9', ('X-Forwarded-For: 198.51.100.7',))):
        with attacked(stage, *users(1)) as stack:
            wires = [stack.enter_context(From(stage.cluster.ws_url, address).upgrade(*headers)) for _ in range(105)]
            assert hear(wires[-1])['type'] == 'reconnect'
            assert wires[-1].closing() == (1013, 'overloaded')
            with From(stage.cluster.ws_url, '127.0.3.9').upgrade('X-Forwarded-For: 203.0.113.7') as other:
                other.say({'type': 'hello', 'token': stage.cluster.token(*users(1))})
                assert hear(other)['type'] == 'welcome'
    refused = {'what': 'connections', 'by': 'network'}
    assert eventually(lambda: stage.edge.total('starling_budget_refused_total', **refused)) == 10
    assert stage.edge.total('starling_access_refused_total', reason='overloaded') == 10
    assert [line.split('network=')[1].split()[0] for line in refusals(stage.edge, 'overloaded')] == ['127.0.2.0/24', '198.51.100.0/24']


def test_silent_sockets_and_sessions_make_room_for_those_who_come(make_cluster, users):
    stage = Stage(make_cluster(settings=SETTINGS))
    with attacked(stage, *users(1)) as stack:
        for _ in range(700):
            stack.enter_context(From(stage.cluster.ws_url))
        for i in range(600):
            stack.enter_context(From(stage.cluster.ws_url, f'127.0.{10 + i % 10}.1').upgrade())
    assert stage.edge.total('starling_edge_handshakes_refused_total', reason='crowded') >= 100


def test_sessions_of_a_user_are_begun_and_report_at_a_rate(make_cluster, users):
    """Each hello with a position makes routers join all friends: a user begins so many, and each reports once a second."""
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.user.hello.burst': 20, 'edge.user.sessions': 0,
                                         'edge.min.report.ms': 1000}))
    attacker, honest = users(2)
    stage.share(attacker)
    token = stage.cluster.token(attacker)
    with attacked(stage, honest) as stack:
        welcome, began = 0, time.monotonic()
        for i in range(100):
            wire = stack.enter_context(From(stage.cluster.ws_url, f'127.0.{2 + i % 10}.1').upgrade())
            now = now_ms()
            wire.say({'type': 'hello', 'token': token, 'lat': 10, 'lng': 10, 'time': now})
            welcome += hear(wire)['type'] == 'welcome'
            for _ in range(10):
                wire.say({'type': 'location', 'lat': 10 + random.random(), 'lng': 10, 'time': now})
    took = time.monotonic() - began
    assert 20 <= welcome <= 20 + took + 1
    assert len([record for record in stage.said(attacker) if record['kind'] in ('JOIN', 'REPORT')]) <= welcome * (2 + took)


def test_those_who_do_not_read_are_kept_few_bytes(make_cluster, users):
    """300 sessions that do not read, while those whom they follow post 16 KB 48 times a second."""
    cluster = make_cluster(settings={'ingest:ingest.user.changes.rate': 0, 'ingest:ingest.user.rate': 0}).start(feeds=1)
    feed = Feed(cluster)
    ada, ben, *readers = users(22)
    author = users(1)[0]
    for user in (ada, ben):
        cluster.share(user)
    cluster.befriend((ada, ben))
    for reader in readers:
        feed.follow(reader, author)
    text = '\x01' * 2000 + ''
    with contextlib.ExitStack() as stack:
        mine = stack.enter_context(Phone(cluster.ws_url, ada, cluster.token(ada), source_address=(HONEST, 0)))
        friend = stack.enter_context(Phone(cluster.ws_url, ben, cluster.token(ben), source_address=(HONEST, 0)))
        mine.hello(10, 10)
        friend.hello(10, 10)
        wires = []
        for i in range(300):
            wire = stack.enter_context(From(cluster.ws_url, f'127.0.{2 + i % 10}.1'))
            wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            wire.upgrade()
            reader = readers[i % len(readers)]
            wire.say({'type': 'hello', 'token': cluster.token(reader)})
            wire.say({'type': 'watch', 'what': 'feed'})
            wires.append(wire)
        edge, lats = cluster.fanouts[0], iter(range(10_000))
        eventually(lambda: edge.total('starling_edge_feed_watching_sessions') == 300)
        before = edge.total('process_resident_memory_bytes')

        def moves():
            lat = 10 + next(lats) * 1e-5
            friend.report(lat, 10)
            mine.wait_item(ben, lambda item: item['lat'] >= lat - 1e-9, 5)

        with served(moves, every_s=1.1, median_s=2.1):  # a list is told once a second
            until, posted = time.monotonic() + 8, 0
            while time.monotonic() < until:
                cluster.http(author).ok('POST', '/v1/posts', json={'text': text, 'media': ['http://a/' + 'x' * 900] * 4, 'key': f'k{posted}'})
                posted += 1
        metrics = edge.metrics()
        assert posted > 50
        assert metrics.total('process_resident_memory_bytes') < before + 60 * 2**20
        assert metrics.total('starling_budget_used', what='unread_bytes') <= 128 * 2**20


DOOR = {'edge.hello.rate': 60, 'edge.network.rate': 15, 'edge.network.burst': 60}


def turned_away(stage: Stage) -> float:
    return stage.edge.total('starling_budget_refused_total', what='new_connections', by='network')


def test_upgrades_of_one_network_do_not_take_the_door(make_cluster, users):
    """Nor the times at which others are told to come back."""
    stage = Stage(make_cluster(settings={**SETTINGS, **DOOR, 'edge.trusted.proxies': '127.0.3.0/24'}))
    first = Wire.request(SimpleNamespace(host='edge'))
    with attacked(stage, *users(1)) as stack:
        stack.enter_context(storm(stage.cluster.ws_url, first))
        eventually(lambda: turned_away(stage) >= 200, timeout=20)
    assert stage.edge.total('starling_edge_overloaded_total') == 0
    before = turned_away(stage)
    answers = []
    for _ in range(100):  # behind a balancer
        with From(stage.cluster.ws_url, '127.0.3.9') as wire:
            wire.send(wire.request('X-Forwarded-For: 198.51.100.7'))
            answers.append(wire.answer())
    assert set(answers) == {101, None} and turned_away(stage) - before == answers.count(None)


def test_handshakes_of_one_network_leave_others_theirs(make_cluster, users, tmp_path):
    """TLS with an RSA key: a signature costs the edge more than the attacker pays for a connection."""
    certificate = Certificate(rsa.generate_private_key(65537, 2048))
    stage = Stage(make_cluster(settings={**SETTINGS, **DOOR, **certificate.write(tmp_path)}))
    user, trusting, hello = *users(1), certificate.trusting(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        trusting.wrap_bio(ssl.MemoryBIO(), hello, server_hostname='127.0.0.1').do_handshake()

    def ask():
        with From(stage.cluster.ws_url, HONEST) as wire:
            wire.socket = trusting.wrap_socket(wire.socket, server_hostname='127.0.0.1')
            wire.upgrade().say({'type': 'hello', 'token': stage.cluster.token(user)})
            assert hear(wire)['type'] == 'welcome'

    with attacked(stage, user, ask) as stack:
        stack.enter_context(storm(stage.cluster.ws_url, hello.read()))
        eventually(lambda: turned_away(stage) >= 200, timeout=20)
