"""Everything that people do, at once and whatever happens: they move, report over HTTP, post and comment. Nothing of what was acknowledged
may be missing afterwards, and what everybody sees must be right."""
import contextlib
import itertools
import pathlib
import random
import time

import requests

from .commenters import Commenters
from .commenting import Commenting
from .feed import Feed
from .geo import HOME, e7, north_of
from .meanwhile import meanwhile
from .truth import Simulation, caught_up, city_truth, compare, read_lists, reports, settle
from .waiting import eventually, now_ms

CITY, REPORTERS, AUTHORS, COMMENTERS, SUBJECTS = 60, 3, 6, 8, 3
DEEDS, PAUSE_S = 400, 0.5  # more than there is time for
PATIENCE_S = 90


def gateway_of(cluster, user) -> str:
    """The address of a gateway, the same for a user each time."""
    gateways = cluster.of('ingest')
    return gateways[user % len(gateways)].settings['ingest.listen']


class Reports:
    """Users who report over HTTP. `taken`: what was answered 200, as (user, time)."""

    def __init__(self, cluster, users):
        self.users, self.taken = users, set()
        self._cluster = cluster
        self._sessions = {user: cluster.http(user) for user in users}
        cluster.share(*users)
        for user in users:
            self._sessions[user].base = f'http://{gateway_of(cluster, user)}'

    def report(self, user):
        at, (lat, lng) = now_ms(), north_of(*HOME, random.randrange(1000))
        with contextlib.suppress(requests.RequestException):  # no answer says nothing
            answer = self._sessions[user].post('/v1/locations', json={'lat': lat, 'lng': lng, 'time': at})
            # A gateway that was told of the sharing by the other one may not know of it yet.
            assert answer.status_code in (200, 403, 503), answer.text
            if answer.status_code == 200:
                self.taken.add((user, at, e7(lat), e7(lng)))

    def check(self):
        found = {(record['user'], record['time'], record['lat'], record['lng']) for _, record in reports(self._cluster)}
        assert not self.taken - found, f'{len(self.taken - found)} of {len(self.taken)} reports are lost'


class SpreadFeed(Feed):
    """A feed whose people use all gateways."""

    def __init__(self, cluster):
        super().__init__(cluster)
        self._numbers = itertools.count(1)

    def http(self, user):
        http = super().http(user)
        http.base = f'http://{gateway_of(self.cluster, user)}'
        return http

    def say(self, user):
        self.post(user, f'post {next(self._numbers)} of {user}', timeout=PATIENCE_S)


class SpreadCommenters(Commenters):
    """Commenters who use all gateways, and rest between two deeds."""

    def address_of(self, user):
        return gateway_of(self.cluster, user)


class Busy:
    """
    busy = Busy(cluster, users, folder)
    busy.during(trouble)             # calls trouble() in the midst of it, and returns when everybody has ended what they began
    busy.check()
    """

    def __init__(self, cluster, users, folder: pathlib.Path):
        self.cluster, self._folder = cluster, folder
        self._go, self._going = folder / 'go', folder / 'going'
        self._going.touch()
        self.reports = Reports(cluster, users(REPORTERS))
        self.authors = users(AUTHORS)
        self.feed = SpreadFeed(cluster)
        for user, other in itertools.permutations(self.authors, 2):
            if (user + other) % 2:
                self.feed.follow(user, other)
        site, *self._commenters = users(1 + COMMENTERS)
        comments = Commenting(cluster)
        self.crowd = SpreadCommenters(cluster, {comments.new_subject(site): site for _ in range(SUBJECTS)})
        self.crowd.rest_s, self.crowd.hurry = PAUSE_S, True

    def _deeds(self, user):
        return random.Random(user).choices(['post', 'reply', 'like', 'unlike'], [30, 20, 40, 10], k=DEEDS)

    def during(self, trouble):
        self._simulation = Simulation(self.cluster, '--city', CITY, '--seed', 5, '--every', 0.5, '--for', 1, '--wait-for', self._go,
                                      '--settle-while', self._going, '--lists', self._folder / 'lists.csv')
        eventually(lambda: 'opted in' in self._simulation.said(), 60)
        with meanwhile(self.reports.users, self.reports.report, pause=0.1), meanwhile(self.authors, self.feed.say, pause=0.5):
            self.crowd.run({user: self._deeds(user) for user in self._commenters}, [(0.01, trouble), (0.0, self._enough)])

    def _enough(self):
        self.crowd.enough = True

    def check(self):
        for daemon in self.cluster.daemons:
            daemon.wait_ready()
        routers = self.cluster.routers
        eventually(lambda: all(caught_up(router) for router in routers), 60, what='every router is warm and caught up')
        self._go.touch()
        settle(self._simulation, routers, self._going)
        self._simulation.finish(120)
        last, pairs = city_truth(self.cluster)
        compared = compare('the city', read_lists(self._folder / 'lists.csv'), last, pairs, int(time.time() * 1000))
        assert compared > 50
        self.reports.check()
        for user in self.authors:
            self.feed.wait_home(user)
        comments = Commenting(self.cluster)
        comments.threads = self.crowd.threads()
        for subject in self.crowd.owners:
            eventually(lambda name=subject: comments.check(name, limit=50) is None, 30)
        self.crowd.check_order()
        posts = sum(map(len, self.feed.posts.values()))
        print(f'{len(self.reports.taken)} reports, {posts} posts and {len(self.crowd.made)} comments were acknowledged, and are there; '
              f'{dict(self.crowd.answers)}')
        assert min(len(self.reports.taken), posts, len(self.crowd.made)) > 20
