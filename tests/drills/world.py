"""A whole starling of its own, with people who use all three products and know what must be true. Drills break it (drill.py); a soak may
use it as well: the numbers of people and how often they act are parameters.

    with World(folder, jars, walkers=24, every_s=0.5) as world:
        with world.traffic() as noticed:     # everybody acts, and has succeeded at least once
            world.cluster.routers[0].kill()
        # here everybody has succeeded again, and has stopped
        noticed.longest                      # {'lists': 6.4, 'timelines': 1.1, 'threads': 1.0} seconds
        world.check()                        # everything is as brute force says; AssertionError: it is not
"""
import contextlib
import dataclasses
import itertools
import time

from harness.broker import Broker
from harness.brokers import Brokers
from harness.cluster import Cluster
from harness.commenting import Commenting
from harness.records import decode, key_users
from harness.truth import caught_up, difference
from harness.waiting import eventually, now_ms

from .authors import Authors
from .past import Past
from .talkers import Talkers
from .walkers import Walkers

PARTITIONS = 4
ROUNDS = 3            # of reports, while every router sends digests: two would do, and one is under way
RECOVERY_S = 90       # so long everybody may take to succeed again
LONG_COMMENTS, LONG_TEXT = 10, 'much ' * 1999  # a store's log has room for megabytes when the disk becomes full
STORE_USERS = 3       # whose history is read over the API, too
DAEMONS = {'ingests': 1, 'routers': 2, 'fanouts': 2, 'feeds': 2, 'comments': 2, 'sinks': 2, 'moderators': 1}
SETTINGS = {'history-sink:history.roll.s': 2, 'history-sink:history.merge.keep.s': 86_400, 'comments:comments.user.rate': 0,
            **{f'{kind}:store.memory.mb': 32 for kind in ('router', 'feed', 'comments')}}

OF_SEVERAL = {'kafka.session.timeout.ms': 10_000}  # brokers, as docs/OPERATIONS.md has it


@dataclasses.dataclass
class Noticed:
    """What people noticed: the longest time that one of them waited for the next success (s), by product, and answers other than wanted.
    away_s: so long was something away without which nothing can work; who breaks it says so."""
    longest: dict[str, float] = dataclasses.field(default_factory=dict)
    errors: dict[str, int] = dataclasses.field(default_factory=dict)
    away_s: float = 0.0


