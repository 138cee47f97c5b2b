"""Records as anybody else's client sees them: confluent-kafka and fastavro, nothing of ours but schemas/."""
import collections
import functools
import io
import json
import pathlib
import re
import struct
import time

import fastavro
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic, ResourceType

from .broker import REPOSITORY
from .waiting import PATIENCE

SCHEMAS = REPOSITORY / 'schemas'

Message = collections.namedtuple('Message', 'topic partition offset key value timestamp headers')


def _load():
    by_id, newest = {}, {}
    for line in (SCHEMAS / 'ids.txt').read_text().splitlines():
        match = re.match(r'(\d+) ([a-z-]+) (\d+)\s*$', line)
        if match:
            number, name, version = int(match[1]), match[2], int(match[3])
            schema = json.loads((SCHEMAS / f'{name}-v{version}.avsc').read_text())
            by_id[number] = name, fastavro.parse_schema(schema)
            if version >= newest.get(name, (0, 0))[0]:
                newest[name] = version, number
    return by_id, {name: number for name, (_, number) in newest.items()}


_by_id, _newest = _load()


NEARBY = 1  # the kind of envelopes that hold a nearby-item
_MANY = {'Move': 'recipients', 'Left': 'recipients'}  # what a test calls those whom an item is for
_ONE = {'Roster': 'recipient', 'Digest': 'recipient', 'Self': 'recipient', 'Parted': 'recipient', 'Superseded': 'user'}


def _envelope(item) -> dict:
    """A (kind, fields) pair as an envelope; one that is a dict already is left as it is."""
    if isinstance(item, dict):
        return item
    kind, fields = item[0].rpartition('.')[2], dict(item[1])
    recipients = fields.pop(_MANY[kind]) if kind in _MANY else [fields.pop(_ONE[kind])]
    payload = io.BytesIO()
    fastavro.schemaless_writer(payload, _by_id[_newest['nearby-item']][1], {'item': (f'starling.nearby.{kind}', fields)})
    return {'kind': NEARBY, 'recipients': recipients, 'payload': payload.getvalue()}


def _from_envelope(envelope: dict):
    """An envelope of nearby as a (kind, fields) pair; others as they are."""
    if envelope['kind'] != NEARBY:
        return envelope
    rest = io.BytesIO(envelope['payload'])
    kind, fields = fastavro.schemaless_reader(rest, _by_id[_newest['nearby-item']][1], None, return_record_name=True)['item']
    assert not rest.read(), 'bytes left over behind the payload'
    kind = kind.rpartition('.')[2]
    if kind in _MANY:
        return kind, {**fields, _MANY[kind]: envelope['recipients']}
    assert len(envelope['recipients']) == 1
    return kind, {_ONE[kind]: envelope['recipients'][0], **fields}


def encode(name: str, record: dict, schema_id: int | None = None) -> bytes:
    """A Kafka value: the Confluent header and the record ('location', 'friend-command', ...). A DeliveryBatch's items are
    as decode gives them."""
    number = _newest[name] if schema_id is None else schema_id
    if name == 'delivery-batch':
        record = {**record, 'items': [_envelope(item) for item in record['items']]}
    out = io.BytesIO()
    out.write(struct.pack('>bI', 0, number))
    fastavro.schemaless_writer(out, _by_id[number][1], record)
    return out.getvalue()


def decode(value: bytes):
    """The record in a Kafka value, as a dict; None for a tombstone. A DeliveryBatch's items are (kind, dict) pairs,
    kind being 'Move', 'Roster', ..., with the recipients among the fields; envelopes of other products are dicts."""
    if value is None:
        return None
    magic, number = struct.unpack('>bI', value[:5])
    assert magic == 0, f'not the Confluent wire format: {value[:16]!r}'
    _, schema = _by_id[number]
    rest = io.BytesIO(value[5:])
    record = fastavro.schemaless_reader(rest, schema, None, return_record_name=True)
    assert not rest.read(), 'bytes left over behind the record'
    if number == _newest['delivery-batch']:
        record['items'] = [_from_envelope(envelope) for envelope in record['items']]
    return record


