"""Counters on the spine (tests/spine): their daemons and topics, the commands that go in, what must come of them, and watchers."""
import collections
import json
import random
import shutil
import socket
import struct
import threading
import time

import requests
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from websockets.exceptions import ConnectionClosed, InvalidHandshake
from websockets.sync.client import connect

from .cluster import Daemon, build_folder
from .http import Http
from .ports import free_port
from .records import decode

WATCH_SPEED = 30  # a minute of watching is two seconds
WATCH_MINUTE = 60 / WATCH_SPEED
SESSION = 3.0  # an owner commits once a second, and answers for half a session after the group has taken a commit

COMPACTED = {'cleanup.policy': 'compact'}
TOPICS = {'counter-commands': {}, 'counters': COMPACTED, 'counter-offsets': COMPACTED, 'counter-watches': COMPACTED,
          'counter-changes': {}}
CHANGE, WATCH = 100, 2  # kinds of envelopes
CHANGE_HEAD = struct.Struct('>qq')
COUNTER = struct.Struct('>qqq')
OUTCOME = struct.Struct('>bqq')
SUM_MAX = 10 ** 15

Page = collections.namedtuple('Page', 'value version')


class SpineDaemon(Daemon):
    """test-spine-counter or test-spine-edge."""

    def __init__(self, spine, kind, index, settings):
        super().__init__(spine.cluster, f'spine-{kind}', index, settings)
        self.command[0] = str(build_folder() / f'test-spine-{kind}')

    def wipe(self):
        """Its disk is lost. Not while it runs."""
        shutil.rmtree(self.folder / 'data', ignore_errors=True)


class Spine:
    """Two counter daemons, some edges, and their topics."""

    def __init__(self, cluster, partitions=4, routes=4, edges=0, standbys=1):
        self.cluster, self.partitions = cluster, partitions
        self.topics = cluster.topics
        self.admin = AdminClient({'bootstrap.servers': self.topics.bootstrap, 'log_level': 3})
        new = [NewTopic(self.topics.name(name), partitions, 1, config=config) for name, config in TOPICS.items()]
        new += [NewTopic(self.topics.name(name + '.dlq'), 1, 1) for name in [*TOPICS, 'deliveries']]
        new += [NewTopic(self.topics.name('deliveries'), routes, 1)]
        for made in self.admin.create_topics(new).values():
            made.result(30)
        self.group = f'{cluster.prefix}counters'
        session = {'kafka.session.timeout.ms': int(SESSION * 1000), 'kafka.heartbeat.interval.ms': 500,
                   'watch.speed': WATCH_SPEED}
        self.counters = [SpineDaemon(self, 'counter', i, {
            **session, 'counter.group.id': self.group, 'counter.standbys': standbys}) for i in range(2)]
        self.edges = [SpineDaemon(self, 'edge', i, {
            **session, 'edge.group.id': f'{cluster.prefix}edges', 'edge.listen': f'127.0.0.1:{free_port()}'})
            for i in range(edges)]
        cluster.daemons += [*self.counters, *self.edges]
        for daemon in cluster.daemons:
            daemon.start(wait=False)
        for daemon in cluster.daemons:
            daemon.wait_ready()

    def ws_url(self, edge) -> str:
        return f'ws://{edge.settings["edge.listen"]}/'

    def effects_known(self) -> bool:
        """The group knows of every partition how far effects were carried out: from there they go on."""
        consumer = Consumer({'bootstrap.servers': self.topics.bootstrap, 'group.id': self.group})
        try:
            places = [TopicPartition(self.topics.name('counters'), p) for p in range(self.partitions)]
            return all(place.offset >= 0 for place in consumer.committed(places, 10))
        finally:
            consumer.close()

    def delete_group(self):
        for deleted in self.admin.delete_consumer_groups([self.group]).values():
            deleted.result(30)

    def ask(self, daemon, name, timeout=2.0, **query) -> requests.Response:
        return Http(f'http://{daemon.peer}', self.cluster.keys.peer_token).get(
            f'/peer/counter/{name}', params=query, timeout=timeout)

    def owner_of(self, name):
        """The daemon that answers for the counter now; None: none does."""
        for daemon in self.counters:
            try:
                if daemon.alive() and self.ask(daemon, name).status_code == 200:
                    return daemon
            except requests.RequestException:
                pass
        return None

    def ask_first(self, daemon, name):
        """Asks a daemon that is paused: the question is there before it goes on. Returns a function that waits for the answer: status,
        body."""
        host, port = daemon.peer.split(':')
        line = socket.create_connection((host, int(port)), 30)
        line.sendall(f'GET /peer/counter/{name} HTTP/1.1\r\nHost: {daemon.peer}\r\nConnection: close\r\n'
                     f'Authorization: Bearer {self.cluster.keys.peer_token}\r\n\r\n'.encode())

        def answer():
            with line, line.makefile('rb') as stream:
                head, _, body = stream.read().partition(b'\r\n\r\n')
            return int(head.split()[1]), json.loads(body)

        return answer

    def told(self, name, **query) -> dict | None:
        """The answer of the counter's owner; None: nobody answers for it now."""
        for daemon in self.counters:
            try:
                answer = self.ask(daemon, name, **query)
            except requests.RequestException:
                continue
            if answer.status_code == 200:
                return answer.json()
            assert answer.status_code in (421, 503), answer.text
        return None

    def page(self, name) -> Page | None:
        answer = self.told(name)
        return answer and Page(**answer)


