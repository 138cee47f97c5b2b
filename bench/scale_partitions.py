"""What partitions cost: a broker's memory and files, a router's start, the time until a second router has its share, and what a small
batch costs that goes to one of them by itself. One broker, a new one for each row."""
import json
import os
import pathlib
import time

from confluent_kafka import Producer

from harness.broker import Broker
from harness.cluster import Cluster
from harness.waiting import eventually
from machine import cpu_s, in_folder_with_stack, program, wait_quiet

BATCHES, WARM_UP, BATCH_BYTES, IN_FLIGHT = 10_000, 5_000, 200, 2_000
USERS, FRIENDS = 2_000, 50
HEAP = '1g'
SETTLED_S = 5


class RoomyBroker(Broker):
    """With the memory that thousands of partitions need; nothing else differs from the tests'."""

    def __init__(self, folder, jars):
        super().__init__(folder, jars)
        self.command = [word.replace('-Xmx512m', f'-Xmx{HEAP}') for word in self.command]


def memory_mb(pid) -> float:
    """What the process alone has resident: not the page cache behind files that it maps."""
    for line in pathlib.Path(f'/proc/{pid}/status').read_text().splitlines():
        if line.startswith('RssAnon'):
            return int(line.split()[1]) / 1000
    raise RuntimeError('no RssAnon')


def held(pid) -> dict:
    return {'memory_mb': memory_mb(pid), 'files': len(list(pathlib.Path(f'/proc/{pid}/fd').iterdir())),
            'maps': len(pathlib.Path(f'/proc/{pid}/maps').read_text().splitlines())}


def settled(count) -> int:
    """The count, when it has not changed for some seconds."""
    before, since = -1, time.monotonic()
    while time.monotonic() - since < SETTLED_S:
        now = count()
        if now != before:
            before, since = now, time.monotonic()
        time.sleep(0.2)
    return before


def owned(router) -> float:
    return router.metrics().total('starling_router_partitions_owned')


def started(router, has_its_share) -> dict:
    began = time.monotonic()
    router.start(timeout=300)
    eventually(lambda: has_its_share(router), 300, every=0.02, what='the router has its partitions')
    return {'s': time.monotonic() - began, 'cpu_s': cpu_s(router.pid)}


def small_batches(cluster, broker, partitions) -> dict:
    """Each record is a batch and a request by itself, as those of a router to many edges are."""
    producer = Producer({'bootstrap.servers': broker.bootstrap, 'batch.num.messages': 1, 'linger.ms': 0, 'acks': 'all',
                         'enable.idempotence': True, 'queue.buffering.max.messages': IN_FLIGHT})
    topic, payload = cluster.prefix + 'deliveries', os.urandom(BATCH_BYTES)

    def send(count):
        for number in range(count):
            while True:
                try:
                    producer.produce(topic, payload, partition=number % partitions)
                    break
                except BufferError:
                    producer.poll(0.01)
        assert producer.flush(240) == 0, 'batches were lost'

    send(WARM_UP)  # the broker compiles what it runs often
    wait_quiet(broker.pid)
    cpu, own = cpu_s(broker.pid), time.process_time()
    send(BATCHES)
    return {'client_us': (time.process_time() - own) / BATCHES * 1e6, 'broker_us': (cpu_s(broker.pid) - cpu) / BATCHES * 1e6}


def friend_bytes(cluster, broker, folder, partitions) -> float:
    """Bytes of the topic friendships a half of a friendship, on the broker's disk, before compaction."""
    words = ['fill', broker.bootstrap, cluster.prefix, '--users', USERS, '--friends', FRIENDS, '--partitions', partitions]
    halves = json.loads(program('restore', *words))['half_edges']
    files = (folder / 'kafka/data').rglob(f'{cluster.prefix}friendships-*/*.log')
    return sum(file.stat().st_size for file in files) / halves


def row(options, count, folder, stack) -> dict:
    jars = pathlib.Path(os.environ['STARLING_KAFKA_LIB'])
    for name in ('kafka', 'cluster'):
        (folder / name).mkdir()
    broker = RoomyBroker(folder / 'kafka', jars)
    stack.callback(broker.kill)
    broker.start()
    found = {'partitions': count, 'empty': held(broker.pid)}
    cluster = Cluster(broker, folder / 'cluster', partitions=count, delivery_partitions=count)
    stack.callback(cluster.kill)
    began = time.monotonic()
    cluster.starling('topics', 'create', '--partitions', count, '--delivery-partitions', count, timeout=600)
    found['create_s'] = time.monotonic() - began
    found['replicas'] = settled(lambda: sum(1 for place in (folder / 'kafka/data').iterdir() if place.is_dir()))
    found['full'] = held(broker.pid)
    routers = [cluster.add('router', start=False) for _ in range(2)]
    found['first'] = started(routers[0], lambda router: owned(router) == count)
    found['second'] = started(routers[1], lambda router: owned(router) == count // 2)
    for router in routers:
        router.stop()
    found['batch'] = small_batches(cluster, broker, count)
    found['friend_bytes'] = friend_bytes(cluster, broker, folder, count)
    return found


def run(options, result):
    rows = []
    print(f'one broker (heap {HEAP}) with all topics; two routers, one after the other; batches of {BATCH_BYTES} bytes, one a request:')
    print(f"{'partitions':>10} {'replicas':>9} {'created s':>10} {'broker MB':>10} {'files':>7} {'maps':>7} {'router s':>9} "
          f"{'CPU s':>6} {'second s':>9} {'CPU s':>6} {'batch us':>9} {'broker us':>10} {'bytes a half':>13}")
    for count in map(int, options.counts.split(',')):
        in_folder_with_stack(None, lambda folder, stack: rows.append(row(options, count, folder, stack)))
        r = rows[-1]
        print(f"{r['partitions']:10,} {r['replicas']:9,} {r['create_s']:10.1f} {r['full']['memory_mb']:10.0f} {r['full']['files']:7,} "
              f"{r['full']['maps']:7,} {r['first']['s']:9.2f} {r['first']['cpu_s']:6.2f} {r['second']['s']:9.2f} "
              f"{r['second']['cpu_s']:6.2f} {r['batch']['client_us']:9.1f} {r['batch']['broker_us']:10.1f} {r['friend_bytes']:13.1f}",
              flush=True)
    result['partitions'] = rows
