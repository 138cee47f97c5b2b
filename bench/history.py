"""Measures the history sink: reports taken into files and store, beside consumers that read and decode the same topic and keep nothing;
the merging of a finished hour; bytes a row in topic, files and store; a user's day over HTTP; and the restore of a lost store from the
files, beside a program that only reads these. CPU is counted over all of a process's threads; the broker's is said apart.

Everybody reports --a-day times a day, for --days days, and walks, drives or stays. --stored 50000000 is the whole run: it needs some 15 GB
of disk."""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import requests

from harness.broker import Broker
from harness.cluster import Cluster, build_folder
from harness.ports import free_port
from harness.waiting import eventually, now_ms
from machine import cpu_s, in_folder_with_stack, kafka_version, load, machine, program, spent, wait_quiet

DAY_MS = 86_400_000
TARGET_A_CORE, TARGET_DAY_MS = 250_000, 10
SLOWEST = 10_000  # rows a second, on a busy machine: what is waited for at most
CHECKED = 20  # users whose day is counted
CONNECTIONS = 8
ROLL_S = 10  # the last files, which do not get full, are published after that


def arguments():
    parser = argparse.ArgumentParser(prog='./dev bench history', description=__doc__)
    parser.add_argument('--rows', type=int, default=2_000_000, help='that are taken in while CPU is counted')
    parser.add_argument('--stored', type=int, default=5_000_000, help='that the store holds when it is asked')
    parser.add_argument('--a-day', type=int, default=500, help='reports of a user, 10,000 at most')
    parser.add_argument('--days', type=int, default=2)
    parser.add_argument('--asked', type=int, default=2000, help='requests for a day')
    parser.add_argument('--rate', type=int, default=200, help='of these requests, a second')
    parser.add_argument('--partitions', type=int, default=12)
    parser.add_argument('--folder', help='where everything is put, and left (default: a temporary one, removed)')
    parser.add_argument('--json', type=pathlib.Path)
    return parser.parse_args()


def say(text):
    print(text, file=sys.stderr, flush=True)


def size_of(folder, pattern) -> int:
    return sum(path.stat().st_size for path in folder.glob(pattern))


class World:
    """Users with numbers from 0 on, as bench/history-load.c has them, who report in rounds."""

    def __init__(self, options, cluster):
        rounds = options.a_day * options.days
        self.options, self.cluster = options, cluster
        self.users = max(1, max(options.rows, options.stored) // rounds)
        self.total = self.users * rounds
        self.rows = min(options.rows, self.total)
        self.step_ms = DAY_MS // options.a_day
        self.begin_ms = now_ms() - options.days * DAY_MS

    def load(self, what, **more) -> str:
        values = {'users': self.users, 'partitions': self.options.partitions, 'begin': self.begin_ms, 'step': self.step_ms,
                  'bootstrap': self.cluster.broker.bootstrap, 'prefix': self.cluster.prefix, **more}
        return load('history', what, **values)

    def last_day(self) -> str:
        begin = self.begin_ms + (self.options.days - 1) * self.options.a_day * self.step_ms
        return f'from={begin}&to={begin + self.options.a_day * self.step_ms}&limit=10000'

    def topic_bytes(self) -> int:
        data = self.cluster.broker.log_path.parent / 'data'
        return size_of(data, f'{self.cluster.prefix}locations-*/*.log')


def user_id(number) -> int:
    return (number * 0x9e3779b1 & (1 << 27) - 1) + 1


def peak_bytes(pid) -> int:
    """The largest resident set so far."""
    lines = pathlib.Path(f'/proc/{pid}/status').read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith('VmHWM'))


def metric(sink, name) -> float:
    return sink.metrics().total(f'starling_history_{name}')


def started(sink, reached, rows, **settings) -> dict:
    """Starts it and waits until reached(sink). CPU is that of the whole process from its start on."""
    began = time.monotonic()

    def so_far():
        try:
            return not sink.alive() or reached(sink)
        except (requests.RequestException, KeyError):  # it does not listen yet, or has no such metric yet
            return False

    sink.start(wait=False, **settings)
    eventually(so_far, 300 + rows / SLOWEST, every=0.25, what='the sink is so far')
    assert sink.alive(), sink.tail()
    found = {'rows': rows, 'wall_s': time.monotonic() - began, 'cpu_s': cpu_s(sink.pid)}
    wait_quiet(sink.pid)
    return found | {'quiet_cpu_s': cpu_s(sink.pid), 'peak_bytes': peak_bytes(sink.pid)}


def floors(world) -> dict:
    """CPU seconds of programs that read the topic: ours, which decodes, and bare librdkafka."""
    ours = json.loads(world.load('read'))
    assert ours['rows'] == world.rows, f'{ours["rows"]} records in the topic instead of {world.rows}'
    topic = world.cluster.prefix + 'locations'
    ends = [end for _, end in sorted(world.cluster.topics.ends('locations').items())]
    bare = program('router-floor', world.cluster.broker.bootstrap, topic, ','.join('0' for _ in ends),
                   ','.join(map(str, ends)), topic, 1, 0, 1)
    return {'decoding_cpu_s': ours['cpu_s'], 'librdkafka_cpu_s': json.loads(bare)['cpu_s']}