class Commands(threading.Thread):
    """Sends commands until it is stopped: some without a key, some again under one that was used before, some that take more than there
    is; and now and then a record that is no command."""

    def __init__(self, spine, names, seed, pause=0.004):
        super().__init__(daemon=True)
        self.topic = spine.topics.name('counter-commands')
        self.producer = Producer({'bootstrap.servers': spine.topics.bootstrap, 'partitioner': 'murmur2_random',
                                  'linger.ms': 5, 'message.timeout.ms': 60000})
        self.names, self.chance, self.pause = names, random.Random(seed), pause
        self.sent, self.poisoned, self.failed = 0, 0, []
        self._used = collections.defaultdict(list)
        self._end = threading.Event()
        self.start()

    def run(self):
        while not self._end.wait(self.pause):
            self.send(self.chance.choice(self.names))

    def send(self, name):
        used, luck, key = self._used[name], self.chance.random(), ''
        if used and luck < 0.25:
            key = self.chance.choice(used)
        elif luck < 0.6:
            key = f'k{self.sent}'
            used.append(key)
        self._produce(name.encode(), struct.pack('>q', self.chance.randint(-4, 9)) + key.encode())
        self.sent += 1
        if self.sent % 250 == 0:
            self.poison()

    def poison(self):
        """Almost a megabyte that is no command, and a command without a counter."""
        self._produce(b'poison', self.chance.randbytes(1000) * 990)
        self._produce(None, struct.pack('>q', 1) + b'key')
        self.poisoned += 2

    def _produce(self, key, value):
        def delivered(error, _):
            if error is not None:
                self.failed.append(error)

        self.producer.produce(self.topic, key=key, value=value, on_delivery=delivered)
        self.producer.poll(0)

    def stop(self):
        self._end.set()
        self.join(10)
        assert self.producer.flush(60) == 0 and not self.failed, self.failed


class Truth:
    """The state that the topic of commands must lead to, by the rule alone: each command once, in the order of offsets; the first
    one of a key decides."""

    def __init__(self, spine):
        self.counters = {}
        self.outcomes = {}
        self.dead = 0
        for message in spine.topics.read('counter-commands'):
            if message.key is None or not 8 <= len(message.value) <= 72:
                self.dead += 1
                continue
            self._decide(message)

    def _decide(self, message):
        add, = struct.unpack('>q', message.value[:8])
        key = message.key + b'\0' + message.value[8:]
        if message.value[8:] and key in self.outcomes:
            return
        total, version, _ = self.counters.get(message.key, (0, 0, 0))
        accepted = 0 <= total + add <= SUM_MAX
        if accepted:
            total, version = total + add, version + 1
            self.counters[message.key] = total, version, message.offset
        if message.value[8:]:
            self.outcomes[key] = int(accepted), total, version


