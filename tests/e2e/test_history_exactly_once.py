"""Each report is in history exactly once, in files (small and merged ones together) and in the store, whatever happens to the sinks:
killed with -9 every second or two, rebalanced as one comes and goes, and the disk full for a while.

By default some 20,000 reports; STARLING_REPORTS=2000000 runs it whole."""
import contextlib
import hashlib
import os
import random
import signal
import subprocess
import threading
import time

import fastavro
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from harness.records import decode, encode, user_key
from harness.waiting import eventually
from test_history import all_pages, location, ms
from test_history_hours import move_to_another_hour

REPORTS = int(os.environ.get('STARLING_REPORTS', '20000'))
PARTITIONS = 4
MASK = 2**64 - 1
FIELDS = ('user', 'lat', 'lng', 'time', 'accuracy', 'received')
SETTINGS = {'history-sink:history.roll.s': 1, 'history-sink:history.merge.s': 1, 'history-sink:history.merge.keep.s': 2,
            'history-sink:history.roll.rows': max(500, REPORTS // 100)}


class Digest:
    """How many rows, and the sum of their hashes: the same for the same rows in any order, and for no others."""

    def __init__(self):
        self.count = self.total = 0

    def add(self, *values):
        self.count += 1
        hashed = hashlib.blake2b(repr(values).encode(), digest_size=8).digest()
        self.total = (self.total + int.from_bytes(hashed, 'big')) & MASK

    def __eq__(self, other):
        return (self.count, self.total) == (other.count, other.total)

    def __repr__(self):
        return f'{self.count} rows, {self.total:016x}'


def of_topic(cluster):
    """What files, and what the store must hold."""
    files, store = Digest(), Digest()
    consumer = Consumer({'bootstrap.servers': cluster.broker.bootstrap, 'group.id': 'none', 'enable.auto.commit': False,
                         'enable.partition.eof': True, 'auto.offset.reset': 'earliest'})
    consumer.assign([TopicPartition(cluster.topics.name('locations'), partition, 0) for partition in range(PARTITIONS)])
    ended = 0
    while ended < PARTITIONS:
        for message in consumer.consume(10_000, 1):
            if message.error():
                ended += 1
                continue
            record = decode(message.value())
            if record['kind'] not in ('REPORT', 'JOIN'):
                continue
            row = [record[field] for field in FIELDS[:-1]] + [message.timestamp()[1]]
            files.add(message.partition(), message.offset(), *row)
            store.add(*row)
    consumer.close()
    return files, store


def of_files(folder):
    """The rows as a reader finds them: merged files, and small ones that none of these covers."""
    while True:
        digest = Digest()
        try:
            small = list(folder.glob('date=*/hour=*/[0-9]*.avro'))
            merged = [(path, *map(int, path.stem.split('-'))) for path in folder.glob('hours/date=*/hour=*/[0-9]*.avro')]
            read = [path for path, *_ in merged]
            for path in small:
                partition, first = map(int, path.stem.split('-'))
                if not any(partition == other and start <= first < end for _, other, start, end in merged):
                    read.append(path)
            for path in read:
                with open(path, 'rb') as stream:
                    for row in fastavro.reader(stream):
                        digest.add(row['partition'], row['offset'], row['user'], row['lat'], row['lng'], ms(row['time']),
                                   row['accuracy'], ms(row['received']))
            return digest
        except FileNotFoundError:
            continue


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
                time.sleep(0.3 if REPORTS < 100_000 else 0)
        if producer.flush(60):
            self.failures.append('not all were written')


@contextlib.contextmanager
def small_disk(folder):
    """A file system of its own where there may be one: its room."""
    if os.geteuid() != 0:
        yield None
        return
    subprocess.run(['mount', '-t', 'tmpfs', '-o', f'size={max(16, REPORTS // 4000)}m', 'none', folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(['umount', '--lazy', folder], check=True)


def fill(disk):
    with contextlib.suppress(OSError), open(disk / 'filler', 'wb', buffering=0) as file:
        while file.write(b'x' * 4096) == 4096:
            pass


def trouble(cluster, sinks, until, disk):
    """Kills one after the other; a third comes and goes; the disk fills up and has room again."""
    chance, turn, third = random.Random(3), 0, None
    while not until() or turn < 4:
        time.sleep(chance.uniform(0.7, 1.5))
        victim = sinks[turn % 2]
        victim.kill()
        victim.start(wait=False)
        turn += 1
        if disk and turn % 4 == 1:
            fill(disk)
        elif disk and turn % 4 == 3:
            (disk / 'filler').unlink()
        if turn == 2:
            third = cluster.add('history-sink', wait=False)
        elif turn % 4 == 2:
            third.start(wait=False)
        elif turn % 4 == 0:
            assert third.stop() in (0, -signal.SIGTERM)  # it may not have come as far as to heed signals
    if disk:
        (disk / 'filler').unlink(missing_ok=True)
    if third.alive():
        assert third.stop() in (0, -signal.SIGTERM)  # it may not have come as far as to heed signals


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_each_report_is_there_once(make_cluster, users):
    cluster, ours = make_cluster(partitions=PARTITIONS, settings=SETTINGS), users(200)
    with small_disk(cluster.history) as disk:
        cluster.create_topics()
        sinks = [cluster.add('history-sink', settings={'group.instance.id': f'sink-{number}'}, wait=False) for number in range(2)]
        for sink in sinks:
            sink.wait_ready()
        reports = Reports(cluster, ours)
        reports.start()
        trouble(cluster, sinks, lambda: not reports.is_alive(), disk)
        reports.join()
        assert not reports.failures
        files, store = of_topic(cluster)
        assert files.count == REPORTS - (REPORTS + 49) // 50

        def complete():
            found = of_files(cluster.history)
            assert found.count <= files.count, 'rows are there twice'
            return found == files

        eventually(complete, 30 + REPORTS / 20_000, what='all rows are published')

        # The hour ends: its files are merged while sinks are killed, and each row is there once at any moment.
        for sink in sinks:
            assert sink.stop() == 0
        move_to_another_hour(cluster)
        for sink in sinks:
            sink.start(wait=False)
        for victim in sinks:
            assert of_files(cluster.history) == files
            time.sleep(0.5)
            victim.kill()
            victim.start(wait=False)
        eventually(lambda: not list(cluster.history.glob('date=*/hour=*/*.avro')), 60 + REPORTS / 20_000,
                   what='the small files are gone')
        assert of_files(cluster.history) == files
        for sink in sinks:
            sink.wait_ready()
        assert of_store(cluster, ours) == store
        for sink in sinks:
            assert sink.stop() == 0
