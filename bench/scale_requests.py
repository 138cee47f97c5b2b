"""What a small request costs Kafka's brokers: one that writes, with one copy and with three, and one that reads or finds nothing.

Brokers are warmed up, since Java compiles what runs often, and then kept busy, since an idle one makes each request look dearer. A figure is
the CPU of all brokers beyond what they take idle, for each request. What reading costs is what the same writes take more with readers. One
broker, and three with the same topics in one and in three copies; all on this machine.
"""
import json
import os
import pathlib
import statistics
import time

from confluent_kafka.admin import AdminClient, NewTopic

from harness.broker import Broker
from harness.brokers import Brokers
from harness.processes import HERE
from machine import cpu_s, in_folder_with_stack, kafka_version, program

BYTES = 95  # a report of a phone
CLIENTS, PARTITIONS, WAIT_MS = 16, 16, 50
ROUNDS, SECONDS, IDLE_S, WARM_UP_S = 3, 4, 5, 40
WARM_UP = (6000, 2500)  # requests a second, of one broker and of three
SETTLE_S = 1  # before anything is written; readers ask meanwhile

# Copies, records a request, requests a second. Two cores are for the brokers and for these clients, so three brokers get fewer.
WRITES = {1: ((1, 1, 2000), (1, 1, 6000), (1, 1, 12000), (1, 10, 6000), (1, 100, 3000)),
          3: ((1, 1, 2000), (1, 1, 5000), (1, 100, 500), (2, 1, 5000), (3, 1, 2000), (3, 1, 5000), (3, 10, 1000), (3, 100, 500))}

# What a reader finds: the topic's partitions, readers, partitions that each reads, fetch.wait.max.ms, requests a second that write.
READS = {'a record, which nobody else reads': (16, 16, 1, WAIT_MS, 6000),
         'a record that 16 read, of 1 partition': (1, 16, 1, WAIT_MS, 400),
         'a record that 16 read, of 16 partitions': (16, 16, 16, WAIT_MS, 400),
         'a record that 16 read, of 64 partitions': (64, 16, 64, WAIT_MS, 400),
         'nothing, of 1 partition': (16, 32, 1, 5, 0),
         'nothing, of 16 partitions': (16, 32, 16, 5, 0),
         'several records: each asks again at once': (16, 4, 16, WAIT_MS, 6000)}


def started(count, folder, stack) -> tuple[str, list]:
    """Addresses, and the brokers. Those of several are set up for short tests otherwise: not to compile thoroughly."""
    jars = pathlib.Path(os.environ['STARLING_KAFKA_LIB'])
    if count == 1:
        brokers = Broker(folder, jars)
        members = [brokers]
    else:
        brokers = Brokers(folder, jars, [HERE] * count)
        members = brokers.members
        for member in members:
            for word in ('-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'):
                member.command.remove(word)
    stack.callback(brokers.kill)
    brokers.start()
    return brokers.bootstrap, members


def create_topics(bootstrap, brokers):
    wanted = {(1, partitions) for partitions, *_ in READS.values()} | {(copies, PARTITIONS) for copies, *_ in WRITES[brokers]}
    topics = [NewTopic(name(copies, partitions), partitions, copies, config={'min.insync.replicas': str(min(copies, 2))})
              for copies, partitions in wanted]
    admin = AdminClient({'bootstrap.servers': bootstrap})
    for made in admin.create_topics(topics).values():
        made.result(60)


def name(copies, partitions) -> str:
    return f'requests-{copies}-{partitions}'


class Bench:
    def __init__(self, bootstrap, members):
        self.bootstrap, self.members, self.idle = bootstrap, members, 0.0

    def cpu_s(self) -> float:
        return sum(cpu_s(member.pid) for member in self.members)

    def rest(self):
        began, before = time.monotonic(), self.cpu_s()
        time.sleep(IDLE_S)
        self.idle = (self.cpu_s() - before) / (time.monotonic() - began)

    def load(self, copies, partitions, rate, records=1, readers=0, listed=1, wait_ms=WAIT_MS, seconds=SECONDS) -> dict:
        """What the clients counted, and the brokers' CPU seconds beyond idle ones."""
        began, before = time.monotonic(), self.cpu_s()
        words = [self.bootstrap, name(copies, partitions), partitions, seconds, CLIENTS if rate else 0, rate, records, BYTES, readers, listed,
                 wait_ms]
        found = json.loads(program('scale-requests', *words))
        return found | {'brokers_s': self.cpu_s() - before - self.idle * (time.monotonic() - began)}


