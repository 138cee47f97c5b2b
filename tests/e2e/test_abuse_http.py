"""Half requests, silent connections, bodies without a token and readers that do not read keep no one else out and take no memory; and requests
that two servers could read differently are refused by each of ours."""
import contextlib
import re
import socket
import time

import pytest

from harness.commenting import Commenting
from harness.honest import honest, memory, served
from harness.meanwhile import meanwhile
from harness.waiting import eventually

ATTACKER = '127.0.0.9'
MB = 1 << 20


def place_of(url):
    host, _, port = url.removeprefix('http://').partition(':')
    return host, int(port)


@contextlib.contextmanager
def connections(url, count, text, sources=(ATTACKER,), read=None):
    """So many connections that have sent that much. What the server or the kernel does not take is left out."""
    opened = []
    try:
        for number in range(count):
            connection = socket.socket()
            opened.append(connection)
            if read:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, read)
            connection.bind((sources[number % len(sources)], 0))
            connection.connect(place_of(url))
            connection.setblocking(False)
            with contextlib.suppress(OSError):
                connection.send(text)
        yield opened
    finally:
        for connection in opened:
            connection.close()


def dripping(opened):
    """Each sends a byte now and then, as long as the server takes it."""
    def drip(connections):
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.send(b'x')

    return meanwhile([opened], drip, pause=1)


@pytest.fixture(scope='module')
def gateway(make_module_cluster):
    return make_module_cluster(settings={'ingest:ingest.max.connections': 2000, 'ingest:ingest.network.connections': 1500}).start(
        routers=0, fanouts=0, sinks=0)


HALVES = {'silent': b'', 'heads': b'GET /v1/sharing HTTP/1.1\r\nHost: x\r\nX: ',
          'bodies': b'POST /v1/locations HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{',
          'registry': b'POST /registry/subjects/x HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n{'}


@pytest.mark.parametrize('half', HALVES)
@pytest.mark.parametrize('networks', [1, 40])
def test_half_requests_keep_nobody_out(gateway, user, half, networks):
    token = gateway.token(user)
    sources = [f'127.0.{100 + number}.1' for number in range(networks)]
    with connections(gateway.http_url, 3000, HALVES[half], sources) as opened, dripping(opened):
        with served(lambda: honest(gateway.http_url, token).ok('GET', '/v1/sharing')):  # each time a new connection
            time.sleep(2)
        metrics = gateway.ingest.metrics()
        assert metrics.total('starling_ingest_connections') <= 2000
        if half != 'bodies':  # those were refused for their token, and are gone
            assert metrics.total('starling_budget_refused_total', what='connections', by='network' if networks == 1 else 'process') > 0


def test_bodies_without_a_token_are_not_held(gateway, users, user):
    token = gateway.token(user)
    before = memory(gateway.ingest)
    body = b'POST /v1/locations HTTP/1.1\r\nHost: x\r\nContent-Length: 261000\r\n\r\n' + b'x' * 260_000
    with connections(gateway.http_url, 1400, body), served(lambda: honest(gateway.http_url, token).ok('GET', '/v1/sharing')):
        time.sleep(2)
        assert memory(gateway.ingest) < before + 40 * MB
    mine = body.replace(b'Host: x', b'Host: x\r\nAuthorization: Bearer ' + token.encode())
    other = gateway.token(users(1)[0])
    with connections(gateway.http_url, 300, mine), served(lambda: honest(gateway.http_url, other).ok('GET', '/v1/sharing')):
        time.sleep(2)
        assert memory(gateway.ingest) < before + 40 * MB
        metrics = gateway.ingest.metrics()
        assert metrics.total('starling_budget_refused_total', what='request_bytes', by='caller') > 0
        assert metrics.total('starling_budget_used', what='request_bytes') <= 8 * MB
    eventually(lambda: gateway.ingest.total('starling_budget_used', what='request_bytes') == 0, 10)


def test_who_does_not_read_is_not_waited_for_in_memory(make_cluster, users):
    """300 pages of a MiB each, for one who reads none."""
    cluster = make_cluster(settings={'ingest:ingest.user.rate': 0, 'ingest:ingest.reply.s': 4}).start(
        comments=1, fanouts=0, sinks=0)
    writer, reader, other = users(3)
    comments = Commenting(cluster)
    subject = comments.new_subject(writer)
    for _ in range(30):
        comments.write(subject, writer, '友' * 10_000)
    path = comments.path(subject)
    assert len(cluster.http(reader).ok('GET', path + '?limit=100', headers={'Accept-Encoding': 'identity'})['items']) == 30
    before = memory(cluster.ingest)
    text = f'GET {path}?limit=100 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {cluster.token(reader)}\r\n\r\n'.encode()
    token = cluster.token(other)
    with connections(cluster.http_url, 300, text, read=4096), served(lambda: honest(cluster.http_url, token).ok('GET', path)):
        eventually(lambda: cluster.ingest.total('starling_budget_refused_total', what='reply_bytes', by='caller') > 0, 10)
        assert memory(cluster.ingest) < before + 60 * MB
        assert cluster.ingest.total('starling_budget_used', what='reply_bytes') <= 9 * MB
        eventually(lambda: cluster.ingest.total('starling_budget_used', what='reply_bytes') == 0, 15)  # they are closed


