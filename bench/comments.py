"""Measures comments: deciding commands from Kafka, pages over HTTP, writes while their owner stands still, one build for many readers, and
pages of a large store that no cache has; each beside its floor in the same run, and beside what else one could build it with. CPU is
counted over all of a process's threads; the broker's is said apart.

Half of all commands are about one subject, the rest about --subjects others. bench/results says which targets there are."""
import argparse
import contextlib
import functools
import json
import os
import pathlib
import struct
import sys
import time

from confluent_kafka import Consumer, TopicPartition

from harness.broker import Broker
from harness.cluster import Cluster, build_folder

from comments_cold import measure_cold, report_cold
from comments_pages import measure_once, measure_pages, measure_stopped, report_once, report_pages, report_stopped
from comments_peers import measure_peers, report_peers
from deciding import Deciding, report_deciding, wait_decided
from machine import in_folder_with_stack, kafka_version, machine, program

STAGES = ('decide', 'pages', 'stopped', 'once', 'cold', 'peers')
READ_BACK = ('comments', 'comment-texts', 'reactions', 'comment-refusals')
ONLY_WRITTEN = ('comments-wide', 'comment-offsets', 'moderation-log')
TARGETS = {'posts': 50_000, 'replies': 50_000, 'likes': 100_000}  # commands a second and core
LIKES_TIMES_MOST = 1.2
QUICK = {'posts': 5_000, 'replies': 5_000, 'likes': 10_000, 'edits': 5_000, 'subjects': 100, 'rounds': 1, 'size': 200_000, 'readers': 1_000,
         'seconds': 3, 'peer_comments': 20_000}


def arguments():
    parser = argparse.ArgumentParser(prog='./dev bench comments', description=__doc__)
    parser.add_argument('--stages', default=','.join(STAGES))
    parser.add_argument('--quick', action='store_true', help='small numbers, to see that everything runs')
    parser.add_argument('--posts', type=int, default=100_000, help='roots that are written, a round')
    parser.add_argument('--replies', type=int, default=100_000, help='a round')
    parser.add_argument('--likes', type=int, default=200_000, help='a round')
    parser.add_argument('--edits', type=int, default=100_000, help='by a moderator, a round; each of another comment')
    parser.add_argument('--subjects', type=int, default=2_000)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--seconds', type=float, default=8, help='of each measurement over HTTP')
    parser.add_argument('--readers', type=int, default=10_000, help='who ask for one page at once')
    parser.add_argument('--size', type=int, default=20_000_000, help='comments of the large store')
    parser.add_argument('--peer-comments', type=int, default=300_000)
    parser.add_argument('--partitions', type=int, default=12)
    parser.add_argument('--folder', help='where everything is put, and left (default: a temporary one, removed)')
    parser.add_argument('--json', type=pathlib.Path)
    options = parser.parse_args()
    if options.quick:
        vars(options).update(QUICK)
    options.stages = options.stages.split(',')
    if unknown := set(options.stages) - set(STAGES):
        parser.error(f'there is no stage {", ".join(sorted(unknown))}')
    return options


def say(text):
    print(f'[{time.process_time():5.1f} s of CPU] {text}', file=sys.stderr, flush=True)


class World:
    """The numbers of comments_world.h, and the program that knows the rest."""

    def __init__(self, options, cluster, copies, folder):
        self.options, self.cluster, self.copies, self.folder = options, cluster, copies, folder
        self.written = self.edited = 0

    def load(self, what, **more) -> str:
        values = {'subjects': self.options.subjects, 'partitions': self.options.partitions,
                  'bootstrap': self.cluster.broker.bootstrap, 'prefix': self.cluster.prefix, **more}
        words = [part for name, value in values.items() for part in (f'--{name}', value)]
        return program(build_folder() / 'bench-comments-load', what, *words)

    def command(self, what, count):
        self.load(what, **{'from': self.written, 'count': count, 'path': self.folder / 'comments', 'skip': self.edited})
        self.written += count
        self.edited += count if what == 'edits' else 0

    def note_comments(self):
        """Writes the file of all comments so far: what is answered and liked."""
        topic = self.cluster.prefix + 'comments'
        consumer = Consumer({'bootstrap.servers': self.cluster.broker.bootstrap, 'group.id': 'bench-comments-read',
                             'enable.partition.eof': True, 'enable.auto.commit': False})
        consumer.assign([TopicPartition(topic, p, 0) for p in range(self.options.partitions)])
        found, left = set(), self.options.partitions
        while left:
            for message in consumer.consume(10_000, 1):
                subject, nul, id = (message.key() or b'').partition(b'\0') if not message.error() else (b'', b'', b'')
                left -= bool(message.error())
                if nul:
                    found.add((int(subject[5:]), int.from_bytes(id, 'big')))
        consumer.close()
        (self.folder / 'comments').write_bytes(b''.join(struct.pack('qq', *one) for one in sorted(found)))


