"""The queries of docs/ANALYSTS.md by DuckDB on an hour of people who walk about: on the Avro files, which the Python package reads into
an Arrow table, and on the Parquet data set that starling-parquet makes of them. Each query runs so many times on either; the median and
the best count. Avro's times are those of the query alone: reading the files into the table is done once and stands above.

    analysts.py [--rows N] [--partitions N] [--runs N] [--seed N] [--keep FOLDER] [--json FILE]
"""
import argparse
import json
import pathlib
import shutil
import statistics
import tempfile
import time

import starling_history
from harness import analysts, walkers
from harness.archive import HOUR_MS

HOUR = 492_536  # 2026-03-10 08:00


def timed(work):
    began = time.monotonic()
    result = work()
    return time.monotonic() - began, result


def size_of(folder, suffix) -> int:
    return sum(path.stat().st_size for path in folder.rglob('*' + suffix))


def measure(connection, sql, runs):
    """Seconds of each run, and the answer."""
    seconds = []
    for _ in range(runs):
        took, answer = timed(lambda: connection.sql(sql).to_arrow_table())
        seconds.append(took)
    return seconds, answer


def run(options, folder):
    made_s, rows = timed(lambda: walkers.make(folder / 'history', HOUR, options.rows, options.partitions, seed=options.seed))
    converted_s, done = timed(lambda: starling_history.convert(folder / 'history', folder / 'parquet'))
    assert done.rows == rows, f'{done.rows} rows were converted, and {rows} were made'
    read_s, reports = timed(lambda: starling_history.read(HOUR * HOUR_MS, (HOUR + 1) * HOUR_MS, directory=folder / 'history'))
    assert reports.num_rows == rows
    avro, parquet = size_of(folder / 'history', '.avro'), size_of(folder / 'parquet', '.parquet')
    on_arrow, on_parquet = analysts.on_arrow(reports), analysts.on_parquet(folder / 'parquet')
    queries = []
    for title, sql in analysts.queries():
        of_avro, one = measure(on_arrow, sql, options.runs)
        of_parquet, other = measure(on_parquet, sql, options.runs)
        assert one.equals(other), f'{title}: the formats differ'
        queries.append({'query': title, 'answer_rows': one.num_rows, 'avro_s': statistics.median(of_avro),
                        'avro_best_s': min(of_avro), 'parquet_s': statistics.median(of_parquet), 'parquet_best_s': min(of_parquet)})
    return {'rows': rows, 'made_s': made_s, 'avro_bytes_a_row': avro / rows, 'parquet_bytes_a_row': parquet / rows,
            'arrow_bytes_a_row': reports.nbytes / rows, 'read_s': read_s, 'converted_s': converted_s, 'queries': queries}


def show(result):
    rows = result['rows']
    print(f'{rows} rows of an hour, made in {result["made_s"]:.1f} s')
    print(f'bytes a row: Avro {result["avro_bytes_a_row"]:.1f}, Parquet {result["parquet_bytes_a_row"]:.1f}, '
          f'Arrow in memory {result["arrow_bytes_a_row"]:.1f}')
    print(f'Avro into an Arrow table: {result["read_s"]:.2f} s, {rows / result["read_s"]:,.0f} rows/s')
    print(f'Avro into Parquet: {result["converted_s"]:.2f} s, {rows / result["converted_s"]:,.0f} rows/s\n')
    print('| query | rows of the answer | Avro, by Arrow (median, best) | Parquet (median, best) |\n|---|---|---|---|')
    for query in result['queries']:
        print(f'| {query["query"]} | {query["answer_rows"]} | {query["avro_s"] * 1000:,.0f} ms, {query["avro_best_s"] * 1000:,.0f} ms '
              f'| {query["parquet_s"] * 1000:,.0f} ms, {query["parquet_best_s"] * 1000:,.0f} ms |')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--rows', type=int, default=10_000_000)
    parser.add_argument('--partitions', type=int, default=16)
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--keep', type=pathlib.Path, help='the folder of the files, which stay')
    parser.add_argument('--json', type=pathlib.Path)
    options = parser.parse_args()
    folder = options.keep or pathlib.Path(tempfile.mkdtemp(prefix='starling-analysts-'))
    try:
        result = run(options, folder)
    finally:
        if not options.keep:
            shutil.rmtree(folder)
    show(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + '\n')


if __name__ == '__main__':
    main()
