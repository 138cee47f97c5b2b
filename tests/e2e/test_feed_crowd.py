"""The feed's main promise (docs/FEED.md) with 2,000 people over a real friend graph, of whom each friendship makes two follows, and ten
authors whom everybody follows: whatever the threshold between push and pull is, also while it changes, and whoever is killed,
every page of everybody equals brute force. Some of them watch their timeline meanwhile, and see each post once."""
import collections
import gzip
import itertools
import os
import pathlib
import random
import time

import pytest

from harness.broker import REPOSITORY
from harness.crowd import Crowd
from harness.meanwhile import troubled
from harness.waiting import eventually
from harness.watcher import Watcher

GRAPH = pathlib.Path(os.environ.get('STARLING_DATA', REPOSITORY.parent / 'shared/data')) / 'ego-facebook.txt.gz'
needs_graph = pytest.mark.skipif(not GRAPH.exists(), reason=f'the real graph is not at {GRAPH} (STARLING_DATA names its folder)')

PEOPLE, AUTHORS, WATCHERS = 2000, 10, 24
# The threshold, and the one it is changed to in the middle. STARLING_CROWD=all: also those that stay as they are.
THRESHOLDS = [(0, 0), (10_000, 10)] + ([(10, 10), (10_000, 10_000)] if os.environ.get('STARLING_CROWD') == 'all' else [])
TOLD_S = 180  # whatever is lost, a watcher knows by then that the page is to be read again
LIMITS = (7, 20, 100, 1000), (1, 2, 6, 6)  # and how often: small pages take their time


def real_friends(count) -> dict[int, set[int]]:
    """The first people that one finds from user 0 on, and who of them are friends."""
    friends = collections.defaultdict(set)
    with gzip.open(GRAPH, 'rt') as lines:
        for a, b in (map(int, line.split()) for line in lines if line.strip()):
            friends[a].add(b)
            friends[b].add(a)
    found, order = {0}, [0]
    for user in order:
        for friend in sorted(friends[user] - found)[:count - len(found)]:
            found.add(friend)
            order.append(friend)
    return {user: friends[user] & found for user in found}


def gather(crowd, users, tmp_path):
    """People and authors; everybody follows the friends and all authors. -> people, authors"""
    graph = real_friends(PEOPLE)
    assert len(graph) == PEOPLE
    ids = dict(zip(sorted(graph), users(PEOPLE), strict=True))
    people, authors = list(ids.values()), users(AUTHORS)
    for person, friends in graph.items():
        crowd.following[ids[person]] = {ids[friend] for friend in friends} | set(authors)
    file = tmp_path / 'follows'
    file.write_text(''.join(f'{user} {other}\n' for user in people for other in crowd.following[user]))
    crowd.cluster.starling('follows', 'import', file, timeout=150)
    return people, authors


def plan(chance, people, authors, first):
    """Draws the actions of each user, in their order: [(user, [action, ...]), ...]. Everybody begins with `first`."""
    deeds = []
    for user in people:
        extra = chance.choices(['post', 'delete', 'unfollow', 'follow', 'mute', 'unmute'], [40, 12, 6, 6, 2, 2], k=1)
        deeds.append((user, [first, *extra]))
    deeds += [(user, ['post'] * 6 + ['delete']) for user in authors]
    chance.shuffle(deeds)
    return deeds


class Life:
    """People live their plan; `done` is how much of it."""

    def __init__(self, crowd, people, authors):
        self.crowd, self.everybody = crowd, people + authors
        self.turns, self.total = itertools.count(1), 0
        self.done = 0.0
        for user in self.everybody:  # so that no thread adds to what another one walks over
            assert not crowd.posts[user] and not crowd.muted[user]

    def turn(self, deed):
        user, things = deed
        crowd, chance = self.crowd, random.Random(f'{user} {len(self.crowd.posts[user])}')
        for what in things:
            if what == 'post':
                crowd.post(user, f'post {len(crowd.posts[user])} of {user}', timeout=90)
            elif what == 'delete':
                if crowd.posts[user]:
                    crowd.delete(user, chance.choice(crowd.posts[user]), timeout=90)
            else:
                known = sorted({'follow': set(self.everybody) - crowd.following[user] - {user},
                                'unfollow': crowd.following[user], 'mute': crowd.following[user],
                                'unmute': crowd.muted[user]}[what])
                if known:
                    getattr(crowd, what)(user, chance.choice(known), timeout=90)
        self.done = next(self.turns) / self.total

    def run(self, deeds, meanwhile):
        """Meanwhile [(at, do), ...]: each is done when that part of the plan is."""
        self.turns, self.total, self.done = itertools.count(1), len(deeds), 0.0
        troubled(lambda: self.crowd.each(deeds, self.turn), lambda: self.done, meanwhile)


