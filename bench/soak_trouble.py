"""What a soak does to starling: daemons killed, drained and added at random, sockets that send garbage, phones that read
nothing. Troubles on the way are kept and told at the end."""
import base64
import contextlib
import json
import os
import random
import socket
import struct
import threading
import time

from harness.cluster import KINDS
from harness.slow import SlowPhone
from harness.waiting import now_ms


class Background(threading.Thread):
    """Calls self.act(random) again and again until it is told to end. failures: what act raised."""

    def __init__(self, name, seed, pause_s):
        super().__init__(daemon=True, name=name)
        self.random = random.Random(f'{seed} {name}')
        self.pause_s, self.failures, self._over = pause_s, [], threading.Event()

    def run(self):
        while not self._over.wait(self.random.uniform(*self.pause_s)):
            try:
                self.act(self.random)
            except Exception as error:  # told at the end; the soak goes on
                self.failures.append(f'{self.name}: {type(error).__name__}: {error}')

    def end(self, timeout=90):
        self._over.set()
        self.join(timeout)
        if self.is_alive():
            self.failures.append(f'{self.name} does not end')


@contextlib.contextmanager
def kept(*addresses):
    """Nobody else takes these ports meanwhile."""
    with contextlib.ExitStack() as stack:
        for address in addresses:
            holder = stack.enter_context(socket.socket())
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            host, port = address.split(':')
            with contextlib.suppress(OSError):
                holder.bind((host, int(port)))
        yield


class Killer:
    """Kills, drains, pauses and adds daemons, one thing at a time. In the first part of the soak any of them; then
    only others than the first of each kind, whose memory is watched. The first part ends with the second ones killed, so
    that the first ones have had everything to do once, and hold as much memory as they ever will. On the main thread: a daemon
    dies with the thread that started it."""

    def __init__(self, cluster, seed, settled_at):
        self.random = random.Random(f'{seed} killer')
        self.cluster, self.settled_at = cluster, settled_at
        self.events, self.failures, self._loaded = [], [], False

    def run(self, until):
        while time.monotonic() < until:
            time.sleep(min(self.random.uniform(3, 8), max(0.0, until - time.monotonic())))
            try:
                self.act(self.random)
            except Exception as error:  # told at the end; the soak goes on
                self.failures.append(f'killer: {type(error).__name__}: {error}')

    def note(self, what, daemon):
        self.events.append((time.monotonic(), what, daemon.name))

    def kill(self, daemon, away):
        if not daemon.alive():
            raise AssertionError(f'{daemon.name} was not there any more')
        self.note('killed', daemon)
        daemon.kill()
        with kept(daemon.ops, daemon.peer):
            time.sleep(away)
        daemon.start(timeout=90)

    def act(self, random):
        if not self._loaded and time.monotonic() > self.settled_at:
            self._loaded = True
            for kind in KINDS:
                self.kill(self.cluster.of(kind)[1], 3)
            return
        first = 1 if self._loaded else 0
        kind = random.choice(KINDS)
        daemon = random.choice(self.cluster.of(kind)[first:2])
        what = random.choices(('kill', 'restart', 'pause', 'add'), (5, 2, 1, 1))[0]
        if what == 'kill':
            self.kill(daemon, random.choice((0, 0, 1, 8)))
        elif what == 'restart':
            self.note('drained and started', daemon)
            code = daemon.stop(60)
            if code != 0:
                raise AssertionError(f'{daemon.name} ended with {code} after SIGTERM')
            daemon.start(timeout=90)
        elif what == 'pause':
            self.note('stopped for a while', daemon)
            daemon.pause()
            time.sleep(random.uniform(1, 9))
            daemon.resume()
            daemon.wait_ready(90)
        else:
            third = next(iter(self.cluster.of(kind)[2:]), None)
            if third is None:
                third = self.cluster.add(kind, start=False)
            self.note('added for a while', third)
            third.start(timeout=90)
            time.sleep(random.uniform(2, 6))
            if third.stop(60) != 0:
                raise AssertionError(f'{third.name} ended with {third.exit_code()} after SIGTERM')


UPGRADE = ('GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {}\r\n'
           'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: starling.v1\r\n\r\n')


def frame(opcode, payload, final=True, masked=True, claim=None):
    size = len(payload) if claim is None else claim
    head = bytes([(0x80 if final else 0) | opcode])
    bit = 0x80 if masked else 0
    if size < 126:
        head += bytes([bit | size])
    elif size < 65536:
        head += bytes([bit | 126]) + struct.pack('>H', size)
    else:
        head += bytes([bit | 127]) + struct.pack('>Q', size)
    if not masked:
        return head + payload
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))


