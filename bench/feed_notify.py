"""Notices with and without notify.url for `./dev bench feed`: from `notices` to the store, and to a receiver that takes all at once.

A backlog is written while the process is stopped, and its CPU counts until all of it is stored, and pushed. The floor is librdkafka alone that
reads the records. Everybody gets fewer notices than are kept, and watches none, so each is pushed and none is let go."""
import collections
import pathlib
import struct
import tempfile

from confluent_kafka import Consumer, Producer, TopicPartition

from harness.pushed import Pushed
from harness.records import encode, partition_of, user_key
from harness.waiting import eventually, now_ms
from machine import cpu_s, metric, wait_quiet

EACH, MENTION = 20, 2


def write(cluster, first, people):
    """Notices of mentions of these people."""
    now = now_ms()
    value = encode('notice', {'what': 'MENTION', 'user': 5, 'subject': 'post:7', 'comment': 0, 'time': now, 'likes': 0})
    producer = Producer({'bootstrap.servers': cluster.broker.bootstrap, 'linger.ms': 20, 'queue.buffering.max.messages': 2 * people * EACH})
    for number in range(EACH):
        for user in range(first, first + people):
            producer.produce(cluster.topics.name('notices'), value, struct.pack('>qqbq', user, 2**63 - 1 - now, MENTION, number),
                             partition=partition_of(user_key(user), cluster.partitions))
    assert producer.flush(120) == 0


def wait_read(cluster, last):
    """Until the group knows that all effects are carried out."""
    consumer = Consumer({'bootstrap.servers': cluster.broker.bootstrap, 'group.id': cluster.group('feed')})
    places = [TopicPartition(cluster.topics.name('notices'), p) for p in range(cluster.partitions)]
    eventually(lambda: [place.offset for place in consumer.committed(places)] == last, 280, every=0.2, what='all notices are handled')
    consumer.close()


def measure_notify(world, floor_s, say) -> dict:
    """The medians of the rounds, in us of CPU a notice."""
    cluster, people, found = world.cluster, world.options.notices // EACH, collections.defaultdict(list)
    first, feed = 1 << 40, cluster.add('feed', start=False)
    with tempfile.TemporaryDirectory() as folder, Pushed(pathlib.Path(folder)) as receiver:
        settings = {key.removeprefix('feed:'): value for key, value in receiver.settings.items()}
        for number in range(world.options.rounds):
            for name, more in ('without', {'notify.url': ''}), ('with', settings):
                say(f'notices {name} notify.url, round {number + 1}')
                feed.start(timeout=280, **more)
                wait_quiet(feed.pid)
                before = world.ends('notices')
                feed.pause()
                write(cluster, first, people)
                last, cpu = world.ends('notices'), cpu_s(feed.pid)
                feed.resume()
                wait_read(cluster, last)
                found[name].append((cpu_s(feed.pid) - cpu) / (people * EACH) * 1e6)
                if name == 'with':
                    eventually(lambda: metric(feed, 'notify_pushed_total') == people * EACH, 60, what='all notices are pushed')
                found['floor'].append(floor_s(world, 'notices', before, last) / (people * EACH) * 1e6)
                feed.stop()
                first += people
    return {name: sorted(rounds) for name, rounds in found.items()} | {'notices': people * EACH}


def report_notify(found):
    middle = {name: rounds[len(rounds) // 2] for name, rounds in found.items() if name != 'notices'}
    print(f"\nnotices: {found['notices']:,} a round, us of CPU each")
    for name in 'without', 'with':
        rounds = ', '.join(f'{one:.1f}' for one in found[name])
        print(f"  {name} notify.url {middle[name]:.1f} ({rounds}), {middle[name] / middle['floor']:.1f} times librdkafka alone")
    print(f"  a push {middle['with'] - middle['without']:.1f}; librdkafka alone {middle['floor']:.1f}")
