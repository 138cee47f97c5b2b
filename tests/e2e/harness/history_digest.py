"""What history holds, as a number of rows and the sum of their hashes: by the topic, and by the files."""
import hashlib
import pathlib

import fastavro
from confluent_kafka import Consumer, TopicPartition

from .records import decode

MASK = 2**64 - 1
FIELDS = ('user', 'lat', 'lng', 'time', 'accuracy', 'received')


def ms(moment) -> int:
    return round(moment.timestamp() * 1000)


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
    consumer.assign([TopicPartition(cluster.topics.name('locations'), partition, 0) for partition in range(cluster.partitions)])
    ended = 0
    while ended < cluster.partitions:
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


def of_files(place):
    """The rows as a reader finds them: merged files, and small ones that none of these covers."""
    while True:
        digest = Digest()
        try:
            small = place.small()
            merged = [(path, *map(int, pathlib.Path(path).stem.split('-'))) for path in place.merged()]
            read = [path for path, *_ in merged]
            for path in small:
                partition, first = map(int, pathlib.Path(path).stem.split('-'))
                if not any(partition == other and start <= first < end for _, other, start, end in merged):
                    read.append(path)
            for path in read:
                with place.open(path) as stream:
                    for row in fastavro.reader(stream):
                        digest.add(row['partition'], row['offset'], row['user'], row['lat'], row['lng'], ms(row['time']),
                                   row['accuracy'], ms(row['received']))
            return digest
        except FileNotFoundError:
            continue
