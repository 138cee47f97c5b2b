"""The router, from Kafka to Kafka: CPU a report, and a delivery.

A real broker; a world of friends (router_world.h) whose lists lie in the router's RocksDB; everybody present has
joined. While the router is stopped, a backlog of reports is written; then it runs until all deliveries are acknowledged
and the backlog's offsets are committed. CPU is user and system time of the whole process, all its threads.

The floor, in the same run: bare librdkafka that reads the same backlog and writes as many records of the same size, and
the join with its reading of friend lists alone, from memory. The peers, in the same run over the same data:
router_peers.py.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

from confluent_kafka import Consumer, TopicPartition
from harness.broker import Broker
from harness.cluster import Cluster
from machine import cpu_s, in_folder, kafka_version, load, machine, program
from offsets import ends
from router_peers import Redis, Streams


def arguments():
    parser = argparse.ArgumentParser(prog='bench router', description=__doc__.splitlines()[0])
    parser.add_argument('--present', type=int, default=1_000_000, help='users online')
    parser.add_argument('--reporters', type=int, default=200_000, help='of them, those with friend lists, who report')
    parser.add_argument('--rounds', type=int, default=4, help='reports of each')
    parser.add_argument('--partitions', type=int, default=16)
    parser.add_argument('--routes', type=int, default=64, help='partitions of deliveries')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--set', action='append', default=[], metavar='KEY=VALUE', help='a setting of the router')
    parser.add_argument('--peers', default='streams,redis', help='which of the peers; empty: none')
    parser.add_argument('--folder', help='where everything is put, and left (default: a temporary one, removed)')
    parser.add_argument('--json', type=pathlib.Path)
    return parser.parse_args()


def cpu_by_thread(pid) -> dict:
    """The same by the threads' names; those of one name together."""
    found = {}
    for task in pathlib.Path(f'/proc/{pid}/task').iterdir():
        name = (task / 'comm').read_text().strip()
        found[name] = found.get(name, 0) + int((task / 'schedstat').read_text().split()[0]) / 1e9
    return found


def java_version() -> str:
    return subprocess.run(['java', '-version'], capture_output=True, text=True, check=True).stderr.split('"')[1]


class World:
    """The numbers of router_world.h, and the program that knows the rest."""

    def __init__(self, options, cluster):
        self.options, self.cluster = options, cluster
        self.time = int(time.time() * 1000) - 60_000

    @property
    def reports(self) -> int:
        return self.options.reporters * self.options.rounds

    def load(self, what, **more) -> str:
        names = ('present', 'reporters', 'partitions', 'routes', 'seed')
        values = {name: getattr(self.options, name) for name in names}
        values.update(bootstrap=self.cluster.broker.bootstrap, prefix=self.cluster.prefix, time=self.time, **more)
        return load('router', what, **values)

    def ends(self, topic='locations') -> list[int]:
        return ends(self.cluster, topic, self.options.routes if topic == 'deliveries' else self.options.partitions)


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
    cluster = world.cluster
    consumer = Consumer({'bootstrap.servers': cluster.broker.bootstrap, 'group.id': cluster.group('router')})
    asked = [TopicPartition(cluster.prefix + 'locations', p) for p in range(world.options.partitions)]
    found = consumer.committed(asked, timeout=10)
    consumer.close()
    return [partition.offset for partition in found]


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
    last, told = world.ends(), world.ends('deliveries')
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
            'told_first': told, 'told_last': world.ends('deliveries'),
            'digests': meter.grown('starling_router_digests_total'),
            'rosters': meter.grown('starling_router_rosters_total')}


def measure_floor(world, router, found) -> dict:
    """Of Kafka's part, and of the join's; the router, which holds RocksDB's lock, has ended."""
    prefix = world.cluster.prefix
    kafka = json.loads(program(
        'router-floor', world.cluster.broker.bootstrap, prefix + 'locations', ','.join(map(str, found['first'])),
        ','.join(map(str, found['last'])), prefix + 'deliveries', world.options.routes, int(found['batches']),
        int(found['batch_bytes'] / found['batches'])))
    join = json.loads(world.load('floor', path=router.settings['data.dir'], rounds=world.options.rounds))
    return {'kafka_us': kafka['cpu_s'] / kafka['reports'] * 1e6, **join}


def measure_edge(world, found) -> float:
    """us a report of decoding the deliveries and finding out who is near, on top of what the router costs."""
    edge = json.loads(program('router-edge', world.cluster.broker.bootstrap, world.cluster.prefix,
                              ','.join(map(str, found['told_first'])), ','.join(map(str, found['told_last']))))
    assert edge['deliveries'] == found['deliveries'], 'the edge read other deliveries than the router wrote'
    return edge['cpu_s'] / found['reports'] * 1e6


