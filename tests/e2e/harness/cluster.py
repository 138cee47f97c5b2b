"""A whole starling: topics of its own on the session's broker, and daemons on free ports."""
import collections
import itertools
import json
import os
import pathlib
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor

import requests

from .broker import REPOSITORY, Broker
from .http import Http
from .phone import Phone
from .ports import free_port
from .processes import HERE, Place, Process, clean_environment
from .records import Topics, partition_of, user_key
from .tokens import Keys
from .waiting import PATIENCE, eventually, now_ms

KINDS = ('ingest', 'router', 'fanout', 'feed', 'comments', 'places', 'history-sink', 'moderation')
PAGE = REPOSITORY / 'web/dist'  # npm run build makes it; most tests do without
_numbers = itertools.count(1)


def build_folder() -> pathlib.Path:
    return pathlib.Path(os.environ.get('STARLING_BUILD', REPOSITORY / 'build'))


class Metrics(dict):
    """{'name{label="value",...}': float} of a /metrics page."""

    @classmethod
    def parse(cls, text: str) -> 'Metrics':
        pairs = (line.rpartition(' ') for line in text.splitlines() if line and not line.startswith('#'))
        return cls({name: float(value) for name, _, value in pairs})

    def total(self, name: str, **labels) -> float:
        """The sum of all series of that name that carry those labels; KeyError when there is none."""
        wanted = [f'{label}="{value}"' for label, value in labels.items()]
        found = [value for series, value in self.items()
                 if re.split(r'[{ ]', series)[0] == name and all(w in series for w in wanted)]
        if not found:
            raise KeyError(f'{name} {labels}')
        return sum(found)


class Daemon(Process):
    """One starling-* process. start, stop, kill -9 and start again keep its ports and its data."""

    def __init__(self, cluster: 'Cluster', kind: str, index: int, settings: dict, place: Place = HERE):
        self.kind, self.index, self.place = kind, index, place
        name = f'{kind}-{index}'
        self.ops = f'{place.address}:{free_port()}'
        self.peer = f'{place.address}:{free_port()}'
        self.folder = cluster.folder / name
        self.folder.mkdir()
        self.settings = {**cluster.common(), 'ops.listen': self.ops, 'peer.listen': self.peer,
                         'data.dir': self.folder / 'data', **settings}
        self.properties = self.folder / 'starling.properties'
        super().__init__(name, place.inside([build_folder() / f'starling-{kind}', '--config', self.properties]),
                         self.folder / 'log', {'ASAN_OPTIONS': 'detect_stack_use_after_return=1',
                                               'UBSAN_OPTIONS': 'print_stacktrace=1', **cluster.environment(name)})

    def start(self, wait=True, timeout=60.0 * PATIENCE, **settings):
        """Starts it; settings (dots as underscores are not guessed: pass **{'a.b': 1}) change its configuration for good."""
        self.settings.update(settings)
        self.properties.write_text(''.join(f'{key}={value}\n' for key, value in self.settings.items()))
        self.launch()
        if wait:
            self.wait_ready(timeout)
        return self

    def restart(self, **settings):
        self.stop()
        return self.start(**settings)

    def get(self, path: str) -> requests.Response:
        """From the ops HTTP."""
        return Http(f'http://{self.ops}').get(path, timeout=30)

    def drain(self) -> requests.Response:
        return Http(f'http://{self.ops}', self.settings['peer.token']).post('/drain')

    def ready(self) -> bool:
        try:
            return self.get('/readyz').status_code == 200
        except requests.RequestException:
            return False

    def wait_ready(self, timeout=60.0 * PATIENCE):
        def ready():
            if not self.alive():  # not an assertion: there is nothing to wait for any more
                raise RuntimeError(f'{self.name} ended by itself with {self.exit_code()}:\n{self.tail()}')
            assert self.ready(), f'{self.name} is not ready:\n{self.tail()}'
            return True

        eventually(ready, timeout)

    def metrics(self) -> Metrics:
        return Metrics.parse(self.get('/metrics').text)

    def total(self, name: str, **labels) -> float:
        """Of the metrics as they are now."""
        return self.metrics().total(name, **labels)


