"""Two edges are restarted one after the other while everybody reports: what the clients themselves see of it."""
import collections
import random
import time

import pytest

from harness.geo import at
from harness.ring import Ring
from harness.waiting import eventually
from starling_client import Change

PEOPLE, FRIENDS = 60, 8
REPORT_EVERY_S = 4
SLACK_S = 0.5  # of a machine that does other things as well


class Crowd(Ring):
    """All stand within the radius of each other, so every friend belongs on every list, always.

    gaps: {(user, friend): the longest time that the friend was missing from the list, s}, once everybody was complete.
    """

    def __init__(self, cluster, people):
        super().__init__(cluster, people, FRIENDS)
        self.gaps, self.oldest = collections.Counter(), 0.0
        self._watching, self._missing = False, {}

    def place(self, user):
        return at(10 * self.people.index(user))

    def options(self, user):
        return {'connect_options': {'proxy': None}, 'rand': random.Random(user).random}

    def told(self, user, event):
        if isinstance(event, Change) and self._watching:
            self._look_at(user, time.monotonic())

    def turn(self):
        if not self._watching:
            return
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
        return self.online() and all({friend.user for friend in client.known} == self.friends[user]
                                     for user, client in self.clients.items())

    def watch(self):
        self._watching = True


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_rolling_restart_of_two_edges_loses_no_entry_for_longer_than_a_report(make_cluster, users):
    cluster = make_cluster(settings={'fanout:edge.report.every.s': REPORT_EVERY_S, 'fanout:edge.drain.s': 4})
    cluster.start(fanouts=2)
    crowd = Crowd(cluster, users(PEOPLE))
    crowd.start()
    try:
        eventually(crowd.complete, 60, every=0.2, what='every list is complete')
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