def all_pages_are_right(crowd, people, chance, timeout=60):
    """Every page of everybody; returns how many posts were compared. A page that differs is read again until the end, as pushes may be
    under way."""
    began = time.monotonic()
    wrong = [(user, None) for user in people]
    while True:
        asked = [(user, *chance.choices(*LIMITS)) for user, _ in wrong]
        wrong = [(user, said) for (user, _), said in zip(asked, crowd.each(asked, lambda one: crowd.wrong_page(*one)))
                 if said]
        if not wrong:
            return sum(len(crowd.expected(user)) for user in people)
        assert time.monotonic() - began < timeout, f'{len(wrong)} of {len(people)} differ: {[said for _, said in wrong[:3]]}'


def screens_are_right(crowd, watchers):
    """Checks the screens of watchers, who ask for no page by hand. A post comes once at most over a connection."""
    deadline = time.monotonic() + TOLD_S

    def right(watcher):
        assert watcher.shown(20) == crowd.expected(watcher.user)[:20], watcher.user
        return True

    for watcher in watchers:
        eventually(lambda: right(watcher), max(1.0, deadline - time.monotonic()), every=0.2)
        assert not watcher.broken and not watcher.closed(), (watcher.user, watcher.broken)
    assert sum(len(watcher.told) for watcher in watchers) > 20 * len(watchers), 'posts came over the sockets, not only by pages'


def lists_and_counts_are_right(crowd, everybody):
    """Followers and following mirror each other and are what was asked for; counts are what one counts."""
    followers = collections.defaultdict(set)
    for user in everybody:
        for other in crowd.following[user]:
            followers[other].add(user)

    def check(user):
        lists = crowd.listed(user, 'followers', 1000), crowd.listed(user, 'following', 1000)
        assert lists == (sorted(followers[user]), sorted(crowd.following[user])), user
        own = [int(item['id']) for page in crowd.pages(user, f'/v1/users/{user}/posts', limit=1000) for item in page['items']]
        assert own == crowd.posts[user][::-1], user
        assert crowd.counts(user) == (*map(len, lists), len(own)), user
        return True

    crowd.each(everybody, lambda user: eventually(lambda: check(user), 30))


@needs_graph
@pytest.mark.slow
@pytest.mark.timeout(480)
@pytest.mark.parametrize('push_max, later', THRESHOLDS)
def test_everybodys_pages_equal_brute_force(make_cluster, users, tmp_path, push_max, later):
    chance = random.Random(push_max + later)
    cluster = make_cluster(partitions=8, settings={'feed:feed.push.max': push_max, 'feed:feed.inbox.max': 200})
    cluster.start(routers=0, sinks=0, feeds=2)
    crowd = Crowd(cluster)
    people, authors = gather(crowd, users, tmp_path)
    life = Life(crowd, people, authors)
    all_pages_are_right(crowd, people, chance)  # empty ones: inboxes are begun, so that what comes is pushed to them

    watchers = [Watcher(crowd, user) for user in chance.sample(people, WATCHERS)]

    def killed(process):
        process.kill()
        process.start()

    first, second = cluster.feeds
    life.run(plan(chance, people, authors, 'post'), [(0.2, lambda: killed(first)), (0.6, lambda: killed(second))])
    compared = all_pages_are_right(crowd, people, chance)
    screens_are_right(crowd, watchers)
    if later != push_max:
        life.run(plan(chance, people, authors, 'delete'), [
            (0.1, lambda: first.restart(**{'feed.push.max': later})), (0.5, lambda: second.restart(**{'feed.push.max': later}))])
        compared += all_pages_are_right(crowd, people, chance)
        screens_are_right(crowd, watchers)
    lists_and_counts_are_right(crowd, people + authors)
    for watcher in watchers:
        watcher.close()
    print(f'{compared} posts on the pages of {len(people)} people compared, '
          f'{sum(len(watcher.told) for watcher in watchers)} told to {WATCHERS} watchers, {sum(watcher.stales for watcher in watchers)} stale')
    assert compared > 40 * PEOPLE
