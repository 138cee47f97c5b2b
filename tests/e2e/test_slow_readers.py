"""Phones that stop reading: they cost the edge a bounded piece of memory, get the newest truth in one frame when they read
again, are closed with 4002 if they do not, and nobody else notices."""
import contextlib
import functools
import json
import re
import time

import pytest

from harness.edge import Stage, move, roster
from harness.geo import HOME, at
from harness.slow import SlowPhone
from harness.waiting import eventually, now_ms

CROWD, SLOW = 400, 8
FRAME_KB = 64  # what the whole crowd takes in a frame, and a little
NOTICED_S = 3  # who waits so much longer has noticed; less may be the machine
CLOSE_S = 5  # for a close frame to be taken, then the edge drops who has not


def rss_kb(daemon) -> int:
    with open(f'/proc/{daemon.pid}/status') as status:
        return int(re.search(r'^VmRSS:\s+(\d+) kB', status.read(), re.M)[1])


class Scene:
    """A crowd that moves, one phone that reads, and some that do not."""

    def __init__(self, stage, users):
        self.stage = stage
        self.reader, *rest = users(1 + SLOW + CROWD)
        self.slow, self.crowd = rest[:SLOW], rest[SLOW:]
        stage.share(self.reader, *self.slow, *self.crowd)
        self.time = now_ms()

    def join(self, stack):
        self.phone = stack.enter_context(self.stage.cluster.phone(self.reader))
        joins = [self.stage.join(self.phone, *HOME)]
        self.phones = [stack.enter_context(SlowPhone(self.stage.cluster, user, *HOME)) for user in self.slow]
        for user in self.slow:
            joins.append(self.stage.wait_said(user, 'JOIN'))
            self.stage.deliver(joins[-1]['route'], roster(joins[-1], []))
        self.routes = {}
        for join in joins:
            self.routes.setdefault(join['route'], []).append(join['user'])

    def round(self):
        """Everybody in the crowd moves, and everybody is told."""
        self.time += 1
        for route, recipients in self.routes.items():
            self.stage.deliver(route, *[move(friend, at(self.time % 7 + 1), self.time, *recipients) for friend in self.crowd])

    def reader_has_it(self):
        return all(self.phone.screen.get(friend, {}).get('time') == self.time for friend in self.crowd)

    def rounds(self, count):
        """Returns the longest that the reader had to wait for one, s."""
        longest = 0
        for _ in range(count):
            self.round()
            start = time.monotonic()
            eventually(self.reader_has_it, 20, every=0.002, what='the reader has heard of the round')
            longest = max(longest, time.monotonic() - start)
        return longest

    def frames(self):
        return self.stage.edge.total('starling_edge_frames_total')

    def stuff(self):
        """Rounds until a round brings a frame to the reader only."""
        for _ in range(300):
            before = self.frames()
            self.round()
            eventually(self.reader_has_it, 20, what='the reader has heard of the round')
            if self.frames() - before <= len(self.routes):  # a frame of the reader's for each route's part at most
                return
        pytest.fail('the sockets never filled up')


@pytest.fixture
def make_scene(make_cluster, users):
    with contextlib.ExitStack() as stack:
        def make(**settings):
            scene = Scene(Stage(make_cluster(delivery_partitions=1, settings={
                'edge.flush.window.ms': 1, 'edge.first.page.ms': 60_000, **settings})), users)
            scene.join(stack)
            return scene
        yield make


def test_bounded_memory_the_newest_truth_in_one_frame_and_nobody_notices(make_scene):
    scene = make_scene()
    before = scene.rounds(10)
    scene.stuff()
    settled = rss_kb(scene.stage.edge)
    during = scene.rounds(150)  # queued, these would be 8 times 150 frames of some 50 KB
    grown = rss_kb(scene.stage.edge) - settled
    print(f'the reader waited {before * 1000:.0f} ms at most before, {during * 1000:.0f} ms while {SLOW} did not read; '
          f'the edge grew by {grown} KB')
    assert grown < SLOW * FRAME_KB + 2048
    assert during < before + NOTICED_S

    told = scene.frames()
    for phone in scene.phones:
        screen, newest = {}, 0
        while newest < CROWD:
            opcode, text = phone.hear()
            assert opcode == 1
            frame = json.loads(text)
            items = frame.get('items', []) + frame.get('near', [])
            screen.update((item['user'], item) for item in items)
            newest = sum(item['time'] == scene.time for item in items)
            assert newest in (0, CROWD)  # what was on its way is old, and then all comes at once
        assert set(screen) == set(scene.crowd)
    assert scene.frames() == told + SLOW
    assert scene.stage.edge.total('starling_edge_slow_closed_total') == 0


def test_who_does_not_read_at_all_is_closed_and_counted_and_nobody_notices(make_scene):
    scene = make_scene(**{'edge.slow.close.s': NOTICED_S})
    closed = functools.partial(scene.stage.edge.total, 'starling_edge_slow_closed_total')
    before, nobody_closed = scene.rounds(10), time.monotonic()
    scene.stuff()
    deadline = time.monotonic() + 60
    while True:
        asked, count = time.monotonic(), closed()
        if count == SLOW:
            break
        if count == 0:
            nobody_closed = asked
        assert asked < deadline, f'{count} of {SLOW} were closed'
        assert scene.rounds(1) < before + NOTICED_S
    ends = [phone.hear_close() for phone in scene.phones]
    waited = time.monotonic() - nobody_closed
    print(f'the first to be closed had waited {waited:.1f} s at most when the last one read: {ends}')
    assert set(ends) == {4002} or (waited > CLOSE_S and set(ends) <= {4002, None}), ends
    for phone in scene.phones:
        scene.stage.wait_said(phone.user, 'QUIT', timeout=30)
    scene.rounds(5)
    assert closed() == SLOW and scene.phone.closed() is None
    assert scene.stage.edge.total('starling_edge_sessions') == 1