class World:
    def __init__(self, folder, jars, walkers=24, authors=8, talkers=8, every_s=0.5, write_every_s=1.0, partitions=PARTITIONS,
                 settings=None, daemons=None, network=None):
        """every_s: between two reports of a walker; write_every_s: between two deeds of an author or a talker; network: a broker on each of its
        machines."""
        self._numbers = itertools.count(1000)
        (folder / 'broker').mkdir()
        self.network = network
        self.broker = Brokers(folder / 'broker', jars, network.machines) if network else Broker(folder / 'broker', jars)
        self.broker.client = {'log_level': 2}  # of the clients here, which would tell of each broken connection
        self._folder, self._sizes = folder, (walkers, authors, talkers)
        self._every_s, self._write_every_s = every_s, write_every_s
        self._settings = {**SETTINGS, **(OF_SEVERAL if network else {}), **(settings or {})}
        self._daemons, self.partitions = {**DAEMONS, **(daemons or {})}, partitions
        self._topics = {'replication': 3, 'min-insync': 2} if network else {}
        self.friendships: set[tuple] = set()  # made by an acknowledged request
        self.names: dict[int, str] = {}       # set by an acknowledged request

    def users(self, count) -> list[int]:
        return list(itertools.islice(self._numbers, count))

    def __enter__(self) -> 'World':
        starting = time.monotonic()
        self.broker.start()
        self.broker_start_s = time.monotonic() - starting  # with its storage, and nobody waiting for it
        self.cluster = Cluster(self.broker, self._folder, self.partitions, self.partitions, self._settings)
        try:
            self.cluster.create_topics(**self._topics)
            self.cluster.start(**self._daemons, topics=False)
            walkers, authors, talkers = map(self.users, self._sizes)
            self.walkers = Walkers(self.cluster, walkers, self._every_s)
            self.authors = Authors(self.cluster, authors, self._write_every_s)
            self.talkers = Talkers(self.cluster, talkers, every_s=self._write_every_s)
            self.past = Past(self.cluster)
            self.authors.prepare()
            self.walkers.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.cluster.kill()
        self.broker.kill()

    def end(self):
        """In order: every daemon must end with 0 after SIGTERM."""
        self.walkers.end()
        self.cluster.stop()
        problems = self.cluster.problems()
        assert not problems, '\n'.join(problems)

    # traffic

    def parts(self):
        return self.walkers, self.authors, self.talkers

    def waiting(self, since) -> dict:
        """Who had no success since then, by product."""
        return {part.what: waiting for part in self.parts() if (waiting := part.gaps.waiting(since))}

    def recovered(self, since, timeout=RECOVERY_S):
        """Waits until everybody has succeeded after that moment (monotonic)."""
        def all_have():
            failures = [failure for part in self.parts() for failure in part.failures()]
            if failures:
                raise failures[0]
            waiting = self.waiting(since)
            assert not waiting, f'still without success after {timeout} s: {waiting}'
            return True

        eventually(all_have, timeout, every=0.1)

    @contextlib.contextmanager
    def traffic(self, recovery_s=RECOVERY_S):
        """Everybody acts meanwhile, until everybody has succeeded after its end. Gives a Noticed, which is filled at the end."""
        for part in self.parts():
            part.begin()
        self.walkers.walk()
        self.authors.start()
        self.talkers.start()
        noticed = Noticed()
        try:
            self.recovered(time.monotonic())
            for part in self.parts():
                part.forget_errors()
                part.begin()
            yield noticed
            self.befriend()
            self.recovered(time.monotonic(), recovery_s)
            noticed.longest.update((part.what, round(part.gaps.longest(), 1)) for part in self.parts())
            for part in self.parts():
                noticed.errors.update(part.errors())
        finally:
            self.walkers.rest()
            self.authors.stop()
            self.talkers.stop()
        for part in self.parts():
            assert not part.failures(), part.failures()

    def befriend(self):
        """A friendship and a name, acknowledged."""
        a, b = self.users(2)
        for user, other in ((a, b), (b, a)):
            self._ask(user, 'PUT', f'/v1/friends/{other}')
        self.friendships.add((a, b))
        self._ask(a, 'PUT', '/v1/profile', json={'name': f'Name of {a}'})
        self.names[a] = f'Name of {a}'

    def write_much(self):
        """Half a friendship, and long comments, of which nothing is compared: an owner may be away, so nobody waits for them."""
        user, other = self.users(2)
        http, api = self.cluster.http(user), Commenting(self.cluster)
        with contextlib.suppress(OSError):
            http.request('PUT', f'/v1/friends/{other}')
            for number in range(LONG_COMMENTS):
                subject = f'site:much-{user}-{number}'
                api.register(subject, owner=user)
                answer = http.request('POST', api.path(subject), json={'text': LONG_TEXT, 'key': 'much'})
                assert answer.status_code in (201, 202, 503), f'{answer.status_code} {answer.text}'

    def _ask(self, user, method, path, **body):
        def answered():
            with contextlib.suppress(OSError):  # that of requests is one
                return self.cluster.http(user).request(method, path, **body).status_code == 200
            return False

        eventually(answered, RECOVERY_S, every=0.2, what=f'{method} {path} is acknowledged')

    # truth

    def check(self) -> dict:
        """Everything, after it has settled: how much of what was compared. AssertionError: something is lost, twice or wrong."""
        for daemon in self.cluster.daemons:
            daemon.wait_ready()
        found = {'pairs': self._check_lists(), 'posts': self.authors.check(), 'comments': self.talkers.check(),
                 'found by moderators': self._check_search(), 'friendships': self._check_people(),
                 'rows': self.past.check(self.walkers.people[:STORE_USERS])}
        self.cluster.starling('graph', 'verify')
        problems = self.cluster.problems()
        assert not problems, '\n'.join(problems)
        return found

    def _check_lists(self):
        """Of every walker, against brute force over the topics."""
        routers = self.cluster.routers
        eventually(lambda: all(caught_up(router) for router in routers), 60, what='every router is warm and caught up')
        self.walkers.rest()
        first = self.walkers.rounds

        def settled():
            nonlocal first
            if any(router.total('starling_router_digesting') != 1 for router in routers):
                first = self.walkers.rounds
            return self.walkers.rounds > first + ROUNDS

        eventually(settled, 60, every=0.1, what=f'{ROUNDS} rounds without a router that is behind')
        self.walkers.stand()

        def right():
            self.past.read()
            last = {user: report for user, report in self.past.last.items() if user in self.walkers.friends}
            pairs = {tuple(sorted((me, friend))) for me, friends in self.walkers.friends.items() for friend in friends}
            expected, missing, extra, worst = difference(self.walkers.lists(), last, pairs, now_ms())
            assert not missing and not extra, f'lists: missing {sorted(missing)[:5]}, too many {sorted(extra)[:5]} of {len(expected)}'
            assert worst < 0.01, f'lists: a distance is off by {worst} m'
            return len(expected)

        return eventually(right, 20, every=0.5)

    def _check_search(self):
        """Moderators find each comment that was written, once."""
        http = self.cluster.http(self.talkers.moderator, scope='moderator')

        def found(kind, name):
            return [int(item['id']) for item in http.items('/v1/moderation/comments', type=kind, id=name, limit=1000)]

        def right(subject, wanted):
            ids = found(*subject.split(':'))
            assert sorted(ids) == wanted, f'search: {len(ids)} comments of {subject}, not {len(wanted)}; missing {set(wanted) - set(ids)}'
            return True

        for subject, made in self.talkers.under.items():
            eventually(lambda: right(subject, sorted(one.id for one in made)), 60, every=0.5)
        return len(self.talkers.made)

    def _check_people(self):
        """Friendships, by the topic and by the API, and names: all that were acknowledged."""
        wanted = self.friendships | {tuple(sorted((me, friend))) for me, friends in self.walkers.friends.items() for friend in friends}
        found = {key_users(key) for key, value in self._table('friendships').items() if value['state'] == 'FRIENDS'}
        both = wanted | {(b, a) for a, b in wanted}
        assert found >= both, f'friendships: missing {sorted(both - found)[:5]}'
        for a, b in self.friendships:
            assert self.cluster.friends_of(a) == {b} and self.cluster.friends_of(b) == {a}, f'the friendship of {a} and {b}'
        for user, name in self.names.items():
            assert self.cluster.http(user).ok('GET', '/v1/profile')['name'] == name
        return len(found) // 2

    def _table(self, topic) -> dict:
        """A compacted topic as a table, without what is no record."""
        table = {}
        for message in self.cluster.topics.read(topic):
            with contextlib.suppress(Exception):  # whatever fastavro says of garbage
                table[message.key] = decode(message.value)
        return {key: value for key, value in table.items() if value is not None and len(key) == 16}
