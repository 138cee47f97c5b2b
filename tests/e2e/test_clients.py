"""Clients that nobody here wrote: confluent-kafka with fastavro, a Java producer, `websockets`. They read what they
would expect from the schemas alone, what they write is taken like our own, and what cannot be read is set aside."""
import collections
import json
import subprocess

import pytest

from harness.cluster import Cluster
from harness.geo import HOME, e7, north_of
from harness.records import decode, encode, key_users, pair_key, user_key
from harness.waiting import eventually, now_ms

HEADERS = {'topic', 'partition', 'offset', 'connector.name', 'task.id', 'stage', 'exception.class.name', 'exception.message'}


def location(user, place, at=None, **fields) -> tuple:
    """A report as somebody writes it who knows the schema and nothing else: the other fields have defaults."""
    lat, lng = map(e7, place)
    return 'location', {'user': user, 'lat': lat, 'lng': lng, 'time': now_ms() if at is None else at, 'kind': 'REPORT', **fields}


def records_of(cluster, topic, user):
    """[(message, record)] of one user's key."""
    return [(m, decode(m.value)) for m in cluster.topics.read(topic) if m.key == user_key(user)]


# ---- reading ----

@pytest.fixture
def lively(make_cluster, users) -> tuple[Cluster, dict]:
    """A cluster in which everything has happened that leaves a record; and who did it."""
    cluster = make_cluster(settings={'fanout:edge.routes': 4}).start()
    ada, ben, eve, dan, *others = users(12)
    people = [ada, ben, eve, dan, *others]
    cluster.share(*people)
    cluster.share(others[0], mode='public')
    for user, name in ((ada, 'Ada Łovelace'), (ben, '小本')):
        cluster.http(user).ok('PUT', '/v1/profile', json={'name': name, 'avatar_url': f'https://example.org/{user}.png'})
    cluster.befriend((ada, ben), (ada, dan), (ben, dan), *((ada, other) for other in others))
    cluster.http(eve).ok('PUT', f'/v1/friends/{ada}')
    cluster.http(dan).ok('PUT', f'/v1/blocks/{eve}')
    cluster.http(ben).ok('PUT', f'/v1/blocks/{eve}')
    cluster.http(ben).ok('DELETE', f'/v1/blocks/{eve}')

    near = north_of(*HOME, 300)
    a, b, d = (cluster.online(user, *HOME) for user in (ada, ben, dan))
    for user in others:
        cluster.online(user, *HOME)
    a.wait_screen({ben, dan, *others})
    sent = now_ms()
    b.report(*near, time=sent, accuracy=12)                                   # REPORT; Move, Digest
    a.wait_item(ben, lambda item: item['time'] == sent)
    assert cluster.report_http(ben, *near, time=sent + 1, accuracy=8).ok      # Self
    cluster.http(dan).ok('DELETE', f'/v1/friends/{ada}')                      # Parted
    a.wait_screen({ben, *others})
    cluster.online(ben, *near)                                                # another device: Self
    assert b.closed() is None
    cluster.add('fanout')                                                     # takes half of the routes: REJOIN
    eventually(lambda: any(decode(m.value)['kind'] == 'REJOIN' for m in cluster.topics.read('locations')), 30, every=0.2,
               what='a session says which its new route is')
    cluster.share(ada, mode='off')                                            # LEAVE; Left
    eventually(lambda: [r['kind'] for _, r in records_of(cluster, 'locations', ada)][-1] == 'LEAVE', what='ada has left')
    d.close()                                                                 # QUIT
    eventually(lambda: [r['kind'] for _, r in records_of(cluster, 'locations', dan)][-1] == 'QUIT', what='dan has gone')
    return cluster, {'ada': ada, 'ben': ben, 'eve': eve, 'dan': dan, 'others': others, 'sent': sent, 'near': near}