@pytest.mark.parametrize('count', [70, 2000])
def test_half_requests_do_not_block_healthz(gateway, count):
    url = 'http://' + gateway.ingest.settings['ops.listen']
    with (connections(url, count, b'GET /healthz HTTP/1.1\r\nHost: ', ('127.0.0.1',)) as opened, dripping(opened),
          served(lambda: honest(url, address='127.0.0.1').get('/healthz').raise_for_status())):
        time.sleep(2)


# what two servers could read differently


def say(url, text: bytes) -> bytes:
    """What is answered until the server closes."""
    with socket.create_connection(place_of(url), timeout=10) as connection:
        connection.sendall(text)
        answer = b''
        while part := connection.recv(65536):
            answer += part
        return answer


POST = b'POST /metrics HTTP/1.1\r\nHost: x\r\n'
CHUNKED = b'PUT /v1/profile HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer TOKEN\r\nTransfer-Encoding: chunked\r\n\r\n'
INNER = b'GET /inner HTTP/1.1\r\nHost: x\r\n\r\n'
REFUSED = {
    'a NUL in a value': b'GET /metrics HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n',
    'a NUL in who it was for': b'GET /metrics HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 1.2.3.4\0\r\n\r\n',
    'a NUL in a length': POST + b'Content-Length: 5\0\r\n\r\nhello',
    'a NUL in a name': POST + b'X\0: 5\r\n\r\n',
    'a NUL in the address': b'GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n',
    'a line feed behind the request line': b'GET /metrics HTTP/1.1\nHost: x\r\n\r\n',
    'a line feed behind a field': b'GET /metrics HTTP/1.1\r\nHost: x\nX: y\r\n\r\n',
    'a line feed as the end': b'GET /metrics HTTP/1.1\r\nHost: x\r\n\n',
    'a folded field': b'GET /metrics HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n',
    'a blank before the colon': POST + b'Content-Length : 5\r\n\r\nhello',
    'two lengths': POST + b'Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello',
    'a length and chunks': POST + b'Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'another coding': POST + b'Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    'no host': b'GET /metrics HTTP/1.1\r\n\r\n',
    'two hosts': b'GET /metrics HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n',
    'another version': b'GET /metrics HTTP/2.0\r\nHost: x\r\n\r\n',
    'no HTTP': b'\x16\x03\x01\x02\0\x01',
    'a word': b'nonsense\r\n\r\n',
    'a long address': b'GET /' + b'a' * 9000 + b' HTTP/1.1\r\nHost: x\r\n\r\n',
    'a long head': b'GET / HTTP/1.1\r\nHost: x\r\nX: ' + b'a' * 70_000 + b'\r\n\r\n',
}
BROKEN_CHUNKS = {
    'a line feed behind a size': b'2\n{}\r\n0\r\n\r\n',
    'a NUL in a size': b'2\0\r\n{}\r\n0\r\n\r\n',
    'a blank behind a size': b'2 \r\n{}\r\n0\r\n\r\n',
    'a line feed behind the data': b'2\r\n{}\n0\r\n\r\n',
    'a line feed in an extension': b'2;a\nb\r\n{}\r\n0\r\n\r\n',
    'a size that is too long': b'ffffffffffffffffff2\r\n{}\r\n0\r\n\r\n',
    'a line feed in a trailer': b'2\r\n{}\r\n0\r\na: b\nc: d\r\n\r\n',
}


def refused(url, text):
    answer = say(url, text + INNER)
    head, _, body = answer.partition(b'\r\n\r\n')
    assert re.match(rb'HTTP/1.1 (400|414|431|501) ', head), answer
    assert b'\r\nConnection: close' in head and b'\r\nContent-Type: application/problem+json' in head
    assert answer.count(b'HTTP/1.1 ') == 1 and b'"code":"' in body


@pytest.mark.parametrize('server', ['ingest.listen', 'ops.listen', 'peer.listen'])
def test_what_two_servers_could_read_differently_is_refused(gateway, server):
    url = 'http://' + gateway.ingest.settings[server]
    for name, text in REFUSED.items():
        try:
            refused(url, text)
        except AssertionError as failure:
            raise AssertionError(name) from failure


def test_broken_chunks_are_refused(gateway, users):
    head = CHUNKED.replace(b'TOKEN', gateway.token(users(1)[0]).encode())
    for name, chunks in BROKEN_CHUNKS.items():
        try:
            refused(gateway.http_url, head + chunks)
        except AssertionError as failure:
            raise AssertionError(name) from failure


def test_what_is_allowed_is_understood(gateway, user):
    token = gateway.token(user).encode()
    body = b'{"name":"Ada"}'
    for target, fields in ((b'/v1/profile', b'Content-Length: 14 \r\nAuthorization: Bearer ' + token + b' \t\r\n'),
                           (b'http://x/v1/profile', b'Content-Length:14\r\nAuthorization: Bearer ' + token + b'\r\n'),
                           (b'http://other.example:80/v1/profile?x', b'Content-Length: 014\r\nauthorization:bearer ' + token + b'\r\n')):
        answer = say(gateway.http_url, b'PUT ' + target + b' HTTP/1.1\r\nHost: x\r\nConnection: close\r\n' + fields + b'\r\n' + body)
        assert answer.startswith(b'HTTP/1.1 200 '), answer
