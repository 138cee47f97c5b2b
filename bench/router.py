"""The router, from Kafka to Kafka: CPU a report, and a delivery.

A real broker; a world of friends (router_world.h) whose lists lie in the router's RocksDB; everybody present has joined. While
the router is stopped, a backlog of reports is written; then it runs until all deliveries are acknowledged and the backlog's
offsets are committed. CPU is user and system time of the whole process, librdkafka's threads included, by /proc.

The floor, in the same run: bare librdkafka that reads the same backlog and writes as many records of the same size, and the
join with its reading of friend lists alone, from memory.
"""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from confluent_kafka import Consumer, TopicPartition
from harness.broker import Broker
from harness.cluster import Cluster, build_folder

TICKS = os.sysconf('SC_CLK_TCK')


def arguments():
    parser = argparse.ArgumentParser(prog='bench router', description=__doc__.splitlines()[0])
    parser.add_argument('--present', type=int, default=1_000_000, help='users online')
    parser.add_argument('--reporters', type=int, default=200_000, help='of them, those with friend lists, who report')
    parser.add_argument('--rounds', type=int, default=4, help='reports of each')
    parser.add_argument('--partitions', type=int, default=16)
    parser.add_argument('--routes', type=int, default=64, help='partitions of deliveries')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--set', action='append', default=[], metavar='KEY=VALUE', help='a setting of the router')
    parser.add_argument('--under', default='', metavar='COMMAND', help='runs the router under it, as in "valgrind --tool=callgrind"')
    parser.add_argument('--folder', help='where everything is put, and left (default: a temporary one, removed)')
    parser.add_argument('--json', type=pathlib.Path)
    return parser.parse_args()


def cpu_s(pid) -> float:
    """User and system seconds of a process so far, all threads that are or were."""
    fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def cpu_by_thread(pid) -> dict:
    """The same by the threads' names; those of one name together."""
    found = {}
    for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
        name = (task / 'comm').read_text().strip()
        found[name] = found.get(name, 0) + int((task / 'schedstat').read_text().split()[0]) / 1e9
    return found


def machine() -> dict:
    models = [line.partition(':')[2].strip() for line in open('/proc/cpuinfo') if line.startswith('model name')]
    java = subprocess.run(['java', '-version'], capture_output=True, text=True, check=True).stderr.split('"')[1]
    version = subprocess.run([build_folder() / 'starling-router', '--version'], capture_output=True, text=True, check=True)
    return {'cpu': models[0] if models else 'unknown processor', 'cores': os.cpu_count(), 'kernel': os.uname().release,
            'version': version.stdout.strip(), 'java': java}


def kafka_version(jars) -> str:
    return next(jars.glob('kafka_2.*.jar')).stem.rpartition('-')[2]


class World:
    """The numbers of router_world.h, and the program that knows the rest."""

    def __init__(self, options, cluster):
        self.options, self.cluster = options, cluster
        self.time = int(time.time() * 1000) - 60_000

    @property
    def reports(self) -> int:
        return self.options.reporters * self.options.rounds

    def load(self, what, **more) -> str:
        values = {name: getattr(self.options, name) for name in ('present', 'reporters', 'partitions', 'routes', 'seed')}
        values.update(bootstrap=self.cluster.broker.bootstrap, prefix=self.cluster.prefix, time=self.time, **more)
        pairs = [part for name, value in values.items() for part in (f'--{name}', str(value))]
        done = subprocess.run([build_folder() / 'bench-router-load', what, *pairs], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f'bench router: loading {what}: {done.stderr}')
        return done.stdout

    def ends(self, topic='locations') -> list[int]:
        consumer = Consumer({'bootstrap.servers': self.cluster.broker.bootstrap, 'group.id': 'bench-router-ends'})
        found = [consumer.get_watermark_offsets(TopicPartition(self.cluster.prefix + topic, p), timeout=10)[1]
                 for p in range(self.options.partitions)]
        consumer.close()
        return found