def measure_intake(world, sink) -> dict:
    """The backlog is whole in Kafka before the sink starts."""
    say(f'{world.rows:,} reports of {world.users:,} users are written into the topic')
    world.load('fill', to=world.rows)
    broker, found = world.cluster.broker.pid, floors(world)
    say('the sink takes them in')
    before = cpu_s(broker)
    found |= started(sink, lambda sink: metric(sink, 'published_rows_total') >= world.rows, world.rows)
    found['broker_cpu_s'] = cpu_s(broker) - before
    found['files'] = metric(sink, 'files_total')
    sink.stop()
    return found


def measure_more(world, sink) -> dict | None:
    """The rest of the rows, on top of those that are stored."""
    left = world.total - world.rows
    if not left:
        return None
    say(f'{left:,} more')
    world.load('fill', **{'from': world.rows, 'to': world.total})
    found = started(sink, lambda sink: metric(sink, 'published_rows_total') >= left, left)
    sink.stop()
    return found


def end_the_hour(world):
    """All small files of a day before, as if they were from then: their hours are finished."""
    for path in sorted(world.cluster.history.glob('date=*')):
        day = datetime.date.fromisoformat(path.name.removeprefix('date=')) - datetime.timedelta(days=1)
        path.rename(path.with_name(f'date={day}'))


def measure_merging(world, sink) -> dict:
    """The sink runs on afterwards, with an empty block cache. Bytes of the store are those after RocksDB's merging."""
    say('the hour is over: its files are merged')
    small = list(world.cluster.history.glob('date=*/hour=*/*.avro'))
    size = sum(path.stat().st_size for path in small)
    end_the_hour(world)
    found = started(sink, lambda sink: metric(sink, 'merged_rows_total') >= world.total, world.total,
                    **{'history.merge.s': 1, 'history.merge.keep.s': 0})
    sink.wait_ready()
    return found | {'small_files': len(small), 'merged_files': metric(sink, 'merged_files_total'), 'bytes': {
        'topic': world.topic_bytes(), 'small files': size,
        'merged files': size_of(world.cluster.history, 'hours/date=*/hour=*/*.avro'), 'store': metric(sink, 'store_bytes')}}


# a user's day

@contextlib.contextmanager
def running_answerer(size):
    """A bare libmicrohttpd that answers so many bytes: its address."""
    port = free_port()
    process = subprocess.Popen([build_folder() / 'bench-http', 'answer', str(port), str(size)])
    try:
        time.sleep(0.5)
        yield f'127.0.0.1:{port}'
    finally:
        process.terminate()
        process.wait()


def ask(world, folder, address, paths, tokens, processes) -> dict:
    options = world.options
    for name, lines in (('paths', paths), ('tokens', tokens)):
        (folder / name).write_text(''.join(f'{line}\n' for line in lines))
    found, cpu = spent(processes, lambda: json.loads(program(
        'http', 'read', *address.split(':'), f'@{folder / "paths"}', folder / 'tokens', CONNECTIONS, options.rate,
        options.asked / options.rate)))
    assert found['answered'] and not found['bad'], found
    return found | {'users': max(len(set(paths)), len(set(tokens))),
                    'us': {name: seconds / found['answered'] * 1e6 for name, seconds in cpu.items()}}


def measure_days(world, folder, sink) -> dict:
    """Random users, other ones of each way, each once where there are enough: blocks come from the kernel's cache, or the disk."""
    say('a gateway, and users who ask for a day')
    cluster, day = world.cluster, world.last_day()
    gateway = cluster.add('ingest')
    drawn = [user_id(number) for number in random.Random(1).sample(range(world.users), min(world.users, CHECKED + 2 * world.options.asked))]
    checked, rest = drawn[:CHECKED], drawn[CHECKED:] or drawn
    for user in checked:
        eventually(lambda: cluster.http(user).get(f'/v1/history?{day}&limit=1000').status_code == 200, 30, what='history is answered')
        page = cluster.http(user).ok('GET', f'/v1/history?{day}&limit=1000')
        assert len(page['items']) == world.options.a_day and page['next'] is None, f'user {user}: {len(page["items"])} rows'
    half = len(rest) // 2 or 1
    over_http, by_peer = rest[:half], rest[half:] or rest
    processes = {'gateway': gateway.pid, 'sink': sink.pid}
    found = {'the gateway': ask(world, folder, gateway.settings['ingest.listen'], [f'/v1/history?{day}&limit=1000'],
                                [cluster.token(user) for user in over_http], processes),
             'the sink alone': ask(world, folder, sink.peer, [f'/peer/history/{user}?{day}' for user in by_peer],
                                   [cluster.keys.peer_token], processes)}
    with running_answerer(int(found['the gateway']['bytes'])) as address:
        found['bare libmicrohttpd'] = ask(world, folder, address, ['/'], ['none'], {})
    gateway.stop()
    return found


# a lost store

