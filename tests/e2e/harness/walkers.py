"""History files of people who walk about a city, for queries and their times: as many rows as told, made by numpy."""
import binascii
import json
import os
import pathlib
import struct

import cramjam
import numpy as np

from .archive import HOUR_MS, hour_folder
from .broker import REPOSITORY

EVERY_S = 4  # a phone reports
CENTRE = 525_200_000, 134_050_000
_SEGMENT = 15  # reports that somebody walks straight on, or stands
_BLOCK_ROWS = 3_300  # about 64 KiB, as sinks write them
_FIELDS = ('user', 'lat', 'lng', 'time', 'accuracy', 'received', 'partition', 'offset')


def _varints(values: np.ndarray) -> np.ndarray:
    """A row of integers as Avro has them, all bytes one behind the other, and where each integer ends."""
    rest = ((values << 1) ^ (values >> 63)).view(np.uint64)
    widths = np.ones(len(rest), np.int64)
    for bits in range(7, 64, 7):
        widths += (rest >> np.uint64(bits)) > 0
    ends = np.cumsum(widths)
    octets = np.empty(ends[-1], np.uint8)
    for byte in range(int(widths.max())):
        having = np.flatnonzero(widths > byte)
        more = (widths[having] > byte + 1) * np.uint64(0x80)
        octets[ends[having] - widths[having] + byte] = (rest[having] & np.uint64(0x7f)) | more
        rest[having] >>= np.uint64(7)
    return octets, ends


def _varint(number: int) -> bytes:
    return _varints(np.array([number]))[0].tobytes()


def write_avro(path: pathlib.Path, columns: dict[str, np.ndarray]):
    """An Avro container of HistoryRow with snappy."""
    path.parent.mkdir(parents=True, exist_ok=True)
    sync = os.urandom(16)
    schema = json.dumps(json.loads((REPOSITORY / 'schemas/history-row-v1.avsc').read_text())).encode()
    table = np.stack([columns[field] for field in _FIELDS], axis=1)
    with open(path, 'wb') as stream:
        stream.write(b'Obj\1' + _varint(2))
        for text in (b'avro.codec', b'snappy', b'avro.schema', schema):
            stream.write(_varint(len(text)) + text)
        stream.write(b'\0' + sync)
        for start in range(0, len(table), _BLOCK_ROWS):
            rows = table[start:start + _BLOCK_ROWS]
            data = _varints(rows.reshape(-1))[0].tobytes()
            packed = bytes(cramjam.snappy.compress_raw(data)) + struct.pack('>I', binascii.crc32(data))
            stream.write(_varint(len(rows)) + _varint(len(packed)) + packed + sync)


def _people(chance: np.random.Generator, people: int, reports: int, squares: np.ndarray):
    """Degrees of everybody's reports: straight ways of a minute, and standing still. A third of the people begin in a square."""
    segments = -(-reports // _SEGMENT)
    walking = chance.random((people, segments)) > 0.5
    standing_hour = chance.random(people) < 0.3
    walking[standing_hour] = False
    direction = chance.random((people, segments)) * 2 * np.pi
    speed = walking * chance.uniform(0.8, 1.8, (people, segments)) * EVERY_S
    north, east = (np.repeat(speed * turn(direction), _SEGMENT, axis=1)[:, :reports].cumsum(axis=1)
                   for turn in (np.cos, np.sin))
    homes = chance.normal(0, 5_000, (people, 2))
    together = chance.random(people) < 0.33
    homes[together] = squares[chance.integers(0, len(squares), people)[together]] + chance.normal(0, 30, (people, 2))[together]
    lat = CENTRE[0] + (homes[:, :1] + north) * 90
    lng = CENTRE[1] + (homes[:, 1:] + east) * 148
    noise = chance.normal(0, 100, (2, people, reports))  # a metre
    return (lat + noise[0]).astype(np.int64), (lng + noise[1]).astype(np.int64)


def make(folder: pathlib.Path, hour: int, rows: int, partitions=4, minutes=60, seed=1) -> int:
    """One merged file a partition, of about that many rows of an hour. Returns how many they are."""
    reports = minutes * 60 // EVERY_S
    people = max(partitions, round(rows / reports))
    squares = np.random.default_rng([seed, hour]).normal(0, 3_000, (1 + people // 60, 2))
    made = 0
    for partition in range(partitions):
        chance = np.random.default_rng([seed, hour, partition])
        users = np.arange(partition if partition else partitions, people + 1, partitions)
        first = hour * 10**9  # offset
        lat, lng = _people(chance, len(users), reports, squares)
        time = hour * HOUR_MS + np.arange(reports) * EVERY_S * 1000 + chance.integers(0, EVERY_S * 1000 - 200, (len(users), 1))
        time += chance.integers(0, 200, time.shape)  # phones are not that regular
        received = np.minimum(time + chance.gamma(2, 30, time.shape).astype(np.int64), (hour + 1) * HOUR_MS - 1)
        columns = {'user': np.repeat(users, reports), 'lat': lat.reshape(-1), 'lng': lng.reshape(-1),
                   'time': time.reshape(-1), 'accuracy': chance.integers(3, 40, lat.size), 'received': received.reshape(-1)}
        columns['partition'] = np.full(lat.size, partition)
        columns['offset'] = np.empty(lat.size, np.int64)
        columns['offset'][np.argsort(columns['received'], kind='stable')] = first + np.arange(lat.size)
        write_avro(folder / 'hours' / hour_folder(hour) / f'{partition:05}-{first:019}-{first + lat.size:019}.avro', columns)
        made += lat.size
    return made
