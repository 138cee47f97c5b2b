"""Measures the feed's units of work: a page, a pushed entry, a hot id, a decided post and follow, a page over HTTP, a restored post; each
beside its floor, and beside what else one could build it with. CPU is counted over all of a process's threads; the broker's is said apart.

Everybody follows --following of --people and has an inbox; authors are drawn evenly. Lists of follows are written into the store of
starling-feed before it starts, with its own code; everything else goes through Kafka."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from harness.broker import Broker
from harness.cluster import Cluster, build_folder
from harness.waiting import eventually

from deciding import report_deciding
from feed_decide import measure_decide
from feed_http import measure_http, report_http
from feed_live import measure_live, report_live
from feed_model import report_model
from feed_notify import measure_notify, report_notify
from feed_peers import measure_peers, report_peers
from machine import cpu_s, in_folder_with_stack, kafka_version, load, machine, metric, program, wait_quiet
from offsets import ends

LIVE = 4  # a partition's stage
RESTORED_A_SECOND = 5000  # on a slow machine
STAGES = ('pages', 'push', 'decide', 'notify', 'http', 'live', 'restore', 'peers')
HOUR_MS = 3600000
STORE_MB = 256  # as it is by default, where the other stages have more
LIVE_S, LIVE_POSTS = 20, 20  # for so long, so many a second


def arguments():
    parser = argparse.ArgumentParser(prog='./dev bench feed', description=__doc__)
    parser.add_argument('--stages', default=','.join(STAGES))
    parser.add_argument('--people', type=int, default=20_000)
    parser.add_argument('--following', type=int, default=500)
    parser.add_argument('--posts', type=int, default=20_000, help='that are pushed')
    parser.add_argument('--hot', type=int, default=3_000_000, help='hot ids that are taken in')
    parser.add_argument('--commands', type=int, default=100_000, help='posts, and as many follows, that are decided, a round')
    parser.add_argument('--notices', type=int, default=60_000, help='that are handled, and pushed, a round')
    parser.add_argument('--restored', type=int, default=1_000_000, help='posts whose index is restored')
    parser.add_argument('--peer-people', type=int, default=5_000)
    parser.add_argument('--peer-posts', type=int, default=50_000, help='of theirs')
    parser.add_argument('--http-people', type=int, default=2_000)
    parser.add_argument('--partitions', type=int, default=12)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--folder', help='where everything is put, and left (default: a temporary one, removed)')
    parser.add_argument('--json', type=pathlib.Path)
    return parser.parse_args()


def say(text):
    print(f'[{time.process_time():5.1f} s of CPU] {text}', file=sys.stderr, flush=True)


class World:
    """The numbers of feed_world.h, and the program that knows the rest."""

    def __init__(self, options, cluster):
        self.options, self.cluster = options, cluster
        self.begin_ms = int(time.time() * 1000) - HOUR_MS
        self.posted = 0

    def load(self, what, **more) -> str:
        values = {'people': self.options.people, 'following': self.options.following,
                  'partitions': self.options.partitions, 'begin-ms': self.begin_ms, 'step-us': 300,
                  'bootstrap': self.cluster.broker.bootstrap, 'prefix': self.cluster.prefix, **more}
        return load('feed', what, **values)

    def post(self, count, rate=0) -> int:
        """Returns how many inbox entries they lead to. rate: posts a second; 0: as fast as it goes."""
        entries = int(self.load('posts', **{'from': self.posted, 'count': count, 'rate': rate}))
        self.posted += count
        return entries

    def ends(self, topic) -> list[int]:
        return ends(self.cluster, topic, self.options.partitions)

    def bytes_of(self, topic) -> int:
        """The bytes of the topic's log on the broker's disk."""
        data = self.cluster.broker.log_path.parent / 'data'
        return sum(file.stat().st_size for file in data.rglob(f'{self.cluster.prefix}{topic}-*/*.log'))


def wait_entries(feed, wanted):
    """Waits until that many entries are taken in and written."""
    eventually(lambda: metric(feed, 'inbox_entries_total') >= wanted or not feed.alive(), 280, every=0.1,
               what='all entries are taken in')
    assert feed.alive(), feed.tail()
    eventually(lambda: metric(feed, 'inbox_bytes') < 10000, 60, every=0.05, what='all entries are written')


def floor_s(world, topic, first, last, out='timelines', batches=0, size=1) -> float:
    floor = program('router-floor', world.cluster.broker.bootstrap, world.cluster.prefix + topic, ','.join(map(str, first)),
                    ','.join(map(str, last)), world.cluster.prefix + out, world.options.partitions, batches, size)
    return json.loads(floor)['cpu_s']


def push_round(world, feed) -> dict:
    """The backlog is written while the process is stopped, so that it is there whole when it goes on."""
    wait_quiet(feed.pid)
    before, told = metric(feed, 'inbox_entries_total'), metric(feed, 'batches_total')
    first, size = {topic: world.ends(topic) for topic in ('posts', 'post-texts', 'timelines')}, world.bytes_of('timelines')
    feed.pause()
    wanted = world.post(world.options.posts)
    cpu, broker, began = cpu_s(feed.pid), cpu_s(world.cluster.broker.pid), time.monotonic()
    feed.resume()
    wait_entries(feed, before + wanted)
    wall = time.monotonic() - began
    found = {'posts': world.options.posts, 'entries': wanted, 'cpu_s': cpu_s(feed.pid) - cpu, 'wall_s': wall,
             'broker_cpu_s': cpu_s(world.cluster.broker.pid) - broker, 'batches': metric(feed, 'batches_total') - told,
             'batch_bytes': world.bytes_of('timelines') - size}
    wait_quiet(feed.pid)
    found['merged_cpu_s'] = cpu_s(feed.pid) - cpu  # with what RocksDB merged afterwards
    last = {topic: world.ends(topic) for topic in first}
    # The floor, librdkafka alone: it reads posts and texts while the batches are written, and then reads the batches.
    found['floor_cpu_s'] = sum(floor_s(world, topic, first[topic], last[topic]) for topic in first)
    found['floor_cpu_s'] += floor_s(world, 'posts', last['posts'], last['posts'], 'deliveries', found['batches'],
                                    found['batch_bytes'] / found['batches'])
    return found


def push_live(world, feed) -> dict:
    """Pushes posts one by one: an inbox gets some 5 entries between two writes (inbox.write.s), as in life within 5 minutes. Less what
    the process takes when nobody posts."""
    before, cpu = metric(feed, 'inbox_entries_total'), cpu_s(feed.pid)
    time.sleep(LIVE_S / 2)
    idle, began = (cpu_s(feed.pid) - cpu) / (LIVE_S / 2), time.monotonic()
    cpu = cpu_s(feed.pid)
    wanted = world.post(LIVE_S * LIVE_POSTS, LIVE_POSTS)
    wait_entries(feed, before + wanted)
    return {'entries': wanted, 'cpu_s': cpu_s(feed.pid) - cpu - idle * (time.monotonic() - began), 'idle': idle}


def people_of(world, *feeds):
    """Everybody gets an inbox, before anybody follows, so that nobody is asked for posts; then the lists of follows."""
    feeds[0].start(timeout=280)
    world.load('begins')
    eventually(lambda: metric(feeds[0], 'inboxes') == world.options.people, 120, what='everybody has an inbox')
    wait_quiet(feeds[0].pid)
    feeds[0].stop()
    for feed in feeds:
        world.load('lists', path=feed.settings['data.dir'])


def measure_push(world, feed) -> dict:
    """The median of the rounds, by CPU an entry."""
    rounds = []
    for number in range(world.options.rounds):
        say(f'push, round {number + 1}')
        rounds.append(push_round(world, feed))
    rounds.sort(key=lambda found: found['cpu_s'] / found['entries'])
    say('push, as posts come in life')
    rounds[len(rounds) // 2]['live'] = push_live(world, feed)
    return rounds[len(rounds) // 2] | {'rounds_us': [found['cpu_s'] / found['entries'] * 1e6 for found in rounds]}


def disk_bytes(world, feed) -> float:
    """The bytes on disk of an entry of an inbox: the growth of the store of posts and inboxes by the pushes. All inboxes are full then."""
    feed.stop()
    found = json.loads(world.load('inboxes', path=feed.settings['data.dir']))
    return found['bytes'] / found['entries']


def started(feed, limit_s=280, **settings) -> dict:
    """Starts it and waits until it serves pages, looking often. CPU is that of the whole process until then."""
    began = time.monotonic()
    feed.start(wait=False, **settings)
    eventually(lambda: feed.ready() or not feed.alive(), limit_s, every=0.01, what='the process is ready')
    assert feed.alive(), feed.tail()
    return {'ready_s': time.monotonic() - began, 'cpu_s': cpu_s(feed.pid)}


def measure_hot(world) -> dict:
    """The ids are written while the process is stopped. Its start is not measured: that takes more CPU than reading them does, and another
    amount each time."""
    feed = world.cluster.add('feed', start=False).start(timeout=280)
    wait_quiet(feed.pid)
    feed.pause()
    world.load('hot', **{'from': 0, 'count': world.options.hot, 'step-us': 1000})
    size, cpu = world.bytes_of('hot-posts'), cpu_s(feed.pid)
    feed.resume()
    eventually(lambda: metric(feed, 'hot_posts') >= world.options.hot or not feed.alive(), 120, every=0.05,
               what='all hot ids are taken in')
    assert feed.alive(), feed.tail()
    cpu, ids, memory = cpu_s(feed.pid) - cpu, metric(feed, 'hot_posts'), metric(feed, 'hot_bytes')
    feed.stop()
    floor = floor_s(world, 'hot-posts', [0] * world.options.partitions, world.ends('hot-posts'))
    assert ids == world.options.hot, f'{ids} hot ids of {world.options.hot}'
    return {'ids': ids, 'cpu_s': cpu, 'floor_cpu_s': floor, 'bytes': memory, 'topic_bytes': size}


def measure_restore(world) -> dict:
    """A world without followers, so that no post is pushed. The stand-by begins with a copy of the first process's disk, as it would have after
    a restart; what it has read by itself before does not matter to how fast it takes over."""
    posts, limit_s = world.options.restored, 280 + world.options.restored / RESTORED_A_SECOND
    feed = world.cluster.add('feed', start=False)
    empty = started(feed)
    feed.stop()
    say(f'restore: {posts:,} posts are written')
    world.load('posts', **{'from': 0, 'count': posts, 'following': 1})
    floor = sum(floor_s(world, topic, [0] * world.options.partitions, world.ends(topic)) for topic in ('posts', 'post-texts'))
    shutil.rmtree(feed.folder / 'data')
    say('restore: from the topics')
    rows = {'the topics': started(feed, limit_s)}
    feed.stop()
    other = world.cluster.add('feed', start=False)
    shutil.copytree(feed.folder / 'data', other.folder / 'data')
    say('restore: from its own disk, and a stand-by')
    rows['its own disk'] = started(feed, limit_s)
    other.start(timeout=limit_s)
    eventually(lambda: metric(other, 'partitions_standby_current') == world.options.partitions // 2, limit_s,
               what='the stand-by is up to date')
    cpu, began = cpu_s(other.pid), time.monotonic()
    feed.kill()
    eventually(lambda: other.metrics().total('starling_feed_partition_stage') == LIVE * world.options.partitions, 60,
               every=0.01, what='the stand-by has taken over')
    rows['a stand-by, by kill -9'] = {'ready_s': time.monotonic() - began, 'cpu_s': cpu_s(other.pid) - cpu}
    other.stop()
    return {'posts': posts, 'rows': rows, 'empty_cpu_s': empty['cpu_s'], 'floor_cpu_s': floor}


# all of it

def measure_alone(name, *words) -> dict:
    with tempfile.NamedTemporaryFile(suffix='.json') as file:
        done = subprocess.run([build_folder() / name, *words, '--json', file.name])
        if done.returncode:
            sys.exit(f'bench feed: {name} failed')
        return json.loads(pathlib.Path(file.name).read_text())


def per(seconds, count) -> float:
    return seconds / count * 1e6


def report_push(push, hot):
    us, floor = per(push['cpu_s'], push['entries']), per(push['floor_cpu_s'], push['entries'])
    print(f"\npush, from `posts` to stored inboxes: {push['posts']:,} posts, {push['entries']:,} entries in {push['wall_s']:.1f} s\n"
          f"  starling-feed {us:.3f} us an entry, {1 / us:.2f} M entries/s/core (target 0.5); rounds: "
          f"{', '.join(f'{one:.3f}' for one in push['rounds_us'])}; with RocksDB's merging afterwards "
          f"{per(push['merged_cpu_s'], push['entries']):.3f}\n"
          f"  {LIVE_POSTS} posts a second: {per(push['live']['cpu_s'], push['live']['entries']):.3f} us an entry; with nobody posting the process takes "
          f"{push['live']['idle']:.1%} of a core\n"
          f"  librdkafka alone {floor:.3f} us, {us / floor:.1f} times that; broker {per(push['broker_cpu_s'], push['entries']):.3f} us\n"
          f"  {push['batch_bytes'] / push['entries']:.1f} bytes an entry in `timelines`; on disk {push['disk_bytes']:.1f} bytes an entry "
          f"when all have got as many")
    us, floor = per(hot['cpu_s'], hot['ids']), per(hot['floor_cpu_s'], hot['ids'])
    print(f"hot: {hot['ids']:,.0f} ids read from `hot-posts`: {us:.3f} us each, {1 / us:.2f} M ids/s/core (target 1); "
          f"librdkafka alone {floor:.3f} us")


def report_restore(restore):
    print(f"\nrestore of {restore['posts']:,} posts (index and texts); librdkafka alone reads them in {restore['floor_cpu_s']:.2f} s of CPU; "
          f"a process without posts is ready with {restore['empty_cpu_s']:.2f} s of CPU")
    for name, row in restore['rows'].items():
        print(f"  from {name:24} pages are served after {row['ready_s']:6.2f} s, CPU {row['cpu_s']:6.2f} s")


def cluster_of(broker, folder, options, name, stack, **settings) -> Cluster:
    (folder / name).mkdir()
    cluster = Cluster(broker, folder / name, options.partitions, options.partitions, settings={
        'feed:store.memory.mb': 1024, 'feed:kafka.session.timeout.ms': 240000, 'feed:feed.push.max': 100000,
        'feed:inbox.write.s': 10, **settings})
    stack.callback(cluster.kill)
    cluster.create_topics()
    return cluster


def run(options, folder, stack):
    stages = options.stages.split(',')
    result = {'bench': 'feed', 'machine': machine(), 'kafka': kafka_version()}
    if 'pages' in stages:
        result['pages'] = measure_alone('bench-feed-pages', '--rounds', str(options.rounds))
        result['inboxes'] = measure_alone('bench-feed-inboxes')
    broker = Broker(folder / 'kafka', pathlib.Path(os.environ['STARLING_KAFKA_LIB']))
    (folder / 'kafka').mkdir()
    stack.callback(broker.kill)
    broker.start()
    if 'push' in stages:
        world = World(options, cluster_of(broker, folder, options, 'push', stack))
        feed = world.cluster.add('feed', start=False)
        say('inboxes and lists of follows')
        people_of(world, feed)
        feed.start(timeout=280)
        result['push'] = measure_push(world, feed)
        result['push']['disk_bytes'] = disk_bytes(world, feed)
        say('hot ids')
        result['hot'] = measure_hot(World(options, cluster_of(broker, folder, options, 'hot', stack)))
        report_push(result['push'], result['hot'])
    if 'decide' in stages:
        say('lists of follows')
        world = World(options, cluster_of(broker, folder, options, 'decide', stack, **{'feed:store.memory.mb': STORE_MB}))
        result['decide'] = measure_decide(world, cluster_of(broker, folder, options, 'copies', stack), say)
        report_deciding(result['decide'], {})
    if 'notify' in stages:
        result['notify'] = measure_notify(World(options, cluster_of(broker, folder, options, 'notify', stack)), floor_s, say)
        report_notify(result['notify'])
    if 'http' in stages:
        say('pages over HTTP')
        world = World(options, cluster_of(broker, folder, options, 'http', stack))
        world.options.people, people = options.http_people, options.people
        feeds = [world.cluster.add('feed', start=False) for _ in range(2)]
        people_of(world, *feeds)
        for feed in feeds:
            feed.start(wait=False)
        for feed in feeds:
            feed.wait_ready(280)
        entries = world.post(2 * options.http_people)
        eventually(lambda: sum(metric(feed, 'inbox_entries_total') for feed in feeds) >= entries, 200,
                   what='inboxes are full')
        for feed in feeds:
            wait_quiet(feed.pid)
        readers = [(person * 0x9e3779b1 & (1 << 27) - 1) + 1 for person in range(min(1000, options.http_people))]
        result['http'] = measure_http(world, folder, 8, readers, say)
        options.people = people
        report_http(result['http'])
    if 'live' in stages:
        say('live')
        cluster = cluster_of(broker, folder, options, 'live', stack, **{
            'feed:feed.push.max': 1, 'fanout:edge.flush.window.ms': 0, 'ingest:ingest.outcome.wait.ms': 8000})
        cluster.start(routers=0, sinks=0, feeds=1, topics=False)
        result['live'] = measure_live(cluster)
        report_live(result['live'])
    if 'restore' in stages:
        say('restore')
        result['restore'] = measure_restore(World(options, cluster_of(broker, folder, options, 'restore', stack, **{
            'feed:kafka.session.timeout.ms': 6000})))
        report_restore(result['restore'])
    if 'peers' in stages:
        world = World(options, cluster_of(broker, folder, options, 'peers', stack))
        result['peers'] = measure_peers(world, options, folder, say)
        report_peers(result['peers'])
    report_model(result)
    if options.json:
        options.json.write_text(json.dumps(result) + '\n')


def main():
    options = arguments()
    in_folder_with_stack(options.folder, lambda folder, stack: run(options, folder, stack))


main()
