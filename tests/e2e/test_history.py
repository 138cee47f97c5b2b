"""History: every REPORT and JOIN of `locations` is a row once, in files that follow each other, and in answers to queries, whatever happens to the
sinks. Covers history-sink/history_sink.c, history-sink/look.c, history-sink/partitions.c, history-sink/query.c, history-sink/rebuild.c,
history-sink/records.c and history-sink/sink.c."""
import collections
import datetime
import json
import random
import re
import shutil
import struct
import threading
import time

import fastavro
import pytest
import requests
from confluent_kafka import Producer

from harness.archive import DETAILS
from harness.http import Http, pages_of
from harness.records import decode, encode, history_rows, user_key
from harness.waiting import eventually, now_ms

ROWS = {'REPORT', 'JOIN'}
KINDS = ['REPORT'] * 8 + ['JOIN', 'REJOIN', 'QUIT', 'LEAVE']
SECONDS_OF_SINK = {'history.roll.s': 1}  # files every second: the tests are about what is between them
SECONDS = {'history-sink:history.roll.s': 1}
NAME = re.compile(r'date=(\d{4}-\d\d-\d\d)/hour=(\d\d)/(\d{5})-(\d{19})\.avro')
MERGED = re.compile(r'hours/date=(\d{4}-\d\d-\d\d)/hour=(\d\d)/(\d{5})-(\d{19})-(\d{19})\.avro')

ACTIVITIES = 'unknown', 'still', 'walking', 'running', 'cycling', 'driving', 'transit'


def location(user, number, kind='REPORT', time=None):
    return {'user': user, 'lat': 399_847_000 + number, 'lng': -1_163_184_000 + number, 'kind': kind, 'session': 0,
            'route': -1, 'opted': -1, 'time': now_ms() if time is None else time, 'accuracy': number % 50 - 1,
            **({'battery': number % 1001, 'activity': number % 7} if number % 3 == 0 else {})}


def away_from_the_hour():
    """For tests that count files: at the end of an hour there are more."""
    left = 3600 - time.time() % 3600
    if left < 30:
        time.sleep(left + 1)


class Feed:
    """Records of all kinds for some users, as fast as told, until the `with` ends; then all are in Kafka."""

    def __init__(self, cluster, users, per_second=300):
        self.cluster, self.users, self.pause = cluster, users, 10 / per_second
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.failures = []

    def _run(self):
        chance = random.Random(1)
        producer = Producer({'bootstrap.servers': self.cluster.broker.bootstrap, 'partitioner': 'murmur2_random', 'linger.ms': 0})
        number = 0
        while not self._stop.wait(self.pause):
            for _ in range(10):
                number += 1
                user = chance.choice(self.users)
                producer.produce(self.cluster.topics.name('locations'), key=user_key(user),
                                 value=encode('location', location(user, number, chance.choice(KINDS))),
                                 on_delivery=lambda error, _: self.failures.append(error) if error else None)
            producer.poll(0)
        producer.flush(30)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()
        assert not self.failures