def test_every_topic_is_read(lively):
    cluster, who = lively
    topics, (ada, ben, eve, dan) = cluster.topics, (who[name] for name in ('ada', 'ben', 'eve', 'dan'))

    locations = [(m, decode(m.value)) for m in topics.read('locations')]
    assert {record['kind'] for _, record in locations} == {'REPORT', 'JOIN', 'REJOIN', 'QUIT', 'LEAVE'}
    assert all(m.key == user_key(record['user']) for m, record in locations)
    lat, lng = map(e7, who['near'])
    reports = [record for _, record in locations if record['kind'] == 'REPORT']
    opted = records_of(cluster, 'sharing', ben)[-1][0].offset
    session = next(record['session'] for _, record in locations if record['user'] == ben and record['kind'] == 'JOIN')
    by_phone, by_http = reports
    assert by_phone == {'user': ben, 'lat': lat, 'lng': lng, 'time': who['sent'], 'kind': 'REPORT', 'session': session,
                        'route': by_phone['route'], 'opted': opted, 'accuracy': 12}
    assert by_phone['route'] in range(cluster.delivery_partitions) and session > 0
    assert by_http == {'user': ben, 'lat': lat, 'lng': lng, 'time': who['sent'] + 1, 'kind': 'REPORT', 'session': 0,
                       'route': -1, 'opted': opted, 'accuracy': 8}
    leave = next(record for _, record in locations if record['kind'] == 'LEAVE')
    assert (leave['user'], leave['opted']) == (ada, records_of(cluster, 'sharing', ada)[-1][0].offset)

    commands = [(m, decode(m.value)) for m in topics.read('friend-commands')]
    assert all(m.key == user_key(min(c['from'], c['to'])) and c['since'] == 0 and c['time'] > 0 for m, c in commands)
    assert {(c['kind'], c['from'], c['to']) for _, c in commands if c['kind'] != 'BEFRIEND'} == {
        ('REQUEST', eve, ada), ('BLOCK', dan, eve), ('BLOCK', ben, eve), ('UNBLOCK', ben, eve), ('REMOVE', dan, ada)}
    assert ('BEFRIEND', ada, ben) in {(c['kind'], c['from'], c['to']) for _, c in commands}

    written = collections.defaultdict(list)
    for message in topics.read('friendships'):
        written[key_users(message.key)].append(decode(message.value))
    asked, block = (next(c['time'] for _, c in commands if c['kind'] == kind and c['from'] == user)
                    for kind, user in (('REQUEST', eve), ('BLOCK', dan)))
    plain = {'blocked_by_me': False, 'blocked_by_them': False}
    assert written[eve, ada] == [{'state': 'REQUESTED', 'since': asked, **plain}]
    assert written[ada, eve] == [{'state': 'INVITED', 'since': asked, **plain}]
    assert written[dan, eve] == [{'state': 'NONE', 'since': block, 'blocked_by_me': True, 'blocked_by_them': False}]
    assert written[eve, dan] == [{'state': 'NONE', 'since': block, 'blocked_by_me': False, 'blocked_by_them': True}]
    assert [half and half['state'] for half in written[ada, dan]] == ['FRIENDS', None]  # a tombstone
    assert [half and half['state'] for half in written[dan, ada]] == ['FRIENDS', None]
    assert written[ben, eve][-1] is None and written[eve, ben][-1] is None
    assert topics.latest('friendships')[pair_key(ben, ada)]['state'] == 'FRIENDS'

    profiles = topics.latest('profiles')
    assert profiles == {
        user_key(ada): {'name': 'Ada Łovelace', 'avatar_url': f'https://example.org/{ada}.png'},
        user_key(ben): {'name': '小本', 'avatar_url': f'https://example.org/{ben}.png'}}
    sharing = topics.latest('sharing')
    assert {key_users(key)[0]: record['mode'] for key, record in sharing.items()} == {
        ada: 'OFF', ben: 'FRIENDS', eve: 'FRIENDS', dan: 'FRIENDS', **dict.fromkeys(who['others'], 'FRIENDS'),
        who['others'][0]: 'PUBLIC'}

    batches = [(m, decode(m.value)) for m in topics.read('deliveries')]
    items = collections.defaultdict(list)
    for message, batch in batches:
        assert message.key is None and batch['stream_time'] <= now_ms() and batch['oldest_received'] <= now_ms()
        for kind, item in batch['items']:
            items[kind].append((message.partition, item))
    assert set(items) == {'Move', 'Roster', 'Digest', 'Self', 'Left', 'Parted'}
    assert any(m['user'] == ben and m['time'] == who['sent'] and ada in m['recipients'] for _, m in items['Move'])
    assert any(r['recipient'] == ben and r['session'] == session and r['complete'] for _, r in items['Roster'])
    places = {(record['user'], record['lat'], record['lng'], record['time']) for _, record in locations}
    named = {(f['user'], f['lat'], f['lng'], f['time']) for _, r in items['Roster'] for f in r['friends']}
    assert named and named <= places
    digest = next((route, d) for route, d in items['Digest'] if d['recipient'] == ben and d['time'] == who['sent'])
    assert digest[0] == by_phone['route'] and digest[1]['count'] == 2 and digest[1]['session'] == session
    second = next(record for _, record in locations if record['user'] == ben and record['kind'] == 'JOIN' and record['session'] != session)
    assert [item for _, item in items['Self']] == [
        {'recipient': ben, 'session': session, 'lat': lat, 'lng': lng, 'time': time} for time in (who['sent'] + 1, second['time'])]
    assert any(item['user'] == ada and ben in item['recipients'] for _, item in items['Left'])
    assert {(item['recipient'], item['friend']) for _, item in items['Parted']} == {(ada, dan), (dan, ada)}


