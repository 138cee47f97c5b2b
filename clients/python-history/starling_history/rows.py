"""Rows out of a history file, block by block."""
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import fastavro
import numpy as np
import pyarrow as pa

_MOMENT = pa.timestamp('ms', 'UTC')

_DETAILS = ('battery', 'charging', 'speed', 'course', 'vertical_accuracy', 'activity')  # files of 0.2 and before have none

SCHEMA = pa.schema([
    pa.field('user', pa.int64(), nullable=False),
    pa.field('lat', pa.int32(), nullable=False),
    pa.field('lng', pa.int32(), nullable=False),
    pa.field('time', _MOMENT, nullable=False),
    pa.field('accuracy', pa.int32()),  # null: unknown
    pa.field('received', _MOMENT, nullable=False),
    pa.field('partition', pa.int32(), nullable=False),
    pa.field('offset', pa.int64(), nullable=False),
    *(pa.field(name, pa.int32()) for name in _DETAILS),  # null: the phone did not say
])
"""The columns of all that this package gives; docs/HISTORY.md says what they are."""

_UNKNOWN = -1  # in the files
_TOGETHER = 1 << 20  # bytes of blocks that are decoded at a time
_WIDEST = 10  # bytes of an integer of 64 bits


class UnreadableFile(Exception):
    """A history file is damaged, or is none."""


def _integers(data: bytes) -> 'np.ndarray[Any, np.dtype[np.int64]]':
    """Avro's integers (zigzag, seven bits a byte, the low ones first) that stand one behind the other. ValueError."""
    octets = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(octets < 0x80)
    if len(octets) and (not len(ends) or ends[-1] != len(octets) - 1):
        raise ValueError('a block ends within a row')
    widths = np.diff(ends, prepend=-1)
    widest = int(widths.max(initial=0))
    if widest > _WIDEST:
        raise ValueError('an integer has more than 64 bits')
    values = octets[ends].astype(np.uint64)
    for back in range(1, widest):
        longer = np.flatnonzero(widths > back)
        values[longer] = (values[longer] << np.uint64(7)) | (octets[ends[longer] - back] & np.uint64(0x7f))
    signed: np.ndarray[Any, np.dtype[np.int64]] = (
        (values >> np.uint64(1)) ^ (np.uint64(0) - (values & np.uint64(1)))).view(np.int64)
    return signed


def covered_end(stream: BinaryIO, path: object) -> int | None:
    """The offset behind the last one that a file covers, by its metadata; None: it does not say, and ends behind its last row."""
    try:
        said = fastavro.block_reader(stream).metadata.get('starling.end')
        stream.seek(0)
        return None if said is None else int(said)
    except OSError:
        raise
    except Exception as error:  # as in decode
        raise UnreadableFile(f'{path}: {error or type(error).__name__}') from error


def _columns(schema: Any) -> dict[str, int]:
    """Where the fields of a file stand in a row. ValueError unless all are integers, and all of ours among them."""
    fields = schema['fields'] if isinstance(schema, dict) and schema.get('type') == 'record' else []
    types = [field['type']['type'] if isinstance(field['type'], dict) else field['type'] for field in fields]
    columns = {field['name']: index for index, field in enumerate(fields)}
    if not set(SCHEMA.names) <= {*columns, *_DETAILS} or not all(each in ('int', 'long') for each in types):
        raise ValueError('not a file of HistoryRow as this version of starling-history knows it')
    return columns


def _batch(data: bytes, rows: int, columns: dict[str, int]) -> pa.RecordBatch:
    values = _integers(data)
    if len(values) != rows * len(columns):
        raise ValueError('a block holds another number of rows than it says')
    table = values.reshape(rows, len(columns))
    arrays = []
    for field in SCHEMA:
        if field.name not in columns:
            arrays.append(pa.nulls(rows, field.type))
            continue
        column = np.ascontiguousarray(table[:, columns[field.name]])
        unknown = column == _UNKNOWN if field.nullable else None
        arrays.append(pa.array(column, mask=unknown).cast(field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _chunks(stream: BinaryIO) -> Iterator[pa.RecordBatch]:
    reader = fastavro.block_reader(stream)
    columns = _columns(reader.writer_schema)
    blocks: Iterable[Any] = reader  # fastavro's types do not name the bytes
    data, rows = bytearray(), 0
    for block in blocks:
        data += block.bytes_.getvalue()
        rows += block.num_records
        if len(data) >= _TOGETHER:
            yield _batch(bytes(data), rows, columns)
            data, rows = bytearray(), 0
    if rows or data:
        yield _batch(bytes(data), rows, columns)


def decode(stream: BinaryIO, path: object) -> Iterator[pa.RecordBatch]:
    """The rows of a file in its order, in batches that take some megabytes whatever the file's size. UnreadableFile names the path."""
    chunks = _chunks(stream)
    while True:
        try:
            batch = next(chunks, None)
        except OSError:
            raise
        except Exception as error:  # fastavro and the decompressors have exceptions of many kinds for damaged bytes
            raise UnreadableFile(f'{path}: {error or type(error).__name__}') from error
        if batch is None:
            return
        yield batch