# commands, from Kafka to the store

def measure_decide(world, process) -> dict:
    """Medians of the rounds, by CPU a command."""
    deciding = Deciding(process, world.cluster, world.copies, READ_BACK, ONLY_WRITTEN)
    found = {}

    def write(what, count):
        say(f'{what}, from command {world.written:,} on')
        world.command(what, count)

    for what in ('posts', 'replies', 'likes', 'subject-likes', 'edits'):
        count = getattr(world.options, what.rpartition('-')[2])
        if what == 'replies':
            say('reading which comments there are')
            world.note_comments()
        found[what] = deciding.rounds('comment-commands', count, world.options.rounds, functools.partial(write, what, count))
    return found


def report_decided(rows):
    report_deciding(rows, TARGETS)
    times = rows['subject-likes']['cpu_s'] / rows['likes']['cpu_s']
    print(f'  a like of a subject (a post) takes {times:.2f} times that of a comment, which may be {LIKES_TIMES_MOST} at most')


# all of it

def cluster_of(broker, folder, options, name, stack, **settings) -> Cluster:
    (folder / name).mkdir()
    cluster = Cluster(broker, folder / name, options.partitions, options.partitions, settings={
        'comments:kafka.session.timeout.ms': 60000, 'ingest:ingest.max.connections': 12000, 'ingest:ingest.network.connections': 0, **settings})
    stack.callback(cluster.kill)
    cluster.create_topics()
    return cluster


def run_hot(options, folder, stack, broker, result):
    """The stages that need a world of commands."""
    cluster = cluster_of(broker, folder, options, 'world', stack)
    world = World(options, cluster, cluster_of(broker, folder, options, 'copies', stack), folder)
    process = cluster.add('comments')
    if 'decide' in options.stages:
        result['decide'] = measure_decide(world, process)
        report_decided(result['decide'])
    else:
        say('commands')
        world.command('posts', options.posts)
        wait_decided(process, options.posts)
        world.note_comments()
        world.command('replies', options.replies)
        wait_decided(process, options.posts + options.replies)
    if not {'pages', 'stopped', 'once'} & set(options.stages):
        return
    for kind in ('router', 'feed'):  # the gateway asks them about blocks
        cluster.add(kind)
    cluster.add('ingest')
    if 'pages' in options.stages:
        result['pages'] = measure_pages(world, folder, say)
        report_pages(result['pages'])
    if 'stopped' in options.stages:
        result['stopped'] = measure_stopped(world, say)
        report_stopped(result['stopped'])
    if 'once' in options.stages:
        result['once'] = measure_once(world, say)
        report_once(result['once'])


def run(options, folder, stack):
    result = {'bench': 'comments', 'machine': machine(), 'kafka': kafka_version()}
    print(f'comments: {result["machine"]["cpu"]}, {result["machine"]["cores"]} cores, Linux {result["machine"]["kernel"]}, '
          f'{result["machine"]["version"]}, Kafka {result["kafka"]}')
    (folder / 'kafka').mkdir()
    broker = Broker(folder / 'kafka', pathlib.Path(os.environ['STARLING_KAFKA_LIB']))
    stack.callback(broker.kill)
    broker.start()
    if {'decide', 'pages', 'stopped', 'once'} & set(options.stages):
        with contextlib.ExitStack() as inner:
            run_hot(options, folder, inner, broker, result)
    if 'cold' in options.stages:
        cluster = cluster_of(broker, folder, options, 'cold', stack)
        result['cold'] = measure_cold(World(options, cluster, None, folder), folder, say)
        report_cold(result['cold'])
        cluster.kill()
    if 'peers' in options.stages:
        result['peers'] = measure_peers(options, folder, say)
        report_peers(result['peers'], result)
    if options.json:
        options.json.write_text(json.dumps(result) + '\n')


def main():
    options = arguments()
    in_folder_with_stack(options.folder, lambda folder, stack: run(options, folder, stack))


main()