class Cluster:
    """
    cluster = Cluster(broker, folder, partitions=4, settings={'inactive.after.s': 30})
    cluster.start(routers=2)         # topics, then one of each daemon, two routers, no feed, no comments, no places; waits until all are ready
    cluster.routers[0].kill()
    cluster.add('router')            # one more, started
    """

    def __init__(self, broker: Broker, folder: pathlib.Path, partitions=4, delivery_partitions=4, settings=None):
        self.broker, self.folder = broker, folder
        self.number = next(_numbers)
        self.prefix = f't{os.getpid()}-{self.number}.'
        self.partitions, self.delivery_partitions = partitions, delivery_partitions
        self.settings = dict(settings or {})
        self.history = folder / 'history'
        self.history.mkdir()
        self.keys = Keys(folder)
        self.topics = Topics(broker.bootstrap, self.prefix, broker.client)
        self.command_settings = {}  # of the command, besides those that every cluster gives it
        self.environment = lambda name: {}  # variables of the daemon with that name, besides those that every daemon gets
        self.daemons: list[Daemon] = []
        self._fanout_port = free_port()
        self._phones: list[Phone] = []

    def common(self) -> dict:
        return {'kafka.bootstrap.servers': self.broker.bootstrap, 'topics.prefix': self.prefix,
                'peer.token': self.keys.peer_token, 'auth.hs256.key.file': self.keys.secret_file,
                'auth.rs256.public.key.file': self.keys.public_file,
                'report.past.days': 0}  # most tests report in years of their own

    # daemons

    def start(self, ingests=1, routers=1, fanouts=1, sinks=1, feeds=0, comments=0, places=0, moderators=0, topics=True, wait=True) -> 'Cluster':
        if topics:
            self.create_topics()
        counts = {'ingest': ingests, 'router': routers, 'fanout': fanouts, 'feed': feeds, 'comments': comments, 'places': places,
                  'history-sink': sinks, 'moderation': moderators}
        started = [self.add(kind, wait=False) for kind, count in counts.items() for _ in range(count)]
        if wait:
            for daemon in started:
                daemon.wait_ready()
            if places and ingests:
                self._meet_places()
        return self

    def _meet_places(self):
        """Waits until each gateway knows who has whose places: the page reads them as soon as somebody signs in."""
        user_of = {self.partition_of(user): user for user in range(1 << 41, (1 << 41) + 100 * self.partitions)}
        for gateway in self.of('ingest'):
            for user in user_of.values():
                http = Http('http://' + gateway.settings['ingest.listen'], self.token(user))
                eventually(lambda http=http: http.get('/v1/places').status_code != 503, 60, what=f'{gateway.name} knows the owners of places')

    def add(self, kind: str, wait=True, settings=None, start=True, place: Place = HERE) -> Daemon:
        """One more daemon of that kind, with settings of its own above the cluster's."""
        assert kind in KINDS, kind
        own = {
            'ingest': {'ingest.listen': f'{place.address}:{free_port()}', 'web.dir': PAGE if PAGE.is_dir() else '',
                       'ingest.drain.notice.s': 0,
                       'web.ws.url': self.ws_url, 'router.group.id': self.group('router'),
                       'history.group.id': self.group('history-sink'), 'feed.group.id': self.group('feed'),
                       'comments.group.id': self.group('comments'), 'places.group.id': self.group('places'),
                       'moderation.group.id': self.group('moderation'),
                       'ingest.user.rate': 0, 'ingest.user.changes.rate': 0, 'ingest.user.reports.rate': 0,
                       'ingest.address.rate': 0},  # tests ask as fast as they can
            'router': {'group.id': self.group('router')},
            'fanout': {'group.id': self.group('fanout'), 'feed.group.id': self.group('feed'),
                       'router.group.id': self.group('router'),
                       'edge.listen': f'{place.address}:{self._fanout_port}',
                       'edge.min.report.ms': 0,
                       'edge.max.loop.lag.ms': 0},  # phones here do not come back when a busy machine has them sent away
            'feed': {'group.id': self.group('feed')},
            'moderation': {'group.id': self.group('moderation')},
            'comments': {'group.id': self.group('comments')},
            'places': {'group.id': self.group('places')},
            'history-sink': {'group.id': self.group('history-sink'), 'history.dir': self.history},
        }[kind]
        daemon = Daemon(self, kind, len(self.of(kind)), {**own, **self._settings_of(kind), **(settings or {})}, place)
        self.daemons.append(daemon)
        if start:
            daemon.start(wait=wait)
        return daemon

    def _settings_of(self, kind) -> dict:
        """The cluster's settings: 'router:key' is for routers only, 'key' for all."""
        return {key.rpartition(':')[2]: value for key, value in self.settings.items()
                if ':' not in key or key.startswith(kind + ':')}

    def group(self, kind: str) -> str:
        """The consumer group of that kind of daemon. Clusters share a broker, not their groups."""
        return f'{self.prefix}{kind}'

    def of(self, kind: str) -> list[Daemon]:
        return [daemon for daemon in self.daemons if daemon.kind == kind]

    ingest = property(lambda self: self.of('ingest')[0])
    routers = property(lambda self: self.of('router'))
    fanouts = property(lambda self: self.of('fanout'))
    feeds = property(lambda self: self.of('feed'))
    moderators = property(lambda self: self.of('moderation'))
    comments = property(lambda self: self.of('comments'))
    places = property(lambda self: self.of('places'))
    sinks = property(lambda self: self.of('history-sink'))

    def partition_of(self, user: int) -> int:
        return partition_of(user_key(user), self.partitions)

    def create_topics(self, **plan) -> subprocess.CompletedProcess:
        return self.starling('topics', 'create', '--partitions', plan.get('partitions', self.partitions),
                             '--delivery-partitions', plan.get('delivery_partitions', self.delivery_partitions),
                             *(word for option in ('replication', 'min-insync') if option in plan
                               for word in (f'--{option}', plan[option])))

    def starling(self, *arguments, check=True, timeout=60.0 * PATIENCE, **run) -> subprocess.CompletedProcess:
        """The `starling` command against this cluster; its output is text."""
        properties = self.folder / 'starling.properties'
        daemons = {'ops.addresses': ','.join(daemon.ops for daemon in self.daemons)} if self.daemons else {}
        properties.write_text(''.join(f'{key}={value}\n' for key, value in {
            'kafka.bootstrap.servers': self.broker.bootstrap, 'topics.prefix': self.prefix,
            'auth.hs256.key.file': self.keys.secret_file, 'peer.token': self.keys.peer_token,
            'router.group.id': self.group('router'), 'fanout.group.id': self.group('fanout'),
            'history.group.id': self.group('history-sink'), 'feed.group.id': self.group('feed'),
            'comments.group.id': self.group('comments'), 'places.group.id': self.group('places'),
            'moderation.group.id': self.group('moderation'), **daemons, **self.command_settings}.items()))
        done = subprocess.run([build_folder() / 'starling', *map(str, arguments), '--config', properties],
                              capture_output=True, text=True, timeout=timeout, env=clean_environment(), **run)
        if check:
            assert done.returncode == 0, f'starling {arguments}: {done.returncode}\n{done.stdout}{done.stderr}'
        return done

    # clients

    @property
    def ws_url(self) -> str:
        return f'ws://127.0.0.1:{self._fanout_port}/'

    @property
    def ws_urls(self) -> list[str]:
        """Of all edges: those in one place share theirs."""
        return list(dict.fromkeys(f'ws://{edge.settings["edge.listen"]}/' for edge in self.fanouts))

    @property
    def http_url(self) -> str:
        return 'http://' + self.ingest.settings['ingest.listen']

    def token(self, user, scope=None, ttl=3600, **claims) -> str:
        return self.keys.token(user, scope, ttl, **claims)

    def http(self, user, **claims) -> Http:
        """The HTTP API as this user; None: without a token."""
        return Http(self.http_url, None if user is None else self.token(user, **claims))

    def gateway(self) -> Http:
        return self.http('gateway', scope='gateway')

    def phone(self, user, token=None, **options) -> Phone:
        """A connected phone that has said nothing yet. Closed at the cluster's end if the test has not done it."""
        phone = Phone(self.ws_url, user, token or self.token(user), **options)
        self._phones.append(phone)
        return phone

    def online(self, user, lat, lng, **options) -> Phone:
        """A phone that has said hello there and has its first page."""
        phone = self.phone(user, **options)
        phone.hello(lat, lng)
        return phone

    # what tests need before they begin

    def share(self, *users, mode='friends'):
        """Opts users in (or out: mode='off'). The gateway that answers knows it; the other daemons do at their own time."""
        for user in users:
            self.http(user).ok('PUT', '/v1/sharing', json={'mode': mode})

    def befriend(self, *pairs):
        """Makes friends of pairs by the gateway's requests, many at a time, and waits until both halves are written."""
        gateway, friends = self.gateway(), collections.defaultdict(set)
        for a, b in pairs:
            friends[a].add(b)
            friends[b].add(a)
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda pair: gateway.ok('POST', '/v1/friendships', json=dict(zip('ab', pair))), pairs))
        for user, expected in friends.items():
            eventually(lambda user=user, expected=expected: expected <= self.friends_of(user),
                       what=f'{user} is a friend of {expected}')

    def acquaint(self, me, *friends):
        """All of them share, and the first is a friend of each of the others."""
        self.share(me, *friends)
        self.befriend(*((me, friend) for friend in friends))

    def friends_of(self, user) -> set:
        """By the HTTP API, all pages."""
        return {item['user'] for item in self.http(user).items('/v1/friends', limit=1000)}

    def report_http(self, user, lat, lng, time=None, **fields):
        return self.http(user).post('/v1/locations', json={'lat': lat, 'lng': lng,
                                                           'time': now_ms() if time is None else time, **fields})

    # the end

    def problems(self) -> list[str]:
        return [problem for daemon in self.daemons if (problem := daemon.problem())]

    def stop(self):
        """Phones first, then every daemon by SIGTERM; each must end with 0."""
        for phone in self._phones:
            phone.close()
        alive = [daemon for daemon in self.daemons if daemon.alive()]
        for daemon in alive:
            daemon.resume()
            daemon.terminate()
        codes = {daemon.name: daemon.stop() for daemon in alive}
        bad = {name: code for name, code in codes.items() if code != 0}
        assert not bad, f'ended with other than 0: {json.dumps(bad)}'

    def kill(self):
        for daemon in self.daemons:
            daemon.kill()
