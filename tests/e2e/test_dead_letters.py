"""Records that are no records and almost as large as Kafka takes: nothing that anybody can produce stops a partition. Covers lib/kafka/misplaced.c."""
import os

import pytest
from confluent_kafka import Producer

from harness.commenting import Commenting
from harness.meanwhile import at_once
from harness.waiting import eventually, now_ms

LARGEST = 1048588 - 200  # what the broker takes, less the batch around the record and its key
SIZES = 'starling.cut.key.size', 'starling.cut.value.size'


@pytest.fixture
def throw(cluster):
    """throw(topic, partition, value, key): as a stranger's producer would."""
    producer = Producer({'bootstrap.servers': cluster.broker.bootstrap, 'message.max.bytes': 1048588})

    def produce(topic, partition, value, key=b'abcdefgh'):
        sent = []
        producer.produce(cluster.topics.name(topic), key=key, value=value, partition=partition,
                         on_delivery=lambda error, message: sent.append((error, message)))
        producer.flush(30)
        (error, message), = sent
        assert not error, error
        return message.offset()

    return produce


def letter_of(cluster, topic, partition, offset):
    """The dead letter of the record that stood there; the headers as a dict."""
    place = {'__connect.errors.topic': cluster.topics.name(topic), '__connect.errors.partition': str(partition),
             '__connect.errors.offset': str(offset)}

    def found():
        for letter in cluster.topics.read(topic + '.dlq'):
            headers = {key: value.decode() for key, value in letter.headers}
            if place.items() <= headers.items():
                return letter, headers
        return None

    return eventually(found, 20, every=0.2, what=f'{topic} {partition}:{offset} is a dead letter')


def assert_cut(letter, headers, key, value):
    assert headers[SIZES[0]] == str(len(key)) and headers[SIZES[1]] == str(len(value))
    assert key.startswith(letter.key) and value.startswith(letter.value or b'')
    assert 0 < len(letter.key) + len(letter.value or b'') < len(key) + len(value)


def partition_of(cluster, user):
    return cluster.topics.produce('profiles', user, ('profile', {'name': 'somebody'})).partition


def counted(daemon, name, topic):
    return daemon.total(name, topic=topic)


def take_less(cluster, size, *topics):
    for topic in topics:
        cluster.topics.set(topic, 'max.message.bytes', size)


def test_commands_that_are_too_large_are_dead_letters_cut(cluster, users, throw):
    ada, ben = users(2)
    partition = partition_of(cluster, ada)
    thrown = [(b'abcdefgh', os.urandom(LARGEST)), (os.urandom(900_000), os.urandom(LARGEST - 900_000)),
              (b'abcdefgh', os.urandom(1_000_000))]
    offsets = [throw('friend-commands', partition, value, key) for key, value in thrown]
    assert cluster.http(ada).ok('PUT', f'/v1/friends/{ben}')['state'] == 'requested'  # it goes on
    for (key, value), offset in list(zip(thrown, offsets))[:2]:
        assert_cut(*letter_of(cluster, 'friend-commands', partition, offset), key, value)
    letter, headers = letter_of(cluster, 'friend-commands', partition, offsets[2])
    assert letter.value == thrown[2][1] and not headers.keys() & set(SIZES)  # what can be written whole is
    assert counted(cluster.routers[0], 'starling_dead_letters_total', 'friend-commands') >= len(thrown)
    assert counted(cluster.routers[0], 'starling_dead_letters_lost_total', 'friend-commands') == 0


def test_state_that_is_too_large_is_a_dead_letter_cut(cluster, ada, throw):
    partition = partition_of(cluster, ada)
    for topic in ('profiles', 'sharing', 'locations'):
        value = os.urandom(LARGEST)
        offset = throw(topic, partition, value)
        assert_cut(*letter_of(cluster, topic, partition, offset), b'abcdefgh', value)
    assert counted(cluster.ingest, 'starling_dead_letters_total', 'profiles') == 1
    assert counted(cluster.routers[0], 'starling_dead_letters_total', 'locations') == 1
    assert any(series.startswith('starling_dead_letters_total') for series in cluster.sinks[0].metrics())
    cluster.topics.produce('profiles', ada, ('profile', {'name': 'Ada'}))
    eventually(lambda: cluster.http(ada).ok('GET', '/v1/profile')['name'] == 'Ada', what='it goes on')