class Meter:
    """CPU of the router and the broker between begin() and end()."""

    def __init__(self, router, broker):
        self.router, self.broker = router, broker
        self.metrics = router.metrics()

    def begin(self):
        """When the router stands still, and must stay so until it is resumed."""
        self.start = time.monotonic(), cpu_s(self.router.pid), cpu_s(self.broker.pid), cpu_by_thread(self.router.pid)

    def grown(self, name, **labels) -> float:
        return self.after.total(name, **labels) - self.metrics.total(name, **labels)

    def end(self):
        wall, router, broker, threads = self.start
        self.wall = time.monotonic() - wall
        self.cpu, self.broker_cpu = cpu_s(self.router.pid) - router, cpu_s(self.broker.pid) - broker
        self.threads = {name: round(seconds - threads.get(name, 0), 2)
                        for name, seconds in sorted(cpu_by_thread(self.router.pid).items())
                        if seconds - threads.get(name, 0) > 0.05}
        self.after = self.router.metrics()


def committed(world) -> list[int]:
    consumer = Consumer({'bootstrap.servers': world.cluster.broker.bootstrap, 'group.id': world.cluster.group('router')})
    topic = world.cluster.prefix + 'locations'
    found = [p.offset for p in consumer.committed([TopicPartition(topic, p) for p in range(world.options.partitions)], timeout=10)]
    consumer.close()
    return found


def wait_committed(world, router, ends):
    """Until everything before those offsets is handled, its deliveries are acknowledged, and the group knows."""
    deadline = time.monotonic() + 600
    while committed(world) != ends:
        assert router.alive() and time.monotonic() < deadline, f'the router does not get on:\n{router.tail()}'
        time.sleep(0.25)


def measure_router(world, router) -> dict:
    """The backlog is written while the router is stopped, so that it is there whole when it goes on."""
    first = world.ends()
    wait_committed(world, router, first)  # it joins the JOINs as well, which nobody has owned before
    meter = Meter(router, world.cluster.broker)
    router.pause()
    world.load('reports', rounds=world.options.rounds)
    last = world.ends()
    assert sum(last) - sum(first) == world.reports
    meter.begin()
    router.resume()
    wait_committed(world, router, last)
    meter.end()
    assert meter.grown('starling_router_joins_total') == world.reports
    deliveries, batches = meter.grown('starling_router_deliveries_total'), meter.grown('starling_router_batches_total')
    return {'reports': world.reports, 'deliveries': deliveries, 'wall_s': meter.wall, 'cpu_s': meter.cpu,
            'broker_cpu_s': meter.broker_cpu, 'threads': meter.threads, 'batches': batches,
            'batch_bytes': meter.grown('starling_router_batch_bytes_total'),
            'lost': meter.grown('starling_router_batches_lost_total'), 'first': first, 'last': last,
            'digests': meter.grown('starling_router_digests_total'), 'rosters': meter.grown('starling_router_rosters_total')}


def measure_floor(world, router, found) -> dict:
    """Of Kafka's part, and of the join's; the router, which holds RocksDB's lock, has ended."""
    floor = subprocess.run([build_folder() / 'bench-router-floor', world.cluster.broker.bootstrap,
                            world.cluster.prefix + 'locations', ','.join(map(str, found['first'])), ','.join(map(str, found['last'])),
                            world.cluster.prefix + 'deliveries', str(world.options.routes), str(int(found['batches'])),
                            str(int(found['batch_bytes'] / found['batches']))], capture_output=True, text=True)
    if floor.returncode:
        sys.exit(f'bench router: {floor.stderr}')
    kafka = json.loads(floor.stdout)
    join = json.loads(world.load('floor', path=router.settings['data.dir'], rounds=world.options.rounds))
    return {'kafka_us': kafka['cpu_s'] / kafka['reports'] * 1e6, 'read_us': join['read_us'], 'join_us': join['join_us'],
            'deliveries': join['deliveries']}


def row(name, us, per_report, broker_us=None, note=''):
    broker = f'{broker_us:12.2f}' if broker_us is not None else ' ' * 12
    print(f'{name:34} {us:10.2f} {1e6 / us:12,.0f} {per_report * 1e6 / us:14,.0f}{broker}   {note}')


