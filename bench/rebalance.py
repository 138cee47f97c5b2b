"""How long reports wait while routers come, go, and are killed.

A real broker and real daemons; a simulated city's phones report all the while over WebSockets, and a background of friend lists
makes restoring cost what it costs. A consumer of `locations` and `deliveries` finds for each report the time from its Kafka
timestamp to that of the first delivery that carries it, or a newer one of the same user (a Move, or the Digest for it): of what
has waited for seconds, routers may tell the newest only. The longest such time in a partition, around an event, is that
partition's pause. At the end every phone's list is held against brute force.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import sys
import threading
import time

from confluent_kafka import Consumer, TopicPartition

from harness.broker import Broker
from harness.cluster import Cluster
from harness.records import decode
from harness.waiting import eventually
from machine import in_folder, kafka_version, machine, program
from test_exact import Simulation, caught_up, city_truth, compare, read_lists
from test_standby import settled

BACKGROUND = 10_000_000  # from this id on people only have friends (people.h)
FRIENDS_EACH = 400
CALM_S = 6
TARGET_S, KILL_TARGET_S = 3, 10


def arguments():
    parser = argparse.ArgumentParser(prog='bench rebalance', description=__doc__.splitlines()[0])
    parser.add_argument('--kill', type=float, metavar='MINUTES', help='kill -9 of random routers, for that long')
    parser.add_argument('--people', type=int, default=600, help='phones of the city')
    parser.add_argument('--every', type=float, default=0.5, help='seconds between the reports of each')
    parser.add_argument('--halves', type=int, default=2_000_000, help='halves of background friendships')
    parser.add_argument('--partitions', type=int, default=12)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--only', help='of the memberships, those whose name begins so')
    parser.add_argument('--folder', help='where everything is put, and left (default: a temporary one, removed)')
    parser.add_argument('--json', type=pathlib.Path)
    return parser.parse_args()


def load_background(cluster, halves):
    """Friend lists of FRIENDS_EACH, and everybody in them opted in: straight into the topics."""
    program('edge', 'prepare', '--bootstrap', cluster.broker.bootstrap, '--prefix', cluster.prefix, '--friends', FRIENDS_EACH,
            '--sessions', max(2 * FRIENDS_EACH, halves // FRIENDS_EACH))


# what reports wait

class Waits(threading.Thread):
    """Of each report that was told: when Kafka had it, its partition, and how long that took, in ms."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.waits, self.ending = [], False
        self._waiting, self._told = {}, {}  # by user: reports [(time, appended, partition)]; the newest told (time, when)
        self._consumer = Consumer({'bootstrap.servers': cluster.broker.bootstrap, 'group.id': 'bench-rebalance',
                                   'enable.auto.commit': False, 'auto.offset.reset': 'latest', 'fetch.wait.max.ms': 50})
        self._locations = cluster.prefix + 'locations'
        topics = [(self._locations, cluster.partitions), (cluster.prefix + 'deliveries', cluster.delivery_partitions)]
        self._consumer.assign([TopicPartition(topic, p, -1) for topic, count in topics for p in range(count)])

    def run(self):
        while not self.ending:
            for message in self._consumer.consume(500, 0.2):
                if not message.error():
                    (self._report if message.topic() == self._locations else self._batch)(message)
        self._consumer.close()

    def _report(self, message):
        record = decode(message.value())
        if record['kind'] in ('REPORT', 'JOIN'):
            user, report = record['user'], (record['time'], message.timestamp()[1], message.partition())
            time_told, at = self._told.get(user, (-1, 0))
            if time_told >= report[0]:  # the delivery was read first
                self.waits.append((report[1], report[2], max(0, at - report[1])))
            else:
                self._waiting.setdefault(user, []).append(report)

    def _batch(self, message):
        at = message.timestamp()[1]
        for kind, item in decode(message.value())['items']:
            if kind == 'Move':
                self._tell(item['user'], item['time'], at)
            elif kind == 'Digest':
                self._tell(item['recipient'], item['time'], at)

    def _tell(self, user, time_told, at):
        if time_told <= self._told.get(user, (-1, 0))[0]:
            return
        self._told[user] = time_told, at
        waiting = self._waiting.pop(user, [])
        for report in waiting:
            if report[0] <= time_told:
                self.waits.append((report[1], report[2], max(0, at - report[1])))
        if left := [report for report in waiting if report[0] > time_told]:
            self._waiting[user] = left

    def longest(self, since_ms, until_ms) -> dict:
        """By partition, of the reports that Kafka had between the two, in seconds."""
        found = {}
        for appended, partition, wait in list(self.waits):
            if since_ms <= appended < until_ms:
                found[partition] = max(found.get(partition, 0), wait / 1000)
        return found

    def current(self) -> bool:
        """Reports of this very second have been delivered."""
        return any(appended > time.time() * 1000 - 1000 for appended, _, _ in self.waits[-200:])


