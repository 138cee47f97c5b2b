"""starling-parquet SOURCE TARGET: finished hours as a Parquet data set.

    TARGET/date=2026-03-10/hour=13/00003-0000000000000104729-0000000000000110006.parquet      partition, offsets [first, end)

The files in TARGET say what has been converted: an hour goes on at the end of its last file. A file is written under a hidden name, and gets
its own when it is complete and on disk. So each row is in TARGET once, however often the conversion is run or killed, and whether the
rows came from small files or merged ones. If more rows of an hour are published after it was converted, the next run adds a file.

Sinks rewrite files without the rows of users who were forgotten. So a file in TARGET notes in its metadata which files it was made of, and is made
again, for the same offsets and under the same name, when one of its offsets' files is another one now. One that has lost all its rows
stays, empty, as it says what was converted. One whose source is gone stays as it is.
"""
import argparse
import contextlib
import fcntl
import json
import os
import pathlib
import re
import sys
import time
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .layout import HOUR_MS, File, files_of, folder_of, hours_in, hours_of, opened
from .rows import SCHEMA, UnreadableFile, covered_end, decode

_NAME = re.compile(r'(\d{5,})-(\d{19})-(\d{19})\.parquet')
_TEMPORARY = '.tmp'
_SORTED_ROWS = 1 << 21  # rows that are sorted in memory at a time: about 200 MB
_GROUP_ROWS = 1 << 18
_SORTING = [('user', 'ascending'), ('time', 'ascending'), ('offset', 'ascending')]
_DELTAS = ['lat', 'lng', 'time', 'received', 'offset']  # neighbours of one user are close to each other
_SETTLED_MINUTES = 30
_SOURCES = b'starling.sources'  # metadata of a file: {name of a history file: [its bytes, when it was modified, ns]}

Stamps = dict[str, list[int]]
"""What tells a rewritten history file from the one that was there before, by its name."""


class Done(NamedTuple):
    """What a run did."""
    files: int
    rows: int


