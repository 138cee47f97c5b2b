"""starling-parquet SOURCE TARGET: finished hours as a Parquet data set.

    TARGET/date=2026-03-10/hour=13/00003-0000000000000104729-0000000000000110006.parquet      partition, offsets [first, end)

The files in TARGET say what has been converted: an hour goes on at the end of its last file. A file is written under a hidden name, and gets
its own when it is complete and on disk. So each row is in TARGET once, however often the conversion is run or killed, and whether the
rows came from small files or merged ones. If more rows of an hour are published after it was converted, the next run adds a file.
"""
import argparse
import contextlib
import fcntl
import os
import pathlib
import re
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

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


def _converted(folder: pathlib.Path) -> dict[int, int]:
    """By partition: the end of the offsets that an hour's Parquet files hold. Leftovers of a killed run are removed."""
    ends: dict[int, int] = {}
    if not folder.is_dir():
        return ends
    for path in folder.iterdir():
        match = _NAME.fullmatch(path.name)
        if match:
            ends[int(match[1])] = max(ends.get(int(match[1]), 0), int(match[3]))
        elif path.name.startswith('.') and path.name.endswith(_TEMPORARY):
            path.unlink()
    return ends


def _sorted_runs(source: pathlib.Path, hour: int, partition: int, files: list[File], begin: int,
                 ends: list[int]) -> Iterator[pa.Table]:
    """The rows from offset `begin` on, so many at a time, each time sorted. Appends where the files end."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    with opened(source, hour, partition, files) as streams:
        for file, stream in streams:
            ends.append(file.end or covered_end(stream, file.path) or 0)
            for batch in decode(stream, file.path):
                batch = batch.filter(pc.greater_equal(batch.column('offset'), begin))
                waiting.append(batch)
                rows += batch.num_rows
                if rows >= _SORTED_ROWS:
                    yield pa.Table.from_batches(waiting, SCHEMA).sort_by(_SORTING)
                    waiting, rows = [], 0
    if rows:
        yield pa.Table.from_batches(waiting, SCHEMA).sort_by(_SORTING)


def _write(temporary: pathlib.Path, runs: Iterator[pa.Table]) -> tuple[int, int, int]:
    """Writes a file, down to the disk. Returns the rows, their first offset, and the one behind their last."""
    rows, first, end = 0, sys.maxsize, 0
    with open(temporary, 'wb') as stream:
        with pq.ParquetWriter(stream, SCHEMA, compression='zstd', use_dictionary=['user', 'accuracy', 'partition'],
                              column_encoding={name: 'DELTA_BINARY_PACKED' for name in _DELTAS},
                              sorting_columns=pq.SortingColumn.from_ordering(SCHEMA, _SORTING)) as writer:
            for run in runs:
                writer.write_table(run, row_group_size=_GROUP_ROWS)
                extent = pc.min_max(run.column('offset'))
                rows, first = rows + run.num_rows, min(first, extent['min'].as_py())
                end = max(end, extent['max'].as_py() + 1)
        stream.flush()
        os.fsync(stream.fileno())
    return rows, first, end


def _convert(source: pathlib.Path, target: pathlib.Path, hour: int, partition: int, files: list[File],
             begin: int) -> int:
    """Converts what a partition's hour has from offset `begin` on. Returns how many rows that were."""
    folder = target / folder_of(hour)
    _make(folder)
    temporary, ends = folder / f'.{partition:05}-{os.getpid()}{_TEMPORARY}', list[int]()
    rows, first, end = _write(temporary, _sorted_runs(source, hour, partition, files, begin, ends))
    if not rows:
        temporary.unlink()
        return 0
    os.rename(temporary, folder / f'{partition:05}-{first:019}-{max(end, *ends):019}.parquet')
    _sync(folder)
    return rows


def _beyond(files: list[File], end: int) -> list[File]:
    """The files that reach beyond the converted offsets. A small file was converted whole, or not at all."""
    return [file for file in files if (file.first if file.end is None else file.end - 1) >= end]


def convert(source: str | os.PathLike[str], target: str | os.PathLike[str], *, settled_ms: int | None = None) -> Done:
    """Converts the finished hours of a history folder. An hour of a partition is finished when the partition has a file of a later hour,
    when its files were merged, or when it ended settled_ms ago (half an hour). BlockingIOError: another conversion is running."""
    root, goal = pathlib.Path(source), pathlib.Path(target)
    if not root.is_dir():
        raise FileNotFoundError(f'{root}: there is no such folder')
    settled = _SETTLED_MINUTES * 60_000 if settled_ms is None else settled_ms
    files = rows = 0
    with _alone(goal):
        for hour in hours_in(goal):
            _converted(goal / folder_of(hour))  # a killed run's leftovers go, also of hours that have no rows any more
        later: set[int] = set()  # partitions that have a file of a later hour
        for hour in reversed(hours_of(root)):
            over = (hour + 1) * HOUR_MS + settled <= time.time() * 1000
            listed, ends = files_of(root, hour), _converted(goal / folder_of(hour))
            for partition, chain in listed.items():
                finished = over or partition in later or any(file.end is not None for file in chain)
                end = ends.get(partition, 0)
                beyond = _beyond(chain, end) if finished else []
                if beyond:
                    written = _convert(root, goal, hour, partition, beyond, end)
                    files, rows = files + (1 if written else 0), rows + written
            later |= listed.keys()
    return Done(files, rows)


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