# the world

MEMBERSHIPS = [  # name, settings, whether with group.instance.id
    ('static, stand-by', {'standby.replicas': 1}, True),
    ('dynamic, stand-by', {'standby.replicas': 1}, False),
    ('static, alone', {'standby.replicas': 0, 'stop.hands.over': 'false'}, True),
    ('dynamic, alone', {'standby.replicas': 0}, False),
]


class World:
    def __init__(self, options, folder, say):
        self.options, self.folder, self.say = options, folder, say
        self.broker = Broker(folder / 'kafka', pathlib.Path(os.environ['STARLING_KAFKA_LIB']))
        (folder / 'kafka').mkdir()
        (folder / 'cluster').mkdir()
        self.broker.start()
        self.cluster = Cluster(self.broker, folder / 'cluster', options.partitions, 8)
        self.cluster.start(routers=0, sinks=0)
        say(f'writing {options.halves:,} halves of friendships')
        load_background(self.cluster, options.halves)
        self.set_up = False

    def add(self, settings, name):
        own = {**settings, 'group.instance.id': name} if name else settings
        return self.cluster.add('router', wait=False, settings={'kafka.session.timeout.ms': 6000, **own})

    def simulate(self, name):
        """Phones that move until the file `go` is there."""
        self.go, self.lists = self.folder / f'go-{name}', self.folder / f'lists-{name}.csv'
        more = ['--no-setup'] if self.set_up else []
        self.set_up = True
        self.simulation = Simulation(self.cluster, '--city', self.options.people, '--seed', self.options.seed, '--every',
                                     self.options.every, '--for', 1, '--wait-for', self.go, '--lists', self.lists, *more)

    def settled(self, routers, replicas, timeout=120):
        settled(routers, self.options.partitions, replicas, timeout)
        eventually(lambda: all(caught_up(router) for router in routers), timeout, what='routers are caught up')

    def finish(self, name) -> dict:
        """Every phone's list against brute force."""
        self.go.touch()
        self.simulation.finish(240)
        last, pairs = city_truth(self.cluster)
        now = int(time.time() * 1000)
        pairs = {pair for pair in pairs if max(pair) < BACKGROUND}
        compared = compare(name, read_lists(self.lists), last, pairs, now)
        return {'users': len(last), 'pairs': compared}

    def close(self):
        self.cluster.kill()
        self.broker.kill()


def now_ms():
    return int(time.time() * 1000)


def around(world, waits, act, routers, replicas) -> dict:
    """Acts, and waits until the routers that are there then serve and stand by again."""
    begun = now_ms()
    clock = time.monotonic()
    act()
    world.settled(routers(), replicas)
    took = time.monotonic() - clock
    time.sleep(2)
    until = now_ms() - 1000
    found = waits.longest(begun - 500, until)
    missing = set(range(world.options.partitions)) - found.keys()
    assert not missing, f'of partitions {missing} no report was delivered'
    return {'longest_s': max(found.values()), 'median_s': statistics.median(found.values()), 'settled_s': took,
            'by_partition_s': {p: round(found[p], 3) for p in sorted(found)}}


def first_router(world, settings, name):
    router = world.add(settings, name)
    router.wait_ready(300)
    return router


def come_and_go(world, membership) -> dict:
    title, settings, static = membership
    replicas, slug = settings['standby.replicas'], title.replace(', ', '-')
    names = [f'{slug}-{letter}' if static else '' for letter in 'mza']
    world.say(f'{title}: one router')
    first = first_router(world, settings, names[0])
    world.simulate(slug)
    eventually(lambda: 'phones, ' in world.simulation.said() and caught_up(first), 120)
    waits = Waits(world.cluster)
    waits.start()
    eventually(waits.current, 60, what='reports are delivered')
    alive = [first]

    def join(name):
        alive.append(world.add(settings, name))
        alive[-1].wait_ready(300)

    def leave():
        assert alive.pop().stop(timeout=60) == 0

    steps = [('calm', lambda: time.sleep(CALM_S)), ('1 to 2', lambda: join(names[1])), ('2 to 3', lambda: join(names[2])),
             ('3 to 2', leave), ('2 to 1', leave)]
    found = {}
    for step, act in steps:
        found[step] = around(world, waits, act, lambda: alive, replicas)
        world.say(f'{title}: {step}: {found[step]["longest_s"]:.2f} s')
    waits.ending = True
    waits.join()
    exact = world.finish(title)
    for router in alive:
        router.stop(timeout=60)
    for router in world.cluster.routers:
        shutil.rmtree(router.settings['data.dir'], ignore_errors=True)
        world.cluster.daemons.remove(router)
        router.folder.rename(router.folder.with_name(f'{slug}-{router.name}'))
    return {'membership': title, 'steps': found, 'exact': exact}


