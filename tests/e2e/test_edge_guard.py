"""Who is let in, who is kept out, and what the edge bears: TLS, rotating keys, origins, limits, floods, dead peers, overload, many processes, drain.
Tests play the routers where one is needed. Covers lib/service/keys.c, fanout/door.c, fanout/edge.c, fanout/edge_parts.c and fanout/screens.c."""
import base64
import contextlib
import functools
import hashlib
import hmac
import itertools
import json
import pathlib
import random
import resource
import signal
import socket
import ssl
import subprocess
import time

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import connect

from harness.certificate import Certificate
from harness.cluster import build_folder
from harness.edge import Stage, move
from harness.geo import HOME, at
from harness.jwks import takers
from harness.phone import Phone
from harness.ports import free_port
from harness.processes import clean_environment
from harness.records import decode
from harness.waiting import eventually, now_ms
from harness.wire import CLOSE, PING, TEXT, Wire

SETTINGS = {'edge.flush.window.ms': 100, 'edge.first.page.ms': 60_000}


def listeners(port) -> list[str]:
    """The sockets that listen on that port of IPv4."""
    lines = pathlib.Path('/proc/net/tcp').read_text().splitlines()[1:]
    return [line for line in lines if line.split()[1].endswith(f':{port:04X}') and line.split()[3] == '0A']


# wss


def secure_phone(stage, user, certificate, **options):
    return Phone(stage.cluster.ws_url.replace('ws://', 'wss://'), user, stage.cluster.token(user),
                 ssl=certificate.trusting(), **options)