def report(options, result):
    ours, floor = result['router'], result['floor']
    us, told = ours['cpu_s'] / ours['reports'] * 1e6, ours['deliveries'] / ours['reports']
    floor_us = floor['kafka_us'] + floor['read_us'] + floor['join_us']
    this = result['machine']
    print(f"router: {this['cpu']}, {this['cores']} cores, Linux {this['kernel']}, {this['version']}, Kafka {result['kafka']} on Java "
          f"{this['java']}")
    print(f"{options.present:,} present, {options.reporters:,} of them with {result['friends']} friends who report; {told:.1f} deliveries a "
          f"report, {options.routes} routes; backlog of {ours['reports']:,} reports in {ours['wall_s']:.1f} s\n")
    print(f"{'':34} {'us/report':>10} {'reports/s':>12} {'deliveries/s':>14}{'broker us':>12}   of one core")
    row('starling-router', us, told, ours['broker_cpu_s'] / ours['reports'] * 1e6,
        f"{ours['batch_bytes'] / ours['reports']:.0f} bytes a report, {ours['batch_bytes'] / ours['batches'] / 1024:.1f} KiB a batch")
    row('floor', floor_us, told, None, f"librdkafka {floor['kafka_us']:.2f} + friend list {floor['read_us']:.2f} + join {floor['join_us']:.2f}")
    print(f'{"ratio":34} {us / floor_us:10.2f}')
    threads = ', '.join(f'{name} {seconds:.1f}' for name, seconds in ours['threads'].items())
    print(f"\nthreads of the router, s: {threads}")


def run(options, folder):
    started = time.monotonic()

    def say(text):
        print(f'[{time.monotonic() - started:5.1f} s] {text}', file=sys.stderr)

    jars = pathlib.Path(os.environ['STARLING_KAFKA_LIB'])
    broker = Broker(folder / 'kafka', jars)
    (folder / 'kafka').mkdir()
    cluster = None
    try:
        broker.start()
        (folder / 'cluster').mkdir()
        cluster = Cluster(broker, folder / 'cluster', options.partitions, options.routes)
        cluster.create_topics()
        world = World(options, cluster)
        settings = {'log.level': 'info', 'inactive.after.s': 3600, 'warm.first.s': 3600, 'store.cache.mb': 1024,
                    'kafka.session.timeout.ms': 240000, **dict(pair.split('=', 1) for pair in options.set)}
        router = cluster.add('router', start=False, settings=settings)
        router.command = [*options.under.split(), *router.command]
        say('loading friend lists')
        lists = world.load('lists', path=router.settings['data.dir']).split()
        say(f'{lists[0]} half-edges of {lists[2]} bytes; everybody joins')
        world.load('sharing')
        world.load('joins')
        say('starting the router')
        router.start(timeout=900)
        say('writing the backlog, and measuring')
        ours = measure_router(world, router)
        assert ours['lost'] == 0, 'deliveries were lost'
        say('the floor')
        router.stop(timeout=120)
        floor = measure_floor(world, router, ours)
        assert floor['deliveries'] == ours['deliveries'], f"the floor found {floor['deliveries']:,} deliveries, the router {ours['deliveries']:,.0f}"
        result = {'bench': 'router', 'machine': machine(), 'kafka': kafka_version(jars), 'present': options.present,
                  'reporters': options.reporters, 'routes': options.routes, 'partitions': options.partitions,
                  'friends': round(int(lists[0]) / options.reporters), 'router': ours, 'floor': floor}
        report(options, result)
        if options.json:
            options.json.write_text(json.dumps(result) + '\n')
    finally:
        if cluster:
            cluster.kill()
        broker.kill()


def main():
    options = arguments()
    if options.present % options.reporters:
        sys.exit('bench router: --present must be a multiple of --reporters')
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended
    folder = pathlib.Path(options.folder or tempfile.mkdtemp(prefix='starling-bench-'))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        run(options, folder)
    finally:
        if not options.folder:
            shutil.rmtree(folder, ignore_errors=True)


main()