def test_a_queue_that_takes_less_is_no_trouble(cluster, users, throw):
    """The operator has given the dead letters less room than their topic has."""
    ada, ben = users(2)
    partition = partition_of(cluster, ada)
    take_less(cluster, 50_000, 'friend-commands.dlq', 'profiles.dlq')
    value = os.urandom(150_000)
    offset = throw('friend-commands', partition, value)
    eventually(lambda: cluster.http(ada).ok('PUT', f'/v1/friends/{ben}')['state'] == 'requested', 30)
    assert_cut(*letter_of(cluster, 'friend-commands', partition, offset), b'abcdefgh', value)
    # Outside of a transaction there is no second try, but it is counted.
    throw('profiles', partition, os.urandom(60_000))
    eventually(lambda: counted(cluster.ingest, 'starling_dead_letters_lost_total', 'profiles') == 1)
    again = os.urandom(60_000)
    assert_cut(*letter_of(cluster, 'profiles', partition, throw('profiles', partition, again)), b'abcdefgh', again)


def test_numbers_that_nobody_can_calculate_with_are_dead_letters(cluster, ada):
    """Valid Avro, but until - now and its like would overflow."""
    for topic, record in (('sharing', ('sharing', {'mode': 'FRIENDS', 'until': -2**63})),
                          ('locations', ('location', {'user': ada, 'lat': 2**31 - 1, 'lng': 0, 'time': 2**63 - 1, 'kind': 'REPORT',
                                                      'session': 0, 'route': -1, 'opted': -1, 'accuracy': -1})),
                          ('friend-commands', ('friend-command', {'kind': 'REMOVE', 'from': ada, 'to': ada + 1, 'time': 2**63 - 1,
                                                                  'since': -2**63}))):
        place = cluster.topics.produce(topic, ada, record)
        _, headers = letter_of(cluster, topic, place.partition, place.offset)
        assert 'out of range' in headers['__connect.errors.exception.message']
    cluster.share(ada)
    eventually(lambda: cluster.http(ada).ok('GET', '/v1/sharing')['mode'] == 'friends', what='it goes on')


def test_records_in_a_wrong_partition_are_not_taken(cluster, ada):
    cluster.topics.produce('profiles', ada, ('profile', {'name': 'Ada'}))
    eventually(lambda: cluster.http(ada).ok('GET', '/v1/profile')['name'] == 'Ada')
    wrong = (partition_of(cluster, ada) + 1) % 4
    report = {'user': ada, 'lat': 10, 'lng': 10, 'time': now_ms(), 'kind': 'REPORT', 'session': 0, 'route': -1, 'opted': -1, 'accuracy': -1}
    for topic, record in (('profiles', ('profile', {'name': 'Eve'})), ('locations', ('location', report)),
                          ('sharing', ('sharing', {'mode': 'PUBLIC', 'until': 0}))):
        place = cluster.topics.produce(topic, ada, record, partition=wrong)
        _, headers = letter_of(cluster, topic, wrong, place.offset)
        assert 'not in the partition of its key' in headers['__connect.errors.exception.message']
    assert counted(cluster.ingest, 'starling_misplaced_records_total', 'profiles') == 1
    assert counted(cluster.routers[0], 'starling_misplaced_records_total', 'locations') == 1
    cluster.ingest.restart()
    assert eventually(lambda: cluster.http(ada).ok('GET', '/v1/profile'))['name'] == 'somebody'  # of partition_of
    assert cluster.http(ada).ok('GET', '/v1/history', params={'from': 0, 'to': now_ms() + 1000})['items'] == []
    said = cluster.starling('topics', 'check', check=False).stdout
    assert 'profiles: 1 of the newest records lie in another partition' in said.replace(cluster.topics.prefix, '')
    assert "Eve" in cluster.starling('replay', 'profiles', '--user', ada).stdout


def test_a_command_whose_outcome_is_too_large_is_refused_and_the_others_go_on(make_cluster, users):
    cluster = make_cluster(settings={'ingest:ingest.outcome.wait.ms': 20_000}).start(sinks=0, feeds=1, comments=1)
    api, (site, *people) = Commenting(cluster), users(5)
    subject, text = api.new_subject(site), 'much ' * 90
    take_less(cluster, 400, 'comment-texts', 'post-texts')

    def write(user, path, said):
        answer = cluster.http(user).post(path, json={'text': said, 'key': f'{said[:4]}-{user}'}, timeout=30)
        return answer.status_code, answer.json().get('code')

    deeds = [(user, path, text if user % 2 else 'short') for user in people for path in ('/v1/posts', api.path(subject))]
    for (_, path, said), found in zip(deeds, at_once(lambda deed: write(*deed), deeds), strict=True):
        assert found == ((201, None) if said == 'short' else (500, 'write_refused')), f'{path} {said[:9]}'
    status = cluster.starling('status', check=False)
    assert status.returncode and 'max.message.bytes' in status.stdout, status.stdout