# ---- writing: the same partitions ----

def ours(cluster, user):
    """The partition into which our gateway writes the user's report."""
    at = now_ms()
    assert cluster.report_http(user, *HOME, time=at).ok
    return next(m.partition for m, record in records_of(cluster, 'locations', user) if record['time'] == at)


def test_a_librdkafka_producer_meets_our_partitions(shared_cluster, users):
    people = [*users(16), 2**63 - 1, 2**40, 0]
    shared_cluster.share(*people)
    gateway = shared_cluster.gateway()
    wanted = {user: shared_cluster.topics.produce('locations', user, location(user, HOME)).partition for user in people}
    at = now_ms() - 1000  # no other report has it, and a gateway takes what is ahead of its clock for now
    assert gateway.ok('POST', '/v1/locations', json={'locations': [
        {'user': user, 'lat': HOME[0], 'lng': HOME[1], 'time': at} for user in people]})['accepted'] == len(people)
    found = {record['user']: m.partition for m in shared_cluster.topics.read('locations')
             if (record := decode(m.value))['time'] == at}
    assert found == wanted and set(found.values()) == set(range(shared_cluster.partitions))


JAVA = '''
import java.util.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.*;

public class Produce {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", arguments[0]);
        try (var producer = new KafkaProducer<>(settings, new LongSerializer(), new ByteArraySerializer());
             var lines = new Scanner(System.in)) {
            while (lines.hasNext()) {
                long user = lines.nextLong();
                byte[] value = HexFormat.of().parseHex(lines.next());
                System.out.println(producer.send(new ProducerRecord<>(arguments[1], user, value)).get().partition());
            }
        }
    }
}
'''


