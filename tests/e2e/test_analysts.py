"""clients/python-history: each row once, whatever sinks merge meanwhile and however often the conversion is killed."""
import collections
import datetime
import itertools
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import warnings

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import starling_history
from starling_history.rows import _integers

from harness import analysts, walkers
from harness.archive import HOUR_MS, Archive, hour_folder, plain
from harness.broker import REPOSITORY
from harness.geo import distance_m
from harness.records import decode
from harness.waiting import eventually, now_ms

PACKAGE = REPOSITORY / 'clients/python-history'
NOON = 492_324  # hours since the epoch: 2026-03-01 12:00
EIGHT = 492_536  # 2026-03-10 08:00
FOREVER, DAY_MS = 2**53, 24 * HOUR_MS


def everything(folder, **more):
    return plain(starling_history.read(0, FOREVER, directory=folder, **more))


def parquet_rows(folder, forgotten=False):
    """All rows of a data set, held against the names of its files. Rows of forgotten users may have been the first of a file, or all."""
    rows = []
    for path in sorted(folder.rglob('*.parquet')):
        assert not path.name.startswith('.')
        table = pq.read_table(path, partitioning=None)
        partition, first, end = (int(part) for part in path.stem.split('-'))
        found = plain(table)
        assert {row['partition'] for row in found} <= {partition} and all(first <= row['offset'] < end for row in found)
        assert forgotten or first == found[0]['offset']
        rows += found
    return sorted(rows, key=lambda row: (row['partition'], row['offset']))


def test_ranges_and_users(tmp_path):
    archive = Archive(tmp_path / 'history')
    for hour in range(NOON, NOON + 4):
        archive.publish_hour(hour)
    archive.merge(NOON + 1, 0)
    archive.merge(NOON + 3, 2)
    assert everything(archive.root) == archive.between(0, FOREVER)
    start, end = NOON * HOUR_MS + 1_700_000, (NOON + 2) * HOUR_MS + 1_100_000
    assert plain(starling_history.read(start, end, directory=archive.root)) == archive.between(start, end)
    chosen = {3, 7, 11, 999}
    assert (plain(starling_history.read(start, end, chosen, directory=archive.root)) == archive.between(start, end, chosen) != [])
    assert starling_history.read(start, end, [], directory=archive.root).num_rows == 0
    assert starling_history.read(start, start, directory=archive.root).num_rows == 0
    with pytest.raises(ValueError, match='before the start'):
        starling_history.batches(end, start, directory=archive.root)
    assert plain(starling_history.read(None, None, directory=archive.root)) == archive.between(0, FOREVER)
    assert plain(starling_history.read(start, None, directory=archive.root)) == archive.between(start, FOREVER)
    day = datetime.datetime.fromtimestamp(start / 1000, datetime.UTC).date()
    midnight = start // DAY_MS * DAY_MS
    assert plain(starling_history.read(day, None, directory=archive.root)) == archive.between(midnight, FOREVER)
    frame = starling_history.read_pandas('2026-03-01T12:00Z', datetime.datetime(2026, 3, 1, 13), directory=archive.root)
    assert len(frame) == len(archive.between(NOON * HOUR_MS, (NOON + 1) * HOUR_MS))
    assert str(frame['time'].dtype) == 'datetime64[ms, UTC]'
    with pytest.raises(FileNotFoundError, match='no such folder'):
        starling_history.read(0, 1, directory=tmp_path / 'elsewhere')


def test_only_the_hours_of_the_range_are_read(tmp_path):
    archive = Archive(tmp_path / 'history')
    for hour in range(NOON, NOON + 6):
        archive.publish_hour(hour)
    for hour in (NOON, NOON + 1, NOON + 4, NOON + 5):  # the hour behind the range may have rows of it
        for path in (archive.root / hour_folder(hour)).iterdir():
            path.write_bytes(b'not Avro')
    start, end = (NOON + 2) * HOUR_MS, (NOON + 3) * HOUR_MS
    assert plain(starling_history.read(start, end, directory=archive.root)) == archive.between(start, end)
    with pytest.raises(starling_history.UnreadableFile, match='hour=13/00000-'):
        starling_history.read(start - 1, end, directory=archive.root)