def measure_restore(world, sink) -> dict:
    say('the store is lost, and comes back from the files')
    sink.stop()
    shutil.rmtree(sink.settings['data.dir'])
    files = sorted(world.cluster.history.glob('hours/date=*/hour=*/*.avro'))
    floor = json.loads(program('history-load', 'files', *files))
    assert floor['rows'] == world.total, f'{floor["rows"]} rows in merged files instead of {world.total}'
    found = started(sink, lambda sink: sink.ready(), world.total, **{'history.merge.s': 0})
    assert metric(sink, 'rebuilt_rows_total') == world.total
    sink.stop()
    return found | {'floor_cpu_s': floor['cpu_s']}


# all of it

def per_core(found, seconds='cpu_s') -> float:
    return found['rows'] / found[seconds]


def report_intake(intake, more):
    rows = intake['rows']
    decoding, bare = intake['decoding_cpu_s'], intake['librdkafka_cpu_s']
    print(f"\nintake, from `locations` to published files and the store: {rows:,} reports, {intake['files']:.0f} files\n"
          f"  starling-history-sink {per_core(intake):,.0f} reports/s/core (target {TARGET_A_CORE:,}); with RocksDB's merging afterwards "
          f"{per_core(intake, 'quiet_cpu_s'):,.0f}\n"
          f"  floor: reading and decoding alone {rows / decoding:,.0f}, the sink takes {intake['cpu_s'] / decoding:.1f} times that; "
          f"librdkafka alone {rows / bare:,.0f}, {intake['cpu_s'] / bare:.1f} times\n"
          f"  the broker {intake['broker_cpu_s'] / rows * 1e6:.2f} us a report; the sink's memory {intake['peak_bytes'] / 1e6:.0f} MB at most")
    if more:
        print(f"  {more['rows']:,} more on top of them: {per_core(more):,.0f} reports/s/core; with RocksDB's merging afterwards "
              f"{per_core(more, 'quiet_cpu_s'):,.0f}")


def report_merging(merging):
    rows = merging['rows']
    print(f"\na finished hour: {rows:,} rows in {merging['small_files']} small files, merged into {merging['merged_files']:.0f}: "
          f"{per_core(merging):,.0f} rows/s/core, {merging['wall_s']:.1f} s, the process's start included\n"
          f"  bytes a row: " + ', '.join(f'{name} {size / rows:.1f}' for name, size in merging['bytes'].items()))


def report_days(days, options, rows):
    print(f"\na user's day ({options.a_day} rows) of {rows:,} rows stored, {options.rate} requests a second, users drawn evenly")
    print(f'  {"":20} {"users":>8} {"answered":>9} {"bytes":>8} {"p50 ms":>8} {"p99 ms":>8}  CPU us a request')
    for name, row in days.items():
        cpu = ', '.join(f'{process} {us:.0f}' for process, us in row['us'].items())
        print(f'  {name:20} {row["users"]:8,} {row["answered"]:9,} {row["bytes"]:8,.0f} {row["p50_ms"]:8.2f} {row["p99_ms"]:8.2f}  {cpu}')
    print(f'  (target: p99 {TARGET_DAY_MS} ms)')


def report_restore(restore):
    print(f"\na lost store, from merged files: {restore['rows']:,} rows, all are answered after {restore['wall_s']:.1f} s\n"
          f"  {per_core(restore):,.0f} rows/s/core; with RocksDB's merging afterwards {per_core(restore, 'quiet_cpu_s'):,.0f}; "
          f"floor: reading the files alone {per_core(restore, 'floor_cpu_s'):,.0f}, {restore['cpu_s'] / restore['floor_cpu_s']:.1f} times that; "
          f"memory {restore['peak_bytes'] / 1e6:.0f} MB at most")


def run(options, folder, stack):
    (folder / 'kafka').mkdir()
    (folder / 'cluster').mkdir()
    broker = Broker(folder / 'kafka', pathlib.Path(os.environ['STARLING_KAFKA_LIB'])).start()
    stack.callback(broker.kill)
    # Fewer small files of an hour and partition than are merged at once.
    cluster = Cluster(broker, folder / 'cluster', partitions=options.partitions, settings={
        'history-sink:history.roll.rows': max(100_000, max(options.rows, options.stored) // options.partitions // 30),
        'history-sink:history.roll.s': ROLL_S, 'history-sink:history.merge.s': 0})
    stack.callback(cluster.kill)
    cluster.create_topics()
    world, sink = World(options, cluster), cluster.add('history-sink', start=False)
    result = {'bench': 'history', 'machine': machine(), 'kafka': kafka_version(), 'users': world.users}
    result['intake'], result['more'] = measure_intake(world, sink), measure_more(world, sink)
    report_intake(result['intake'], result['more'])
    result['merging'] = measure_merging(world, sink)
    report_merging(result['merging'])
    result['days'] = measure_days(world, folder, sink)
    report_days(result['days'], options, world.total)
    result['restore'] = measure_restore(world, sink)
    report_restore(result['restore'])
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + '\n')


def main():
    options = arguments()
    in_folder_with_stack(options.folder, lambda folder, stack: run(options, folder, stack))


if __name__ == '__main__':
    main()
