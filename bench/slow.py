"""How deciding goes on while three brokers are slow: follows in two feed processes, beside two bare members of a group with transactional
producers (transactions-floor.c), which copy each command as often as a follow is written. The brokers stand still for the rest of each
tenth of a second. Goodput: commands that are decided and committed. A pause: the time between two commits of anybody."""
import argparse
import contextlib
import json
import os
import pathlib
import random
import signal
import subprocess
import threading
import time

from confluent_kafka import Producer

from harness.brokers import Brokers
from harness.cluster import Cluster, build_folder
from harness.processes import HERE, die_with_parent
from harness.records import encode, user_key
from harness.waiting import eventually, now_ms
from machine import in_folder, kafka_version, machine, metric

PARTITIONS, MEMBERS, PERIOD_S = 8, 2, 0.1
BARE = 'bare-commands', 'bare-follows'  # topics
WRITTEN = 4  # records of a follow: two halves, a notice, and its part of requests for timelines


def arguments():
    parser = argparse.ArgumentParser(prog='bench slow', description=__doc__.splitlines()[0])
    parser.add_argument('--share', type=float, default=0.1, help='of the time in which a broker may run')
    parser.add_argument('--seconds', type=float, default=60)
    parser.add_argument('--rate', type=float, default=300, help='commands a second, as long as it lasts')
    parser.add_argument('--folder', help='where everything is put, and left (default: a temporary one, removed)')
    parser.add_argument('--json', type=pathlib.Path)
    return parser.parse_args()


@contextlib.contextmanager
def slowed(brokers, share):
    """Each of them in turns of its own."""
    over = threading.Event()

    def turns(broker):
        time.sleep(random.uniform(0, PERIOD_S))
        while not over.is_set():
            broker.signal(signal.SIGSTOP)
            time.sleep(PERIOD_S * (1 - share))
            broker.signal(signal.SIGCONT)
            time.sleep(PERIOD_S * share)

    threads = [threading.Thread(target=turns, args=(broker,), daemon=True) for broker in brokers.members]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def write(cluster, topic, seconds, rate, first=1):
    """Follows of users from `first` on, at that rate, for so long."""
    producer = Producer({'bootstrap.servers': cluster.topics.bootstrap, 'partitioner': 'murmur2_random', 'log_level': 2})
    began, number = time.monotonic(), 0
    while time.monotonic() - began < seconds:
        while number < (time.monotonic() - began) * rate:
            user = first + number
            producer.produce(cluster.topics.name(topic), key=user_key(user), value=encode('follow-command', {
                'kind': 'FOLLOW', 'user': user, 'other': user + 1_000_000, 'time': now_ms(), 'blocked': 0}))
            number += 1
        producer.poll(0.05)
    producer.flush(120)
    return number


def measured(commits, seconds, work) -> dict:
    """commits(): how many commands are committed by now. Until all of them are, or twice the time is over."""
    began = last = time.monotonic()
    written, seen, longest = [], commits(), 0.0
    first = seen
    writer = threading.Thread(target=lambda: written.append(work()))
    writer.start()
    while True:
        time.sleep(0.1)
        now, found = time.monotonic(), commits()
        if found != seen:
            longest, last, seen = max(longest, now - last), now, found
        if now - began > 3 * seconds or (written and seen - first >= written[0]):
            break
    writer.join()
    return {'commands': seen - first, 'of': written[0], 'a_second': (seen - first) / (last - began), 'longest_pause_s': max(longest, now - last)}


def measure(folder, options):
    cluster, floors = None, []
    brokers = Brokers(folder, pathlib.Path(os.environ['STARLING_KAFKA_LIB']), [HERE] * 3).start()
    try:
        (folder / 'cluster').mkdir()
        cluster = Cluster(brokers, folder / 'cluster', PARTITIONS, PARTITIONS)
        cluster.create_topics(replication=3, **{'min-insync': 2})
        cluster.start(ingests=0, routers=0, fanouts=0, sinks=0, feeds=MEMBERS, topics=False)
        for topic in BARE:
            cluster.topics.create(topic, PARTITIONS, replication=3)
        found = {}
        for number in range(MEMBERS):
            floor = [build_folder() / 'bench-transactions-floor', brokers.bootstrap, f'{cluster.prefix}bare', str(number),
                     *map(cluster.topics.name, BARE), str(WRITTEN)]
            with open(folder / f'floor-{number}', 'w', encoding='utf-8') as out:
                floors.append(subprocess.Popen(floor, stdout=out, stderr=subprocess.DEVNULL, preexec_fn=die_with_parent))

        def bare():
            return sum(int(line.split()[1]) for number in range(MEMBERS)
                       for line in (folder / f'floor-{number}').read_text().splitlines() if ' ' in line)

        def ours():
            return sum(int(metric(feed, 'commands_total')) for feed in cluster.feeds)

        for name, topic, commits in (('bare', BARE[0], bare), ('starling', 'follow-commands', ours)):
            write(cluster, topic, 2, 20)
            eventually(lambda done=commits: done() > 0, 60, what=f'{name} works')
            time.sleep(3)
            with slowed(brokers, options.share):
                found[name] = measured(commits, options.seconds, lambda to=topic: write(cluster, to, options.seconds, options.rate, 1000))
            time.sleep(5)
        found['failed_transactions'] = sum(metric(feed, 'transactions_failed_total') for feed in cluster.feeds)
        return found
    finally:
        for floor in floors:
            floor.kill()
        if cluster:
            cluster.kill()
        brokers.kill()


def main():
    options = arguments()

    def run(folder):
        found = measure(folder, options) | {'machine': machine(), 'kafka': kafka_version(), 'share': options.share}
        bare, ours = found['bare'], found['starling']
        for name in ('bare', 'starling'):
            one = found[name]
            print(f'{name:9} {one["a_second"]:6.0f} commands a second, {one["commands"]} of {one["of"]}; longest pause {one["longest_pause_s"]:.1f} s')
        print(f'goodput {ours["a_second"] / bare["a_second"]:.2f} of the bare one; pauses {ours["longest_pause_s"] / bare["longest_pause_s"]:.1f} '
              f'times as long; {found["failed_transactions"]:.0f} transactions failed')
        if options.json:
            options.json.write_text(json.dumps(found, indent=1))

    in_folder(options.folder, run)


if __name__ == '__main__':
    main()
