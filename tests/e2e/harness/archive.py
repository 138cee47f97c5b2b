"""A folder of history files without a sink: made by fastavro, and merged as sinks do."""
import datetime
import json
import pathlib
import random

import fastavro

from .broker import REPOSITORY

def _schema(version: int) -> dict:
    return fastavro.parse_schema(json.loads((REPOSITORY / f'schemas/history-row-v{version}.avsc').read_text()))


DETAILS = 'battery', 'charging', 'speed', 'course', 'vertical_accuracy', 'activity'
SCHEMAS = {False: _schema(1), True: _schema(2)}  # whether rows have details
HOUR_MS = 3_600_000


def hour_folder(hour: int) -> str:
    moment = datetime.datetime.fromtimestamp(hour * 3600, datetime.UTC)
    return f'date={moment:%Y-%m-%d}/hour={moment:%H}'


class Archive:
    """Chains of small files of some partitions. `rows` are all rows that were published, as dicts with times in ms, and an accuracy and details
    that are None where the files have -1, or, in those of version 1, no such columns."""

    def __init__(self, root: pathlib.Path, partitions=3, users=40, seed=1):
        self.root, self.chance = root, random.Random(seed)
        self.users = list(range(1, users + 1))
        self.rows: list[dict] = []
        self.next = [self.chance.randrange(100) for _ in range(partitions)]
        self.small: dict[tuple[int, int], list] = {}  # (hour, partition): [(first, end, rows, path)]
        root.mkdir(parents=True, exist_ok=True)

    def row(self, partition: int, offset: int, hour: int) -> dict:
        received = hour * HOUR_MS + self.chance.randrange(HOUR_MS)
        user = self.chance.choice([user for user in self.users if user % len(self.next) == partition])
        return {'user': user, 'lat': 399_000_000 + self.chance.randrange(2_000_000),
                'lng': -1_163_000_000 + self.chance.randrange(2_000_000), 'time': received - self.chance.randrange(5_000),
                'accuracy': self.chance.choice([None, *range(60)]), 'received': received, 'partition': partition,
                'offset': offset, **dict.fromkeys(DETAILS)}

    def write(self, path: pathlib.Path, rows: list[dict], end=None):
        path.parent.mkdir(parents=True, exist_ok=True)
        hidden = path.with_name(f'.{path.name}.tmp')
        with open(hidden, 'wb') as stream:
            stored = [{name: -1 if value is None else value for name, value in row.items()} for row in rows]
            detailed = any(row[name] not in (None, -1) for row in rows for name in DETAILS)
            fastavro.writer(stream, SCHEMAS[detailed], sorted(stored, key=lambda row: (row['user'], row['time'], row['offset'])),
                            codec='snappy', sync_interval=2_000, metadata={} if end is None else {'starling.end': str(end)})
        hidden.rename(path)

    def publish(self, partition: int, hour: int, count: int) -> pathlib.Path:
        """One small file; between and, if it says where it ends, behind its rows lie offsets that are no rows."""
        first = offset = self.next[partition]
        rows = []
        for _ in range(count):
            rows.append(self.row(partition, offset + self.chance.randrange(3), hour))
            offset = rows[-1]['offset'] + 1
        path = self.root / hour_folder(hour) / f'{partition:05}-{first:019}.avro'
        if self.chance.random() < 0.5:
            for row in rows:
                row |= {name: self.chance.choice([None, self.chance.randrange(1000)]) for name in DETAILS}
        says = self.chance.random() < 0.7  # files of version 0.1 do not
        offset += self.chance.randrange(3) if says else 0
        self.write(path, rows, offset if says else None)
        self.next[partition] = offset
        self.small.setdefault((hour, partition), []).append((first, offset, rows, path))
        self.rows += rows
        return path

    def publish_hour(self, hour: int, files=3, rows=60):
        for partition in range(len(self.next)):
            for _ in range(files):
                self.publish(partition, hour, self.chance.randrange(1, rows))

    def merge(self, hour: int, partition: int, between=lambda: None):
        """Small files of an hour become one; `between` is called at each step that a reader may see."""
        pieces = self.small.pop((hour, partition))
        first, end = pieces[0][0], pieces[-1][1]
        self.write(self.root / 'hours' / hour_folder(hour) / f'{partition:05}-{first:019}-{end:019}.avro',
                   [row for piece in pieces for row in piece[2]], end)
        for _, _, _, path in pieces:
            between()
            path.unlink()

    def forget(self, user: int):
        """Every file that has the user is replaced by one without, as sinks do it; a file that has lost all its rows stays."""
        self.rows = [row for row in self.rows if row['user'] != user]
        self.small = {pair: [(first, end, [row for row in rows if row['user'] != user], path) for first, end, rows, path in pieces]
                      for pair, pieces in self.small.items()}
        for path in self.root.rglob('*.avro'):
            with open(path, 'rb') as stream:
                reader = fastavro.reader(stream)
                rows, end = [dict.fromkeys(DETAILS) | row for row in reader], reader.metadata.get('starling.end')
            kept = [row for row in rows if row['user'] != user]
            if len(kept) < len(rows):
                self.write(path, kept, end)

    def between(self, start: int, end: int, users=None) -> list[dict]:
        """What was published of that range of `received`, as `plain` gives what was read."""
        return sort_rows(row for row in self.rows if start <= row['received'] < end and (users is None or row['user'] in users))


def sort_rows(rows) -> list[dict]:
    return sorted(rows, key=lambda row: (row['partition'], row['offset']))


def plain(table) -> list[dict]:
    """An Arrow table's rows as dicts with times in ms, by partition and offset; rows that are there twice are twice."""
    for name in ('time', 'received'):
        index = table.schema.get_field_index(name)
        table = table.set_column(index, name, table.column(name).cast('int64'))
    return sort_rows(table.to_pylist())