def produce(cluster, users, count):
    """That many records of all kinds, in Kafka when it returns."""
    chance = random.Random(count)
    producer = Producer({'bootstrap.servers': cluster.broker.bootstrap, 'partitioner': 'murmur2_random'})
    for number in range(count):
        user = chance.choice(users)
        record = location(user, number, chance.choice(KINDS), time=1_700_000_000_000 + number // 3)
        producer.produce(cluster.topics.name('locations'), key=user_key(user), value=encode('location', record))
        producer.poll(0)
    assert producer.flush(30) == 0


def on_earth(record):
    return abs(record['lat']) <= 900_000_000 and abs(record['lng']) <= 1_800_000_000


def wanted_rows(cluster):
    """{(partition, offset): row} that history must hold, from Kafka."""
    found = {}
    for message in cluster.topics.read('locations'):
        try:
            record = decode(message.value)
        except Exception:
            continue
        if record is not None and record.get('kind') in ROWS and on_earth(record):
            found[message.partition, message.offset] = {
                **{field: record[field] for field in ('user', 'lat', 'lng', 'time', 'accuracy')},
                **{field: record.get(field, -1) for field in DETAILS},
                'received': message.timestamp, 'partition': message.partition, 'offset': message.offset}
    return found


def ms(moment: datetime.datetime) -> int:
    return round(moment.timestamp() * 1000)


def read_file(path):
    """Its rows, and the offset behind what it covers."""
    with open(path, 'rb') as stream:
        reader = fastavro.reader(stream)
        unsaid = dict.fromkeys(DETAILS, -1)  # files of rows that all lack them lack the columns
        rows = [{**unsaid, **row, 'time': ms(row['time']), 'received': ms(row['received'])} for row in reader]
        return rows, int(reader.metadata['starling.end'])


def read_files(folder):
    """{partition: [(first, date and hour, rows, end)]} of all published files that count, by first: merged ones, and small ones that
    none of these covers. Listed in this order: a small file that is gone when it is opened has been merged."""
    while True:
        files = collections.defaultdict(list)
        try:
            small = [path for path in folder.glob('date=*/hour=*/*') if not path.name.startswith('.')]
            merged = [MERGED.fullmatch(str(path.relative_to(folder))).groups() for path in folder.glob('hours/date=*/hour=*/*')
                      if not path.name.startswith('.')]
            covered = {(partition, int(first), int(end)) for _, _, partition, first, end in merged}
            for path in small:
                date, hour, partition, first = NAME.fullmatch(str(path.relative_to(folder))).groups()
                if not any(other == partition and start <= int(first) < end for other, start, end in covered):
                    files[int(partition)].append((int(first), (date, hour), *read_file(path)))
        except FileNotFoundError:
            continue
        for date, hour, partition, first, end in merged:
            rows, its_end = read_file(folder / f'hours/date={date}/hour={hour}/{partition}-{first}-{end}.avro')
            assert its_end == int(end)
            files[int(partition)].append((int(first), (date, hour), rows, its_end))
        return {partition: sorted(chain, key=lambda file: file[:2]) for partition, chain in files.items()}


def check_files(cluster, hours=True):
    """The files are whole chains, and their rows are what Kafka says. Returns how many rows and files there were. hours: each row is in
    the folder of the hour when it arrived."""
    wanted = wanted_rows(cluster)
    found, files = [], read_files(cluster.history)
    for partition, chain in files.items():
        end = 0
        for first, folder, rows, its_end in chain:
            assert first == end, f'partition {partition}: a file from {first} behind the end {end}'
            end = its_end
            order = [(row['user'], row['time'], row['offset']) for row in rows]
            assert order == sorted(order)
            assert {row['partition'] for row in rows} <= {partition}
            assert all(first <= row['offset'] < end for row in rows)
            for row in rows if hours else ():
                arrived = datetime.datetime.fromtimestamp(row['received'] / 1000, datetime.UTC)
                assert folder == (f'{arrived:%Y-%m-%d}', f'{arrived:%H}')
            found += rows
    assert len(found) == len({(row['partition'], row['offset']) for row in found}), 'a row is there twice'
    assert {(row['partition'], row['offset']): row for row in found} == wanted
    return len(found), sum(map(len, files.values()))


def published(cluster):
    return sum(sink.total('starling_history_published_rows_total') for sink in cluster.sinks if sink.alive())


def wait_published(cluster):
    """Waits until sinks say that all rows are in files; how many these are."""
    count = len(wanted_rows(cluster))
    eventually(lambda: published(cluster) == count, 20, what='all rows are published')
    return count


def wait_exact(cluster):
    """Waits until the files hold all rows."""
    count = len(wanted_rows(cluster))
    eventually(lambda: check_files(cluster)[0] == count, 40, what='all rows are published')


def hidden_files(cluster):
    return [path for path in cluster.history.rglob('.*') if path.is_file()]


def peer(cluster, sink, path, token=None):
    http = Http(f'http://{sink.peer}', cluster.keys.peer_token if token is None else token)
    return http.get(path)


def owner_says(cluster, user, query=''):
    """The answer of the sink that owns the user, waiting for rebalances and rebuilds."""

    def ask():
        answers = [peer(cluster, sink, f'/peer/history/{user}{query}') for sink in cluster.sinks if sink.alive()]
        assert {answer.status_code for answer in answers} <= {200, 421, 503}, [a.text for a in answers]
        good = [answer.json() for answer in answers if answer.status_code == 200]
        assert len(good) <= 1, 'two sinks answer for one user'
        return good[0] if good else None

    return eventually(ask, 40, what=f'an answer about {user}')


def all_pages(cluster, user, query, limit):
    def ask(after=None):
        page = owner_says(cluster, user, f'?limit={limit}{query}' + (f'&after={after}' if after else ''))
        assert len(page['items']) <= limit and re.fullmatch(r'[A-Za-z0-9._-]+', page['next'] or 'none')
        return page

    return [item for page in pages_of(ask) for item in page['items']]


def answer_of(rows, start=0, end=2**63):
    """What a query must answer from these rows of one user: a report that repeats another one of its time and place is left out."""
    ordered = sorted(rows, key=lambda row: (row['time'], row['offset']))
    first = {}
    for row in ordered:
        first.setdefault((row['time'], row['lat'], row['lng']), row)
    return [{'lat': row['lat'] / 1e7, 'lng': row['lng'] / 1e7, 'time': row['time'], 'received': row['received'],
             'accuracy': None if row['accuracy'] < 0 else row['accuracy'],
             **({'battery': row['battery'] / 1000, 'activity': ACTIVITIES[row['activity']]} if row['battery'] >= 0 else {})}
            for row in first.values() if start <= row['time'] < end]


def of_user(rows, user):
    return [row for row in rows.values() if row['user'] == user]


def check_answers(cluster, users):
    wanted = wanted_rows(cluster)
    for user in users:
        expected = answer_of(of_user(wanted, user))
        eventually(lambda: all_pages(cluster, user, '', 1000) == expected, 30, what=f'the whole history of {user}')


def test_rows_are_the_reports_and_joins(sinks, users):
    cluster, ours = sinks(), users(20)
    produce(cluster, ours, 3000)
    count = wait_published(cluster)
    assert 1500 < count < 3000
    assert not hidden_files(cluster)
    assert check_files(cluster)[0] == count
    check_answers(cluster, ours[:5])


def test_sigterm_publishes_what_is_open(sinks, users):
    away_from_the_hour()
    cluster = sinks(settings={'history-sink:history.roll.s': 3600})
    produce(cluster, users(20), 500)
    sink, = cluster.sinks
    count = len(wanted_rows(cluster))
    eventually(lambda: sink.total('starling_history_rows_total') == count, what='all rows are in open files')
    assert not read_files(cluster.history) and not hidden_files(cluster), 'rows wait in memory'
    assert sink.total('starling_history_oldest_unpublished_seconds') > 0
    assert published(cluster) == 0
    assert sink.stop() == 0
    assert check_files(cluster) == (count, 4)
    assert not hidden_files(cluster)


def test_files_roll_by_rows(sinks, users):
    away_from_the_hour()
    cluster = sinks(settings={'history-sink:history.roll.s': 3600, 'history-sink:history.roll.rows': 100})
    produce(cluster, users(20), 3000)
    count = len(wanted_rows(cluster))
    eventually(lambda: published(cluster) > count - 4 * 100, what='all but the last files are published')
    sizes = {len(rows) for chain in read_files(cluster.history).values() for _, _, rows, _ in chain}
    assert sizes == {100}
    cluster.sinks[0].stop()
    rows, files = check_files(cluster)
    assert rows == count and count / 100 <= files < count / 100 + 4


def test_undecodable_records_go_to_the_dead_letters(sinks, users):
    cluster, (ada, ben) = sinks(), users(2)
    before = cluster.topics.produce('locations', ada, ('location', location(ada, 1)))
    bad = [cluster.topics.produce('locations', ada, value, partition=before.partition)
           for value in (b'', b'garbage', encode('location', location(ada, 2))[:-1],
                         encode('profile', {'name': 'x', 'avatar_url': ''}), struct.pack('>bI', 0, 99) + b'x',
                         encode('location', location(ada, 2) | {'lat': 910_000_000}),
                         encode('location', location(ada, 2) | {'lng': -1_800_000_001}))]
    cluster.topics.produce('locations', ada, ('location', location(ada, 3)))
    cluster.topics.produce('locations', ben, ('location', location(ben, 4, 'JOIN')))
    eventually(lambda: published(cluster) == 3, what='the good rows are published')
    assert check_files(cluster)[0] == 3
    sink, = cluster.sinks
    assert sink.total('starling_history_undecodable_total') == len(bad)
    dead = eventually(lambda: (found := cluster.topics.read('locations.dlq')) and len(found) == len(bad) and found)
    assert sorted(message.value or b'' for message in dead) == sorted(message.value or b'' for message in bad)
    headers = [dict(message.headers) for message in dead]
    assert {int(header['__connect.errors.offset']) for header in headers} == {message.offset for message in bad}
    assert {header['__connect.errors.topic'].decode() for header in headers} == {cluster.topics.name('locations')}
    check_answers(cluster, [ada, ben])


def test_ranges_and_pages(sinks, users):
    cluster, (ada, ben) = sinks(), users(2)
    produce(cluster, [ada, ben], 600)
    mine = of_user(wanted_rows(cluster), ada)
    times = sorted(row['time'] for row in mine)
    assert len(times) > len(set(times)), 'equal times are part of this test'
    eventually(lambda: owner_says(cluster, ada, '?limit=10000')['items'] == answer_of(mine), what='all rows are stored')
    for limit in (1, 7, 100):
        assert all_pages(cluster, ada, '', limit) == answer_of(mine)
    start, end = times[50], times[120]
    assert all_pages(cluster, ada, f'&from={start}&to={end}', 9) == answer_of(mine, start, end)
    assert all_pages(cluster, ada, f'&from={start}&to={start}', 9) == []
    stranger, = users(1)
    assert owner_says(cluster, stranger) == {'items': [], 'next': None}


def test_bad_queries(sinks):
    sink = (cluster := sinks()).sinks[0]
    for query in ('x', '', '-1', '1/2', f'{2**63}', '1?from=a', '1?to=-1', '1?limit=0', '1?limit=10001', '1?after=x',
                  '1?after=1', '1?after=1-', '1?after=1-2-3', '1?from=1.5', '1?from=%2B1'):
        answer = peer(cluster, sink, f'/peer/history/{query}')
        assert (answer.status_code, answer.headers['Content-Type']) == (400, 'application/problem+json'), query
        assert answer.json()['code'] == 'bad_query'
    assert peer(cluster, sink, '/peer/elsewhere').status_code == 404
    assert peer(cluster, sink, '/peer/history/1', token='wrong').status_code == 401
    post = requests.post(f'http://{sink.peer}/peer/history/1', timeout=5,
                         headers={'Authorization': f'Bearer {cluster.keys.peer_token}'})
    assert post.status_code == 405


def test_history_by_the_api(make_cluster, users):
    cluster, (ada, ben) = make_cluster(settings=SECONDS).start(routers=0, fanouts=0, sinks=2), users(2)
    cluster.share(ada, ben)
    start = now_ms()
    for number in range(25):
        for user in (ada, ben):
            assert cluster.report_http(user, 39.9 + number / 1000, 116.3, time=start + number).ok

    def pages():
        return cluster.http(ada).items('/v1/history', **{'from': start + 5, 'to': start + 20, 'limit': 4})

    eventually(lambda: [item['time'] for item in pages()] == list(range(start + 5, start + 20)), what='15 rows')
    assert [item['lat'] for item in pages()] == [round(39.9 + number / 1000, 7) for number in range(5, 20)]
    assert {tuple(sorted(item)) for item in pages()} == {('accuracy', 'lat', 'lng', 'received', 'time')}


def test_a_repeated_report_is_shown_once(make_cluster, users):
    """Files keep the record of each attempt; answers show the report once, also where pages meet. Others of the same time stay."""
    cluster, (ada,) = make_cluster(settings=SECONDS).start(routers=0, fanouts=0, sinks=1), users(1)
    cluster.share(ada, ada)
    start = now_ms() - 10_000
    reports = [{'lat': 39.9 + number / 1000, 'lng': 116.3, 'time': start + number // 2} for number in range(5)]
    reports += [{**reports[4], 'lng': 116.4}, {**reports[4], 'time': start + 3}]
    for _ in range(3):  # two of each time: the repeated ones are no neighbours
        cluster.http(ada).ok('POST', '/v1/locations', json={'locations': reports[:6]})
    cluster.http(ada).ok('POST', '/v1/locations', json={'locations': reports[6:]})
    eventually(lambda: published(cluster) == 19, 20, what='a row for each attempt in the files')

    def pages(limit):
        return [{name: item[name] for name in ('lat', 'lng', 'time')} for item in cluster.http(ada).items('/v1/history', limit=limit)]

    wanted = [{**report, 'lat': round(report['lat'], 7)} for report in reports]
    for limit in (1, 2, 3, 5, 1000):
        eventually(lambda limit=limit: pages(limit) == wanted, what=f'each report once, in pages of {limit}')
    told = cluster.starling('history', ada).stdout.splitlines()
    assert [json.loads(line)['time'] for line in told] == [report['time'] for report in reports]
    assert len(history_rows(cluster.history)) == 19


@pytest.mark.slow
def test_kill_and_restart(sinks, users):
    """kill -9 again and again while records come in."""
    cluster, ours = sinks(settings={'history-sink:group.instance.id': 'the only one'}), users(30)
    sink, = cluster.sinks
    with Feed(cluster, ours):
        for pause in (2.5, 0.3, 1.2, 2.2):
            time.sleep(pause)  # anywhere in the life of a file
            sink.kill()
            sink.start()
    wait_exact(cluster)
    assert not hidden_files(cluster)
    check_answers(cluster, ours[:6])


@pytest.mark.slow
def test_two_sinks_and_rebalances(sinks, users):
    """A third sink joins, one is killed and comes back, one ends: rows stay exact, and each user has one who answers."""
    cluster, ours = sinks(2), users(40)
    one, two = cluster.sinks
    with Feed(cluster, ours):
        time.sleep(2)
        three = cluster.add('history-sink')
        time.sleep(1.5)
        one.kill()
        eventually(lambda: all(sink.total('starling_history_partitions') for sink in (two, three)) and
                   two.total('starling_history_partitions') +
                   three.total('starling_history_partitions') == 4, 30, what='the dead one is replaced')
        one.start()
        time.sleep(1)
        assert two.stop() == 0
        time.sleep(1.5)
    wait_exact(cluster)
    check_answers(cluster, ours[:10])
    assert not hidden_files(cluster)


@pytest.mark.slow
def test_a_sink_that_slept_does_no_harm(sinks, users):
    """Stopped for so long that another takes over, with a file open: it must not publish what the other has."""
    cluster, ours = sinks(2), users(40)
    sleeper, other = cluster.sinks
    with Feed(cluster, ours):
        eventually(lambda: all(sink.total('starling_history_files_total') > 0 for sink in cluster.sinks), 20)
        sleeper.pause()
        eventually(lambda: other.total('starling_history_partitions') == 4, 40, what='the other takes over')
        seen = other.total('starling_history_files_total')
        eventually(lambda: other.total('starling_history_files_total') > seen + 4, 20)
        sleeper.resume()
        eventually(lambda: sleeper.total('starling_history_partitions') == 2, 40, what='it is back')
        time.sleep(2)
    count = len(wanted_rows(cluster))
    eventually(lambda: published(cluster) >= count, 30, what='all is published')
    assert check_files(cluster)[0] == count
    check_answers(cluster, ours[:10])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_broker_goes_away_for_a_while(sinks, users, broker):
    """And comes back to a sink that is only just taking its partitions over, and to one that goes on."""
    cluster, ours = sinks(), users(20)
    sink, = cluster.sinks
    with Feed(cluster, ours):
        eventually(lambda: published(cluster) > 0, 20)
        two = cluster.add('history-sink', wait=False)
        two.wait_for_log('event=started', 30)
        broker.stop()
        assert sink.get('/healthz').status_code == two.get('/healthz').status_code == 200
        broker.start(timeout=150)
        for each in (sink, two):
            each.wait_ready()
    wait_exact(cluster)
    check_answers(cluster, ours[:6])


def test_a_new_store_is_rebuilt_from_the_files(sinks, users):
    cluster, ours = sinks(), users(20)
    sink, = cluster.sinks
    for _ in range(3):  # several files a partition
        count = len(wanted_rows(cluster))
        produce(cluster, ours, 400)
        eventually(lambda: published(cluster) == len(wanted_rows(cluster)) > count, 20)
    sink.stop()
    shutil.rmtree(sink.settings['data.dir'])
    sink.start()
    metrics = sink.metrics()
    assert metrics.total('starling_history_rebuilt_rows_total') == len(wanted_rows(cluster))
    assert metrics.total('starling_history_rows_total') == 0, 'read from Kafka what is in files'
    check_answers(cluster, ours)
    # The same store again: nothing to load.
    sink.restart()
    assert sink.total('starling_history_rebuilt_rows_total') == 0
    check_answers(cluster, ours[:3])


def test_old_rows_leave_the_store_and_stay_in_files(sinks, users):
    cluster, (ada, ben) = sinks(settings={'history-sink:history.store.days': 30}), users(2)
    sink, = cluster.sinks
    produce(cluster, [ada, ben], 200)  # their times are long ago
    for number in range(3):
        cluster.topics.produce('locations', ada, ('location', location(ada, number)))
    count = wait_published(cluster)
    fresh = [row for row in of_user(wanted_rows(cluster), ada) if row['time'] > 1_700_000_100_000]
    assert len(fresh) == 3
    sink.restart()  # looks at once, and then every hour
    eventually(lambda: all_pages(cluster, ada, '', 1000) == answer_of(fresh), what='only the new rows are answered')
    assert all_pages(cluster, ben, '', 1000) == []
    sink.stop()
    shutil.rmtree(sink.settings['data.dir'])
    sink.start()
    assert all_pages(cluster, ada, '', 1000) == answer_of(fresh)
    assert sink.total('starling_history_rebuilt_rows_total') == 3
    assert check_files(cluster)[0] == count


def test_the_folder_goes_away_for_a_while(sinks, users):
    cluster, ours = sinks(), users(20)
    sink, = cluster.sinks
    away = cluster.history.with_name('away')
    with Feed(cluster, ours):
        eventually(lambda: published(cluster) > 0, 20)
        cluster.history.rename(away)
        sink.wait_for_log('partition refused', 20)
        away.rename(cluster.history)
        eventually(lambda: not sink.ready(), 5)
        sink.wait_ready()
    wait_exact(cluster)
    assert not hidden_files(cluster)
    check_answers(cluster, ours[:5])


def test_rows_that_no_file_has_yet_are_answered_after_a_crash(sinks, users):
    cluster, ours = sinks(settings={'history-sink:history.roll.s': 3600}), users(20)
    sink, = cluster.sinks
    produce(cluster, ours, 500)
    check_answers(cluster, ours[:3])
    assert not read_files(cluster.history)
    sink.kill()
    sink.start()
    check_answers(cluster, ours)
    sink.stop()
    check_files(cluster)


class Broken:
    """A published file cut beyond its first block, or within its head, until mended."""

    def __init__(self, path, in_head=False):
        self.path, self.whole = path, path.read_bytes()
        path.write_bytes(self.whole[:100 if in_head else len(self.whole) * 3 // 4])

    def mend(self):
        self.path.write_bytes(self.whole)


def files_of(cluster, partition):
    return sorted(cluster.history.rglob(f'{partition:05}-*.avro'))


def largest(cluster):
    """The partition with the largest file: one of several blocks."""
    return max(range(cluster.partitions), key=lambda partition: files_of(cluster, partition)[0].stat().st_size)


def test_an_unreadable_newest_file_refuses_its_partition(sinks, users):
    away_from_the_hour()
    cluster, ours = sinks(settings={'history-sink:history.roll.s': 3600}), users(20)
    sink, = cluster.sinks
    produce(cluster, ours, 30_000)  # some blocks a file
    count = len(wanted_rows(cluster))
    eventually(lambda: sink.total('starling_history_rows_total') == count, 30)
    sink.stop()
    victim = largest(cluster)
    broken = Broken(*files_of(cluster, victim), in_head=True)
    shutil.rmtree(sink.settings['data.dir'])
    sink.start(wait=False, **SECONDS_OF_SINK)
    sink.wait_for_log('partition refused', 30)
    assert broken.path.name in sink.log()
    assert not sink.ready()
    assert sink.total('starling_history_refused_partitions') == 1
    produce(cluster, ours, 200)
    eventually(lambda: len(files_of(cluster, (victim + 1) % 4)) > 1, 20, what='other partitions go on')

    # Nothing is written behind the broken file; queries of its users, and only theirs, are refused.
    time.sleep(1.5)
    assert len(files_of(cluster, victim)) == 1 and not hidden_files(cluster)
    statuses = collections.Counter(peer(cluster, sink, f'/peer/history/{user}').status_code for user in ours)
    assert set(statuses) == {200, 503}

    broken.mend()
    sink.wait_ready()
    count = len(wanted_rows(cluster))
    eventually(lambda: len(files_of(cluster, victim)) > 1, 20, what='it goes on')
    eventually(lambda: check_files(cluster)[0] == count, 20, what='the rest is published')
    check_answers(cluster, ours[:8])
    assert sink.total('starling_history_refused_partitions') == 0


def test_an_unreadable_older_file_refuses_queries(sinks, users):
    """Where files end is known, so that records are still written; but answers would lack rows."""
    away_from_the_hour()
    cluster, ours = sinks(settings={'history-sink:history.roll.s': 3600}), users(20)
    sink, = cluster.sinks
    for rows in (30_000, 40):
        produce(cluster, ours, rows)
        count = len(wanted_rows(cluster))
        eventually(sink.ready)
        eventually(lambda: all(lag == 0 for name, lag in sink.metrics().items() if 'lag_records' in name), 30)
        sink.restart()
    victim = largest(cluster)
    assert len(files_of(cluster, victim)) == 2
    sink.stop()
    broken = Broken(files_of(cluster, victim)[0])
    shutil.rmtree(sink.settings['data.dir'])
    sink.start(wait=False, **SECONDS_OF_SINK)
    sink.wait_for_log('cannot be loaded', 30)
    assert not sink.ready()
    assert sink.total('starling_history_refused_partitions') == 1
    produce(cluster, ours, 200)
    eventually(lambda: len(files_of(cluster, victim)) > 2, 20, what='records are written')
    assert {peer(cluster, sink, f'/peer/history/{user}').status_code for user in ours} == {200, 503}
    broken.mend()
    sink.wait_ready()
    count = len(wanted_rows(cluster))
    eventually(lambda: check_files(cluster)[0] == count, 20, what='all is published')
    check_answers(cluster, ours[:8])


def test_files_of_another_topic_are_refused(sinks, users):
    """history.dir of a topic that was made anew: its offsets mean something else."""
    old, ours = sinks(), users(20)
    produce(old, ours, 500)
    eventually(lambda: published(old) == len(wanted_rows(old)), 20)
    old.sinks[0].stop()
    before = read_files(old.history)
    new = sinks(count=0)
    new.history = old.history
    produce(new, ours, 40)
    sink = new.add('history-sink', wait=False)
    sink.wait_for_log('was it made anew?', 20)
    assert not sink.ready()
    assert sink.total('starling_history_refused_partitions') == 4
    sink.stop()
    assert read_files(old.history) == before


def test_rows_that_wait_are_bounded(sinks, users):
    """The largest file is published when memory is short, whatever its age."""
    cluster, ours = sinks(settings={'history-sink:history.roll.s': 3600, 'history-sink:history.roll.memory.bytes': 1 << 20}), users(20)
    produce(cluster, ours, 25_000)  # half of a megabyte is 9,362 rows
    eventually(lambda: published(cluster) > 0, 20, what='a file')
    count = len(wanted_rows(cluster))
    sink, = cluster.sinks
    eventually(lambda: sink.total('starling_history_rows_total') == count, 20, what='all is read')
    assert count - published(cluster) < 9_500
    assert sink.stop() == 0
    assert check_files(cluster)[0] == count