def test_rows_that_stand_one_folder_late(tmp_path):
    """A broker's clock stepped back over the hour."""
    archive = Archive(tmp_path / 'history')
    late = archive.row(1, archive.next[1], NOON)
    archive.publish_hour(NOON, files=1)
    late['offset'] = archive.next[1]
    archive.write(archive.root / hour_folder(NOON + 1) / f'00001-{late["offset"]:019}.avro', [late])
    wanted = [*archive.between(NOON * HOUR_MS, (NOON + 1) * HOUR_MS), late]
    found = plain(starling_history.read(NOON * HOUR_MS, (NOON + 1) * HOUR_MS, directory=archive.root))
    assert len(found) == len(wanted) and late in found


def test_covered_small_files_are_not_read(tmp_path):
    archive = Archive(tmp_path / 'history')
    archive.publish_hour(NOON, files=4)
    covered = archive.small[NOON, 1][:3]
    archive.small[NOON, 1] = archive.small[NOON, 1][:3]
    archive.merge(NOON, 1)
    for _, _, _, path in covered:  # as if the sink had been killed before it removed them
        path.write_bytes(b'must not be read')
    assert everything(archive.root) == archive.between(0, FOREVER)
    assert starling_history.convert(archive.root, tmp_path / 'parquet').rows == len(archive.rows)
    assert parquet_rows(tmp_path / 'parquet') == archive.between(0, FOREVER)


def test_other_files_are_left_alone(tmp_path):
    archive = Archive(tmp_path / 'history')
    archive.publish_hour(NOON)
    folder = archive.root / hour_folder(NOON)
    (folder / '.00001-0000000000000000007-0123456789abcdef.tmp').write_bytes(b'half')
    (folder / 'notes.txt').write_text('mine')
    (archive.root / 'date=tomorrow').mkdir()
    (archive.root / 'hours').mkdir()
    assert everything(archive.root) == archive.between(0, FOREVER)


