"""`starling replay --into`: a period again, for a second pipeline that makes the same lists and the same rows of it each time; and what else
`starling replay` writes. Covers cli/progress.c, cli/record_container.c and cli/replay_into.c."""
import io
import os
import pty
import random
import re
import signal
import struct
import subprocess
import time

import fastavro
import pytest
import starling_history
from confluent_kafka import Producer

from harness.archive import plain
from harness.cluster import build_folder
from harness.geo import RADIUS_M, distance_m
from harness.processes import clean_environment
from harness.records import Topics, decode, encode, user_key
from harness.waiting import eventually, now_ms

SETTINGS = {'clock': 'stream', 'history-sink:history.roll.s': 1}
NEARBY = ('sharing', 'profiles', 'friendships', 'locations')


@pytest.fixture(scope='module')
def origin(make_module_cluster):
    return make_module_cluster().start(fanouts=0, sinks=0)


@pytest.fixture
def prefix(origin, broker):
    """prefix('x'): a prefix of copies, which are removed at the test's end."""
    made = []

    def make(name):
        made.append(Topics(broker.bootstrap, f'{origin.prefix}{name}.'))
        return made[-1].prefix

    yield make
    for topics in made:
        topics.remove_all()


def command(cluster, *arguments):
    """The command line of `starling` against a cluster."""
    return [build_folder() / 'starling', *map(str, arguments), '--set', f'kafka.bootstrap.servers={cluster.broker.bootstrap}',
            '--set', f'topics.prefix={cluster.prefix}']


def as_written(topics, topic):
    """A topic's records, by partition and in their order: what a copy must have, too."""
    found = {}
    for message in topics.read(topic):
        found.setdefault(message.partition, []).append((message.key, message.value, message.timestamp))
    return found


def walk(cluster, users, rounds, chance):
    """Reports by which everybody moves; each one's last place is reported three times, as lists settle by that. Returns the last ones."""
    places = {user: (chance.uniform(39.9, 40.05), chance.uniform(116.2, 116.4)) for user in users}
    producer = Producer({'bootstrap.servers': cluster.broker.bootstrap, 'partitioner': 'murmur2_random'})
    last = {}
    for number in range(rounds):
        for user, (lat, lng) in places.items():
            if number < rounds - 3:
                lat, lng = places[user] = lat + chance.uniform(-0.01, 0.01), lng + chance.uniform(-0.01, 0.01)
            last[user] = {'user': user, 'lat': round(lat * 1e7), 'lng': round(lng * 1e7), 'kind': 'REPORT', 'session': 0,
                          'route': -1, 'opted': -1, 'time': now_ms(), 'accuracy': number}
            producer.produce(cluster.topics.name('locations'), key=user_key(user), value=encode('location', last[user]))
        producer.flush(30)
    return last


def truth(last, pairs):
    near = {user: set() for user in last}
    for a, b in pairs:
        one, two = last[a], last[b]
        if distance_m(one['lat'] / 1e7, one['lng'] / 1e7, two['lat'] / 1e7, two['lng'] / 1e7) <= RADIUS_M:
            near[a].add(b)
            near[b].add(a)
    return near


def rows_of(cluster):
    return plain(starling_history.read(0, 2**53, directory=cluster.history))


def run_again(make_cluster, prefix, last, near, count):
    """A pipeline on copies: the rows of its history, and the lists that its edge shows."""
    cluster = make_cluster(settings=SETTINGS)
    cluster.prefix = prefix
    cluster.topics = Topics(cluster.broker.bootstrap, prefix)
    cluster.start(ingests=0, topics=False)
    eventually(lambda: len(rows_of(cluster)) == count, 30, what='all reports are in its history')
    rows, lists, later = rows_of(cluster), {}, max(record['time'] for record in last.values())
    for user, record in last.items():
        phone = cluster.phone(user)
        phone.hello(record['lat'] / 1e7, record['lng'] / 1e7, time=later + 1)
        phone.wait_screen(near[user])
        lists[user] = {friend: (item['name'], item['lat'], item['lng'], item['distance_m']) for friend, item in phone.screen.items()}
    for phone in cluster._phones:
        phone.vanish()
    cluster.stop()
    return rows, lists


