"""Records that nobody can use, in every topic and partition: whatever other programs write, nobody stops, and each is a dead letter where
there is a queue for them."""
import os
import struct

from confluent_kafka.admin import AdminClient

from harness.waiting import eventually

from drill import drill

FUTURE_SCHEMA = 1_000_000
PLACE = '__connect.errors.partition', '__connect.errors.offset'


def topics_of(world) -> set[str]:
    admin = AdminClient({'bootstrap.servers': world.broker.bootstrap, 'log_level': 3})
    prefix = world.cluster.prefix
    return {name.removeprefix(prefix) for name in admin.list_topics(timeout=10).topics if name.startswith(prefix)}


def known_records(topics, topic) -> list:
    """Records of that topic that are of use, the last one of each partition."""
    found = {message.partition: message for message in topics.read(topic) if message.value}
    return list(found.values())


def throw(topics, topic, partitions):
    """-> those thrown, as (partition, offset, what)."""
    thrown = []

    def produce(what, partition, key, value):
        thrown.append((partition, topics.produce(topic, key, value, partition=partition).offset, what))

    for partition in range(partitions):
        produce('random bytes', partition, os.urandom(8), os.urandom(200))
        produce('nothing', partition, None, None)
        produce('no key and no record', partition, None, b'')
    for message in known_records(topics, topic):
        produce('cut', message.partition, message.key, message.value[:-1])
        produce('only its schema', message.partition, message.key, message.value[:5])
        produce('a schema to come', message.partition, message.key, struct.pack('>bI', 0, FUTURE_SCHEMA) + message.value[5:])
        produce('wrong partition', (message.partition + 1) % partitions, message.key, message.value)
    return thrown


def dead(topics, topic) -> set:
    """(partition, offset) of those that have a letter."""
    found = set()
    for letter in topics.read(topic + '.dlq'):
        headers = dict(letter.headers)
        found.add(tuple(int(headers[name]) for name in PLACE))
    return found


def missing_letters(topics, topic, thrown):
    """Random bytes, cut records and those of schemas to come are always dead letters; others may be of use, or mean nothing."""
    wanted = {(partition, offset): what for partition, offset, what in thrown
              if what in ('random bytes', 'cut', 'only its schema', 'a schema to come')}
    letters = dead(topics, topic)
    return {place: what for place, what in wanted.items() if place not in letters}


@drill('records that are none in every topic: random bytes, cut, of a schema to come, in a wrong partition', 'nothing', within=(8, 8, 8))
def poison(world):
    topics, thrown = world.cluster.topics, {}
    names = topics_of(world)
    with world.traffic() as noticed:
        for topic in sorted(name for name in names if not name.endswith('.dlq')):
            thrown[topic] = throw(topics, topic, len(topics.ends(topic)))
    for topic in sorted(thrown):
        if topic + '.dlq' in names:
            eventually(lambda name=topic: not missing_letters(topics, name, thrown[name]), 30, every=0.5,
                       what=f'{topic}: everything has a dead letter but {missing_letters(topics, topic, thrown[topic])}')
    assert sum(topic + '.dlq' in names for topic in thrown) > 10
    return noticed
