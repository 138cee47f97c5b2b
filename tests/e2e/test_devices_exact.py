"""Several devices of a user (docs/EXACTNESS.md, rule 5): every list of every device is exact, whichever of them reports, also after edges
have died. Held against brute force; tests/models/devices.py is the protocol."""
import contextlib
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.geo import HOME, RADIUS_M, distance_m
from harness.phone import Phone
from harness.truth import caught_up
from harness.waiting import eventually, now_ms

PEOPLE, FRIENDS = 200, 3  # of each, those who chose others
SPREAD = 0.2  # degrees: a fifth of all pairs are near


class Person:
    """A user with a place, and with devices that come back by themselves, on any of the edges."""

    def __init__(self, cluster, user, chance):
        self.cluster, self.user, self.chance = cluster, user, chance
        self.token = cluster.token(user)
        self.devices = [None] * chance.randint(1, 4)
        self.place, self.time = None, 0
        self.walk()

    def walk(self):
        self.place = tuple(round(degrees + self.chance.uniform(-SPREAD, SPREAD) / 2, 7) for degrees in HOME)

    def connect(self, urls):
        """Those devices that are not there. A phone that comes again says which session it had."""
        for i, device in enumerate(self.devices):
            if device is not None and device.closed() is None:
                continue
            phone = Phone(self.chance.choice(urls), self.user, self.token)
            self.devices[i] = phone
            self.time = max(self.time + 1, now_ms())
            before = next((frame['session'] for frame in device.frames if frame['type'] == 'welcome'), None) if device else None
            phone.send({'type': 'hello', 'token': self.token, 'lat': self.place[0], 'lng': self.place[1], 'time': self.time,
                        **({'before': before} if before else {})})
            phone.expect('welcome', 30)

    def report(self):
        """By any device, or by HTTP."""
        self.time = max(self.time + 1, now_ms())
        device = self.chance.choice([*self.devices, None])
        if device is None:
            assert self.cluster.report_http(self.user, *self.place, time=self.time).ok
        elif device.closed() is None:
            with contextlib.suppress(OSError):
                device.report(*self.place, time=self.time)

    def close(self):
        for device in self.devices:
            if device is not None:
                device.close()


class Crowd:
    def __init__(self, cluster, users, seed):
        self.cluster, self.chance = cluster, random.Random(seed)
        self.people = {user: Person(cluster, user, self.chance) for user in users}
        self.pairs = {tuple(sorted((user, friend))) for user in users for friend in self.chance.sample(users, FRIENDS) if friend != user}
        for user in users:
            cluster.topics.produce('sharing', user, ('sharing', {'mode': 'FRIENDS'}))
        cluster.befriend(*sorted(self.pairs))
        self.hands = ThreadPoolExecutor(16)

    def all(self, act):
        list(self.hands.map(act, self.people.values()))

    def connect(self, urls):
        self.all(lambda person: person.connect(urls))

    def move(self, seconds, part):
        """Some walk and report all the while."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for person in self.chance.sample(sorted(self.people.values(), key=lambda person: person.user), part):
                person.walk()
                person.report()
            time.sleep(0.1)

    def expected(self):
        near = {user: {} for user in self.people}
        for pair in self.pairs:
            a, b = (self.people[user] for user in pair)
            if distance_m(*a.place, *b.place) <= RADIUS_M:
                near[a.user][b.user], near[b.user][a.user] = b.place, a.place
        return near

    def wrong(self):
        """[(user, which device, its list, the list that it should show)]"""
        expected, wrong = self.expected(), []
        for person in self.people.values():
            for i, device in enumerate(person.devices):
                assert device.closed() is None, f'device {i} of {person.user}: {device.closed()}'
                shown = device.places()
                if shown != expected[person.user]:
                    wrong.append((person.user, i, shown, expected[person.user]))
        return wrong

    def check(self, what):
        """After everybody has reported twice more, every list is exact. Returns how many entries were compared."""
        for _ in range(2):
            self.all(Person.report)
            eventually(lambda: all(caught_up(router) for router in self.cluster.routers), 60, what='the routers have caught up')
            time.sleep(1.5)  # what is under way: flush windows, repairs
        eventually(lambda: not self.wrong(), 30, every=0.5, what=f'{what}: {self.wrong()[:3]}')
        devices = sum(len(person.devices) for person in self.people.values())
        compared = sum(len(person.devices) * len(friends) for person, friends in zip(self.people.values(), self.expected().values(), strict=True))
        print(f'{what}: {len(self.people)} users, {devices} devices, {compared} entries compared')
        return compared


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_list_of_every_device_is_exact_while_edges_die(make_cluster, users):
    cluster = make_cluster(partitions=4, delivery_partitions=8, settings={'fanout:edge.flush.window.ms': 200}).start(fanouts=2, routers=2, sinks=0)
    crowd = Crowd(cluster, users(PEOPLE), 31)
    crowd.connect(cluster.ws_urls)
    eventually(lambda: all(caught_up(router) for router in cluster.routers), 60, what='the routers are warm')
    assert crowd.check('calm') > 300
    for edge in cluster.fanouts:
        moving = threading.Thread(target=crowd.move, args=(5, PEOPLE // 20))
        moving.start()
        time.sleep(1)
        edge.kill()
        edge.start(wait=False)
        moving.join()
        edge.wait_ready(60)
        crowd.connect(cluster.ws_urls)
        assert crowd.check(f'after the death of {edge.name}') > 300
    crowd.all(Person.close)
    assert all(code == 1000 for person in crowd.people.values() for code, _ in (device.closed() for device in person.devices))