class Garbage(Background):
    """Connections that break every rule, a few at a time, several a second."""

    def __init__(self, cluster, seed, users):
        super().__init__('garbage', seed, (0.02, 0.2))
        self.cluster, self.users, self.sent = cluster, users, 0
        host, port = cluster.ws_url.split('/')[2].split(':')
        self._address = host, int(port)
        self._open = []

    def act(self, random):
        try:
            self._one(random)
        except OSError:
            pass  # the edge is away, or has closed: which is what garbage is for
        self.sent += 1
        while len(self._open) > 30:  # some stay half open for a while
            self._open.pop(0).close()

    def _one(self, random):
        connection = socket.create_connection(self._address, timeout=2)
        self._open.append(connection)
        how = random.randrange(10)
        if how == 0:
            return  # says nothing
        if how == 1:
            connection.sendall(random.randbytes(random.randrange(1, 2000)))
            return
        if how == 2:
            connection.sendall(UPGRADE.format('x')[:random.randrange(1, 150)].encode())
            return
        connection.sendall(UPGRADE.format(base64.b64encode(os.urandom(16)).decode()).encode())
        if how > 5:
            connection.sendall(frame(1, json.dumps({
                'type': 'hello', 'token': self.cluster.token(random.choice(self.users)), 'lat': 52.5, 'lng': 13.4,
                'time': now_ms()}).encode()))
        for _ in range(random.randrange(1, 30)):
            connection.sendall(self._bad(random))
        if random.random() < 0.5:
            connection.close()

    @staticmethod
    def _bad(random):
        text = random.choice((
            b'', b'{', b'{"type":"location","lat":1e999,"lng":0,"time":0}', b'\xff\xfe', b'[' * 4000, b'{"type":"more","after":"x"}',
            b'{"type":"location","lat":91,"lng":0,"time":1}', b'{"type":"hello","token":"a.b.c"}', b'{"type":' + b'"x' * 2000,
            json.dumps({'type': 'location', 'lat': 0, 'lng': 0, 'time': 2**70}).encode(), random.randbytes(100)))
        return random.choice((
            lambda: frame(1, text), lambda: frame(1, text), lambda: frame(2, text), lambda: frame(1, text, final=False),
            lambda: frame(0, text), lambda: frame(9, text[:125]), lambda: frame(10, text[:125]), lambda: frame(8, text[:125]),
            lambda: frame(3, text), lambda: frame(1, text, masked=False), lambda: frame(1, text, claim=2**40),
            lambda: frame(9, b'x' * 300), lambda: random.randbytes(random.randrange(1, 300))))()

    def end(self, timeout=30):
        super().end(timeout)
        for connection in self._open:
            connection.close()


class SlowReaders(Background):
    """Phones with very many near friends, each of which reads nothing for a good while, then all there is, and so on."""

    def __init__(self, cluster, seed, users, at):
        super().__init__('slow readers', seed, (0.2, 1))
        self.cluster, self.users, self.at = cluster, users, at
        self._phones = {}
        self.frames = self.closed = self.connected = 0

    def act(self, random):
        user = random.choice(self.users)
        phone, until = self._phones.get(user, (None, 0))
        if phone is None:
            try:
                self._phones[user] = SlowPhone(self.cluster, user, *self.at), time.monotonic() + random.uniform(20, 90)
                self.connected += 1
            except (OSError, EOFError):
                pass  # the edge is away
        elif time.monotonic() > until:
            self._read(user, phone)

    def _read(self, user, phone):
        """Whatever has gathered; what comes within a quarter of a second of silence."""
        phone.socket.settimeout(0.25)
        try:
            while True:
                opcode, _ = phone.hear()
                self.frames += 1
                if opcode == 8:
                    self.closed += 1
                    break
        except TimeoutError:
            try:
                phone.socket.settimeout(5)
                phone.say({'type': 'location', 'lat': self.at[0], 'lng': self.at[1], 'time': now_ms()})
                self._phones[user] = phone, time.monotonic() + self.random.uniform(20, 90)
                return
            except OSError:
                pass
        except (OSError, EOFError):
            pass
        phone.socket.close()
        del self._phones[user]

    def end(self, timeout=30):
        super().end(timeout)
        for phone, _ in self._phones.values():
            phone.socket.close()