def test_a_second_pipeline_makes_the_same_of_it_each_time(origin, make_cluster, prefix, users):
    ours, chance = users(8), random.Random(4)
    origin.share(*ours)
    for user in ours:
        origin.http(user).ok('PUT', '/v1/profile', json={'name': f'User {user}'})
    pairs = [(a, b) for a in ours for b in ours if a < b and chance.random() < 0.5]
    origin.befriend(*pairs)
    walk(origin, ours, 2, chance)  # before the period
    time.sleep(0.01)
    begin = now_ms()
    last = walk(origin, ours, 12, chance)
    end = now_ms() + 1
    time.sleep(0.01)
    walk(origin, ours, 1, chance)  # and behind it
    near = truth(last, pairs)
    assert any(near.values())

    written = {topic: as_written(origin.topics, topic) for topic in NEARBY}
    period = {partition: [record for record in records if begin <= record[2] < end]
              for partition, records in written['locations'].items()}
    period = {partition: records for partition, records in period.items() if records}
    results = []
    for number, speed in enumerate(([], ['--speed', 1000])):
        copies = prefix(f'copy{number}')
        done = origin.starling('replay', '--into', copies, '--from', begin, '--to', end, *speed)
        copied = {topic: as_written(Topics(origin.broker.bootstrap, copies), topic) for topic in NEARBY}
        assert copied['locations'] == period
        assert all(copied[topic] == written[topic] for topic in NEARBY[:3])
        assert done.stdout.startswith(f'{sum(len(records) for topic in copied.values() for records in topic.values())} records')
        assert done.stderr == '', 'progress is for terminals'
        results.append(run_again(make_cluster, copies, last, near, 12 * len(ours)))
    assert results[0] == results[1]
    rows, lists = results[0]
    assert {user: set(found) for user, found in lists.items()} == near
    wanted = sorted((partition, timestamp, decode(value)['user'], decode(value)['lat'], decode(value)['time'])
                    for partition, records in period.items() for _, value, timestamp in records)
    assert sorted((row['partition'], row['received'], row['user'], row['lat'], row['time']) for row in rows) == wanted


def produce_at(cluster, topic, times):
    """Records with these times, in the partitions 0, 1, 2, 3, 0, ... They are kept: the broker looks for old ones now and then."""
    cluster.topics.set(topic, 'retention.ms', -1)
    producer = Producer({'bootstrap.servers': cluster.broker.bootstrap})
    for number, at in enumerate(times):
        producer.produce(cluster.topics.name(topic), value=b'%d' % number, key=b'key', partition=number % 4, timestamp=at)
    assert producer.flush(30) == 0


LONG_AGO = 1_600_000_000_000


def test_times_pass_as_they_did(make_cluster, prefix):
    """At a speed, and in the order of the clock over topics and partitions. Old records are kept."""
    origin = make_cluster()
    origin.create_topics()
    produce_at(origin, 'friend-commands', [LONG_AGO + 60_000 * minute for minute in range(21)])
    produce_at(origin, 'follow-commands', [LONG_AGO + 60_000 * minute + 30_000 for minute in range(20)])
    copies = prefix('paced')
    began = time.monotonic()
    done = origin.starling('replay', 'friend-commands', 'follow-commands', '--into', copies, '--speed', 1200)
    took = time.monotonic() - began
    assert took >= 1.0, 'twenty minutes at 1200 times their speed'
    assert done.stdout == f'41 records are in {copies}*\n'
    topics = Topics(origin.broker.bootstrap, copies)
    for topic in 'friend-commands', 'follow-commands':
        assert as_written(topics, topic) == as_written(origin.topics, topic)
    settings = topics.settings('friend-commands')
    assert (settings['retention.ms'], settings['message.timestamp.type']) == ('-1', 'CreateTime')
    part = prefix('part')
    origin.starling('replay', 'friend-commands', '--into', part, '--from', LONG_AGO + 60_000, '--to', LONG_AGO + 300_000)
    copied = as_written(Topics(origin.broker.bootstrap, part), 'friend-commands')
    assert sorted(int(value) for records in copied.values() for _, value, _ in records) == [1, 2, 3, 4]


def test_copies_that_are_there_are_refused_and_an_interrupted_run_says_how_to_go_on(make_cluster, prefix, broker):
    origin = make_cluster()
    origin.create_topics()
    produce_at(origin, 'friend-commands', [LONG_AGO, LONG_AGO + 1, LONG_AGO + 3_600_000])
    copies = prefix('broken')
    topics = Topics(broker.bootstrap, copies)
    process = subprocess.Popen(command(origin, 'replay', 'friend-commands', '--into', copies, '--speed', 1), text=True,
                               stderr=subprocess.PIPE, env=clean_environment())
    eventually(lambda: sum(map(len, as_written(topics, 'friend-commands').values())) == 2, 60)  # it makes all topics before
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=30)[1]
    assert process.returncode == 1
    again = re.search(r"interrupted\. To begin again, delete .*--delete --topic '(.*)'", said)
    assert again and again[1] == f'{copies}.*'
    refused = origin.starling('replay', 'friend-commands', '--into', copies, check=False)
    assert refused.returncode == 1 and f'{copies}friend-commands has records already. To begin again' in refused.stderr
    assert sum(map(len, as_written(topics, 'friend-commands').values())) == 2
    # Empty topics are as good as none, but with as many partitions.
    other = make_cluster(partitions=4)
    other.prefix = prefix('ready')
    other.create_topics()
    origin.topics.produce('locations', 7, b'x')
    assert origin.starling('replay', 'friend-commands', 'locations', '--into', other.prefix).stdout.startswith('4 records')
    for topic in 'friend-commands', 'locations':
        assert as_written(Topics(broker.bootstrap, other.prefix), topic) == as_written(origin.topics, topic)
    other.prefix = prefix('odd')
    other.create_topics(partitions=3)
    refused = origin.starling('replay', 'friend-commands', '--into', other.prefix, check=False)
    assert refused.returncode == 1 and 'has 3 partitions, and the original has 4' in refused.stderr