def measure_peers(world, found, folder, say) -> dict:
    """By name; a text for one that is not here."""
    peers, wanted = {}, world.options.peers.split(',')
    if 'streams' in wanted:
        streams = Streams(world, found, cpu_s)
        reason = streams.unavailable()
        if reason:
            peers['streams'] = reason
        else:
            say('Kafka Streams')
            streams.build()
            lists = folder / 'lists'
            world.load('dump', path=lists)
            for how in streams.HOW:
                peers[f'streams, {how}'] = streams.run(lists, how, folder / f'streams-{how}')
    if 'redis' in wanted:
        redis = Redis(world)
        reason = redis.unavailable()
        if reason:
            peers['redis'] = reason
        else:
            say('Redis')
            redis.build()
            peers['redis'] = redis.run(folder / 'redis')
            assert peers['redis']['near'] == found['deliveries'], 'the handlers on Redis found others near'
    return peers


def row(name, us, told, broker_us, note=''):
    broker = f'{broker_us:10.2f}' if broker_us is not None else f'{"":10}'
    print(f'{name:30} {us:10.2f} {1e6 / us:11,.0f} {told * 1e6 / us:13,.0f} {broker}  {note}')


def report(options, result):
    ours, floor, edge_us, peers = result['router'], result['floor'], result['edge_us'], result['peers']
    us, told = ours['cpu_s'] / ours['reports'] * 1e6, ours['deliveries'] / ours['reports']
    floor_us = floor['kafka_us'] + floor['read_us'] + floor['join_us']
    this = result['machine']
    print(f"router: {this['cpu']}, {this['cores']} cores, Linux {this['kernel']}, {this['version']}, "
          f"Kafka {result['kafka']}, Java {this['java']}")
    print(f"{options.present:,} present, {options.reporters:,} of them with {result['friends']} friends who report; "
          f"{told:.1f} deliveries a report, {options.routes} routes;\nbacklog of {ours['reports']:,} reports, done in "
          f"{ours['wall_s']:.1f} s. CPU: user + system of the whole process.\n")
    print(f"{'':30} {'us/report':>10} {'reports/s':>11} {'deliveries/s':>13} {'broker us':>10}  a core")
    row('starling-router', us, told, ours['broker_cpu_s'] / ours['reports'] * 1e6,
        f"{ours['batch_bytes'] / ours['reports']:.0f} bytes a report, "
        f"{ours['batch_bytes'] / ours['batches'] / 1024:.1f} KiB a batch")
    row('floor', floor_us, told, None,
        f"librdkafka {floor['kafka_us']:.2f}, friend list {floor['read_us']:.2f}, join {floor['join_us']:.2f}")
    for name, peer in peers.items():
        if isinstance(peer, str):
            print(f'{name:30} skipped: {peer}')
        elif name == 'redis':
            row('starling: router and edges', us + edge_us, told, ours['broker_cpu_s'] / ours['reports'] * 1e6)
            redis_us, handlers_us = peer['redis_s'] / peer['reports'] * 1e6, peer['handlers_s'] / peer['reports'] * 1e6
            row('Redis design: Redis, handlers', redis_us + handlers_us, told, None,
                f"Redis {redis_us:.2f} + handlers {handlers_us:.2f}; "
                f"{peer['messages'] / peer['reports']:.1f} messages a report")
        else:
            row('Kafka S' + name[1:], peer['us'], told, peer['broker_us'],
                f"{peer['us'] / us:.1f} times ours; {peer['records']:.2f} records a report")
    threads = ', '.join(f'{name} {seconds:.1f}' for name, seconds in ours['threads'].items())
    print(f"\nrouter / floor: {us / floor_us:.2f}; its threads, s: {threads}")
    print(f"of the floor, with a perfect cache of active friends: list and join {floor['join_present_us']:.2f}")


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
        settings = {'log.level': 'info', 'inactive.after.s': 3600, 'warm.first.s': 3600, 'store.memory.mb': 2048,
                    'kafka.session.timeout.ms': 240000, 'max.lag.s': 0,  # every report is joined, however late
                    **dict(pair.split('=', 1) for pair in options.set)}
        router = cluster.add('router', start=False, settings=settings)
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
        edge_us = measure_edge(world, ours)
        assert floor['deliveries'] == ours['deliveries'], 'the floor joined other things than the router'
        peers = measure_peers(world, ours, folder, say)
        result = {'bench': 'router', 'machine': machine() | {'java': java_version()}, 'kafka': kafka_version(), 'present': options.present,
                  'reporters': options.reporters, 'routes': options.routes, 'partitions': options.partitions,
                  'friends': round(int(lists[0]) / options.reporters), 'router': ours, 'floor': floor,
                  'edge_us': edge_us, 'peers': peers}
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
    in_folder(options.folder, lambda folder: run(options, folder))


main()