def shown_certificate(stage) -> bytes:
    """What a handshake made now is shown."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    host, port = stage.cluster.ws_url.split('/')[2].split(':')
    with socket.create_connection((host, int(port)), 5) as plain, context.wrap_socket(plain) as secure:
        return secure.getpeercert(binary_form=True)


def der(certificate) -> bytes:
    return certificate.certificate.public_bytes(serialization.Encoding.DER)


def test_a_certificate_that_cannot_be_used_is_refused_before_the_start(tmp_path):
    """By --check (1), and by a start (2, which systemd does not repeat)."""
    files = Certificate().write(tmp_path)

    def start_of(*more):
        words = [word for key, value in files.items() for word in ('--set', f'{key}={value}')]
        done = subprocess.run([build_folder() / 'starling-fanout', *words, *more], capture_output=True, text=True, timeout=20,
                              env=clean_environment())
        return done.returncode, done.stdout + done.stderr

    assert start_of('--check') == (0, 'starling-fanout: the configuration is good\n')
    for wrong in b'nothing', Certificate().key_pem:
        files['edge.tls.key.file'].write_bytes(wrong)
        for arguments, refused in (['--check'], 1), ([], 2):
            code, said = start_of(*arguments)
            assert code == refused and 'edge.pem and the key' in said and 'cannot be used' in said, said


def test_certificates_are_renewed_under_living_sessions(make_cluster, users, tmp_path):
    first, second = Certificate(days=2), Certificate(rsa.generate_private_key(public_exponent=65537, key_size=2048))
    stage = Stage(make_cluster(settings={**SETTINGS, **{f'fanout:{k}': v for k, v in first.write(tmp_path).items()}}))
    user, other, friend = users(3)
    stage.share(user, other, friend)
    end = functools.partial(stage.edge.total, 'starling_edge_certificate_end_seconds')
    assert end() == pytest.approx(first.end.timestamp(), abs=2)
    with secure_phone(stage, user, first) as phone:
        join = stage.join(phone, *HOME)
        with pytest.raises((OSError, WebSocketException)):
            connect(stage.cluster.ws_url, subprotocols=['starling.v1'], open_timeout=3, proxy=None)  # not without TLS
        with pytest.raises(ssl.SSLError):  # nor for who trusts another
            connect(stage.cluster.ws_url.replace('ws:', 'wss:'), subprotocols=['starling.v1'], proxy=None, ssl=second.trusting())

        (tmp_path / 'edge.pem').write_bytes(second.pem)  # without its key: not a pair
        stage.edge.signal(signal.SIGHUP)
        stage.edge.wait_for_log('the certificate stays as it was')
        assert shown_certificate(stage) == der(first)
        (tmp_path / 'edge.key').write_text('not a key')
        stage.edge.signal(signal.SIGHUP)
        eventually(lambda: stage.edge.log().count('the certificate stays as it was') == 2)
        assert shown_certificate(stage) == der(first)

        second.write(tmp_path)  # another kind of key
        stage.edge.signal(signal.SIGHUP)
        stage.edge.wait_for_log('the certificate was read again')
        assert shown_certificate(stage) == der(second)
        assert end() == pytest.approx(second.end.timestamp(), abs=2)
        with secure_phone(stage, other, second) as late:
            stage.join(late, *HOME)
        t = now_ms()
        stage.deliver(join['route'], move(friend, at(100), t, user))  # the old session lives on
        phone.wait_screen({friend})
        phone.report(*at(1))
        stage.wait_said(user, 'REPORT')
        assert phone.closed() is None


def test_a_request_that_comes_with_the_end_of_the_handshake_is_answered(make_cluster, users, tmp_path):
    """In one packet, as they do when the edge is busy: TLS has read both, and the socket will not be readable again."""
    certificate = Certificate()
    stage = Stage(make_cluster(settings={**SETTINGS, **{f'fanout:{k}': v for k, v in certificate.write(tmp_path).items()}}))
    host, port = stage.cluster.ws_url.removeprefix('ws://').rstrip('/').split('/')[0].split(':')
    request = (f'GET / HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n'
               'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n'
               'Sec-WebSocket-Protocol: starling.v1\r\n\r\n').encode()
    for _ in range(20):
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = certificate.trusting().wrap_bio(incoming, outgoing, server_hostname=host)
        with socket.create_connection((host, int(port)), timeout=5) as wire:
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    wire.sendall(outgoing.read())
                    incoming.write(wire.recv(65536))
            tls.write(request)
            wire.sendall(outgoing.read())
            answer = b''
            while b'\r\n\r\n' not in answer:
                try:
                    answer += tls.read()
                except ssl.SSLWantReadError:
                    incoming.write(wire.recv(65536))
            assert answer.startswith(b'HTTP/1.1 101')


# rotating keys


class Rotating:
    """Key pairs by kid, their set in a file."""

    def __init__(self, path: pathlib.Path):
        self.path, self.keys = path, {}

    def add(self, kid, kind='RS256'):
        self.keys[kid] = kind, (rsa.generate_private_key(public_exponent=65537, key_size=2048) if kind == 'RS256'
                                else ec.generate_private_key(ec.SECP256R1()))

    def write(self, *kids):
        members = []
        for kid in kids:
            kind, key = self.keys[kid]
            algorithm = jwt.algorithms.get_default_algorithms()[kind]
            members.append({**algorithm.to_jwk(key.public_key(), as_dict=True), 'kid': kid, 'use': 'sig'})
        self.path.write_text(json.dumps({'keys': members}))

    def token(self, kid, user, key=None, algorithm=None, **claims):
        kind, own = self.keys[kid]
        return jwt.encode({'sub': str(user), 'exp': int(time.time()) + 600, **claims},
                          None if algorithm == 'none' else key or own,
                          algorithm=algorithm or kind, headers={'kid': kid})

    def forged_with_public_key(self, kid, user) -> str:
        """HS256 with the public key as the secret: by hand, as libraries refuse to make it."""
        def part(data: bytes) -> bytes:
            return base64.urlsafe_b64encode(data).rstrip(b'=')

        pem = self.keys[kid][1].public_key().public_bytes(serialization.Encoding.PEM,
                                                          serialization.PublicFormat.SubjectPublicKeyInfo)
        body = part(json.dumps({'alg': 'HS256', 'kid': kid}).encode()) + b'.' + part(
            json.dumps({'sub': str(user), 'exp': int(time.time()) + 600}).encode())
        return (body + b'.' + part(hmac.new(pem, body, hashlib.sha256).digest())).decode()


def test_keys_rotate_under_gateway_and_edge(make_cluster, user, tmp_path):
    rotating = Rotating(tmp_path / 'jwks.json')
    for kid, kind in [('old', 'RS256'), ('new', 'ES256')]:
        rotating.add(kid, kind)
    rotating.write('old')
    cluster = make_cluster(settings={'fanout:edge.first.page.ms': 200, 'fanout:auth.jwks.file': rotating.path,
                                     'ingest:auth.jwks.file': rotating.path})
    cluster.start(routers=0, sinks=0)

    def taken(token) -> bool:
        """By gateway and edge alike."""
        gateway, edge = takers(cluster, user, token)
        assert edge == gateway
        return edge

    forged = [rotating.token('old', user, key=rotating.keys['new'][1], algorithm='ES256'),
              rotating.token('old', user, algorithm='none'), rotating.forged_with_public_key('old', user),
              rotating.token('new', user).replace('.', '.e30.', 1)]
    assert taken(rotating.token('old', user)) and not taken(rotating.token('new', user))
    assert taken(cluster.token(user))  # by the secret of the file, as before
    rotating.write('old', 'new')
    for daemon in cluster.ingest, cluster.fanouts[0]:
        daemon.wait_for_log('keys of tokens read again')  # nobody told it
        assert daemon.total('starling_auth_keys') == 4  # with the two files
    assert taken(rotating.token('old', user)) and taken(rotating.token('new', user))
    assert not any(taken(token) for token in forged)

    rotating.path.write_text('{"keys":[')
    for daemon in cluster.ingest, cluster.fanouts[0]:
        daemon.wait_for_log('keys of tokens stay as they were')
        assert daemon.total('starling_auth_reload_failures_total') == 1
    assert taken(rotating.token('new', user))
    with cluster.phone(user, token=rotating.token('old', user)) as phone:
        phone.hello(*HOME)
        rotating.write('new')
        cluster.fanouts[0].signal(signal.SIGHUP)  # at once
        cluster.ingest.signal(signal.SIGHUP)
        for daemon in cluster.ingest, cluster.fanouts[0]:
            eventually(lambda d=daemon: d.total('starling_auth_keys') == 3)
        assert phone.wait_closed() == 1008  # its key is gone
    assert not taken(rotating.token('old', user)) and taken(rotating.token('new', user))


# who is kept out, and what is borne


GUARDED = {**SETTINGS, 'edge.handshake.s': 2, 'edge.hello.s': 3, 'edge.ping.s': 2, 'edge.max.messages.per.s': 20,
           'edge.allowed.origins': 'https://app.example.org, https://example.org:8443'}


@pytest.fixture(scope='module')
def guarded(make_module_cluster):
    return Stage(make_module_cluster(settings=GUARDED))


class Counter:
    """How much a metric has risen since."""

    def __init__(self, stage, name, **labels):
        self.value = lambda: stage.edge.total(name, **labels)
        self.before, self.name = self.value(), name

    def wait(self, rise):
        eventually(lambda: self.value() - self.before == rise, what=f'{self.name} has risen by {rise}')


def hello(stage, user, wire):
    wire.say({'type': 'hello', 'token': stage.cluster.token(user), 'lat': HOME[0], 'lng': HOME[1], 'time': now_ms()})


def test_only_pages_of_allowed_origins_connect(guarded):
    refused = Counter(guarded, 'starling_edge_handshakes_refused_total', reason='origin')
    for origin, status in [('https://app.example.org', 101), ('HTTPS://App.example.org', 101), (None, 101),
                           ('https://example.org:8443', 101), ('https://example.org', 403), ('null', 403), ('', 403),
                           ('https://app.example.org.evil.example', 403), ('https://evil.example', 403),
                           ('https://app.example.org,', 403), ('x' * 1000, 403)]:
        with Wire(guarded.cluster.ws_url) as wire:
            wire.send(wire.request(*([] if origin is None else [f'Origin: {origin}'])))
            got = wire.answer()
            assert got == status or (origin == '' and got == 101), (origin, got)  # an empty header is none
    eventually(lambda: refused.value() - refused.before >= 6)


def test_what_is_no_upgrade_is_refused_and_counted(guarded):
    refused = Counter(guarded, 'starling_edge_handshakes_refused_total', reason='no_upgrade')
    with Wire(guarded.cluster.ws_url) as wire:
        wire.send(b'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
        assert wire.answer() == 426
    refused.wait(1)


def test_endless_headers_end(guarded):
    before = guarded.edge.total('process_resident_memory_bytes')
    for _ in range(20):
        with Wire(guarded.cluster.ws_url) as wire:
            wire.send(b'GET / HTTP/1.1\r\nHost: localhost\r\n')
            for number in range(2000):
                if not wire.send(b'X-%d: %s\r\n' % (number, b'y' * 500)):
                    break
            assert wire.closed()
    assert guarded.edge.total('process_resident_memory_bytes') - before < 4 << 20


def test_a_handshake_that_is_dribbled_is_dropped(guarded):
    late = Counter(guarded, 'starling_edge_handshakes_refused_total', reason='late')
    with Wire(guarded.cluster.ws_url) as wire:
        began = time.monotonic()
        for byte in wire.request() * 10:
            if not wire.send(bytes([byte])):
                break
            time.sleep(0.1)
        assert 1.9 < time.monotonic() - began < 5
    late.wait(1)


def test_a_hello_that_is_dribbled_is_too_late(guarded):
    with Wire(guarded.cluster.ws_url) as wire:
        wire.upgrade()
        began = time.monotonic()
        wire.socket.settimeout(0.1)
        for byte in wire.frame(TEXT, b'{"type":"hello"' + b' ' * 3000):
            wire.send(bytes([byte]))
            try:
                if wire.socket.recv(1, socket.MSG_PEEK):
                    break
            except TimeoutError:
                pass
        wire.socket.settimeout(5)
        assert wire.closing() == (1008, 'no_hello')
        assert 2.9 < time.monotonic() - began < 6


def test_a_peer_that_is_gone_is_found_out(guarded, users):
    gone, there = users(2)
    guarded.share(gone, there)
    dead = Counter(guarded, 'starling_edge_dead_total')
    with guarded.cluster.phone(there) as alive, Wire(guarded.cluster.ws_url) as wire:
        guarded.join(alive, *HOME)
        wire.upgrade()
        hello(guarded, gone, wire)
        guarded.wait_said(gone, 'JOIN')
        heard = []
        while (frame := wire.hear()) is not None:  # reads, but does not answer
            heard.append(frame[0])
        assert PING in heard and CLOSE not in heard
        dead.wait(1)
        guarded.wait_said(gone, 'QUIT')
        time.sleep(3)  # longer than a silent peer may be: this one's library answers pings
        assert alive.closed() is None


def test_a_flood_of_pings_ends_and_others_do_not_notice(guarded, users):
    user, friend = users(2)
    guarded.share(user, friend)
    floods = Counter(guarded, 'starling_edge_floods_total')
    with guarded.cluster.phone(user) as phone, Wire(guarded.cluster.ws_url) as wire:
        join = guarded.join(phone, *HOME)
        wire.upgrade()
        wire.socket.settimeout(0.5)
        ping, before = wire.frame(PING, b'x' * 100), floods.value()
        for sent in range(100_000):  # as fast as it goes: a read and a pong in each turn of the loop, no more
            if not wire.send(ping):
                break
            if sent == 50:
                began = time.monotonic()
                guarded.deliver(join['route'], move(friend, at(100), now_ms(), user))
                phone.wait_screen({friend})
                assert time.monotonic() - began < 2
            if sent % 10 == 0:
                wire.socket.setblocking(False)
                with contextlib.suppress(BlockingIOError):
                    wire.pending += wire.socket.recv(1 << 16)
                wire.socket.settimeout(0.5)
        eventually(lambda: floods.value() == before + 1)
        assert phone.closed() is None
    with Wire(guarded.cluster.ws_url) as wire:  # each one answered
        before = floods.value()
        wire.upgrade()
        heard = None
        for _ in range(1000):
            wire.send(ping)
            heard = wire.hear()
            if heard is None or heard[0] == CLOSE:
                break
        assert heard and heard[0] == CLOSE and heard[1] == b'\x03\xf0too_many_pings'
        eventually(lambda: floods.value() == before + 1)


def test_a_flood_of_messages_ends(guarded, user):
    floods = Counter(guarded, 'starling_edge_floods_total')
    with guarded.cluster.online(user, *HOME) as phone:
        for _ in range(30):  # a burst is fine
            phone.send({'type': 'more'})
        for _ in range(30):
            phone.expect('nearby')
        assert phone.closed() is None
        for _ in range(100):
            try:
                phone.send({'type': 'more'})
            except Exception:  # it is closed already
                break
        assert phone.wait_closed() == 1008
        assert phone.closed()[1] == 'too_many_messages'
    floods.wait(1)


def test_garbage_ends_its_connection_alone(guarded, user):
    guarded.share(user)
    chance = random.Random(7)
    frame = Wire.frame
    garbage = [frame(TEXT, b'{}', masked=False), frame(3, b''), frame(11, b'x'), frame(PING, b'x' * 126),
               frame(PING, b'x', final=False), frame(0, b'never begun'), frame(TEXT, b'\xff\xfe'), b'\xf1\x80\0\0\0\0',
               frame(CLOSE, b'\x03'), frame(CLOSE, b'\0\0'), b'\x81\xff' + b'\xff' * 12, frame(TEXT, b'a', final=False) * 3,
               *(chance.randbytes(400) for _ in range(40))]
    with guarded.cluster.phone(user) as phone:
        guarded.join(phone, *HOME)
        sessions = guarded.edge.total('starling_edge_sessions')
        for data in garbage:
            with Wire(guarded.cluster.ws_url) as wire:
                wire.upgrade()
                wire.send(data)
                wire.socket.settimeout(0.05)
                try:
                    if chance.random() < 0.5:
                        wire.socket.shutdown(socket.SHUT_WR)
                    wire.socket.recv(100)
                except OSError:
                    pass
        eventually(lambda: guarded.edge.total('starling_edge_sessions') == sessions)
        phone.report(*at(3))
        guarded.wait_said(user, 'REPORT')


# no oftener than that


def test_reports_that_come_too_soon_take_the_place_of_each_other(make_cluster, users):
    period = 1.5
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.min.report.ms': int(period * 1000)}))
    user, leaver = users(2)
    stage.share(user, leaver)
    with stage.cluster.phone(user) as phone:
        join = stage.join(phone, *HOME)
        began, sent = time.monotonic(), 0
        while time.monotonic() - began < 3 * period:
            sent += 1
            phone.report(*at(sent), time=join['time'] + sent, accuracy=3)
            if sent == 5:
                phone.report(*at(-1), time=join['time'] + 1)  # an older one
            time.sleep(0.05)
        last = eventually(lambda: (said := stage.said(user))[-1]['time'] == join['time'] + sent and said, 5)
        reports = [record for record in last if record['kind'] == 'REPORT']
        assert 3 <= len(reports) <= 4
        assert reports[-1]['accuracy'] == 3
        assert [r['time'] for r in reports] == sorted(r['time'] for r in reports)
        kafka = [m.timestamp for m in stage.topics.read('locations')]
        assert all(later - earlier >= period * 1000 - 100 for earlier, later in itertools.pairwise(kafka))
        replaced = stage.edge.total('starling_edge_reports_replaced_total')
        assert replaced == sent + 1 - len(reports)  # nothing else became of any
    phone = stage.cluster.phone(leaver)
    join = stage.join(phone, *HOME)
    phone.report(*at(10), time=join['time'] + 1)
    phone.report(*at(20), time=join['time'] + 2)
    phone.close()
    stage.wait_said(leaver, 'QUIT')
    assert [(r['kind'], r['time'] - join['time']) for r in stage.said(leaver)] == [('JOIN', 0), ('REPORT', 2), ('QUIT', 2)]


def test_a_place_that_routers_never_hear_of_takes_nobody_off_the_screen(make_cluster, users):
    """Routers send whom a report brings near, from the one before it: whom a place between the two had taken off, they do not."""
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.min.report.ms': 1500}))
    user, friend = users(2)
    stage.share(user, friend)
    with stage.cluster.phone(user) as phone:
        join = stage.join(phone, *HOME, friends=[(friend, at(8000), now_ms())])
        phone.report(*at(-200), time=join['time'] + 1)  # 8,200 m
        phone.report(*HOME, time=join['time'] + 2)
        eventually(lambda: stage.said(user)[-1]['time'] == join['time'] + 2)
        time.sleep(0.5)
        assert friend in phone.screen
        phone.report(*at(-200), time=join['time'] + 3)
        eventually(lambda: friend not in phone.screen, 5)


# too many, too soon, too slow


def test_a_full_edge_says_when_to_come_back(make_cluster, users):
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.max.sessions': 1, 'edge.hello.rate': 10}))
    a, b = users(2)
    with stage.cluster.phone(a) as inside:
        inside.hello(*HOME, wait=False)  # without one it would make room
        inside.expect('welcome')
        delays = []
        for _ in range(5):
            with stage.cluster.phone(b) as phone:
                delays.append(phone.expect('reconnect')['after_ms'])
                assert phone.wait_closed() == 1013
        assert all(5000 <= delay <= 6000 for delay in delays) and len(set(delays)) > 1
    assert stage.edge.total('starling_edge_overloaded_total', reason='full') == 5


def test_a_storm_comes_back_as_a_ramp(make_cluster, users):
    rate, crowd = 10, 60
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.hello.rate': rate}))
    waiting = [(0.0, user) for user in users(crowd)]
    arrivals, phones, burst_s, began = [], [], 0, time.monotonic()
    while waiting:
        waiting.sort()
        due, user = waiting.pop(0)
        if due:
            burst_s = burst_s or time.monotonic() - began  # everybody has come once
        time.sleep(max(0.0, due - (time.monotonic() - began)))
        phone = stage.cluster.phone(user)
        try:
            phone.hello(*HOME, wait=False)
        except ConnectionClosed:  # already sent away
            pass
        first = eventually(lambda p=phone: p.frames and p.frames[0])
        if first['type'] == 'reconnect':
            assert phone.wait_closed() == 1013
            waiting.append((time.monotonic() - began + first['after_ms'] / 1000, user))
        else:
            phones.append(phone)
            arrivals.append(time.monotonic() - began)
    assert len(arrivals) == crowd
    for second in range(int(arrivals[-1]) + 1):
        assert sum(second <= arrival < second + 1 for arrival in arrivals) <= 2 * rate + 2
    assert arrivals[-1] < 3 * crowd / rate
    assert stage.edge.total('starling_edge_overloaded_total', reason='storm') >= crowd - 2 * rate * (burst_s + 1)
    assert all(phone.closed() is None for phone in phones)


def test_an_edge_that_is_behind_lets_nobody_in_until_it_has_caught_up(make_cluster, users):
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.max.loop.lag.ms': 100}))
    inside, user = users(2)
    with stage.cluster.online(inside, *HOME) as phone:
        stage.edge.pause()
        time.sleep(2)
        stage.edge.resume()
        eventually(lambda: stage.edge.total('starling_edge_loop_lag_seconds') > 0.1)
        with stage.cluster.phone(user) as late:
            assert late.expect('reconnect')['after_ms'] >= 2000
            assert late.wait_closed() == 1013
        assert stage.edge.total('starling_edge_overloaded_total', reason='behind') == 1
        eventually(lambda: stage.edge.total('starling_edge_loop_lag_seconds') < 0.05, 20)
        with stage.cluster.phone(user) as again:
            again.hello(*HOME)
        assert phone.closed() is None


def test_what_held_an_edge_up_before_it_let_people_in_keeps_nobody_out(make_cluster, users):
    cluster = make_cluster(settings={**SETTINGS, 'edge.max.loop.lag.ms': 100})
    cluster.start(ingests=0, routers=0, fanouts=0, sinks=0)
    edge = None
    for _ in range(10):
        edge = cluster.add('fanout', wait=False)
        edge.wait_for_log('event=started')
        edge.pause()
        if 'routes assigned' not in edge.log():
            break
        edge.resume()
        edge.stop()
    else:
        pytest.skip('the edge has its routes too soon to be held up before')
    time.sleep(2)
    edge.resume()
    edge.wait_ready()
    with cluster.phone(*users(1)) as phone:
        phone.hello(*HOME)
    assert edge.total('starling_edge_overloaded_total', reason='behind') == 0


def test_a_full_edge_leaves_its_share_of_the_port_to_others(make_cluster, users):
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.max.sessions': 2}))
    large = stage.cluster.add('fanout', settings={'edge.max.sessions': 100})
    crowd = users(30)

    def sessions(edge):
        return edge.total('starling_edge_sessions')

    phones = []
    while sessions(stage.edge) < 2:
        phone = stage.cluster.phone(crowd.pop())
        time.sleep(0.05)
        if phone.closed() is None:
            phone.hello(*HOME, wait=False)  # without one it would make room
            phone.expect('welcome')
            phones.append(phone)
    time.sleep(1)  # until it has looked
    before = sessions(large)
    later = [stage.cluster.phone(user) for user in crowd]
    for phone in later:
        phone.hello(*HOME)
    assert sessions(large) == before + len(later)
    large.stop()  # nobody else now: it says so itself again
    time.sleep(1)
    with stage.cluster.phone(crowd[0]) as phone:
        assert phone.wait_closed() == 1013


def test_an_edge_that_cannot_listen_again_keeps_its_phones_and_tries_on(make_cluster, users):
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.max.sessions': 1}))
    user, later = users(2)
    stage.share(user)
    host, port = stage.cluster.ws_url.split('/')[2].split(':')
    with stage.cluster.phone(user) as phone:
        stage.join(phone, *HOME)
        with socket.socket() as other:  # another on the same port, so that the full edge leaves it to that one
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            other.bind((host, int(port)))
            other.listen()
            eventually(lambda: len(listeners(int(port))) == 1, what='the full edge has closed its listener')
            before = resource.prlimit(stage.edge.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(stage.edge.pid, resource.RLIMIT_NOFILE, (3, before[1]))  # not one more
        stage.edge.wait_for_log('the WebSocket listener cannot be opened')
        stage.edge.wait_for_log('condition=listener')
        time.sleep(3)  # and again, and again
        assert stage.edge.log().count('the WebSocket listener cannot be opened') == 1
        assert listeners(int(port)) == []
        phone.report(*at(1))
        stage.wait_said(user, 'REPORT')
        resource.prlimit(stage.edge.pid, resource.RLIMIT_NOFILE, before)
        stage.edge.wait_ready()
        assert phone.closed() is None
    with stage.cluster.phone(later) as phone:
        phone.hello(*HOME)


# one user, two devices, two edges


def test_two_devices_on_two_edges_stay_and_nothing_goes_round(make_cluster, user):
    cluster = make_cluster(settings={'fanout:edge.min.report.ms': 0}).start(ingests=0, sinks=0)
    second = cluster.add('fanout', settings={'edge.listen': f'127.0.0.1:{free_port()}'})
    cluster.topics.produce('sharing', user, ('sharing', {'mode': 'FRIENDS'}))
    for daemon in *cluster.fanouts, *cluster.routers:
        eventually(lambda d=daemon: d.kind == 'router' or d.total('starling_copies_records_total', topic='sharing') >= 1)
    older = cluster.online(user, *HOME)
    newer = Phone(f'ws://{second.settings["edge.listen"]}/', user, cluster.token(user))
    newer.hello(*HOME)

    def said():
        return [decode(m.value)['kind'] for m in cluster.topics.read('locations')]

    before = said()
    for step in range(8):
        (newer, older)[step % 2].report(*at(step))
        time.sleep(0.25)
    assert newer.closed() is None and older.closed() is None
    assert [kind for kind in said()[len(before):] if kind != 'REPORT'] == []
    newer.close()


def test_a_silent_session_says_that_it_is_there(make_cluster, users):
    ada, ben = users(2)
    cluster = make_cluster(settings={'inactive.after.s': 6}).start(sinks=0)
    cluster.acquaint(ada, ben)
    with cluster.online(ada, *HOME) as walking, cluster.online(ada, *HOME) as asleep, cluster.online(ben, *at(100)) as friend:
        for step in range(16):  # for more than two windows
            walking.report(*at(step))
            friend.report(*at(100 + step))
            time.sleep(1)
        assert asleep.wait_screen({ben})[ben]['lat'] == pytest.approx(at(115)[0], abs=1e-6)
        mine = [r for m in cluster.topics.read('locations') if (r := decode(m.value))['session'] == int(asleep.frames[0]['session'])]
        assert [r['kind'] for r in mine[:1]] == ['JOIN'] and {r['kind'] for r in mine[1:]} == {'REJOIN'} and len(mine) > 5


# the end


def test_a_drain_is_even_and_its_phones_are_told_when_to_come(make_cluster, users):
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.drain.s': 2, 'edge.hello.rate': 20}))
    phones = [stage.cluster.phone(user) for user in users(20)]
    for phone in phones:
        phone.hello(*HOME)
    began = time.monotonic()
    assert stage.edge.drain().status_code == 202
    assert stage.edge.get('/readyz').status_code == 503
    with pytest.raises(OSError):
        stage.cluster.phone(1)
    closed = []
    while len(closed) < len(phones):
        for phone in phones:
            if phone not in closed and phone.closed():
                closed.append(phone)
                phone.ended = time.monotonic() - began
        time.sleep(0.01)
        assert time.monotonic() - began < 10
    assert stage.edge.wait() == 0
    assert {phone.closed()[0] for phone in phones} == {1012}
    ends = [phone.ended for phone in closed]
    assert 1 <= sum(end < 1 for end in ends) <= 15 and ends[-1] > 1.5
    comes = sorted(phone.ended * 1000 + phone.expect('reconnect')['after_ms'] for phone in phones)
    assert comes[-1] - comes[0] >= 900  # twenty of them, twenty a second


def test_a_second_signal_ends_at_once(make_cluster, users):
    stage = Stage(make_cluster(settings={**SETTINGS, 'edge.drain.s': 600}))
    phones = [stage.cluster.phone(user) for user in users(3)]
    for phone in phones:
        phone.hello(*HOME)
    stage.edge.terminate()
    stage.edge.wait_for_log('draining')
    time.sleep(0.5)
    assert stage.edge.alive()
    stage.edge.signal(signal.SIGTERM)
    assert stage.edge.wait(5) == 1


# many processes of one port


def test_edges_share_a_port_and_go_on_without_one(make_cluster, users):
    """Instances of the unit starling-fanout@ with one edge.listen."""
    stage = Stage(make_cluster(delivery_partitions=6, settings={**SETTINGS, 'edge.drain.s': 1}), fanouts=3)
    edges = stage.cluster.fanouts
    assert len({edge.settings['edge.listen'] for edge in edges}) == 1

    def sessions():
        return [edge.total('starling_edge_sessions') for edge in edges if edge.alive()]
    phones = [stage.cluster.phone(user) for user in users(60)]
    for phone in phones:
        phone.hello(*HOME)
    split = sessions()
    assert sum(split) == 60 and min(split) >= 5, split
    edges[1].kill()
    eventually(lambda: sum(phone.closed() is not None for phone in phones) == split[1])
    assert {phone.closed()[0] for phone in phones if phone.closed()} == {1006}
    assert sessions() == [split[0], split[2]]  # the others go on
    edges[1].start()
    for user in users(40):
        phones.append(stage.cluster.phone(user))
        phones[-1].hello(*HOME)
    assert sessions()[1] >= 1
    for edge in edges:
        assert edge.stop() == 0
    assert {phone.wait_closed() for phone in phones} == {1006, 1012}
