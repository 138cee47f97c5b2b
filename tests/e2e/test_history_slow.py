"""A history sink whose folder is slow, or whose partitions do not work: the loop waits for neither, and operators see how old what waits
is."""
import pathlib
import subprocess
import time

import pytest

from harness.waiting import eventually
from test_history import Feed, check_files, produce, published, wanted_rows

SLOW_MS = 2000
QUICK_S = SLOW_MS / 1000 * 0.75  # what an answer takes at most on a machine that is busy with other things


@pytest.fixture(scope='module')
def slow_disk(tmp_path_factory):
    """The environment of a daemon whose file system is slow."""
    library = tmp_path_factory.mktemp('slow') / 'slow_disk.so'
    source = pathlib.Path(__file__).parent / 'harness/slow_disk.c'
    subprocess.run(['cc', '-shared', '-fPIC', '-o', library, source, '-ldl'], check=True)
    # A sanitizer wants to be the first library, which it need not be for these two functions.
    return {'LD_PRELOAD': str(library), 'SLOW_MS': str(SLOW_MS), 'ASAN_OPTIONS': 'verify_asan_link_order=0'}


def answer_times(daemon, until, timeout=60.0):
    """How long each answer took, asked again and again until that is true."""
    taken, deadline = [], time.monotonic() + timeout
    while not until():
        assert time.monotonic() < deadline
        start = time.monotonic()
        assert daemon.get('/healthz').status_code == 200
        taken.append(time.monotonic() - start)
        time.sleep(0.02)
    return taken


def a_slow_sink(cluster, environment, **settings):
    sink = cluster.add('history-sink', start=False)
    sink.environment.update(environment)
    return sink.start(wait=False, **settings)


def test_publishing_to_a_slow_disk_holds_up_nothing(make_cluster, users, slow_disk):
    cluster, ours = make_cluster(partitions=1), users(20)
    cluster.create_topics()
    first = a_slow_sink(cluster, {**slow_disk, 'SLOW_SYNC': '.tmp'}, **{'history.roll.s': 1})
    first.wait_ready()
    with Feed(cluster, ours):
        taken = answer_times(first, lambda: published(cluster) > 0)
        # Giving the partition away publishes what is open, and does not hold up the loop either.
        second = a_slow_sink(cluster, {**slow_disk, 'SLOW_SYNC': '.tmp'}, **{'history.roll.s': 1})
        taken += answer_times(first, second.ready)
    assert max(taken) < QUICK_S
    count = len(wanted_rows(cluster))
    eventually(lambda: check_files(cluster)[0] == count, 60, what='all rows are published, once')


def test_asking_a_broker_that_is_away_holds_up_nothing(make_cluster, broker, slow_disk):
    cluster = make_cluster(partitions=2)
    cluster.create_topics()
    sink = a_slow_sink(cluster, {**slow_disk, 'SLOW_FOLDER': str(cluster.history)}, **{'kafka.session.timeout.ms': 30000})
    sink.wait_for_log('opendir waits', 30)
    broker.pause()  # while the sink looks at its folder; then it asks Kafka
    try:
        taken = answer_times(sink, lambda: 'Kafka does not say where partitions end' in sink.log())
    finally:
        broker.resume()
    assert max(taken) < QUICK_S
    sink.wait_ready()


def test_what_waits_grows_old_while_partitions_are_refused(make_cluster, users):
    cluster = make_cluster(partitions=2)
    cluster.create_topics()
    obstacle = cluster.history / 'date=2026-01-01'
    obstacle.write_text('no folder')
    sink = cluster.add('history-sink', wait=False)
    produce(cluster, users(5), 20)
    sink.wait_for_log('partition refused', 30)
    eventually(lambda: sink.total('starling_history_refused_partitions') == 2)

    def oldest():
        return sink.total('starling_history_oldest_unpublished_seconds')

    eventually(lambda: oldest() > 2, 10, what='it shows')
    before = oldest()
    eventually(lambda: oldest() > before + 1, 10, what='it grows')
    obstacle.unlink()
    sink.restart(**{'history.roll.s': 1})
    eventually(lambda: oldest() == 0, 20, what='nothing waits any more')
    assert check_files(cluster)[0] == len(wanted_rows(cluster))
