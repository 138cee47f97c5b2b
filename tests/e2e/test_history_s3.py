"""History in a bucket, besides test_history_exactly_once.py: buckets that a sink cannot use, what killed ones leave, users who are forgotten."""
import io
import random

import fastavro
import pytest
from confluent_kafka import Producer

from harness.object_store import BUCKET, ObjectStore, Unreliable
from harness.records import encode, user_key
from harness.waiting import eventually, now_ms
from test_history import away_from_the_hour, produce, published, wanted_rows

PART = 8 << 20  # bytes, as lib/storage/s3.c cuts


@pytest.fixture(scope='module')
def store():
    with ObjectStore() as store:
        yield store


def test_a_bucket_that_is_not_there(sinks, store):
    cluster = sinks(count=0, settings={**store.settings('x'), 'history-sink:history.dir': 's3://nowhere/x'})
    sink = cluster.add('history-sink', wait=False)
    sink.wait_for_log('NoSuchBucket', 30)
    assert not sink.ready()
    assert sink.stop() == 0


def test_uploads_of_killed_sinks_are_ended(sinks, store):
    """Also in hours that have no object; those of other partitions may be going on."""
    keys = [f'left/date=2020-01-01/hour={hour:02}/{partition:05}-0000000000000000000.avro' for hour in (1, 2) for partition in (0, 3, 99)]
    for key in keys:
        store.client.create_multipart_upload(Bucket=BUCKET, Key=key)
    sinks(settings=store.settings('left'))
    left = store.client.list_multipart_uploads(Bucket=BUCKET, Prefix='left/')['Uploads']
    assert sorted(upload['Key'] for upload in left) == [key for key in keys if '/00099-' in key]


def places_of_rows(store, prefix):
    return sorted((row['partition'], row['offset']) for key in store.keys(prefix)
                  for row in fastavro.reader(io.BytesIO(store.read(prefix, key))))


def test_objects_are_replaced_without_the_rows_of_a_forgotten_user(sinks, users, store):
    cluster, ours = sinks(settings=store.settings('forgotten')), users(12)
    produce(cluster, ours, 900)
    wanted = wanted_rows(cluster)
    eventually(lambda: published(cluster) == len(wanted), 30, what='all rows are published')
    names, gone = store.keys('forgotten'), ours[0]
    assert places_of_rows(store, 'forgotten') == sorted(wanted)
    cluster.topics.produce('erasures', gone, None)
    kept = sorted(place for place, row in wanted.items() if row['user'] != gone)
    eventually(lambda: places_of_rows(store, 'forgotten') == kept, 40, what='the rows are gone from the bucket')
    assert len(kept) < len(wanted) and set(store.keys('forgotten')) >= set(names)


def produce_large(cluster, count):
    """Reports of which nothing repeats, so that no packing makes them small; {offset: user}."""
    chance, users = random.Random(8), []
    producer = Producer({'bootstrap.servers': cluster.broker.bootstrap, 'queue.buffering.max.messages': count})
    for _ in range(count):
        users.append(chance.getrandbits(62))
        producer.produce(cluster.topics.name('locations'), key=user_key(users[-1]), value=encode('location', {
            'user': users[-1], 'lat': chance.randint(-900_000_000, 900_000_000), 'lng': chance.randint(-1_800_000_000, 1_800_000_000),
            'kind': 'REPORT', 'session': 0, 'route': -1, 'opted': -1, 'time': now_ms() - chance.randrange(80_000_000),
            'accuracy': chance.getrandbits(30)}))
    assert producer.flush(60) == 0
    return dict(enumerate(users))


@pytest.mark.parametrize('reliable', [True, False])
def test_a_large_object_is_uploaded_in_parts(sinks, store, reliable):
    """One object of more than a part, also while half of the calls fail: no row is missing or there twice, and no upload is left."""
    count, prefix = 300_000, f'large-{reliable}'  # about 11 MB: a part is cut at the end of a block, so a bit late
    away_from_the_hour()
    with Unreliable(store.address) as proxy:
        cluster = sinks(settings={**store.settings(prefix, None if reliable else proxy.address), 'history-sink:history.roll.s': 3600,
                                  'history-sink:history.roll.rows': count}, partitions=1)
        users = produce_large(cluster, count)
        eventually(lambda: published(cluster) == count, 120, what='all rows are published')
        failed = [call for call in proxy.failed if 'partNumber=' in call]
    key, = store.keys(prefix)
    object_ = store.client.head_object(Bucket=BUCKET, Key=f'{prefix}/{key}')
    assert object_['ContentLength'] > PART
    assert object_['ETag'].strip('"').endswith(f'-{-(-object_["ContentLength"] // PART)}')  # of so many parts
    rows = [(row['offset'], row['user']) for row in fastavro.reader(io.BytesIO(store.read(prefix, key)))]
    assert sorted(rows) == sorted(users.items())
    assert 'Uploads' not in store.client.list_multipart_uploads(Bucket=BUCKET, Prefix=prefix)
    assert reliable or failed, 'no part has failed: the test shows nothing'
