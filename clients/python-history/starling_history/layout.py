"""Which files of history.dir hold the rows of an hour.

    history.dir/date=2026-03-10/hour=13/00003-0000000000000104729.avro            a small file: partition, first offset
    history.dir/hours/date=2026-03-10/hour=13/00003-…104729-…110006.avro          a merged file: first and end offset

A sink publishes small files, and later merges those of an hour. A merged file appears before the small files that it covers are
removed. So whoever lists the small files first, then the merged ones, and skips each small file that a merged one covers, has each row
once. A small file may be gone when it is opened; the hour is then listed again.
"""
import contextlib
import datetime
import pathlib
import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

_SMALL = re.compile(r'(\d{5,})-(\d{19})\.avro')
_MERGED = re.compile(r'(\d{5,})-(\d{19})-(\d{19})\.avro')
_DATE = re.compile(r'date=(\d{4}-\d{2}-\d{2})')
_HOUR = re.compile(r'hour=(\d{2})')

HOUR_MS = 3_600_000
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class File(NamedTuple):
    """A file of one partition: of the rows from offset `first` on, before `end` if it is a merged one."""
    partition: int
    first: int
    end: int | None
    path: pathlib.Path


def folder_of(hour: int) -> str:
    """The Hive folders of an hour, which is counted since the epoch."""
    moment = _EPOCH + datetime.timedelta(hours=hour)
    return f'date={moment:%Y-%m-%d}/hour={moment:%H}'


def _names(folder: pathlib.Path) -> list[str]:
    """The names in a folder; none if it is not there (any more)."""
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except FileNotFoundError:
        return []


def hours_in(root: pathlib.Path, first: int | None = None, end: int | None = None) -> list[int]:
    """The hours that have a folder below root, rising; those from `first` on and before `end`."""
    found = []
    for name in _names(root):
        match = _DATE.fullmatch(name)
        if not match:
            continue
        day = datetime.datetime.fromisoformat(match[1]).replace(tzinfo=datetime.timezone.utc)
        number = (day - _EPOCH).days * 24
        if (end is not None and number >= end) or (first is not None and number + 24 <= first):
            continue
        hours = (_HOUR.fullmatch(hour) for hour in _names(root / name))
        found += [number + int(hour[1]) for hour in hours if hour]
    return [hour for hour in found if (first is None or hour >= first) and (end is None or hour < end)]


def hours_of(directory: pathlib.Path, first: int | None = None, end: int | None = None) -> list[int]:
    """The hours that have rows, rising. The small files' folders are listed before those of the merged ones."""
    small = hours_in(directory, first, end)
    return sorted({*small, *hours_in(directory / 'hours', first, end)})


def _listed(folder: pathlib.Path, pattern: re.Pattern[str]) -> list[File]:
    matches = ((folder / name, pattern.fullmatch(name)) for name in _names(folder))
    return [File(int(match[1]), int(match[2]), int(match[3]) if match.lastindex == 3 else None, path)
            for path, match in matches if match]


def files_of(directory: pathlib.Path, hour: int) -> dict[int, list[File]]:
    """The files that together hold each row of an hour once, by partition and rising offsets."""
    small = _listed(directory / folder_of(hour), _SMALL)
    merged = _listed(directory / 'hours' / folder_of(hour), _MERGED)
    files: dict[int, list[File]] = {}
    for file in sorted([*small, *merged], key=lambda file: (file.partition, file.first, file.path)):
        covered = file.end is None and any(each.first <= file.first < (each.end or 0) for each in merged
                                           if each.partition == file.partition)
        if not covered:
            files.setdefault(file.partition, []).append(file)
    return files


@contextlib.contextmanager
def opened(directory: pathlib.Path, hour: int, partition: int,
           files: list[File]) -> Iterator[list[tuple[File, BinaryIO]]]:
    """Opens all files of a partition's hour before the first of them is read: an open file stays readable when it is removed."""
    gone: set[pathlib.Path] = set()
    while True:
        with contextlib.ExitStack() as stack:
            streams: list[tuple[File, BinaryIO]] = []
            try:
                for file in files:
                    streams.append((file, stack.enter_context(open(file.path, 'rb'))))
            except FileNotFoundError as error:
                missing = pathlib.Path(error.filename)
                if missing in gone:
                    raise  # it is listed and cannot be opened, such as a dangling link
                gone.add(missing)
                files = files_of(directory, hour).get(partition, [])
                continue
            yield streams
            return
