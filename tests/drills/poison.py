"""Records that nobody can use, in every topic and partition: whatever other programs write, nobody stops, and each is a dead letter where
there is a queue for them."""
import os
import struct

from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType

from harness.waiting import eventually

from .drill import drill

FUTURE_SCHEMA = 1_000_000
NOBODY = struct.pack('>q', -1)  # as a key: no user, and no subject
# The owners' own notes of their progress: what is none is passed over, as the group has the same offsets. And what no daemon reads.
PASSED_OVER = {'command-offsets', 'feed-offsets', 'comment-offsets', 'moderation-log', 'audit'}
# Topics whose writers choose the partition.
ANYWHERE = {'posts', 'post-texts', 'deliveries', 'timelines', 'timeline-requests'}
PLACE = '__connect.errors.partition', '__connect.errors.offset'


def topics_of(world) -> set[str]:
    admin = AdminClient({'bootstrap.servers': world.broker.bootstrap, 'log_level': 3})
    prefix = world.cluster.prefix
    return {name.removeprefix(prefix) for name in admin.list_topics(timeout=10).topics if name.startswith(prefix)}


def compacted(world, topics) -> set[str]:
    """Kafka itself refuses records without a key there."""
    admin, name = AdminClient({'bootstrap.servers': world.broker.bootstrap, 'log_level': 3}), world.cluster.topics.name
    asked = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name(topic)) for topic in topics])
    return {resource.name.removeprefix(world.cluster.prefix) for resource, future in asked.items()
            if future.result(10)['cleanup.policy'].value == 'compact'}


def known_records(topics, topic) -> list:
    """Records of that topic that are of use, the last one of each partition."""
    found = {message.partition: message for message in topics.read(topic) if message.value}
    return list(found.values())


def throw(topics, topic, partitions, keyless):
    """-> those thrown, as (partition, offset, what)."""
    thrown, known = [], known_records(topics, topic)

    def produce(what, partition, key, value):
        thrown.append((partition, topics.produce(topic, key, value, partition=partition).offset, what))

    for partition in range(partitions):
        produce('random bytes', partition, NOBODY, os.urandom(200))
        produce('empty', partition, b'', b'')
        if keyless:
            produce('nothing', partition, None, None)
    for message in known:
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
    """Whatever is not empty is a dead letter; but no partition is wrong where the key does not say which."""
    wanted = {(partition, offset): what for partition, offset, what in thrown
              if what not in ('empty', 'nothing') and not (what == 'wrong partition' and topic in ANYWHERE)}
    letters = dead(topics, topic)
    return {place: what for place, what in wanted.items() if place not in letters}


@drill('records that are none in every topic: random bytes, cut, of a schema to come, in a wrong partition', 'nothing', within=(10, 10, 10))
def poison(world):
    topics, thrown = world.cluster.topics, {}
    names = topics_of(world)
    with world.traffic() as noticed:
        wanted = sorted(name for name in names if not name.endswith('.dlq'))
        keyed = compacted(world, wanted)
        for topic in wanted:
            thrown[topic] = throw(topics, topic, len(topics.ends(topic)), topic not in keyed)
    queued = sorted(topic for topic in thrown if topic + '.dlq' in names and topic not in PASSED_OVER)
    assert len(queued) > 10

    def all_there():
        missing = {topic: found for topic in queued if (found := missing_letters(topics, topic, thrown[topic]))}
        assert not missing, f'without a dead letter: {missing}'
        return True

    eventually(all_there, 60, every=2)
    return noticed