def table_of_rebalances(results):
    steps = list(results[0]['steps'])
    print(f"\n{'longest pause of a partition, s':34}" + ''.join(f'{step:>10}' for step in steps) + f"{'lists compared':>18}")
    for result in results:
        print(f"{result['membership']:34}" + ''.join(f"{result['steps'][step]['longest_s']:10.2f}" for step in steps)
              + f"{result['exact']['pairs']:12,} exact")
    worst = max(step['longest_s'] for step in results[0]['steps'].values())
    print(f"\n{results[0]['membership']}: {worst:.2f} s at most; target: under {TARGET_S} s{'' if worst < TARGET_S else ': MISSED'}")


def killing(world, minutes) -> dict:
    """Three static routers. A random one is killed again and again: it comes back at once, or only when others have taken over."""
    chance = random.Random(world.options.seed)
    settings = {'standby.replicas': 1}
    world.say('three routers')
    routers = [world.add(settings, name) for name in ('one', 'two', 'three')]
    for router in routers:
        router.wait_ready(300)
    world.simulate('kill')
    eventually(lambda: all(caught_up(router) for router in routers), 120)
    waits = Waits(world.cluster)
    waits.start()
    eventually(waits.current, 120, what='reports are delivered')
    kills, ends = [], time.monotonic() + minutes * 60
    while time.monotonic() < ends or not kills:
        victim, quick = chance.choice(routers), chance.random() < 0.4

        def kill(victim=victim, quick=quick):
            victim.kill()
            if not quick:
                world.settled([router for router in routers if router is not victim], 1)
            victim.start(timeout=120)

        found = around(world, waits, kill, lambda: routers, 1)
        kills.append({'victim': victim.name, 'back': 'at once' if quick else 'later', **found})
        world.say(f"{victim.name} killed, back {kills[-1]['back']}: {found['longest_s']:.2f} s, all settled after {found['settled_s']:.1f} s")
    waits.ending = True
    waits.join()
    return {'kills': kills, 'minutes': minutes, 'exact': world.finish('after kills')}


def table_of_kills(result):
    print(f"\n{'kill -9 of one of three routers':34}{'kills':>7}{'median':>9}{'longest':>9}   s until reports are delivered again")
    for back, what in (('at once', 'started again at once'), ('later', 'started when others had taken over')):
        longest = [kill['longest_s'] for kill in result['kills'] if kill['back'] == back]
        if longest:
            print(f'{what:34}{len(longest):7}{statistics.median(longest):9.2f}{max(longest):9.2f}')
    worst = max(kill['longest_s'] for kill in result['kills'])
    print(f"\n{worst:.2f} s at most; target: {KILL_TARGET_S} s with a session timeout of 6 s{'' if worst <= KILL_TARGET_S else ': MISSED'}; "
          f"afterwards {result['exact']['pairs']:,} entries of {result['exact']['users']:,} lists, all exact")


def run(options, folder):
    started = time.monotonic()

    def say(text):
        print(f'[{time.monotonic() - started:5.1f} s] {text}', file=sys.stderr, flush=True)

    this = machine() | {'kafka': kafka_version()}
    print(f"rebalance: {this['cpu']}, {this['cores']} cores, Linux {this['kernel']}, {this['version']}, Kafka {this['kafka']}")
    print(f"{options.people:,} phones, each reporting every {options.every} s; {options.partitions} partitions, {options.halves:,} halves of "
          f"friendships besides the city's")
    result = {'bench': 'rebalance', 'machine': this, 'people': options.people, 'every_s': options.every,
              'halves': options.halves, 'partitions': options.partitions}
    world = World(options, folder, say)
    try:
        if options.kill:
            result['kill'] = killing(world, options.kill)
            table_of_kills(result['kill'])
        else:
            wanted = [m for m in MEMBERSHIPS if not options.only or m[0].startswith(options.only)]
            result['rebalances'] = [come_and_go(world, membership) for membership in wanted]
            table_of_rebalances(result['rebalances'])
    finally:
        world.close()
    if options.json:
        options.json.write_text(json.dumps(result) + '\n')


def main():
    options = arguments()
    in_folder(options.folder, lambda folder: run(options, folder))


if __name__ == '__main__':
    main()
