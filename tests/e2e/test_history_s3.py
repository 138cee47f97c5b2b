"""History in a bucket, besides test_history_exactly_once.py: buckets that a sink cannot use, what killed ones leave, users who are forgotten."""
import io

import fastavro
import pytest

from harness.object_store import BUCKET, ObjectStore
from harness.waiting import eventually
from test_history import produce, published, sinks, wanted_rows  # noqa: F401: sinks is a fixture


@pytest.fixture(scope='module')
def store():
    with ObjectStore() as store:
        yield store


def test_a_bucket_that_is_not_there(sinks, store):  # noqa: F811
    cluster = sinks(count=0, settings={**store.settings('x'), 'history-sink:history.dir': 's3://nowhere/x'})
    sink = cluster.add('history-sink', wait=False)
    sink.wait_for_log('NoSuchBucket', 30)
    assert not sink.ready()
    assert sink.stop() == 0


def test_uploads_of_killed_sinks_are_ended(sinks, store):  # noqa: F811
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


def test_objects_are_replaced_without_the_rows_of_a_forgotten_user(sinks, users, store):  # noqa: F811
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
