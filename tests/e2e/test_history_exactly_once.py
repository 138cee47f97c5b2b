"""Each report is in history exactly once, whatever happens to the sinks and to where they keep files: in the Avro files (small and merged
ones together), in the Parquet data set made of them, and in the store. Sinks are killed with -9, rebalanced as one comes and goes, and
lose their stores; the disk is full for a while, or the bucket, which fails half of all calls anyway, fails all.

By default some thousands of reports; STARLING_REPORTS=2000000 runs it whole."""
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from harness.broker import REPOSITORY
from harness.history_digest import FIELDS, Digest, of_files, of_topic
from harness.history_places import Bucket, Folder
from harness.object_store import ObjectStore, Unreliable
from harness.records import encode, user_key
from harness.waiting import eventually
from test_history import all_pages, location

REPORTS = int(os.environ.get('STARLING_REPORTS', '10000'))
PARTITIONS = 4
SETTINGS = {'history-sink:history.roll.s': 1, 'history-sink:history.merge.s': 1, 'history-sink:history.merge.keep.s': 2,
            'history-sink:history.roll.rows': max(500, REPORTS // 100)}
PATIENCE_S = 90 + REPORTS / 5_000
STOPPED = (0, -signal.SIGTERM)  # a sink may not have come as far as to heed signals


def of_parquet(folder):
    digest = Digest()
    for path in folder.rglob('*.parquet'):
        for batch in pq.ParquetFile(path).iter_batches(100_000):
            columns = {name: batch.column(name) for name in ('partition', 'offset', *FIELDS)}
            plain = [(column.cast('int64') if name in ('time', 'received') else column).to_pylist() for name, column in columns.items()]
            for row in zip(*plain):
                digest.add(*row)
    return digest


def convert(place, folder, target, kill_after=None):
    """Runs starling-parquet, to its end or to a kill -9."""
    folder.mkdir(exist_ok=True)
    environment = {**os.environ, 'PYTHONPATH': str(REPOSITORY / 'clients/python-history')}
    process = subprocess.Popen([sys.executable, '-m', 'starling_history.convert', place.local(folder), target], env=environment,
                               stdout=subprocess.DEVNULL)
    try:
        assert process.wait(timeout=kill_after) == 0
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def of_store(cluster, users):
    digest = Digest()
    for user in users:
        for item in all_pages(cluster, user, '', 10_000):
            digest.add(user, round(item['lat'] * 1e7), round(item['lng'] * 1e7), item['time'],
                       -1 if item['accuracy'] is None else item['accuracy'], item['received'])
    return digest


class Reports(threading.Thread):
    """All the reports, spread over some seconds."""

    def __init__(self, cluster, users):
        super().__init__()
        self.cluster, self.users, self.failures = cluster, users, []

    def run(self):
        chance = random.Random(2)
        producer = Producer({'bootstrap.servers': self.cluster.broker.bootstrap, 'partitioner': 'murmur2_random',
                             'queue.buffering.max.messages': 200_000, 'linger.ms': 5})
        topic = self.cluster.topics.name('locations')
        for number in range(REPORTS):
            user = chance.choice(self.users)
            value = encode('location', location(user, number, 'QUIT' if number % 50 == 0 else 'REPORT', time=1_700_000_000_000 + number // 3))
            while True:
                try:
                    producer.produce(topic, key=user_key(user), value=value,
                                     on_delivery=lambda error, _: self.failures.append(error) if error else None)
                    break
                except BufferError:
                    producer.poll(0.1)
            if number % 1000 == 0:
                producer.poll(0)
                time.sleep(0.5 if REPORTS < 100_000 else 0.005)
        if producer.flush(60):
            self.failures.append('not all were written')


def lose_store(sink):
    shutil.rmtree(sink.settings['data.dir'], ignore_errors=True)


def trouble(cluster, sinks, until, place, pause):
    """Kills one after the other, one of them without leaving it its store; a third comes and goes; the disturbed place calms down."""
    chance, turn, third = random.Random(3), 0, None
    while not until() or turn < 4:
        time.sleep(chance.uniform(*pause))
        victim = sinks[turn % 2]
        victim.kill()
        if turn % 4 == 2:
            lose_store(victim)
        victim.start(wait=False)
        turn += 1
        if turn % 4 == 1:
            place.disturb()
        elif turn % 4 == 3:
            place.calm()
        if turn == 2:
            third = cluster.add('history-sink', wait=False)
        elif turn % 4 == 2:
            third.start(wait=False)
        elif turn % 4 == 0:
            assert third.stop() in STOPPED
    place.calm()
    if third.alive():
        assert third.stop() in STOPPED


@pytest.fixture(params=['folder', 'bucket'])
def history(request, tmp_path):
    """Where the files are, and the pauses between kills."""
    if request.param == 'folder':
        root = tmp_path / 'files'
        root.mkdir()
        with Folder(root, max(16, REPORTS // 4000)) as place:
            yield place, (0.7, 1.5)
    else:
        with ObjectStore() as store, Unreliable(store.address) as proxy:
            yield Bucket(store, proxy, 'once/more'), (2, 4)
            assert proxy.calls > 100


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_each_report_is_there_once(make_cluster, users, history, tmp_path):
    place, pause = history
    cluster, ours = make_cluster(partitions=PARTITIONS, settings={**SETTINGS, **place.settings}), users(200)
    cluster.create_topics()
    sinks = [cluster.add('history-sink', settings={'group.instance.id': f'sink-{number}'}, wait=False) for number in range(2)]
    for sink in sinks:
        sink.wait_ready()
    reports = Reports(cluster, ours)
    reports.start()
    trouble(cluster, sinks, lambda: not reports.is_alive(), place, pause)
    reports.join()
    assert not reports.failures
    files, store = of_topic(cluster)
    assert files.count == REPORTS - (REPORTS + 49) // 50

    def complete():
        found = of_files(place)
        assert found.count <= files.count, 'rows are there twice'
        return found == files

    eventually(complete, PATIENCE_S, every=0.5, what='all rows are published')

    # The hour ends: its files are merged and made into Parquet while sinks and conversions are killed; each row is there once at any moment.
    for sink in sinks:
        assert sink.stop() == 0
    place.move_to_another_hour()
    for sink in sinks:
        sink.start(wait=False)
    parquet, chance = tmp_path / 'parquet', random.Random(5)
    for number, victim in enumerate(sinks):
        assert of_files(place) == files
        convert(place, tmp_path / f'copy-{number}', parquet, kill_after=chance.uniform(0.5, 1 + REPORTS / 1_000_000))
        victim.kill()
        victim.start(wait=False)
    eventually(lambda: not place.small(), PATIENCE_S, every=0.2, what='the small files are gone')
    assert of_files(place) == files
    convert(place, tmp_path / 'copy', parquet)
    assert of_parquet(parquet) == files

    for sink in sinks:
        sink.wait_ready(PATIENCE_S)
    assert of_store(cluster, ours) == store
    for sink in sinks:  # what is left of the rows are the files
        assert sink.stop() == 0
        lose_store(sink)
    for sink in sinks:
        sink.start(wait=False)
    for sink in sinks:
        sink.wait_ready(PATIENCE_S)
    assert sum(sink.total('starling_history_rebuilt_rows_total') for sink in sinks) >= files.count
    assert of_store(cluster, ours) == store
    for sink in sinks:
        assert sink.stop() == 0