class Written:
    """State, changes and dead letters, as the daemons have written them."""

    def __init__(self, spine):
        self.counters, self.outcomes, self.versions = {}, {}, collections.defaultdict(list)
        for message in spine.topics.read('counters'):
            if b'\0' in message.key:
                assert message.key not in self.outcomes, f'{message.key} was decided twice'
                self.outcomes[message.key] = OUTCOME.unpack(message.value)
            else:
                self.counters[message.key] = COUNTER.unpack(message.value)
                self.versions[message.key].append(self.counters[message.key][1])
        self.dead = len(spine.topics.read('counter-commands.dlq'))
        self.changes = collections.defaultdict(set)
        for message in spine.topics.read('counter-changes'):
            for item in decode(message.value)['items']:
                assert item['kind'] == CHANGE
                total, version = CHANGE_HEAD.unpack(item['payload'][:16])
                self.changes[item['payload'][16:]].add((version, total))


class Watcher(threading.Thread):
    """A phone that watches counters: it holds a page of each, which it reads from the owner and keeps by what the edge tells it. It
    connects to the next edge when it has lost its own."""

    def __init__(self, spine, edge, names):
        super().__init__(daemon=True)
        self.spine, self.names, self.edge = spine, names, edge
        self.pages: dict[str, Page | None] = dict.fromkeys(names)
        self.read_at: dict[str, tuple] = {}  # name -> when to read its page again, the version it must have, the pause after that
        self.changes = self.stales = self.reads = self.connections = 0
        self.failure = None
        self._end = threading.Event()
        self.start()

    def run(self):
        try:
            while not self._end.is_set():
                self._connected()
                self.edge = (self.edge + 1) % len(self.spine.edges)
                self._end.wait(0.1)
        except BaseException as failure:  # told by the test's thread
            self.failure = failure

    def _connected(self):
        try:
            with connect(self.spine.ws_url(self.spine.edges[self.edge]), subprotocols=['starling.v1'], compression=None,
                         proxy=None, open_timeout=2, close_timeout=0.2, ping_interval=None) as line:
                self.connections += 1
                for name in self.names:
                    self._watch(line, name)
                while not self._end.is_set():
                    self._hear(line)
                    self._read_due(line)
        except (OSError, EOFError, InvalidHandshake, ConnectionClosed):
            pass

    def _watch(self, line, name):
        page = self.pages[name]
        line.send(json.dumps({'type': 'watch', 'counter': name, **({'version': page.version} if page else {})}))

    def _hear(self, line):
        try:
            said = json.loads(line.recv(timeout=0.05))
        except TimeoutError:
            return
        name, page = said['counter'], self.pages[said['counter']]
        if page and said['version'] <= page.version:
            return
        if said['type'] == 'change' and page and said['since'] == page.version:
            self.changes += 1
            self.pages[name] = Page(said['value'], said['version'])
            return
        self.stales += said['type'] == 'stale'
        self.read_at[name] = time.monotonic() + said.get('after_ms', 0) / 1000, said['version'], 0.1

    def _read_due(self, line):
        for name, (when, version, pause) in list(self.read_at.items()):
            if time.monotonic() < when:
                continue
            page = self.spine.page(name)
            self.reads += 1
            if page and (not self.pages[name] or page.version > self.pages[name].version):
                self.pages[name] = page
            if page and page.version >= version:
                del self.read_at[name]
            else:  # an older copy than was promised, or nobody who answers: again, with growing pauses
                self.read_at[name] = time.monotonic() + pause, version, min(2 * pause, 1)
            if page:
                self._watch(line, name)

    def stop(self):
        self._end.set()
        self.join(10)
        if self.failure:
            raise self.failure