def test_a_java_producer_meets_our_partitions_and_is_heard(shared_cluster, broker, users, tmp_path):
    modules = subprocess.run(['java', '--list-modules'], capture_output=True, text=True, check=True).stdout
    if 'jdk.compiler' not in modules:
        pytest.skip('a Java runtime without its compiler: the producer cannot be compiled')
    ada, *people = users(9)
    shared_cluster.acquaint(ada, *people)
    (tmp_path / 'Produce.java').write_text(JAVA)
    classes = broker.command[broker.command.index('-cp') + 1]
    with shared_cluster.online(ada, *HOME) as a:
        values = [encode(*location(user, north_of(*HOME, 100))).hex() for user in people]
        done = subprocess.run(
            ['java', '-cp', classes, 'Produce.java', broker.bootstrap, shared_cluster.topics.name('locations')],
            input='\n'.join(f'{user} {value}' for user, value in zip(people, values)), cwd=tmp_path, capture_output=True,
            text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        a.wait_screen(people)
    assert [int(line) for line in done.stdout.split()] == [ours(shared_cluster, user) for user in people]


# ---- writing: it reaches phones ----

def test_what_others_write_reaches_a_phone(shared_cluster, users):
    ada, ben = users(2)
    topics = shared_cluster.topics
    topics.produce('sharing', ben, ('sharing', {'mode': 'FRIENDS'}))
    topics.produce('friend-commands', ada, ('friend-command', {'kind': 'BEFRIEND', 'from': ben, 'to': ada, 'time': now_ms()}))
    shared_cluster.share(ada)
    eventually(lambda: shared_cluster.friends_of(ada) == {ben}, what='they are friends')
    with shared_cluster.online(ada, *HOME) as a:
        at = now_ms()
        topics.produce('locations', ben, location(ben, north_of(*HOME, 500), at))  # opted is -1: nobody checked
        item = a.wait_item(ben, lambda item: abs(item['distance_m'] - 500) < 0.2)
        assert item['time'] == at and item['name'] == ''
        topics.produce('profiles', ben, ('profile', {'name': 'Ben, elsewhere', 'avatar_url': 'https://example.org/b'}))
        eventually(lambda: shared_cluster.http(ada).get(f'/v1/profiles/{ben}').ok, what='the profile is known')
        assert shared_cluster.http(ada).ok('GET', f'/v1/profiles/{ben}') == {
            'user': ben, 'name': 'Ben, elsewhere', 'avatar_url': 'https://example.org/b', 'bio': '', 'url': ''}
        topics.produce('locations', ben, location(ben, north_of(*HOME, 400)))
        item = a.wait_item(ben, lambda item: item['name'] == 'Ben, elsewhere')
        assert item['avatar_url'] == 'https://example.org/b'
        a.wait_item(ben, lambda item: abs(item['distance_m'] - 400) < 0.2)
        # A tombstone of sharing means OFF, of a profile that there is none.
        topics.produce('sharing', ben, None)
        a.wait_screen(set())
        topics.produce('profiles', ben, None)
        eventually(lambda: shared_cluster.http(ada).get(f'/v1/profiles/{ben}').status_code == 404, what='no profile')
        topics.produce('locations', ben, location(ben, HOME))
        topics.produce('sharing', ben, ('sharing', {'mode': 'FRIENDS'}))
        eventually(lambda: shared_cluster.http(ben).ok('GET', '/v1/sharing')['mode'] == 'friends')
        assert a.friends() == set()


# ---- what cannot be read ----

def wait_dead(cluster, topic, sent):
    """Waits until each of those messages is in the dead letter queue as it was sent, with Connect's headers that say where
    it stood; once for each daemon that reads the topic. The reasons, by the number of the message."""
    name = cluster.topics.name(topic)

    def found():
        dead = collections.defaultdict(list)
        for letter in cluster.topics.read(topic + '.dlq'):
            headers = {key: value.decode() for key, value in letter.headers}
            assert set(headers) == {'__connect.errors.' + header for header in HEADERS}
            assert headers['__connect.errors.topic'] == name
            assert headers['__connect.errors.stage'] == 'VALUE_CONVERTER'
            place = int(headers['__connect.errors.partition']), int(headers['__connect.errors.offset'])
            dead[place].append((letter, headers))
        reasons = []
        for message in sent:
            letters = dead[message.partition, message.offset]
            assert letters, f'{message} is no dead letter'
            assert all((letter.key, letter.value or None) == (message.key, message.value or None) for letter, _ in letters)
            readers = [headers['__connect.errors.connector.name'] for _, headers in letters]
            assert len(readers) == len(set(readers)), readers
            reasons.append({headers['__connect.errors.exception.message'] for _, headers in letters})
        return reasons

    reasons = eventually(found, 15, every=0.2)
    assert all(reason for of_one in reasons for reason in of_one)
    return reasons


def unreadable(good: bytes) -> dict:
    """Values that are no record, made from one that is."""
    return {'nothing': b'', 'garbage': b'rubbish, and more of it', 'another magic byte': b'\1' + good[1:],
            'an id that nobody knows': good[:1] + b'\0\0\x30\x39' + good[5:], 'cut short': good[:-1],
            'too long': good + b'\0', 'the id alone': good[:5]}


def test_bad_locations_are_set_aside(shared_cluster, users):
    ada, ben = users(2)
    topics = shared_cluster.topics
    shared_cluster.acquaint(ada, ben)
    good = encode(*location(ben, HOME))
    bad = [*unreadable(good).values(), encode('profile', {'name': 'not a location'})]
    bad += [encode('location', {**location(ben, HOME)[1], **wrong}) for wrong in (
        {'lat': 900_000_001}, {'lng': -1_800_000_001}, {'time': -1}, {'time': 1 << 62}, {'route': 1 << 20}, {'user': -1})]
    with shared_cluster.online(ada, *HOME) as a:
        sent = [topics.produce('locations', ben, value) for value in bad]
        elsewhere = (sent[0].partition + 1) % shared_cluster.partitions
        sent += [topics.produce('locations', ben, None), topics.produce('locations', ben, good, partition=elsewhere)]
        topics.produce('locations', ben, location(ben, north_of(*HOME, 250)))
        a.wait_item(ben, lambda item: abs(item['distance_m'] - 250) < 0.2)  # it goes on
    wait_dead(shared_cluster, 'locations', sent)


def test_bad_friend_commands_are_set_aside(shared_cluster, users):
    ada, ben = users(2)
    topics = shared_cluster.topics
    good = {'kind': 'REQUEST', 'from': ada, 'to': ben, 'time': now_ms()}
    bad = [*unreadable(encode('friend-command', good)).values(), encode('sharing', {'mode': 'OFF'}), None]
    bad += [encode('friend-command', {**good, **wrong}) for wrong in ({'to': ada}, {'from': -1}, {'time': 0}, {'since': -1})]
    sent = [topics.produce('friend-commands', ada, value) for value in bad]
    elsewhere = (sent[0].partition + 1) % shared_cluster.partitions
    sent.append(topics.produce('friend-commands', ada, ('friend-command', good), partition=elsewhere))
    assert shared_cluster.http(ben).ok('PUT', f'/v1/friends/{ada}')['state'] == 'requested'  # it goes on
    reasons = wait_dead(shared_cluster, 'friend-commands', sent)
    assert all(len(of_one) == 1 for of_one in reasons)  # within the transaction


def test_bad_profiles_are_set_aside(shared_cluster, users):
    ada, *others = users(50)
    topics = shared_cluster.topics
    shared_cluster.http(ada).ok('PUT', '/v1/profile', json={'name': 'Ada'})
    bad = [*unreadable(encode('profile', {'name': 'Eve'})).values(), encode('sharing', {'mode': 'OFF'})]
    sent = [topics.produce('profiles', ada, value) for value in bad]
    sent += [topics.produce('profiles', key, ('profile', {'name': 'nobody'})) for key in (b'ada', user_key(-1))]
    ben = next(user for user in others  # in the same partition
               if topics.produce('profiles', user, ('profile', {'name': 'Ben'})).partition == sent[0].partition)
    eventually(lambda: shared_cluster.http(ada).get(f'/v1/profiles/{ben}').ok, what='it goes on')
    assert shared_cluster.http(ada).ok('GET', '/v1/profile')['name'] == 'Ada'  # what was before stands
    wait_dead(shared_cluster, 'profiles', sent)


def test_bad_sharing_records_are_set_aside(shared_cluster, users):
    ada, ben = users(2)
    topics = shared_cluster.topics
    shared_cluster.acquaint(ada, ben)
    bad = [*unreadable(encode('sharing', {'mode': 'OFF'})).values(), encode('profile', {'name': 'x'}),
           encode('sharing', {'mode': 'OFF'})[:5] + b'\x06']  # there is no fourth mode
    with shared_cluster.online(ada, *HOME) as a, shared_cluster.online(ben, *HOME) as b:
        a.wait_screen({ben})
        sent = [topics.produce('sharing', ben, value) for value in bad]
        sent += [topics.produce('sharing', key, ('sharing', {'mode': 'OFF'})) for key in (b'ben', user_key(-1))]
        wait_dead(shared_cluster, 'sharing', sent)
        at = now_ms()
        b.report(*north_of(*HOME, 100), time=at)
        a.wait_item(ben, lambda item: item['time'] == at)  # still opted in
        shared_cluster.share(ben, mode='off')              # it goes on
        a.wait_screen(set())


def test_dead_letters_are_plain_kafka(shared_cluster, ada):
    """A letter's bytes, once mended, can be produced to the topic again by whoever mends them."""
    topics = shared_cluster.topics
    value = b'\0\0\0\0\x63' + encode('profile', {'name': 'Ada'}, 4)[5:]  # right but for the id
    sent = topics.produce('profiles', ada, value)
    wait_dead(shared_cluster, 'profiles', [sent])
    letter = next(m for m in topics.read('profiles.dlq') if m.key == user_key(ada))
    json.dumps({key: value.decode() for key, value in letter.headers})
    topics.produce('profiles', letter.key, b'\0\0\0\0\4' + letter.value[5:])
    eventually(lambda: shared_cluster.http(ada).get('/v1/profile').ok, what='the mended one is taken')
