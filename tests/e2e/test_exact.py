"""The main promise (DESIGN 3): after everybody has reported twice more, every screen of an active user shows exactly the
active friends within the radius. Held against brute force, on a real trace and graph where they are present, and on the
simulated city everywhere."""
import collections
import csv
import gzip
import math
import os
import pathlib
import subprocess
import time

import pytest

from harness.broker import REPOSITORY
from harness.cluster import build_folder
from harness.geo import EARTH_RADIUS_M, RADIUS_M
from harness.processes import clean_environment, die_with_parent
from harness.records import decode, history_rows, key_users
from harness.waiting import eventually

DATA = pathlib.Path(os.environ.get('STARLING_DATA', REPOSITORY.parent / 'shared/data'))
TRACE, GRAPH = DATA / 'geolife-a.csv.gz', DATA / 'ego-facebook.txt.gz'
needs_data = pytest.mark.skipif(not (TRACE.exists() and GRAPH.exists()),
                                reason=f'the real trace and graph are not in {DATA} (STARLING_DATA names their folder)')
FROM, ENDS = 28800, (32400, 36000, 39600, 43200)
INACTIVE_MS = 600_000
SETTLE = 2


# brute force

def distance(a, b):
    (lat1, lng1), (lat2, lng2) = ([math.radians(x / 1e7) for x in p] for p in (a, b))
    h = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin((lng2 - lng1) / 2) ** 2
    return 2 * EARTH_RADIUS_M * math.asin(min(1.0, math.sqrt(h)))


def near_pairs(last, pairs, now):
    """last: {user: (time, (lat_e7, lng_e7))}. -> {(user, friend): metres}, both ways, of those active at `now`."""
    active = {user for user, (at, _) in last.items() if now - at < INACTIVE_MS}
    found = {}
    for a, b in pairs:
        if a in active and b in active:
            metres = distance(last[a][1], last[b][1])
            if metres <= RADIUS_M:
                found[a, b] = found[b, a] = metres
    return found, active


def real_pairs():
    with gzip.open(GRAPH, 'rt') as lines:
        return {tuple(sorted(map(int, line.split()))) for line in lines if line.strip()}


def last_fixes(until):
    last = {}
    with gzip.open(TRACE, 'rt') as lines:
        for row in csv.DictReader(lines):
            if FROM <= int(row['t_s']) <= until:
                last[int(row['user'])] = int(row['t_s']) * 1000, (int(row['lat_e7']), int(row['lon_e7']))
    return last


def settled(last, rounds=SETTLE):
    """The times after everybody has repeated the last place, a millisecond later each time."""
    return {user: (at + rounds, place) for user, (at, place) in last.items()}


# the screens

def read_lists(path):
    with open(path) as lines:
        return {(int(row['user']), int(row['friend'])): float(row['distance_m']) for row in csv.DictReader(lines)}


def compare(what, lists, last, pairs, now):
    expected, active = near_pairs(last, pairs, now)
    shown = {pair: metres for pair, metres in lists.items() if pair[0] in active}
    missing, extra = expected.keys() - shown.keys(), shown.keys() - expected.keys()
    print(f'{what}: {len(active)} active of {len(last)} users, {len(expected)} pairs compared, '
          f'{len(missing)} missing, {len(extra)} too many')
    assert not missing and not extra, f'{what}: missing {sorted(missing)[:5]}, too many {sorted(extra)[:5]}'
    worst = max((abs(shown[pair] - expected[pair]) for pair in expected), default=0)
    assert worst < 0.01, f'{what}: a distance is off by {worst} m'
    return len(expected)


# the simulator

class Simulation:
    def __init__(self, cluster, *arguments):
        cluster.starling('status', check=False)  # writes the command's configuration
        self.log = open(cluster.folder / 'simulate.log', 'w+')
        self.process = subprocess.Popen(
            [build_folder() / 'starling', 'simulate', '--config', cluster.folder / 'starling.properties',
             '--ws', cluster.ws_url, '--settle', str(SETTLE), *map(str, arguments)], stderr=self.log,
            env=clean_environment(), preexec_fn=die_with_parent)

    def said(self):
        self.log.flush()
        return pathlib.Path(self.log.name).read_text()

    def finish(self, timeout):
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f'the simulation did not end:\n{self.said()[-2000:]}') from None
        assert code == 0, self.said()[-2000:]


def caught_up(router):
    metrics = router.metrics()
    return metrics.total('starling_router_warm') == 1 and metrics.total('starling_router_caught_up') == 1


# tests

@needs_data
@pytest.mark.timeout(400)
def test_exact_on_the_real_trace_and_graph(make_cluster, tmp_path):
    cluster = make_cluster(partitions=8, delivery_partitions=8, settings={'clock': 'stream'}).start()
    Simulation(cluster, '--trace', TRACE, '--graph', GRAPH, '--from', FROM, '--until', ','.join(map(str, ENDS)),
               '--speed', 'max', '--lists', tmp_path / 'lists-{until}.csv').finish(360)
    pairs, compared = real_pairs(), 0
    for end in ENDS:
        last = settled(last_fixes(end))
        now = max(at for at, _ in last.values())
        compared += compare(f'{FROM} to {end}', read_lists(tmp_path / f'lists-{end}.csv'), last, pairs, now)
    print(f'{compared} pairs compared')
    assert compared > 500


