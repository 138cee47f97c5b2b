"""Rows of a time range."""
import datetime
import os
import pathlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from .layout import HOUR_MS, files_of, hours_of, opened
from .rows import SCHEMA, decode

if TYPE_CHECKING:
    import pandas

Moment = datetime.datetime | datetime.date | str | int
"""A time: a datetime or ISO 8601 (UTC unless it says otherwise), a date (its midnight, UTC), or milliseconds since the epoch."""

_LATE_HOURS = 1  # rows stand one folder later than they arrived after a broker's clock stepped back


def to_ms(moment: Moment) -> int:
    if isinstance(moment, int):
        return moment
    if isinstance(moment, str):
        moment = datetime.datetime.fromisoformat(moment[:-1] + '+00:00' if moment.endswith('Z') else moment)
    if not isinstance(moment, datetime.datetime):
        moment = datetime.datetime.combine(moment, datetime.time())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.timezone.utc)
    since = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
    return since // datetime.timedelta(milliseconds=1)


def _between(batch: pa.RecordBatch, column: str, start: int | None, end: int | None) -> pa.RecordBatch:
    moments = batch.column(column).cast(pa.int64())
    if start is not None:
        batch, moments = (part.filter(pc.greater_equal(moments, start)) for part in (batch, moments))
    return batch if end is None else batch.filter(pc.less(moments, end))


def batches(start: Moment | None, end: Moment | None, users: Iterable[int] | None = None, *,
            directory: str | os.PathLike[str] = 'history') -> Iterator[pa.RecordBatch]:
    """The rows with start <= received < end, of all users or of these, each once; None: without a beginning, or an end. They come hour by
    hour and partition by partition, in the order of the files; only a part of one file is in memory at a time."""
    root, first, last = pathlib.Path(directory), None if start is None else to_ms(start), None if end is None else to_ms(end)
    if not root.is_dir():
        raise FileNotFoundError(f'{root}: there is no such folder')
    if first is not None and last is not None and last < first:
        raise ValueError(f'the end {end} is before the start {start}')
    return _batches(root, first, last, None if users is None else pa.array(sorted(set(users)), pa.int64()))


def _batches(root: pathlib.Path, first: int | None, last: int | None, wanted: pa.Array | None) -> Iterator[pa.RecordBatch]:
    for hour in hours_of(root, None if first is None else first // HOUR_MS, None if last is None else -(-last // HOUR_MS) + _LATE_HOURS):
        for partition, files in files_of(root, hour).items():
            with opened(root, hour, partition, files) as streams:
                for file, stream in streams:
                    for batch in decode(stream, file.path):
                        if wanted is not None:
                            batch = batch.filter(pc.is_in(batch.column('user'), value_set=wanted))
                        batch = _between(batch, 'received', first, last)
                        if batch.num_rows:
                            yield batch


def open_reader(start: Moment | None, end: Moment | None, users: Iterable[int] | None = None, *,
                directory: str | os.PathLike[str] = 'history') -> pa.RecordBatchReader:
    """The same rows as a stream that DuckDB, polars and others take, once through."""
    return pa.RecordBatchReader.from_batches(SCHEMA, batches(start, end, users, directory=directory))


def read(start: Moment | None, end: Moment | None, users: Iterable[int] | None = None, *,
         directory: str | os.PathLike[str] = 'history') -> pa.Table:
    """The same rows as a table in memory, which takes 48 bytes a row."""
    return open_reader(start, end, users, directory=directory).read_all()


def read_pandas(start: Moment | None, end: Moment | None, users: Iterable[int] | None = None, *,
                directory: str | os.PathLike[str] = 'history') -> 'pandas.DataFrame':
    """The same rows as a pandas frame (pip install starling-history[pandas])."""
    return read(start, end, users, directory=directory).to_pandas()