@pytest.mark.parametrize('spoil', [lambda data: data[:len(data) * 2 // 3], lambda data: data[:700] + b'\xff' * 40 + data[740:],
                                   lambda data: b'', lambda data: b'Obj\1'])
def test_damaged_files_are_named(tmp_path, spoil):
    archive = Archive(tmp_path / 'history', partitions=1)
    path = archive.publish(0, NOON, 500)
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(starling_history.UnreadableFile, match=path.name):
        everything(archive.root)
    failed = subprocess.run([sys.executable, '-m', 'starling_history.convert', archive.root, tmp_path / 'parquet'],
                            capture_output=True, text=True, env={**os.environ, 'PYTHONPATH': str(PACKAGE)})
    assert failed.returncode == 1 and path.name in failed.stderr and 'Traceback' not in failed.stderr
    assert not list((tmp_path / 'parquet').rglob('*.parquet'))


def test_integers_of_all_widths():
    numbers = [sign * (1 << bits) + more for bits in range(63) for sign in (1, -1) for more in (-1, 0, 1)]
    numbers += [2**63 - 1, -2**63]
    data = bytearray()
    for number in numbers:
        value = (number << 1) ^ (number >> 63)
        while value > 0x7f:
            data.append(value & 0x7f | 0x80)
            value >>= 7
        data.append(value)
    assert _integers(bytes(data)).tolist() == numbers
    assert _integers(b'').tolist() == []
    for bad in (bytes(data) + b'\x80', b'\x80' * 10 + b'\1'):
        with pytest.raises(ValueError):
            _integers(bad)


def test_a_reader_beside_a_merger(tmp_path):
    """Files go on and off while others read: each reading has each row once."""
    archive = Archive(tmp_path / 'history', seed=7)
    for hour in range(NOON, NOON + 8):
        archive.publish_hour(hour, files=6, rows=20)
    wanted = archive.between(0, FOREVER)
    ended, failures, readings = threading.Event(), [], []

    def read_on():
        while not ended.is_set():
            try:
                found = everything(archive.root)
            except Exception as error:  # shown by the assertion below
                failures.append(repr(error))
                return
            if found != wanted:
                failures.append(f'{len(found)} rows of {len(wanted)}')
                return
            readings.append(len(found))

    reader = threading.Thread(target=read_on)
    reader.start()
    try:
        for pair in random.Random(3).sample(list(archive.small), len(archive.small)):
            seen = len(readings)
            archive.merge(*pair, between=lambda: ended.wait(0.001))
            if pair[1] == 0:
                eventually(lambda: failures or len(readings) > seen, 20)
    finally:
        ended.set()
        reader.join()
    assert not failures
    assert everything(archive.root) == wanted


def test_only_finished_hours_are_converted(tmp_path):
    archive, target = Archive(tmp_path / 'history', partitions=2), tmp_path / 'parquet'
    hour = now_ms() // HOUR_MS
    archive.publish_hour(hour)
    assert starling_history.convert(archive.root, target) == (0, 0)
    archive.publish(0, hour + 1, 5)  # ... and partition 1 goes on
    assert starling_history.convert(archive.root, target).files == 1
    assert {row['partition'] for row in parquet_rows(target)} == {0}
    archive.publish(1, hour, 7)
    archive.merge(hour, 1)
    assert starling_history.convert(archive.root, target).files == 1
    assert parquet_rows(target) == archive.between(hour * HOUR_MS, (hour + 1) * HOUR_MS)
    assert starling_history.convert(archive.root, target) == (0, 0)
    assert starling_history.convert(archive.root, target, settled_ms=-2 * HOUR_MS) == (1, 5)
    assert parquet_rows(target) == archive.between(0, FOREVER)


def test_what_was_converted_is_not_read_again(tmp_path):
    """Also where offsets that are no rows, or an empty file, end an hour."""
    archive, target = Archive(tmp_path / 'history'), tmp_path / 'parquet'
    archive.publish_hour(NOON)
    closing = archive.publish(1, NOON, 0)
    starling_history.convert(archive.root, target)
    assert parquet_rows(target) == archive.between(0, FOREVER)
    for path in archive.root.rglob('*.avro'):
        if path != closing:
            spoil_secretly(path)
    assert starling_history.convert(archive.root, target) == (0, 0)
    for partition in range(3):
        archive.merge(NOON, partition)
    assert starling_history.convert(archive.root, target) == (3, len(archive.rows)), 'who merges may have left out rows'
    for path in archive.root.rglob('*.avro'):
        spoil_secretly(path)
    assert starling_history.convert(archive.root, target) == (0, 0)
    assert parquet_rows(target) == archive.between(0, FOREVER)


def spoil_secretly(path):
    """Damages a file, so that its size and time do not tell."""
    status = path.stat()
    path.write_bytes(b'must not be read'.ljust(status.st_size)[:status.st_size])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def files_with(target, user):
    return {path for path in target.rglob('*.parquet') if user in pq.read_table(path, partitioning=None).column('user').to_pylist()}


def test_forgotten_users_leave_the_data_set(tmp_path):
    """Files that had them are made again, no others; also those of several files an hour, of merged ones, and those that lose all rows."""
    archive, target = Archive(tmp_path / 'history', users=12), tmp_path / 'parquet'
    for hour in range(NOON, NOON + 3):
        archive.publish_hour(hour)
    archive.merge(NOON, 1)
    starling_history.convert(archive.root, target)
    late = archive.publish(1, NOON + 2, 60)
    assert starling_history.convert(archive.root, target) == (1, 60)
    had = files_with(target, 4)
    assert len(had) == 4
    before = {path: path.stat().st_ino for path in target.rglob('*.parquet')}
    archive.forget(4)
    assert starling_history.convert(archive.root, target).files == 4
    assert not files_with(target, 4) and {path for path in before if path.stat().st_ino != before[path]} == had
    assert parquet_rows(target, forgotten=True) == archive.between(0, FOREVER)
    assert starling_history.convert(archive.root, target) == (0, 0)
    for user in 1, 7, 10:
        archive.forget(user)
    assert starling_history.convert(archive.root, target) == (4, 0), 'partition 1 has nobody else'
    assert late.exists() and parquet_rows(target, forgotten=True) == archive.between(0, FOREVER)
    assert starling_history.convert(archive.root, target) == (0, 0)
    assert before.keys() == set(target.rglob('*.parquet'))


def test_data_sets_that_do_not_say_what_they_were_made_of(tmp_path):
    """Version 0.1 made them: they are made again once, and stay where their source has gone."""
    archive, target = Archive(tmp_path / 'history'), tmp_path / 'parquet'
    archive.publish_hour(NOON)
    archive.publish_hour(NOON + 1)
    starling_history.convert(archive.root, target)
    for path in target.rglob('*.parquet'):
        pq.write_table(pq.read_table(path, partitioning=None).replace_schema_metadata(None), path)
    shutil.rmtree(archive.root / hour_folder(NOON))
    assert starling_history.convert(archive.root, target).files == 3
    assert starling_history.convert(archive.root, target) == (0, 0)
    assert parquet_rows(target) == archive.between(0, FOREVER)


def test_the_data_set(tmp_path):
    """Hive partitions, types, the order within a file, and one conversion at a time."""
    archive, target = Archive(tmp_path / 'history'), tmp_path / 'parquet'
    for hour in (NOON, NOON + 1):
        archive.publish_hour(hour)
    starling_history.convert(archive.root, target)
    found = pa.dataset.dataset(target, partitioning='hive', exclude_invalid_files=False).to_table()
    assert set(found.column('date').to_pylist()) == {'2026-03-01'} and set(found.column('hour').to_pylist()) == {12, 13}
    assert plain(found.select(starling_history.SCHEMA.names)) == archive.between(0, FOREVER)
    for path in target.rglob('*.parquet'):
        table = pq.read_table(path, partitioning=None)
        assert table.schema.equals(starling_history.SCHEMA)
        order = list(zip(table.column('user').to_pylist(), table.column('time').to_pylist()))
        assert order == sorted(order)
    with open(target / '.lock') as lock:
        import fcntl
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError, match='another conversion'):
            starling_history.convert(archive.root, target)


