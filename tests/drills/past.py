"""What `locations` and history hold: each report once, in the files and in the store."""
import hashlib
import pathlib

import fastavro

from harness.records import decode, partition_of
from harness.waiting import eventually

PATIENCE_S = 60
MASK = 2**64 - 1


def digest(rows) -> str:
    """How many, and the sum of their hashes: the same for the same rows in any order."""
    count = total = 0
    for row in rows:
        count += 1
        total += int.from_bytes(hashlib.blake2b(repr(row).encode(), digest_size=8).digest(), 'big')
    return f'{count} rows, {total & MASK:016x}'


def milliseconds(instant) -> int:
    """fastavro gives timestamp-millis as a datetime."""
    return instant if isinstance(instant, int) else round(instant.timestamp() * 1000)


class Past:
    """
    past = Past(cluster)
    past.read()               # what is new in the topic
    past.last                 # {user: (time, (lat, lng))} of everybody's last report
    past.check(users)         # -> how many rows; AssertionError: a row is missing, twice or wrong
    """

    def __init__(self, cluster):
        self._cluster = cluster
        self.anew()

    def anew(self):
        """The topic begins again, and so does history."""
        self._next: dict[int, int] = {}
        self.rows: dict[tuple, tuple] = {}  # (partition, offset) -> (user, lat, lng, time, accuracy, received)
        self.last: dict[int, tuple] = {}
        self._files: dict[tuple, list] = {}  # by name, size and time of change

    def read(self):
        partitions = len(self._cluster.topics.ends('locations'))
        for message in self._cluster.topics.read('locations', self._next):
            self._next[message.partition] = message.offset + 1
            record = self._record(message, partitions)
            if record and record['kind'] in ('REPORT', 'JOIN'):
                self.rows[message.partition, message.offset] = (record['user'], record['lat'], record['lng'], record['time'],
                                                                record['accuracy'], message.timestamp)
                if record['time'] >= self.last.get(record['user'], (-1,))[0]:
                    self.last[record['user']] = record['time'], (record['lat'], record['lng'])

    @staticmethod
    def _record(message, partitions):
        """None: it is none, or lies in another partition than its key's, as a drill throws them."""
        try:
            record = decode(message.value)
        except Exception:  # whatever fastavro says of garbage
            return None
        ours = message.key and len(message.key) == 8 and partition_of(message.key, partitions) == message.partition
        return record if ours else None

    def _in_files(self) -> dict:
        """Rows of the small files, which stay for as long as history.merge.keep.s: {(partition, offset): row}; each must be there once."""
        found = {}
        for file in sorted(pathlib.Path(self._cluster.history).glob('date=*/hour=*/*.avro')):
            status = file.stat()
            name = file, status.st_size, status.st_mtime_ns
            if name not in self._files:
                with open(file, 'rb') as stream:
                    self._files[name] = [((row['partition'], row['offset']),
                                          (row['user'], row['lat'], row['lng'], milliseconds(row['time']), row['accuracy'],
                                           milliseconds(row['received']))) for row in fastavro.reader(stream)]
            for place, row in self._files[name]:
                assert place not in found, f'{file}: {place} is there twice'
                found[place] = row
        return found

    def check(self, users) -> int:
        def published():
            found = self._in_files()
            self.read()  # after the files: phones report every half a minute also when nobody moves
            missing, extra = self.rows.keys() - found.keys(), found.keys() - self.rows.keys()
            assert not missing and not extra, (f'history files: {len(found)} rows of {len(self.rows)}; missing '
                                               f'{sorted(missing)[:3]}, too many {sorted(extra)[:3]}')
            assert digest(found.items()) == digest(self.rows.items())
            return True

        eventually(published, PATIENCE_S, every=0.5)
        for user in users:
            eventually(lambda name=user: self._in_store(name) == self._of(name), PATIENCE_S, every=0.5,
                       what=f'the store has all rows of {user}')
        return len(self.rows)

    def _of(self, user) -> list:
        self.read()
        # A report that was written again after trouble is one for readers.
        return sorted({(time, lat, lng) for who, lat, lng, time, _, _ in self.rows.values() if who == user})

    def _in_store(self, user) -> list:
        return sorted((item['time'], round(item['lat'] * 1e7), round(item['lng'] * 1e7))
                      for item in self._cluster.http(user).items('/v1/history', limit=10_000))
