"""Two edges are restarted one after the other while everybody reports: what the clients themselves see of it."""
import asyncio
import collections
import random
import threading
import time

import pytest

from harness.geo import at
from harness.waiting import eventually
from starling_client import Change, StarlingClient, State, StateChange

PEOPLE, FRIENDS = 60, 8
REPORT_EVERY_S = 4
SLACK_S = 0.5  # of a machine that does other things as well


class Crowd(threading.Thread):
    """People in a ring, each a friend of the next few on both sides, on an event loop of their own. All stand within the
    radius of each other, so every friend belongs on every list, always.

    gaps: {(user, friend): the longest time that the friend was missing from the list, s}, once everybody was complete.
    """

    def __init__(self, cluster, people):
        super().__init__(daemon=True)
        self.people, self.gaps, self.oldest = people, collections.Counter(), 0.0
        self.closes = collections.Counter()
        self.friends = {me: {people[(i + k) % PEOPLE] for k in range(-FRIENDS // 2, FRIENDS // 2 + 1) if k}
                        for i, me in enumerate(people)}
        self._url, self._tokens = cluster.ws_url, {user: cluster.token(user) for user in people}
        self._watching = False
        self._missing = {}
        self.clients = {}
        self.loop = asyncio.new_event_loop()

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self._live())

    async def _live(self):
        self._over = asyncio.Event()
        for i, user in enumerate(self.people):
            lat, lng = at(10 * i)
            client = self.clients[user] = StarlingClient(self._url, self._tokens[user], lat, lng, prefetch=True,
                                                         connect_options={'proxy': None}, rand=random.Random(user).random)
            client.on_event(lambda event, me=user: self._heard(me, event))
            client.connect()
        while not self._over.is_set():
            if self._watching:
                self._look()
            await asyncio.sleep(0.1)
        await asyncio.gather(*(client.close() for client in self.clients.values()))

    def _heard(self, user, event):
        if isinstance(event, StateChange) and event.state is State.WAITING:
            self.closes[event.code] += 1
        if isinstance(event, Change) and self._watching:
            self._look_at(user, time.monotonic())

    def _look(self):
        now = time.monotonic()
        for user in self.people:
            self._look_at(user, now)
            client = self.clients[user]
            self.oldest = max(self.oldest, max((client.server_now() - f.time for f in client.known), default=0) / 1000)

    def _look_at(self, user, now):
        there = {friend.user for friend in self.clients[user].known}
        for friend in self.friends[user]:
            if friend in there:
                self._missing.pop((user, friend), None)
            else:
                since = self._missing.setdefault((user, friend), now)
                self.gaps[user, friend] = max(self.gaps[user, friend], now - since)

    def complete(self):
        return all({friend.user for friend in client.known} == self.friends[user] and client.state is State.ONLINE
                   for user, client in self.clients.items())

    def watch(self):
        self._watching = True

    def end(self):
        self.loop.call_soon_threadsafe(self._over.set)
        self.join(20)


@pytest.mark.timeout(300)
def test_a_rolling_restart_of_two_edges_loses_no_entry_for_longer_than_a_report(make_cluster, users):
    cluster = make_cluster(settings={'fanout:edge.report.every.s': REPORT_EVERY_S, 'fanout:edge.drain.s': 4})
    cluster.start(fanouts=2)
    people = users(PEOPLE)
    crowd = Crowd(cluster, people)
    cluster.share(*people)
    cluster.befriend(*{tuple(sorted((me, friend))) for me in people for friend in crowd.friends[me]})
    crowd.start()
    try:
        eventually(lambda: crowd.clients and crowd.complete(), 60, every=0.2, what='every list is complete')
        assert all(edge.total('starling_edge_sessions') > 0 for edge in cluster.fanouts)
        crowd.watch()
        time.sleep(2 * REPORT_EVERY_S)
        calm = crowd.oldest
        assert not crowd.gaps, 'in calm running nobody is missing'
        for edge in cluster.fanouts:
            assert edge.stop() == 0
            assert set(crowd.closes) <= {1012}, f'closed otherwise than as planned: {crowd.closes}'
            edge.start()
            assert 'another process listens there too' in edge.log()  # the other edge, on purpose
        time.sleep(2 * REPORT_EVERY_S)
        assert crowd.complete()
    finally:
        crowd.end()
    longest = max(crowd.gaps.values(), default=0)
    print(f'{sum(crowd.closes.values())} connections moved, {len(crowd.gaps)} of {PEOPLE * FRIENDS} entries were missing for a '
          f'while, {longest:.2f} s at most; the oldest entry shown was {calm:.1f} s old before and {crowd.oldest:.1f} s during')
    assert crowd.closes[1012] >= PEOPLE
    assert longest <= REPORT_EVERY_S + SLACK_S
    assert crowd.oldest <= 2 * REPORT_EVERY_S + 3  # its own report, one that was missed while moving, and the move itself