def write(bench, copies, records, rate) -> dict:
    found = bench.load(copies, PARTITIONS, rate, records)
    return {'copies': copies, 'rate': found['produces'] / SECONDS, 'records': found['records'] / found['produces'],
            'busy': found['brokers_s'] / SECONDS, 'us': found['brokers_s'] / found['produces'] * 1e6,
            'client_us': found['cpu_s'] / found['produces'] * 1e6}


def read(bench, case, alone) -> dict:
    """alone: the brokers' CPU seconds for a request that writes, by rate, when nobody reads."""
    partitions, readers, listed, wait_ms, rate = READS[case]
    if rate and rate not in alone:
        found = bench.load(1, PARTITIONS, rate)
        alone[rate] = found['brokers_s'] / found['produces']
    found = bench.load(1, partitions, rate, readers=readers, listed=listed, wait_ms=wait_ms)
    writing = found['produces'] * alone[rate] if rate else 0
    lasted = SECONDS if rate else SECONDS + SETTLE_S
    return {'case': case, 'rate': found['fetches'] / lasted, 'records': found['read'] / found['fetches'], 'busy': found['brokers_s'] / lasted,
            'us': (found['brokers_s'] - writing) / found['fetches'] * 1e6, 'each': found['fetches'] / lasted / readers,
            'client_us': found['cpu_s'] / found['fetches'] * 1e6}


def median(rounds) -> dict:
    """Of each number of that row in all rounds; and the least and the most us."""
    row = {key: value if isinstance(value, str) else statistics.median(found[key] for found in rounds) for key, value in rounds[0].items()}
    return row | {'least_us': min(found['us'] for found in rounds), 'most_us': max(found['us'] for found in rounds)}


def measured(count, folder, stack) -> dict:
    bootstrap, members = started(count, folder, stack)
    create_topics(bootstrap, count)
    bench = Bench(bootstrap, members)
    copies, rate = max(row[0] for row in WRITES[count]), WARM_UP[count > 1]
    bench.load(copies, PARTITIONS, rate, seconds=WARM_UP_S)
    bench.load(1, PARTITIONS, rate / 10, readers=CLIENTS, listed=PARTITIONS, seconds=WARM_UP_S)
    writes, reads, idle = [], [], []
    for _ in range(ROUNDS):
        bench.rest()
        idle.append(bench.idle)
        alone = {}
        writes.append([write(bench, *case) for case in WRITES[count]])
        reads.append([read(bench, case, alone) for case in READS] if count == 1 else [])
    return {'brokers': count, 'idle': statistics.median(idle), 'writes': [median(rows) for rows in zip(*writes)],
            'reads': [median(rows) for rows in zip(*reads)]}


def show(found):
    print(f"{found['brokers']} brokers, idle {found['idle']:.3f} of a core in all; medians of {ROUNDS} rounds of {SECONDS} s:")
    print(f"{'copies':>6} {'requests/s':>11} {'records each':>13} {'busy cores':>11} {'us a request':>13} {'least':>7} {'most':>7} {'client us':>10}")
    for r in found['writes']:
        print(f"{r['copies']:6} {r['rate']:11,.0f} {r['records']:13.1f} {r['busy']:11.2f} {r['us']:13.1f} {r['least_us']:7.1f} {r['most_us']:7.1f} "
              f"{r['client_us']:10.1f}")
    if found['reads']:
        print(f"{'a reader finds':42} {'fetches/s':>10} {'of each':>8} {'records':>8} {'busy cores':>11} {'us a fetch':>11} {'least':>7} {'most':>7} "
              f"{'client us':>10}")
    for r in found['reads']:
        print(f"{r['case']:42} {r['rate']:10,.0f} {r['each']:8,.0f} {r['records']:8.2f} {r['busy']:11.2f} {r['us']:11.1f} {r['least_us']:7.1f} "
              f"{r['most_us']:7.1f} {r['client_us']:10.1f}")


def run(options, result):
    result['requests'] = {'kafka': kafka_version(), 'bytes': BYTES, 'brokers': []}
    for count in map(int, options.brokers.split(',')):
        in_folder_with_stack(None, lambda folder, stack: result['requests']['brokers'].append(measured(count, folder, stack)))
        show(result['requests']['brokers'][-1])