def _sync(folder: pathlib.Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _make(folder: pathlib.Path) -> None:
    """Makes a folder of an hour, durably."""
    if not folder.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        _sync(folder.parent)
        _sync(folder.parent.parent)


@contextlib.contextmanager
def _alone(target: pathlib.Path) -> Iterator[None]:
    """One conversion at a time writes to a target. A killed one leaves a lock that nobody holds."""
    target.mkdir(parents=True, exist_ok=True)
    with open(target / '.lock', 'w') as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BlockingIOError(f'{target}: another conversion is running') from None
        yield


class Made(NamedTuple):
    """A file of the data set: the rows of one partition's hour from offset `first` on, before `end`."""
    first: int
    end: int
    path: pathlib.Path


def _converted(folder: pathlib.Path) -> dict[int, list[Made]]:
    """By partition: an hour's Parquet files, by rising offsets. Leftovers of a killed run are removed."""
    made: dict[int, list[Made]] = {}
    if not folder.is_dir():
        return made
    for path in sorted(folder.iterdir()):
        match = _NAME.fullmatch(path.name)
        if match:
            made.setdefault(int(match[1]), []).append(Made(int(match[2]), int(match[3]), path))
        elif path.name.startswith('.') and path.name.endswith(_TEMPORARY):
            path.unlink()
    return made


def _stamp(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns]


def _noted(path: pathlib.Path) -> Stamps:
    """Which history files a Parquet file was made of; none if it does not say, as those of version 0.1."""
    noted: Stamps = json.loads((pq.read_metadata(path).metadata or {}).get(_SOURCES, b'{}'))
    return noted


def _unchanged(file: File, noted: Stamps) -> bool:
    try:
        return noted.get(file.path.name) == _stamp(file.path.stat())
    except FileNotFoundError:
        return False  # it was merged just now


def _sorted_runs(streams: list[tuple[File, BinaryIO]], begin: int, before: int, ends: list[int]) -> Iterator[pa.Table]:
    """The rows from offset `begin` on and before `before`, so many at a time, each time sorted. Appends where the files end."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for file, stream in streams:
        ends.append(file.end or covered_end(stream, file.path) or 0)
        for batch in decode(stream, file.path):
            offsets = batch.column('offset')
            batch = batch.filter(pc.and_(pc.greater_equal(offsets, begin), pc.less(offsets, before)))
            waiting.append(batch)
            rows += batch.num_rows
            if rows >= _SORTED_ROWS:
                yield pa.Table.from_batches(waiting, SCHEMA).sort_by(_SORTING)
                waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting, SCHEMA).sort_by(_SORTING)


def _write(temporary: pathlib.Path, runs: Iterator[pa.Table], sources: Stamps) -> tuple[int, int, int]:
    """Writes a file, down to the disk. Returns the rows, their first offset, and the one behind their last."""
    rows, first, end = 0, sys.maxsize, 0
    schema = SCHEMA.with_metadata({_SOURCES: json.dumps(sources).encode()})
    with open(temporary, 'wb') as stream:
        with pq.ParquetWriter(stream, schema, compression='zstd', use_dictionary=['user', 'accuracy', 'partition'],
                              column_encoding=dict.fromkeys(_DELTAS, 'DELTA_BINARY_PACKED'),
                              sorting_columns=pq.SortingColumn.from_ordering(SCHEMA, _SORTING)) as writer:
            for run in runs:
                writer.write_table(run, row_group_size=_GROUP_ROWS)
                extent = pc.min_max(run.column('offset'))
                rows, first = rows + run.num_rows, min(first, extent['min'].as_py())
                end = max(end, extent['max'].as_py() + 1)
        stream.flush()
        os.fsync(stream.fileno())
    return rows, first, end


class _Hour:
    """The conversion of one partition's hour."""

    def __init__(self, source: pathlib.Path, target: pathlib.Path, hour: int, partition: int):
        self._source, self._hour, self._partition = source, hour, partition
        self._folder = target / folder_of(hour)
        self._temporary = self._folder / f'.{partition:05}-{os.getpid()}{_TEMPORARY}'

    def add(self, files: list[File], begin: int) -> Done:
        """Converts what there is from offset `begin` on."""
        _make(self._folder)
        rows, first, end = self._convert(files, begin, sys.maxsize)
        if not rows:
            self._temporary.unlink()
            return Done(0, 0)
        self._publish(self._folder / f'{self._partition:05}-{first:019}-{end:019}.parquet')
        return Done(1, rows)

    def renew(self, files: list[File], made: Made) -> Done:
        """Makes a file again if the history files of its offsets are not those that it was made of."""
        files, noted = _of_range(files, made.first, made.end), _noted(made.path)
        if all(_unchanged(file, noted) for file in files):
            return Done(0, 0)
        rows, _, _ = self._convert(files, made.first, made.end)
        self._publish(made.path)
        return Done(1, rows)

    def _convert(self, files: list[File], begin: int, before: int) -> tuple[int, int, int]:
        """Writes the hidden file. Returns the rows, their first offset, and where the offsets end that the files cover."""
        with opened(self._source, self._hour, self._partition, files) as streams:
            sources = {file.path.name: _stamp(os.fstat(stream.fileno())) for file, stream in streams}
            ends = list[int]()
            rows, first, end = _write(self._temporary, _sorted_runs(streams, begin, before, ends), sources)
        return rows, first, max(end, *ends, 0)

    def _publish(self, path: pathlib.Path) -> None:
        os.rename(self._temporary, path)
        _sync(self._folder)


def _of_range(files: list[File], first: int, end: int) -> list[File]:
    """The files that may have rows from offset `first` on and before `end`. A small file ends where the next one begins."""
    following = [*(file.first for file in files[1:]), sys.maxsize]
    return [file for file, until in zip(files, following) if file.first < end and (file.end or until) > first]


def _beyond(files: list[File], end: int) -> list[File]:
    """The files that reach beyond the converted offsets. A small file was converted whole, or not at all."""
    return [file for file in files if (file.first if file.end is None else file.end - 1) >= end]


def convert(source: str | os.PathLike[str], target: str | os.PathLike[str], *, settled_ms: int | None = None) -> Done:
    """Converts the finished hours of a history folder, and again those whose files were rewritten since. An hour of a partition is
    finished when the partition has a file of a later hour, when its files were merged, or when it ended settled_ms ago (half an hour).
    BlockingIOError: another conversion is running."""
    root, goal = pathlib.Path(source), pathlib.Path(target)
    if not root.is_dir():
        raise FileNotFoundError(f'{root}: there is no such folder')
    settled = _SETTLED_MINUTES * 60_000 if settled_ms is None else settled_ms
    done: list[Done] = []
    with _alone(goal):
        for hour in hours_in(goal):
            _converted(goal / folder_of(hour))  # a killed run's leftovers go, also of hours that have no rows any more
        later: set[int] = set()  # partitions that have a file of a later hour
        for hour in reversed(hours_of(root)):
            over = (hour + 1) * HOUR_MS + settled <= time.time() * 1000
            listed, converted = files_of(root, hour), _converted(goal / folder_of(hour))
            for partition, chain in listed.items():
                task, made = _Hour(root, goal, hour, partition), converted.get(partition, [])
                done += [task.renew(chain, each) for each in made]
                finished = over or partition in later or any(file.end is not None for file in chain)
                end = max((each.end for each in made), default=0)
                beyond = _beyond(chain, end) if finished else []
                if beyond:
                    done.append(task.add(beyond, end))
            later |= listed.keys()
    return Done(sum(each.files for each in done), sum(each.rows for each in done))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser('starling-parquet', description='Turns the finished hours of a history folder into a '
                                     'Parquet data set (date=/hour=), each row once however often this is run or killed.')
    parser.add_argument('source', metavar='SOURCE', help='the history folder: history.dir of the sinks')
    parser.add_argument('target', metavar='TARGET', help='the folder of the data set')
    parser.add_argument('--settled', metavar='MINUTES', type=float, default=_SETTLED_MINUTES,
                        help='after so long nothing more of an hour is awaited (%(default)s)')
    options = parser.parse_args(arguments)
    try:
        done = convert(options.source, options.target, settled_ms=round(options.settled * 60_000))
    except (OSError, UnreadableFile) as error:
        print(f'starling-parquet: {error}', file=sys.stderr)
        return 1
    print(f'{done.files} files, {done.rows} rows')
    return 0


if __name__ == '__main__':
    sys.exit(main())
