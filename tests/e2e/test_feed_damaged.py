"""A list of follows that is damaged on the disk ends no feed process and holds up no command: its partition is read anew."""
import subprocess

import pytest

from harness.cluster import build_folder
from harness.feed import Feed
from harness.waiting import eventually

DAMAGED = 'state is read anew: a value is damaged on the disk'


@pytest.mark.parametrize('reader', ['a command', 'a page'])
def test_a_damaged_list_is_read_anew(make_cluster, users, reader):
    feed = Feed(make_cluster(settings={'ingest:ingest.outcome.wait.ms': 8000}) .start(routers=0, fanouts=0, sinks=0, feeds=1))
    ada, ben, cleo = users(3)
    feed.follow(ada, ben)
    feed.post(ben, 'hello')
    feed.wait_home(ada)
    partition = int(feed.post(ada, 'here')['id']) >> 12 & 1023
    process = feed.cluster.feeds[0]
    process.stop()
    store = process.folder / 'data' / 'follows'
    subprocess.run([build_folder() / 'test-damage', store, f'follows-{partition}', str(ada)], check=True)
    process.start()
    if reader == 'a command':
        feed.http(ada).put(f'/v1/follows/{cleo}')
    else:
        feed.http(ada).get('/v1/feed')
    process.wait_for_log(DAMAGED)
    # It goes on: what was followed is there again, and what is commanded now is decided.
    eventually(lambda: feed.http(ada).put(f'/v1/follows/{cleo}').status_code == 200, 20)
    eventually(lambda: [item['user'] for item in feed.http(ada).ok('GET', f'/v1/users/{ada}/following')['items']]
               == sorted([ben, cleo]), 20)
    eventually(lambda: [item['user'] for item in feed.http(ada).ok('GET', '/v1/feed')['items']] == [ben], 20)
    assert process.alive()
