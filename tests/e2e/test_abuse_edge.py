"""Attacks on edges, from 127.0.2.1 and other networks, and how an honest phone is served meanwhile."""
import contextlib
import json
import socket

from websockets.exceptions import ConnectionClosed

from harness.edge import Stage
from harness.honest import HONEST, served
from harness.phone import Phone
from harness.waiting import eventually
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
def attacked(stage: Stage, user: int):
    """The block attacks: it is handed a stack for its sockets, which stay until the honest one has come ten times."""
    with contextlib.ExitStack() as stack, served(Honest(stage, user)) as times:
        yield stack
        eventually(lambda: len(times) >= 10)


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
    assert stage.edge.metrics().total('starling_budget_refused_total', what='sessions', by='user') == 284
    assert stage.edge.metrics().total('starling_access_refused_total', reason='too_many_sessions') == 284
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
    assert eventually(lambda: stage.edge.metrics().total('starling_budget_refused_total', **refused)) == 10
    assert stage.edge.metrics().total('starling_access_refused_total', reason='overloaded') == 10
    assert [line.split('network=')[1].split()[0] for line in refusals(stage.edge, 'overloaded')] == ['127.0.2.0/24', '198.51.100.0/24']


def test_silent_sockets_and_sessions_make_room_for_those_who_come(make_cluster, users):
    stage = Stage(make_cluster(settings=SETTINGS))
    with attacked(stage, *users(1)) as stack:
        for _ in range(700):
            stack.enter_context(From(stage.cluster.ws_url))
        for i in range(600):
            stack.enter_context(From(stage.cluster.ws_url, f'127.0.{10 + i % 10}.1').upgrade())
    assert stage.edge.metrics().total('starling_edge_handshakes_refused_total', reason='crowded') >= 100