def user_key(user: int) -> bytes:
    return struct.pack('>q', user)


def pair_key(user: int, friend: int) -> bytes:
    return struct.pack('>qq', user, friend)


def key_users(key: bytes) -> tuple:
    return struct.unpack(f'>{len(key) // 8}q', key)


def partition_of(key: bytes, partitions: int) -> int:
    """As Java's default partitioner has it: murmur2."""
    data, m = key, 0x5bd1e995
    h = 0x9747b28c ^ len(data)
    for i in range(0, len(data) & ~3, 4):
        k = int.from_bytes(data[i:i + 4], 'little') * m & 0xffffffff
        k = (k ^ k >> 24) * m & 0xffffffff
        h = (h * m & 0xffffffff) ^ k
    rest = data[len(data) & ~3:]
    if rest:
        h = (h ^ int.from_bytes(rest, 'little')) * m & 0xffffffff
    h = (h ^ h >> 13) * m & 0xffffffff
    return ((h ^ h >> 15) & 0x7fffffff) % partitions


class Topics:
    """Reading and writing the topics of one prefix."""

    def __init__(self, bootstrap: str, prefix: str, client: dict | None = None):
        """client: what librdkafka's clients need besides the address."""
        self.bootstrap, self.prefix = bootstrap, prefix
        self._client = {'bootstrap.servers': bootstrap, **(client or {})}
        self._producer = None

    def name(self, topic: str) -> str:
        return self.prefix + topic

    @functools.cached_property
    def admin(self) -> AdminClient:
        return AdminClient({**self._client, 'log_level': 0})

    def create(self, topic: str, partitions: int, replication=1):
        """A plain topic, for tests that want what `starling topics create` does not make."""
        self.admin.create_topics([NewTopic(self.name(topic), partitions, replication)])[self.name(topic)].result(30)

    def set(self, topic: str, setting: str, value):
        """As an operator may."""
        entry = ConfigEntry(setting, str(value), incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, self.name(topic), incremental_configs=[entry])
        self.admin.incremental_alter_configs([resource])[resource].result(30)

    def settings(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ResourceType.TOPIC, self.name(topic))
        return {name: entry.value for name, entry in self.admin.describe_configs([resource])[resource].result(30).items()}

    def remove_all(self):
        """Deletes the topics of this prefix, as far as Kafka is there to do it: each one that is left makes the next start of
        a broker that was killed slower."""
        try:
            names = [name for name in self.admin.list_topics(timeout=5 * PATIENCE).topics if name.startswith(self.prefix)]
            for deleted in self.admin.delete_topics(names, request_timeout=10 * PATIENCE).values() if names else ():
                deleted.exception(15)
        except KafkaException:
            pass

    def grow(self, topic: str, partitions: int):
        """Gives a topic more partitions, as nobody should."""
        self.admin.create_partitions([NewPartitions(self.name(topic), partitions)])[self.name(topic)].result(30)

    def empty(self, topic: str):
        """Deletes all its records, as if they were too old."""
        ends = [TopicPartition(self.name(topic), partition, end) for partition, end in self.ends(topic).items()]
        for done in self.admin.delete_records(ends).values():
            done.result(30)

    def produce(self, topic: str, key, value, partition=None, headers=None) -> Message:
        """Writes one record and waits for Kafka's acknowledgement. key: a user id, bytes or None; value: bytes, None, or
        (record name, dict). Partitioned as Java does."""
        return self.produce_all(topic, [(key, value)], partition, headers)[0]

    def produce_all(self, topic: str, records: list, partition=None, headers=None) -> list[Message]:
        """The same for many: [(key, value)]."""
        if self._producer is None:
            self._producer = Producer({**self._client, 'partitioner': 'murmur2_random', 'linger.ms': 0})
        done = []
        where = {} if partition is None else {'partition': partition}
        for key, value in records:
            self._producer.produce(self.name(topic), key=user_key(key) if isinstance(key, int) else key,
                                   value=encode(*value) if isinstance(value, tuple) else value, headers=headers,
                                   on_delivery=lambda error, message: done.append((error, message)), **where)
        self._producer.flush(30)
        assert len(done) == len(records) and not any(error for error, _ in done), f'Kafka did not take them: {done[:5]}'
        return [_message(message) for _, message in done]

    def _consumer(self, isolation):
        return Consumer({**self._client, 'group.id': 'nobody', 'enable.auto.commit': False,
                         'isolation.level': isolation, 'enable.partition.eof': True, 'auto.offset.reset': 'error'})

    def ends(self, topic: str) -> dict[int, int]:
        consumer = self._consumer('read_uncommitted')
        try:
            name = self.name(topic)
            return {p: _watermarks(consumer, TopicPartition(name, p))[1]
                    for p in sorted(consumer.list_topics(name, 10).topics[name].partitions)}
        finally:
            consumer.close()

    def read(self, topic: str, start: dict[int, int] | None = None, isolation='read_committed') -> list[Message]:
        """Everything in the topic from the given offsets (default: the beginning) to its end, partition by partition in
        order. Values are bytes: decode(message.value)."""
        consumer = self._consumer(isolation)
        try:
            name = self.name(topic)
            parts, found = [], collections.defaultdict(list)
            for p in sorted(consumer.list_topics(name, 10).topics[name].partitions):
                low, _ = _watermarks(consumer, TopicPartition(name, p))
                parts.append(TopicPartition(name, p, max(low, (start or {}).get(p, low))))
            consumer.assign(parts)
            open_partitions = {p.partition for p in parts}
            while open_partitions:
                message = consumer.poll(10)
                assert message is not None, f'reading {name} timed out'
                if message.error() is None:
                    found[message.partition()].append(_message(message))
                elif message.error().name() == '_PARTITION_EOF':
                    open_partitions.discard(message.partition())
                else:
                    raise AssertionError(f'reading {name}: {message.error()}')
            return [m for p in sorted(found) for m in found[p]]
        finally:
            consumer.close()

    def copy_to(self, target: 'Topics', *topics: str):
        """A backup, and its restoring: each record in its order, into the partition of the same number."""
        producer = Producer({**target._client, 'queue.buffering.max.messages': 1_000_000})
        for topic in topics:
            for message in self.read(topic):
                producer.produce(target.name(topic), key=message.key, value=message.value, partition=message.partition)
        assert producer.flush(60) == 0

    def latest(self, topic: str) -> dict[bytes, dict]:
        """A compacted topic as a table: the last record of each key, without those that are tombstones."""
        table = {m.key: decode(m.value) for m in self.read(topic)}
        return {key: value for key, value in table.items() if value is not None}


def _watermarks(consumer, partition, timeout=10.0 * PATIENCE) -> tuple[int, int]:
    """A partition that was just made, or whose broker has just started, has no leader for a moment."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return consumer.get_watermark_offsets(partition, timeout)
        except KafkaException as error:
            if not any(word in error.args[0].name() for word in ('LEADER', 'UNKNOWN_TOPIC', 'UNKNOWN_PARTITION')) or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def _message(message) -> Message:
    return Message(message.topic(), message.partition(), message.offset(), message.key(), message.value(),
                   message.timestamp()[1], message.headers() or [])


def history_rows(folder: pathlib.Path) -> list[dict]:
    """All rows of the history files (Avro object containers) of history.dir, in no order: of the small ones, which are all there for
    history.merge.keep.s."""
    rows = []
    for file in sorted(folder.glob('date=*/hour=*/*.avro')):
        with open(file, 'rb') as stream:
            rows += fastavro.reader(stream)
    return rows