def reports(cluster):
    """The REPORT and JOIN records of `locations`, as (message, record)."""
    for message in cluster.topics.read('locations'):
        record = decode(message.value)
        if record['kind'] in ('REPORT', 'JOIN'):
            yield message, record


def city_truth(cluster):
    """Last reports and friendships as the topics have them."""
    last = {}
    for _, record in reports(cluster):
        if record['time'] >= last.get(record['user'], (-1,))[0]:
            last[record['user']] = record['time'], (record['lat'], record['lng'])
    pairs = {tuple(sorted(key_users(key))) for key, value in cluster.topics.latest('friendships').items()
             if value['state'] == 'FRIENDS'}
    return last, pairs


def test_exact_in_the_city(make_cluster, tmp_path):
    cluster = make_cluster(partitions=4, delivery_partitions=4).start()
    Simulation(cluster, '--city', 300, '--seed', 7, '--every', 0.5, '--for', 12, '--lists', tmp_path / 'lists.csv').finish(100)
    last, pairs = city_truth(cluster)
    compared = compare('the city', read_lists(tmp_path / 'lists.csv'), last, pairs, int(time.time() * 1000))
    assert len(last) == 300 and compared > 500


def milliseconds(instant):
    """fastavro gives timestamp-millis as a datetime."""
    return instant if isinstance(instant, int) else round(instant.timestamp() * 1000)


def history_matches(cluster):
    """The rows of the history files are the REPORT and JOIN records of `locations`, each once."""
    wanted = collections.Counter((m.partition, m.offset, r['user'], r['lat'], r['lng'], r['time']) for m, r in reports(cluster))
    found = collections.Counter((r['partition'], r['offset'], r['user'], r['lat'], r['lng'], milliseconds(r['time']))
                                for r in history_rows(cluster.history))
    assert found == wanted, (f'{found.total()} rows for {wanted.total()} reports; missing {list(wanted - found)[:3]}, '
                             f'too many {list(found - wanted)[:3]}')
    return len(wanted)


def trouble(cluster, moving):
    """While everybody moves: one of each is killed with -9 and started again, and a router is added."""
    for daemon in (cluster.routers[0], cluster.fanouts[0], cluster.sinks[0]):
        assert moving(), 'the simulation ended too early for the trouble to matter'
        daemon.kill()
        daemon.start(wait=False)
        time.sleep(2)
    cluster.add('router', wait=False)
    for daemon in cluster.daemons:
        daemon.wait_ready(60)
    eventually(lambda: all(caught_up(router) for router in cluster.routers), 60, what='every router is warm and caught up')


def settle_after_trouble(cluster, simulation, go):
    """The trouble comes while the simulation moves; only when it is over and the routers have caught up, phones settle."""
    time.sleep(5)
    trouble(cluster, lambda: simulation.process.poll() is None)
    go.touch()
    simulation.finish(200)
    for sink in cluster.sinks:  # draining publishes what is still open
        sink.stop()


@needs_data
@pytest.mark.timeout(500)
def test_exact_after_kills_on_the_real_trace(make_cluster, tmp_path):
    cluster = make_cluster(partitions=8, delivery_partitions=8, settings={'clock': 'stream'})
    cluster.start(routers=2, fanouts=2, sinks=2)
    end, go = 36000, tmp_path / 'go'
    simulation = Simulation(cluster, '--trace', TRACE, '--graph', GRAPH, '--from', FROM, '--until', end, '--speed', 250,
                            '--wait-for', go, '--lists', tmp_path / 'lists.csv')
    eventually(lambda: 'opted in' in simulation.said(), 60)
    settle_after_trouble(cluster, simulation, go)
    last = settled(last_fixes(end))
    compared = compare('after kills', read_lists(tmp_path / 'lists.csv'), last, real_pairs(), max(at for at, _ in last.values()))
    rows = history_matches(cluster)
    print(f'{compared} pairs, {rows} rows of history')
    assert compared > 100


@pytest.mark.timeout(300)
def test_exact_after_kills_in_the_city(make_cluster, tmp_path):
    cluster = make_cluster(partitions=4, delivery_partitions=4).start(routers=2, fanouts=2, sinks=2)
    go = tmp_path / 'go'
    simulation = Simulation(cluster, '--city', 300, '--seed', 8, '--every', 0.5, '--for', 25, '--wait-for', go,
                            '--lists', tmp_path / 'lists.csv')
    settle_after_trouble(cluster, simulation, go)
    last, pairs = city_truth(cluster)
    compared = compare('the city after kills', read_lists(tmp_path / 'lists.csv'), last, pairs, int(time.time() * 1000))
    rows = history_matches(cluster)
    print(f'{compared} pairs, {rows} rows of history')
    assert len(last) == 300 and compared > 500
