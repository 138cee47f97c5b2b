"""A user who asks for answers that are a lot of work, as fast as the limits let it, slows nobody else's."""
import time

from confluent_kafka import Producer
from harness.commenting import Commenting
from harness.honest import honest, served
from harness.http import Http
from harness.meanwhile import at_once
from harness.records import encode, user_key
from harness.waiting import eventually

ATTACK_S = 6
POINTS = 50_000


def walk(cluster, user):
    """A long history, in Kafka when it returns."""
    producer = Producer({'bootstrap.servers': cluster.broker.bootstrap, 'partitioner': 'murmur2_random', 'linger.ms': 20})
    for number in range(POINTS):
        record = {'user': user, 'lat': 399_847_000 + number, 'lng': 1_163_184_000 + number, 'kind': 'REPORT', 'session': 0, 'route': -1,
                  'opted': -1, 'time': 1_700_000_000_000 + 1000 * number, 'accuracy': 12}
        producer.produce(cluster.topics.name('locations'), key=user_key(user), value=encode('location', record))
        producer.poll(0)
    assert producer.flush(30) == 0


def test_long_histories_as_files(make_cluster, users):
    cluster = make_cluster(settings={'ingest:ingest.user.rate': 50, 'ingest:ingest.user.burst': 500}).start(sinks=1)
    attacker, other = users(2)
    walk(cluster, attacker)
    last = f'/v1/history?from={1_700_000_000_000 + 1000 * (POINTS - 1)}'
    eventually(lambda: cluster.http(attacker).ok('GET', last)['items'], 30)
    statuses = []

    def attack(_):
        session, end = Http(cluster.http_url, cluster.token(attacker)), time.monotonic() + ATTACK_S
        while time.monotonic() < end:
            answer = session.get('/v1/history?limit=10000', headers={'Accept': 'application/gpx+xml'})
            statuses.append(answer.status_code)
            assert answer.status_code != 200 or answer.content.count(b'<trkpt') == 10_000

    reader = honest(cluster.http_url, cluster.token(other))
    with served(lambda: reader.ok('GET', '/v1/sharing')):
        at_once(attack, range(8))
    metrics = cluster.ingest.metrics()
    assert set(statuses) <= {200, 429, 503}
    assert 2 <= statuses.count(200) <= (500 + 50 * (ATTACK_S + 2)) / 100  # each counts as a hundred requests
    assert metrics.total('starling_budget_refused_total', what='requests', by='user') == statuses.count(429) > 0
    assert metrics.total('starling_budget_refused_total', what='history_files', by='user') == statuses.count(503)
    assert metrics.total('starling_budget_used', what='history_files') == 0


def test_a_long_answer_counts_when_it_is_there(make_cluster, users):
    """Ten comments of 30 KB make a page that counts as eighteen requests, though it asks for one."""
    cluster = make_cluster(settings={'ingest:ingest.user.rate': 1, 'ingest:ingest.user.burst': 25}).start(comments=1)
    writer, reader, other = users(3)
    comments = Commenting(cluster)
    subject = comments.new_subject(writer)
    for _ in range(10):
        comments.write(subject, writer, '友' * 10_000)
    pages = [cluster.http(reader).get(comments.path(subject)) for _ in range(4)]
    assert [page.status_code for page in pages] == [200, 200, 429, 429]
    assert 8 <= int(pages[-1].headers['Retry-After']) <= 40
    assert cluster.http(other).get(comments.path(subject)).status_code == 200
