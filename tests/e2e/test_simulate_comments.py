"""`starling-load simulate` in threads: people comment, reply, like and delete; every page is checked, and one that is wrong is found. Covers
tools/load/social_talk.c."""
import collections
import re

import pytest

from harness.waiting import eventually
from test_simulate_feed import FeedSimulation, Liar

CITY = '--city', 60, '--posts', 4, '--comments', 60, '--fire', 6


@pytest.fixture(scope='module')
def cluster(make_module_cluster):
    return make_module_cluster(settings={'comments:comments.user.rate': 0, 'comments:kafka.session.timeout.ms': 6000,
                                         'comments:kafka.heartbeat.interval.ms': 500}).start(sinks=0, feeds=1, comments=2)


def test_a_city_talks_and_a_post_catches_fire(cluster):
    """Also while a comments process is killed."""
    run = FeedSimulation(cluster, *CITY, '--for', 25)
    eventually(lambda: run.number('comments,') > 50, 90)
    cluster.of('comments')[0].kill()
    cluster.of('comments')[0].start()
    run.finish(180)
    assert run.number('pages were wrong') == 0
    for what, least in ('comments,', 100), ('likes given', 100), ('threads,', 3), ('fires', 2):
        assert run.number(what) >= least, what
    comments = {key: value for key, value in cluster.topics.latest('comments').items() if b'\0' in key}
    assert len(comments) == run.number('comments,')
    assert sum(value['state'] == 'DELETED' for value in comments.values()) > 3
    burnt = set(re.findall(r'post (\d+) is on fire', run.said()))
    under = collections.Counter(key.partition(b'\0')[0].decode() for key in comments)
    assert under.most_common(1)[0][0].removeprefix('post:') in burnt


def lose_one(page):
    if len(page.get('items', ())) > 3:  # answers to likes have no items
        del page['items'][2]


def other_text(page):
    for item in page.get('items', ()):
        item['text'] = item['text'] and 'something else'


@pytest.mark.parametrize('spoil, words', [(lose_one, 'others are missing'), (other_text, 'another text')])
def test_a_wrong_page_of_comments_is_found(cluster, spoil, words):
    liar = Liar(cluster.http_url, '/v1/comments/')
    run = FeedSimulation(cluster, *CITY, '--for', 20, '--margin', 0.5, http_url=liar.url)
    eventually(lambda: run.number('comments,') > 50, 60)
    liar.spoil = spoil
    eventually(lambda: words in run.said(), 30)  # a loaded machine may show the newest comments later than half a second, too
    liar.spoil = None
    run.fail(120)


def test_a_thread_that_stays_wrong_is_found_in_the_end(cluster):
    def more_likes(page):
        for item in page.get('items', ()):
            item['likes'] += 1

    liar = Liar(cluster.http_url, '/v1/comments/')
    liar.spoil = more_likes
    run = FeedSimulation(cluster, *CITY, '--for', 12, '--patience', 12, http_url=liar.url)
    said = run.fail(120)
    assert ': another number of likes' in said and 'threads were not as they must be' in said