@pytest.mark.parametrize('arguments', [
    ('--into', 'a/b'), ('--into', ''), ('locations', '--into', 'x.', '--follow'), ('locations', '--into', 'x.', '--user', 1),
    ('nothing', '--into', 'x.'), ('locations.dlq', '--into', 'x.'), ('locations', 'locations', '--into', 'x.'),
    ('--into', 'x.', '--speed', '0'), ('locations', '--speed', '2'), ('locations', '--format', 'xml'),
    ('locations', '--format', 'avro', '--follow'), ('locations', 'sharing'), ('--into', 'x.', '--from', 'then')])
def test_wrong_usage(origin, arguments):
    assert origin.starling('replay', *arguments, check=False).returncode == 2


def test_a_topic_cannot_be_copied_onto_itself(origin):
    refused = origin.starling('replay', '--into', origin.prefix, check=False)
    assert refused.returncode == 2 and 'and not ' + origin.prefix in refused.stderr


def on_a_terminal(arguments):
    """Runs a command whose standard error is a terminal. Returns what it wrote to both."""
    master, slave = pty.openpty()
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=slave, env=clean_environment())
    os.close(slave)
    written, said = process.communicate(timeout=60)[0], b''
    while True:
        try:
            said += os.read(master, 4096)
        except OSError:  # the other end is closed, and all was read
            break
    os.close(master)
    assert process.returncode == 0, said
    return written, said.decode()


def test_progress_is_shown_on_a_terminal(make_cluster, prefix):
    origin = make_cluster()
    origin.create_topics()
    produce_at(origin, 'friend-commands', [LONG_AGO + 60_000 * minute for minute in range(21)])
    written, said = on_a_terminal(command(origin, 'replay', 'friend-commands', '--into', prefix('shown'), '--speed', 600))
    assert written.startswith(b'21 records are in ')
    assert re.search(r'starling replay: \[#+-+\] \d+%, \d+ records copied', said)
    assert said.endswith('\n') and '21 records copied' in said.rstrip().rpartition('\r')[2]


def avro(cluster, *arguments):
    done = subprocess.run(command(cluster, 'replay', *arguments, '--format', 'avro'), capture_output=True, env=clean_environment())
    assert done.returncode == 0, done.stderr
    return list(fastavro.reader(io.BytesIO(done.stdout), return_record_name=True))


def test_a_topic_as_an_avro_container(make_cluster):
    """Every record, decoded by anybody's Avro, in the version that it was written in."""
    cluster = make_cluster()
    cluster.create_topics()
    location = {'user': 7, 'lat': 1, 'lng': -2, 'kind': 'JOIN', 'session': 3, 'route': -1, 'opted': -1, 'time': 4, 'accuracy': 5}
    assert avro(cluster, 'locations') == []
    for number in range(1500):  # more than are looked at before the header is written
        cluster.topics._producer = cluster.topics._producer or Producer({'bootstrap.servers': cluster.broker.bootstrap,
                                                                        'partitioner': 'murmur2_random'})
        cluster.topics._producer.produce(cluster.topics.name('locations'), key=user_key(7),
                                         value=encode('location', {**location, 'lat': number}))
    cluster.topics._producer.flush(30)
    for value in (None, b'no Avro', struct.pack('>bI', 0, 99999) + b'x', encode('location', location)[:-1]):
        cluster.topics.produce('locations', 7, value)
    found = avro(cluster, 'locations', '--user', 7)
    written = cluster.topics.read('locations')
    assert len(found) == len(written) == 1504
    for row, message in zip(found, written):
        assert (row['partition'], row['offset'], row['key']) == (message.partition, message.offset, message.key)
        assert round(row['timestamp'].timestamp() * 1000) == message.timestamp
    for row, message in zip(found[:1500], written):
        name, value = row['value']
        assert name == f"starling.schema{int.from_bytes(message.value[1:5], 'big')}.Location"
        assert value == decode(message.value)
    assert [row['value'] for row in found[1500:]] == [message.value for message in written[1500:]]
