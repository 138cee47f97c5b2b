"""Stand-by: what a router that ends leaves behind is taken over by those who kept it up to date, without reading it first."""
import time

import pytest

from harness.waiting import eventually
from test_exact import Simulation, caught_up, city_truth, compare, read_lists

FOREIGN, BEHIND, STANDBY, RESTORING, LIVE = range(5)


def stages(router, partitions):
    metrics = router.metrics()
    return [int(metrics.total('starling_router_partition_stage', partition=p)) for p in range(partitions)]


def settled(routers, partitions, replicas=1, timeout=60):
    """{partition: (owner, [stand-bys])} once every partition is live at one router and stood by for at as many as there can be."""
    found = {}

    def all_there():
        seen = [stages(router, partitions) for router in routers]
        for p in range(partitions):
            owners = [i for i, stage in enumerate(seen) if stage[p] == LIVE]
            others = [i for i, stage in enumerate(seen) if stage[p] == STANDBY]
            assert len(owners) == 1 and len(others) == min(replicas, len(routers) - 1), f'partition {p}: {seen}'
            assert not any(stage[p] in (BEHIND, RESTORING) for stage in seen), f'partition {p}: {seen}'
            found[p] = routers[owners[0]], [routers[i] for i in others]
        return True

    eventually(all_there, timeout, what='every partition has its owner and its stand-by')
    return found


def restored(routers):
    return sum(router.total('starling_router_restore_records_total', **{'for': 'owned'}) for router in routers)


def joined(routers):
    return sum(router.total('starling_router_joins_total') for router in routers)


def no_complaints(routers):
    for router in routers:
        assert 'nobody stands by' not in router.log()  # owners are who the order of the members says


@pytest.mark.timeout(300)
@pytest.mark.parametrize('static', [False, True], ids=['dynamic', 'static'])
def test_who_stands_by_takes_over(make_cluster, tmp_path, static):
    """Three routers under load, one is killed for good. Its partitions go to those who stood by for them, and nobody reads a
    friend list from the beginning; lists are exact afterwards."""
    partitions, names = 7, ['b', 'a', 'a!'] if static else ['', '', '']
    cluster = make_cluster(partitions=partitions, delivery_partitions=4).start(routers=0, sinks=0)
    for name in names:
        cluster.add('router', wait=False, settings={'group.instance.id': name} if name else None)
    for router in cluster.routers:
        router.wait_ready()
    go = tmp_path / 'go'
    simulation = Simulation(cluster, '--city', 300, '--seed', 9, '--every', 0.5, '--for', 10, '--wait-for', go,
                            '--lists', tmp_path / 'lists.csv')
    eventually(lambda: 'opted in' in simulation.said(), 60)
    # Some seconds later: opt-outs and -ins are told, and the group has been told that they are.
    eventually(lambda: joined(cluster.routers) > 3000, 60, what='reports are joined')
    before = settled(cluster.routers, partitions)
    read = restored(cluster.routers)

    victim, left = cluster.routers[0], cluster.routers[1:]
    victim.kill()
    after = settled(left, partitions)
    for p in range(partitions):
        owner, others = before[p]
        assert after[p][0] in (others if owner is victim else [owner, *others]), f'partition {p}'
    assert any(owner is victim for owner, _ in before.values())
    # Sharing is told of again from where the last owner had told it, a second ago: a handful, of some 300 + 12,000 records.
    again = restored(left) - read
    print(f'{again} records were read for {sum(owner is victim for owner, _ in before.values())} partitions, '
          f'longest pause {max(r.metrics().get("starling_router_takeover_pause_seconds", 0.0) for r in left)} s')
    assert again < 20
    no_complaints(left)

    eventually(lambda: all(caught_up(router) for router in left), 30)
    assert simulation.process.poll() is None
    go.touch()
    simulation.finish(200)
    last, pairs = city_truth(cluster)
    compared = compare('after a take-over', read_lists(tmp_path / 'lists.csv'), last, pairs, int(time.time() * 1000))
    assert len(last) == 300 and compared > 500


def pause(routers):
    return max(router.metrics().get('starling_router_takeover_pause_seconds', 0.0) for router in routers)


@pytest.mark.timeout(300)
@pytest.mark.parametrize('static', [False, True], ids=['dynamic', 'static'])
def test_who_comes_has_prepared_and_who_goes_hands_over(make_cluster, tmp_path, static):
    """From one router to three and back, by SIGTERM. A router that joins has read what it will own before it does; one that ends gives away
    what it owns at once, a static member too, though its place would be kept for the session's timeout."""
    partitions = 6
    cluster = make_cluster(partitions=partitions, delivery_partitions=4).start(routers=0, sinks=0)

    def add(name):
        return cluster.add('router', settings={'group.instance.id': name} if static else None)

    first = add('m')
    go = tmp_path / 'go'
    simulation = Simulation(cluster, '--city', 300, '--seed', 11, '--every', 0.5, '--for', 10, '--wait-for', go,
                            '--lists', tmp_path / 'lists.csv')
    eventually(lambda: 'opted in' in simulation.said() and joined([first]) > 3000, 60)
    pauses = {}
    for name in ('n', 'a'):
        newest = add(name)
        assert 'because="the state of what will be its own is read"' in newest.log()
        settled(cluster.routers, partitions)
        assert restored([newest]) < 20, 'it read friend lists after it had joined'
        pauses[f'{name} joined'] = pause(cluster.routers)
    for router in (first, cluster.routers[2]):
        left = [r for r in cluster.routers if r is not router and r.alive()]
        assert router.stop() == 0
        settled(left, partitions)
        pauses[f'{router.name} ended'] = pause(left)
    print(pauses)
    assert all(seconds < 5 for seconds in pauses.values()), pauses  # the session's timeout is 6 s
    last_one = cluster.routers[1]
    no_complaints([last_one])
    first.start()  # and back: with the place of a static member that has given it away
    settled([first, last_one], partitions)
    eventually(lambda: caught_up(first) and caught_up(last_one), 30)
    assert simulation.process.poll() is None
    go.touch()
    simulation.finish(200)
    last, pairs = city_truth(cluster)
    compared = compare('after coming and going', read_lists(tmp_path / 'lists.csv'), last, pairs, int(time.time() * 1000))
    assert len(last) == 300 and compared > 500
