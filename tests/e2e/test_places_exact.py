"""The promise of places: `place-events` holds exactly what the function gives over `locations`, each number once, whoever crashes."""
import csv
import gzip
import os
import pathlib
import random
import shutil
import time

import pytest

from harness.broker import REPOSITORY
from harness.geo import HOME, at
from harness.placing import Placing
from harness.records import decode, key_users
from harness.waiting import eventually, now_ms

DATA = pathlib.Path(os.environ.get('STARLING_DATA', REPOSITORY.parent / 'shared/data'))
TRACE = DATA / 'geolife-a.csv.gz'
needs_trace = pytest.mark.skipif(not TRACE.exists(), reason=f'the real trace is not in {DATA} (STARLING_DATA names its folder)')
NEVER = {'places:places.cover.s': 3600}


def walk(chance, placing, user, home, steps):
    """Reports of somebody who goes around home: jitter, bad accuracies, and times that go back."""
    where = 0
    for _ in range(steps):
        where = chance.choice((where, where + chance.randint(-40, 40), chance.randint(-400, 400)))
        yield placing.location(user, *at(home + where), time=now_ms() - chance.choice((0, 0, 0, 2000, -70000)),
                               kind=chance.choice(('REPORT', 'REPORT', 'JOIN', 'REJOIN')), accuracy=chance.choice((-1, 0, 10, 60, 500)))


def some_change(chance, placing, user, homes):
    if chance.random() < .06:
        placing.command('FORGET', user)
    elif chance.random() < .25:
        placing.delete(user, chance.choice('abc'))
    else:
        placing.put(user, chance.choice('abc'), *at(homes[user] + chance.randint(-200, 200)), chance.choice((50, 100, 300)),
                    **chance.choice(({}, {'friends': True}, {'users': [3, 1 << 40]})))


def test_events_are_what_the_function_gives_while_owners_are_killed(make_cluster):
    cluster = make_cluster(settings=NEVER).start(ingests=0, routers=0, fanouts=0, sinks=0, places=2)
    placing, chance = Placing(cluster), random.Random(5)
    homes = {user: 1000 * user for user in range(1, 13)}
    for user in homes:
        placing.put(user, 'a', *at(homes[user]), 100)
    for turn in range(12):
        if turn % 4 == 1:
            daemon = cluster.places[turn // 4 % 2]
            daemon.kill()
            if turn == 5:
                shutil.rmtree(daemon.folder / 'data')
            daemon.start(wait=False)
        locations = [location for user in chance.sample(sorted(homes), 8) for location in walk(chance, placing, user, homes[user], 8)]
        chance.shuffle(locations)
        placing.reports(locations)
        for user in chance.sample(sorted(homes), 3):
            some_change(chance, placing, user, homes)
        placing.reports([placing.location(chance.choice(sorted(homes)), *HOME, kind='LEAVE', opted=turn * 10),
                         (1, b'no location'), (b'no user', b'')])
    placing.settle()
    assert placing.check() > 10


def test_the_state_of_whoever_reports_is_written_once_in_a_while(make_cluster):
    """And then no report from before counts, although the time of the newest is nowhere else; and no more is read again than of that while."""
    cluster = make_cluster(partitions=1, settings={'places:places.cover.s': 1}).start(ingests=0, routers=0, fanouts=0, sinks=0, places=1)
    placing, user = Placing(cluster), 7
    placing.put(user, 'a', *HOME, 100)
    placing.settle()
    far = now_ms() + 5000
    placing.report(user, *at(5000), time=far)

    def covered():
        states = [decode(m.value) for m in cluster.topics.read('place-states') if m.key == user.to_bytes(8, 'big')]
        return states[-1]['newest'] == far and len(states)

    assert eventually(covered, 20) == 2
    end = cluster.topics.ends('locations')[0]
    placing.report(99, *HOME)

    def committed():
        return [decode(m.value)['next'] for m in cluster.topics.read('place-offsets') if m.key == b'locations'][-1]

    eventually(lambda: committed() > end, 20, what='reports of others hold nothing back')
    cluster.places[0].kill()
    shutil.rmtree(cluster.places[0].folder / 'data')
    placing.report(user, *HOME, time=far - 1)
    cluster.places[0].start()
    placing.report(user, *HOME, time=far + 1)
    event, = eventually(lambda: [decode(m.value) for m in cluster.topics.read('place-events') if key_users(m.key)[0] == user], 20)
    assert event['what'] == 'ARRIVED' and event['time'] == far + 1


def trace_rows(until, users):
    with gzip.open(TRACE, 'rt') as lines:
        for row in csv.DictReader(lines):
            if int(row['t_s']) > until:
                return
            if int(row['user']) in users:
                yield int(row['t_s']), int(row['user']), int(row['lat_e7']) / 1e7, int(row['lon_e7']) / 1e7


@needs_trace
@pytest.mark.slow
@pytest.mark.timeout(400)
def test_exact_on_the_real_trace_after_kills(make_cluster):
    """Three places a user, where the user passes by; each is moved or made wider on the way."""
    cluster = make_cluster(partitions=8, settings={'clock': 'stream', **NEVER}).start(ingests=0, routers=0, fanouts=0, sinks=0, places=2)
    placing, chance = Placing(cluster, wall=False), random.Random(6)
    with gzip.open(TRACE, 'rt') as lines:
        users = sorted({int(row['user']) for row in csv.DictReader(lines)})[:400]
    rows = list(trace_rows(86400, set(users)))
    seen = {}
    for _, user, lat, lng in rows:
        seen.setdefault(user, []).append((lat, lng))
    for user, places in seen.items():
        for id in 'abc':
            placing.put(user, id, *chance.choice(places), chance.choice((50, 200, 1000)))
    batches = [rows[i:i + len(rows) // 20 + 1] for i in range(0, len(rows), len(rows) // 20 + 1)]
    for number, batch in enumerate(batches):
        placing.reports([placing.location(user, lat, lng, time=t_s * 1000 + 1, accuracy=chance.choice((-1, 5, 20, 60)))
                         for t_s, user, lat, lng in batch])
        if number % 4 == 2:
            daemon = cluster.places[number // 4 % 2]
            daemon.kill()
            time.sleep(0.5)
            daemon.start(wait=False)
        for user in chance.sample(sorted(seen), 10):
            placing.put(user, chance.choice('abc'), *chance.choice(seen[user]), chance.choice((100, 400)))
    placing.settle(120)
    count = placing.check()
    print(f'{count} events of {len(rows)} reports of {len(seen)} users')
    assert count > 500
