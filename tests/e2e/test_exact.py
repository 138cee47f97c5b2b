"""The main promise (docs/EXACTNESS.md): after everybody has reported twice more, every screen of an active user shows exactly the active friends
within the radius. Held against brute force, on a real trace and graph where they are present, and on the simulated city everywhere. Covers
tools/load/city.c, tools/load/handsets.c and tools/load/trace.c."""
import collections
import csv
import gzip
import os
import pathlib
import time

import pytest

from harness.broker import REPOSITORY
from harness.records import history_rows
from harness.truth import SETTLE, Simulation, caught_up, city_truth, compare, read_lists, reports, settle
from harness.waiting import eventually

DATA = pathlib.Path(os.environ.get('STARLING_DATA', REPOSITORY.parent / 'shared/data'))
TRACE, GRAPH = DATA / 'geolife-a.csv.gz', DATA / 'ego-facebook.txt.gz'
needs_data = pytest.mark.skipif(not (TRACE.exists() and GRAPH.exists()),
                                reason=f'the real trace and graph are not in {DATA} (STARLING_DATA names their folder)')
FROM, ENDS = 28800, (32400, 36000, 39600, 43200)


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


# tests

@needs_data
@pytest.mark.slow
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


def settle_after_trouble(cluster, simulation, go, going):
    """The trouble comes while the simulation moves; only when it is over and the routers have caught up, phones settle."""
    time.sleep(5)
    trouble(cluster, lambda: simulation.process.poll() is None)
    go.touch()
    settle(simulation, cluster.routers, going)
    simulation.finish(200)
    for sink in cluster.sinks:  # draining publishes what is still open
        sink.stop()


@needs_data
@pytest.mark.slow
@pytest.mark.timeout(500)
def test_exact_after_kills_on_the_real_trace(make_cluster, tmp_path):
    cluster = make_cluster(partitions=8, delivery_partitions=8, settings={'clock': 'stream'})
    cluster.start(routers=2, fanouts=2, sinks=2)
    end, go, going = 36000, tmp_path / 'go', tmp_path / 'going'
    going.touch()
    simulation = Simulation(cluster, '--trace', TRACE, '--graph', GRAPH, '--from', FROM, '--until', end, '--speed', 250,
                            '--wait-for', go, '--settle-while', going, '--lists', tmp_path / 'lists.csv')
    eventually(lambda: 'opted in' in simulation.said(), 60)
    settle_after_trouble(cluster, simulation, go, going)
    last = settled(last_fixes(end))
    compared = compare('after kills', read_lists(tmp_path / 'lists.csv'), last, real_pairs(), max(at for at, _ in last.values()))
    rows = history_matches(cluster)
    print(f'{compared} pairs, {rows} rows of history')
    assert compared > 100


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_exact_after_kills_in_the_city(make_cluster, tmp_path):
    cluster = make_cluster(partitions=4, delivery_partitions=4).start(routers=2, fanouts=2, sinks=2)
    go, going = tmp_path / 'go', tmp_path / 'going'
    going.touch()
    simulation = Simulation(cluster, '--city', 300, '--seed', 8, '--every', 0.5, '--for', 25, '--wait-for', go,
                            '--settle-while', going, '--lists', tmp_path / 'lists.csv')
    settle_after_trouble(cluster, simulation, go, going)
    last, pairs = city_truth(cluster)
    compared = compare('the city after kills', read_lists(tmp_path / 'lists.csv'), last, pairs, int(time.time() * 1000))
    rows = history_matches(cluster)
    print(f'{compared} pairs, {rows} rows of history')
    assert len(last) == 300 and compared > 500