def _convert_until(seconds, source, target):
    """A signal that the process does not handle ends it wherever it is after that much of its time."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    starling_history.convert(source, target)
    signal.setitimer(signal.ITIMER_PROF, 0)


def test_a_conversion_that_is_killed_again_and_again(tmp_path, monkeypatch):
    """While hours come, grow, are merged and lose users: each row is in the data set once, after every kill."""
    monkeypatch.setenv('PYTHONPATH', f'{PACKAGE}:{os.environ.get("PYTHONPATH", "")}')
    context = multiprocessing.get_context('forkserver')
    context.set_forkserver_preload(['starling_history'])
    chance, archive, target = random.Random(2), Archive(tmp_path / 'history', seed=2), tmp_path / 'parquet'
    killed, ever = 0, set()
    for turn in range(9):
        archive.publish_hour(NOON + turn, files=3, rows=120)
        if turn % 3 == 2:
            archive.publish(chance.randrange(3), NOON + turn - 1, 40)  # an hour that was thought to be finished
        ever |= {tuple(row.items()) for row in archive.rows}
        for pair in chance.sample(list(archive.small), len(archive.small) // 3):
            archive.merge(*pair)
        if turn % 2:
            archive.forget(turn)
        process = context.Process(target=_convert_until, args=(chance.uniform(0.001, 0.05), archive.root, target))
        process.start()
        process.join()
        assert process.exitcode in (0, -signal.SIGPROF)
        killed += process.exitcode != 0
        found = parquet_rows(target, forgotten=True)
        keys = [(row['partition'], row['offset']) for row in found]
        assert len(keys) == len(set(keys)), 'a row is there twice'
        assert {tuple(row.items()) for row in found} <= ever
    assert killed
    starling_history.convert(archive.root, target)
    assert parquet_rows(target, forgotten=True) == archive.between(0, FOREVER)
    assert [path.name for path in target.rglob('.*')] == ['.lock'], 'leftovers'


def test_rows_of_a_real_sink(make_cluster, users, tmp_path):
    """Rows that are read and converted are those that Kafka says."""
    cluster, ours = make_cluster(settings={'history-sink:history.roll.s': 1}), users(12)
    cluster.start(routers=0, fanouts=0, ingests=0)
    chance = random.Random(5)
    for number in range(200):
        user = chance.choice(ours)
        cluster.topics.produce('locations', user, ('location', {
            'user': user, 'lat': 399_847_000 + number, 'lng': 1_163_184_000 - number, 'kind': chance.choice(['REPORT', 'JOIN', 'QUIT']),
            'session': 0, 'route': -1, 'opted': -1, 'time': now_ms(), 'accuracy': number % 50 - 1}))
    wanted = sorted((message.partition, message.offset, record['user'], record['lat'], record['lng'], record['time'],
                     None if record['accuracy'] < 0 else record['accuracy'], message.timestamp)
                    for message in cluster.topics.read('locations')
                    if (record := decode(message.value))['kind'] in ('REPORT', 'JOIN'))

    def rows(found):
        return [tuple(row[name] for name in ('partition', 'offset', 'user', 'lat', 'lng', 'time', 'accuracy', 'received'))
                for row in found]

    eventually(lambda: rows(everything(cluster.history)) == wanted, 20, what='all rows are published')
    one = chance.choice(ours)
    assert rows(everything(cluster.history, users=[one])) == [row for row in wanted if row[2] == one]
    starling_history.convert(cluster.history, tmp_path / 'parquet', settled_ms=-2 * HOUR_MS)
    assert rows(parquet_rows(tmp_path / 'parquet')) == wanted


@pytest.fixture(scope='module')
def city(tmp_path_factory):
    """Two hours of walkers, as files and as the data set made of them."""
    folder = tmp_path_factory.mktemp('city')
    for hour in (EIGHT, EIGHT + 1):
        walkers.make(folder / 'history', hour, 40_000)
    starling_history.convert(folder / 'history', folder / 'parquet')
    return folder


def test_the_queries_of_the_page(city):
    """Each runs on both formats, finds something, and the same in both."""
    on_parquet = analysts.on_parquet(city / 'parquet')
    reports = starling_history.read('2026-03-10', '2026-03-11', directory=city / 'history')
    on_arrow = analysts.on_arrow(reports)
    _, by_folder = analysts.set_up()
    assert on_parquet.execute(by_folder).fetchall() == [(reports.num_rows,)]
    assert abs(reports.num_rows - 80_000) < 2_000
    answers = {}
    for title, sql in analysts.queries():
        answers[title] = on_parquet.sql(sql).to_arrow_table()
        assert answers[title].num_rows > 0, title
        assert answers[title].equals(on_arrow.sql(sql).to_arrow_table()), title
    assert len(answers) == 8
    assert answers['Is each row there once?'].to_pylist() == [{'twice': 0}]
    assert sum(answers['Reports and people by hour'].column('reports').to_pylist()) == reports.num_rows
    check_met(reports, answers['Who was in the same place at the same time'].to_pylist())
    check_way(reports, answers['How far everybody went'].to_pylist())


def check_met(reports, pairs):
    """The pairs by brute force."""
    first = {}
    for row in sorted(plain(reports), key=lambda row: (row['time'], row['offset'])):
        first.setdefault((row['time'] // 60_000, row['user']), (row['lat'] // 10_000, row['lng'] // 10_000))
    cells, met = collections.defaultdict(list), collections.Counter()
    for (minute, user), cell in first.items():
        cells[minute, cell].append(user)
    for people in cells.values():
        met.update(itertools.combinations(sorted(people), 2))
    wanted = sorted(((-minutes, *pair) for pair, minutes in met.items()))[:20]
    assert [(-row['minutes'], row['a'], row['b']) for row in pairs] == wanted


def check_way(reports, ways):
    """The farthest way, by brute force."""
    rows = sorted((row for row in plain(reports) if row['user'] == ways[0]['user']), key=lambda row: (row['time'], row['offset']))
    metres = sum(distance_m(one['lat'] / 1e7, one['lng'] / 1e7, two['lat'] / 1e7, two['lng'] / 1e7)
                 for one, two in itertools.pairwise(rows) if two['time'] - one['time'] <= 300_000)
    assert metres == pytest.approx(ways[0]['metres'], rel=0.01) and metres > 1000


def test_the_notebook(city, monkeypatch):
    """Its cells run in their order and draw the day."""
    monkeypatch.setenv('MPLBACKEND', 'Agg')
    monkeypatch.chdir(city)
    import matplotlib.pyplot as plt
    notebook = json.loads((PACKAGE / 'notebooks/day.ipynb').read_text())
    names = {}
    with warnings.catch_warnings():
        warnings.filterwarnings('ignore', 'FigureCanvasAgg is non-interactive')
        for cell in notebook['cells']:
            if cell['cell_type'] == 'code':
                assert not cell['outputs'], 'the notebook is kept without outputs'
                exec(compile(''.join(cell['source']), 'day.ipynb', 'exec'), names)
    figures = [plt.figure(number) for number in plt.get_fignums()]
    try:
        assert len(figures) == 3
        bars = figures[0].axes[0].patches
        assert sum(bar.get_height() for bar in bars) == names['reports'].num_rows > 0
        assert {int(bar.get_x()) for bar in bars} == {8, 9}
        assert len(figures[2].axes[0].lines[0].get_xdata()) > 100
    finally:
        plt.close('all')


def test_the_types_hold(tmp_path):
    done = subprocess.run([sys.executable, '-m', 'mypy', '--strict', '--follow-imports=skip', '--ignore-missing-imports',
                           '--disable-error-code=import-untyped', '--allow-untyped-calls', '--cache-dir', tmp_path, PACKAGE / 'starling_history'],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
